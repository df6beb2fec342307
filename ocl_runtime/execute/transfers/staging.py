"""Large transfers in pieces, through a ring of pinned blocks.

A transfer is one command of a stream that only has such: a gate, which opens when the last piece has ended. One thread
for each direction gives the device a command for each piece, in the order of the gates, and waits for it; other threads
only copy between the array and the blocks, and wait for nothing. A job depends on what was given to streams before it,
and never waits for memory: it makes do with the blocks that are left, or with one of ordinary memory. So none waits for
ever.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import TypeAlias

import numpy as np

from ocl_ir.kernel.accesses import WRITE
from ocl_runtime.execute.driver import Bytes, Driver, Error, Event, Queue
from ocl_runtime.execute.memory.host_memory import Pinned
from ocl_runtime.execute.memory.storage import Memory, Storage
from ocl_runtime.execute.streams.command import Command, Stream
from ocl_runtime.execute.streams.hazards import Touch
from ocl_runtime.execute.streams.streams import Streams

_MOST_BLOCKS = 20
"""Of the ring, that one transfer uses."""
_COPIERS = 16
"""Threads that copy between arrays and pinned memory, if there are as many processors."""
_LEAST_PIECE = 64 * 2**10


class Job:
    """A transfer in pieces; `taken` is set when the host's array may change again, `failed` says why it did. Its
    `command` is the gate, `sources` are those that wrote what it reads, and `before` events of those that the host must
    wait for before it reads its own array. `begun` is set by the thread that does it, `wanted` is not once its giving
    was interrupted."""

    command: Command

    def __init__(self) -> None:
        self.taken = threading.Event()
        self.failed = ""
        self.sources: list[Command] = []
        self.before: list[Event] = []
        self.begun = False
        self.wanted = True

    def wait(self, streams: Streams) -> None:
        """Returns when it has ended. Raises `LaunchError` if it failed, or what it read was spoilt: that another job
        before it was, is nothing to it."""
        streams.wait(self.command, failed_too=True)
        for command in (*self.sources, self.command) if self.failed else self.sources:
            streams.wait(command)


@dataclass(frozen=True, slots=True)
class _Ordinary:
    bytes: Bytes


class _Ring:
    """The blocks that one job passes its pieces through."""

    def __init__(self, memory: Memory, nbytes: int) -> None:
        self.count = 0
        self._memory = memory
        self._nbytes = nbytes
        self._spare: list[Pinned | _Ordinary] = []

    def take(self) -> Pinned | _Ordinary | None:
        """A block that nothing uses; None where one must be given back first."""
        if self._spare:
            return self._spare.pop()
        if self.count == _MOST_BLOCKS:
            return None
        block: Pinned | _Ordinary | None = self._memory.staging(self._nbytes)
        if block is None and not self.count:
            block = _Ordinary(np.empty(self._nbytes, np.uint8))
        self.count += block is not None
        return block

    def give(self, block: Pinned | _Ordinary) -> None:
        """Nothing uses a block any more."""
        self._spare.append(block)


class _Threads:
    """Threads that do what they are given, in that order if there is one of them. They begin when they are needed and
    end with this. Unlike executors, they work until the very end of the process, for threads that are still at it.

    Starting a thread may be interrupted, and nobody knows then whether it runs. So each takes one of the `count` seats
    by itself, and one that finds none ends."""

    def __init__(self, name: str, count: int = 1) -> None:
        self._name = name
        self._seats = deque(range(count))
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        weakref.finalize(self, self._tasks.put, None).atexit = False

    def give(self, do: Callable[[], None]) -> Future[None]:
        """Something to be done."""
        if self._seats:
            threading.Thread(target=_sit, args=(self._seats, self._tasks), name=self._name, daemon=True).start()
        future: Future[None] = Future()
        self._tasks.put((future, do))
        return future


_Task: TypeAlias = "tuple[Future[None], Callable[[], None]]"


def _sit(seats: deque[int], tasks: SimpleQueue[_Task | None]) -> None:
    try:
        seat = seats.pop()
    except IndexError:
        return
    try:
        _work(tasks)
    finally:
        seats.append(seat)


def _work(tasks: SimpleQueue[_Task | None]) -> None:
    while (task := tasks.get()) is not None:
        future, do = task
        try:
            do()
        except BaseException as error:  # noqa: BLE001  # whoever asks for the result gets to see it
            future.set_exception(error)
        else:
            future.set_result(None)
        del task, future, do  # what they hold is not to wait for the next one
    tasks.put(None)  # for the others


class Movers:
    """The threads that transfer in pieces, one for each direction, and those that copy for them."""

    def __init__(self, driver: Driver, streams: Streams, memory: Memory) -> None:
        self._driver = driver
        self._streams = streams
        self._memory = memory
        self.piece = max(memory.staging_pool.sizes.page, _LEAST_PIECE)
        """Bytes of a block; what is no larger needs no job."""
        copiers = max(1, min(_COPIERS, os.cpu_count() or 1))
        self._copiers = _Threads("ocl-runtime-copy", copiers)
        self._up_mover = _Threads("ocl-runtime-up")
        self._down_mover = _Threads("ocl-runtime-down")

    def start(
        self, storage: Storage, at: int, data: Bytes, touch: Touch, on_host: Touch | None, what: str, where: str
    ) -> Job:
        """Starts a transfer from (where `touch` writes) or to `data`; byte `at` of the buffer is the first. `on_host`
        is the access to `data`, where others know of that."""
        up = bool(touch.mode & WRITE)
        lane = self._streams.uploads if up else self._streams.downloads
        mover = self._up_mover if up else self._down_mover
        pieces = self._up if up else self._down
        job = Job()
        tasks: list[tuple[Event, Callable[[], None]]] = []

        def enqueue(queue: Queue, waits: list[Event] | None, touches: Sequence[Touch]) -> Event:
            # Under the streams' lock, so that jobs start in the order of their gates.
            gate = self._driver.gate(queue, waits, touches)
            if not up:
                cells = touch.ranges.within(touch.low, touch.high)
                job.sources = list(dict.fromkeys(command for cell in cells for command, _ in cell.writes))
            elif on_host is not None:
                job.before = [
                    command.event for command in on_host.ranges.running(on_host.low, on_host.high, on_host.mode)
                ]
            transfer = partial(pieces, job, queue, storage, at, data, waits or [])
            tasks.append((gate, partial(self._run, job, lane, gate, transfer)))
            mover.give(tasks[0][1])
            return gate

        def ended(queue: Queue) -> Event:
            if not tasks:
                return self._driver.marker(queue, None)
            job.wanted = False
            mover.give(tasks[0][1])  # perhaps again; the gate opens when it is done for the first time
            return tasks[0][0]

        touches = [touch] if on_host is None else [touch, on_host]
        job.command = self._streams.submit(lane, touches, what, where, enqueue, keep=job, ended=ended)
        return job

    def _run(self, job: Job, lane: Stream, gate: Event, pieces: Callable[[], None]) -> None:
        """Does a job and opens its gate, whatever happens."""
        if job.begun:
            return
        job.begun = True
        driver = self._driver
        try:
            if job.wanted:
                pieces()
            else:
                self._after_all_before(job, lane)
        except BaseException as error:  # noqa: BLE001  # it belongs to whoever asks for the values
            job.failed = str(error) or type(error).__name__
            # What was begun still uses the memory, and the gate promises that all that it comes after has ended.
            with suppress(Error):
                driver.finish(lane.queue)
            self._after_all_before(job, lane)
        job.taken.set()
        # Even after a failure, which streams find in `failed`: PoCL never ends what waits for an event that failed. And
        # once more where the driver refuses, since all that waits for a gate that stays shut would never end either.
        for _ in range(2):
            with suppress(Error):
                driver.open(gate, ok=True)
                break

    def _after_all_before(self, job: Job, lane: Stream) -> None:
        """Waits for what a job's gate comes after."""
        with self._streams.lock:
            command = next((pending for pending in lane.pending if pending.keep is job), None)
        if command is not None:
            self._streams.before(command)

    def _copy(self, to: Bytes, from_: Bytes) -> Future[None]:
        return self._copiers.give(partial(np.copyto, to, from_))

    def _wait(self, events: list[Event]) -> None:
        """Here and not in the wait lists of pieces: these events may have failed by now (see `_run`)."""
        while events:
            self._driver.wait(events.pop())

    def _up(self, job: Job, queue: Queue, storage: Storage, low: int, data: Bytes, waits: list[Event]) -> None:
        driver, ring = self._driver, _Ring(self._memory, self.piece)
        filling: deque[tuple[int, int, Pinned | _Ordinary, Future[None]]] = deque()
        written: deque[tuple[Event, Pinned | _Ordinary]] = deque()
        at = 0
        self._wait(job.before)
        while at < data.size or filling or written:
            while at < data.size and (block := ring.take()) is not None:
                piece = data[at : at + self.piece]
                filling.append((at, piece.size, block, self._copy(block.bytes[: piece.size], piece)))
                at += piece.size
            if filling:
                start, size, block, filled = filling.popleft()
                filled.result()
                self._wait(waits)
                event = driver.write(queue, storage.buffer, low + start, block.bytes[:size], None, ())
                driver.flush(queue)
                written.append((event, block))
            if at == data.size and not filling:
                job.taken.set()
            if written and (not filling or (at < data.size and 2 * len(written) >= ring.count)):
                event, block = written.popleft()
                driver.wait(event)
                ring.give(block)

    def _down(self, job: Job, queue: Queue, storage: Storage, low: int, data: Bytes, waits: list[Event]) -> None:
        driver, ring = self._driver, _Ring(self._memory, self.piece)
        coming: deque[tuple[int, int, Pinned | _Ordinary, Event]] = deque()
        draining: deque[tuple[Pinned | _Ordinary, Future[None]]] = deque()
        at = 0
        self._wait(waits)
        while at < data.size or coming or draining:
            while at < data.size and (block := ring.take()) is not None:
                size = min(self.piece, data.size - at)
                event = driver.read(queue, storage.buffer, low + at, block.bytes[:size], None, ())
                driver.flush(queue)
                coming.append((at, size, block, event))
                at += size
            if coming:
                start, size, block, event = coming.popleft()
                driver.wait(event)
                draining.append((block, self._copy(data[start : start + size], block.bytes[:size])))
            if draining and (not coming or 2 * len(draining) >= ring.count):
                block, drained = draining.popleft()
                drained.result()
                ring.give(block)
