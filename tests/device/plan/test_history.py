"""What a live array is, and an evaluation computes on its way, is kept: no history grows, nothing is stored twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.errors import OutOfMemoryError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from tests.support.arrays import assert_same, counting

HOST = np.random.default_rng(0).random((40, 60), "f4")
TURNS = 60


@pytest.fixture
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, engine.settings)
    with ocl.use(runtime):
        yield runtime


def waves(x: Any, turn: int) -> tuple[Any, Any]:
    x = ocl.sin(x) * 1.01
    return x, ocl.sum(x * x)


def averages(x: Any, turn: int) -> tuple[Any, Any]:
    x = (x + x[::-1] + x[:, ::-1]) * 0.3
    return x, ocl.max(x)


def stencil(x: Any, turn: int) -> tuple[Any, Any]:
    x[1:-1] += 0.1 * (x[2:] + x[:-2] - 2 * x[1:-1])
    return x, x[5, 3]


def pairs(x: Any, turn: int) -> tuple[Any, Any]:
    distance = x[:, None, 0] - x[None, :, 0]
    force = ocl.sum(distance / (distance * distance + 1), axis=1)
    x = x + 0.01 * force[:, None]
    return x, ocl.sum(force)


@pytest.mark.parametrize("step", [waves, averages, stencil, pairs], ids=lambda step: step.__name__)
def test_a_loop_that_asks_for_a_value_each_turn_plans_and_builds_a_few(
    runtime: Runtime, step: Callable[[Any, int], tuple[Any, Any]]
) -> None:
    x, expected = ocl.asarray(HOST), ocl.asarray(HOST)
    values = []
    with counting(runtime) as counted:
        for turn in range(TURNS):
            x, value = step(x, turn)
            values.append(float(value))
    assert counted["plan", "misses"] <= 4
    assert counted["launch", "compiled"] <= 8
    assert counted["launch", "launches"] <= 4 * TURNS
    for turn in range(TURNS):
        expected, value = step(expected, turn)
        ocl.compute(expected, value)
        np.testing.assert_allclose(values[turn], float(value), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(x.numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)


def test_named_values_that_are_cheap_to_make_of_what_is_there_are_not_stored(runtime: Runtime) -> None:
    x = ocl.asarray(HOST)
    most = ocl.max(x, axis=1, keepdims=True)
    raised = ocl.exp(x - most)
    total = ocl.sum(raised, axis=1, keepdims=True)
    y = raised / total
    with counting(runtime) as counted:
        y.compute()
    assert counted["launch", "launches"] == 1
    assert counted["memory", "in_use"] <= HOST.nbytes + 2 * 4 * 40
    with counting(runtime) as counted:
        ocl.compute(most, total)
    assert counted["launch", "launches"] == 0, "which are small, and were computed"


def after_a_copy_of_it_went(value: Any) -> Any:
    ocl.asarray(value, copy=True)
    return value


def costly(x: Any) -> Any:
    """Computing it again takes longer than keeping it, on GPUs too."""
    return ocl.sin(ocl.exp(ocl.sin(ocl.exp(x))))


HELD: dict[str, tuple[int, Callable[[Any, Any], list[Any]]]] = {
    "one": (2, lambda x, index: [x * 2 + 1]),
    "a view": (2, lambda x, index: [(x * 2 + 1)[::-1]]),
    "one that was copied": (2, lambda x, index: [after_a_copy_of_it_went(x * 2 + 1)]),
    "costly": (1, lambda x, index: [costly(x)]),
    "gathered": (1, lambda x, index: [x[index]]),
    "gathered, and a view": (1, lambda x, index: [x[index][::-1]]),
    "made of what is gathered": (2, lambda x, index: [x[index] + 1]),
    "gathered of what is computed": (1, lambda x, index: [(x * 2)[index]]),
    "a hundred": (2, lambda x, index: [x * (turn + 2) + 1 for turn in range(100)]),
    "a hundred costly ones": (1, lambda x, index: [costly(x * turn) for turn in range(100)]),
}
"""By how many evaluations values that somebody holds are computed at most, and what makes them of a matrix and indices
of its rows."""


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", HELD)
def test_no_live_value_is_computed_more_than_twice(runtime: Runtime, name: str) -> None:
    most, make = HELD[name]
    x, index = ocl.asarray(HOST), ocl.asarray(np.random.default_rng(1).permutation(len(HOST)).astype("i4"))
    ocl.compute(x, index)
    held = make(x, index)
    totals = []
    for turn in range(most):
        total = held[0] + turn
        for value in held[1:]:
            total = total + value
        totals.append(total.compute())
    with counting(runtime) as counted:
        ocl.compute(*held)
    assert counted["launch", "launches"] == 0, "the last evaluation kept them"
    alone = make(ocl.asarray(HOST), index)
    for value, other in zip(held, alone, strict=True):
        assert_same(value.numpy(), other.numpy())
    for turn, total in enumerate(totals):
        np.testing.assert_allclose(total.numpy(), sum(value.numpy() for value in alone) + turn, rtol=1e-4, atol=1e-4)


def test_a_hundred_values_that_are_kept_leave_no_work_for_later(runtime: Runtime) -> None:
    """Nor do they take many more kernels at once: a kernel stores as many as it has arguments for."""
    x = ocl.asarray(HOST)
    held = [costly(x * turn) for turn in range(100)]

    def total(factor: float) -> Any:
        made = held[0]
        for value in held[1:]:
            made = made + value * factor
        return made

    launches = []
    for turn in range(3):
        with counting(runtime) as counted:
            total(turn + 1).compute()
        launches.append(counted["launch", "launches"])
    assert launches[0] <= 15
    assert launches[1] == launches[2] < launches[0]


def test_what_nobody_else_could_compute_again_is_kept_at_once(runtime: Runtime) -> None:
    x = ocl.asarray(HOST)
    named = x * 2 + 1
    del x
    total = ocl.sum(named)
    with counting(runtime) as counted:
        total.compute()
    assert counted["launch", "launches"] <= 2
    with counting(runtime) as counted:
        assert_same(named.numpy(), HOST * 2 + 1)
    assert counted["launch", "launches"] == 0


def test_memory_that_is_short_is_not_for_what_nobody_has_asked_for(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = ocl.asarray(HOST)
    named = x * 2 + 1
    del x
    total = ocl.sum(named)
    allocate = runtime.executor.engine.memory.allocate

    def scarce(nbytes: int, *more: Any, **given: Any) -> Any:
        if nbytes >= HOST.nbytes:
            raise OutOfMemoryError("no room")
        return allocate(nbytes, *more, **given)

    with monkeypatch.context() as patch:
        patch.setattr(runtime.executor.engine.memory, "allocate", scarce)
        np.testing.assert_allclose(float(total), (HOST * 2 + 1).sum(dtype="f8"), rtol=1e-5)
    assert_same(named.numpy(), HOST * 2 + 1)


@pytest.mark.parametrize(
    "twice",
    [
        lambda v: ocl.cumulative_sum(v, axis=0),
        lambda v: ocl.max(v, axis=1, keepdims=True) + v * 0,
        lambda v: v @ v.T @ v,
    ],
    ids=["scan", "reduction", "product"],
)
@pytest.mark.parametrize("first", range(4))
def test_equal_values_that_somebody_holds_all_get_their_result(
    runtime: Runtime, twice: Callable[[Any], Any], first: int
) -> None:
    """Of what is written over then, whichever is asked for first."""
    x = ocl.asarray(HOST)
    view = x[1:]
    values = [twice(view), twice(view)]
    values.append(values[0] * 0.5 + values[1])
    view[...] = values[-1] + 1
    values.append(x)
    expected = np.asarray(twice(ocl.asarray(HOST)[1:]).numpy())
    found = {number: values[number].numpy() for number in [first, *range(4)]}
    for number, factor in enumerate((1, 1, 1.5)):
        np.testing.assert_allclose(found[number], expected * factor, rtol=1e-5)
    np.testing.assert_allclose(found[3][1:], expected * 1.5 + 1, rtol=1e-5)
    values[0][...] = 7
    assert values[0].numpy().min() == 7
    np.testing.assert_allclose(values[1].numpy(), expected, rtol=1e-5)
