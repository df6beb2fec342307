"""A program that is bound to other sizes by its pattern is what its schedule for these sizes would be bound to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.replay.bound import Bound
from ocl_runtime.plan.cache import template
from ocl_runtime.runtime import Runtime

_SIZES = [
    *[(80 + 8 * number, 260 + 4 * number) for number in range(6)],
    *[(7, 5), (12, 9), (9, 12), (30, 30), (31, 2), (2, 31), (1, 8), (8, 1), (0, 4), (4, 0)],
    *[(160 + 16 * number, 160 + 16 * number) for number in range(5)],
    *[(264 + 2 * number, 64) for number in range(6)],  # of which products have one plan on a GPU, too
]


@pytest.fixture
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, engine.settings)
    with ocl.use(runtime):
        yield runtime


@pytest.fixture
def patterns(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Compares all that is bound by a pattern; whether each was made without a schedule."""
    at, schedules = Bound.at, list[bool]()

    def compared(self: Bound, formulas: Any, rows: Any, again: Callable[[], Any]) -> Bound | None:
        asked: list[None] = []

        def schedule() -> Any:
            asked.append(None)
            return again()

        bound = at(self, formulas, rows, schedule)
        if bound is not None:
            schedules.append(not asked)
            wanted = Bound(again(), bound.handles)
            for name in ("accesses", "arena", "batches", "buffers", "commands", "ended", "lines", "made", "names"):
                assert getattr(bound, name) == getattr(wanted, name), name
            assert dict(bound.offsets) == dict(wanted.offsets)
            assert (bound.used, bound.transfers, bound.touched) == (wanted.used, wanted.transfers, wanted.touched)
        return bound

    monkeypatch.setattr(Bound, "at", compared)
    return schedules


def _elementwise(x: Any, y: Any) -> Any:
    return x * y + 1.0


def _written(x: Any, y: Any) -> Any:
    z = x * 1.0
    z[1:] += y[:-1]
    z[:, ::2] *= 2.0
    return z


def _sums(x: Any, y: Any) -> Any:
    return (x * 2.0).sum(axis=0)[::-1] * y[0]


def _product(x: Any, y: Any) -> Any:
    return ((x @ y.T) * 0.5).sum(axis=1)


def _views(x: Any, y: Any) -> Any:
    return x[::2, 1:] - y.T[1:, ::2].T


def _many_parts(x: Any, y: Any) -> Any:
    """More accesses to one buffer than streams know each by itself."""
    z = x * 1.0
    for row in range(20):
        z[row + 1] = z[row] * 0.5 + y[row]
    return z


@pytest.mark.sample(2)
@pytest.mark.parametrize("function", [_elementwise, _written, _sums, _product, _views, _many_parts])
@pytest.mark.parametrize("is_captured", [False, True])
def test_it_is_what_the_schedule_would_be(
    runtime: Runtime, patterns: list[bool], function: Callable[[Any, Any], Any], is_captured: bool
) -> None:
    called = ocl.capture(function) if is_captured else function
    rng = np.random.default_rng(0)
    for rows, columns in _SIZES:
        x, y = (rng.random((rows, columns), dtype=np.float32) for _ in range(2))
        try:
            wanted = function(x.copy(), y.copy())
        except IndexError:  # arrays have fewer rows than the function names
            continue
        found = called(ocl.asarray(x), ocl.asarray(y)).numpy()
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    assert any(patterns), "some were bound without a schedule"


def test_sizes_of_a_plan_that_is_arranged_for_each_are_bounded(
    device: Device, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of many launches that streams could serve."""
    monkeypatch.setattr(template, "_MOST_SIZES", 4)
    runtime = Runtime(device, replace(engine.settings, streams=4))
    with ocl.use(runtime):
        for rows in range(1, 12):
            x = [ocl.asarray(np.full((rows, 30), number, "f4")).compute() for number in range(40)]
            ocl.compute(*[ocl.sum(ocl.sin(array[::-1]) + array, axis=0) for array in x])
        made = [one for kept in runtime.executor.plans._kept.values() for one in kept.templates.values()]
        plans = [one for alike in made for one in alike if len(one.kernels) > 32]
        assert plans
        assert all(len(plan._sized) <= 5 for plan in plans)
        kept = [*runtime.executor.plans._kept.values()]
        assert runtime.executor.plans.statistics.nbytes == sum(one.nbytes for one in kept)
