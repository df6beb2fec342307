"""Descriptions of matrices that outlast the run of a program which wrote them.

The hardware copies boxes by descriptions, which a step of the program writes: where matrices lie, and how, but nothing
of their elements. So a program that runs once more over the same memory needs no such step, which on a GPU takes as
long as an empty launch, 3 to 4 µs. Of such a program there are two parts: the steps that describe, into memory that
is kept, and all others.

Memory is the same as long as its page of the pool is: what has been given back and is handed out again lies where it
was. Whoever borrows memory, or lends it, has it described each time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias
from weakref import ref

from ocl_ir.host.schedule import Kind, Node, Schedule
from ocl_ir.kernel.accesses import READ, WRITE
from ocl_ir.source_line import Where
from ocl_runtime.errors import NoRoomYetError, OutOfMemoryError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.memory.blocks import Page
from ocl_runtime.execute.memory.storage import Storage
from ocl_runtime.execute.replay.bound import Bound
from ocl_runtime.execute.replay.handles import Memory, handles_for, kernels_of
from ocl_runtime.execute.replay.steps import ARENA, Dispatch
from ocl_runtime.execute.streams.command import Stream
from ocl_runtime.execute.streams.hazards import spoiler

_MOST_KEPT = 64
"""Pieces of memory, in which a program runs in turn, whose descriptions are kept."""

_Key: TypeAlias = tuple[tuple[int, int], ...]
"""Where what is described lies: the id of each page, and the byte of it."""
Start: TypeAlias = Callable[[Bound, Sequence[Where]], None]
"""Starts a program over the memory of this run; its steps have these Python lines."""


class _Parts(NamedTuple):
    """A program in two: what `describes`, and `rest`; the numbers of their steps, the buffers that are described, and
    the ones with descriptions, with their bytes."""

    describes: Bound
    rest: Bound
    describing: list[int]
    others: list[int]
    read: list[int]
    tables: list[tuple[int, int]]


class _Kept(NamedTuple):
    """The pages that were described, and by buffer the memory with the descriptions."""

    pages: list[ref[Page]]
    tables: list[tuple[int, Storage]]


class Descriptions:
    """Those of a bound program. Any thread may ask for them."""

    def __init__(self, bound: Bound) -> None:
        self._bound = bound
        self._has_run = False
        self._parts: _Parts | None = None
        self._known: dict[_Key, _Kept] = {}
        self._lock = threading.Lock()

    def give_up(self) -> None:
        """Gives the memory back to the pool."""
        self._known = {}

    def over(
        self, engine: Engine, memory: Memory, lines: Sequence[Where], home: Stream, start: Start
    ) -> tuple[Bound, Sequence[Where]]:
        """What to run over this memory, and the Python lines of its steps: all of the program, or what does not
        describe, where this memory is described; then `memory` has the descriptions, too."""
        if not self._has_run:  # most programs run once; finding out more than that takes longer than a launch
            self._has_run = True
            return self._bound, lines
        with self._lock:
            if self._parts is None and self._bound.handles.describing:
                self._parts = _parts(engine, self._bound)
                engine.memory.idle.add(self)
        parts = self._parts
        pages = None if parts is None else _pages(memory, parts.read)
        if parts is None or pages is None:
            return self._bound, lines
        key = tuple([(id(page), first) for page, first in pages])
        kept = self._known.get(key)
        if kept is None or any(own() is not page for own, (page, _) in zip(kept.pages, pages, strict=True)):
            kept = self._described(engine, memory, lines, home, start, parts, key, [ref(page) for page, _ in pages])
        elif spoiler([storage.touch(READ) for _, storage in kept.tables]) is not None:
            self._known.pop(key, None)
            kept = None
        if kept is None:
            return self._bound, lines
        for number, storage in kept.tables:
            memory[number] = storage, 0
        return parts.rest, [lines[number] for number in parts.others]

    def _described(
        self,
        engine: Engine,
        memory: Memory,
        lines: Sequence[Where],
        home: Stream,
        start: Start,
        parts: _Parts,
        key: _Key,
        pages: list[ref[Page]],
    ) -> _Kept | None:
        """Describes memory, and keeps that; None where there is no room for it."""
        own = [lines[number] for number in parts.describing]
        try:
            tables = [
                (number, engine.memory.allocate(nbytes, own[-1], home, wait=False)) for number, nbytes in parts.tables
            ]
        except (OutOfMemoryError, NoRoomYetError):
            return None
        for number, storage in tables:
            memory[number] = storage, 0
        start(parts.describes, own)
        kept = _Kept(pages, tables)
        with self._lock:
            while len(self._known) >= _MOST_KEPT:
                del self._known[next(iter(self._known))]
            self._known[key] = kept
        return kept


def _pages(memory: Memory, buffers: Sequence[int]) -> list[tuple[Page, int]] | None:
    """The pages that buffers lie in, from a byte on; None where somebody else has to do with one."""
    pages: list[tuple[Page, int]] = []
    for number in buffers:
        part = memory[number]
        if not isinstance(part, tuple) or type(part[0]) is not Storage or part[0].guests:
            return None
        storage, offset = part
        pages.append((storage.block.page, storage.block.low + offset))
    return pages


def _parts(engine: Engine, bound: Bound) -> _Parts | None:
    """The parts of a program; None where describing is more than that, or others wait for it."""
    schedule, describing = bound.schedule, list(bound.handles.describing)
    nodes, others = schedule.nodes, [number for number in range(len(schedule.nodes)) if number not in describing]
    tables = _touched([nodes[number] for number in describing], WRITE)
    is_alone = tables <= schedule.lives.keys() and not tables & _touched([nodes[number] for number in others], WRITE)
    has_numbers = any(
        isinstance(step, Dispatch) and step.numbers for step in map(bound.commands.__getitem__, describing)
    )
    if not (is_alone and others) or has_numbers or bound.spreads or any(node.waits for node in nodes):
        return None
    read = _touched([nodes[number] for number in describing], READ)
    describes = _part(engine, schedule, describing, tables, "written")
    describes.handles.describing = ()  # it is what describes
    return _Parts(
        describes=describes,
        rest=_part(engine, schedule, others, tables, "input"),
        describing=describing,
        others=others,
        read=sorted({ARENA if buffer in schedule.offsets else buffer for buffer in read}),
        tables=[(buffer, schedule.buffers[buffer].nbytes) for buffer in sorted(tables)],
    )


def _touched(nodes: Sequence[Node], mode: int) -> set[int]:
    return {access.buffer for node in nodes for access in node.accesses if access.mode & mode}


def _part(engine: Engine, schedule: Schedule, numbers: Sequence[int], tables: set[int], kind: Kind) -> Bound:
    """The program of some steps, in which descriptions have memory of their own."""
    nodes = tuple([schedule.nodes[number] for number in numbers])
    lives = {}
    for buffer in schedule.lives.keys() - tables:
        uses = [number for number, node in enumerate(nodes) if buffer in _touched([node], READ | WRITE)]
        if uses:
            lives[buffer] = uses[0], uses[-1]
    offsets = {buffer: offset for buffer, offset in schedule.offsets.items() if buffer not in tables}
    buffers = [replace(buffer, kind=kind) if buffer.id in tables else buffer for buffer in schedule.buffers]
    part = replace(schedule, buffers=tuple(buffers), nodes=nodes, lives=lives, offsets=offsets)
    return Bound(part, handles_for(engine, kernels_of(part)))
