"""Distinct elements on a device: values, what is built and waited for."""

from __future__ import annotations

import numpy as np
import pytest

import ocl_runtime as ocl
import ocl_runtime.numpy as onp
from ocl_runtime.device import Device
from ocl_runtime.errors import Error
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from tests.support.arrays import KINDS, counting, elements, has

RANDOM = np.random.default_rng(0)


@pytest.fixture(scope="module")
def runtime(device: Device, engine: Engine) -> Runtime:
    return Runtime(device, engine.settings)


@pytest.mark.sample(7)
@pytest.mark.parametrize("shape", [(30, 10), (7000,)])
@pytest.mark.parametrize("dtype", KINDS)
def test_all_dtypes(runtime: Runtime, dtype: str, shape: tuple[int, ...]) -> None:
    if not has(runtime, dtype):
        return
    host = elements(dtype, shape, 1)
    with ocl.use(runtime):
        x = ocl.asarray(host)
        for found, expected in zip(ocl.unique_all(x), np.unique_all(host), strict=True):
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found.numpy(), expected)
        np.testing.assert_array_equal(onp.unique(x).numpy(), np.unique(host))
        for few in (3, 700):
            values = elements(dtype, (few,), 2)
            np.testing.assert_array_equal(ocl.isin(x, values).numpy(), np.isin(host, values))


def test_many_elements(runtime: Runtime) -> None:
    host, other = (RANDOM.integers(0, 300_000, 1_000_003).astype("u4") for _ in range(2))
    with ocl.use(runtime):
        x, y = ocl.asarray(host), ocl.asarray(other)
        for found, expected in zip(ocl.unique_all(x), np.unique_all(host), strict=True):
            np.testing.assert_array_equal(found.numpy(), expected)
        np.testing.assert_array_equal(ocl.isin(x, y).numpy(), np.isin(host, other))
        for name in ("intersect1d", "union1d", "setdiff1d", "setxor1d"):
            np.testing.assert_array_equal(getattr(onp, name)(x, y).numpy(), getattr(np, name)(host, other))


def test_a_new_length_builds_no_kernel(runtime: Runtime) -> None:
    with ocl.use(runtime):
        ocl.unique_values(ocl.asarray(RANDOM.integers(0, 99, 600_003).astype("u2"))).compute()
        with counting(runtime) as counted:
            for length in (600_007, 600_011):
                host = RANDOM.integers(0, 99, length).astype("u2")
                np.testing.assert_array_equal(ocl.unique_values(ocl.asarray(host)).numpy(), np.unique(host))
        assert counted["kernel", "misses"] == 0


def test_a_capture_cannot_wait_for_a_size(runtime: Runtime) -> None:
    with ocl.use(runtime):
        captured = ocl.capture(ocl.unique_values)
        with pytest.raises(Error, match="the number of distinct elements"):
            captured(ocl.asarray(RANDOM.random(10, "f4")))
        member = ocl.capture(ocl.isin)
        for length in (100, 5000):
            host, other = (RANDOM.integers(0, 9000, length).astype("i4") for _ in range(2))
            np.testing.assert_array_equal(member(ocl.asarray(host), ocl.asarray(other)).numpy(), np.isin(host, other))
