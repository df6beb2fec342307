"""Special functions on a device: exact values within bounds, the same bits in every lane, in kernels, captured."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime import special
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.language import erfc, global_id
from ocl_runtime.runtime import Runtime
from tests.support.arrays import counting, has
from tests.support.special_bounds import BOUNDS, complaints, known
from tests.support.three_ways import agree


@pytest.fixture(scope="module")
def runtime(device: Device, engine: Engine) -> Runtime:
    return Runtime(device, engine.settings)


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_exact_values(runtime: Runtime, dtype: str) -> None:
    if not has(runtime, dtype):
        return
    with ocl.use(runtime):
        cases = {name: known(name, dtype) for name in BOUNDS}
        found = {name: getattr(special, name)(ocl.asarray(x)) for name, (x, _) in cases.items()}
        ocl.compute(*found.values())
    assert not [line for name, case in cases.items() for line in complaints(name, found[name].numpy(), *case)]


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_each_lane_has_the_bits_of_a_number_alone(runtime: Runtime, dtype: str) -> None:
    if not has(runtime, dtype):
        return
    host = np.random.default_rng(0).uniform(0.01, 0.99, 517).astype(dtype)
    with ocl.use(runtime):
        whole, shifted = ocl.asarray(host), ocl.asarray(host)[1:]  # which lies at another alignment
        found = {name: (getattr(special, name)(whole), getattr(special, name)(shifted)) for name in BOUNDS}
        ocl.compute(*(x for pair in found.values() for x in pair))
        for name, (all_, others) in found.items():
            assert all_.numpy()[1:].tobytes() == others.numpy().tobytes(), name


def logistic(x: Any, y: Any) -> None:
    i = global_id(0)
    y[i] = special.expit(x[i]) + special.gammaln(x[i] + 1) + erfc(x[i]) + math.gamma(abs(x[i]) + 1)


def test_kernels_call_them() -> None:
    x = np.linspace(-0.5, 5, 40, dtype="f4")
    agree(logistic, 40, {"x": x, "y": np.zeros(40, "f4")}, most_ulps=64)


def test_one_kernel_also_captured_and_for_other_sizes(runtime: Runtime) -> None:
    captured = ocl.capture(lambda x: special.ndtri(special.expit(x)) ** 2)
    with ocl.use(runtime):
        for size in (100, 3000, 77):
            host = np.random.default_rng(size).standard_normal(size).astype("f4")
            captured(ocl.asarray(host)).compute()
        with counting(runtime) as counted:
            captured(ocl.asarray(np.ones(1234, "f4"))).compute()
        assert counted["program", "built"] == 0
        x = ocl.asarray(np.ones(1000, "f4"))
        with counting(runtime) as counted:
            (special.i0(x) + special.erfinv(x / 2)).compute()
        assert counted["launch", "launches"] == 1
