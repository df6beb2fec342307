"""Where values and variables live: computed from the structure of the kernel, never from counting references.

Statement number p reads at 2p and writes at 2p + 1; an operation of several statements writes at 2p already, so that
its result never shares a place with an operand that a later one of those statements reads. A use inside of a loop that
does not contain the definition lasts to the loop's end: the value is live across the back edge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ocl_ir.kernel.grammar import (
    Assign,
    Block,
    For,
    Kernel,
    Let,
    Load,
    Local,
    Stmt,
    Value,
    Variable,
    While,
    blocks,
    defined,
)
from ocl_ir.kernel.inline import reads
from ocl_ir.ops import OPS


@dataclass(slots=True)
class Life:
    """From the definition to the last use, inclusive."""

    start: int
    end: int


def lives(kernel: Kernel, chosen: Mapping[int, Let | Load]) -> dict[int, Life]:
    """The life of every parameter, value and variable that has a name, by id; `chosen` is what `inline` inlined."""
    return _Liveness(kernel, chosen).lives


class _Liveness:
    def __init__(self, kernel: Kernel, chosen: Mapping[int, Let | Load]) -> None:
        self.lives: dict[int, Life] = {}
        self._chosen = chosen
        self._clock = 0
        self._loops: list[Stmt] = []
        self._loops_at: dict[int, int] = {}
        self._used_in_loop: list[set[int]] = []
        for param in kernel.params:
            self._define(param.value, 0)
        self._block(kernel.body)

    def _block(self, block: Block) -> None:
        for stmt in block:
            self._stmt(stmt)

    def _stmt(self, stmt: Stmt) -> None:
        self._clock += 1
        at = 2 * self._clock
        result = defined(stmt)
        if result is not None and result.id in self._chosen:
            return
        if not isinstance(stmt, While):
            self._read(stmt, at)
        if isinstance(stmt, Local):
            self._define(stmt.variable, at + 1)
        elif isinstance(stmt, Assign):
            self._use(stmt.variable, at + 1)
        elif result is not None:
            several = isinstance(stmt, Let) and stmt.op in OPS and OPS[stmt.op].several_statements
            self._define(result, at if several else at + 1)
        if isinstance(stmt, For | While):
            self._loop(stmt)
        else:
            for inner in blocks(stmt):
                self._block(inner)

    def _loop(self, stmt: For | While) -> None:
        self._loops.append(stmt)
        self._used_in_loop.append(set())
        if isinstance(stmt, For):
            self._define(stmt.index, 2 * self._clock + 1)
            self._read(stmt, 2 * self._clock)  # C evaluates stop and step again in every iteration
            self._block(stmt.body)
        else:
            self._block(stmt.header)
            self._clock += 1
            self._read(stmt, 2 * self._clock)
            self._block(stmt.body)
        self._clock += 1
        self._loops.pop()
        used = self._used_in_loop.pop()
        for id_ in used:
            if self._loops_at[id_] <= len(self._loops):  # defined outside: live across the back edge
                self.lives[id_].end = max(self.lives[id_].end, 2 * self._clock)
        if self._used_in_loop:
            self._used_in_loop[-1] |= used

    def _define(self, named: Value | Variable, at: int) -> None:
        self.lives[named.id] = Life(at, at)
        self._loops_at[named.id] = len(self._loops)

    def _use(self, named: Value | Variable, at: int) -> None:
        self.lives[named.id].end = max(self.lives[named.id].end, at)
        if self._used_in_loop:
            self._used_in_loop[-1].add(named.id)

    def _read(self, stmt: Stmt, at: int) -> None:
        for operand in reads(stmt, self._chosen):
            self._use(operand, at)
