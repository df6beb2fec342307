"""Counts of values on a device."""

from __future__ import annotations

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from tests.support.arrays import assert_same, counting, has

RANDOM = np.random.default_rng(0)


@pytest.fixture(scope="module")
def runtime(device: Device, engine: Engine) -> Runtime:
    return Runtime(device, engine.settings)


@pytest.mark.parametrize("most", [1, 256, 4096, 100_000])
def test_counts_of_many_elements(runtime: Runtime, most: int) -> None:
    host = RANDOM.integers(0, most, 300_001).astype("i4")
    host[::3] = most // 2
    with ocl.use(runtime):
        x = ocl.asarray(host)
        assert_same(ocl.bincount(x).numpy(), np.bincount(host))
        with counting(runtime) as counted:
            found = ocl.bincount(x % 256, length=most).compute()
        assert_same(found.numpy(), np.bincount((host % 256)[host % 256 < most], minlength=most))
        assert counted["launch", "launches"] == 3  # zeros, what is counted, and that as int64


def test_a_histogram_of_a_captured_function(runtime: Runtime) -> None:
    with ocl.use(runtime):
        captured = ocl.capture(lambda x: ocl.histogram(x * 2, 32, (-1, 1))[0])
        for count in (1000, 70_001):
            host = RANDOM.standard_normal(count).astype("f4")
            assert_same(captured(ocl.asarray(host)).numpy(), np.histogram(host * 2, 32, (-1, 1))[0])


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("dtype", "width", "bins"),
    [("f2", 4e-4, 50), ("f2", 4e-4, 300), ("f4", 1e-36, 50), ("f4", 2e38, 8), ("f4", 1, 700)],
)
def test_histograms_of_odd_ranges(runtime: Runtime, dtype: str, width: float, bins: int) -> None:
    host = ((RANDOM.random(5000) - 0.25) * width).astype(dtype)
    if not has(runtime, dtype):
        return
    with ocl.use(runtime):
        counts, edges = ocl.histogram(ocl.asarray(host), bins)
        expected = np.histogram_bin_edges(host, bins)
        assert_same(edges.numpy(), expected)
        index = np.minimum(np.searchsorted(expected, host, side="right") - 1, bins - 1)
        assert_same(counts.numpy(), np.bincount(index, minlength=bins))
