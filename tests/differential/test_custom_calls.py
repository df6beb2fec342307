"""Custom calls: algorithms of the library in expressions, beside NumPy, by the interpreter of kernel IR."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest

import ocl_runtime.arrays as xp
from ocl_ir.graph import build as graph
from ocl_ir.graph.library_algorithm import LibraryAlgorithm, Typed
from ocl_ir.graph.printer import text
from ocl_ir.layout import Layout
from ocl_runtime.arrays.array import Array
from ocl_runtime.plan.fusion.values import Leaf, Operation
from ocl_runtime.plan.kernels import custom_call
from ocl_runtime.plan.kernels.custom_call import Call
from ocl_runtime.plan.kernels.elementwise import elementwise_launch
from ocl_runtime.plan.kernels.form import Output
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.launch import Launch
from tests.support.interpreted import InterpretedRuntime


@dataclass(frozen=True, slots=True)
class TimesTable(LibraryAlgorithm):
    """All products of the elements of two rows: several results in one."""

    negated: bool = False

    def result(self, *operands: Typed) -> Typed:
        left, right = operands
        return Typed(left.dtype, (*left.shape, *right.shape))


@dataclass(frozen=True, slots=True)
class Doubled(LibraryAlgorithm):
    """Every element twice as great, in place if that may be."""

    overwrites: ClassVar[int | None] = 0

    def result(self, *operands: Typed) -> Typed:
        return operands[0]


def lower_times_table(call: Call, allocate: Callable[[int], Any], lowering: Lowering) -> list[Launch]:
    left, right = call.operands
    (n,), (m,) = left.shape, right.shape
    stretched = (
        Leaf(left, Layout((n, m), (1, 0), left.layout.offset), False),
        Leaf(right, Layout((n, m), (0, 1), right.layout.offset), False),
    )
    values = (*stretched, Operation("mul", call.result.dtype, (0, 1)))
    if call.algorithm.negated:
        values = (*values, Operation("neg", call.result.dtype, (2,)))
    output = Output(len(values) - 1, call.result.layout, call.result.storage, call.result.dtype)
    return [elementwise_launch(values, (n, m), [output], lowering, apart=True)]


def lower_doubled(call: Call, allocate: Callable[[int], Any], lowering: Lowering) -> list[Launch]:
    operand = call.operands[0]
    leaf = Leaf(operand, operand.layout, False)
    output = Output(1, call.result.layout, call.result.storage, call.result.dtype)
    apart = operand.storage is not call.result.storage
    values = (leaf, Operation("add", operand.dtype, (0, 0)))
    return [elementwise_launch(values, operand.shape, [output], lowering, apart=apart)]


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("custom_calls_of_a_test")
    module.__dict__.update(lower_times_table=lower_times_table, lower_doubled=lower_doubled)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    names = {"TimesTable": "lower_times_table", "Doubled": "lower_doubled"}
    lowered_by = {name: f"{module.__name__}:{function}" for name, function in names.items()}
    monkeypatch.setattr(custom_call, "_LOWERED_BY", lowered_by)


def times_table(x: Array, y: Array, *, negated: bool = False) -> Array:
    return Array(graph.custom_call(TimesTable(negated), x._node, y._node), x._executor)


def doubled(x: Array) -> Array:
    return Array(graph.custom_call(Doubled(), x._node), x._executor)


def test_operands_are_computed_and_put_in_order_first() -> None:
    host = np.arange(24, dtype="f4").reshape(4, 6)
    runtime = InterpretedRuntime()
    with xp.use(runtime):
        x = xp.asarray(host)
        table = times_table(x[1] + 1, x[::-1, 2])
        np.testing.assert_array_equal(table.numpy(), np.outer(host[1] + 1, host[::-1, 2]))
        runtime.launched.clear()
        np.testing.assert_array_equal(times_table(x[1], x[2]).numpy(), np.outer(host[1], host[2]))
        assert len(runtime.launched) == 1, "what lies in order is read where it is"
        np.testing.assert_array_equal(
            times_table(xp.broadcast_to(xp.asarray(2.0), (3,)), xp.arange(3.0)).numpy(), [[0, 2, 4]] * 3
        )


def test_views_of_the_result_are_free_and_it_is_computed_once() -> None:
    runtime = InterpretedRuntime()
    with xp.use(runtime):
        x = xp.arange(1.0, 5.0)
        table = times_table(x.compute(), x)
        first, rest = table[0], table[1:].T
        runtime.launched.clear()
        np.testing.assert_array_equal(first.numpy(), [1, 2, 3, 4])
        np.testing.assert_array_equal(rest.numpy(), np.outer([1, 2, 3, 4], [2, 3, 4]))
        assert len(runtime.launched) == 1


def test_equal_calls_are_one_and_parameters_tell_them_apart() -> None:
    runtime = InterpretedRuntime()
    with xp.use(runtime):
        x, y = xp.asarray(np.arange(3.0)), xp.asarray(np.arange(4.0))
        runtime.launched.clear()
        total = times_table(x, y) + times_table(x, y)
        np.testing.assert_array_equal(total.numpy(), 2 * np.outer(np.arange(3), np.arange(4)))
        assert len(runtime.launched) == 2
        nothing = times_table(x, y) + times_table(x, y, negated=True)
        np.testing.assert_array_equal(nothing.numpy(), np.zeros((3, 4)))


def test_a_plan_serves_other_sizes() -> None:
    runtime = InterpretedRuntime()
    with xp.use(runtime):
        for n, m in ((3, 4), (5, 7), (9, 2)):
            x, y = xp.asarray(np.arange(float(n))), xp.asarray(np.arange(float(m)))
            np.testing.assert_array_equal((times_table(x, y) + 1).numpy(), np.outer(np.arange(n), np.arange(m)) + 1)


def test_the_result_may_be_in_the_memory_of_an_operand() -> None:
    runtime = InterpretedRuntime()
    with xp.use(runtime):
        x = xp.asarray(np.arange(6.0))
        kept = x + 1
        kept.compute()
        runtime.allocations.clear()
        np.testing.assert_array_equal(doubled(kept).numpy(), 2 * np.arange(1.0, 7.0))
        assert runtime.allocations.total() == 1, "somebody needs the operand"
        np.testing.assert_array_equal(kept.numpy(), np.arange(1.0, 7.0))
        runtime.allocations.clear()
        np.testing.assert_array_equal(doubled(kept * 3).numpy(), 6 * np.arange(1.0, 7.0))
        assert runtime.allocations.total() == 1, "nobody needs the operand"
        runtime.allocations.clear()
        np.testing.assert_array_equal(doubled(kept[::-1]).numpy(), 2 * np.arange(6.0, 0.0, -1))
        assert runtime.allocations.total() == 1, "the copy is its own"


def test_writes_into_a_result() -> None:
    with xp.use(InterpretedRuntime()):
        x = xp.asarray(np.arange(4.0))
        y = doubled(x)
        y[1] = 9
        np.testing.assert_array_equal(y.numpy(), [0, 9, 4, 6])
        np.testing.assert_array_equal(x.numpy(), np.arange(4.0))


def test_it_is_printed_and_explained() -> None:
    with xp.use(InterpretedRuntime()):
        x = xp.asarray(np.arange(4.0))
        table = times_table(x + 1, x, negated=True)
        assert "TimesTable(negated=True)(add(a, s0), a)" in text(table._node).replace("1.0", "s0")
        assert table._node.algorithm.name == "times_table"  # type: ignore[union-attr]


def test_captured() -> None:
    """The algorithm is a part of the plan's key; sizes are not."""
    with xp.use(InterpretedRuntime()):
        results = []
        for n in (3, 4):
            x = xp.asarray(np.arange(float(n)))
            for negated in (False, True):
                results.append(times_table(doubled(x), x, negated=negated).numpy())
        for n, plain, negative in ((3, *results[:2]), (4, *results[2:])):
            np.testing.assert_array_equal(plain, 2 * np.outer(np.arange(n), np.arange(n)))
            np.testing.assert_array_equal(negative, -plain)
