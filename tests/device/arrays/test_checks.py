"""Checked index arrays on a device: one record, captured functions that run as they are written."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.errors import IndexingError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime


@pytest.fixture
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, dataclasses.replace(engine.settings, check=True))
    with ocl.use(runtime):
        yield runtime


def test_a_violation_is_raised_with_the_next_value(runtime: Runtime) -> None:
    x, index = ocl.asarray(np.arange(1000, dtype="f4")), np.arange(1000) * 7 % 1000
    np.testing.assert_array_equal(x[ocl.asarray(index)].numpy(), np.arange(1000)[index])
    index[[600, 700]] = 1000, -1001
    y = x[ocl.asarray(index)]
    with pytest.raises(IndexingError, match="index 1000 in an array was out of bounds for axis 0 of length 1000"):
        y.numpy()
    assert y.numpy()[600] == 999


def test_captured_functions_are_checked(runtime: Runtime) -> None:
    @ocl.capture
    def taken(x: Any, index: Any) -> Any:
        return x[index]

    x = ocl.asarray(np.arange(10, dtype="f4"))
    assert taken(x, ocl.asarray([3, 9])).tolist() == [3, 9]
    bad = taken(x, ocl.asarray([3, 10]))
    with pytest.raises(IndexingError, match="index 10 in"):
        bad.tolist()
