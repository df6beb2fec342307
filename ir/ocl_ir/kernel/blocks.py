"""The blocks of a kernel that is being built: statements, ids and control flow.

`if_`, `for_` and `while_` open a block and close it. Who builds the blocks of a statement apart and changes them before
the statement is there opens each with `block`, and gives the statement to `emit`:

    with k.block() as then: ...
    with k.block() as orelse: ...
    then.append(Assign(v, x))
    k.emit(If(condition, tuple(then), tuple(orelse)))
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from ocl_ir.errors import DTypeError, IRError
from ocl_ir.kernel.grammar import (
    Barrier,
    Break,
    Const,
    Continue,
    For,
    If,
    Let,
    Operand,
    Return,
    Stmt,
    Value,
    Variable,
    While,
)
from ocl_ir.kernel.literals import literal, refuse_typeless
from ocl_ir.kernel.operands import Builder, Like, Ref
from ocl_ir.source_line import calling_line
from ocl_ir.types import BOOL, U32, DType, Pointer, Type, ValueType


class Blocks(Builder):
    """The open blocks of one kernel, innermost last; who builds kernels adds the operations."""

    def __init__(self) -> None:
        self._stack: list[list[Stmt]] = [[]]
        self._next_id = 0

    def emit(self, stmt: Stmt) -> None:
        """Appends a statement to the innermost open block."""
        self._stack[-1].append(stmt)

    @contextmanager
    def block(self) -> Iterator[list[Stmt]]:
        """Statements go into a block of their own, which no statement has yet; an error in it closes it all the
        same."""
        block: list[Stmt] = []
        self._stack.append(block)
        try:
            yield block
        finally:
            self._stack.pop()

    def take_id(self) -> int:
        """An id that no value and no variable of the kernel has."""
        self._next_id += 1
        return self._next_id - 1

    # ------------------------------------------------------------------ control flow

    def barrier(self, *, local: bool = True, global_: bool = False) -> None:
        """Waits for the whole work-group."""
        self.emit(Barrier(local, global_, where=calling_line()))

    def break_(self) -> None:
        """Leaves the innermost loop."""
        self.emit(Break(where=calling_line()))

    def continue_(self) -> None:
        """Goes on with the next iteration."""
        self.emit(Continue(where=calling_line()))

    def return_(self) -> None:
        """Ends this work-item."""
        self.emit(Return(where=calling_line()))

    @contextmanager
    def if_(self, condition: Like, registers: tuple[int, int] | None = None) -> Iterator[None]:
        """Statements that run where the condition holds. With `registers` warps specialise, see `If`."""
        where, tested = calling_line(), self._operand(condition, BOOL)
        with self.block() as body:
            yield
        self.emit(If(tested, tuple(body), registers=registers, where=where))

    @contextmanager
    def else_(self) -> Iterator[None]:
        """Statements that run where the condition of the `if_` just before does not hold."""
        block = self._stack[-1]
        if not block or not isinstance(block[-1], If) or block[-1].orelse:
            raise IRError("else_ follows no if_", place=calling_line(), remedy="put it right after the if_ block")
        before = block[-1]
        with self.block() as body:
            yield
        block[-1] = replace(before, orelse=tuple(body))

    @contextmanager
    def for_(
        self,
        start: Like,
        stop: Like,
        step: Like = 1,
        *,
        dtype: DType = U32,
        hint: str = "j",
        unroll: int = 0,
        vectorize: bool = False,
    ) -> Iterator[Ref]:
        """A counted loop; the bounds are evaluated once, so variables among them are copied first."""
        where = calling_line()
        first, limit, stride = (self._fixed(self._operand(bound, dtype)) for bound in (start, stop, step))
        index = self._value(value_type(first), hint)
        with self.block() as body:
            yield Ref(self, index)
        self.emit(For(index, first, limit, stride, tuple(body), unroll, vectorize, where=where))

    @contextmanager
    def while_(self) -> Iterator[While_]:
        """A loop with its test first: `with k.while_() as loop: loop.test(v < 3); …body…`."""
        where, loop = calling_line(), While_(self)
        with self.block() as body:
            yield loop
        if loop.condition is None:
            raise IRError("the while loop has no condition", place=where, remedy="call loop.test(condition) in it")
        self.emit(While(loop.header, loop.condition, tuple(body), where=where))

    # ------------------------------------------------------------------ operands

    def _value(self, type_: Type, hint: str) -> Value:
        return Value(self.take_id(), type_, hint)

    def _fixed(self, operand: Operand) -> Operand:
        """What a variable holds now; any other operand as it is."""
        if not isinstance(operand, Variable):
            return operand
        value = self._value(operand.type, "")
        self.emit(Let(value, "copy", (operand,), where=calling_line()))
        return value

    def _operand(self, value: Like, beside: Type | None) -> Operand:
        if isinstance(value, Ref):
            if value.builder is not self:
                raise IRError("a value of another kernel", place=calling_line(), remedy="use values of one builder")
            return value.operand
        if isinstance(value, Value | Variable | Const):
            return value
        if beside is None or isinstance(beside, Pointer):
            refuse_typeless(value)
        return literal(value, beside)


class While_:  # noqa: N801
    """The loop that `Blocks.while_` is making."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self.header: tuple[Stmt, ...] = ()
        self.condition: Operand | None = None

    def test(self, condition: Like) -> None:
        """Ends the header: everything since the loop began runs before every test."""
        self.condition = self._blocks._operand(condition, BOOL)
        block = self._blocks._stack[-1]
        self.header = tuple(block)
        block.clear()


def memory_of(pointer: Ref) -> Value:
    """The pointer that is meant where memory is."""
    operand = pointer.operand
    if not isinstance(operand, Value) or not isinstance(operand.type, Pointer):
        remedy = "use a pointer parameter or k.array(…)"
        raise DTypeError(f"{operand.type} is no pointer", place=calling_line(), remedy=remedy)
    return operand


def value_type(operand: Operand) -> ValueType:
    """The type of an operand that is no pointer."""
    if isinstance(operand.type, Pointer):
        raise DTypeError("a pointer is no value", place=calling_line(), remedy="load from it")
    return operand.type
