"""Adding at computed places on a device: values, bits and kernels."""

from __future__ import annotations

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from tests.support.arrays import KINDS, assert_same, counting, has, ordinary

RANDOM = np.random.default_rng(0)


@pytest.fixture(scope="module")
def runtime(device: Device, engine: Engine) -> Runtime:
    return Runtime(device, engine.settings)


@pytest.mark.sample(4)
@pytest.mark.parametrize("dtype", KINDS)
def test_addends_of_all_dtypes(runtime: Runtime, dtype: str) -> None:
    if not has(runtime, dtype):
        return
    host, wanted = ordinary(dtype, 30, 7), RANDOM.integers(-30, 30, 200)
    value = ordinary(dtype, 200, 7, seed=1)
    with ocl.use(runtime):
        for deterministic in (True, False):
            x, expected = ocl.asarray(host), host.copy()
            ocl.add_at(x, ocl.asarray(wanted), ocl.asarray(value), deterministic=deterministic)
            np.add.at(expected, wanted, value)
            assert_same(x.numpy(), expected, zeros=False)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_every_run_and_order_gives_the_same_bits(runtime: Runtime, dtype: str) -> None:
    if not has(runtime, dtype):
        return
    wanted, value = RANDOM.integers(0, 100, 100_000), RANDOM.standard_normal(100_000).astype(dtype)
    with ocl.use(runtime):
        results = set()
        for _ in range(3):
            x = ocl.zeros(100, dtype=dtype)
            ocl.add_at(x, ocl.asarray(wanted), ocl.asarray(value))
            results.add(x.numpy().tobytes())
            order = RANDOM.permutation(len(wanted))
            wanted, value = wanted[order], value[order]
        assert len(results) == 1
        expected = np.bincount(wanted, weights=value.astype("f8"))
        np.testing.assert_allclose(x.numpy(), expected, rtol=0, atol=1e-4 if dtype == "f4" else 1e-11)


def test_it_is_in_place_and_a_captured_function_adds(runtime: Runtime) -> None:
    wanted = RANDOM.integers(0, 50, 1000)

    def count(x: ocl.Array, places: ocl.Array) -> ocl.Array:
        ocl.add_at(x, places, 1)
        return x * 2

    with ocl.use(runtime):
        x = ocl.zeros(50, dtype="i4").compute()
        index = ocl.asarray(wanted)
        with counting(runtime) as counted:
            ocl.add_at(x, index, 1)
            x.compute()
        assert counted["launch", "launches"] == 1
        assert counted["memory", "allocations"] == 0
        captured = ocl.capture(count)
        for size in (50, 80, 65):
            expected = np.bincount(wanted, minlength=size).astype("i4")
            assert_same(captured(ocl.zeros(size, dtype="i4"), index).numpy(), expected * 2)
