"""Stencils of a size at which a GPU computes several results in a work-item."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from tests.support.arrays import has
from tests.support.rehearsal import rehearsal


@pytest.fixture(scope="module", autouse=True)
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, engine.settings)
    with ocl.use(runtime):
        yield runtime


def nine(x: Any) -> Any:
    rows, columns = x.shape
    total = None
    for down in range(3):
        for right in range(3):
            part = x[down : rows - 2 + down, right : columns - 2 + right]
            total = part if total is None else total + part
    return total


def star(x: Any) -> Any:
    return x[1:-1, 1:-1] * 4 - (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])


def differences(x: Any) -> Any:
    return x[:, 1:] - x[:, :-1]


def shifted(x: Any) -> Any:
    return x[:, 1:] * 2


def flat(x: Any) -> Any:
    x = (np if isinstance(x, np.ndarray) else ocl).reshape(x, (-1,))
    return x[2:] - x[:-2]


def mixed(x: Any) -> Any:
    """With a row and a column that are broadcast, and what is read backwards."""
    return x[1:, 1:] * x[:1, :-1] + x[:-1, 1:] * x[1:, 3:4] - x[:0:-1, :-1]


STENCILS: list[Callable[[Any], Any]] = [nine, star, differences, shifted, flat, mixed]
SHAPES = [(1300, 1300), (1301, 1283), (1200, 1282)]
DTYPES = ["f4", "f8", "i2"]


@pytest.fixture(scope="module")
def stencils(runtime: Runtime) -> None:
    """The kernels of all, built together."""
    with rehearsal(runtime):
        for stencil, shape, dtype in itertools.product(STENCILS, SHAPES, DTYPES):
            if has(runtime, dtype):
                stencil(ocl.asarray(np.zeros(shape, dtype))).compute()


@pytest.mark.sample(4)
@pytest.mark.parametrize("stencil", STENCILS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.usefixtures("stencils")
def test_stencils_are_numpys(stencil: Callable[[Any], Any], shape: tuple[int, int], dtype: str, device: Device) -> None:
    if dtype == "f8" and not device.capabilities.fp64:
        pytest.skip("the device has no float64")
    host = (np.random.default_rng(0).random(shape) * 99).astype(dtype)
    found, expected = stencil(ocl.asarray(host)), stencil(host)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.numpy(), expected)


def test_two_stencils_of_one_kernel() -> None:
    host = np.random.default_rng(0).random((1300, 1300)).astype("f4")
    x = ocl.asarray(host)
    down, right = x[2:, 1:-1] - x[:-2, 1:-1], x[1:-1, 2:] - x[1:-1, :-2]
    ocl.compute(down, right)
    np.testing.assert_array_equal(down.numpy(), host[2:, 1:-1] - host[:-2, 1:-1])
    np.testing.assert_array_equal(right.numpy(), host[1:-1, 2:] - host[1:-1, :-2])


def test_a_stencil_written_into_what_it_reads() -> None:
    host = np.random.default_rng(0).random((1300, 1300)).astype("f4")
    x = ocl.asarray(host)
    x[1:-1, 1:-1] = star(x)
    expected = host.copy()
    expected[1:-1, 1:-1] = star(host)
    np.testing.assert_array_equal(x.numpy(), expected)
