"""What has completed and what has failed, found out by asking events.

A command that has completed lets go of its event and of what it kept alive. One that failed spoils what its stream was
given after it and what waited for it, as far as that is pending now. Drivers differ in what they do with commands
behind a failed one: some run them, some fail them at once, before the rest of what they wait for.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from numpy import ndarray

from ocl_ir.kernel.accesses import READ, WRITE
from ocl_ir.source_line import in_function
from ocl_runtime.execute.driver import Driver, Error
from ocl_runtime.execute.log import Log
from ocl_runtime.execute.streams import failures
from ocl_runtime.execute.streams.command import Command, Parts, Stream
from ocl_runtime.execute.streams.failures import Failure
from ocl_runtime.execute.streams.hazards import Touch

_pending = attrgetter("pending")
_MOST_TIMED = 1_000_000
"""Commands whose times are kept, the newest."""


@dataclass
class StreamCounters:
    """What the streams did: `waits` of one queue for another on the device; `waits_elided`, conflicts between queues
    whose order was known already; `flushes`; `host_waits`, the times the host waited for a command; `failures`."""

    waits: int = 0
    waits_elided: int = 0
    flushes: int = 0
    host_waits: int = 0
    failures: int = 0


class Timed(NamedTuple):
    """When a command ran on the device, in nanoseconds of its clock, and about how many bytes it read and wrote."""

    what: str
    where: str
    stream: int
    start: int
    end: int
    nbytes: int = 0


class Moved(NamedTuple):
    """What a command keeps only to be measured: the bytes that it reads and writes."""

    nbytes: int

    @classmethod
    def by(cls, touches: Sequence[Touch]) -> Moved:
        """Each byte once for every access to it; of the last ones of a block a few may be nobody's."""
        return cls(sum(_bytes(touch) * (2 if touch.mode == READ | WRITE else 1) for touch in touches))


def _bytes(touch: Touch) -> int:
    if touch.footprint is None:
        return touch.high - touch.low
    axes = zip(touch.footprint.shape, touch.footprint.strides, strict=True)
    return math.prod(length for length, stride in axes if stride)


class Completion:
    """Looks at the pending commands of streams, under the streams' lock.

    `profile` says when commands ran, of those known to have ended, where that is measured; `unreported` are failures
    that nobody was told of yet; `doubt`, whether there was any, so that a stream's own commands must be looked at too.
    """

    def __init__(self, driver: Driver, counters: StreamCounters, log: Log, *, profile: bool) -> None:
        self.profile: deque[Timed] | None = deque(maxlen=_MOST_TIMED) if profile else None
        self.unreported: list[Failure] = []
        self.doubt = False
        self._driver = driver
        self._counters = counters
        self._log = log

    def look(self, streams: Sequence[Stream]) -> None:
        """Takes note of what has ended on these streams: all that have been used."""
        pending = [*filter(_pending, streams)]
        if not pending:
            return
        more = True
        if self.doubt or not self._all_well(pending):
            while more:
                more = sum([self._look(stream, streams) for stream in streams if stream.pending]) > 0

    def _all_well(self, streams: Sequence[Stream]) -> bool:
        """The quick way: as long as nothing failed, what came before one that has completed has completed too. Does
        nothing but say False if something may have failed."""
        status, ended, counts = self._driver.status, list[Command](), dict.fromkeys(streams, 0)
        several = len(streams) > 1
        try:
            while True:  # again, since what is asked first may end before something else is asked
                more = False
                for stream, before in counts.items():
                    count = before
                    for command in islice(stream.pending, before, None) if before else stream.pending:
                        state, keep = status(command.event), command.keep
                        if state > 0:
                            break
                        if state < 0:
                            return False
                        if keep is not None:
                            if type(keep) is Parts:
                                if min(map(status, keep.events)) < 0:
                                    return False
                            elif type(keep) is not ndarray and self._failure(command, state):
                                return False
                        ended.append(command)
                        count += 1
                    counts[stream] = count
                    more = more or (several and count > before)
                if not more:
                    break
        except Error:
            return False  # it may be one that failed
        self._ended(ended)
        return True

    def _look(self, stream: Stream, streams: Sequence[Stream]) -> int:
        """Takes note of the commands at the front of a stream that have ended, and of which all that comes before is
        known to have; says how many there were."""
        pending, status = stream.pending, self._driver.status
        count = len(pending)
        while pending:
            command = pending[0]
            if command.after and any(other.event is not None for other in command.after):
                break
            try:
                state = status(command.event)
            except Error:
                break  # it is asked again later
            if state > 0:
                break
            failure = self._failure(command, state) if command.error is None else None
            if failure is not None:
                self._failed(command, failure, streams)
            self._ended([command])
        return count - len(pending)

    def _ended(self, commands: Sequence[Command]) -> None:
        """Each is the first one of its stream by then."""
        for command in commands:
            if self.profile is not None:
                with suppress(Error):  # a gate has no times
                    start, end = self._driver.times(command.event)
                    moved = getattr(command.keep, "nbytes", 0)  # steps that are measured are commands by themselves
                    what = in_function(command.what, command.where)
                    self.profile.append(Timed(what, str(command.where), command.stream.index, start, end, moved))
            # Nothing is called before all of it is done, so that no signal comes in between.
            command.event = command.keep = None
            command.after = ()
            command.stream.pending.popleft()

    def _failure(self, command: Command, status: int) -> Failure | None:
        """What failed, of a command that has ended. A queue goes on behind a step that fails, and so does the event of
        the last one."""
        keep = command.keep
        if type(keep) is Parts:
            for number, event in enumerate(keep.events, keep.first):
                with suppress(Error):
                    state = self._driver.status(event)
                    if state < 0:
                        return Failure(keep.names[number], keep.lines[number], failures.reason(state))
        told = getattr(keep, "failed", "")
        if told:
            return Failure(command.what, command.where, told)
        return Failure(command.what, command.where, failures.reason(status)) if status < 0 else None

    def _failed(self, command: Command, failure: Failure, streams: Sequence[Stream]) -> None:
        self.doubt = True
        self._log.basic("%s", failure)
        for stream in streams:
            for other in stream.pending:
                if other.error is None and other.follows(command):
                    other.error = failure
        # The command itself comes last: until it is in error, this is done again.
        self.unreported = [*self.unreported, failure]
        self._counters.failures += 1
        command.error = failure

    def reported(self, failure: Failure) -> None:
        """Somebody is told of a failure."""
        if failure in self.unreported:
            self.unreported.remove(failure)
