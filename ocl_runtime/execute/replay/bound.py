"""A schedule made ready: each node as a step that lacks nothing but memory and the numbers of a call.

For every step it is known where its arguments lie in which buffer, and what it touches there. A program that is bound
for some sizes is bound for others by its `Pattern`, where these change nothing but numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import starmap
from typing import Any, TypeAlias

from ocl_ir.host.arena import in_pieces
from ocl_ir.host.grammar import Launch, Number
from ocl_ir.host.schedule import BufferView, Node, Schedule
from ocl_ir.host.unbound import Unbound
from ocl_ir.kernel.accesses import WRITE
from ocl_ir.source_line import Where
from ocl_runtime.execute.launch import Executable
from ocl_runtime.execute.replay.handles import Handles
from ocl_runtime.execute.replay.pattern import Pattern
from ocl_runtime.execute.replay.steps import ARENA, Access, AccessNumbers, Dispatch, Ended, Pointer, Transfer
from ocl_runtime.execute.replay.tracking import Tracking
from ocl_runtime.execute.streams.footprints import footprint_of
from ocl_runtime.execute.streams.program import Batch

_OF_STEPS = ("batches", "buffers", "ended", "lines", "names", "spreads", "transfers", "used")
"""What does not depend on sizes as long as the accesses of a program are alike."""
_WRITTEN = ("arena", "buffers", "lines", "made", "offsets", "spreads", "transfers", "used")
Written: TypeAlias = "tuple[dict[str, Any], list[tuple[Any, ...]], list[tuple[Any, ...]], list[tuple[Any, ...]]]"
"""A schedule that was bound, without classes and what belongs to a process: what is its own, launches, accesses, and
batches."""


_dispatch: Any = partial(tuple.__new__, Dispatch)  # by name, making one takes twice as long


class Bound:
    """A schedule as steps: `commands` are what each enqueues, `batches` what the streams know of them.

    `accesses` are what they look up and record, by number; `made` the buffers that each run allocates, with their
    bytes, `arena` the bytes of all scratch memory, and `offsets` where each buffer lies in it. Where the schedule can
    be made `again`, it is not kept: it takes twice the memory of all the rest, and next to nobody asks for it.
    """

    descriptions: Any = None
    """What of it outlasts a run (`descriptions.py`), since it has run for the first time."""

    def __init__(self, schedule: Schedule, handles: Handles, again: Callable[[], Schedule] | None = None) -> None:
        self._schedule: Schedule | None = schedule
        self._again = again
        self.handles = handles
        self.buffers = len(schedule.buffers)
        """How many there are, without the arena."""
        self.made = [(buffer.id, buffer.nbytes) for buffer in schedule.buffers if buffer.kind in {"result", "piece"}]
        self._in_pieces: Bound | None = None
        self.offsets, self.arena = schedule.offsets, schedule.arena
        self.lines: list[Where] = [node.command.where for node in schedule.nodes]
        """The Python lines that asked for the steps."""
        self.used = sorted({node.stream or 0 for node in schedule.nodes})
        self.spreads = self.used != [0]
        """Whether it is for several streams."""
        self.transfers = any(map(schedule.is_transfer, schedule.nodes))
        touched = [self._touched(node) for node in schedule.nodes]
        self._touches: list[list[Access]] | None = touched
        self.commands = [
            self._transfer(node) if executable is None else self._dispatch(node, executable)
            for node, executable in zip(schedule.nodes, handles.executables, strict=True)
        ]
        self.ended = self._ended() if handles.poison else {}
        """By step, scratch memory that is used no more after it."""
        self.names = [_what(command) for command in self.commands]
        tracking = Tracking(schedule.nodes, touched, self.arena, watched=handles.watched or self.transfers)
        self.accesses: Sequence[AccessNumbers] = tracking.accesses
        self.batches = tracking.batches
        if again is not None:
            self._schedule = self._touches = None

    def written(self) -> Written | None:
        """What `read` makes it of again; None where more is asked of a schedule than what each run needs."""
        launches = [command[1:] for command in self.commands if isinstance(command, Dispatch)]
        if self.handles.asks_for_schedules or len(launches) < len(self.commands):
            return None
        own = {name: getattr(self, name) for name in _WRITTEN}
        return own, launches, [*map(tuple, self.accesses)], [*map(tuple, self.batches)]

    @classmethod
    def read(cls, written: Written, handles: Handles, again: Callable[[], Schedule]) -> Bound:
        """One that another process has bound, with the kernel objects of this one."""
        own, launches, accesses, batches = written
        bound = cls.__new__(cls)
        vars(bound).update(own)
        bound.handles, bound._again = handles, again
        bound._schedule = bound._touches = bound._in_pieces = None
        bound.commands = [
            _dispatch((executable, *launch)) for executable, launch in zip(handles.executables, launches, strict=True)
        ]
        bound.accesses, bound.batches = accesses, [*starmap(Batch, batches)]
        bound.names, bound.ended = [*map(_what, bound.commands)], {}
        return bound

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

    def at(self, formulas: Unbound, rows: Sequence[int], again: Callable[[], Schedule]) -> Bound | None:
        """The same program, which these formulas are of, for other sizes, that their table was filled in for; None
        where they change more than numbers. Its schedule is made `again` for who asks."""
        handles = self.handles
        if len(self.commands) != len(formulas.nodes) or self.used != [0] or handles.asks_for_schedules:
            return None
        pattern = handles.pattern
        if pattern is None:
            pattern = handles.pattern = Pattern(formulas, self.commands)
        numbers = pattern.numbers(formulas, rows)
        if numbers is None:
            return None
        alike = pattern.alike.get(numbers.key)
        if alike is None:
            bound = Bound(again(), handles, again)
            pattern.learn(numbers, bound.accesses, {name: getattr(bound, name) for name in _OF_STEPS})
            return bound
        bound = Bound.__new__(Bound)
        vars(bound).update(alike.shared)
        bound.handles, bound._again = handles, again
        bound._schedule = bound._touches = bound._in_pieces = None
        bound.made, bound.offsets, bound.arena, bound.commands, _, _ = numbers
        bound.accesses = alike.accesses(numbers)
        return bound

    def in_pieces(self) -> Bound:
        """The same with scratch memory in several allocations."""
        if self._in_pieces is None:
            self._in_pieces = Bound(in_pieces(self.schedule), self.handles)
        return self._in_pieces

    # ------------------------------------------------------------------ what is touched

    def _touched(self, node: Node) -> list[Access]:
        accesses = []
        for access in node.accesses:
            start = self.offsets.get(access.buffer)
            low, high, footprint = footprint_of(access.layout, access.itemsize, start or 0)
            if low < high:
                buffer = access.buffer if start is None else ARENA
                accesses.append(Access(buffer, access.mode, low, high, footprint))
        return accesses

    def _ended(self) -> dict[int, list[Ended]]:
        schedule = self.schedule
        ended: dict[int, list[Ended]] = {}
        for piece, nbytes, last in schedule.turns:  # they are all on one stream
            ended.setdefault(last, []).append(Ended(piece, 0, nbytes // 4 * 4, ()))
        lasts: dict[int, dict[int, int]] = {buffer: {} for buffer in schedule.lives}
        for number, node in enumerate(schedule.nodes):
            for access in node.accesses:
                if access.buffer in lasts:
                    lasts[access.buffer][node.stream or 0] = number
        for buffer, (_, last) in schedule.lives.items():
            low = self.offsets[buffer]
            others = tuple([use for use in lasts[buffer].items() if use[1] != last])
            high = low + schedule.buffers[buffer].nbytes // 4 * 4
            ended.setdefault(last, []).append(Ended(ARENA, low, high, others))
        return ended

    # ------------------------------------------------------------------ what is enqueued

    def _dispatch(self, node: Node, executable: Executable) -> Dispatch:
        assert isinstance(node.command, Launch)
        args: list[Any] = []
        pointers: list[Pointer] = []
        numbers: list[tuple[int, str]] = []
        for arg in node.args:
            if isinstance(arg, BufferView):
                first, itemsize = arg.layout.offset, arg.dtype.size
                offset = self.offsets.get(arg.buffer)
                pointers.append((len(args), arg.buffer if offset is None else ARENA))
                args += (None, (offset or 0) + first * itemsize)
            elif isinstance(arg, Number):
                numbers.append((len(args), arg.name))
                args.append(None)
            else:
                args.append(arg)
        sizes = executable.padded(node.sizes, node.command.group_size)
        # Memory that is listed by buffer has the arena at its end.
        buffers = frozenset([self.buffers if buffer == ARENA else buffer for _, buffer in pointers])
        return Dispatch(executable, sizes, tuple(args), tuple(pointers), tuple(numbers), self.handles.shared(buffers))

    def _transfer(self, node: Node) -> Transfer:
        buffers = self.schedule.buffers
        on_host = next(access for access in node.accesses if buffers[access.buffer].kind.startswith("host"))
        on_device = next(access for access in node.accesses if access is not on_host)
        (low, high), (host_low, _) = on_device.range, on_host.range
        offset = self.offsets.get(on_device.buffer)
        buffer = on_device.buffer if offset is None else ARENA
        return Transfer(bool(on_device.mode & WRITE), buffer, low + (offset or 0), on_host.buffer, host_low, high - low)


def _what(command: Dispatch | Transfer) -> str:
    """Its name in errors."""
    if isinstance(command, Dispatch):
        return command.executable.what
    return f"the {'upload' if command.up else 'download'} of {command.nbytes:,} bytes"
