"""Statements of Python, each translated by its name; what has no meaning in a kernel is refused by name."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from itertools import zip_longest

from ocl_ir.kernel.grammar import Return
from ocl_ir.language.errors import Span
from ocl_ir.language.expressions.reports import AssertionSite
from ocl_ir.language.statements.branches import DECIDED
from ocl_ir.language.statements.loop_statements import Loops

MOST_STATEMENTS = 20_000
"""Statements of a kernel, after helpers are inlined and loops unrolled."""
_UNSUPPORTED = {
    ast.With: ("`with`", "kernels have no context managers"),
    ast.Try: ("`try`", "test before"),
    ast.TryStar: ("`try`", "test before"),
    ast.Raise: ("`raise`", "use assert, which checked mode reports"),
    ast.Match: ("`match`", "write if and elif"),
    ast.ClassDef: ("`class`", "define it outside: frozen dataclasses can be passed"),
    ast.Delete: ("`del`", "names end by themselves"),
    ast.Global: ("`global`", "store into an array"),
    ast.Nonlocal: ("`nonlocal`", "return the value"),
    ast.Import: ("`import`", "import outside of the kernel"),
    ast.ImportFrom: ("`import`", "import outside of the kernel"),
    ast.AsyncFor: ("`async`", "kernels do not wait"),
    ast.AsyncWith: ("`async`", "kernels do not wait"),
    ast.AsyncFunctionDef: ("`async`", "kernels do not wait"),
}
if sys.version_info >= (3, 12):
    _UNSUPPORTED[ast.TypeAlias] = ("`type`", "define the type outside")


class Statements(Loops):
    """Translates statements."""

    def statements(self, stmts: Sequence[ast.stmt]) -> bool:
        """Translates statements; says whether what follows them is reached."""
        for stmt, following in zip_longest(stmts, stmts[1:]):
            self.span = Span.of(stmt, self.frame, self.called)
            self._spend()
            translate = getattr(self, f"_{type(stmt).__name__}_stmt", None)
            if translate is None:
                what, remedy = _UNSUPPORTED.get(type(stmt), (type(stmt).__name__, ""))
                raise self.fault(f"{what} has no meaning in a kernel", remedy)
            outcome = translate(stmt)
            if outcome is False and following is not None:
                span = Span.of(following, self.frame, self.called)
                raise self.fault("this is never reached", f"remove it, or what ends line {stmt.lineno}", span=span)
            if outcome in {False, DECIDED}:
                return False
        return True

    def _spend(self) -> None:
        self.count += 1
        root = self.span
        while root.called is not None:
            root = root.called
        self.by_line[str(root)] += 1
        if self.count > MOST_STATEMENTS:
            largest = ", ".join(f"{line} ({count:,})" for line, count in self.by_line.most_common(3))
            raise self.fault(
                f"the kernel has more than {MOST_STATEMENTS:,} statements once helpers are inlined and loops unrolled",
                f"unroll less; most come from {largest}",
            )

    def _Return_stmt(self, stmt: ast.Return) -> bool:  # noqa: N802
        if stmt.value is not None:
            raise self.fault("a kernel returns nothing", "store the value into an array that is passed")
        self.k.emit(Return())
        return False

    def _Assert_stmt(self, stmt: ast.Assert) -> None:  # noqa: N802
        if not self.options.checked:
            return
        condition = self.tested(stmt.test)
        message = self.expression(stmt.msg) if stmt.msg is not None else ""
        if isinstance(condition, bool):
            if not condition:
                raise self.fault(
                    f"the assertion does not hold, whenever this runs{f': {message}' if message else ''}",
                    "change what it asserts, or what makes it false",
                )
            return
        text = Span.of(stmt.test, self.frame).text + (f": {message}" if message else "")
        site = AssertionSite(Span.of(stmt, self.frame, self.called), text)
        self.report_where(self.k.op("not", condition), site)
