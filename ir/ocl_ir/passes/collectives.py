"""Collectives become local arrays and barriers, in the order of `ocl_ir.kernel.collectives`.

There is one array for each dtype, at the kernel's top, which all collectives of that dtype use one after the other. A
barrier before a collective lets the readers of the one before finish; only the first one outside of loops needs none.
A scan goes to and fro between two halves of the array, so that a step needs one barrier.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from ocl_ir.errors import IRError
from ocl_ir.kernel.collectives import JOINS, SCANS, distances, tree
from ocl_ir.kernel.grammar import (
    Array,
    Barrier,
    Block,
    Collective,
    Const,
    For,
    If,
    Kernel,
    Let,
    Load,
    Operand,
    Stmt,
    Store,
    Value,
    While,
    map_blocks,
    walk,
)
from ocl_ir.kernel.printer import neighbourhood
from ocl_ir.passes.rewrite import Rewriter
from ocl_ir.types import BOOL, U32, DType, Pointer, ValueType, element


def collectives(kernel: Kernel) -> Kernel:
    """The kernel without collectives. Raises `IRError` where it has one and no group size."""
    wanted = [stmt for stmt in walk(kernel.body) if isinstance(stmt, Collective)]
    if not wanted:
        return kernel
    if kernel.group_size is None:
        raise IRError(
            f"kernel {kernel.name} has a collective and no group size",
            place=neighbourhood(kernel, wanted[0]),
            remedy="build it with group_size=(x, y, z): local memory for the group's values depends on it",
        )
    return _Lowering(kernel, kernel.group_size, wanted).run()


class _Lowering(Rewriter):
    def __init__(self, kernel: Kernel, group_size: tuple[int, int, int], wanted: list[Collective]) -> None:
        super().__init__(kernel)
        self._group_size = group_size
        self._items = math.prod(group_size)
        self._out: list[Stmt] = []
        self._arrays: dict[DType, Value] = {}
        with self._block() as self._head:
            self._item = self._linear_id()
            scanned = {_type(stmt) for stmt in wanted if stmt.op in SCANS}
            self._known: dict[int, Value] = {0: self._item}
            if scanned:
                self._known[self._items] = self._moved(self._items, hint="upper")
            for dtype in dict.fromkeys(map(_type, wanted)):
                array = self._arrays[dtype] = self.new_value(Pointer(dtype, "local"), f"shared_{dtype}")
                self._emit(Array(array, self._items * (2 if dtype in scanned else 1)))
        self._loops = 0
        self._used: set[DType] = set()

    def run(self) -> Kernel:
        lowered = super().run()
        return replace(lowered, body=(*self._head, *lowered.body))

    def nested(self, stmt: Stmt) -> Stmt:
        inside = isinstance(stmt, For | While)
        self._loops += inside
        stmt = super().nested(stmt)
        self._loops -= inside
        return stmt

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        if not isinstance(stmt, Collective):
            return (stmt,)
        dtype = _type(stmt)
        array = self._arrays[dtype]
        with self._block() as made:
            if self._loops or dtype in self._used:
                self._emit(Barrier())
            self._store(array, self._item, stmt.value)
            if stmt.op in SCANS:
                self._scan(stmt, array)
            else:
                self._reduce(stmt, array)
        self._used.add(dtype)
        return _asked_for(tuple(made), stmt.where)

    def _reduce(self, stmt: Collective, array: Value) -> None:
        """A tree whose root is element 0; a broadcast has its value there already, at its lane."""
        self._emit(Barrier())
        for distance, items in tree(self._items) if stmt.op in JOINS else ():
            joins = self._let("lt", BOOL, self._item, _number(items))
            with self._block() as then:
                values = self._load(array, self._item), self._load(array, self._moved(distance))
                self._store(array, self._item, self._let(JOINS[stmt.op], _type(stmt), *values))
            self._emit(If(joins, tuple(then)))
            self._emit(Barrier())
        joined = self._load(array, _number(0) if stmt.lane is None else stmt.lane)
        self._emit(Let(_result(stmt), "uniform", (joined,)))

    def _scan(self, stmt: Collective, array: Value) -> None:
        """Each step reads one half of the array, from `start` on, and writes the other one."""
        start = 0
        for distance in distances(self._items):
            self._emit(Barrier())
            joins, other = self._let("ge", BOOL, self._item, _number(distance)), self._items - start
            with self._block() as then:
                values = self._load(array, self._moved(start - distance)), self._load(array, self._moved(start))
                self._store(array, self._moved(other), self._let("add", _type(stmt), *values))
            with self._block() as orelse:
                self._store(array, self._moved(other), self._load(array, self._moved(start)))
            self._emit(If(joins, tuple(then), tuple(orelse)))
            start = other
        if stmt.op == "scan":
            self._emit(Load(_result(stmt), array, self._moved(start)))
            return
        self._emit(Barrier())
        is_first = self._let("eq", BOOL, self._item, _number(0))
        before = self._load(array, self._moved(start - 1, self._let("maximum", U32, self._item, _number(1))))
        nothing = Const(0.0 if element(_type(stmt)).is_float else 0, _type(stmt))
        self._emit(Let(_result(stmt), "select", (is_first, nothing, before)))

    # ------------------------------------------------------------------ statements

    def _emit(self, stmt: Stmt) -> None:
        self._out.append(stmt)

    @contextmanager
    def _block(self) -> Iterator[list[Stmt]]:
        outside, self._out = self._out, []
        yield self._out
        self._out = outside

    def _let(self, op: str, type_: ValueType, *args: Operand, hint: str = "") -> Value:
        value = self.new_value(type_, hint)
        self._emit(Let(value, op, args))
        return value

    def _load(self, array: Value, index: Operand) -> Value:
        value = self.new_value(element(array.type))
        self._emit(Load(value, array, index))
        return value

    def _store(self, array: Value, index: Operand, value: Operand) -> None:
        self._emit(Store(array, index, value))

    def _moved(self, distance: int, item: Value | None = None, hint: str = "") -> Value:
        """The index of this work-item, or of another one, moved forward or backward."""
        if item is None and distance in self._known:
            return self._known[distance]
        op = "add" if distance > 0 else "sub"
        return self._let(op, U32, item or self._item, _number(abs(distance)), hint=hint)

    def _linear_id(self) -> Value:
        """The local id that counts along dimension 0 first."""
        sizes = self._group_size
        first, *more = [dimension for dimension in range(3) if sizes[dimension] > 1] or [0]
        item = self._let("local_id", U32, _number(first), hint=f"item_{'xyz'[first]}" if more else "item")
        for dimension in more:
            along = self._let("local_id", U32, _number(dimension), hint=f"item_{'xyz'[dimension]}")
            rows = self._let("mul", U32, along, _number(math.prod(sizes[:dimension])))
            item = self._let("add", U32, item, rows, hint="item" if dimension == more[-1] else "")
        return item


def _asked_for(block: Block, where: str) -> Block:
    """The statements as if all of them had been asked for by one Python line."""
    return tuple(replace(map_blocks(stmt, lambda inner: _asked_for(inner, where)), where=where) for stmt in block)


def _number(value: int) -> Const:
    return Const(value, U32)


def _type(stmt: Collective) -> DType:
    return element(stmt.value.type)


def _result(stmt: Collective) -> Value:
    """The collective's result, with a name of its own, so that it is read where the collective stands."""
    return replace(stmt.result, hint=stmt.result.hint or f"group_{stmt.op}")
