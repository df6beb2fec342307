"""A value that was computed before, in a block that encloses this one, is not computed again.

Loads count where the kernel never writes through the pointer. Operations on variables do not: their value depends on
when.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from ocl_ir.kernel.grammar import Block, Kernel, Let, Load, Operand, Param, Stmt, Value, Variable
from ocl_ir.ops import OPS
from ocl_ir.passes.rewrite import Rewriter, reads_variables
from ocl_ir.program_ops import ExactOp
from ocl_ir.types import Pointer, Type

_Key: TypeAlias = tuple[str, Type, tuple[Operand, ...]]


def cse(kernel: Kernel) -> Kernel:
    """The kernel with common subexpressions computed once."""
    return _Cse(kernel).run()


class _Cse(Rewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self._known: dict[_Key, Value] = {}
        self._params = {param.value.id: param for param in kernel.params}

    def block(self, block: Block) -> Block:
        outside = dict(self._known)
        out = super().block(block)
        self._known = outside  # what a block computes is not known after it
        return out

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        key = self._key(stmt)
        if key is None or not isinstance(stmt, Let | Load):
            return (stmt,)
        before = self._known.get(key)
        if before is None:
            self._known[key] = stmt.result
            return (stmt,)
        self.became(stmt.result, before)
        return ()

    def _key(self, stmt: Stmt) -> _Key | None:
        if isinstance(stmt, Load):
            fixed = stmt.pointer.id not in self.written and not isinstance(stmt.index, Variable)
            return (
                (f"load {stmt.align}", stmt.result.type, (stmt.pointer, stmt.index))
                if fixed and self._is_input(stmt.pointer)
                else None
            )
        if not isinstance(stmt, Let) or reads_variables(stmt):
            return None
        args = stmt.args
        if stmt.op in OPS and OPS[stmt.op].commutative:
            args = tuple(sorted(args, key=repr))
        return (f"exact {stmt.op}" if isinstance(stmt.op, ExactOp) else stmt.op, stmt.result.type, args)

    def _is_input(self, pointer: Value) -> bool:
        """Whether no other parameter writes the memory either."""
        param: Param | None = self._params.get(pointer.id)
        assert isinstance(pointer.type, Pointer)
        return param is not None and (param.restrict or pointer.type.space == "constant" or not self.written)
