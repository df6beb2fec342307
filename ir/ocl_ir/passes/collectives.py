"""Collectives become local arrays and barriers, in the order of `ocl_ir.kernel.collectives`.

There is one array for each dtype, at the kernel's top, which all collectives of that dtype use one after the other. A
barrier before a collective lets the readers of the one before finish; only the first one outside of loops needs none.
A scan goes to and fro between two halves of the array, so that a step needs one barrier.

Where the target has sub-groups of their size, those of sub-groups are shuffles, which join in the same order. Those of
groups are not: their last steps in sub-groups were never faster (docs/adr/0022-kernels-in-python.md).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ocl_ir.kernel.collectives import JOINS, SCANS, distances, tree
from ocl_ir.kernel.grammar import (
    Array,
    Barrier,
    Collective,
    Const,
    For,
    If,
    Kernel,
    Let,
    Load,
    Operand,
    Shuffle,
    Stmt,
    Value,
    While,
    walk,
)
from ocl_ir.passes.writing import Writer, asked_for, group_size_of, number
from ocl_ir.program_ops import ExactOp
from ocl_ir.subgroups import Subgroups
from ocl_ir.types import BOOL, I32, DType, Pointer, element


def collectives(kernel: Kernel, subgroups: Subgroups | None = None) -> Kernel:
    """The kernel without collectives, for a target that has these sub-groups. Raises `IRError` where it has one and no
    group size."""
    wanted = [stmt for stmt in walk(kernel.body) if isinstance(stmt, Collective)]
    if not wanted:
        return kernel
    return _Lowering(kernel, group_size_of(kernel, wanted[0]), wanted, subgroups).run()


class _Lowering(Writer):
    def __init__(
        self, kernel: Kernel, group_size: tuple[int, int, int], wanted: list[Collective], subgroups: Subgroups | None
    ) -> None:
        super().__init__(kernel, group_size)
        self._in_registers = _of_target(kernel, group_size, subgroups)
        shared = [stmt for stmt in wanted if stmt.size not in self._in_registers]
        scanned = {_type(stmt) for stmt in shared if stmt.op in SCANS}
        self._arrays: dict[DType, Value] = {}
        with self.writing() as self._head:
            self._item = self.linear_id()
            self._known: dict[int, Value] = {0: self._item}
            if scanned:
                self._known[self.items] = self._moved(self.items, hint="upper")
            self._lanes = {0: self._item}
            """The number of a work-item in its group, by 0, and in its sub-group, by its size."""
            for size in dict.fromkeys(stmt.size for stmt in wanted if stmt.size):
                self._lanes[size] = self.let("and", I32, self._item, number(size - 1), hint="lane")
            for dtype in dict.fromkeys(map(_type, shared)):
                array = self._arrays[dtype] = self.new_value(Pointer(dtype, "local"), f"shared_{dtype}")
                self.emit(Array(array, self.items * (2 if dtype in scanned else 1)))
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
        with self.writing() as made:
            if stmt.size in self._in_registers:
                self._exchange(stmt)
            else:
                self._share(stmt)
        return asked_for(tuple(made), stmt.where)

    # ------------------------------------------------------------------ through local memory

    def _share(self, stmt: Collective) -> None:
        dtype = _type(stmt)
        array = self._arrays[dtype]
        if self._loops or dtype in self._used:
            self.emit(Barrier())
        self._used.add(dtype)
        self.store(array, self._item, stmt.value)
        if stmt.op in SCANS:
            self._scan(stmt, array)
        else:
            self._reduce(stmt, array)

    def _reduce(self, stmt: Collective, array: Value) -> None:
        """A tree whose root is the first element; a broadcast has its value there already, at its lane."""
        self.emit(Barrier())
        for distance, items in tree(stmt.size or self.items) if stmt.op in JOINS else ():
            joins = self.let("lt", BOOL, self._lanes[stmt.size], number(items))
            with self.writing() as then:
                values = self.load(array, self._item), self.load(array, self._moved(distance))
                self.store(array, self._item, self.let(JOINS[stmt.op], _type(stmt), *values))
            self.emit(If(joins, tuple(then)))
            self.emit(Barrier())
        if stmt.size:
            self.emit(Load(_result(stmt), array, self._first(stmt.size)))
        else:
            root = self.load(array, number(0) if stmt.lane is None else stmt.lane)
            self.emit(Let(_result(stmt), "uniform", (root,)))

    def _first(self, size: int) -> Value:
        """The index of the first item of the sub-group."""
        return self.let("and", I32, self._item, number(-size))

    def _scan(self, stmt: Collective, array: Value) -> None:
        """Each step reads one half of the array, from `start` on, and writes the other one."""
        start, lane = 0, self._lanes[stmt.size]
        for distance in distances(stmt.size or self.items):
            self.emit(Barrier())
            joins, other = self.let("ge", BOOL, lane, number(distance)), self.items - start
            with self.writing() as then:
                values = self.load(array, self._moved(start - distance)), self.load(array, self._moved(start))
                self.store(array, self._moved(other), self.let("add", _type(stmt), *values))
            with self.writing() as orelse:
                self.store(array, self._moved(other), self.load(array, self._moved(start)))
            self.emit(If(joins, tuple(then), tuple(orelse)))
            start = other
        if stmt.op == "scan":
            self.emit(Load(_result(stmt), array, self._moved(start)))
            return
        self.emit(Barrier())
        self._exclude(stmt, self.load(array, self._moved(start - 1, self.let("maximum", I32, self._item, number(1)))))

    def _exclude(self, stmt: Collective, before: Value) -> None:
        """An exclusive scan from what the scan gives to the item before."""
        is_first = self.let("eq", BOOL, self._lanes[stmt.size], number(0))
        nothing = Const(0.0 if element(_type(stmt)).is_float else 0, _type(stmt))
        self.emit(Let(_result(stmt), "select", (is_first, nothing, before)))

    # ------------------------------------------------------------------ in registers

    def _exchange(self, stmt: Collective) -> None:
        if stmt.op in JOINS:
            joined = self._joined(stmt.op, stmt.value, stmt.size)
            self.emit(Shuffle(_result(stmt), joined, number(0), stmt.size))
            return
        value = self.let("copy", _type(stmt), stmt.value)
        for distance in distances(stmt.size):
            before = self._before(value, distance, stmt.size)
            joins = self.let("ge", BOOL, self._lanes[stmt.size], number(distance))
            value = self.let("select", _type(stmt), joins, self.let("add", _type(stmt), before, value), value)
        if stmt.op == "scan":
            self.emit(Let(_result(stmt), "copy", (value,)))
        else:
            self._exclude(stmt, self._before(value, 1, stmt.size))

    def _joined(self, op: str, value: Operand, size: int) -> Operand:
        """What the items of a sub-group join; the first one alone has done so in the tree's order."""
        for distance, _ in tree(size):
            other = self._shuffled(value, self.let("xor", I32, self._lanes[size], number(distance)), size)
            value = self.let(JOINS[op], element(value.type), value, other)
        return value

    def _before(self, value: Operand, distance: int, size: int) -> Value:
        """What the item some lanes before has; an item that has none takes any."""
        lane = self.let("sub", I32, self._lanes[size], number(distance))
        return self._shuffled(value, self.let("and", I32, lane, number(size - 1)), size)

    def _shuffled(self, value: Operand, lane: Operand, size: int) -> Value:
        result = self.new_value(element(value.type))
        self.emit(Shuffle(result, value, lane, size))
        return result

    # ------------------------------------------------------------------ indices

    def _moved(self, distance: int, item: Value | None = None, hint: str = "") -> Value:
        """The index of this work-item, or of another one, moved forward or backward."""
        if item is None and distance in self._known:
            return self._known[distance]
        op = ExactOp("add" if distance > 0 else "sub")
        return self.let(op, I32, item or self._item, number(abs(distance)), hint=hint)


def _of_target(kernel: Kernel, group_size: tuple[int, int, int], subgroups: Subgroups | None) -> frozenset[int]:
    """The sizes of sub-groups that are the target's, in which a kernel runs in those of one size. One work-item alone
    needs nothing of the target."""
    sizes = {stmt.size for stmt in walk(kernel.body) if isinstance(stmt, Collective | Shuffle)} - {0, 1}
    fits = subgroups is not None and len(sizes) == 1 and subgroups.exchange(min(sizes), group_size)
    return frozenset({1} | (sizes if fits else set()))


def _type(stmt: Collective) -> DType:
    return element(stmt.value.type)


def _result(stmt: Collective) -> Value:
    """The collective's result, with a name of its own, so that it is read where the collective stands."""
    scope = "subgroup" if stmt.size else "group"
    return replace(stmt.result, hint=stmt.result.hint or f"{scope}_{stmt.op}")
