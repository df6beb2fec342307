"""A schedule made ready: each node as a step that lacks nothing but memory and the numbers of a call.

For every step it is known where its arguments lie in which buffer, and what it touches there. Of what the steps touch
outside of the program only a part has to be looked up, and only a part recorded: what an earlier step has written is
the program's own by then, and a later access stands for an earlier one of the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ocl_ir.host.grammar import Launch, Number
from ocl_ir.host.schedule import Node, Place, Schedule
from ocl_ir.kernel.accesses import READ, WRITE
from ocl_ir.layout import Layout
from ocl_ir.source_line import Where
from ocl_runtime.execute.driver import Sizes
from ocl_runtime.execute.launch import Executable
from ocl_runtime.execute.streams.hazards import footprint_of
from ocl_runtime.execute.streams.program import Step

ARENA = -1
"""The number of the memory that scratch buffers share, among buffers."""


class Access(NamedTuple):
    """Bytes `low … high` of a buffer, counted from its start; of them only the `footprint`, if any."""

    buffer: int
    mode: int
    low: int
    high: int
    footprint: Layout | None


class Pointer(NamedTuple):
    """An argument that is memory: its place, and the element of a buffer that it points to."""

    place: int
    buffer: int
    itemsize: int
    first: int


class Transfer(NamedTuple):
    """A copy between a host buffer and the device: `nbytes` from byte `at` of one and `host_at` of the other on."""

    up: bool
    buffer: int
    at: int
    host: int
    host_at: int
    nbytes: int


class Dispatch(NamedTuple):
    """A launch. `args` lack the pointers, and the numbers (place, name) that each call gives."""

    executable: Executable
    sizes: tuple[Sizes, Sizes]
    args: list[Any]
    pointers: tuple[Pointer, ...]
    numbers: tuple[tuple[int, str], ...]


class Bound:
    """A schedule as steps. `accesses` are what they look up and record, by number; `results` the buffers that are
    allocated for the caller, `arena` the bytes of all scratch memory, and `offsets` where each buffer lies in it."""

    def __init__(self, schedule: Schedule, executables: Sequence[Executable | None]) -> None:
        self.schedule = schedule
        self.results = [one for one in schedule.buffers if one.kind == "result"]
        self.offsets, self.arena = schedule.offsets, schedule.arena
        self.used = sorted({node.stream or 0 for node in schedule.nodes})
        self.transfers = any(map(schedule.is_transfer, schedule.nodes))
        self.accesses: list[Access] = []
        self._numbers: dict[Access, int] = {}
        self.touched = [self._touched(node) for node in schedule.nodes]
        """What each node touches; scratch memory as a part of the arena."""
        self.commands = [
            self._transfer(node) if executable is None else self._dispatch(node, executable)
            for node, executable in zip(schedule.nodes, executables, strict=True)
        ]
        parts = zip(schedule.nodes, self.commands, self._lookups(), self._records(), strict=True)
        self.steps = [
            Step(node.stream or 0, node.waits, tuple(looked), tuple(recorded), _what(command))
            for node, command, looked, recorded in parts
        ]

    def lines(self, where: Where) -> list[Where]:
        """The Python lines of the steps; `where` for those that have none."""
        return [node.command.where or where for node in self.schedule.nodes]

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

    def _lookups(self) -> list[list[int]]:
        """For each step the accesses to what was there before the program; on one stream, the first step has all."""
        together = len(self.used) == 1
        own: dict[int, list[tuple[int, int]]] = {}
        found: list[list[int]] = [[] for _ in self.touched]
        known: set[tuple[int, Access]] = set()
        for number, accesses in enumerate(self.touched):
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
                if access.mode == WRITE and access.footprint is None:
                    own.setdefault(access.buffer, []).append((access.low, access.high))
        return found

    def _records(self) -> list[list[int]]:
        """For each step the accesses that no later step stands for."""
        found: list[list[int]] = [[] for _ in self.touched]
        written: dict[int, list[tuple[int, int]]] = {}
        read: dict[tuple[int, int], list[tuple[int, int]]] = {}
        same: set[tuple[int, Access]] = set()
        ended: set[int] = set()
        for number in range(len(self.touched) - 1, -1, -1):
            stream = self.schedule.nodes[number].stream or 0
            for access in self.touched[number]:
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
                    pointers.append(Pointer(len(args), arg.buffer, itemsize, first))
                else:
                    pointers.append(Pointer(len(args), ARENA, itemsize, offset // itemsize + first))
                args += (None, 0)
            elif isinstance(arg, Number):
                numbers.append((len(args), arg.name))
                args.append(None)
            else:
                args.append(arg)
        sizes = executable.padded(node.sizes, node.command.group_size)
        return Dispatch(executable, sizes, args, tuple(pointers), tuple(numbers))

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


def _inside(access: Access, ranges: Iterable[tuple[int, int]]) -> bool:
    """Whether all that an access touches lies in one of some ranges."""
    return any(low <= access.low and access.high <= high for low, high in ranges)
