"""What nobody reads is not computed: bindings, loads, variables that are only written, branches and loops without
effect."""

from __future__ import annotations

from dataclasses import replace

from ocl_ir.kernel.grammar import (
    Array,
    Assign,
    Block,
    For,
    If,
    Kernel,
    Let,
    Load,
    Local,
    MatrixMultiply,
    Shuffle,
    Stmt,
    Value,
    Variable,
    blocks,
    map_blocks,
    operands,
    walk,
)


def dce(kernel: Kernel) -> Kernel:
    """The kernel without dead statements."""
    while True:
        used: set[int] = {param.length.id for param in kernel.params if isinstance(param.length, Value)}
        for stmt in walk(kernel.body):
            used.update(operand.id for operand in operands(stmt) if isinstance(operand, Value | Variable))
        body = _live(kernel.body, used)
        if body == kernel.body:
            return kernel
        kernel = replace(kernel, body=body)


def _live(block: Block, used: set[int]) -> Block:
    kept = (map_blocks(stmt, lambda inner: _live(inner, used)) for stmt in block)
    return tuple(stmt for stmt in kept if not _dead(stmt, used))


def _dead(stmt: Stmt, used: set[int]) -> bool:
    match stmt:
        case Let() | Load() | Shuffle() | MatrixMultiply():
            return stmt.result.id not in used
        case Local() | Assign():
            return stmt.variable.id not in used
        case Array():
            return stmt.pointer.id not in used
        case If():
            return not any(blocks(stmt))
        case For():
            return not stmt.body
    return False
