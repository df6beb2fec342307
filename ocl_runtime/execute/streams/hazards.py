"""Which commands a new command must come after: those whose accesses to the same bytes conflict with its own.

Every allocation has its `Ranges`: cells, one after another, each with the last writes and the reads since of its bytes.
A read conflicts with writes, a write with both, so read after write, write after read and write after write are all
ordered, and commands on disjoint bytes are not. When memory is given back and handed out again its cells go along: the
new owner's first access is ordered after the old one's last by the same rule, and there is no other.

A contiguous access is exact. One with gaps carries its footprint, and two footprints are compared exactly (with NumPy's
solver, within a bound on its work; beyond that they count as overlapping) once they would cause a wait. Where there are
many cells, a read with gaps is noted once beside them: its footprint says which bytes it touches. A cell holds
at most `_MOST_USES` accesses, an allocation at most `_MOST_CELLS` cells; beyond, accesses of one stream are taken
together as one of the whole cell by its newest command, and neighbouring cells as one, which orders more than is needed
and never less.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeAlias

from ocl_ir.indices import Shape
from ocl_ir.kernel.accesses import READ, WRITE
from ocl_ir.layout import Layout
from ocl_runtime.execute.driver import Buffer
from ocl_runtime.execute.streams.command import Clock, Command, Stream

_MOST_USES = 64
_MOST_CELLS = 256
_FEW_CELLS = 32
"""Cells of which it is not worth to forget any."""
_APART = 16
"""Cells of an allocation beyond which reads with gaps are noted beside them."""
_PARTS = 8
"""An access with gaps cuts off no part of a cell that is smaller than this part of its own range."""

Use: TypeAlias = tuple[Command, Layout | None]
"""A command, and which of a cell's bytes it touched; None is all of them."""
Uses: TypeAlias = tuple[Use, ...]
Reads: TypeAlias = dict[Stream | tuple[Stream, Shape, Shape, int], Use]
"""The newest read of each stream, and of each stream and footprint, as numbers, which are hashed fast."""


class Cell:
    """Bytes `low … high` with one history: `writes`, of which none was hidden by a later one, and `reads` since."""

    __slots__ = ("high", "low", "reads", "writes")

    def __init__(self, low: int, high: int, writes: Uses = (), reads: Reads | None = None) -> None:
        self.low = low
        self.high = high
        self.writes = writes
        self.reads: Reads = {} if reads is None else reads

    def __repr__(self) -> str:
        return f"<bytes {self.low}…{self.high}: writes {self.writes}, reads {self.reads}>"


class Ranges:
    """The history of one allocation, which lies in a buffer from byte `low` to `high`, as long as it does so.

    `sole` is the stream that made all of it, if one is known to have: for that stream there can be no conflict. `wide`
    are reads with gaps beside those of the cells, until all of it is written.
    """

    __slots__ = ("_limit", "buffer", "cells", "high", "low", "sole", "wide")

    def __init__(
        self, buffer: Buffer, low: int, high: int, cells: list[Cell] | None = None, wide: Reads | None = None
    ) -> None:
        self.buffer = buffer
        self.low = low
        self.high = high
        self.cells = cells or [Cell(low, high)]
        self.wide: Reads = wide or {}
        self._limit = min(_FEW_CELLS, _MOST_CELLS)
        self.sole: Stream | None = None

    def within(self, low: int, high: int) -> Sequence[Cell]:
        """The cells that make up these bytes, cut at both ends where need be."""
        if low <= self.low and high >= self.high:
            return self.cells
        if len(self.cells) > self._limit:
            self.tidy()
        cells, first = self.cells, self._cut(max(low, self.low))
        if low < high == cells[first].high:  # as for another access, or as this one was looked up
            return [cells[first]]
        return cells[first : self._cut(min(high, self.high))]

    def around(self, low: int, high: int) -> Sequence[Cell]:
        """The cells that have some of these bytes: enough for what says itself which bytes it touches.

        One is cut only where it has more bytes beside these than of these, and no little part of these. So views that
        begin one behind the other, as columns do, share few cells, and tiles one behind the other have their own.
        """
        if len(self.cells) > self._limit:
            self.tidy()
        cells, low, high = self.cells, max(low, self.low), min(high, self.high)
        for at in (low, high):
            cell = cells[bisect_right(cells, at, key=_low) - 1]
            part = min(high, cell.high) - max(low, cell.low)
            if 2 * part <= cell.high - cell.low and _PARTS * part >= high - low:
                self._cut(at)
        return cells[bisect_right(cells, low, key=_low) - 1 : bisect_left(cells, high, key=_low)]

    def merge(self, cells: Sequence[Cell]) -> Cell:
        """A single cell in place of several that follow each other."""
        first = cells[0]
        first.high = cells[-1].high
        index = bisect_right(self.cells, first.low, key=_low)
        del self.cells[index : index + len(cells) - 1]
        return first

    def _cut(self, at: int) -> int:
        """The index of the cell that begins at a byte."""
        cells = self.cells
        index = bisect_right(cells, at, key=_low) - 1
        cell = cells[index]
        if cell.low < at < cell.high:
            cells.insert(index + 1, Cell(at, cell.high, cell.writes, cell.reads.copy()))
            cell.high = at
        return index + (cell.low < at)

    def split(self, at: int) -> tuple[Ranges, Ranges]:
        """The bytes before `at` and those from there on, with their history."""
        index = self._cut(at)
        cells = self.cells
        first = Ranges(self.buffer, self.low, at, cells[:index], self.wide.copy())
        rest = Ranges(self.buffer, at, self.high, cells[index:], self.wide)
        first.sole, rest.sole = self.sole or first.made_by(), self.sole  # to look at all of the rest takes long
        return first, rest

    def joined(self, next_: Ranges) -> Ranges:
        """With what follows directly."""
        both = Ranges(self.buffer, self.low, next_.high, [*self.cells, *next_.cells], _joined(self.wide, next_.wide))
        both.tidy()
        return both

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
            kept = [_merged(kept[start : start + at_once]) for start in range(0, len(kept), at_once)]
        self.cells, self.wide = kept, _running(self.wide)
        self._limit = min(max(_FEW_CELLS, 2 * len(kept)), _MOST_CELLS)  # so that each cell is looked at a few times
        self.sole = self.made_by()

    def running(self, low: int, high: int, mode: int) -> list[Command]:
        """The commands that an access by the host to these bytes must come after."""
        cells = self.cells[bisect_right(self.cells, low, key=_low) - 1 : bisect_left(self.cells, high, key=_low)]
        commands = self._commands(cells) if mode & WRITE else (command for cell in cells for command, _ in cell.writes)
        return [command for command in dict.fromkeys(commands) if command.event is not None]

    def forget_failures(self) -> None:
        """What failed commands did is nothing to who has the memory now."""
        for cell in self.cells:
            cell.writes = tuple(use for use in cell.writes if use[0].event is not None)

    def commands(self) -> list[Command]:
        """Those that may still run."""
        return [command for command in dict.fromkeys(self._commands(self.cells)) if command.event is not None]

    def _commands(self, cells: Iterable[Cell]) -> Iterator[Command]:
        """Those of some cells, and beside them."""
        for cell in cells:
            for command, _ in (*cell.writes, *cell.reads.values()):
                yield command
        for command, _ in self.wide.values():
            yield command

    def made_by(self) -> Stream | None:
        """The stream of all commands, if it is a single one."""
        streams = {command.stream for command in self._commands(self.cells)}
        return streams.pop() if len(streams) == 1 else None


_low = attrgetter("low")


@dataclass(slots=True)
class Touch:
    """An access: bytes `low … high` of the buffer that `ranges` describes; of them only the `footprint`, if any.

    The driver is told of each, for those who record what it is told.
    """

    ranges: Ranges
    low: int
    high: int
    mode: int
    footprint: Layout | None = None

    @property
    def is_whole(self) -> bool:
        """Whether it is of all bytes of the allocation."""
        return self.footprint is None and self.low <= self.ranges.low and self.high >= self.ranges.high

    def cells(self) -> Sequence[Cell]:
        """Whose history it is a part of: no cell has other bytes, unless the footprint says which it touches."""
        ranges = self.ranges
        return (ranges.within if self.footprint is None else ranges.around)(self.low, self.high)

    def history(self) -> Sequence[Cell]:
        """The cells, and for who writes what was noted beside them."""
        ranges = self.ranges
        cells = self.cells() if self.low > ranges.low or self.high < ranges.high else ranges.cells
        if ranges.wide and self.mode & WRITE:
            return [*cells, Cell(self.low, self.high, (), ranges.wide)]
        return cells

    def __str__(self) -> str:
        does = ("", "reads", "writes", "reads and writes")[self.mode]
        gaps = " (with gaps)" if self.footprint is not None else ""
        return f"{does} bytes {self.low}…{self.high}{gaps} of buffer {id(self.ranges.buffer):x}"


def conflicts(touches: Iterable[Touch], stream: Stream, clock: Clock | None = None) -> tuple[list[Command], Clock, int]:
    """The commands of other streams that a new one on a stream has to wait for; the stream's clock from then on; and
    how many more conflicts there are, whose order is known already (their footprints are not compared). Where the
    stream is about to know more than it does, `clock` says what."""
    needed: list[Command] = []
    known, elided = stream.known if clock is None else clock, 0
    for touch in touches:
        ranges = touch.ranges
        if ranges.sole is stream:
            continue
        writes = touch.mode & WRITE
        for cell in touch.history() if writes or touch.low > ranges.low or touch.high < ranges.high else ranges.cells:
            for command, other in (*cell.writes, *cell.reads.values()) if writes else cell.writes:
                if command.stream is stream or command.event is None:
                    continue
                if known.get(command.stream, 0) >= command.position:
                    elided += 1
                elif (other is None and touch.footprint is None) or _overlap(touch.footprint, other, cell):
                    needed.append(command)
                    known = command.joined(known)
    if len(needed) > 1:
        conflicting, needed = needed, _fewest(needed)
        elided += len(conflicting) - len(needed)
    return needed, known, elided


def _fewest(commands: Iterable[Command]) -> list[Command]:
    """Without those that another one implies."""
    newest = {command.stream: command for command in commands}  # of a stream, each is newer than those before it
    return [
        command
        for command in newest.values()
        if not any(other is not command and other.follows(command) for other in newest.values())
    ]


def spoiler(touches: Iterable[Touch]) -> Command | None:
    """One whose failure spoilt what is to be read."""
    for touch in touches:
        if touch.mode & READ:
            for cell in touch.cells():
                for command, other in cell.writes:
                    if command.error is not None and _overlap(touch.footprint, other, cell):
                        return command
    return None


def shared(touches: Iterable[Touch], command: Command) -> str:
    """What an earlier command did to the bytes that a new one touches, for who reads the log."""
    for touch in touches:
        cells = touch.history()
        wrote = [cell for cell in cells if command in dict(cell.writes)]
        reads = [cell for cell in cells if command in dict(cell.reads.values())] if touch.mode & WRITE else []
        if wrote or reads:
            low, high = (wrote or reads)[0].low, (wrote or reads)[-1].high
            return f"it {'wrote' if wrote else 'reads'} bytes {low}…{high} of what {touch}"
    return ""


def record(touches: Iterable[Touch], command: Command) -> None:
    """The command has been given to its stream."""
    stream = command.stream
    use: Use = (command, None)
    for touch in touches:
        ranges = touch.ranges
        if touch.footprint is not None:
            _record_footprint(touch, command, touch.footprint)
        else:
            low, high = touch.low, touch.high
            cells = ranges.within(low, high) if low > ranges.low or high < ranges.high else ranges.cells
            if touch.mode & WRITE:
                cell = cells[0] if len(cells) == 1 else ranges.merge(cells)
                cell.writes = (use,)
                if cell.reads:
                    cell.reads = {}
                if len(ranges.cells) == 1:
                    ranges.sole, ranges.wide = stream, {}
            else:
                for cell in cells:
                    cell.reads[stream] = use
        if ranges.sole is not stream:
            ranges.sole = None


def poison(touches: Iterable[Touch], command: Command) -> None:
    """A command that never ran (it has an `error`) should have written these bytes."""
    for touch in touches:
        if touch.mode & WRITE:
            footprint = touch.footprint
            for cell in touch.cells():
                if not any(writer.error is not None and spoilt in (None, footprint) for writer, spoilt in cell.writes):
                    cell.writes = _few((*cell.writes, (command, footprint)))


def _record_footprint(touch: Touch, command: Command, footprint: Layout) -> None:
    """Only what has the same footprint is hidden by it: of the rest, some bytes may have been left alone."""
    ranges, writes = touch.ranges, touch.mode & WRITE
    beside = len(ranges.cells) > _APART and not writes
    if beside and len(ranges.wide) >= _MOST_USES:
        ranges.wide = _running(ranges.wide)
    if beside and len(ranges.wide) < _MOST_USES:
        ranges.wide = _with_read(ranges.wide, command, footprint)
        return
    for cell in touch.cells():
        if writes:
            cell.reads = {other: read for other, read in cell.reads.items() if read[1] != footprint}
            cell.writes = _few((*(write for write in cell.writes if write[1] != footprint), (command, footprint)))
        else:
            cell.reads = _with_read(cell.reads, command, footprint)


def _with_read(reads: Reads, command: Command, footprint: Layout) -> Reads:
    """Reads, to which one with gaps is added."""
    reads[command.stream, footprint.shape, footprint.strides, footprint.offset] = command, footprint
    return _few_reads(reads) if len(reads) > _MOST_USES else reads


def _few(uses: Uses) -> Uses:
    if len(uses) > _MOST_USES:
        uses = _still_of_use(uses)
    if len(uses) <= _MOST_USES:
        return uses
    failed = [use for use in uses if use[0].error is not None]
    return (*_newest(command for command, _ in uses if command.error is None).values(), *failed)


def _few_reads(reads: Reads) -> Reads:
    if len(reads) > _MOST_USES:
        reads = _running(reads)
    return reads if len(reads) <= _MOST_USES else _newest(command for command, _ in reads.values())


def _newest(commands: Iterable[Command]) -> Reads:
    """The newest of each stream, as if it had touched all of the cell."""
    newest: Reads = {}
    for command in commands:
        best = newest.get(command.stream)
        if best is None or best[0].position < command.position:
            newest[command.stream] = command, None
    return newest


def _running(reads: Reads) -> Reads:
    """Without those that have completed."""
    return {key: use for key, use in reads.items() if use[0].event is not None}


def _still_of_use(uses: Uses) -> Uses:
    """Without those that have completed, unless their results are not to be trusted."""
    return tuple([use for use in uses if use[0].event is not None or use[0].error is not None])


def _merged(cells: Sequence[Cell]) -> Cell:
    writes = dict.fromkeys(use for cell in cells for use in cell.writes)
    return Cell(cells[0].low, cells[-1].high, _few(tuple(writes)), _joined(*[cell.reads for cell in cells]))


def _joined(*several: Reads) -> Reads:
    reads: Reads = {}
    for each in several:
        for key, use in each.items():
            if key not in reads or reads[key][0].position < use[0].position:
                reads[key] = use
    return _few_reads(reads)


def _overlap(footprint: Layout | None, other: Layout | None, cell: Cell) -> bool:
    """Whether two accesses share a byte of a cell; None is all of it."""
    if footprint is None and other is None:
        return True
    whole = Layout((cell.high - cell.low,), (1,), cell.low)
    return (footprint or whole).overlaps(other or whole)
