"""Where views begin in their memory is no part of a plan, but for whether all of them are aligned."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.plan.target import Target
from tests.support.interpreted import InterpretedRuntime


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_sums_of_slices_at_any_places_share_plans(kind: Literal["cpu", "gpu"]) -> None:
    runtime, rng = InterpretedRuntime(Target(kind=kind, compute_units=2, group_size=8)), np.random.default_rng(0)
    hosts = [rng.random(500, "f4") for _ in range(6)]
    with ocl.use(runtime):  # type: ignore[arg-type]
        arrays = [ocl.asarray(host) for host in hosts]
        for turn in range(40):
            length, starts = int(rng.integers(20, 90)), rng.integers(0, 400, 6)
            if turn % 4 == 0:
                starts -= starts % 16
            ours: list[Any] = [x[start : start + length] for x, start in zip(arrays, starts, strict=True)]
            theirs = [host[start : start + length] for host, start in zip(hosts, starts, strict=True)]
            np.testing.assert_allclose(sum(ours[1:], ours[0]).numpy(), sum(theirs[1:], theirs[0]), rtol=1e-6)
    assert runtime.plans.statistics.misses <= 4, "aligned or not, and of lengths that are whole vectors or not"
