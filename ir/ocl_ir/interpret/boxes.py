"""What boxes do that one work-item copies, of matrices and of windows, as late as they may: when somebody waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import NamedTuple, TypeAlias

import numpy as np

from ocl_ir import tf32
from ocl_ir.errors import IRError
from ocl_ir.interpret.accesses import Accesses
from ocl_ir.interpret.descriptions import Described, Matrix, Windows, packed, unpacked
from ocl_ir.interpret.faults import Faults
from ocl_ir.interpret.operation import Data
from ocl_ir.interpret.races import ATOMIC, READ, WRITE, Clock
from ocl_ir.interpret.sides import Sides
from ocl_ir.interpret.values import Values
from ocl_ir.kernel.asynchronous import (
    ALIGNMENT,
    COPY_BYTES,
    LEAST_CORNER,
    MAP_ALIGNMENT,
    MAP_WORDS,
    MOST_STEP,
    MOST_STRIDE,
    MOST_TAP,
    ROW_BYTES,
    AwaitBoxes,
    CopyBox,
    CopyWindows,
    DescribeMatrix,
    DescribeWindows,
    InitBoxes,
    ReleaseBoxes,
    Swizzled,
)
from ocl_ir.kernel.grammar import Operand, Stmt

BoxStmt: TypeAlias = DescribeMatrix | DescribeWindows | InitBoxes | CopyBox | CopyWindows | AwaitBoxes | ReleaseBoxes


class _Begun(NamedTuple):
    """A box on its way."""

    stmt: CopyBox | CopyWindows
    finish: Callable[[Data], None]


class _Release(NamedTuple):
    """Who has released, before which interval, and for which turns they had waited: who has waited for each of these.
    Whoever waits for the release comes behind those turns, too."""

    items: Data
    interval: int
    behind: list[Data]


@dataclass
class _Barrier:
    """How many boxes a turn has; which work-items have waited for the last one; the boxes of this turn and its
    releases; how many turns are over; the releases of the last one."""

    boxes: int
    awaited: Data
    begun: list[_Begun] = field(default_factory=list)
    releases: list[_Release] = field(default_factory=list)
    turns: int = 0
    released: list[_Release] = field(default_factory=list)


def _is_complete(barrier: _Barrier) -> bool:
    return len(barrier.begun) + len(barrier.releases) >= barrier.boxes


@lru_cache(maxsize=64)
def _places(rows: int, size: int, word: int) -> Data:
    """Where the words of a box lie, of elements and words of so many bytes."""
    lies = Swizzled(turned=True, block=0, size=size)
    firsts = range(0, lies.row, word // size)
    return np.array([[lies.place(row, first) // word for first in firsts] for row in range(rows)])


class Boxes:
    """The boxes of a group that are on their way."""

    def __init__(self, values: Values, accesses: Accesses, faults: Faults, items: int, clock: Clock | None) -> None:
        self._values, self._accesses, self._faults = values, accesses, faults
        self._items, self._clock = items, clock
        self._barriers: dict[tuple[int, int], _Barrier] = {}
        self.sides: Sides | None = None
        """Where warps specialise, who may bring what a wait is for."""

    def run(self, stmt: BoxStmt, items: Data) -> None:
        """Runs a statement for some work-items."""
        match stmt:
            case DescribeMatrix() | DescribeWindows():
                self._describe(stmt, items)
            case InitBoxes():
                self._init(stmt, items)
            case CopyBox() | CopyWindows():
                self._copy(stmt, items)
            case AwaitBoxes():
                self._await(stmt, items)
            case ReleaseBoxes():
                self._release(stmt, items)

    def end(self) -> None:
        """Raises `IRError` where a group ends before what it has begun."""
        for barrier in self._barriers.values():
            for begun in barrier.begun:
                self._faults.fail(IRError, "a group ends while boxes are copied", begun.stmt, "await all boxes before")

    def _describe(self, stmt: DescribeMatrix | DescribeWindows, items: Data) -> None:
        if isinstance(stmt, DescribeMatrix):
            sizes: tuple[Operand, ...] = stmt.columns, stmt.rows, stmt.row_words
            strides: tuple[Operand, ...] = (stmt.row_words,)
        else:
            sizes = stmt.columns, *stmt.lengths, *stmt.strides, *stmt.steps, *stmt.before, *stmt.counts
            strides = stmt.strides
        begin, *numbers = (self._values.at(operand, items) for operand in (stmt.source_index, *sizes))
        source = self._accesses.memories[stmt.source.id]
        unit = COPY_BYTES // source.pointer.dtype.size
        misaligned = source.misaligned(begin.astype(np.int64), COPY_BYTES)
        apart = np.stack([self._values.at(stride, items) for stride in strides])
        if np.count_nonzero(apart > MOST_STRIDE):
            fact = f"rows that are {apart.max()} words apart"
            self._faults.fail(IRError, fact, stmt, f"copy what is more than {MOST_STRIDE} words apart in another way")
        if np.count_nonzero(misaligned) or np.count_nonzero(apart % unit):
            fact = f"rows, or places of a tensor, that do not begin at multiples of {COPY_BYTES} bytes"
            self._faults.fail(IRError, fact, stmt, "align what is copied and its rows, or copy it in another way")
        slot, word = self._values.at(stmt.slot, items), self._values.at(stmt.word, items)
        if np.count_nonzero(word >= MAP_WORDS):
            fact = f"word {word.max()} of a description, which has {MAP_WORDS}"
            self._faults.fail(IRError, fact, stmt, f"let {MAP_WORDS} work-items store one word each")
        if np.count_nonzero(self._accesses.memories[stmt.table.id].misaligned(slot.astype(np.int64), MAP_ALIGNMENT)):
            fact = f"a description that does not begin at a multiple of {MAP_ALIGNMENT} bytes"
            self._faults.fail(IRError, fact, stmt, "align the table, and let each description take 32 words")
        table, places = self._accesses.reach(stmt, WRITE, stmt.table, slot + word, items)
        described = Described(stmt.box_rows, stmt.dtype.size, isinstance(stmt, DescribeWindows))
        words = packed(np.stack([begin, *numbers], axis=1), described)
        table.put(places, words[np.arange(items.size), word])

    def _init(self, stmt: InitBoxes, items: Data) -> None:
        self._check_alone(stmt, items)
        memory, places = self._accesses.reach(
            stmt, WRITE, stmt.barriers, np.zeros(1, np.int64), items, width=stmt.count
        )
        memory.put(places, np.zeros(places.shape, np.uint64))
        for number in range(stmt.count):
            self._barriers[stmt.barriers.id, number] = _Barrier(stmt.boxes, self._nobody())

    def _copy(self, stmt: CopyBox | CopyWindows, items: Data) -> None:
        self._check_alone(stmt, items)
        places = (stmt.row,) if isinstance(stmt, CopyBox) else (*stmt.place, *stmt.taps)
        slot, column, number, *place = (
            self._number(operand, items) for operand in (stmt.slot, stmt.column, stmt.number, *places)
        )
        barrier = self._barrier(stmt, number, items)
        word = self._accesses.memories[stmt.pointer.id].pointer.dtype
        index, width = self._values.at(stmt.index, items), stmt.rows * ROW_BYTES // word.size
        local, to = self._accesses.reach(
            stmt, WRITE, stmt.pointer, index, items, width=width, align=ALIGNMENT, noted=False
        )
        local.begin(WRITE, to)

        def finish(awaited: Data) -> None:
            words = self._box(stmt, items, slot, column, place)
            local.end(WRITE, to)
            self._accesses.arrive(stmt, local, to, items, awaited)
            local.put(to, words.view(local.data.dtype))

        barrier.begun.append(_Begun(stmt, finish))

    def _box(self, stmt: CopyBox | CopyWindows, items: Data, slot: int, column: int, place: Sequence[int]) -> Data:
        """The words of a box as they lie in local memory."""
        table, at = self._accesses.reach(
            stmt, READ, stmt.table, np.array([slot]), items, width=MAP_WORDS, align=MAP_ALIGNMENT
        )
        described, description = unpacked(table.data[at][0])
        if described.windows is not isinstance(stmt, CopyWindows):
            fact = f"a box of {'a matrix' if described.windows else 'windows'} where {description} is described"
            self._faults.fail(IRError, fact, stmt, "describe what is copied, in a launch before")
        if described.box_rows != stmt.rows:
            fact = f"a box of {stmt.rows} rows of what is described for boxes of {described.box_rows}"
            self._faults.fail(IRError, fact, stmt, "describe the matrix for these boxes, in a launch before")
        source_word = self._accesses.memories[stmt.source.id].pointer.dtype.size
        if source_word != max(4, described.size):
            fact = f"a box in words of {source_word} bytes of a matrix whose elements have {described.size}"
            self._faults.fail(IRError, fact, stmt, "copy halves and float32 as words of 32 bits, float64 as float64")
        pack = source_word // described.size
        rows, columns = np.indices((stmt.rows, ROW_BYTES // described.size))
        if isinstance(description, Matrix):
            inside, elements_at = description.elements(place[0] + rows, column + columns, pack)
        else:
            first = self._first_window(stmt, description, place)
            inside, elements_at = description.elements(first + rows, column + columns, (place[3], place[4]), pack)
        part = elements_at[inside]
        elements = np.zeros(rows.shape, f"u{described.size}")
        if part.size:
            reader = np.repeat(items, part.size)
            source, positions = self._accesses.reach(stmt, READ, stmt.source, part // pack, reader)
            taken = source.data[positions].view(f"u{source_word}")
            if pack > 1:
                taken = taken >> (part % pack * 16).astype(np.uint32)
            elements[inside] = tf32.to_even(taken.view(np.float32)) if described.size == 4 else taken
        words = np.zeros(stmt.rows * ROW_BYTES // source_word, f"u{source_word}")
        words[_places(stmt.rows, described.size, source_word)] = elements.view(words.dtype)
        return words

    def _first_window(self, stmt: CopyBox | CopyWindows, windows: Windows, place: Sequence[int]) -> int:
        """The number of the first window of a box."""
        x, y = ((each + 2**31) % 2**32 - 2**31 for each in place[:2])  # they are given modulo 2^32
        if not windows.is_possible or max(place[3:]) > MOST_TAP:
            fact = f"{windows}, of which places {place[3:]} are copied"
            remedy = f"let windows begin at most {-LEAST_CORNER} places from the ends, {MOST_STEP} from each other,"
            self._faults.fail(IRError, fact, stmt, f"{remedy} and take places {MOST_TAP} at most behind that")
        first = windows.number(x, y, place[2])
        if first is None:
            fact = f"a box that begins at ({x}, {y}), where none of {windows} does"
            self._faults.fail(IRError, fact, stmt, "begin where a window does")
        assert first is not None
        return first

    def _await(self, stmt: AwaitBoxes, items: Data) -> None:
        numbers, parities = self._values.at(stmt.number, items), self._values.at(stmt.parity, items)
        for number, parity in sorted({*zip(numbers.tolist(), parities.tolist(), strict=True)}):
            own = items[(numbers == number) & (parities == parity)]
            barrier = self._barrier(stmt, number, own)
            if parity > 1:
                self._faults.fail(IRError, f"a wait for parity {parity}", stmt, "turns have the parities 0, 1, 0, …")
            if barrier.turns % 2 != parity:
                self._passed(barrier, own)
                continue
            if self.sides is not None:
                self.sides.wait(partial(_is_complete, barrier))
            count = len(barrier.begun) + len(barrier.releases)
            if count != barrier.boxes:
                fact = f"{count} boxes for barrier {number}, which waits for {barrier.boxes}"
                remedy = "copy as many boxes in each turn as the barrier was made for, and await one turn after another"
                self._faults.fail(IRError, fact, stmt, remedy)
            barrier.awaited, barrier.released = self._nobody(), barrier.releases
            self._passed(barrier, own)
            for begun in barrier.begun:
                begun.finish(barrier.awaited)
            barrier.begun, barrier.releases, barrier.turns = [], [], barrier.turns + 1

    def _passed(self, barrier: _Barrier, items: Data) -> None:
        """Work-items have waited for the last turn."""
        barrier.awaited[items] = True
        for release in barrier.released:
            for awaited in release.behind:
                awaited[items] = True
            if self._clock is not None:
                self._clock.awaited(items, release.items, release.interval)

    def _release(self, stmt: ReleaseBoxes, items: Data) -> None:
        numbers = self._values.at(stmt.number, items)
        interval = 0 if self._clock is None else self._clock.release()
        for number in np.unique(numbers).tolist():
            own = items[numbers == number]
            teams = np.unique(own // stmt.size)
            if teams.size * stmt.size != own.size:
                fact = f"{own.size} work-items come to a release, in {teams.size} parts of {stmt.size}"
                self._faults.fail(IRError, fact, stmt, f"let all {stmt.size} neighbours come to it")
            releases = self._barrier(stmt, number, own).releases
            for team in teams:
                by = own[own // stmt.size == team]
                behind = [each.awaited for each in self._barriers.values() if each.awaited[by].any()]
                releases.append(_Release(by, interval, behind))

    def _barrier(self, stmt: CopyBox | CopyWindows | AwaitBoxes | ReleaseBoxes, number: int, items: Data) -> _Barrier:
        self._accesses.reach(stmt, ATOMIC, stmt.barriers, np.full(items.size, number), items)
        return self._barriers[stmt.barriers.id, number]

    def _nobody(self) -> Data:
        return np.zeros(self._items, np.bool_)

    def _number(self, operand: Operand, items: Data) -> int:
        return int(self._values.at(operand, items)[0])

    def _check_alone(self, stmt: Stmt, items: Data) -> None:
        if items.size != 1:
            fact = f"{items.size} work-items come to {type(stmt).__name__.lower()}, each for itself"
            self._faults.fail(IRError, fact, stmt, "let one work-item of the group come to it")
