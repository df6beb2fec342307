"""Collectives become local arrays and barriers, in the order of `ocl_ir.kernel.collectives`.

There is one array for each dtype, at the kernel's top, which all collectives of that dtype use one after the other. A
barrier before a collective lets the readers of the one before finish; only the first one outside of loops needs none.
A scan goes to and fro between two halves of the array, so that a step needs one barrier.

Where the target says so, the last steps of a reduction, in which no more items take part than a sub-group has, are
shuffles: each sub-group takes them for itself, of the same values in the same order, so that the bits are the same and
nobody waits for the result.
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
    defined,
    walk,
)
from ocl_ir.passes.writing import Writer, asked_for, group_size_of, number
from ocl_ir.subgroups import Subgroups
from ocl_ir.types import BOOL, U32, DType, Pointer, Vector, element


def collectives(kernel: Kernel, subgroups: Subgroups | None = None) -> Kernel:
    """The kernel without collectives, for a target that has these sub-groups. Raises `IRError` where it has one and no
    group size."""
    wanted = [stmt for stmt in walk(kernel.body) if isinstance(stmt, Collective)]
    if not wanted:
        return kernel
    group_size = group_size_of(kernel, wanted[0])
    return _Lowering(kernel, group_size, wanted, _tail(kernel, group_size, subgroups)).run()


def _tail(kernel: Kernel, group_size: tuple[int, int, int], subgroups: Subgroups | None) -> int:
    """The size of the sub-groups that take the last steps of reductions; 0: of none.

    The whole kernel runs in sub-groups of one size then. So it is that of its shuffles, and no code for vectors, whose
    lanes would be computed as many times at once.
    """
    if subgroups is None or not subgroups.tail or not subgroups.exchange(subgroups.tail, group_size):
        return 0
    values = [value.type for stmt in walk(kernel.body) if (value := defined(stmt)) is not None]
    sizes = {stmt.size for stmt in walk(kernel.body) if isinstance(stmt, Shuffle)}
    fits = sizes <= {subgroups.tail} and not any(isinstance(type_, Vector) for type_ in values)
    return subgroups.tail if fits else 0


class _Lowering(Writer):
    def __init__(self, kernel: Kernel, group_size: tuple[int, int, int], wanted: list[Collective], tail: int) -> None:
        super().__init__(kernel, group_size)
        self._arrays: dict[DType, Value] = {}
        self._tail = tail
        with self.writing() as self._head:
            self._item = self.linear_id()
            scanned = {_type(stmt) for stmt in wanted if stmt.op in SCANS}
            self._known: dict[int, Value] = {0: self._item}
            if scanned:
                self._known[self.items] = self._moved(self.items, hint="upper")
            for dtype in dict.fromkeys(map(_type, wanted)):
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
        dtype = _type(stmt)
        array = self._arrays[dtype]
        with self.writing() as made:
            if self._loops or dtype in self._used:
                self.emit(Barrier())
            self.store(array, self._item, stmt.value)
            if stmt.op in SCANS:
                self._scan(stmt, array)
            else:
                self._reduce(stmt, array)
        self._used.add(dtype)
        return asked_for(tuple(made), stmt.where)

    def _reduce(self, stmt: Collective, array: Value) -> None:
        """A tree whose root is element 0; a broadcast has its value there already, at its lane."""
        self.emit(Barrier())
        steps = list(tree(self.items)) if stmt.op in JOINS else []
        for distance, items in steps:
            if distance < self._tail:
                break
            joins = self.let("lt", BOOL, self._item, number(items))
            with self.writing() as then:
                values = self.load(array, self._item), self.load(array, self._moved(distance))
                self.store(array, self._item, self.let(JOINS[stmt.op], _type(stmt), *values))
            self.emit(If(joins, tuple(then)))
            self.emit(Barrier())
        if steps and self._tail:
            joined: Operand = self._in_subgroup(stmt, array)
        else:
            joined = self.load(array, number(0) if stmt.lane is None else stmt.lane)
        self.emit(Let(_result(stmt), "uniform", (joined,)))

    def _in_subgroup(self, stmt: Collective, array: Value) -> Value:
        """What the first elements give that are as many as a sub-group has items, in each of them; item 0 alone has
        joined in the tree's order, and so the others take what it has."""
        lane = self.let("and", U32, self._item, number(self._tail - 1), hint="lane")
        joined = self.load(array, lane)
        for distance, _ in tree(self._tail):
            other = self._shuffled(joined, self.let("xor", U32, lane, number(distance)))
            joined = self.let(JOINS[stmt.op], _type(stmt), joined, other)
        return self._shuffled(joined, number(0))

    def _shuffled(self, value: Value, lane: Operand) -> Value:
        result = self.new_value(element(value.type))
        self.emit(Shuffle(result, value, lane, self._tail))
        return result

    def _scan(self, stmt: Collective, array: Value) -> None:
        """Each step reads one half of the array, from `start` on, and writes the other one."""
        start = 0
        for distance in distances(self.items):
            self.emit(Barrier())
            joins, other = self.let("ge", BOOL, self._item, number(distance)), self.items - start
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
        is_first = self.let("eq", BOOL, self._item, number(0))
        before = self.load(array, self._moved(start - 1, self.let("maximum", U32, self._item, number(1))))
        nothing = Const(0.0 if element(_type(stmt)).is_float else 0, _type(stmt))
        self.emit(Let(_result(stmt), "select", (is_first, nothing, before)))

    def _moved(self, distance: int, item: Value | None = None, hint: str = "") -> Value:
        """The index of this work-item, or of another one, moved forward or backward."""
        if item is None and distance in self._known:
            return self._known[distance]
        op = "add" if distance > 0 else "sub"
        return self.let(op, U32, item or self._item, number(abs(distance)), hint=hint)


def _type(stmt: Collective) -> DType:
    return element(stmt.value.type)


def _result(stmt: Collective) -> Value:
    """The collective's result, with a name of its own, so that it is read where the collective stands."""
    return replace(stmt.result, hint=stmt.result.hint or f"group_{stmt.op}")
