"""Convolutions and correlations on a device against SciPy's, or sums of NumPy's where that is not there."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.errors import Error, ShapeError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from tests.support.arrays import counting

RANDOM = np.random.default_rng(0)
PAIRS = [((12,), (5,)), ((5,), (12,)), ((7, 9), (3, 2)), ((300,), (100,)), ((20, 30), (11, 8)), ((4, 5, 6), (2, 2, 3))]


@pytest.fixture(scope="module")
def runtime(device: Device, engine: Engine) -> Runtime:
    return Runtime(device, engine.settings)


def convolved(x: np.ndarray, y: np.ndarray, mode: str) -> np.ndarray:
    """By its definition."""
    shape = [n + m - 1 for n, m in zip(x.shape, y.shape, strict=True)]
    whole: Any = np.zeros(shape, np.result_type(x, y))
    for index in itertools.product(*map(range, y.shape)):
        whole[tuple(slice(i, i + n) for i, n in zip(index, x.shape, strict=True))] += x * y[index]
    parts = []
    for n, m in zip(x.shape, y.shape, strict=True):
        parts.append({"full": slice(None), "same": slice((m - 1) // 2, (m - 1) // 2 + n),
                      "valid": slice(min(n, m) - 1, max(n, m))}[mode])  # fmt: skip
    return whole[tuple(parts)]


def numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    host = RANDOM.standard_normal(shape)
    return (host + 1j * RANDOM.standard_normal(shape)).astype(dtype) if dtype == "c8" else (8 * host).astype(dtype)


@pytest.mark.sample(9)
@pytest.mark.parametrize("mode", ["same", "valid", "full"])
@pytest.mark.parametrize("dtype", ["f4", "i4", "c8"])
def test_every_mode_and_method(runtime: Runtime, dtype: str, mode: Any) -> None:
    with ocl.use(runtime):
        for first, second in PAIRS:
            x, y = numbers(first, dtype), numbers(second, dtype)
            wide = "c16" if dtype == "c8" else "f8"
            expected = convolved(x.astype(wide), y.astype(wide), mode)
            a, b = ocl.asarray(x), ocl.asarray(y)
            found = [ocl.signal.convolve(a, b, mode), ocl.signal.fftconvolve(a, b, mode)]
            turned = np.conj(y[tuple(slice(None, None, -1) for _ in second)])
            found.append(ocl.signal.correlate(a, ocl.asarray(turned.copy()), mode))
            for each in found:
                assert each.shape == expected.shape
                np.testing.assert_allclose(each.numpy(), expected, atol=2e-5 * max(1, np.abs(expected).max()))
            if dtype == "i4":
                assert found[0].dtype == np.int32
                np.testing.assert_array_equal(found[0].numpy(), expected)


def test_axes_that_broadcast(runtime: Runtime) -> None:
    x, y = numbers((3, 50), "f4"), numbers((1, 9), "f4")
    with ocl.use(runtime):
        found = ocl.signal.fftconvolve(ocl.asarray(x), ocl.asarray(y), axes=1).numpy()
    np.testing.assert_allclose(found, [np.convolve(row, y[0]) for row in x], atol=1e-3)


def test_a_short_kernel_is_a_sum_and_a_long_one_is_not(runtime: Runtime) -> None:
    with ocl.use(runtime):
        x, short, long = (ocl.asarray(numbers((n,), "f4")).compute() for n in (5000, 5, 500))
        with counting(runtime) as counted:
            ocl.signal.convolve(x, short).compute()
        few = counted["launch", "launches"]
        assert few <= 4  # the padded array, in parts, and the sum
        with counting(runtime) as counted:
            ocl.signal.convolve(x, long).compute()
        assert few < counted["launch", "launches"] < 40


def test_a_long_kernel_of_integers_is_one_reduction(runtime: Runtime) -> None:
    host, long = numbers((40, 50), "i1"), numbers((9, 11), "i1")
    with ocl.use(runtime):
        x, kernel = ocl.asarray(host).compute(), ocl.asarray(long).compute()
        with counting(runtime) as counted:
            found = ocl.signal.convolve(x, kernel).compute()
        assert counted["launch", "launches"] <= 8  # the padded array, in parts, and the sums
        np.testing.assert_array_equal(found.numpy(), convolved(host, long, "full"))


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", ["i1", "i4", "u8", "?"])
def test_integers_through_transforms_are_rounded_sums(runtime: Runtime, dtype: str) -> None:
    x, y = RANDOM.integers(0, 100, 90).astype(dtype), RANDOM.integers(0, 100, 70).astype(dtype)
    with ocl.use(runtime):
        for name in ("convolve", "correlate"):
            function, operands = getattr(ocl.signal, name), (ocl.asarray(x), ocl.asarray(y))
            if not runtime.executor.target.fp64:
                with pytest.raises(Error, match="without float64"):
                    function(*operands, method="fft")
                continue
            found = function(*operands, method="fft")
            assert found.dtype == x.dtype
            np.testing.assert_array_equal(found.numpy(), function(*operands, method="direct").numpy())


def test_mistakes(runtime: Runtime) -> None:
    with ocl.use(runtime):
        for wrong, error in (
            (lambda: ocl.signal.convolve(ocl.ones((2, 2)), ocl.ones(2)), ShapeError),
            (lambda: ocl.signal.convolve(ocl.ones((2, 5)), ocl.ones((5, 2)), "valid"), ShapeError),
            (lambda: ocl.signal.convolve(ocl.ones(0), ocl.ones(2)), ShapeError),
            (lambda: ocl.signal.fftconvolve(ocl.ones((3, 4)), ocl.ones((2, 4)), axes=1), ShapeError),
            (lambda: ocl.signal.fftconvolve(ocl.ones(3), ocl.ones(3), axes=[]), ShapeError),
            (lambda: ocl.signal.convolve(ocl.ones(3), ocl.ones(2), "some"), Error),
            (lambda: ocl.signal.convolve(ocl.ones(3), ocl.ones(2), method="magic"), Error),
        ):
            with pytest.raises(error):
                wrong()
