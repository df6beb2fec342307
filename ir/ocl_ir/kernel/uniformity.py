"""Which values, and which control flow, are the same for every work-item of a group.

Everything is uniform until shown to vary; what varies is collected in passes over the kernel until nothing is added,
which carries facts around the back edges of loops. Flow is divergent where a condition that varies decides whether a
work-item comes there:

- in the branches of an `If` and in the body of a loop whose condition or bounds vary;
- in a loop's whole body, once one of its `Break` or `Continue` is divergent: each iteration may miss some work-items;
- everywhere behind a divergent `Return`, and in the whole body of the loops around it.

What is loaded is uniform where the whole group loads one element of memory that nobody changes meanwhile.

After a loop that only a divergent `Break` leaves, all work-items are together again.

What differs may be the same for teams of neighbours, as `local_id < 256` is for 128 of them: then these come together
to where such a condition leads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ocl_ir.kernel.accesses import written_pointers
from ocl_ir.kernel.collectives import SCANS
from ocl_ir.kernel.grammar import (
    Assign,
    Atomic,
    Block,
    Break,
    Collective,
    Const,
    Continue,
    For,
    If,
    Kernel,
    Let,
    Load,
    Local,
    MatrixMultiply,
    Operand,
    Return,
    Shuffle,
    Stmt,
    Value,
    While,
)
from ocl_ir.types import U32, Pointer

_VARYING_QUESTIONS = frozenset({"global_id", "local_id"})
_WHOLE = 1 << 30
"""The team of what is the same for the whole group."""
_Cause: TypeAlias = tuple[int, Stmt] | None
"""Why only some teams of a group come somewhere, and how many work-items these have at least."""


@dataclass(frozen=True)
class Uniformity:
    """`teams` has the ids of the values and variables that may differ between the work-items of a group, and how many
    neighbours, from a multiple of that number on, have the same value: a power of two."""

    teams: Mapping[int, int]
    _causes: Mapping[int, tuple[int, Stmt]]

    def is_uniform(self, operand: Operand) -> bool:
        """Whether all work-items of a group see the same value."""
        return isinstance(operand, Const) or operand.id not in self.teams

    def cause(self, stmt: Stmt, team: int = _WHOLE) -> Stmt | None:
        """The statement whose varying condition lets only a part of the group come to `stmt` (told by identity), or
        only a part of a `team` of that many neighbours.

        None if the whole group comes, or none of it; or of each team.
        """
        size, cause = self._causes.get(id(stmt), (_WHOLE, None))
        return cause if size < team else None


def uniformity(kernel: Kernel) -> Uniformity:
    """The analysis of a kernel whose values are defined before they are used."""
    analysis = _Analysis(kernel)
    known = -1
    while known != analysis.facts:
        known = analysis.facts
        analysis.run()
    return Uniformity(analysis.teams, analysis.causes)


class _Analysis:
    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self.teams: dict[int, int] = {}
        self.causes: dict[int, tuple[int, Stmt]] = {}
        self.facts = 0
        """Grows with every fact; facts are never taken back."""
        self._numbers: set[int] = set()
        """Values that are the work-item's number in a group of one dimension."""
        self._loops: list[Stmt] = []
        self._ragged: dict[int, tuple[int, Stmt]] = {}
        """Loops, by identity, whose iterations may miss work-items, and why."""
        self._returned: _Cause = None
        self._fixed = _fixed_memory(kernel)

    def run(self) -> None:
        """One pass over the kernel."""
        self._returned = None
        self._block(self._kernel.body, None)

    def _block(self, block: Block, cause: _Cause) -> None:
        for stmt in block:
            # What is found inside of one statement, a divergent exit, counts from the next one on.
            here = _finer(cause, self._returned)
            if self._loops:
                here = _finer(here, self._ragged.get(id(self._loops[-1])))
            self._note(self.causes, id(stmt), here)
            self._statement(stmt, here)

    def _statement(self, stmt: Stmt, cause: _Cause) -> None:
        match stmt:
            case Let():
                self._vary(stmt.result.id, self._team_of_let(stmt))
            case Load():
                fixed = stmt.pointer.id in self._fixed
                self._vary(stmt.result.id, self._team(stmt.index) if fixed else 1)
            case Atomic(result=Value() as result):
                self._vary(result.id, 1)
            case Collective():
                varies = stmt.op in SCANS or (stmt.size > 0 and self._team(stmt.value) < _WHOLE)
                self._vary(stmt.result.id, 1 if varies else _WHOLE)
            case Shuffle():  # sub-groups differ, also where the lane does not
                self._vary(stmt.result.id, 1 if self._team(stmt.value) < _WHOLE else _WHOLE)
            case MatrixMultiply():
                self._vary(stmt.result.id, 1)
            case Local():
                self._vary(stmt.variable.id, self._team(stmt.init))
            case Assign():
                self._vary(stmt.variable.id, min(cause[0] if cause else _WHOLE, self._team(stmt.value)))
            case If():
                inner = self._narrowed(cause, stmt, (stmt.condition,))
                self._block(stmt.then, inner)
                self._block(stmt.orelse, inner)
            case For():
                bounds = stmt.start, stmt.stop, stmt.step
                self._vary(stmt.index.id, self._common(bounds))
                self._loop(stmt, (stmt.body,), self._narrowed(cause, stmt, bounds))
            case While():
                # The first header is the whole group's, but the header is one piece of code for all iterations.
                self._loop(stmt, (stmt.header, stmt.body), self._narrowed(cause, stmt, (stmt.condition,)))
            case Break() | Continue() if cause is not None:
                self._note(self._ragged, id(self._loops[-1]), cause)
            case Return() if cause is not None:
                self._returned = _finer(self._returned, cause)
                for loop in self._loops:
                    self._note(self._ragged, id(loop), cause)

    def _loop(self, stmt: Stmt, parts: tuple[Block, ...], cause: _Cause) -> None:
        self._loops.append(stmt)
        for part in parts:
            self._block(part, cause)
        self._loops.pop()

    def _narrowed(self, cause: _Cause, stmt: Stmt, conditions: tuple[Operand, ...]) -> _Cause:
        """The cause inside of a statement whose conditions may differ."""
        team = self._common(conditions)
        return _finer(cause, (team, stmt) if team < _WHOLE else None)

    def _note(self, known: dict[int, tuple[int, Stmt]], key: int, cause: _Cause) -> None:
        if cause is not None and (key not in known or cause[0] < known[key][0]):
            known[key] = cause
            self.facts += 1

    def _vary(self, id_: int, team: int) -> None:
        if team < self.teams.get(id_, _WHOLE):
            self.teams[id_] = team
            self.facts += 1

    def _team(self, operand: Operand) -> int:
        return _WHOLE if isinstance(operand, Const) else self.teams.get(operand.id, _WHOLE)

    def _common(self, operands: tuple[Operand, ...]) -> int:
        return min(map(self._team, operands), default=_WHOLE)

    def _team_of_let(self, stmt: Let) -> int:
        if stmt.op == "uniform":
            return _WHOLE
        if stmt.op in _VARYING_QUESTIONS:
            in_a_row = self._kernel.group_size is not None and self._kernel.group_size[1:] == (1, 1)
            if stmt.op == "local_id" and in_a_row and stmt.args == (Const(0, U32),):
                self._numbers.add(stmt.result.id)
            return 1
        if stmt.op in {"copy", "convert"} and self._is_number(stmt.args[0]):
            self._numbers.add(stmt.result.id)
        match stmt.args:
            case (number, Const(value=int() as limit)) if self._is_number(number):
                team_of = _TEAM_OF.get(stmt.op)
                return 1 if team_of is None else team_of(limit)
            case _:
                return self._common(stmt.args)

    def _is_number(self, operand: Operand) -> bool:
        return isinstance(operand, Value) and operand.id in self._numbers


def _aligned(limit: int) -> int:
    """The greatest power of two that divides a number."""
    return limit & -limit or _WHOLE


_TEAM_OF: Mapping[str, Callable[[int], int]] = {
    "udiv": _aligned,
    "lt": _aligned,
    "ge": _aligned,
    "le": lambda limit: _aligned(limit + 1),
    "gt": lambda limit: _aligned(limit + 1),
}
"""How many neighbours have one result of an operation of their number and a constant."""


def _finer(first: _Cause, second: _Cause) -> _Cause:
    """The cause with smaller teams, the first one of two alike."""
    if first is None or second is None:
        return first or second
    return second if second[0] < first[0] else first


def _fixed_memory(kernel: Kernel) -> frozenset[int]:
    """The pointer parameters whose memory no work-item changes while the kernel runs: not through them, and not through
    others that may overlap them."""
    written = written_pointers(kernel)
    pointers = [param for param in kernel.params if isinstance(param.value.type, Pointer)]
    apart = all(param.restrict for param in pointers if param.value.id in written)
    return frozenset(
        param.value.id
        for param in pointers
        if param.value.id not in written
        and (apart or param.restrict or getattr(param.value.type, "space", "") == "constant")
    )
