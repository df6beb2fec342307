"""Streams: in-order queues, and the order between them.

A stream counts the commands that it is given, and knows for every other stream up to which of its commands everything
has happened before the stream's own next one (a vector clock). `Streams.submit` looks up what a command conflicts with
(`hazards.py`), has its queue wait on the device for as few events as imply all of it, and records its accesses. The
host waits for nothing there. Ids are taken modulo the number of streams, so two may share a queue, which is then
ordered anyway.

What has completed, or failed, is found out by asking events (`completion.py`), a few at a time as commands are given
and whenever the host has waited; there are no callbacks.

One lock guards streams, histories and the pool's blocks. No wait of the host happens inside of it.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Protocol, TypeAlias

from ocl_ir.source_line import Where
from ocl_runtime.errors import LaunchError
from ocl_runtime.execute.driver import Driver, Error, Event, Queue
from ocl_runtime.execute.log import Log
from ocl_runtime.execute.streams.chosen import CHOSEN
from ocl_runtime.execute.streams.command import LOOK_EVERY, Clock, Command, SpoiltError, Stream
from ocl_runtime.execute.streams.completion import Completion, StreamCounters, Timed
from ocl_runtime.execute.streams.failures import Failure
from ocl_runtime.execute.streams.hazards import Touch, conflicts, poison, record, shared, spoiler

_NEVER = 1 << 62

Lost: TypeAlias = (
    "tuple[Stream, Sequence[Touch] | Callable[[], Sequence[Touch]], str, Where, Sequence[Command], Clock, object, "
    "Callable[[Queue], Event] | None, Event, type[BaseException]]"
)
"""A command that was interrupted while it was given to a stream: what `Streams.submit` knows of it, what it waits for,
the clock after that, its event if there is one, and what came. A plain tuple, which is made without a call."""


class Guests(Protocol):
    """Who else uses memory that commands touch, through queues of their own (`sharing.py`)."""

    def before(self, stream: Stream, touches: Sequence[Touch]) -> list[Event]:
        """What else a command on a stream that touches this must wait for."""

    def after(self, command: Command, touches: Sequence[Touch]) -> None:
        """The command was given to its stream."""


class Streams:
    """The streams of one device: `count` for the user, and three for the library's own transfers.

    `first` is the queue of stream 0, if that is there already.
    """

    def __init__(
        self, driver: Driver, count: int, log: Log, *, profile: bool = False, first: Queue | None = None
    ) -> None:
        self.driver = driver
        self.count = count
        self.counters = StreamCounters()
        self.lock = threading.RLock()
        self.guests: Guests | None = None
        """Where nobody else uses any memory, None."""
        self.lost: tuple[Lost, ...] = ()
        """What was interrupted while it was given, and is not known yet: see `settle`."""
        self._log = log
        self.tells = log.level > 1
        """Whether every command is written into the log."""
        self._streams: list[Stream | None] = [None] * (count + 3)
        if first is not None:
            self._streams[0] = Stream(0, first)
        self._used = [*filter(None, self._streams)]
        self.completion = Completion(driver, self.counters, log, profile=profile)
        self._of_thread = threading.local()
        self._threads = itertools.count()

    # ------------------------------------------------------------------ which stream

    def current(self) -> Stream:
        """The calling thread's."""
        number = CHOSEN.get()
        if number is None:
            number = getattr(self._of_thread, "number", None)
            if number is None:
                number = self._of_thread.number = next(self._threads)
        index = number % self.count
        return self._streams[index] or self._stream(index)

    @property
    def first(self) -> Stream:
        """Stream 0."""
        return self._streams[0] or self._stream(0)

    @property
    def aside(self) -> Stream:
        """For single transfers that are to wait for nothing but the data."""
        return self._streams[self.count + 2] or self._stream(self.count + 2)

    @property
    def uploads(self) -> Stream:
        """For transfers to the device in many pieces, whose commands are gates."""
        return self._streams[self.count] or self._stream(self.count)

    @property
    def downloads(self) -> Stream:
        """For transfers from the device in many pieces, whose commands are gates."""
        return self._streams[self.count + 1] or self._stream(self.count + 1)

    def _stream(self, index: int) -> Stream:
        with self.lock:
            made = self._streams[index]
            if made is None:
                try:
                    queue = self.driver.queue()
                except Error as error:
                    raise LaunchError(f"the driver refused a queue for stream {index}: {error}") from error
                made = Stream(index, queue)
                if index in (self.count, self.count + 1):
                    made.flushed = _NEVER  # gates are nothing that a flush could start
                self._streams[index] = made
                self._used = [*filter(None, self._streams)]
            return made

    def neighbour(self, stream: Stream, steps: int) -> Stream:
        """The stream that many numbers on; one of the library's own counts as the first."""
        index = (stream.index + steps) % self.count if stream.index < self.count else steps % self.count
        return self._streams[index] or self._stream(index)

    def all(self) -> list[Stream]:
        """Those that have been used: a list that stays as it is."""
        return self._used

    # ------------------------------------------------------------------ commands

    def submit(
        self,
        stream: Stream,
        touches: Sequence[Touch],
        what: str,
        where: Where,
        enqueue: Callable[..., Event],
        *args: Any,
        keep: object = None,
        ended: Callable[[Queue], Event] | None = None,
    ) -> Command:
        """Gives a command to a stream: `enqueue(queue, *args, waits, touches)`, ordered after what it conflicts with.

        `what` and `where` name it in errors, `keep` lives until it has completed. Raises `LaunchError` where the driver
        refuses it (what it should have written is then in error too), or where it would read what an earlier failure
        spoilt. Any other exception, such as a signal's, may come after a part of it was given: `ended(queue)` is an
        event that comes after all of that, by default a marker.
        """
        while True:
            needed: list[Command] = []
            try:
                with self.lock:
                    if self.lost:
                        self.settle()
                    pending = stream.pending
                    if self.completion.doubt:
                        self.check(touches, stream)
                    needed, known, elided = conflicts(touches, stream)
                    if elided:
                        self.counters.waits_elided += elided
                    waits = self.waits_for(needed, touches, stream, what) if needed else None
                    if self.guests is not None and (others := self.guests.before(stream, touches)):
                        waits = [*(waits or ()), *others]
                    event: Event = None
                    try:
                        event = enqueue(stream.queue, *args, waits, touches)
                        stream.known = known
                        stream.position += 1
                        command = Command(stream, stream.position, known, what, where, event, keep)
                        if needed:
                            command.after = needed
                        record(touches, command)
                        pending.append(command)
                        if self.guests is not None:
                            self.guests.after(command, touches)
                    except Error:
                        raise
                    except BaseException as error:
                        # Nothing is called before this is known: as a call returns the next signal may come.
                        lost = stream, touches, what, where, needed, known, keep, ended, event, error.__class__
                        self.lost = (*self.lost, lost)
                        self.settle()
                        raise
                    if len(pending) >= stream.look_at:
                        self.look()
                        stream.look_at = len(pending) + LOOK_EVERY
                    if self.tells:
                        self.tell(command, touches)
                    return command
            except Error as error:
                raise self.refused(stream, touches, what, where, needed, error).error() from error
            except SpoiltError as error:
                self.wait_out(error)

    def tell(self, command: Command, touches: Sequence[Touch]) -> None:
        """Writes a command into the log."""
        self._log.full("%r %s", command, "; ".join(map(str, touches)) or "touches nothing")

    def settle(self) -> None:
        """Makes known, under the lock, what was interrupted while it was given. Where its event is not there, a command
        that comes after whatever the device got of it stands for it, and is in error. If this is interrupted too,
        whoever comes next does it again.
        """
        while self.lost:
            stream, touches, what, where, needed, known, keep, ended, event, kind = self.lost[0]
            failure = None
            if event is not None:
                stream.known = known
            else:
                event = self.driver.marker(stream.queue, None) if ended is None else ended(stream.queue)
                failure = Failure(what, where, f"{kind.__name__} came while the device was given it")
                self.completion.doubt = True
                self.counters.failures += 1
                self._log.basic("%s", failure)
            stream.position += 1
            command = Command(stream, stream.position, stream.known, what, where, event, keep)
            command.after, command.error = needed, failure
            all_touches = touches() if callable(touches) else touches
            record(all_touches, command)
            stream.pending.append(command)
            if self.guests is not None:
                self.guests.after(command, all_touches)
            self.lost = self.lost[1:]

    def wait_out(self, error: SpoiltError) -> None:
        """Waits for commands that failed: a driver may make a new one fail for waiting for one of them, or run it too
        early for being in a queue behind one. Raises `LaunchError` where the driver no longer answers."""
        for spoilt in error.commands:
            self.before(spoilt)
            for earlier in (*spoilt.after, spoilt):  # the mark of a lost command waits for none of these
                self.wait(earlier, failed_too=True)
            if spoilt.event is not None and spoilt.error is not None:
                raise spoilt.error.error() from None

    def check(self, touches: Sequence[Touch], stream: Stream) -> None:
        """After a failure: raises `SpoiltError` where the stream's last command was spoilt, `LaunchError` where what
        is to be read was."""
        pending = stream.pending
        if pending and pending[-1].error is not None:
            raise SpoiltError([pending[-1]])
        command = spoiler(touches)
        if command is not None and command.error is not None:
            self.completion.reported(command.error)
            raise command.error.error()

    def waits_for(self, needed: Sequence[Command], touches: Sequence[Touch], stream: Stream, what: str) -> list[Event]:
        """What to wait for, the queues flushed up to there. Raises `SpoiltError` for commands that were spoilt."""
        if self.completion.doubt:
            failed = [command for command in needed if command.error is not None]
            if failed:
                raise SpoiltError(failed)
        waits = []
        for command in needed:
            producer = command.stream
            if producer.flushed < command.position:
                self._flush(producer)
            waits.append(command.event)
            if self._log.level:
                self._log.basic(
                    "stream %d waits for %r before %s: %s", stream.index, command, what, shared(touches, command)
                )
        self.counters.waits += len(needed)
        return waits

    def started(self, command: Command) -> None:
        """Flushes a command's queue up to it, so that a queue that is not ours may wait for it."""
        if command.stream.flushed < command.position:
            self._flush(command.stream)

    def flush(self, stream: Stream) -> None:
        """Has the driver begin with what a stream was given, if it has not yet."""
        with self.lock:
            if stream.flushed < stream.position:
                with suppress(Error):  # whoever waits for a command is told
                    self._flush(stream)

    def _flush(self, stream: Stream) -> None:
        self.driver.flush(stream.queue)
        stream.flushed = stream.position
        self.counters.flushes += 1

    def refused(
        self, stream: Stream, touches: Iterable[Touch], what: str, where: Where, needed: Sequence[Command], error: Error
    ) -> Failure:
        """The driver did not take a command: perhaps because it knew already that one to wait for had failed."""
        with self.lock:
            self.look()
            spoilt = next((producer.error for producer in needed if producer.error is not None), None)
            command = Command(stream, stream.position, stream.known, what, where)
            command.error = spoilt or Failure(what, where, str(error))
            self.completion.doubt = True
            poison(touches, command)
            if spoilt is not None:
                self.completion.reported(spoilt)
                return spoilt
            self.counters.failures += 1
        self._log.basic("%s", command.error)
        return command.error

    # ------------------------------------------------------------------ completion

    @property
    def profile(self) -> deque[Timed] | None:
        """When commands ran, of those known to have ended; None where that is not measured."""
        return self.completion.profile

    def look(self) -> None:
        """Finds out, without waiting, what has completed and what has failed."""
        with self.lock:
            if self.lost:
                self.settle()
            self.completion.look(self._used)

    # ------------------------------------------------------------------ the host waits

    def wait(self, command: Command, *, failed_too: bool = False) -> None:
        """Returns when a command has completed.

        Raises `LaunchError` for the failure that spoilt it, unless it may have `failed_too`, and where the driver will
        not wait.
        """
        event = command.event
        refused = None
        if event is not None:
            self.counters.host_waits += 1
            if self._log.level:
                self._log.basic("the host waits for %r", command)
            refused = self._ended(command, event)
        if failed_too and (refused is None or command.event is None):
            return
        if command.error is not None:
            with self.lock:
                self.completion.reported(command.error)
            raise command.error.error()
        if refused is not None:
            raise refused.error()

    def _ended(self, command: Command, event: Event) -> Failure | None:
        """Waits for a command, and takes note of everything before it. Where the driver would not wait, says so."""
        refused = ""
        try:
            self.driver.wait(event)
        except Error as error:
            refused = str(error) or type(error).__name__  # the error itself would hold this frame, and so the event
            self.before(command)
        with self.lock:
            if self.lost:
                self.settle()
            self.completion.look(self._used)
            if not refused or (command.event is None and command.error is not None):
                return None  # where it has no error, Intel's driver says of what it did not run that it is complete
            return Failure(f"waiting for {command.what}", command.where, refused)

    def before(self, command: Command) -> None:
        """Waits for what a command comes after, for the drivers on which it fails before that has ended."""
        with self.lock:
            pending = itertools.chain.from_iterable(stream.pending for stream in self.all())
            before = [earlier.event for earlier in filter(command.follows, pending)]
        for event in before:
            with suppress(Error):
                self.driver.wait(event)

    def finish(self) -> None:
        """Returns when everything that was given to the streams has ended; raises the first failure nobody saw yet."""
        with self.lock:
            if self.lost:
                self.settle()
            for stream in self.all():
                if not stream.pending or stream.flushed >= stream.position:
                    continue
                with suppress(Error):  # waiting flushes too, but only the one queue
                    self._flush(stream)
        for stream in self.all():
            while stream.pending:
                with self.lock:
                    count, last = len(stream.pending), stream.pending[-1] if stream.pending else None
                    event = last.event if last is not None else None
                if last is None or event is None:
                    break
                self.counters.host_waits += 1
                refused = self._ended(last, event)
                if len(stream.pending) >= count:  # the driver no longer answers
                    if refused is not None:
                        self.completion.unreported.append(refused)
                    break
        self.look()
        with self.lock:
            unreported, self.completion.unreported = self.completion.unreported, []
        if unreported:
            raise unreported[0].error()
