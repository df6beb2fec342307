"""Shuffles that the target does not have become local arrays and barriers; the others stay as they are.

There is one array for each dtype, at the kernel's top, of two halves. A shuffle stores into a half that nobody reads
any more, waits, and loads from it; who stores into the other half next need not wait for those who still read this one.
So shuffles behind each other need one barrier each, and only the first one of a loop's turn may need two.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ocl_ir.kernel.grammar import (
    Array,
    Barrier,
    Block,
    For,
    Kernel,
    Let,
    Load,
    Shuffle,
    Stmt,
    Value,
    While,
    walk,
)
from ocl_ir.passes.writing import Writer, asked_for, group_size_of, number
from ocl_ir.program_ops import ExactOp
from ocl_ir.subgroups import Subgroups
from ocl_ir.types import I32, DType, Pointer, element


def shuffles(kernel: Kernel, subgroups: Subgroups | None = None) -> Kernel:
    """The kernel for a target that has these sub-groups. Raises `IRError` where it has a shuffle and no group size."""
    wanted = [stmt for stmt in walk(kernel.body) if isinstance(stmt, Shuffle)]
    if not wanted:
        return kernel
    group_size = group_size_of(kernel, wanted[0])
    sizes = {stmt.size for stmt in wanted}
    # A kernel runs in sub-groups of one size.
    if subgroups is not None and len(sizes) == 1 and subgroups.exchange(wanted[0].size, group_size):
        return kernel
    return _Lowering(kernel, group_size, wanted).run()


class _Lowering(Writer):
    def __init__(self, kernel: Kernel, group_size: tuple[int, int, int], wanted: list[Shuffle]) -> None:
        super().__init__(kernel, group_size)
        self._arrays: dict[DType, Value] = {}
        self._items: tuple[Value, ...] = ()
        """Where a work-item stores, in either half."""
        self._first: dict[int, tuple[Value, ...]] = {}
        """Where its sub-group begins, in either half, by the size of sub-groups."""
        shared = [stmt for stmt in wanted if stmt.size > 1]
        with self.writing() as self._head:
            if shared:
                self._items = self._halves(self.linear_id(), "upper")
            for size in dict.fromkeys(stmt.size for stmt in shared):
                first = self.let("and", I32, self._items[0], number(-size), hint="first")
                self._first[size] = self._halves(first, "upper_first")
            for dtype in dict.fromkeys(map(_type, shared)):
                array = self._arrays[dtype] = self.new_value(Pointer(dtype, "local"), f"exchanged_{dtype}")
                self.emit(Array(array, 2 * self.items))
        self._every = {(dtype, half) for dtype in self._arrays for half in (0, 1)}
        self._read: set[tuple[DType, int]] = set()
        """Halves that somebody may still be reading, since the whole group has come to no barrier behind it."""

    def run(self) -> Kernel:
        lowered = super().run()
        return replace(lowered, body=(*self._head, *lowered.body))

    def nested(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, For | While) and any(isinstance(inner, Shuffle) for inner in walk((stmt,))):
            self._read = set(self._every)  # by the turn before
        return super().nested(stmt)

    def block(self, block: Block) -> Block:
        before = set(self._read)
        lowered = super().block(block)
        self._read |= before  # the block may not be entered
        return lowered

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        if isinstance(stmt, Barrier) and stmt.local:
            self._read.clear()
        if not isinstance(stmt, Shuffle):
            return (stmt,)
        result = replace(stmt.result, hint=stmt.result.hint or "shuffled")  # so that it is read where it stands
        if stmt.size == 1:
            return (Let(result, "copy", (stmt.value,), where=stmt.where),)
        dtype = _type(stmt)
        array = self._arrays[dtype]
        with self.writing() as made:
            if {(dtype, 0), (dtype, 1)} <= self._read:
                self.emit(Barrier())
                self._read.clear()
            half = int((dtype, 0) in self._read)
            self.store(array, self._items[half], stmt.value)
            self.emit(Barrier())
            self._read = {(dtype, half)}
            lane = stmt.lane if stmt.lane.type == I32 else self.let("convert", I32, stmt.lane)
            self.emit(Load(result, array, self.let(ExactOp("add"), I32, self._first[stmt.size][half], lane)))
        return asked_for(tuple(made), stmt.where)

    def _halves(self, lower: Value, hint: str) -> tuple[Value, ...]:
        return lower, self.let(ExactOp("add"), I32, lower, number(self.items), hint=hint)


def _type(stmt: Shuffle) -> DType:
    return element(stmt.value.type)
