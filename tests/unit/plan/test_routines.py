"""What tells apart how the operands of a routine lie, and how many ways are remembered."""

from __future__ import annotations

import itertools
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


def test_what_comes_again_is_kept_and_the_oldest_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routines, "_MOST", 2)
    known = Routines(itertools.count(1))
    assert [known.is_due("a") for _ in range(routines.WORTH + 2)].index(True) == routines.WORTH - 1
    kept: Any = type("Kept", (), {"used": 0})()
    plan = RoutinePlan(kept, "template", "sized", (), {}, ())  # type: ignore[arg-type]
    known.keep("a", plan)
    assert known.plan("a") is plan
    assert kept.used == 1
    known.is_due("b")
    assert known.plan("b") is None
    known.is_due("c")
    assert known.plan("a") is None
    for _ in range(2):
        known.is_due("c")
    known.keep("c", plan)
    known.forget(["template"])  # type: ignore[list-item]
    assert known.plan("c") is None
