"""Signed divisions whose operands are proven not to be negative become C's own: rounding down is truncating there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ocl_ir.kernel.grammar import Kernel, Let, Stmt
from ocl_ir.kernel.intervals import Intervals
from ocl_ir.passes.rewrite import Rewriter
from ocl_ir.types import element

_PLAIN = {"floordiv": "sdiv", "rem": "srem"}


def division(kernel: Kernel) -> Kernel:
    """The kernel with plain divisions where they are right."""
    return _Division(kernel).run()


class _Division(Rewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self._intervals = Intervals(kernel)

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        if not isinstance(stmt, Let) or stmt.op not in _PLAIN or element(stmt.result.type).kind != "int":
            return (stmt,)
        dividend, divisor = (self._intervals.of(arg) for arg in stmt.args)
        return (replace(stmt, op=_PLAIN[stmt.op]) if dividend.low >= 0 and divisor.low > 0 else stmt,)
