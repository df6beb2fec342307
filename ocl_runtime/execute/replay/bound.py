"""A schedule made ready: each node as a step that lacks nothing but memory and the numbers of a call.

For every step it is known where its arguments lie in which buffer, and what it touches there. Of what the steps touch
outside of the program only a part has to be looked up, and only a part recorded: what an earlier step has written is
the program's own by then, and a later access stands for an earlier one of the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

from ocl_ir.host.arena import in_pieces
from ocl_ir.host.grammar import Launch, Number
from ocl_ir.host.schedule import Node, Place, Schedule
from ocl_ir.kernel.accesses import READ, WRITE
from ocl_ir.layout import Layout
from ocl_ir.source_line import Where
from ocl_runtime.execute.driver import Sizes
from ocl_runtime.execute.launch import Executable
from ocl_runtime.execute.replay.handles import Handles
from ocl_runtime.execute.streams.hazards import footprint_of
from ocl_runtime.execute.streams.program import Batch

ARENA = -1
"""The number of the memory that scratch buffers share, among buffers."""

_MOST_TRACKED = 16
"""Different accesses of a program to a buffer of which the streams know each by itself."""


class Access(NamedTuple):
    """Bytes `low … high` of a buffer, counted from its start; of them only the `footprint`, if any."""

    buffer: int
    mode: int
    low: int
    high: int
    footprint: Layout | None


Pointer: TypeAlias = tuple[int, int, int, int]
"""An argument that is memory: its place, and the buffer, bytes of an element and element that it points to. Plain, so
that the collector of garbage need not look at all of them again and again."""


class Transfer(NamedTuple):
    """A copy between a host buffer and the device: `nbytes` from byte `at` of one and `host_at` of the other on."""

    up: bool
    buffer: int
    at: int
    host: int
    host_at: int
    nbytes: int


class Dispatch(NamedTuple):
    """A launch. `args` lack the pointers, into these `buffers`, and the numbers (place, name) that each call gives."""

    executable: Executable
    sizes: tuple[Sizes, Sizes]
    args: list[Any]
    pointers: tuple[Pointer, ...]
    numbers: tuple[tuple[int, str], ...]
    buffers: frozenset[int]


class Bound:
    """A schedule as steps: `commands` are what each enqueues, `batches` what the streams know of them.

    `accesses` are what they look up and record, by number; `made` the buffers that each run allocates, `arena` the
    bytes of all scratch memory, and `offsets` where each buffer lies in it. Where the schedule can be made `again`, it
    is not kept: it takes twice the memory of all the rest, and next to nobody asks for it.
    """

    def __init__(self, schedule: Schedule, handles: Handles, again: Callable[[], Schedule] | None = None) -> None:
        self._schedule: Schedule | None = schedule
        self._again = again
        self.handles = handles
        self.made = [one for one in schedule.buffers if one.kind in {"result", "piece"}]
        self._in_pieces: Bound | None = None
        self.offsets, self.arena = schedule.offsets, schedule.arena
        self.lines: list[Where] = [node.command.where for node in schedule.nodes]
        """The Python lines that asked for the steps."""
        self.used = sorted({node.stream or 0 for node in schedule.nodes})
        self.spreads = self.used != [0]
        """Whether it is for several streams."""
        self.transfers = any(map(schedule.is_transfer, schedule.nodes))
        self.accesses: list[Access] = []
        self._numbers: dict[Access, int] = {}
        touched = [self._touched(node) for node in schedule.nodes]
        self._touches: list[list[Access]] | None = touched
        self.commands = [
            self._transfer(node) if executable is None else self._dispatch(node, executable)
            for node, executable in zip(schedule.nodes, handles.executables, strict=True)
        ]
        self.ended = self._ended() if handles.poison and self.used == [0] else {}
        """By step, (low, high) of scratch memory that is used no more after it."""
        self.names = [_what(command) for command in self.commands]
        tracked = self._tracked(touched)
        self.batches = self._batches(self._lookups(tracked), self._records(tracked))
        if again is not None:
            self._schedule = self._touches = None

    @property
    def schedule(self) -> Schedule:
        """What it was made of."""
        if self._schedule is not None:
            return self._schedule
        assert self._again is not None
        return self._again()

    @property
    def touched(self) -> list[list[Access]]:
        """What each node touches; scratch memory as a part of the arena."""
        if self._touches is None:
            self._touches = [self._touched(node) for node in self.schedule.nodes]
        return self._touches

    def in_pieces(self) -> Bound:
        """The same with scratch memory in several allocations."""
        if self._in_pieces is None:
            self._in_pieces = Bound(in_pieces(self.schedule), self.handles)
        return self._in_pieces

    def _batches(self, lookups: Sequence[Sequence[int]], records: Sequence[Sequence[int]]) -> list[Batch]:
        """The steps as commands: one that leaves nothing to be known, and that no other one waits for, is none by
        itself, but a part of the one that comes next on its stream."""
        nodes, watched = self.schedule.nodes, self.handles.watched or self.transfers
        awaited = {wait for node in nodes for wait in node.waits}
        batches: list[Batch] = []
        of_step: dict[int, int] = {}
        first = 0
        for number, node in enumerate(nodes):
            of_step[number] = len(batches)
            ends = watched or records[number] or number in awaited or number + 1 == len(nodes)
            after = None if ends else nodes[number + 1]
            if after is None or after.stream != node.stream or after.waits or lookups[number + 1]:
                waits = tuple(dict.fromkeys([of_step[wait] for wait in nodes[first].waits]))
                looked, recorded = tuple(lookups[first]), tuple(records[number])
                batches.append(Batch(node.stream or 0, waits, looked, recorded, first, number))
                first = number + 1
        return batches

    # ------------------------------------------------------------------ what is touched

    def _touched(self, node: Node) -> list[Access]:
        found = []
        for access in node.accesses:
            start = self.offsets.get(access.buffer)
            low, high, footprint = footprint_of(access.layout, access.itemsize, start or 0)
            if low < high:
                buffer = access.buffer if start is None else ARENA
                found.append(Access(buffer, access.mode, low, high, footprint))
        return found

    def _tracked(self, touched: list[list[Access]]) -> list[list[Access]]:
        """What the streams are to know of that: on one stream, very many accesses to a buffer are one, of all that they
        span, from the first to the last of them."""
        of_buffer: dict[int, set[Access]] = {}
        for access in chain.from_iterable(touched):
            of_buffer.setdefault(access.buffer, set()).add(access)
        one: dict[int, Access] = {}
        for buffer, accesses in of_buffer.items():
            if len(accesses) > _MOST_TRACKED and len(self.used) == 1 and buffer != ARENA:
                one[buffer] = _span(buffer, accesses)
        if not one:
            return touched
        return [[one.get(access.buffer, access) for access in accesses] for accesses in touched]

    def _lookups(self, tracked: Sequence[Sequence[Access]]) -> list[list[int]]:
        """For each step the accesses to what was there before the program; on one stream, the first step has all."""
        together = len(self.used) == 1
        own: dict[int, list[tuple[int, int]]] = {}
        found: list[list[int]] = [[] for _ in tracked]
        known: set[tuple[int, Access]] = set()
        for number, accesses in enumerate(tracked):
            stream = self.schedule.nodes[number].stream or 0
            for touched in accesses:
                access = touched
                if touched.buffer == ARENA:  # what it held before is nothing to the program
                    access = Access(ARENA, WRITE, 0, self.arena, None)
                elif _inside(touched, own.get(touched.buffer, ())):
                    continue
                if (stream, access) not in known:
                    known.add((stream, access))
                    found[0 if together else number].append(self._number(access))
            for access in accesses:
                if (
                    access.mode == WRITE
                    and access.footprint is None
                    and not _inside(access, own.get(access.buffer, ()))
                ):
                    own.setdefault(access.buffer, []).append((access.low, access.high))
        return found

    def _records(self, tracked: Sequence[Sequence[Access]]) -> list[list[int]]:
        """For each step the accesses that no later step stands for."""
        found: list[list[int]] = [[] for _ in tracked]
        written: dict[int, list[tuple[int, int]]] = {}
        read: dict[tuple[int, int], list[tuple[int, int]]] = {}
        same: set[tuple[int, Access]] = set()
        ended: set[int] = set()
        for number in range(len(tracked) - 1, -1, -1):
            stream = self.schedule.nodes[number].stream or 0
            for access in tracked[number]:
                buffer = access.buffer
                if buffer == ARENA:
                    if stream not in ended:
                        ended.add(stream)
                        mode = WRITE if len(self.used) == 1 else READ  # each stream's last use counts
                        found[number].append(self._number(Access(ARENA, mode, 0, self.arena, None)))
                    continue
                if _inside(access, written.get(buffer, ())) or (stream, access) in same:
                    continue
                if access.mode == READ and _inside(access, read.get((stream, buffer), ())):
                    continue
                same.add((stream, access))
                found[number].append(self._number(access))
                if access.footprint is None:
                    ranges = (
                        read.setdefault((stream, buffer), []) if access.mode == READ else written.setdefault(buffer, [])
                    )
                    ranges.append((access.low, access.high))
        return found

    def _number(self, access: Access) -> int:
        number = self._numbers.get(access)
        if number is None:
            number = self._numbers[access] = len(self.accesses)
            self.accesses.append(access)
        return number

    def _ended(self) -> dict[int, list[tuple[int, int]]]:
        found: dict[int, list[tuple[int, int]]] = {}
        for buffer, (_, last) in self.schedule.lives.items():
            low = self.offsets[buffer]
            found.setdefault(last, []).append((low, low + self.schedule.buffers[buffer].nbytes // 4 * 4))
        return found

    # ------------------------------------------------------------------ what is enqueued

    def _dispatch(self, node: Node, executable: Executable) -> Dispatch:
        assert isinstance(node.command, Launch)
        args: list[Any] = []
        pointers: list[Pointer] = []
        numbers: list[tuple[int, str]] = []
        for arg in node.args:
            if isinstance(arg, Place):
                first, itemsize = arg.layout.range()[0], arg.dtype.size
                offset = self.offsets.get(arg.buffer)
                if offset is None:
                    pointers.append((len(args), arg.buffer, itemsize, first))
                else:
                    pointers.append((len(args), ARENA, itemsize, offset // itemsize + first))
                args += (None, 0)
            elif isinstance(arg, Number):
                numbers.append((len(args), arg.name))
                args.append(None)
            else:
                args.append(arg)
        sizes = executable.padded(node.sizes, node.command.group_size)
        arena = len(self.schedule.buffers)  # where memory that is listed by buffer has it
        buffers = self.handles.shared(frozenset([arena if one == ARENA else one for _, one, _, _ in pointers]))
        return Dispatch(executable, sizes, args, tuple(pointers), tuple(numbers), buffers)

    def _transfer(self, node: Node) -> Transfer:
        buffers = self.schedule.buffers
        on_host = next(one for one in node.accesses if buffers[one.buffer].kind.startswith("host"))
        on_device = next(one for one in node.accesses if one is not on_host)
        (low, high), (host_low, _) = on_device.range, on_host.range
        offset = self.offsets.get(on_device.buffer)
        buffer = on_device.buffer if offset is None else ARENA
        return Transfer(bool(on_device.mode & WRITE), buffer, low + (offset or 0), on_host.buffer, host_low, high - low)


def _what(command: Dispatch | Transfer) -> str:
    """Its name in errors."""
    if isinstance(command, Dispatch):
        return command.executable.what
    return f"the {'upload' if command.up else 'download'} of {command.nbytes:,} bytes"


def _span(buffer: int, accesses: Iterable[Access]) -> Access:
    """One access to all bytes from the first to the last that some touch. It writes only if each of the bytes is
    written: of others, who reads them next has to hear who wrote them before."""
    ordered = sorted(accesses, key=attrgetter("low"))
    modes, low, high = {access.mode for access in ordered}, ordered[0].low, ordered[0].low
    written = modes == {WRITE}
    for access in ordered:
        written = written and access.footprint is None and access.low <= high
        high = max(high, access.high)
    return Access(buffer, READ if modes == {READ} else WRITE if written else READ | WRITE, low, high, None)


def _inside(access: Access, ranges: Iterable[tuple[int, int]]) -> bool:
    """Whether all that an access touches lies in one of some ranges."""
    return any(low <= access.low and access.high <= high for low, high in ranges)
