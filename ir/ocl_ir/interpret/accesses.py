"""Accesses of work-items to memory, with every check: bounds, alignment, races, what was never stored, and what copies
and products that go on still read or write."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ocl_ir.errors import MemoryAccessError
from ocl_ir.interpret.atomic import changed
from ocl_ir.interpret.counters import Counters
from ocl_ir.interpret.faults import Faults
from ocl_ir.interpret.memory import Memory
from ocl_ir.interpret.operation import Data, poison
from ocl_ir.interpret.races import ATOMIC, READ, WRITE
from ocl_ir.interpret.values import Values
from ocl_ir.kernel.grammar import Atomic, Load, Stmt, Store, Value
from ocl_ir.types import Vector, element


class Accesses:
    """The accesses of one group after the other. `memories` has what each pointer leads to, by its id."""

    def __init__(self, arguments: Mapping[int, Memory], values: Values, faults: Faults, counters: Counters) -> None:
        self._arguments, self._values, self._faults, self.counters = arguments, values, faults, counters
        self.memories: dict[int, Memory] = {}

    def start_group(self) -> None:
        """Only arguments are there."""
        self.memories = dict(self._arguments)

    def load(self, stmt: Load, items: Data) -> None:
        """Gives work-items what they read."""
        type_ = stmt.result.type
        index, width = self._values.at(stmt.index, items), type_.lanes if isinstance(type_, Vector) else None
        memory, positions = self.reach(stmt, READ, stmt.pointer, index, items, width=width, align=stmt.align)
        self.counters.loads += positions.size
        self._values.define(stmt.result.id, type_, items, memory.read(positions, element(type_)))

    def store(self, stmt: Store, items: Data) -> None:
        """Writes what work-items give."""
        type_ = stmt.value.type
        index, width = self._values.at(stmt.index, items), type_.lanes if isinstance(type_, Vector) else None
        memory, positions = self.reach(stmt, WRITE, stmt.pointer, index, items, width=width, align=stmt.align)
        self.counters.stores += positions.size
        memory.write(positions, self._values.at(stmt.value, items))

    def atomic(self, stmt: Atomic, items: Data) -> None:
        """Changes elements, one work-item after the other."""
        memory, positions = self.reach(stmt, ATOMIC, stmt.pointer, self._values.at(stmt.index, items), items)
        dtype = memory.pointer.dtype
        self.counters.atomics += items.size
        args = [self._values.at(arg, items) for arg in stmt.args]
        before = poison(dtype, items.size)
        for turn in range(items.size):
            # Slices, not scalars: NumPy wraps arrays silently and warns for scalars.
            only, cell = slice(turn, turn + 1), positions[turn : turn + 1]
            before[only] = memory.data[cell]
            memory.data[cell] = changed(stmt.op, before[only], *(arg[only] for arg in args))
        if stmt.result is not None:
            self._values.define(stmt.result.id, dtype, items, before)

    def reach(
        self,
        stmt: Stmt,
        kind: int,
        pointer: Value,
        index: Data,
        items: Data,
        *,
        width: int | None = None,
        align: int = 0,
        noted: bool = True,
    ) -> tuple[Memory, Data]:
        """The memory and the positions in it that a statement may touch, after every check: for each of some
        work-items the element at an index, or `width` elements from there on. What is not `noted` is touched later."""
        memory, count = self.memories[pointer.id], width or 1
        start = index.astype(np.int64)  # above 2**63 it turns negative, and so stays outside
        outside = memory.outside(start, count)
        if np.count_nonzero(outside):
            at = int(np.argmax(outside))
            last = f" to {int(index[at]) + count - 1}" if count > 1 else ""
            what = f"accesses {memory.name}[{index[at]}{last}], whose length is {memory.length}"
            self._fail(what, int(items[at]), stmt, "test the index against the length first")
        misaligned = memory.misaligned(start, align)
        if misaligned is not False and np.count_nonzero(misaligned):
            at = int(np.argmax(misaligned))
            what = f"accesses {memory.name}[{index[at]}], an address that {align} does not divide"
            remedy = "promise less with `align`, or align the pointer and the index"
            self._fail(what, int(items[at]), stmt, remedy)
        positions = memory.positions(items, start, count, vector=width is not None)
        if memory.pointer.space in {"global", "constant"}:
            self.counters.global_bytes += items.size * memory.pointer.dtype.size * count
        busy = memory.busy(kind, positions)
        if busy is not False and np.count_nonzero(busy):
            at = int(np.argmax(busy))
            what = f"accesses {memory.name}[{index[at]}], which a copy or product that goes on still needs"
            self._fail(what, int(items[at]), stmt, "await the copies or products before")
        self.touch(stmt, kind, memory, positions, items, noted=noted)
        if kind != WRITE:
            self.check_filled(stmt, memory, positions, index, items)
        return memory, positions

    def touch(self, stmt: Stmt, kind: int, memory: Memory, positions: Data, items: Data, *, noted: bool = True) -> None:
        """Notes that work-items touch elements, and raises `DataRaceError` where that has no order."""
        race = memory.touch(kind, positions, items, self._faults.number(stmt), noted=noted)
        if race is not None:
            raise self._faults.race(memory, race)

    def arrive(self, stmt: Stmt, memory: Memory, positions: Data, items: Data, awaited: Data) -> None:
        """The same of what comes by itself, which a work-item has begun and those of `awaited` have waited for."""
        race = memory.arrive(positions, items, self._faults.number(stmt), awaited)
        if race is not None:
            raise self._faults.race(memory, race)

    def check_filled(self, stmt: Stmt, memory: Memory, positions: Data, index: Data, items: Data) -> None:
        """Raises `MemoryAccessError` where nothing has been stored to what is read."""
        unfilled = memory.unfilled(positions)
        if unfilled is not False and np.count_nonzero(unfilled):
            at = int(np.argmax(unfilled))
            what = f"reads {memory.name}[{index[at]}], which nothing has been stored to"
            remedy = "store to all elements that are read, and put a barrier behind it"
            self._fail(what, int(items[at]), stmt, remedy)

    def _fail(self, what: str, item: int, stmt: Stmt, remedy: str) -> None:
        self._faults.fail(MemoryAccessError, f"{self._faults.work_item(item)} {what}", stmt, remedy)
