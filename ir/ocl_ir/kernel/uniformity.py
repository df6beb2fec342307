"""Which values, and which control flow, are the same for every work-item of a group.

Everything is uniform until shown to vary; what varies is collected in passes over the kernel until nothing is added,
which carries facts around the back edges of loops. Flow is divergent where a condition that varies decides whether a
work-item comes there:

- in the branches of an `If` and in the body of a loop whose condition or bounds vary;
- in a loop's whole body, once one of its `Break` or `Continue` is divergent: each iteration may miss some work-items;
- everywhere behind a divergent `Return`, and in the whole body of the loops around it.

What is loaded is uniform where the whole group loads one element of memory that nobody changes meanwhile.

After a loop that only a divergent `Break` leaves, all work-items are together again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
    walk,
)
from ocl_ir.types import Pointer

_VARYING_QUESTIONS = frozenset({"global_id", "local_id"})


@dataclass(frozen=True)
class Uniformity:
    """`varying` has the ids of the values and variables that may differ between the work-items of a group."""

    varying: frozenset[int]
    _causes: Mapping[int, Stmt]

    def is_uniform(self, operand: Operand) -> bool:
        """Whether all work-items of a group see the same value."""
        return isinstance(operand, Const) or operand.id not in self.varying

    def cause(self, stmt: Stmt) -> Stmt | None:
        """The statement whose varying condition lets only a part of the group come to `stmt` (told by identity).

        None if the whole group comes, or none of it.
        """
        return self._causes.get(id(stmt))


def uniformity(kernel: Kernel) -> Uniformity:
    """The analysis of a kernel whose values are defined before they are used."""
    analysis = _Analysis(kernel)
    known = -1
    while known != analysis.knowledge():
        known = analysis.knowledge()
        analysis.run()
    return Uniformity(frozenset(analysis.varying), analysis.causes)


class _Analysis:
    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self.varying: set[int] = set()
        self.causes: dict[int, Stmt] = {}
        self._loops: list[Stmt] = []
        self._ragged: dict[int, Stmt] = {}
        """Loops, by identity, whose iterations may miss work-items, and why."""
        self._returned: Stmt | None = None
        self._fixed = _fixed_memory(kernel)

    def knowledge(self) -> int:
        """Grows with every fact; facts are never taken back."""
        return len(self.varying) + len(self.causes) + len(self._ragged)

    def run(self) -> None:
        """One pass over the kernel."""
        self._returned = None
        self._block(self._kernel.body, None)

    def _block(self, block: Block, cause: Stmt | None) -> None:
        for stmt in block:
            # What is found inside of one statement, a divergent exit, counts from the next one on.
            here = cause or self._returned or (self._ragged.get(id(self._loops[-1])) if self._loops else None)
            if here is not None:
                self.causes.setdefault(id(stmt), here)
            self._statement(stmt, here)

    def _statement(self, stmt: Stmt, cause: Stmt | None) -> None:
        match stmt:
            case Let():
                joined = stmt.op != "uniform" and self._any_varies(stmt.args)
                self._vary(stmt.result.id, stmt.op in _VARYING_QUESTIONS or joined)
            case Load():
                fixed = stmt.pointer.id in self._fixed
                self._vary(stmt.result.id, not fixed or self._varies(stmt.index))
            case Atomic(result=Value() as result):
                self._vary(result.id, True)
            case Collective():
                self._vary(stmt.result.id, stmt.op in SCANS or (stmt.size > 0 and self._varies(stmt.value)))
            case Shuffle():
                self._vary(stmt.result.id, self._varies(stmt.value))  # sub-groups differ, also where the lane does not
            case MatrixMultiply():
                self._vary(stmt.result.id, True)
            case Local():
                self._vary(stmt.variable.id, self._varies(stmt.init))
            case Assign():
                self._vary(stmt.variable.id, cause is not None or self._varies(stmt.value))
            case If():
                inner = cause or (stmt if self._varies(stmt.condition) and stmt.registers is None else None)
                self._block(stmt.then, inner)
                self._block(stmt.orelse, inner)
                if stmt.registers is not None:
                    self._differ_behind(stmt)
            case For():
                ragged = self._any_varies((stmt.start, stmt.stop, stmt.step))
                self._vary(stmt.index.id, ragged)
                self._loop(stmt, (stmt.body,), cause or (stmt if ragged else None))
            case While():
                # The first header is the whole group's, but the header is one piece of code for all iterations.
                inner = cause or (stmt if self._varies(stmt.condition) else None)
                self._loop(stmt, (stmt.header, stmt.body), inner)
            case Break() | Continue() if cause is not None:
                self._ragged.setdefault(id(self._loops[-1]), cause)
            case Return() if cause is not None:
                self._returned = cause
                for loop in self._loops:
                    self._ragged.setdefault(id(loop), cause)

    def _differ_behind(self, stmt: If) -> None:
        """What one side of a branch assigns, where warps specialise, is not the other's."""
        inside = [*walk((*stmt.then, *stmt.orelse))]
        own = {each.variable.id for each in inside if isinstance(each, Local)}
        for each in inside:
            if isinstance(each, Assign) and each.variable.id not in own:
                self._vary(each.variable.id, True)

    def _loop(self, stmt: Stmt, parts: tuple[Block, ...], cause: Stmt | None) -> None:
        self._loops.append(stmt)
        for part in parts:
            self._block(part, cause)
        self._loops.pop()

    def _vary(self, id_: int, varies: bool) -> None:
        if varies:
            self.varying.add(id_)

    def _varies(self, operand: Operand) -> bool:
        return not isinstance(operand, Const) and operand.id in self.varying

    def _any_varies(self, operands: tuple[Operand, ...]) -> bool:
        return any(self._varies(operand) for operand in operands)


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
