"""Barriers and collectives that only a part of a group comes to, said in terms of the program.

The verifier proves that whole groups come to them; an error of its own would show kernel IR.
"""

from __future__ import annotations

from ocl_ir.kernel.grammar import (
    Barrier,
    Break,
    Continue,
    For,
    GroupStmt,
    If,
    Kernel,
    Return,
    Stmt,
    While,
    walk,
)
from ocl_ir.kernel.uniformity import uniformity
from ocl_ir.language.context import SpanText
from ocl_ir.language.errors import KernelError

_EXITS = {Return: "returns", Break: "leaves the loop", Continue: "begins the next turn of the loop"}


def check_that_groups_stay_together(kernel: Kernel) -> None:
    """Raises `KernelError` for a barrier or a collective that only a part of a group comes to."""
    flow = uniformity(kernel)
    for stmt in walk(kernel.body):
        if not isinstance(stmt, GroupStmt):
            continue
        cause = flow.cause(stmt)
        if cause is None or not isinstance(stmt.where, SpanText) or not isinstance(cause.where, SpanText):
            continue
        what = "barrier" if isinstance(stmt, Barrier) else "collective"
        why, remedy = _reason(stmt, cause, what)
        fact = f"only a part of the group comes to the {what} of line {stmt.where.span.line}: {why}"
        raise KernelError(f"{fact}, which differs between work-items", place=stmt.where.excerpt, remedy=remedy)


def _reason(stmt: Stmt, cause: Stmt, what: str) -> tuple[str, str]:
    assert isinstance(cause.where, SpanText)
    line, condition = cause.where.span.line, cause.where.span.text
    if isinstance(cause, For) and any(inner is stmt for inner in walk((cause,))):
        return (
            f"the loop of line {line} counts {condition}",
            "let all work-items of the group take as many turns, and test inside around loads and stores",
        )
    if any(inner is stmt for inner in walk((cause,))):
        word = "while" if isinstance(cause, While) else "if"
        return (
            f"line {line} asks {word} {condition}",
            f"call it outside of the `{word}`, which may stand around loads and stores",
        )
    exit_ = next((inner for inner in walk((cause,)) if type(inner) in _EXITS), None)
    if isinstance(cause, If) and isinstance(exit_, Return):
        return (
            f"line {_line(exit_)} returns where {condition}",
            f"write active = not ({condition}), and `if active:` around loads and stores",
        )
    verb = "goes elsewhere" if exit_ is None else f"{_EXITS[type(exit_)]}"
    return (
        f"line {line if exit_ is None else _line(exit_)} {verb} where {condition}",
        f"let all work-items of the group come to the {what}, and test around loads and stores",
    )


def _line(stmt: Stmt) -> int:
    assert isinstance(stmt.where, SpanText)
    return stmt.where.span.line
