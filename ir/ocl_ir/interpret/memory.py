"""The interpreter's memory: what a pointer points to, how values lie there, and which accesses are faults.

Argument buffers are taken to start at a multiple of 4096 bytes; an array of the kernel starts at an address that its
pointer's `align` divides and no larger power of two does, so that nothing is aligned by luck.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ocl_ir.bfloat16 import bits_of, floats_of
from ocl_ir.interpret.operation import Data, poison
from ocl_ir.interpret.races import READ, Clock, Race, Shadow
from ocl_ir.types import DType, Pointer


@dataclass
class Memory:
    """The elements that one pointer reaches: `length` of them, from `data[origin]` on.

    Private memory has a copy for each work-item, `stride` elements apart; in shared memory `stride` is 0.
    """

    name: str
    pointer: Pointer
    data: Data
    length: int
    origin: int = 0
    stride: int = 0
    base: int = 0
    shadow: Shadow | None = None
    first_cell: int = 0
    cells_per_element: int = 1
    is_filled: Data | None = None
    """Which elements of an array of the kernel have been stored to."""
    read_later: Data | None = None
    """By how much that goes on each element is still read."""
    written_later: Data | None = None
    """By how much that goes on each element is still written."""

    def outside(self, start: Data, width: int) -> Data:
        """Which accesses of `width` elements from `start` on leave the memory."""
        out: Data = (start < 0) | (start > self.length - width)
        return out

    def misaligned(self, start: Data, align: int) -> Data | bool:
        """Which accesses begin at an address that `align`, a power of two, does not divide."""
        if align <= self.pointer.dtype.size:
            return False  # where an element may be
        off: Data = (self.base + (self.origin + start) * self.pointer.dtype.size) & align - 1 != 0
        return off

    def positions(self, items: Data, start: Data, width: int, *, vector: bool) -> Data:
        """Where in `data` each work-item's elements lie: shape (items,), or (items, width) for vectors."""
        first: Data = self.origin + start
        if self.stride:
            first = first + items * self.stride
        return first[:, None] + np.arange(width) if vector else first

    def unfilled(self, positions: Data) -> Data | bool:
        """Which accesses read what nothing has been stored to; those of arguments never do."""
        if self.is_filled is None:
            return False
        filled: Data = self.is_filled[positions].reshape(len(positions), -1)
        empty: Data = np.logical_not(filled.all(axis=1))
        return empty

    def read(self, positions: Data, dtype: DType) -> Data:
        """The elements as values of `dtype`."""
        stored: Data = self.data[positions]
        if dtype.name == "u16" and self.pointer.dtype.is_float:
            return stored.view(np.uint16)
        if self.pointer.dtype.name == "bf16":
            return floats_of(stored)
        return stored.astype(dtype.numpy, copy=False)

    def write(self, positions: Data, values: Data) -> None:
        """Stores values; float32 rounds to nearest even in narrower storage."""
        if self.pointer.dtype.name == "bf16":
            self.put(positions, bits_of(values))
        else:
            with np.errstate(all="ignore"):
                self.put(positions, values.astype(self.data.dtype))

    def put(self, positions: Data, stored: Data) -> None:
        """Stores elements as they lie in memory."""
        if self.is_filled is not None:
            self.is_filled[positions] = True
        self.data[positions] = stored

    def begin(self, kind: int, positions: Data) -> None:
        """Something begins that reads or writes elements and goes on until it calls `end`."""
        if self.read_later is None or self.written_later is None:
            self.read_later = np.zeros(len(self.data), np.int32)
            self.written_later = np.zeros(len(self.data), np.int32)
        np.add.at(self.read_later if kind == READ else self.written_later, positions, 1)

    def end(self, kind: int, positions: Data) -> None:
        """It is done."""
        later = self.read_later if kind == READ else self.written_later
        assert later is not None
        np.subtract.at(later, positions, 1)

    def busy(self, kind: int, positions: Data) -> Data | bool:
        """Which accesses meet what goes on: it writes there, or reads what they write."""
        if self.read_later is None or self.written_later is None:
            return False
        later: Data = self.written_later[positions]
        if kind != READ:
            later = later + self.read_later[positions]
        return np.asarray((later > 0).reshape(len(positions), -1).any(axis=1))

    def touch(self, kind: int, positions: Data, items: Data, statement: int, *, noted: bool = True) -> Race | None:
        """Tells the shadow, if there is one, and hands on the race it sees."""
        if self.shadow is None:
            return None
        cells, tell = self._cells(positions, items), self.shadow.touch if noted else self.shadow.met
        return tell(kind, cells, np.repeat(items, cells.size // items.size), statement)

    def arrive(self, positions: Data, items: Data, statement: int, awaited: Data) -> Race | None:
        """The same of what comes by itself, which a work-item has begun and those of `awaited` have waited for."""
        if self.shadow is None:
            return None
        cells = self._cells(positions, items)
        return self.shadow.arrive(cells, np.repeat(items, cells.size // items.size), statement, awaited)

    def _cells(self, positions: Data, items: Data) -> Data:
        """Of neighbouring elements for each work-item."""
        width = positions.size // items.size * self.cells_per_element
        start = self.first_cell + positions.reshape(items.size, -1)[:, 0] * self.cells_per_element
        return np.asarray((start[:, None] + np.arange(width)).ravel())

    def element_of(self, cell: int) -> int:
        """The index of the element that a cell of the shadow belongs to."""
        return (cell - self.first_cell) // self.cells_per_element - self.origin


def new_array(name: str, pointer: Pointer, length: int, items: int, clock: Clock | None) -> Memory:
    """An array of the kernel with undefined contents: one for the group if it is local, else one for each work-item."""
    private = pointer.space == "private"
    data = poison(pointer.dtype, length * items if private else length)
    shadow = None if private or clock is None else Shadow(length, clock)
    return Memory(
        name,
        pointer,
        data,
        length,
        stride=length if private else 0,
        base=pointer.align,
        shadow=shadow,
        is_filled=np.zeros(len(data), np.bool_),
    )


def watch(memories: Iterable[Memory], written: frozenset[str], clock: Clock) -> None:
    """Gives arguments their shadows. Arguments that overlap, through views of any dtype, share one.

    Memory that no statement writes can have no race and gets none.
    """
    for together in _overlapping(memories):
        if not any(memory.name in written for memory in together):
            continue
        start = _address(together[0])
        end = max(_address(memory) + memory.data.nbytes for memory in together)
        cell = math.gcd(*(memory.pointer.dtype.size for memory in together), *(_address(m) - start for m in together))
        shadow = Shadow((end - start) // cell, clock)
        for memory in together:
            memory.shadow = shadow
            memory.first_cell = (_address(memory) - start) // cell
            memory.cells_per_element = memory.pointer.dtype.size // cell


def _address(memory: Memory) -> int:
    return int(memory.data.__array_interface__["data"][0])


def _overlapping(memories: Iterable[Memory]) -> list[list[Memory]]:
    groups: list[list[Memory]] = []
    end = 0
    for memory in sorted(memories, key=_address):
        if groups and _address(memory) < end:
            groups[-1].append(memory)
        else:
            groups.append([memory])
        end = max(end, _address(memory) + memory.data.nbytes)
    return groups
