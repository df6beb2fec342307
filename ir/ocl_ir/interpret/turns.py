"""The turns that warpgroups take, of which only the order is checked: in lock step all of them have theirs at once."""

from __future__ import annotations

from ocl_ir.errors import IRError
from ocl_ir.interpret.faults import Faults
from ocl_ir.interpret.operation import Data
from ocl_ir.kernel.asynchronous import WARPGROUP
from ocl_ir.kernel.grammar import Turn

_BEFORE = {"open": ("close",), "await": ("open", "pass"), "pass": ("await",), "close": ("open", "pass")}
"""Behind what each step may come; turns are closed when a group begins."""


class Turns:
    """Those of a group."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self._last: Turn | None = None

    def take(self, stmt: Turn, items: Data) -> None:
        """A step, to which these work-items come. Raises `IRError` where it is not in order."""
        before = "close" if self._last is None else self._last.what
        if before not in _BEFORE[stmt.what]:
            fact = f"turns: {stmt.what} comes behind {before}"
            self._faults.fail(IRError, fact, stmt, f"let it come behind {' or '.join(_BEFORE[stmt.what])}")
        if items.size != stmt.warpgroups * WARPGROUP or items[0]:
            fact = f"{stmt.warpgroups} warpgroups take turns, and {items.size} work-items come from {items[0]} on"
            self._faults.fail(IRError, fact, stmt, "let the first warpgroups of a group take turns, all that come here")
        self._last = stmt

    def end(self) -> None:
        """Raises `IRError` where a group ends and turns are not closed."""
        if self._last is not None and self._last.what != "close":
            fact = "a group ends while warpgroups take turns"
            self._faults.fail(IRError, fact, self._last, "close them behind the last one")
