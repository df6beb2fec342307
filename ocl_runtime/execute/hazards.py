"""Which commands a new command must come after: those whose accesses to the same bytes conflict with its own.

Every allocation has its `Ranges`: cells, one after another, each with the last writes and the reads since of its bytes.
A read conflicts with writes, a write with both, so read after write, write after read and write after write are all
ordered, and commands on disjoint bytes are not. When memory is given back and handed out again its cells go along: the
new owner's first access is ordered after the old one's last by the same rule, and there is no other.

A contiguous access is exact. One with gaps carries its footprint, and two footprints are compared exactly (with NumPy's
solver, within a bound on its work; beyond that they count as overlapping) once they would cause a wait. A cell holds
at most `_MOST_USES` accesses, an allocation at most `_MOST_CELLS` cells; beyond, accesses of one stream are taken
together as one of the whole cell by its newest command, and neighbouring cells as one, which orders more than is needed
and never less.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from ir.accesses import READ, WRITE
from ir.layout import Layout
from ocl_runtime.execute.command import Command, Stream
from ocl_runtime.execute.driver import Buffer

_MOST_USES = 64
_MOST_CELLS = 256

Uses: TypeAlias = "tuple[tuple[Command, Layout | None], ...]"


class Cell:
    """Bytes `low … high` with one history: `writes`, of which none was hidden by a later one, and `reads` since."""

    __slots__ = ("high", "low", "reads", "writes")

    def __init__(self, low: int, high: int, writes: Uses = (), reads: Uses = ()) -> None:
        self.low = low
        self.high = high
        self.writes = writes
        self.reads = reads

    def __repr__(self) -> str:
        return f"<bytes {self.low}…{self.high}: writes {self.writes}, reads {self.reads}>"


class Ranges:
    """The history of one allocation, which lies in a buffer from byte `low` to `high`.

    `sole` is the stream that made all of it, if one did: for that stream there can be no conflict.
    """

    __slots__ = ("buffer", "cells", "high", "low", "sole")

    def __init__(self, buffer: Buffer, low: int, high: int, cells: list[Cell] | None = None) -> None:
        self.buffer = buffer
        self.low = low
        self.high = high
        self.cells = cells or [Cell(low, high)]
        self.sole = _sole(self.cells)

    def within(self, low: int, high: int) -> Sequence[Cell]:
        """The cells that make up these bytes, cut at both ends where need be."""
        if low <= self.low and high >= self.high:
            return self.cells
        if len(self.cells) > _MOST_CELLS:
            self.tidy()
        first = self._cut(max(low, self.low))
        last = self._cut(min(high, self.high))
        return self.cells[first:last]

    def one(self, cells: Sequence[Cell]) -> Cell:
        """A single cell in place of several that follow each other."""
        first = cells[0]
        first.high = cells[-1].high
        place = bisect_right(self.cells, first.low, key=_low)
        del self.cells[place : place + len(cells) - 1]
        return first

    def _cut(self, at: int) -> int:
        """The place of the cell that begins at a byte."""
        cells = self.cells
        place = bisect_right(cells, at, key=_low) - 1
        cell = cells[place]
        if at == cell.low:
            return place
        if at < cell.high:
            cells.insert(place + 1, Cell(at, cell.high, cell.writes, cell.reads))
            cell.high = at
        return place + 1

    def split(self, at: int) -> Ranges:
        """Takes the bytes from `at` on away, with their history."""
        place = self._cut(at)
        other = Ranges(self.buffer, at, self.high, self.cells[place:])
        del self.cells[place:]
        self.sole = _sole(self.cells)
        self.high = at
        return other

    def join(self, next_: Ranges) -> None:
        """Takes over what follows directly."""
        self.cells += next_.cells
        self.high = next_.high
        self.tidy()

    def tidy(self) -> None:
        """Forgets what has completed, makes neighbours with the same history one, and the rest few."""
        kept: list[Cell] = []
        for cell in self.cells:
            cell.writes, cell.reads = _still_of_use(cell.writes), _running(cell.reads)
            if kept and kept[-1].writes == cell.writes and kept[-1].reads == cell.reads:
                kept[-1].high = cell.high
            else:
                kept.append(cell)
        if len(kept) > _MOST_CELLS // 2:  # well below the most, or the next access would call for this again
            at_once = 4 * len(kept) // _MOST_CELLS + 1
            kept = [_merged(kept[place : place + at_once]) for place in range(0, len(kept), at_once)]
        self.cells = kept
        self.sole = _sole(kept)

    def commands(self) -> list[Command]:
        """Those that may still run."""
        found = {command: None for cell in self.cells for uses in (cell.writes, cell.reads) for command, _ in uses}
        return [command for command in found if command.event is not None]


def _sole(cells: Sequence[Cell]) -> Stream | None:
    streams = {command.stream for cell in cells for uses in (cell.writes, cell.reads) for command, _ in uses}
    return streams.pop() if len(streams) == 1 else None


_low = attrgetter("low")


class Touch(NamedTuple):
    """An access: bytes `low … high` of the buffer that `ranges` describes; of them only the `footprint`, if any.

    The driver is told of each, for those who record what it is told.
    """

    ranges: Ranges
    low: int
    high: int
    mode: int
    footprint: Layout | None = None

    def __str__(self) -> str:
        does = ("", "reads", "writes", "reads and writes")[self.mode]
        gaps = " (with gaps)" if self.footprint is not None else ""
        return f"{does} bytes {self.low}…{self.high}{gaps} of buffer {id(self.ranges.buffer):x}"


class Conflicts:
    """What a command on a stream conflicts with: `needed` commands that the stream does not know of yet, `known` how
    many more it does know of, `failed` one whose result it would read."""

    __slots__ = ("failed", "known", "needed")

    def __init__(self) -> None:
        self.needed: list[Command] = []
        self.known = 0
        self.failed: Command | None = None

    def add(
        self, command: Command, stream: Stream, mode: int, footprint: Layout | None, other: Layout | None, cell: Cell
    ) -> None:
        """An earlier access to a cell, in the bytes `other` of it, against one that reads or writes `footprint`."""
        spoilt = command.error is not None and mode & READ
        running = command.stream is not stream and command.event is not None
        if not (spoilt or running):
            return
        if running and stream.known.get(command.stream, 0) >= command.position:
            self.known += 1
            running = False
        if (spoilt or running) and _overlap(footprint, other, cell):
            if spoilt and self.failed is None:
                self.failed = command
            if running:
                self.needed.append(command)


def alone(touches: Iterable[Touch], stream: Stream) -> bool:
    """Whether nobody else has used what a command touches, as far as that can be told at once."""
    for touch in touches:  # noqa: SIM110  # a generator costs twice as much, on the road of every command
        if touch[0].sole is not stream:
            return False
    return True


def conflicts(touches: Iterable[Touch], stream: Stream) -> Conflicts | None:
    """None where there is nothing to wait for, nothing known on another stream, and nothing failed."""
    found: Conflicts | None = None
    for ranges, low, high, mode, footprint in touches:
        for cell in ranges.cells if low <= ranges.low and high >= ranges.high else ranges.within(low, high):
            for command, other in cell.writes:
                if command.error is not None or (command.stream is not stream and command.event is not None):
                    found = found or Conflicts()
                    found.add(command, stream, mode, footprint, other, cell)
            if mode & WRITE and cell.reads:
                for command, other in cell.reads:
                    if command.stream is not stream and command.event is not None:
                        found = found or Conflicts()
                        found.add(command, stream, WRITE, footprint, other, cell)
    return found


def shared(touches: Iterable[Touch], command: Command) -> str:
    """What an earlier command did to the bytes that a new one touches, for who reads the log."""
    for touch in touches:
        cells = touch.ranges.within(touch.low, touch.high)
        wrote = [cell for cell in cells if command in dict(cell.writes)]
        reads = [cell for cell in cells if command in dict(cell.reads)] if touch.mode & WRITE else []
        if wrote or reads:
            low, high = (wrote or reads)[0].low, (wrote or reads)[-1].high
            return f"it {'wrote' if wrote else 'reads'} bytes {low}…{high} of what {touch}"
    return ""


def fewest(needed: Iterable[Command]) -> list[Command]:
    """Those to wait for so that all of them have happened: none that another one, or its stream, implies."""
    newest: dict[Stream, Command] = {}
    last: Command | None = None
    for command in needed:
        if command is not last:
            best = newest.get(command.stream)
            if best is None or best.position < command.position:
                newest[command.stream] = command
            last = command
    if len(newest) <= 1:
        return list(newest.values())
    return [
        one for one in newest.values() if not any(other is not one and other.follows(one) for other in newest.values())
    ]


def record(touches: Iterable[Touch], command: Command) -> None:
    """The command has been given to its stream."""
    whole: Uses = ((command, None),)
    stream = command.stream
    for ranges, low, high, mode, footprint in touches:
        cells = ranges.cells if low <= ranges.low and high >= ranges.high else ranges.within(low, high)
        if mode & WRITE and footprint is None:
            cell = cells[0] if len(cells) == 1 else ranges.one(cells)
            cell.writes, cell.reads = whole, ()
            if ranges.sole is not stream:
                ranges.sole = stream if len(ranges.cells) == 1 else None
            continue
        if ranges.sole is not stream:
            ranges.sole = None
        if len(cells) == 1 and footprint is None and ranges.sole is stream:
            (cell,) = cells
            if not (cell.writes and cell.writes[0][0] is command):
                cell.reads = whole
        else:
            for cell in cells:
                if footprint is not None:
                    _record_footprint(cell, command, mode, footprint)
                elif cell.reads and (len(cell.reads) > 1 or cell.reads[0][0].stream is not stream):
                    cell.reads = (*[use for use in cell.reads if use[0].stream is not stream], *whole)
                elif not (cell.writes and cell.writes[0][0] is command):
                    cell.reads = whole


def poison(touches: Iterable[Touch], command: Command) -> None:
    """A command that never ran (it has an `error`) should have written these bytes."""
    for ranges, low, high, mode, footprint in touches:
        if mode & WRITE:
            for cell in ranges.within(low, high):
                if not any(one.error is not None and spoilt in (None, footprint) for one, spoilt in cell.writes):
                    cell.writes = _few((*cell.writes, (command, footprint)))


def _record_footprint(cell: Cell, command: Command, mode: int, footprint: Layout) -> None:
    """Only what has the same footprint is hidden by it: of the rest, some bytes may have been left alone."""
    if mode & WRITE:
        cell.reads = tuple(use for use in cell.reads if use[1] != footprint)
        cell.writes = _few((*(use for use in cell.writes if use[1] != footprint), (command, footprint)))
    else:
        hidden = (command.stream, footprint)
        cell.reads = _few((*(use for use in cell.reads if (use[0].stream, use[1]) != hidden), (command, footprint)))


def _few(uses: Uses) -> Uses:
    if len(uses) <= _MOST_USES:
        return uses
    uses = _still_of_use(uses)
    if len(uses) <= _MOST_USES:
        return uses
    newest: dict[Stream, Command] = {}
    failed: list[tuple[Command, Layout | None]] = []
    for command, footprint in uses:
        if command.error is not None:
            failed.append((command, footprint))
        elif command.stream not in newest or newest[command.stream].position < command.position:
            newest[command.stream] = command
    return (*((command, None) for command in newest.values()), *failed)


def _running(uses: Uses) -> Uses:
    """Without those that have completed."""
    if all(command.event is not None for command, _ in uses):
        return uses
    return tuple(use for use in uses if use[0].event is not None)


def _still_of_use(uses: Uses) -> Uses:
    """Without those that have completed, unless their results are not to be trusted."""
    if all(command.event is not None or command.error is not None for command, _ in uses):
        return uses
    return tuple(use for use in uses if use[0].event is not None or use[0].error is not None)


def _merged(cells: Sequence[Cell]) -> Cell:
    writes = dict.fromkeys(use for cell in cells for use in cell.writes)
    reads = dict.fromkeys(use for cell in cells for use in cell.reads)
    return Cell(cells[0].low, cells[-1].high, _few(tuple(writes)), _few(tuple(reads)))


def _overlap(one: Layout | None, other: Layout | None, cell: Cell) -> bool:
    """Whether two accesses share a byte of a cell; None is all of it."""
    if one is None and other is None:
        return True
    whole = Layout((cell.high - cell.low,), (1,), cell.low)
    return (one or whole).overlaps(other or whole)


def footprint_of(layout: Layout, itemsize: int, start: int) -> tuple[int, int, Layout | None]:
    """The bytes `low … high` of elements in a buffer from byte `start` on, and which of them where there are gaps."""
    low, high = layout.range()
    if layout.is_dense or _gapless(layout, high - low):
        return start + low * itemsize, start + high * itemsize, None
    in_bytes = Layout(
        (*layout.shape, itemsize),
        (*(stride * itemsize for stride in layout.strides), 1),
        start + layout.offset * itemsize,
    )
    return start + low * itemsize, start + high * itemsize, in_bytes


def _gapless(layout: Layout, span: int) -> bool:
    """Whether the elements, in whichever order and perhaps repeated, fill the range that they span."""
    axes = [
        (abs(stride), length)
        for length, stride in zip(layout.shape, layout.strides, strict=True)
        if length > 1 and stride
    ]
    filled = 1
    for stride, length in sorted(axes):
        if stride > filled:
            return False
        filled += stride * (length - 1)
    return filled == span
