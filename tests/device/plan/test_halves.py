"""Arrays of float16 whose rows start at any half."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime


@pytest.fixture(autouse=True)
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, engine.settings)
    with ocl.use(runtime):
        yield runtime


@pytest.mark.parametrize("columns", [17, 33, 65])
@pytest.mark.parametrize("offset", [0, 1])
def test_a_row_stored_again_and_again_beside_its_sum(columns: int, offset: int) -> None:
    """What does not change from row to row is converted in front of the loop, and stored in it, aligned or not."""
    x = (np.arange(2 * columns) % 7).astype("f2")
    row = ocl.asarray(x)[offset : offset + columns]
    b = ocl.asarray((np.arange(columns) % 5).astype("f2"))
    y = ocl.broadcast_to(row, (3, columns)) * b
    total = ocl.sum(y, axis=0)
    ocl.compute(y, total)
    expected = np.tile(x[offset : offset + columns] * (np.arange(columns) % 5).astype("f2"), (3, 1))
    np.testing.assert_array_equal(y.numpy(), expected)
    np.testing.assert_array_equal(total.numpy(), expected.sum(axis=0))


@pytest.mark.parametrize("columns", [17, 33, 65])
@pytest.mark.parametrize("offset", [0, 1, 2])
def test_rows_that_are_read_and_written_anywhere(columns: int, offset: int) -> None:
    x = (np.arange(5 * (columns + 3)) % 11).astype("f2").reshape(5, columns + 3)
    part = ocl.asarray(x)[1:4, offset : offset + columns]
    out = ocl.zeros((5, columns + 3), dtype="f2") + 0
    out[1:4, offset : offset + columns] = part * 2 + 1
    expected = np.zeros_like(x)
    expected[1:4, offset : offset + columns] = x[1:4, offset : offset + columns] * 2 + 1
    np.testing.assert_array_equal(out.numpy(), expected)
