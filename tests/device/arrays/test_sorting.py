"""Sorting on a device: values, kernels and memory."""

from __future__ import annotations

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from tests.support.arrays import KINDS, counting, has

RANDOM = np.random.default_rng(0)


@pytest.fixture(scope="module")
def runtime(device: Device, engine: Engine) -> Runtime:
    return Runtime(device, engine.settings)


def values(dtype: str, *shape: int) -> np.ndarray:
    """Numbers of which many come several times; of floats NaN and zeros of both signs, too."""
    numbers = RANDOM.integers(-100, 100, shape)
    host = numbers.astype(dtype)
    if host.dtype.kind == "f":
        host[numbers % 7 == 0] *= -0.0
        host[numbers == 50] = np.nan
    return host


@pytest.mark.sample(10)
@pytest.mark.parametrize("length", [5, 300, 5000])
@pytest.mark.parametrize("dtype", KINDS)
def test_sorts_of_all_dtypes(runtime: Runtime, dtype: str, length: int) -> None:
    if not has(runtime, dtype):
        return
    host = values(dtype, 7, length)
    with ocl.use(runtime):
        x = ocl.asarray(host)
        wanted = np.argsort(host, kind="stable")
        np.testing.assert_array_equal(ocl.argsort(x).numpy(), wanted)
        assert ocl.sort(x).numpy().tobytes() == np.take_along_axis(host, wanted, 1).tobytes()
        np.testing.assert_array_equal(ocl.sort(x, axis=0, descending=True).numpy(), np.sort(host, 0)[::-1])


@pytest.mark.sample(2)
@pytest.mark.parametrize("shape", [(1_000_003,), (3, 100_001), (20_000, 33), (70_000, 2), (300, 1000)])
def test_many_elements(runtime: Runtime, shape: tuple[int, ...]) -> None:
    host = RANDOM.integers(-(2**31), 2**31, shape).astype("i4")
    with ocl.use(runtime):
        x = ocl.asarray(host)
        np.testing.assert_array_equal(ocl.sort(x).numpy(), np.sort(host))
        np.testing.assert_array_equal(ocl.argsort(x // 2**20).numpy(), np.argsort(host // 2**20, kind="stable"))
        np.testing.assert_array_equal(ocl.sort(x[..., ::-2]).numpy(), np.sort(host[..., ::-2]))


@pytest.mark.parametrize("shape", [(1,), (5, 1), (2, 0), (0, 1)])
def test_of_single_elements_nothing_is_sorted(runtime: Runtime, shape: tuple[int, ...]) -> None:
    """Intel's compiler ends the process over such a kernel behind a root or an exponential."""
    host = np.arange(np.prod(shape), dtype="f4").reshape(shape)
    with ocl.use(runtime):
        x = ocl.asarray(host)
        for function, exact in ((ocl.sqrt, np.sqrt), (ocl.exp, np.exp)):
            for descending in (False, True):
                np.testing.assert_allclose(ocl.sort(function(x), descending=descending).numpy(), exact(host), rtol=1e-6)
                places = ocl.argsort(function(x), descending=descending)
                assert places.dtype == np.int64
                np.testing.assert_array_equal(places.numpy(), np.zeros(shape))
        ordered = ocl.sort(x)
        x += 1
        np.testing.assert_array_equal(ordered.numpy(), host)


def test_a_new_length_builds_no_kernel(runtime: Runtime) -> None:
    with ocl.use(runtime):
        ocl.sort(ocl.asarray(RANDOM.random(600_000, "f4"))).compute()
        with counting(runtime) as counted:
            for length in (610_001, 620_002):
                host = RANDOM.random(length, "f4")
                np.testing.assert_array_equal(ocl.sort(ocl.asarray(host)).numpy(), np.sort(host))
        assert counted["kernel", "misses"] == 0


def test_captured(runtime: Runtime) -> None:
    with ocl.use(runtime):
        ordered = ocl.capture(lambda x: ocl.take(x, ocl.argsort(x * -1)) + ocl.sort(x))
        for length in (10, 3000, 5000, 20_000):
            host = RANDOM.permutation(length).astype("f4")
            np.testing.assert_array_equal(ordered(ocl.asarray(host)).numpy(), np.full(length, length - 1))


def test_in_place(runtime: Runtime) -> None:
    host = RANDOM.random((4, 600), "f4")
    with ocl.use(runtime):
        x = ocl.asarray(host)
        view = x[1:3]
        view.sort(axis=0)
        host[1:3].sort(axis=0)
        x.sort()
        host.sort()
        np.testing.assert_array_equal(x.numpy(), host)
