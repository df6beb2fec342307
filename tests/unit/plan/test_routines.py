"""What tells apart how the operands of a routine lie, and how many ways are remembered."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Hashable
from typing import Any

import pytest

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.layout import Layout
from ocl_ir.types import BOOL, F32, I32, I64, DType
from ocl_runtime.plan.cache import routines
from ocl_runtime.plan.cache.routines import RoutinePlan, Routines, key_of


class Memory:
    """A storage, told apart by identity."""


def _buffer(dtype: DType = F32, shape: tuple[int, ...] = (8,), offset: int = 0, storage: Any = None) -> Node:
    lies = Layout(shape, Layout.contiguous(shape).strides, offset)
    return graph.buffer(storage or Memory(), dtype, lies, "here")


def _first(*operands: Node) -> tuple[Node, ...]:
    return operands[:1]


def _last(*operands: Node) -> tuple[Node, ...]:
    return operands[-1:]


def test_memory_and_values_say_nothing() -> None:
    keys = {key_of(_first, (_buffer(BOOL), _buffer())) for _ in range(3)}
    assert len(keys) == 1
    assert None not in keys


def test_what_says_something() -> None:
    """The routine, dtypes, layouts, and which memory is the same."""
    both = Memory()
    calls = [
        (_first, _buffer(), _buffer()),
        (_last, _buffer(), _buffer()),
        (_first, _buffer(), _buffer(I32)),
        (_first, _buffer(), _buffer(shape=(4, 2))),
        (_first, _buffer(), _buffer(offset=8)),
        (_first, _buffer(storage=both), _buffer(storage=both)),
        (_first, _buffer(), graph.iota(I32, Layout.contiguous((8,)))),
        (_first, _buffer(), graph.iota(I64, Layout.contiguous((8,)))),
        (_first, _buffer()),
    ]
    assert len({key_of(routine, operands) for routine, *operands in calls}) == len(calls)


def test_an_expression_goes_by_its_nodes() -> None:
    negative = graph.elementwise("neg", _buffer())
    assert key_of(_first, (_buffer(BOOL), negative)) is None


class Kept:
    """The plans for a structure, of which some are there still."""

    def __init__(self, *templates: str) -> None:
        self.used = 0
        self.templates = templates

    def keeps(self, template: str) -> bool:
        return template in self.templates


def _plan(kept: Any, template: Any = "template") -> RoutinePlan:
    return RoutinePlan(kept, template, "sized", (), {}, ())  # type: ignore[arg-type]


def _kept(known: Routines, key: Hashable, plan: RoutinePlan) -> None:
    assert [known.is_due(key) for _ in range(routines.WORTH)][-1]
    known.keep(key, plan)


def test_what_comes_again_is_kept() -> None:
    known, kept = Routines(itertools.count(1)), Kept("template")
    assert [known.is_due("a") for _ in range(routines.WORTH + 2)].index(True) == routines.WORTH - 1
    plan = _plan(kept)
    known.keep("a", plan)
    used = kept.used
    assert known.plan("a") is plan
    assert kept.used > used
    assert known.plan("b") is None
    known.forget(["template"])  # type: ignore[list-item]
    assert known.plan("a") is None


def test_what_was_not_used_for_the_longest_time_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not what is used, however many come once."""
    monkeypatch.setattr(routines, "_MOST", 2)
    known, plan = Routines(itertools.count(1)), _plan(Kept("template"))
    _kept(known, "a", plan)
    for once in "bcdef":
        known.is_due(once)
        assert known.plan("a") is plan
    for once in "gh":
        known.is_due(once)
    assert known.plan("a") is None


def test_a_plan_that_was_dropped_meanwhile_is_not_kept() -> None:
    known = Routines(itertools.count(1))
    _kept(known, "a", _plan(Kept()))
    assert known.plan("a") is None
    plan = _plan(Kept("template"))
    _kept(known, "a", plan)
    assert known.plan("a") is plan


class Key:
    """Does something when it is looked for next."""

    def __init__(self) -> None:
        self.then: Callable[[], None] | None = None

    def __hash__(self) -> int:
        then, self.then = self.then, None
        if then is not None:
            then()
        return 0


def test_plans_are_dropped_by_other_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which hold no lock of whoever evaluates: also one that is just about to give way."""
    monkeypatch.setattr(routines, "_MOST", 1)
    known, key = Routines(itertools.count(1)), Key()
    _kept(known, key, _plan(Kept("template")))
    dropping = threading.Thread(target=known.forget, args=(["template"],))

    def drop() -> None:
        dropping.start()
        dropping.join(0.1)

    key.then = drop
    _kept(known, "b", _plan(Kept("template")))
    dropping.join()
    assert known.plan(key) is None
