"""Descriptions of matrices that outlast the run of a program which wrote them.

The hardware copies boxes by descriptions, which a step of the program writes: where matrices lie, and how, but nothing
of their elements. So a program that runs once more over the same memory needs no such step, which on a GPU takes as
long as an empty launch, 3 to 4 µs. Of such a program there are two parts: the steps that describe, into memory that
is kept, and all others.

Memory is the same as long as its page of the pool is: what has been given back and is handed out again lies where it
was. Whoever borrows memory, or lends it, has it described each time.

No lock is held: a signal's handler may run the same program. Of threads that describe the same memory at once, each
uses what it wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MappingProxyType
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
_NO_NUMBERS = MappingProxyType[str, int]({})

_Key: TypeAlias = tuple[int, ...]
"""Where what is described lies: of each buffer the id of its page, and the byte of it."""
Start: TypeAlias = Callable[..., None]
"""`run.start`."""


class _Parts(NamedTuple):
    """A program in two: what `describes`, and the `rest`; the numbers of their steps; the buffers that are described,
    and those with descriptions, with their bytes."""

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

    def put_in(self, memory: Memory) -> None:
        """Gives a run the descriptions."""
        for number, storage in self.tables:
            memory[number] = storage, 0


def described(
    start: Start, engine: Engine, bound: Bound, memory: Memory, what: str, lines: Sequence[Where], home: Stream
) -> tuple[Bound, Sequence[Where]]:
    """What to run over this memory, and the Python lines of its steps: the whole of a program that describes, or what
    does not describe, where this memory is described; then `memory` has the descriptions, too."""
    if bound.descriptions is None:  # most programs run once; finding out more than that takes longer than a launch
        bound.descriptions = Descriptions()
        return bound, lines
    parts = bound.descriptions.parts(engine, bound)
    located = None if parts is None else _pages(memory, parts.read)
    if parts is None or located is None:
        return bound, lines
    pages, key = located
    kept = bound.descriptions.known(engine, key, pages)
    if kept is None:
        kept = _describe(start, engine, parts, memory, what, lines, home, pages)
        if kept is None:
            return bound, lines
        bound.descriptions.keep(key, kept)
    kept.put_in(memory)
    return parts.rest, [lines[number] for number in parts.others]


class Descriptions:
    """Those of a bound program."""

    def __init__(self) -> None:
        self._parts: _Parts | None = None
        self._is_asked = False
        self._known: dict[_Key, _Kept] = {}

    def parts(self, engine: Engine, bound: Bound) -> _Parts | None:
        """The parts of the program; None where there are none."""
        if not self._is_asked:
            self._parts = _parts(engine, bound)
            self._is_asked = True
            if self._parts is not None:
                engine.memory.may_give_up(self)
        return self._parts

    def known(self, engine: Engine, key: _Key, pages: Sequence[Page]) -> _Kept | None:
        """What is known of memory, if it is still there."""
        kept = self._known.get(key)
        if kept is None or not all(own() is page for own, page in zip(kept.pages, pages, strict=True)):
            return None
        if engine.streams.completion.doubt and spoiler([storage.touch(READ) for _, storage in kept.tables]):
            return None
        return kept

    def keep(self, key: _Key, kept: _Kept) -> None:
        """Knows memory from now on."""
        for old in list(self._known)[: max(0, len(self._known) - _MOST_KEPT + 1)]:
            self._known.pop(old, None)
        self._known[key] = kept

    def give_up(self) -> None:
        """Gives the memory back to the pool."""
        self._known = {}


def _pages(memory: Memory, buffers: Sequence[int]) -> tuple[list[Page], _Key] | None:
    """The pages that buffers lie in, and where; None where somebody else has to do with one."""
    pages: list[Page] = []
    key: list[int] = []
    for number in buffers:
        part = memory[number]
        if not isinstance(part, tuple) or part[0].guests:
            return None
        block = part[0].block
        pages.append(block.page)
        key += id(block.page), block.low + part[1]
    return pages, tuple(key)


def _describe(
    start: Start,
    engine: Engine,
    parts: _Parts,
    memory: Memory,
    what: str,
    lines: Sequence[Where],
    home: Stream,
    pages: Sequence[Page],
) -> _Kept | None:
    """Runs the steps that describe; None where there is no room for what they write."""
    own = [lines[number] for number in parts.describing]
    allocate = engine.memory.allocate
    try:
        tables = [(number, allocate(nbytes, own[-1], home, wait=False)) for number, nbytes in parts.tables]
    except (OutOfMemoryError, NoRoomYetError):
        return None
    kept = _Kept([ref(page) for page in pages], tables)
    kept.put_in(memory)
    start(engine, parts.describes, memory, what, own, _NO_NUMBERS, home, apart=False)
    return kept


def _parts(engine: Engine, bound: Bound) -> _Parts | None:
    """The parts of a program; None where it is for several streams, or what describes cannot come before all else."""
    describing, commands = list(bound.handles.describing), bound.commands
    if bound.spreads or any(isinstance(step := commands[number], Dispatch) and step.numbers for number in describing):
        return None
    schedule = bound.schedule
    nodes = schedule.nodes
    others = [number for number in range(len(nodes)) if number not in describing]
    tables = {buffer for number in describing for buffer in _touched(nodes[number], WRITE)}
    if not tables <= schedule.lives.keys() or any(node.waits for node in nodes):
        return None
    if any(sum(table in _touched(node, WRITE) for node in nodes) > 1 for table in tables):
        return None
    read = {buffer for number in describing for buffer in _touched(nodes[number], READ)}
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


def _touched(node: Node, mode: int) -> list[int]:
    return [access.buffer for access in node.accesses if access.mode & mode]


def _part(engine: Engine, schedule: Schedule, numbers: Sequence[int], tables: set[int], kind: Kind) -> Bound:
    """The program of some steps, in which descriptions have memory of their own. Who writes these reads nothing else:
    a description says nothing of elements, which may not be there yet."""
    nodes = [schedule.nodes[number] for number in numbers]
    if kind == "written":
        nodes = [
            replace(node, accesses=tuple([access for access in node.accesses if access.mode & WRITE])) for node in nodes
        ]
    lives = {}
    for buffer in schedule.lives.keys() - tables:
        uses = [number for number, node in enumerate(nodes) if buffer in _touched(node, READ | WRITE)]
        if uses:
            lives[buffer] = uses[0], uses[-1]
    offsets = {buffer: offset for buffer, offset in schedule.offsets.items() if buffer not in tables}
    buffers = [replace(buffer, kind=kind) if buffer.id in tables else buffer for buffer in schedule.buffers]
    part = replace(schedule, buffers=tuple(buffers), nodes=tuple(nodes), lives=lives, offsets=offsets)
    return Bound(part, handles_for(engine, kernels_of(part)))
