"""What copies and products do that go on while work-items do, as late as they may: at the wait that they must be done
behind. Until then nobody may touch what they write, nor store to what they read in local memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from ocl_ir import tf32
from ocl_ir.bfloat16 import floats_of
from ocl_ir.errors import IRError
from ocl_ir.interpret.accesses import Accesses
from ocl_ir.interpret.faults import Faults
from ocl_ir.interpret.memory import Memory
from ocl_ir.interpret.operation import Data
from ocl_ir.interpret.races import READ, WRITE
from ocl_ir.interpret.values import Values
from ocl_ir.kernel.asynchronous import (
    ALIGNMENT,
    COPY_BYTES,
    ROWS,
    STEP_BYTES,
    WARPGROUP,
    Await,
    Commit,
    CopyAsync,
    Swizzled,
    WarpgroupMultiply,
)
from ocl_ir.kernel.grammar import Operand, Value
from ocl_ir.types import BF16, TF32, DType


class _Begun(NamedTuple):
    """What goes on, and how it is done."""

    stmt: CopyAsync | WarpgroupMultiply
    finish: Callable[[], None]


class Pending:
    """The copies and products of a group that are not done."""

    def __init__(self, values: Values, accesses: Accesses, faults: Faults) -> None:
        self._values, self._accesses, self._faults = values, accesses, faults
        self._open: list[_Begun] = []
        self._batches: list[list[_Begun]] = []
        self._products: list[list[_Begun]] = []

    def batch(self, stmt: Commit | Await) -> None:
        """Ends a batch of copies, or does what must be done."""
        if isinstance(stmt, Commit):
            self._batches.append(self._open)
            self._open = []
            return
        begun = self._batches if stmt.what == "copies" else self._products
        count = max(len(begun) - stmt.pending, 0)
        for each in (each for batch in begun[:count] for each in batch):
            each.finish()
        del begun[:count]

    def end(self) -> None:
        """Raises `IRError` where a group ends before what it has begun."""
        for each in self._open:
            remedy = "commit copies, and await them"
            self._faults.fail(IRError, "a group ends with a copy that no commit follows", each.stmt, remedy)
        for each in (each for batch in (*self._batches, *self._products) for each in batch):
            what = "copies" if isinstance(each.stmt, CopyAsync) else "products"
            self._faults.fail(IRError, f"a group ends while {what} go on", each.stmt, f"await all {what} before")

    # ------------------------------------------------------------------ copies

    def copy(self, stmt: CopyAsync, items: Data) -> None:
        """Begins a copy. The source is read when it is done."""
        index, source_index, inside = (
            self._values.at(operand, items) for operand in (stmt.index, stmt.source_index, stmt.inside)
        )
        width, readers, at = stmt.count, items[inside], source_index[inside]

        def read() -> Data:
            memory, positions = self._accesses.reach(
                stmt, READ, stmt.source, at, readers, width=width, align=COPY_BYTES
            )
            return np.asarray(memory.data[positions])

        if readers.size:
            read()
        local, to = self._accesses.reach(stmt, WRITE, stmt.pointer, index, items, width=width, align=COPY_BYTES)
        local.begin(WRITE, to)

        def finish() -> None:
            copied = np.zeros(to.shape, local.data.dtype)
            if readers.size:
                copied[inside] = read()
                self._accesses.counters.loads += readers.size * width
            local.end(WRITE, to)
            self._accesses.touch(stmt, WRITE, local, to, items)
            self._accesses.counters.stores += to.size
            local.put(to, copied)

        self._open.append(_Begun(stmt, finish))

    # ------------------------------------------------------------------ products

    def multiply(self, stmt: WarpgroupMultiply, items: Data) -> None:
        """Begins the products of all warpgroups."""
        warpgroups = [items[first : first + WARPGROUP] for first in range(0, items.size, WARPGROUP)]
        self._products.append([self._begun(stmt, own) for own in warpgroups])

    def _begun(self, stmt: WarpgroupMultiply, items: Data) -> _Begun:
        finish_left = self._held(stmt, items) if stmt.left_lies is None else self._left(stmt, items, stmt.left_lies)
        right = self._bytes(stmt, items, stmt.right, stmt.right_index, stmt.right_lies, stmt.columns)
        finish_right = self._operand(stmt, items, stmt.right, right)
        sums = self._accesses.memories[stmt.sums.id]
        start = np.zeros(items.size, np.int64)
        own = sums.positions(items, start, stmt.columns // 2, vector=True)
        if stmt.starts:
            sums.put(own, np.zeros(own.shape, sums.data.dtype))  # what is added later finds numbers
        self._accesses.check_filled(stmt, sums, own, start, items)
        sums.begin(WRITE, own)

        def finish() -> None:
            product = _product(finish_left(), finish_right())
            sums.end(WRITE, own)
            with np.errstate(all="ignore"):
                total = product if stmt.starts else sums.data[own] + product
                sums.put(own, total.astype(sums.data.dtype))

        return _Begun(stmt, finish)

    def _left(self, stmt: WarpgroupMultiply, items: Data, lies: Swizzled) -> Callable[[], Data]:
        return self._operand(stmt, items, stmt.left, self._bytes(stmt, items, stmt.left, stmt.left_index, lies, ROWS))

    def _operand(self, stmt: WarpgroupMultiply, items: Data, pointer: Value, byte: Data) -> Callable[[], Data]:
        """Begins to read an operand in local memory; what comes back reads its elements when the product is done."""
        local = self._accesses.memories[pointer.id]
        words = np.unique(byte.ravel() // 4)
        reader = np.repeat(items[:1], words.size)
        _, positions = self._accesses.reach(stmt, READ, pointer, words, reader)
        local.begin(READ, positions)

        def finish() -> Data:
            local.end(READ, positions)
            self._accesses.touch(stmt, READ, local, positions, reader)
            return _elements(local, byte, stmt.dtype)

        return finish

    def _held(self, stmt: WarpgroupMultiply, items: Data) -> Callable[[], Data]:
        """The same of an operand that the work-items hold."""
        held = self._accesses.memories[stmt.left.id]
        start = self._values.at(stmt.left_index, items)
        positions = held.positions(items, start, 4 * stmt.steps, vector=True)
        self._accesses.check_filled(stmt, held, positions, start, items)
        held.begin(READ, positions)

        def finish() -> Data:
            held.end(READ, positions)
            return _held_rows(held.data[positions], stmt.dtype)

        return finish

    def _bytes(
        self, stmt: WarpgroupMultiply, items: Data, pointer: Value, index: Operand, lies: Swizzled, own: int
    ) -> Data:
        """Where each element of an operand is: its own axis, then the inner one."""
        first = self._values.at(index, items)
        if np.count_nonzero(first != first[0]):
            fact = "an operand of a product does not begin at one place for the whole warpgroup"
            self._faults.fail(IRError, fact, stmt, "compute the place of what the warpgroup shares")
        self._accesses.reach(stmt, READ, pointer, first[:1], items[:1], align=ALIGNMENT)
        step = STEP_BYTES // lies.size
        return int(first[0]) * 4 + _places(lies, own, step * stmt.first, step * stmt.steps)


@cache
def _places(lies: Swizzled, own: int, first: int, inner: int) -> Data:
    return np.array([[lies.place(row, column) for column in range(first, first + inner)] for row in range(own)])


def _elements(words: Memory, byte: Data, dtype: DType) -> Data:
    """The elements that begin at some bytes of words, as float64."""
    return _floats(words.data[words.origin + byte // 4] >> (byte % 4 * 8).astype(np.uint32), dtype)


def _floats(words: Data, dtype: DType) -> Data:
    """The tf32 that words are, or the halves in their lower bits, as float64."""
    if dtype == TF32:
        return tf32.floats_of(words).astype(np.float64)
    halves = words.astype(np.uint16)
    return (floats_of(halves) if dtype == BF16 else halves.view(np.float16)).astype(np.float64)


def _held_rows(words: Data, dtype: DType) -> Data:
    """The left matrix of which 128 work-items hold some words each."""
    pack = 4 // dtype.size
    item, word, part = np.indices((*words.shape, pack))
    row = 16 * (item // 32) + item % 32 // 4 + 8 * (word % 2)
    column = pack * (4 * (word // 2) + item % 4) + part
    rows = np.empty((ROWS, 2 * pack * words.shape[1]))
    rows[row, column] = _floats(words[..., None] >> np.array([0, 16][:pack], np.uint32), dtype)
    return rows


def _product(left: Data, right: Data) -> Data:
    """What each work-item has of the product of a left matrix and a right one, whose inner axis comes last."""
    item, number = np.indices((WARPGROUP, len(right) // 2))
    row = 16 * (item // 32) + item % 32 // 4 + 8 * (number // 2 % 2)
    column = 8 * (number // 4) + 2 * (item % 4) + number % 2
    with np.errstate(all="ignore"):
        product = left @ right.T
    return np.asarray(product[row, column])
