"""Convolutions on a device: lines of all lengths, captured for several, on several streams."""

from __future__ import annotations

import numpy as np
import pytest

import ocl_runtime as ocl
import ocl_runtime.numpy as ours
from ocl_runtime.arrays.functions import convolutions
from ocl_runtime.arrays.meaning import winograd
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from tests.support.arrays import has

RANDOM = np.random.default_rng(0)


@pytest.fixture(scope="module")
def runtime(device: Device, engine: Engine) -> Runtime:
    return Runtime(device, engine.settings)


@pytest.mark.sample(12)
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4", "u1", "c8"])
@pytest.mark.parametrize(("n", "m"), [(1000, 3), (5000, 16), (3001, 35), (700, 700), (64, 2000)])
def test_lines(runtime: Runtime, dtype: str, n: int, m: int) -> None:
    if not has(runtime, dtype):
        return
    a, v = (RANDOM.integers(0, 3, size).astype(dtype) for size in (n, m))
    with ocl.use(runtime):
        x, y = ocl.asarray(a), ocl.asarray(v)
        for mode in ("full", "same", "valid"):
            np.testing.assert_array_equal(ours.convolve(x, y, mode).numpy(), np.convolve(a, v, mode))
        np.testing.assert_array_equal(ours.correlate(x, y[::-1], "full").numpy(), np.correlate(a, v[::-1], "full"))


def test_captured_for_other_lengths_and_on_several_streams(runtime: Runtime) -> None:
    captured = ocl.capture(lambda x, y: ours.convolve(x, y, "same") + x)
    with ocl.use(runtime):
        for n, m in ((1000, 40), (3000, 64), (2500, 44)):
            a, v = (RANDOM.standard_normal(size).astype("f4") for size in (n, m))
            found = captured(ocl.asarray(a), ocl.asarray(v)).numpy()
            np.testing.assert_allclose(found, np.convolve(a, v, "same") + a, rtol=1e-3, atol=1e-3)
        parts = []
        for number in range(3):
            with ocl.stream(number):
                parts.append(ours.convolve(ocl.asarray(a) * number, ocl.asarray(v)))
    for number, part in enumerate(parts):
        np.testing.assert_allclose(part.numpy(), np.convolve(a * number, v), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("shape", "made", "padding"),
    [((2, 64, 57, 31), 48, 1), ((3, 50, 30, 64), 70, 0), ((1, 128, 9, 9), 128, (2, 1))],
)
def test_by_winograds_method(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], made: int, padding: int | tuple[int, int]
) -> None:
    """Whatever the device, and however small."""
    monkeypatch.setattr(winograd, "_WORTH", 0)
    monkeypatch.setattr(winograd, "_LEAST_TILES", 0)
    monkeypatch.setattr(convolutions, "convolution_of_lines", winograd.convolution_by_winograd)
    x, w = RANDOM.standard_normal(shape).astype("f4"), RANDOM.standard_normal((made, shape[1], 3, 3)).astype("f4")
    with ocl.use(runtime):
        image, kernel = ocl.asarray(x), ocl.asarray(w)
        result = ocl.conv(image[:, ::-1] * 2, kernel, padding=padding)
        assert "transform_tiles" in str(ocl.explain(result))
        found = (ocl.maximum(result, 0) + 1).numpy()
    around = [padding] * 2 if isinstance(padding, int) else padding
    padded = np.pad(2 * x[:, ::-1].astype("f8"), [(0, 0), (0, 0), *((each, each) for each in around)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    exact = np.tensordot(windows, w.astype("f8"), ((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2)
    np.testing.assert_allclose(found, np.maximum(exact, 0) + 1, rtol=2e-5, atol=2e-4)
