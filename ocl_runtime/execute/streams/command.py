"""What streams are given: commands, and what each comes after."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ocl_ir.source_line import Where
from ocl_runtime.execute.driver import Event, Queue

if TYPE_CHECKING:
    from ocl_runtime.execute.streams.failures import Failure

LOOK_EVERY = 64
"""Commands of a stream between two looks at which of them have completed."""

Clock: TypeAlias = "dict[Stream, int]"
"""For each stream of which something is known, the position up to which its commands have happened. Most streams wait
for few others, so that only those are in it."""


@dataclass(eq=False, repr=False, slots=True)
class Command:
    """Something that a stream was given.

    `clock` says which commands of other streams have happened before it begins. `event` is None once it is known to
    have completed, `error` why its results are not to be trusted.
    """

    stream: Stream
    position: int
    clock: Clock
    what: str
    where: Where
    event: Event | None = None
    keep: object = None
    after: Sequence[Command] = ()
    """The commands of other streams that it waits for, until it has completed."""
    error: Failure | None = None

    def __repr__(self) -> str:
        return f"<{self.what} on stream {self.stream.index}, command {self.position}>"

    def follows(self, other: Command) -> bool:
        """Whether it comes after another one, by the order of a stream and by waits."""
        if self.stream is other.stream:
            return self.position > other.position
        return self.clock.get(other.stream, 0) >= other.position

    def joined(self, known: Clock) -> Clock:
        """The clock of a stream that knew of others, and not of this command, and now waits for it."""
        clock = later(known, self.clock)
        clock[self.stream] = self.position
        return clock


def later(clock: Clock, other: Clock) -> Clock:
    """A new clock, of who knows what two clocks say."""
    both = clock.copy()
    for stream, position in other.items():
        if position > both.get(stream, 0):
            both[stream] = position
    return both


class Parts(NamedTuple):
    """What a command of several steps keeps: the events of those before the last, from number `first` on, of all the
    names and lines of a program's steps."""

    names: Sequence[str]
    lines: Sequence[Where]
    first: int
    events: Sequence[Event]


class Stream:
    """One in-order queue. `position` counts its commands, `known` is its clock, `flushed` what surely has started."""

    __slots__ = ("flushed", "index", "known", "look_at", "pending", "position", "queue")

    def __init__(self, index: int, queue: Queue) -> None:
        self.index = index
        self.queue = queue
        self.position = 0
        self.known: Clock = {}
        self.flushed = 0
        self.pending: deque[Command] = deque()
        """Commands that are not known to have completed, in order."""
        self.look_at = LOOK_EVERY

    def __repr__(self) -> str:
        return f"<stream {self.index}, {self.position} commands, {len(self.pending)} pending>"


class SpoiltError(Exception):
    """These commands must have ended before another one can be given."""

    def __init__(self, commands: list[Command]) -> None:
        super().__init__()
        self.commands = commands
