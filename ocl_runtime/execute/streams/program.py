"""Commands that streams are given together: the steps of a program, in order, under one lock.

What the program does with memory from outside is looked up in front of the first step that has to come after it; among
themselves the steps are ordered by their streams and by the waits that they name. Each step is a command of its own: a
result can be waited for as soon as the step that wrote it has ended, and a step that fails spoils what it wrote, what
comes behind it, and nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from ocl_ir.source_line import Where
from ocl_runtime.errors import LaunchError
from ocl_runtime.execute.driver import Error, Event, KernelHandle, Queue, Sizes
from ocl_runtime.execute.streams.command import LOOK_EVERY, Clock, Command, Parts, SpoiltError, Stream, later
from ocl_runtime.execute.streams.hazards import Ranges, Touch, Use, conflicts, record
from ocl_runtime.execute.streams.streams import Streams


class Batch(NamedTuple):
    """Steps `first … last` of a program that are one command: on which of its streams, and which batches of other
    streams come before the first of them.

    `lookups` and `records` are numbers of the program's accesses: what has to be looked up in front of the first step,
    and what there is to know of the last one from then on (which is less than it touches where a later step stands for
    it).
    """

    stream: int
    waits: tuple[int, ...]
    lookups: tuple[int, ...]
    records: tuple[int, ...]
    first: int
    last: int


class Repeat(NamedTuple):
    """A batch of a program that is given once more over the same memory: its launches, whose arguments are set; what of
    that memory it reads or writes as a whole; and what it touches else."""

    first: int
    last: int
    launches: Sequence[tuple[KernelHandle, Sizes, Sizes]]
    reads: Sequence[Ranges]
    writes: Sequence[Ranges]
    parts: Sequence[Touch]


class Program(ABC):
    """Steps over memory, on streams: `streams` by the numbers that batches name, `home` is that of who asks.

    `names` are those of the steps in errors, `lines` the Python lines that asked for them, and `keeps` what has to live
    until each has ended, if anything: then each step is a batch. `looked` and `recorded` are what a batch has to look
    up and to record. Where it is given once more, all on the stream of who asks, `repeats` are the batches, and
    `outside` is the memory whose history is looked up in front of the first one.
    """

    __slots__ = (
        "batches", "home", "keeps", "lines", "looked", "names", "outside", "recorded", "repeats", "streams", "what",
    )  # fmt: skip

    what: str
    names: Sequence[str]
    lines: Sequence[Where]
    batches: Sequence[Batch]
    streams: Mapping[int, Stream]
    home: Stream
    looked: Sequence[Sequence[Touch]]
    recorded: Sequence[Sequence[Touch]]
    keeps: Sequence[object] | None
    repeats: Sequence[Repeat] | None
    outside: Sequence[Ranges]

    @abstractmethod
    def everything(self) -> list[Touch]:
        """All that any step touches."""

    @abstractmethod
    def of_step(self, number: int) -> list[Touch]:
        """All that one step touches."""

    @abstractmethod
    def enqueue(self, batch: Batch, queue: Queue, waits: list[Event] | None, events: list[Event]) -> None:
        """Gives the steps of a batch to a queue, and appends the event of each."""

    @abstractmethod
    def ended(self, queue: Queue) -> Event:
        """An event of the home queue that comes after whatever was given."""

    @abstractmethod
    def refused(self, number: int, error: Error) -> LaunchError:
        """What to say where the driver does not take a step."""


_NOTHING: tuple[Sequence[Command], list[Event], Clock] = ((), [], {})


def submit(streams: Streams, program: Program) -> None:
    """Gives all steps to their streams.

    Raises `LaunchError` where the driver refuses a step, or where one would read what an earlier failure spoilt. What a
    refused step and those behind it should have written is in error. Any other exception, such as a signal's, may come
    after some steps were given: then all that the program writes is in error.
    """
    events: list[Event] = []
    several = len(program.streams) > 1
    while True:
        refusal: Error | None = None
        try:
            with streams.lock:
                if streams.lost:
                    streams.settle()
                if streams.completion.doubt:
                    _check(streams, program)
                try:
                    try:
                        if several:
                            _give(streams, program, events)
                        elif program.repeats is not None and streams.guests is None and not streams.tells:
                            _give_again(streams, program, program.repeats, events)
                        elif program.batches:
                            _give_in_order(streams, program, events)
                    except Error as error:
                        refusal = error
                        _refuse(streams, program, events, error)
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
                for stream in program.streams.values():
                    if several:
                        streams.flush(stream)  # so that they begin at once
                    if len(stream.pending) < stream.look_at:
                        continue
                    streams.look()  # and not between the steps: what has ended may change
                    stream.look_at = len(stream.pending) + LOOK_EVERY
        except SpoiltError as error:
            streams.wait_out(error)
            continue
        if refusal is not None:
            raise program.refused(len(events), refusal) from refusal
        return


def _check(streams: Streams, program: Program) -> None:
    """After a failure: raises `SpoiltError` for what must have ended first, `LaunchError` where what is to be read was
    spoilt, unless the program has written over that by then."""
    looked = list(chain.from_iterable(program.looked))
    for stream in program.streams.values():
        streams.check(looked, stream)
        needed, _, _ = conflicts(looked, stream)
        failed = [command for command in needed if command.error is not None]
        if failed:
            raise SpoiltError(failed)


def _looked_up(
    streams: Streams, looked: Sequence[Touch], name: str, stream: Stream, clock: Clock
) -> tuple[Sequence[Command], list[Event], Clock]:
    """What a command that touches this has to come after that was given before the program: commands, events, and the
    clock after that."""
    needed, clock, elided = conflicts(looked, stream, clock)
    if elided:
        streams.counters.waits_elided += elided
    waits = streams.waits_for(needed, looked, stream, name) if needed else []
    if streams.guests is not None:
        waits = [*waits, *streams.guests.before(stream, looked)]
    return needed, waits, clock


def _give(streams: Streams, program: Program, events: list[Event]) -> None:
    """Gives all batches to their streams, and appends the event of each step."""
    on = program.streams
    known = {number: stream.known for number, stream in on.items()}
    clocks = known.copy()
    commands: list[Command] = []
    # All of it is looked up before the first one is given: what the program does itself is in order by its waits.
    before: dict[int, tuple[Sequence[Command], list[Event], Clock]] = {}
    for number, batch in enumerate(program.batches):
        if program.looked[number]:
            name = program.names[batch.first]
            looked = _looked_up(streams, program.looked[number], name, on[batch.stream], known[batch.stream])
            before[number] = looked
            known[batch.stream] = looked[2]
    for number, batch in enumerate(program.batches):
        stream = on[batch.stream]
        needed, waits, clock = before.get(number, _NOTHING)
        if needed:  # only from here on: what a later batch waits for, those before it know nothing of
            clocks[batch.stream] = later(clocks[batch.stream], clock)
        after = [command for command in map(commands.__getitem__, batch.waits) if command.stream is not stream]
        if after:
            waits = [*waits, *streams.waits_for(after, (), stream, program.names[batch.first])]
            needed = [*needed, *after]
            for command in after:
                clocks[batch.stream] = command.joined(clocks[batch.stream])
        commands.append(_submitted(streams, program, number, stream, clocks[batch.stream], needed, waits, events))


def _give_in_order(streams: Streams, program: Program, events: list[Event]) -> None:
    """The same where all is for one stream, as it is for most programs: only what the first batch touches is looked
    up."""
    batches, keeps = program.batches, program.keeps
    names, lines, guests = program.names, program.lines, streams.guests
    first = batches[0]
    stream = program.streams[first.stream]
    needed, waits, clock = _NOTHING[0], None, stream.known
    for touch in program.looked[0]:
        if touch.ranges.sole is not stream or guests is not None:  # else there can be no conflict
            needed, before, clock = _looked_up(streams, program.looked[0], names[first.first], stream, clock)
            waits = before or None
            break
    queue, pending = stream.queue, stream.pending
    for batch, recorded in zip(batches, program.recorded, strict=True):
        _, _, _, _, begin, last = batch
        program.enqueue(batch, queue, waits, events)
        stream.known = clock
        stream.position = position = stream.position + 1
        keep: object = None
        if keeps is not None:
            keep = keeps[last]
        elif begin < last:
            keep = Parts(names, lines, begin, events[begin:last])
        command = Command(stream, position, clock, names[last], lines[last], events[last], keep)
        if needed:
            command.after = needed
            needed = ()
        record(recorded, command)
        if guests is not None:
            guests.after(command, recorded)
        pending.append(command)
        waits = None
        if streams.tells:
            streams.tell(command, program.of_step(last))


def _give_again(streams: Streams, program: Program, repeats: Sequence[Repeat], events: list[Event]) -> None:
    """The same for a program that is given once more. This is where most evaluations pass: nothing is called that need
    not be."""
    stream = program.home
    needed, waits, clock = _NOTHING[0], None, stream.known
    for ranges in program.outside:
        if ranges.sole is not stream:  # else there can be no conflict
            needed, before, clock = _looked_up(streams, program.looked[0], program.names[0], stream, clock)
            waits = before or None
            break
    names, lines, queue, pending = program.names, program.lines, stream.queue, stream.pending
    enqueue, give = streams.driver.enqueue, events.append
    for first, last, launches, reads, writes, parts in repeats:
        for handle, global_size, group_size in launches:
            give(enqueue(queue, handle, global_size, group_size, None, waits))
            waits = None
        stream.known = clock
        stream.position = position = stream.position + 1
        keep = None if first == last else Parts(names, lines, first, events[first:last])
        command = Command(stream, position, clock, names[last], lines[last], events[last], keep)
        if needed:
            command.after = needed
            needed = ()
        use: Use = (command, None)
        for ranges in reads:  # as `record` does for memory that is read or written as a whole
            for cell in ranges.cells:
                cell.reads[stream] = use
            if ranges.sole is not stream:
                ranges.sole = None
        for ranges in writes:
            cells = ranges.cells
            cell = cells[0] if len(cells) == 1 else ranges.merge(cells)
            cell.writes = (use,)
            if cell.reads:
                cell.reads = {}
            ranges.sole, ranges.wide = stream, {}
        if parts:
            record(parts, command)
        pending.append(command)


def _submitted(
    streams: Streams,
    program: Program,
    number: int,
    stream: Stream,
    clock: Clock,
    needed: Sequence[Command],
    waits: list[Event],
    events: list[Event],
) -> Command:
    """Gives a batch to its stream."""
    batch, recorded = program.batches[number], program.recorded[number]
    first, last = batch.first, batch.last
    program.enqueue(batch, stream.queue, waits or None, events)
    stream.known = clock
    stream.position += 1
    keep: object = None
    if program.keeps is not None:
        keep = program.keeps[last]
    elif first < last:
        keep = Parts(program.names, program.lines, first, events[first:last])
    command = Command(stream, stream.position, clock, program.names[last], program.lines[last], events[last], keep)
    if needed:
        command.after = needed
    if recorded:
        record(recorded, command)
        if streams.guests is not None:
            streams.guests.after(command, recorded)
    stream.pending.append(command)
    if streams.tells:
        streams.tell(command, program.of_step(last))
    return command


def _refuse(streams: Streams, program: Program, events: Sequence[Event], error: Error) -> None:
    """The driver did not take a step: what was given before it is known in full, and the rest is in error."""
    failed = len(events)
    for batch in program.batches:
        steps = range(batch.first, min(batch.last + 1, failed))
        if steps:  # a command that comes after all that the stream was given
            stream, number = program.streams[batch.stream], steps[-1]
            stream.position += 1
            what, line = program.names[number], program.lines[number]
            command = Command(stream, stream.position, stream.known, what, line, events[number])
            record([touch for step in steps for touch in program.of_step(step)], command)
            stream.pending.append(command)
    stream = next(program.streams[batch.stream] for batch in program.batches if batch.first <= failed <= batch.last)
    behind = [touch for number in range(failed, len(program.names)) for touch in program.of_step(number)]
    streams.refused(stream, behind, program.names[failed], program.lines[failed], (), error)
