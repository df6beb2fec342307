"""What the interpreter says of a fault: which work-item, where in the kernel, and both sides of a data race."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from ocl_ir.errors import DataRaceError, Error, IRError
from ocl_ir.interpret.arguments import Launch, Triple
from ocl_ir.interpret.memory import Memory
from ocl_ir.interpret.operation import Data, overflows
from ocl_ir.interpret.races import Race, Touch
from ocl_ir.kernel.grammar import GroupStmt, Kernel, Let, Stmt, SubgroupStmt, walk
from ocl_ir.kernel.printer import neighbourhood
from ocl_ir.types import element

_BEYOND_THE_RANGE = {
    4: "convert an operand: int64(…); an index has 64 bits only where an array, an argument or the launch needs that",
    8: "test the operands before: no index reaches further than 64 bits",
}
"""What to do about an index that overflows, by the bytes of its type."""


class Faults:
    """Names work-items and statements of a launch. `group` is the one that runs."""

    def __init__(self, kernel: Kernel, space: Launch) -> None:
        self._kernel, self._space = kernel, space
        self._statements = list(walk(kernel.body))
        self._numbers = {id(stmt): number for number, stmt in enumerate(self._statements)}
        self.group: Triple = (0, 0, 0)

    @property
    def statements(self) -> int:
        """How many statements the kernel has."""
        return len(self._statements)

    def number(self, stmt: Stmt) -> int:
        """Which of them a statement is."""
        return self._numbers[id(stmt)]

    def work_item(self, number: int, group: Triple | None = None) -> str:
        """A work-item by its number in a group, or in the one that runs."""
        return f"work-item {self._space.item(number)} of group {group or self.group}"

    def fail(self, kind: type[Error], fact: str, stmt: Stmt, remedy: str) -> NoReturn:
        """Raises the error of a statement."""
        raise kind(fact, place=self.place(stmt), remedy=remedy)

    def place(self, stmt: Stmt) -> str:
        """Where a statement stands, with its neighbours."""
        return neighbourhood(self._kernel, stmt)

    def check_whole(self, stmt: GroupStmt, active: Data, expected: Data) -> Data:
        """The work-items that are expected at a statement: those of a group, or of a side where warps specialise.
        Raises `IRError` where only a part of them comes, or they are no whole sub-groups, which it is about."""
        absent = expected & ~active
        if np.count_nonzero(absent):
            kind = type(stmt).__name__.lower()
            reached, missing = np.count_nonzero(active), self.work_item(int(np.argmax(absent)))
            fact = (
                f"divergent {kind}: {reached} of {np.count_nonzero(expected)} work-items reach it, {missing} does not"
            )
            self.fail(IRError, fact, stmt, f"move the {kind} to where the whole group passes")
        size = stmt.size if isinstance(stmt, SubgroupStmt) else 0
        if size and active.size % size:
            fact = f"group {self.group} has {active.size} work-items, which are no whole sub-groups of {size}"
            self.fail(IRError, fact, stmt, "launch groups that the sub-group's size divides")
        return np.flatnonzero(active)

    def check_exact(self, stmt: Let, args: Sequence[Data], items: Data) -> None:
        """Raises `IRError` where an operation of indices overflows."""
        dtype = element(stmt.result.type)
        wrong = overflows(stmt.op, args, dtype)
        if wrong.any():
            at = int(np.argmax(wrong))
            operands = " and ".join(str(arg[at]) for arg in args)
            fact = f"{stmt.op} of {operands} leaves the range of {dtype.numpy}, which an index must not, in "
            fact += self.work_item(int(items[at]))
            self.fail(IRError, fact, stmt, _BEYOND_THE_RANGE[dtype.size])

    def race(self, memory: Memory, race: Race) -> DataRaceError:
        """The error of two accesses without an order."""
        later, earlier = self._who(race.later), self._who(race.earlier)
        lines = {str(self._statements[touch.statement].where) for touch in (race.later, race.earlier)}
        barrier = f"put a {memory.pointer.space} barrier between them"
        if len(lines) == 1 and "" not in lines:  # one line of Python is both
            barrier = "use an atomic function, as atomic_add"
        if race.later.group != race.earlier.group:
            barrier = "no barrier orders different groups: use two kernels or atomics"
        return DataRaceError(
            f"data race on {memory.name}[{memory.element_of(race.cell)}]: {later} and {earlier} touch it "
            "without an order between them, and not both only read or both are atomic",
            place=self._both(later, race.later, earlier, race.earlier),
            remedy=f"{barrier}, or let each work-item touch its own elements",
        )

    def _both(self, later: str, touch: Touch, earlier: str, other: Touch) -> str:
        stmts = [self._statements[each.statement] for each in (touch, other)]
        places = [self.place(stmt) for stmt in stmts]
        if places[0] == places[1] and hasattr(stmts[0].where, "excerpt"):
            return f"both:\n{places[0]}"
        return f"{later}:\n{places[0]}\n{earlier}:\n{places[1]}"

    def _who(self, touch: Touch) -> str:
        return self.work_item(touch.item, self._space.group(touch.group))
