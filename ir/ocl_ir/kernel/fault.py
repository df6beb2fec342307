"""What a check of a verifier found, before it becomes an error with its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from ocl_ir.kernel.grammar import Const, Kernel, Operand, Stmt
from ocl_ir.kernel.names import names
from ocl_ir.kernel.printer import statement_text


class Fault(NamedTuple):
    """One broken rule, the statement that breaks it (None: the kernel's head) and what to do."""

    fact: str
    stmt: Stmt | None
    remedy: str


Check: TypeAlias = Callable[[Kernel], Iterator[Fault]]
"""Yields every fault against one rule. The function's name is the rule's."""


def name_of(kernel: Kernel, operand: Operand) -> str:
    """What the kernel's text calls an operand."""
    if isinstance(operand, Const):
        value = str(operand.value).lower() if isinstance(operand.value, bool) else repr(operand.value)
        return f"{value}:{operand.type}"
    return names(kernel).get(operand.id, operand.hint or f"?{operand.id}")


def quoted(kernel: Kernel, stmt: Stmt) -> str:
    """A statement's line, for the middle of a sentence."""
    return f"`{statement_text(kernel, stmt).rstrip(':')}`"
