"""Divisions become C's own where they are proven to be: of what is not negative, since rounding down is truncating
there, and not by zero."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ocl_ir.kernel.grammar import Const, Kernel, Let, Stmt
from ocl_ir.kernel.intervals import Intervals
from ocl_ir.passes.rewrite import Rewriter
from ocl_ir.types import element

_PLAIN = {"int": {"floordiv": "sdiv", "rem": "srem"}, "uint": {"floordiv": "udiv", "rem": "urem"}}


def division(kernel: Kernel) -> Kernel:
    """The kernel with plain divisions where they are right."""
    return _Division(kernel).run()


class _Division(Rewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self._intervals = Intervals(kernel)

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        plain = None
        if isinstance(stmt, Let):
            kind = element(stmt.result.type).kind
            plain = _PLAIN.get(kind, {}).get(stmt.op)
        if not isinstance(stmt, Let) or plain is None:
            return (stmt,)
        dividend, divisor = stmt.args
        if kind == "uint":
            proven = isinstance(divisor, Const) and divisor.value > 0
        else:
            proven = self._intervals.of(dividend).low >= 0 and self._intervals.of(divisor).low > 0
        return (replace(stmt, op=plain) if proven else stmt,)
