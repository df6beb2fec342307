"""What asynchronous statements do, as late as they may: a copy at the wait that it must be done behind, and so a
product. So who does not wait reads what was there before, and who stores too early spoils what comes out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

import numpy as np

from ocl_ir.bfloat16 import floats_of
from ocl_ir.errors import Error, IRError
from ocl_ir.interpret.memory import Memory
from ocl_ir.interpret.operation import Data
from ocl_ir.kernel.asynchronous import (
    ALIGNMENT,
    BOX_COLUMNS,
    COPY_BYTES,
    INNER,
    ROWS,
    WARPGROUP,
    Await,
    AwaitBoxes,
    CopyAsync,
    CopyBox,
    DescribeMatrix,
    InitBoxes,
    Swizzled,
    WarpgroupMultiply,
)
from ocl_ir.kernel.grammar import Load, Operand, Stmt, Store, Value
from ocl_ir.types import BF16, U64, ValueType, element, with_lanes


class Machine(NamedTuple):
    """What of the interpreter is needed."""

    at: Callable[[Operand, Data], Data]
    """What an operand is for some work-items."""
    define: Callable[[int, ValueType, Data, Data], None]
    """Gives a value, by its id, to some work-items."""
    load: Callable[[Load, Data], None]
    store: Callable[[Store, Data], None]
    same_place: Callable[[Stmt, Stmt], None]
    """Lets a statement stand where another one does."""
    memory: Callable[[Value], Memory]
    read: Callable[[Memory, Data, Data, Stmt], None]
    """Notes that a work-item reads some words."""
    write: Callable[[Memory, Data, Data, Stmt], None]
    """Notes that a work-item writes some words."""
    fail: Callable[[type[Error], str, Stmt, str], NoReturn]


@dataclass
class _BoxBarrier:
    """The boxes of a barrier's turn, and its parity."""

    boxes: int
    waiting: list[Callable[[], None]]
    turns: int = 0


class Pending:
    """The copies and products of a group that are not done."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._batch: list[Callable[[], None]] = []
        self._batches: list[list[Callable[[], None]]] = []
        self._products: list[Callable[[], None]] = []
        self._barriers: dict[tuple[int, int], _BoxBarrier] = {}

    def copy(self, stmt: CopyAsync, items: Data) -> None:
        """Begins a copy."""
        machine = self._machine
        held = [machine.at(operand, items) for operand in (stmt.index, stmt.source_index, stmt.inside)]

        type_ = with_lanes(element(stmt.pointer.type), stmt.count)
        index, source_index, loaded = Value(-1, U64), Value(-2, U64), Value(-3, type_)
        load, store = (
            Load(loaded, stmt.source, source_index, COPY_BYTES),
            Store(stmt.pointer, index, loaded, COPY_BYTES),
        )

        def run() -> None:
            inside, values = held[2], np.zeros((items.size, stmt.count), element(type_).numpy)
            for made, there in ((index, held[0]), (source_index, held[1])):
                machine.define(made.id, U64, items, there.astype("u8"))
            for access in (load, store):
                machine.same_place(access, stmt)
            if inside.any():
                machine.load(load, items[inside])
                values[inside] = machine.at(loaded, items[inside])
            machine.define(loaded.id, type_, items, values)
            machine.store(store, items)

        self._batch.append(run)

    def commit(self) -> None:
        """Ends a batch of copies."""
        self._batches.append(self._batch)
        self._batch = []

    def multiply(self, stmt: WarpgroupMultiply, items: Data) -> None:
        """Begins a product."""
        machine = self._machine
        held = [machine.at(operand, items) for operand in (stmt.left_index, stmt.right_index)]

        def run() -> None:
            for first in range(0, items.size, WARPGROUP):
                own = slice(first, first + WARPGROUP)
                self._multiply(stmt, items[own], held[0][own], held[1][own])

        self._products.append(run)

    # ------------------------------------------------------------------ boxes

    def describe(self, stmt: DescribeMatrix, items: Data) -> None:
        """Writes the numbers of a description; the form is the interpreter's own."""
        table = self._machine.memory(stmt.table)
        numbers = (stmt.source_index, stmt.columns, stmt.rows, stmt.row_words)
        described = np.stack([self._machine.at(number, items).astype("u8") for number in numbers], axis=1)
        words = described.view("u4")
        first = table.origin + self._machine.at(stmt.slot, items).astype("i8")
        places = first[:, None] + np.arange(words.shape[1])
        self._machine.write(table, places.ravel(), np.repeat(items, words.shape[1]), stmt)
        table.write(places, words)

    def init_boxes(self, stmt: InitBoxes) -> None:
        """Makes barriers ready."""
        for number in range(stmt.count):
            self._barriers[stmt.barriers.id, number] = _BoxBarrier(stmt.boxes, [])

    def copy_box(self, stmt: CopyBox, items: Data) -> None:
        """Begins to copy a box, for the only work-item that asks."""
        numbers = (stmt.index, stmt.slot, stmt.column, stmt.row, stmt.number)
        index, slot, column, row, number = (int(self._machine.at(value, items[:1])[0]) for value in numbers)
        barrier = self._barriers.get((stmt.barriers.id, number))
        if barrier is None or items.size != 1:
            remedy = "init the barriers, and let one work-item copy"
            self._machine.fail(IRError, f"a box for barrier {number} by {items.size} work-items", stmt, remedy)
        barrier.waiting.append(lambda: self._copy_box(stmt, items, slot, index, (row, column)))

    def _copy_box(self, stmt: CopyBox, items: Data, slot: int, index: int, first: tuple[int, int]) -> None:
        machine, local, source = self._machine, self._machine.memory(stmt.pointer), self._machine.memory(stmt.source)
        table = machine.memory(stmt.table)
        at = table.origin + slot + np.arange(8)
        machine.read(table, at, np.repeat(items, at.size), stmt)
        begin, columns, matrix_rows, row_words = map(int, np.ascontiguousarray(table.data[at]).view("u8"))
        rows, words = np.indices((stmt.rows, BOX_COLUMNS // 2))
        row, column = first[0] + rows, first[1] // 2 + words
        inside = (row < matrix_rows) & (2 * column < columns)
        at = (begin + row * row_words + column)[inside]
        values = np.zeros(rows.shape, "u4")
        if at.size:
            machine.read(source, source.origin + at, np.repeat(items, at.size), stmt)
            values[inside] = source.data[source.origin + at]
        place = index + (np.vectorize(Swizzled(True, 0).place)(rows, 2 * words)) // 4
        machine.write(local, place.ravel(), np.repeat(items, place.size), stmt)
        local.write(place.ravel(), values.ravel())

    def await_boxes(self, stmt: AwaitBoxes, items: Data) -> None:
        """Copies the boxes of a turn, if they are not there."""
        number, parity = (int(self._machine.at(value, items[:1])[0]) for value in (stmt.number, stmt.parity))
        barrier = self._barriers[stmt.barriers.id, number]
        if barrier.turns % 2 == parity:
            if len(barrier.waiting) != barrier.boxes:
                fact = f"{len(barrier.waiting)} boxes for barrier {number}, which waits for {barrier.boxes}"
                self._machine.fail(IRError, fact, stmt, "copy as many boxes in each turn as the barrier was made for")
            for run in barrier.waiting:
                run()
            barrier.waiting, barrier.turns = [], barrier.turns + 1

    # ------------------------------------------------------------------ products

    def await_(self, stmt: Await) -> None:
        """Does what has to be done."""
        waiting = self._batches if stmt.what == "copies" else self._products
        done = len(waiting) - stmt.pending
        for entry in waiting[: max(done, 0)]:
            for run in entry if isinstance(entry, list) else [entry]:
                run()
        del waiting[: max(done, 0)]

    def _multiply(self, stmt: WarpgroupMultiply, items: Data, left_index: Data, right_index: Data) -> None:
        left = self._operand(stmt, items, left_index, stmt.left_lies, ROWS)
        right = self._operand(stmt, items, right_index, stmt.right_lies, stmt.columns)
        with np.errstate(all="ignore"):
            product = left @ right.T
        item, number = np.indices((WARPGROUP, stmt.columns // 2))
        row = 16 * (item // 32) + item % 32 // 4 + 8 * (number // 2 % 2)
        column = 8 * (number // 4) + 2 * (item % 4) + number % 2
        sums = self._machine.memory(stmt.sums)
        positions = sums.positions(items, np.zeros(items.size, np.int64), stmt.columns // 2, vector=True)
        with np.errstate(all="ignore"):
            sums.write(positions, (sums.data[positions] + product[row, column]).astype("f4"))

    def _operand(self, stmt: WarpgroupMultiply, items: Data, index: Data, lies: Swizzled, own: int) -> Data:
        """An operand as float64: its own axis, then the inner one."""
        machine, memory = self._machine, self._machine.memory(stmt.left)
        start = int(index[0]) * 4
        if (index != index[0]).any() or start % ALIGNMENT:
            fact = f"an operand of a product begins at byte {start} of {memory.name}, or not at one place for all"
            remedy = f"begin at a multiple of {ALIGNMENT} bytes that the whole warpgroup knows"
            machine.fail(IRError, fact, stmt, remedy)
        rows, inner = np.indices((own, INNER * stmt.steps))
        byte = start + np.vectorize(lies.place)(rows, inner)
        words = np.unique(byte // 4)
        machine.read(memory, words, np.repeat(items[:1], words.size), stmt)
        halves = np.ascontiguousarray(memory.data).view("u2")[byte // 2]
        return (floats_of(halves) if stmt.dtype is BF16 else halves.view("f2")).astype("f8")
