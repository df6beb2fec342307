"""Scans, masks and counts by work-items that work together, as GPUs have them, on whatever device there is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from tests.support.arrays import assert_same

RANDOM = np.random.default_rng(0)


@pytest.fixture(params=[1, 64])
def runtime(device: Device, engine: Engine, request: pytest.FixtureRequest) -> Runtime:
    made = Runtime(device, engine.settings)
    made.executor.target = replace(made.executor.target, kind="gpu", compute_units=2, group_size=request.param)  # type: ignore[misc]
    return made


@pytest.mark.sample(4)
@pytest.mark.parametrize("shape", [(100_003,), (5, 4096), (3, 777), (300, 40)])
def test_scans(runtime: Runtime, shape: tuple[int, ...]) -> None:
    host = RANDOM.integers(-9, 9, shape).astype("f4")
    with ocl.use(runtime):
        x = ocl.asarray(host)
        for axis in range(len(shape)):
            assert_same(ocl.cumulative_sum(x, axis=axis).numpy(), np.cumsum(host, axis), zeros=False)
        assert_same(ocl.cumulative_sum(x > 0, axis=-1).numpy(), np.cumsum(host > 0, -1, dtype="i8"))


@pytest.mark.sample(2)
def test_masks(runtime: Runtime) -> None:
    host = RANDOM.standard_normal(10_007).astype("f4")
    with ocl.use(runtime):
        x = ocl.asarray(host)
        for limit in (-9, 0, 2, 9):
            assert_same(x[x > limit].numpy(), host[host > limit])
            assert_same(ocl.nonzero(x > limit)[0].numpy(), np.nonzero(host > limit)[0])


@pytest.mark.sample(4)
@pytest.mark.parametrize("size", [5, 50_000])
def test_counts_and_sums_at_places(runtime: Runtime, size: int) -> None:
    places, value = RANDOM.integers(0, size, 20_011), RANDOM.integers(-9, 9, 20_011).astype("f4")
    places[::2] = 3
    with ocl.use(runtime):
        index, given = ocl.asarray(places), ocl.asarray(value)
        assert_same(ocl.bincount(index, length=size).numpy(), np.bincount(places, minlength=size))
        for deterministic in (True, False):
            x, expected = ocl.zeros(size), np.zeros(size, "f4")
            ocl.add_at(x, index, given, deterministic=deterministic)
            np.add.at(expected, places, value)
            assert_same(x.numpy(), expected, zeros=False)
        x, expected = ocl.zeros(size), np.zeros(size, "f4")
        x[index] = given
        expected[places] = value
        assert_same(x.numpy(), expected)


@pytest.mark.sample(3)
@pytest.mark.parametrize("length", [777, 4096, 30_001])
def test_sums_over_many_operands_are_those_of_computed_ones(runtime: Runtime, length: int) -> None:
    """Of these each accumulator is joined by itself, and of computed ones all of them together."""
    host = RANDOM.standard_normal((7, 6, length)).astype("f4")
    with ocl.use(runtime):
        x = ocl.asarray(host)

        def together() -> ocl.Array:
            return x[0] * x[1] + x[2] * x[3] + x[4] / ocl.sqrt(ocl.abs(x[5])) - x[6]

        computed = together()
        computed.compute()
        assert_same(ocl.sum(together(), axis=1).numpy(), ocl.sum(computed, axis=1).numpy())
