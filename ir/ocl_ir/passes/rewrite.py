"""The walk that the passes share: statements in order, with operands replaced by what earlier statements became."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import count

from ocl_ir.kernel.accesses import written_pointers
from ocl_ir.kernel.grammar import (
    Block,
    For,
    If,
    Kernel,
    Let,
    Operand,
    Stmt,
    Value,
    Variable,
    While,
    map_operands,
)
from ocl_ir.kernel.ids import next_id
from ocl_ir.types import Type


class Rewriter:
    """Rewrites a kernel. A pass overrides `statement`, which gets each statement with its operands replaced already."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._ids = count(next_id(kernel))
        self._became: dict[int, Operand] = {}
        self.written = written_pointers(kernel)

    def run(self) -> Kernel:
        """The rewritten kernel; the same object where nothing changed."""
        body = self.block(self.kernel.body)
        return self.kernel if body == self.kernel.body else replace(self.kernel, body=body)

    def block(self, block: Block) -> Block:
        """A nested block, rewritten in its own scope."""
        out: list[Stmt] = []
        for stmt in block:
            out.extend(self.statement(self.nested(stmt)))
        return tuple(out)

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """What stands in the place of a statement."""
        return (stmt,)

    def nested(self, stmt: Stmt) -> Stmt:
        """The statement with its operands replaced and its blocks rewritten."""
        if isinstance(stmt, While):
            header = self.block(stmt.header)  # before the condition, which may be defined there
            return replace(stmt, header=header, condition=self.now(stmt.condition), body=self.block(stmt.body))
        stmt = map_operands(stmt, self.now)
        if isinstance(stmt, If):
            return replace(stmt, then=self.block(stmt.then), orelse=self.block(stmt.orelse))
        if isinstance(stmt, For):
            return replace(stmt, body=self.block(stmt.body))
        return stmt

    def now(self, operand: Operand) -> Operand:
        """What an operand of the old kernel is in the new one."""
        while isinstance(operand, Value) and operand.id in self._became:
            operand = self._became[operand.id]
        return operand

    def became(self, value: Value, operand: Operand) -> None:
        """From now on, `operand` stands wherever `value` stood."""
        self._became[value.id] = operand

    def new_value(self, type_: Type, hint: str = "") -> Value:
        """A value that the kernel does not have yet."""
        return Value(next(self._ids), type_, hint)


def reads_variables(stmt: Let) -> bool:
    """Whether the operation's value depends on when it is computed."""
    return any(isinstance(arg, Variable) for arg in stmt.args)
