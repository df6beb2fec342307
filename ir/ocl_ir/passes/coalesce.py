"""A variable that starts as another one, and is given back to it, is that other one.

    local inner = outer                      for k: assign outer = outer + x[k]
    for k: assign inner = inner + x[k]
    assign outer = inner

So it is where loops within loops carry the same name, and where one side of a branch changes what a loop carries. Some
compilers keep the copies in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ocl_ir.kernel.grammar import (
    Assign,
    Block,
    Break,
    Continue,
    For,
    Kernel,
    Local,
    Operand,
    Stmt,
    Variable,
    While,
    blocks,
    map_blocks,
    map_operands,
    operands,
    walk,
)


def coalesce(kernel: Kernel) -> Kernel:
    """The kernel without variables that only stand for another one for a while."""
    body = _coalesced(kernel.body)
    return kernel if body == kernel.body else replace(kernel, body=body)


def _coalesced(block: Block) -> Block:
    block = tuple(map_blocks(stmt, _coalesced) for stmt in block)
    at = 0
    while at < len(block):
        stmt, end = block[at], _given_back(block, at)
        if end is None:
            at += 1
            continue
        assert isinstance(stmt, Local)
        assert isinstance(stmt.init, Variable)
        between = _renamed(block[at + 1 : end], stmt.variable, stmt.init)
        block = (*block[:at], *between, *block[end + 1 :])
    return block


def _given_back(block: Block, at: int) -> int | None:
    """Where the variable that a statement declares is given back to the one that it starts as, if nobody sees a
    difference in between or behind."""
    stmt = block[at]
    if not isinstance(stmt, Local) or not isinstance(stmt.init, Variable) or stmt.init.type != stmt.variable.type:
        return None
    own, other = stmt.variable, stmt.init
    end = next((n for n in range(at + 1, len(block)) if block[n] == Assign(other, own)), None)
    if end is None or _touches(block[at + 1 : end], other) or _touches(block[end + 1 :], own):
        return None
    return None if any(map(_leaves, block[at + 1 : end])) else end


def _touches(block: Block, variable: Variable) -> bool:
    return any(variable in operands(stmt) or getattr(stmt, "variable", None) == variable for stmt in walk(block))


def _leaves(stmt: Stmt) -> bool:
    """Whether a loop around the statement is left or goes on from within it, where the other variable is seen."""
    if isinstance(stmt, For | While):
        return False
    return isinstance(stmt, Break | Continue) or any(_leaves(inner) for block in blocks(stmt) for inner in block)


def _renamed(block: Block, old: Variable, new: Variable) -> Iterator[Stmt]:
    def now(operand: Operand) -> Operand:
        return new if operand == old else operand

    for stmt in block:
        changed = map_blocks(map_operands(stmt, now), lambda inner: tuple(_renamed(inner, old, new)))
        yield replace(changed, variable=new) if isinstance(changed, Assign) and changed.variable == old else changed
