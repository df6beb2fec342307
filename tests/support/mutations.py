"""Kernels without one of their guards: what the tests of a guard must notice.

A guard is the condition of a branch, and the comparisons that it is made of. Without it, the branch is always taken, or
the comparison always holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from ocl_ir.kernel.grammar import Atomic, Block, Const, If, Kernel, Let, Operand, Stmt, Value, map_blocks, walk
from ocl_ir.types import BOOL

TRUE = Const(True, BOOL)
COMPARISONS = frozenset({"lt", "le", "gt", "ge"})


class Mutant(NamedTuple):
    """A kernel without a guard, and which one that was."""

    dropped: str
    kernel: Kernel


def without(kernel: Kernel, guard: If | Let) -> Kernel:
    """The kernel with the branch always taken, or the comparison always true."""

    def changed(block: Block) -> Block:
        return tuple(_always(stmt) if stmt is guard else map_blocks(stmt, changed) for stmt in block)

    return replace(kernel, body=changed(kernel.body))


def _always(guard: Stmt) -> Stmt:
    if isinstance(guard, If):
        return replace(guard, condition=TRUE)
    assert isinstance(guard, Let)
    return replace(guard, op="copy", args=(TRUE,))


def bounds_checks(kernel: Kernel) -> list[If]:
    """Branches of checked mode that test an access: what is outside goes into the record."""
    return [stmt for stmt in walk(kernel.body) if isinstance(stmt, If) and any(map(_records, stmt.orelse))]


def stops(kernel: Kernel) -> list[If]:
    """Branches of checked mode that let a work-item store only if it has accessed nothing outside."""
    lets = _lets(kernel)
    return [
        stmt
        for stmt in walk(kernel.body)
        if isinstance(stmt, If)
        and isinstance(stmt.condition, Value)
        and stmt.condition.id in lets
        and getattr(lets[stmt.condition.id].args[0], "hint", "") == "failed"
    ]


def index_space_guard(kernel: Kernel) -> If:
    """The branch that only work-items take that were asked for."""
    guard = kernel.body[-1]
    assert isinstance(guard, If)
    return guard


def comparisons_of(kernel: Kernel, guard: If) -> list[Let]:
    """The comparisons that are joined by `and` to the condition of a branch."""
    return list(_comparisons(guard.condition, _lets(kernel)))


def mutants(kernel: Kernel, guards: list[If], *, with_comparisons: bool = True) -> Iterator[Mutant]:
    """The kernel without each guard, and without each of its comparisons."""
    for guard in guards:
        yield Mutant(f"the guard of {guard.where}", without(kernel, guard))
        for comparison in comparisons_of(kernel, guard) if with_comparisons else ():
            yield Mutant(f"{comparison.op} of the guard of {guard.where}", without(kernel, comparison))


def _records(stmt: Stmt) -> bool:
    return isinstance(stmt, Atomic) and stmt.op == "compare_exchange" and stmt.pointer.hint == "status"


def _lets(kernel: Kernel) -> dict[int, Let]:
    return {stmt.result.id: stmt for stmt in walk(kernel.body) if isinstance(stmt, Let)}


def _comparisons(condition: Operand, lets: Mapping[int, Let]) -> Iterator[Let]:
    let = lets.get(condition.id) if isinstance(condition, Value) else None
    if let is not None and let.op in COMPARISONS:
        yield let
    elif let is not None and let.op == "and":
        for arg in let.args:
            yield from _comparisons(arg, lets)
