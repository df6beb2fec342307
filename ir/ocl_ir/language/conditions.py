"""Conditions: comparisons, `not`, `and`, `or`, and values that are chosen by one.

They evaluate what Python evaluates: where the right side of `and` or `or` loads or calls, it stands in a branch, and so
do the values of a conditional expression.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from ocl_ir.errors import DTypeError
from ocl_ir.kernel.grammar import Assign, If, Let, Stmt, Variable
from ocl_ir.kernel.operands import Ref
from ocl_ir.language.arithmetic import STATIC
from ocl_ir.language.memory import MemoryAccess
from ocl_ir.language.values import (
    HostNumber,
    Number,
    Value,
    is_static,
)
from ocl_ir.program_ops import ExactOp
from ocl_ir.types import BOOL

_COMPARE = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}


class Conditions(MemoryAccess):
    """Translates comparisons and what they decide."""

    def expression(self, node: ast.expr) -> Value:
        """The value of an expression; `ocl_ir.language.expressions` has it."""
        raise NotImplementedError

    def negated(self, value: Value) -> Value:
        """`not v`."""
        if isinstance(value, HostNumber) and value.is_bool:
            return HostNumber("not", (value,), True)
        condition = self.condition(value)
        if isinstance(condition, bool):
            return not condition
        return Number(self.k.op("not", condition), BOOL)

    def _Compare(self, node: ast.Compare) -> Value:  # noqa: N802
        left = self.expression(node.left)
        operators = list(zip(node.ops, node.comparators, strict=True))
        return self._chained(left, operators)

    def _chained(self, left: Value, rest: Sequence[tuple[ast.cmpop, ast.expr]]) -> Value:
        operator_, comparator = rest[0]
        right = self.expression(comparator)
        first = self._comparison(operator_, left, right)
        if len(rest) == 1:
            return first
        return self._and(first, lambda: self._chained(right, rest[1:]))

    def _comparison(self, operator_: ast.cmpop, left: Value, right: Value) -> Value:
        if isinstance(operator_, ast.Is | ast.IsNot):
            return self._identity(left, right) == isinstance(operator_, ast.Is)
        if isinstance(operator_, ast.In | ast.NotIn):
            if not isinstance(right, tuple):
                raise self.fault(f"in {self.described(right)}", "in is for tuples: v in (1, 2)")
            found: Value = False
            for element in right:
                found = self._or(found, lambda element=element: self.binary("eq", left, element))  # type: ignore[misc]
            return found if isinstance(operator_, ast.In) else self.negated(found)
        op = _COMPARE[type(operator_)]
        if isinstance(left, tuple) and isinstance(right, tuple) and op in {"eq", "ne"}:
            equal: Value = len(left) == len(right)
            for a, b in zip(left, right, strict=False):
                equal = self._and(equal, lambda a=a, b=b: self.binary("eq", a, b))  # type: ignore[misc]
            return equal if op == "eq" else self.negated(equal)
        if is_static(left) and is_static(right):
            return self.static(STATIC[op], left, right)
        return self.binary(op, left, right)

    def _identity(self, left: Value, right: Value) -> bool:
        if not (left is None or right is None or (is_static(left) and is_static(right))):
            raise self.fault("`is` of numbers", "compare values: ==")
        return left is right

    def tested(self, node: ast.expr) -> bool | Ref:
        """What an expression says as a condition, where numbers are true unless they are 0."""
        return self.condition(self._truth(node))

    def _truth(self, node: ast.expr) -> Value:
        match node:
            case ast.BoolOp(op=op, values=[first, *rest]):
                join = self._and if isinstance(op, ast.And) else self._or
                right = ast.copy_location(ast.BoolOp(op, rest), node) if len(rest) > 1 else rest[0]
                return join(self._truth(first), lambda: self._truth(right))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.negated(self._truth(operand))
        value = self.expression(node)
        is_number = isinstance(value, Number) and value.lanes == 1 and value.dtype is not BOOL
        return Number(self.condition_ref(value), BOOL) if is_number else value

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
                self.k.emit(stmt)
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
        if isinstance(then, tuple) or isinstance(orelse, tuple):
            raise self.fault("a tuple chosen at run time", "choose its elements", DTypeError)
        if all(map(_is_cheap, (*then_block, *else_block))):
            for stmt in (*then_block, *else_block):
                self.k.emit(_early(stmt))
            return self.select(condition, then, orelse)
        return self._branches(condition, (then, then_block), (orelse, else_block))

    def _branches(self, condition: Ref, then: tuple[Value, list[Stmt]], orelse: tuple[Value, list[Stmt]]) -> Value:
        """The value of the branch that runs."""
        class_ = self.meet_all("a conditional expression", (then[0], orelse[0]))
        results: list[Number] = []
        for value, block in (then, orelse):
            with self.k.block() as conversions:
                results.append(self._in_common(value, class_))
            block.extend(conversions)
        first = results[0]
        init = self._constant(False if first.dtype is BOOL else 0, self.computed_as(first.dtype), first.lanes)
        assigned = [(results[0], then[1]), (results[1], orelse[1])]
        if all(map(_is_cheap, orelse[1])):  # computed before, it needs no branch of its own
            for stmt in orelse[1]:
                self.k.emit(_early(stmt))
            orelse[1].clear()
            init = assigned.pop()[0].ref
        variable = self.k.variable(init)
        assert isinstance(variable.operand, Variable)
        for result, block in assigned:
            block.append(Assign(variable.operand, result.ref.operand, where=self.k.where or ""))
        self.k.emit(If(condition.operand, tuple(then[1]), tuple(orelse[1]), where=self.k.where or ""))
        return Number(self.k.let(variable), first.dtype, first.kind)

    def _in_common(self, value: Value, class_: Any) -> Number:
        number = self._in_class(value, class_)
        weak = class_.literal in {"int", "float"} and isinstance(value, Number) and value.kind == "weak"
        return dataclasses.replace(number, kind="weak") if weak else number


def _is_cheap(stmt: Stmt) -> bool:
    """Whether a statement only computes, and little: it may run where Python would not have evaluated it."""
    return isinstance(stmt, Let) and stmt.op not in _DEAR


def _early(stmt: Stmt) -> Stmt:
    """A cheap statement where Python might not have evaluated it, and so might overflow."""
    if isinstance(stmt, Let) and isinstance(stmt.op, ExactOp):
        return dataclasses.replace(stmt, op=str(stmt.op))
    return stmt


_DEAR = frozenset({"pow", "ipow", "exp", "log", "sin", "cos", "tan", "erf", "floordiv", "rem", "div"})
