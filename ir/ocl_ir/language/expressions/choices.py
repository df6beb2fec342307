"""Choices: `and`, `or` and conditional expressions evaluate what Python evaluates.

What only computes, and little, runs in any case; else it stands in a branch. Tuples are chosen element by element.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ocl_ir.errors import DTypeError
from ocl_ir.kernel.grammar import Assign, If, Let, Stmt, Variable
from ocl_ir.kernel.operands import Ref
from ocl_ir.language.expressions.memory import MemoryAccess
from ocl_ir.language.values.values import ArrayView, Number, Value, remedy_for_arrays, text_beside
from ocl_ir.program_ops import ExactOp
from ocl_ir.types import BOOL


class Choices(MemoryAccess):
    """Translates expressions that may leave a part of theirs out."""

    def _BoolOp(self, node: ast.BoolOp) -> Value:  # noqa: N802
        join = self._and if isinstance(node.op, ast.And) else self._or

        def rest(values: Sequence[ast.expr]) -> Value:
            first = self.expression(values[0])
            return first if len(values) == 1 else join(first, lambda: rest(values[1:]))

        return rest(node.values)

    def _and(self, left: Value, right: Callable[[], Value]) -> Value:
        return self._short_circuit(left, right, stops=False)

    def _or(self, left: Value, right: Callable[[], Value]) -> Value:
        return self._short_circuit(left, right, stops=True)

    def _short_circuit(self, left: Value, right: Callable[[], Value], *, stops: bool) -> Value:
        """The left value where it decides, else the right one, which is not evaluated before that is known."""
        condition = self.condition(left)
        if isinstance(condition, bool):
            return left if condition is stops else right()
        with self.k.block() as block:
            value = right()
            tested = self._as_bool(value)
        op = "or" if stops else "and"
        if all(map(_is_cheap, block)):
            for stmt in block:
                self.k.emit(_early(stmt))
            return Number(self.k.op(op, condition, tested), BOOL)
        variable = self.k.variable(condition)
        assert isinstance(variable.operand, Variable)
        block.append(Assign(variable.operand, tested.operand, where=self.k.where or ""))
        then, orelse = ((), tuple(block)) if stops else (tuple(block), ())
        self.k.emit(
            If(condition.operand, then, orelse, where=self.k.where or "") if then else self._unless(condition, orelse)
        )
        return Number(self.k.let(variable), BOOL)

    def _unless(self, condition: Ref, block: tuple[Stmt, ...]) -> Stmt:
        negated = self.k.op("not", condition)
        return If(negated.operand, block, (), where=self.k.where or "")

    def _as_bool(self, value: Value) -> Ref:
        if isinstance(value, Number) and value.dtype is not BOOL:
            raise self.fault(
                f"`and` and `or` give a value, and one of theirs is {self.described(value)}",
                "compare it: v != 0",
                DTypeError,
            )
        condition = self.condition(value)
        return self._constant(condition, BOOL) if isinstance(condition, bool) else condition

    def _IfExp(self, node: ast.IfExp) -> Value:  # noqa: N802
        condition = self.tested(node.test)
        if isinstance(condition, bool):
            return self.expression(node.body if condition else node.orelse)
        with self.k.block() as then_block:
            then = self.expression(node.body)
        with self.k.block() as else_block:
            orelse = self.expression(node.orelse)
        if then is orelse and isinstance(then, ArrayView):
            return then
        pairs = self._pairs(then, orelse)
        if all(map(_is_cheap, (*then_block, *else_block))):
            for stmt in (*then_block, *else_block):
                self.k.emit(_early(stmt))
            chosen = [self.select(condition, *pair) for pair in pairs]
        else:
            chosen = self._branches(condition, pairs, then_block, else_block)
        return _like(then, iter(chosen))

    def _pairs(self, then: Value, orelse: Value) -> list[tuple[Value, Value]]:
        """The numbers of two values, of tuples those inside."""
        if not isinstance(then, tuple) and not isinstance(orelse, tuple):
            self.refuse_choice_of_arrays(then, orelse)
            return [(then, orelse)]
        if type(then) is not type(orelse) or len(then) != len(orelse):
            raise self.fault(
                f"a choice between {self.described(then)} and {self.described(orelse)}",
                "choose between tuples of as many numbers",
                DTypeError,
            )
        return [pair for values in zip(then, orelse, strict=True) for pair in self._pairs(*values)]

    def refuse_choice_of_arrays(self, left: Value, right: Value) -> None:
        """Raises `DTypeError` for two arrays."""
        if isinstance(left, ArrayView) and isinstance(right, ArrayView):
            fact = f"a choice between {text_beside(left, right)} and {text_beside(right, left)}"
            raise self.fault(f"{fact} at run time", remedy_for_arrays(left, right), DTypeError)

    def _branches(
        self,
        condition: Ref,
        pairs: Sequence[tuple[Value, Value]],
        then_block: list[Stmt],
        else_block: list[Stmt],
    ) -> list[Value]:
        """The values of the branch that runs."""
        results: list[tuple[Number, Number]] = []
        for pair in pairs:
            class_ = self.meet_all("a conditional expression", pair)
            with self.k.block() as conversions:
                first = self._in_common(pair[0], class_)
            then_block.extend(conversions)
            with self.k.block() as conversions:
                second = self._in_common(pair[1], class_)
            else_block.extend(conversions)
            results.append((first, second))
        is_early = all(map(_is_cheap, else_block))  # computed before, it needs no branch of its own
        if is_early:
            for stmt in else_block:
                self.k.emit(_early(stmt))
            else_block.clear()
        chosen: list[Number] = []
        for first, second in results:
            zero = self._constant(False if first.dtype is BOOL else 0, self.computed_as(first.dtype), first.lanes)
            variable = self.k.variable(second.ref if is_early else zero)
            assert isinstance(variable.operand, Variable)
            then_block.append(Assign(variable.operand, first.ref.operand, where=self.k.where or ""))
            if not is_early:
                else_block.append(Assign(variable.operand, second.ref.operand, where=self.k.where or ""))
            chosen.append(Number(variable, first.dtype, first.kind))
        self.k.emit(If(condition.operand, tuple(then_block), tuple(else_block), where=self.k.where or ""))
        return [dataclasses.replace(number, ref=self.k.let(number.ref)) for number in chosen]

    def _in_common(self, value: Value, class_: Any) -> Number:
        number = self._in_class(value, class_)
        weak = class_.literal in {"int", "float"} and isinstance(value, Number) and value.kind == "weak"
        return dataclasses.replace(number, kind="weak") if weak else number

    def expression(self, node: ast.expr) -> Value:
        """The value of an expression; `ocl_ir.language.expressions.expressions` has it."""
        raise NotImplementedError

    def tested(self, node: ast.expr) -> bool | Ref:
        """An expression as a condition; `ocl_ir.language.expressions.conditions` has it."""
        raise NotImplementedError


def _like(value: Value, leaves: Iterator[Value]) -> Value:
    """A value of leaves, or a tuple of them that has the shape of another."""
    if not isinstance(value, tuple):
        return next(leaves)
    elements = [_like(element, leaves) for element in value]
    return type(value)(*elements) if hasattr(value, "_fields") else tuple(elements)


def _is_cheap(stmt: Stmt) -> bool:
    """Whether a statement only computes, and little: it may run where Python would not have evaluated it."""
    return isinstance(stmt, Let) and stmt.op not in _DEAR


def _early(stmt: Stmt) -> Stmt:
    """A cheap statement where Python might not have evaluated it, and so might overflow."""
    if isinstance(stmt, Let) and isinstance(stmt.op, ExactOp):
        return dataclasses.replace(stmt, op=str(stmt.op))
    return stmt


_DEAR = frozenset({"pow", "ipow", "exp", "log", "sin", "cos", "tan", "erf", "floordiv", "rem", "div"})
