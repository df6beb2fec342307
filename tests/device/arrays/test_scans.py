"""Running sums on a device: values, kernels and memory."""

from __future__ import annotations

from dataclasses import replace

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


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", KINDS)
def test_scans_of_all_dtypes(runtime: Runtime, dtype: str) -> None:
    if not has(runtime, dtype):
        return
    host = ordinary(dtype, 37, 300)
    kind = dtype if dtype[0] == "f" else "u8" if dtype[0] == "u" else "i8"
    with ocl.use(runtime):
        x = ocl.asarray(host)
        for axis in (0, 1):
            expected = np.cumsum(host, axis, dtype="f4" if dtype == "f2" else kind).astype(kind)
            assert_same(ocl.cumulative_sum(x, axis=axis).numpy(), expected, zeros=False)


@pytest.mark.sample(2)
@pytest.mark.parametrize(("shape", "axis"), [((1_000_003,), 0), ((3, 300_001), 1), ((200_001, 2), 0), ((70_000, 9), 1)])
def test_rows_of_any_length(runtime: Runtime, shape: tuple[int, ...], axis: int) -> None:
    """Few long rows are split into parts, with three kernels; short ones need one. Where work-groups may wait for each
    other, one long row needs one, and another that clears what they tell each other."""
    host = RANDOM.integers(-5, 6, shape).astype("i4")
    in_one_pass = len(shape) == 1 and runtime.executor.target.group_progress
    with ocl.use(runtime):
        x = ocl.asarray(host)
        with counting(runtime) as counted:
            found = ocl.cumulative_sum(x * 3 - 1, axis=axis).compute()
        long = shape[axis] > 100_000
        assert counted["launch", "launches"] == (2 if in_one_pass else 3 if long else 1)
        assert counted["memory", "allocations"] == (2 if long else 1), "the result, and what is computed on the way"
        assert_same(found.numpy(), np.cumsum(host * 3 - 1, axis, dtype="i8"))


def test_one_pass(device: Device, engine: Engine) -> None:
    """On CPUs, too: their threads go on with the work-groups that they have begun."""
    capabilities = replace(device.capabilities, kind="gpu")
    if not capabilities.int64_atomics or not (device.capabilities.kind == "cpu" or device.quirks.group_progress):
        pytest.skip("work-groups cannot wait for each other here")
    runtime = Runtime(
        replace(device, capabilities=capabilities, quirks=replace(device.quirks, group_progress=True)), engine.settings
    )
    host = RANDOM.integers(-50, 51, 700_001).astype("i4")
    with ocl.use(runtime):
        for dtype in ("i4", "i8", "f4"):
            with counting(runtime) as counted:
                sums = ocl.cumulative_sum(ocl.asarray(host), dtype=dtype).compute()
            assert counted["launch", "launches"] == 2
            assert_same(sums.numpy(), np.cumsum(host, dtype=dtype), zeros=False)


def test_every_run_gives_the_same_bits_of_views_and_fused_values_too(runtime: Runtime) -> None:
    """Intel's CPU compiler added up the totals of the parts in another order where it could read vectors."""
    host = RANDOM.random(1_000_000, "f4")
    with ocl.use(runtime):
        x, y = ocl.asarray(host), ocl.asarray(np.repeat(host, 2))
        first = ocl.cumulative_sum(x).numpy()
        np.testing.assert_allclose(first, np.cumsum(host.astype("f8")), rtol=1e-4)
        for given in (x, ocl.asarray(host), y[::2], ocl.abs(-x), ocl.abs(-y[1::2])):
            for _ in range(3):
                assert ocl.cumulative_sum(given).numpy().tobytes() == first.tobytes()


def test_a_new_shape_is_no_new_kernel(runtime: Runtime) -> None:
    with ocl.use(runtime):
        for number, (rows, columns) in enumerate(((50, 60), (70, 80), (64, 99))):
            host = RANDOM.integers(0, 9, (rows, columns)).astype("i4")
            with counting(runtime) as counted:
                found = ocl.cumulative_sum(ocl.asarray(host) + 1, axis=0).numpy()
            assert_same(found, np.cumsum(host + 1, 0, dtype="i8"))
            assert counted["kernel", "misses"] == 0 or not number


def test_a_captured_function_scans(runtime: Runtime) -> None:
    with ocl.use(runtime):
        scanned = ocl.capture(lambda x: ocl.cumulative_sum(x * 2, axis=1, include_initial=True) + 1)
        for shape in ((50, 20), (90, 33), (4, 50_000)):
            host = RANDOM.integers(0, 9, shape).astype("i4")
            expected = np.cumulative_sum(host * 2, axis=1, dtype="i8", include_initial=True) + 1
            assert_same(scanned(ocl.asarray(host)).numpy(), expected)
