"""Commands that streams are given together: the steps of a program, in order, under one lock.

What the program does with memory from outside is looked up in front of the first step that has to come after it; among
themselves the steps are ordered by their streams and by the waits that they name. Each step is a command of its own: a
result can be waited for as soon as the step that wrote it has ended, and a step that fails spoils what it wrote, what
comes behind it, and nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from ocl_ir.source_line import Where
from ocl_runtime.errors import LaunchError
from ocl_runtime.execute.driver import Error, Event, Queue
from ocl_runtime.execute.streams.command import LOOK_EVERY, Clock, Command, SpoiltError, Stream
from ocl_runtime.execute.streams.hazards import Touch, conflicts, record
from ocl_runtime.execute.streams.streams import Streams


class Step(NamedTuple):
    """One command of a program: on which of its streams, and after which steps of other streams.

    `lookups` and `records` are numbers of the program's touches: what has to be looked up in front of the step, and
    what there is to know of it from then on (which is less than it touches where a later step stands for it).
    """

    stream: int
    waits: tuple[int, ...]
    lookups: tuple[int, ...]
    records: tuple[int, ...]
    what: str


class Program(ABC):
    """Steps over memory, on streams: `streams` by the numbers that steps name, `home` is that of who asks.

    `lines` are the Python lines that asked for the steps, and `keeps` what has to live until each has ended, if
    anything.
    """

    __slots__ = ("home", "keeps", "lines", "steps", "streams", "touches", "what")

    what: str
    lines: Sequence[Where]
    steps: Sequence[Step]
    streams: Mapping[int, Stream]
    home: Stream
    touches: Sequence[Touch]
    keeps: Sequence[object] | None

    @abstractmethod
    def everything(self) -> list[Touch]:
        """All that any step touches."""

    @abstractmethod
    def of_step(self, number: int) -> list[Touch]:
        """All that one step touches."""

    @abstractmethod
    def enqueue(self, number: int, queue: Queue, waits: list[Event] | None) -> Event:
        """Gives a step to a queue."""

    @abstractmethod
    def ended(self, queue: Queue) -> Event:
        """An event of the home queue that comes after whatever was given."""

    @abstractmethod
    def refused(self, number: int, error: Error) -> LaunchError:
        """What to say where the driver does not take a step."""


def submit(streams: Streams, program: Program) -> None:
    """Gives all steps to their streams.

    Raises `LaunchError` where the driver refuses a step, or where one would read what an earlier failure spoilt. What a
    refused step and those behind it should have written is in error. Any other exception, such as a signal's, may come
    after some steps were given: then all that the program writes is in error.
    """
    commands: list[Command] = []
    while True:
        refusal: Error | None = None
        try:
            with streams.lock:
                if streams.lost:
                    streams.settle()
                if streams.doubtful:
                    _check(streams, program)
                try:
                    try:
                        _give(streams, program, commands)
                    except Error as error:
                        refusal = error
                        _refuse(streams, program, commands, error)
                except BaseException as error:
                    # Nothing is called before this is known: as a call returns the next signal may come.
                    home = program.home
                    line = program.lines[-1] if program.lines else ""
                    lost = (
                        home, program.everything, program.what, line, (), home.known, program,
                        program.ended, None, error.__class__,
                    )  # fmt: skip
                    streams.lost = (*streams.lost, lost)
                    streams.settle()
                    raise
                _look(streams, program)
        except SpoiltError as error:
            streams.wait_out(error)
            continue
        if refusal is not None:
            raise program.refused(len(commands), refusal) from refusal
        return


def _check(streams: Streams, program: Program) -> None:
    """After a failure: raises `SpoiltError` for what must have ended first, `LaunchError` where what is to be read was
    spoilt."""
    for stream in program.streams.values():
        streams.check(program.touches, stream)
        needed, _, _ = conflicts(program.touches, stream)
        failed = [command for command in needed if command.error is not None]
        if failed:
            raise SpoiltError(failed)


_Before: TypeAlias = tuple[Sequence[Command], list[Event]]
"""What a step has to come after that was given before the program, and its events."""
_NOTHING: _Before = ((), [])


def _before(streams: Streams, program: Program, clocks: dict[int, Clock]) -> dict[int, _Before]:
    """By step; all of it is looked up before the first one is given, and the clock of each stream goes along."""
    found: dict[int, _Before] = {}
    touches, guests = program.touches, streams.guests
    for number, step in enumerate(program.steps):
        if step.lookups:
            stream = program.streams[step.stream]
            looked = [touches[one] for one in step.lookups]
            needed, clocks[step.stream], elided = conflicts(looked, stream, clocks[step.stream])
            if elided:
                streams.counters.waits_elided += elided
            waits = streams.waits_for(needed, looked, stream, step.what) if needed else []
            if guests is not None:
                waits = [*waits, *guests.before(stream, looked)]
            if waits:
                found[number] = needed, waits
    return found


def _give(streams: Streams, program: Program, commands: list[Command]) -> None:
    """Appends the command of each step that was given."""
    touches, lines, keeps, guests = program.touches, program.lines, program.keeps, streams.guests
    clocks = {number: stream.known for number, stream in program.streams.items()}
    before = _before(streams, program, clocks)
    for number, (on, waits, _, records, what) in enumerate(program.steps):
        stream = program.streams[on]
        needed, events = before.get(number, _NOTHING) if before else _NOTHING
        if waits:
            after = [command for command in map(commands.__getitem__, waits) if command.stream is not stream]
            events = [*events, *streams.waits_for(after, (), stream, what)]
            needed = [*needed, *after]
            for command in after:
                clocks[on] = command.joined(clocks[on])
        event = program.enqueue(number, stream.queue, events or None)
        stream.known = clocks[on]
        stream.position += 1
        keep = None if keeps is None else keeps[number]
        command = Command(stream, stream.position, clocks[on], what, lines[number], event, keep)
        command.after = needed
        if records:
            recorded = [touches[one] for one in records]
            record(recorded, command)
            if guests is not None:
                guests.after(command, recorded)
        stream.pending.append(command)
        commands.append(command)
        if streams.tells:
            streams.tell(command, program.of_step(number))


def _look(streams: Streams, program: Program) -> None:
    """Has several streams begin at once; and now and then finds out what has ended, which is not to change between the
    steps."""
    if len(program.streams) > 1:
        for stream in dict.fromkeys(program.streams.values()):
            streams.flush(stream)
    for stream in program.streams.values():
        if len(stream.pending) >= stream.look_at:
            streams.look()
            stream.look_at = len(stream.pending) + LOOK_EVERY


def _refuse(streams: Streams, program: Program, commands: Sequence[Command], error: Error) -> None:
    """The driver did not take a step: what was given before it is known in full, and the rest is in error."""
    for number, command in enumerate(commands):
        record(program.of_step(number), command)
    step = program.steps[len(commands)]
    behind = [touch for number in range(len(commands), len(program.steps)) for touch in program.of_step(number)]
    streams.refused(program.streams[step.stream], behind, step.what, program.lines[len(commands)], (), error)
