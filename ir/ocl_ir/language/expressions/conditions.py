"""Conditions: comparisons, `not`, and what an expression is as a condition."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ocl_ir.kernel.operands import Ref
from ocl_ir.language.expressions.arithmetic import STATIC
from ocl_ir.language.expressions.choices import Choices
from ocl_ir.language.values.values import (
    HostNumber,
    Number,
    Value,
    is_static,
)
from ocl_ir.types import BOOL

_COMPARE = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}


class Conditions(Choices):
    """Translates comparisons and what they decide."""

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
            contained: Value = False
            for element in right:
                contained = self._or(contained, lambda element=element: self.binary("eq", left, element))  # type: ignore[misc]
            return contained if isinstance(operator_, ast.In) else self.negated(contained)
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
