"""Convolutions on a device: lines of all lengths, captured for several, on several streams."""

from __future__ import annotations

import numpy as np
import pytest

import ocl_runtime as ocl
import ocl_runtime.numpy as ours
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
