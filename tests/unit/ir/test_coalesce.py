"""Variables that only stand for another one are that one; and where somebody sees the difference they are not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ocl_ir.interpret.kernel import run as interpret
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Local, walk
from ocl_ir.kernel.operands import Ref
from ocl_ir.kernel.verify import verify
from ocl_ir.passes.coalesce import coalesce
from ocl_ir.types import F32, I32, U32

Body = Callable[[KernelBuilder, Ref, Ref], None]
"""Fills a turn of a loop that carries a variable; the last argument is what the turn reads."""


def nested_loops(k: KernelBuilder, outer: Ref, x: Ref) -> None:
    inner = k.variable(outer, hint="inner")
    with k.for_(0, 3):
        k.assign(inner, inner * 2 + x)
    k.assign(outer, inner)


def one_side_of_a_branch(k: KernelBuilder, outer: Ref, x: Ref) -> None:
    inner = k.variable(outer)
    with k.if_(x > 0):
        k.assign(inner, x)
    k.assign(outer, inner)


def left_only_within(k: KernelBuilder, outer: Ref, x: Ref) -> None:
    inner = k.variable(outer)
    with k.for_(0, 5):
        k.assign(inner, inner + x)
        with k.if_(inner > 2):
            k.break_()
    k.assign(outer, inner)


def read_in_between(k: KernelBuilder, outer: Ref, x: Ref) -> None:
    inner = k.variable(outer)
    with k.for_(0, 3):
        k.assign(inner, inner + outer + x)
    k.assign(outer, inner)


def read_behind(k: KernelBuilder, outer: Ref, x: Ref) -> None:
    inner = k.variable(outer)
    k.assign(inner, inner + x)
    k.assign(outer, inner)
    k.assign(outer, outer * inner)


def written_in_between(k: KernelBuilder, outer: Ref, x: Ref) -> None:
    inner = k.variable(outer)
    k.assign(outer, x)
    k.assign(inner, inner + 1)
    k.assign(outer, inner)


def left_in_between(k: KernelBuilder, outer: Ref, x: Ref) -> None:
    inner = k.variable(outer)
    k.assign(inner, inner + 1)
    with k.if_(x > 0):
        k.continue_()
    k.assign(outer, inner)


def swapped(k: KernelBuilder, outer: Ref, x: Ref) -> None:
    other = k.variable(x)
    first, second = k.variable(outer), k.variable(other)
    with k.if_(x > 0):
        k.assign(first, other)
        k.assign(second, outer)
    k.assign(outer, first)
    k.assign(other, second)
    k.assign(outer, outer * 3 + other)


@pytest.mark.parametrize(
    ("body", "removed"),
    [
        (nested_loops, 1),
        (one_side_of_a_branch, 1),
        (left_only_within, 1),
        (read_in_between, 0),
        (read_behind, 0),
        (written_in_between, 0),
        (left_in_between, 0),
        (swapped, 0),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_carried_variable(body: Body, removed: int) -> None:
    k = KernelBuilder("carried")
    x, y, i = k.pointer("x", F32), k.pointer("y", F32), k.global_id(0)
    carried = k.variable(1.0, F32, "carried")
    with k.for_(0, 4) as turn:
        body(k, carried, k.load(x, (i + turn) & 7))
    k.store(y, i, carried)
    kernel = k.build()
    changed = coalesce(kernel)
    verify(changed)
    locals_ = [sum(isinstance(stmt, Local) for stmt in walk(each.body)) for each in (kernel, changed)]
    assert locals_[0] - locals_[1] == removed
    results = []
    for each in (kernel, changed):
        arrays = {"x": np.array([1, -2, 0.5, 3, -1, 2, -0.25, 4], np.float32), "y": np.zeros(8, np.float32)}
        interpret(each, arrays, (8,), (8,))
        results.append(arrays["y"])
    np.testing.assert_array_equal(*results)


def test_other_types_stay() -> None:
    k = KernelBuilder("types")
    y = k.pointer("y", U32)
    a = k.variable(3, I32)
    b = k.variable(k.convert(a, U32))
    k.store(y, 0, b)
    kernel = k.build()
    assert coalesce(kernel) is kernel
