"""A device that computes with NumPy, as late and in as awkward an order as queues and waits allow.

Nothing runs when it is enqueued. Now and then, when the host calls, a command runs that could: the first of a queue,
flushed, with everything that it waits for ended; which one is up to a seeded random generator, and `slow` ones come
last. What is neither flushed nor waited for never runs, so a wait for something that only a flush would start is an
error (`StuckError`) instead of a hang. Host memory is read and written when the command runs, and not kept alive.

What a device does with a command that waits for a failed one differs between drivers, and `behind` says which it is:
it "fails" in its turn; it fails "at once", even before the others that it waits for and what its queue still runs, and
the queue goes on meanwhile (PoCL's, where what is given an event that has failed already never ends); or it "runs" as
if nothing had happened (Intel's).
"""

from __future__ import annotations

import random
import threading
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyopencl as cl

from ocl_runtime.execute.driver import Bytes, MemoryUse, Sizes
from ocl_runtime.execute.streams.hazards import Touch

FAILED = -5
"""OUT_OF_RESOURCES."""
SPOILT = -14
"""EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST."""
_PATIENCE = 20
"""Seconds to wait for another thread to open a gate."""


class StuckError(AssertionError):
    """Nothing will ever run what is being waited for."""


class Kernel:
    """A function over the bytes of buffers and over numbers."""

    def __init__(self, function: Callable[..., None], name: str = "") -> None:
        self.function = function
        self.function_name = name or function.__name__


class Buffer:
    """Bytes, at first garbage."""

    def __init__(self, nbytes: int) -> None:
        self.bytes = np.full(nbytes, 0xA5, np.uint8)
        self.released = False


class Queue:
    """Commands in order; those up to `flushed` have reached the device."""

    def __init__(self) -> None:
        self.pending: deque[Command] = deque()
        self.enqueued = 0
        self.flushed = 0


class Command:
    """A command and its event at once. `status` is OpenCL's: 0 complete, below 0 failed, above 0 before."""

    def __init__(self, queue: Queue | None, run: Callable[[], None] | None, waits: tuple[Command, ...]) -> None:
        self.queue = queue
        self.run = run
        self.waits = waits
        self.status = 3
        self.position = 0
        self.slow = False
        self.fails = False

    @property
    def ended(self) -> bool:
        return self.status <= 0


class Simulated:
    """The driver of such a device."""

    def __init__(self, seed: int = 0, *, behind: str = "fails", eager: float = 0.5) -> None:
        self.behind = behind
        self.eager = eager
        """How likely a call of the host's lets another command run."""
        self.calls: Counter[str] = Counter()
        self.fail_call: int | None = None
        """The number, from 1 on, of a call that fails."""
        self.failing: set[int] = set()
        """Commands, by number from 0 on, that fail when they should run."""
        self.slow: set[int] = set()
        """Commands that run only when somebody waits for them and nothing else can."""
        self.enqueued = 0
        self.order: list[int] = []
        """The commands that have run."""
        self._number: weakref.WeakKeyDictionary[Command, int] = weakref.WeakKeyDictionary()
        self._random = random.Random(seed)
        self._changed = threading.Condition(threading.RLock())
        self._queues: list[Queue] = []
        self._buffers: weakref.WeakSet[Buffer] = weakref.WeakSet()

    # ------------------------------------------------------------------ what tests ask

    @property
    def live_events(self) -> int:
        """Events that somebody still holds."""
        with self._changed:
            list(self._ready())
            return len(self._number)

    @property
    def live_buffers(self) -> int:
        """Buffers that have not been given back."""
        return sum(not buffer.released for buffer in self._buffers)

    @property
    def unfinished(self) -> int:
        """Commands that have not ended."""
        with self._changed:
            return sum(not command.ended for queue in self._queues for command in queue.pending)

    # ------------------------------------------------------------------ the driver's methods

    def queue(self) -> Queue:
        self._called("queue")
        self._queues.append(Queue())
        return self._queues[-1]

    def buffer(self, nbytes: int) -> Buffer:
        self._called("buffer")
        made = Buffer(nbytes)
        self._buffers.add(made)
        return made

    def pinned(self, nbytes: int) -> tuple[Buffer, Bytes]:
        self._called("pinned")
        made = Buffer(nbytes)
        self._buffers.add(made)
        return made, made.bytes

    def release(self, buffer: Buffer) -> None:
        self._called("release")
        assert not buffer.released, "a buffer is released twice"
        buffer.released = True

    def set_types(self, kernel: Kernel, types: Sequence[type[np.generic] | None]) -> None:
        self._called("set_types")

    def group_size_limit(self, kernel: Kernel) -> int:
        self._called("group_size_limit")
        return 1024

    def memory_use(self, kernel: Kernel) -> MemoryUse:
        self._called("memory_use")
        return MemoryUse(0, 0)

    def launch(
        self,
        queue: Queue,
        kernel: Kernel,
        args: tuple[Any, ...],
        sizes: tuple[Sizes, Sizes],
        waits: list[Command] | None,
        touched: Sequence[Touch],
    ) -> Command:
        def run() -> None:
            kernel.function(*[arg.bytes if isinstance(arg, Buffer) else arg for arg in args])

        return self._enqueue("launch", queue, run, waits, [arg for arg in args if isinstance(arg, Buffer)])

    def write(
        self,
        queue: Queue,
        buffer: Buffer,
        at: int,
        source: Bytes,
        waits: list[Command] | None,
        touched: Sequence[Touch],
    ) -> Command:
        host = _Borrowed(source)

        def run() -> None:
            buffer.bytes[at : at + host.nbytes] = host.bytes()

        return self._enqueue("write", queue, run, waits, [buffer])

    def read(
        self,
        queue: Queue,
        buffer: Buffer,
        at: int,
        target: Bytes,
        waits: list[Command] | None,
        touched: Sequence[Touch],
    ) -> Command:
        host = _Borrowed(target)

        def run() -> None:
            host.bytes()[:] = buffer.bytes[at : at + host.nbytes]

        return self._enqueue("read", queue, run, waits, [buffer])

    def fill(
        self,
        queue: Queue,
        buffer: Buffer,
        at: int,
        nbytes: int,
        pattern: np.generic,
        waits: list[Command] | None,
        touched: Sequence[Touch],
    ) -> Command:
        def run() -> None:
            buffer.bytes[at : at + nbytes] = np.resize(np.array([pattern]).view(np.uint8), nbytes)

        return self._enqueue("fill", queue, run, waits, [buffer])

    def copy(
        self,
        queue: Queue,
        source: Buffer,
        at: int,
        target: Buffer,
        target_at: int,
        nbytes: int,
        waits: list[Command] | None,
        touched: Sequence[Touch],
    ) -> Command:
        def run() -> None:
            target.bytes[target_at : target_at + nbytes] = source.bytes[at : at + nbytes]

        return self._enqueue("copy", queue, run, waits, [source, target])

    def marker(self, queue: Queue, waits: list[Command] | None) -> Command:
        return self._enqueue("marker", queue, lambda: None, waits, [])

    def gate(self, queue: Queue, waits: list[Command] | None, touched: Sequence[Touch]) -> Command:
        self._called("gate")
        with self._changed:
            return self._numbered(Command(None, None, ()))

    def open(self, gate: Command, *, ok: bool) -> None:
        self._called("open")
        with self._changed:
            assert not gate.ended, "a gate is opened twice"
            self._end(gate, 0 if ok else FAILED)
            self._changed.notify_all()

    def flush(self, queue: Queue) -> None:
        self._called("flush")
        with self._changed:
            queue.flushed = queue.enqueued
            self._sometimes()

    def status(self, event: Command) -> int:
        self._called("status")
        with self._changed:
            self._sometimes()
            return event.status

    def times(self, event: Command) -> tuple[int, int]:
        self._called("times")
        return self._number[event], self._number[event] + 1

    def wait(self, event: Command) -> None:
        self._called("wait")
        with self._changed:
            if event.queue is not None:
                event.queue.flushed = max(event.queue.flushed, event.position)
            self._run_until([event])
        if event.status < 0:
            raise cl.RuntimeError(f"clWaitForEvents failed: {SPOILT}")

    def finish(self, queue: Queue) -> None:
        self._called("finish")
        with self._changed:
            queue.flushed = queue.enqueued
            self._run_until(list(queue.pending))

    # ------------------------------------------------------------------ inside

    def _called(self, name: str) -> None:
        with self._changed:
            self.calls[name] += 1
            if self.calls.total() == self.fail_call:
                raise cl.RuntimeError(f"injected: call {self.fail_call}, {name}")

    def _numbered(self, command: Command) -> Command:
        number = self._number[command] = self.enqueued
        self.enqueued += 1
        command.slow, command.fails = number in self.slow, number in self.failing
        return command

    def _enqueue(
        self,
        name: str,
        queue: Queue,
        run: Callable[[], None],
        waits: list[Command] | None,
        buffers: list[Buffer],
    ) -> Command:
        self._called(name)
        assert waits is None or waits, "an empty wait list is an error in OpenCL"
        assert not any(buffer.released for buffer in buffers), "a released buffer is used"
        with self._changed:
            command = self._numbered(Command(queue, run, tuple(waits or ())))
            queue.enqueued += 1
            command.position = queue.enqueued
            queue.pending.append(command)
            if self.behind == "at once" and any(wait.status < 0 for wait in command.waits):
                raise StuckError("what waits for an event that has failed already never ends")
            self._sometimes()
            return command

    def _sometimes(self) -> None:
        while self._random.random() < self.eager:
            ready = [command for command in self._ready() if not command.slow]
            if not ready:
                return
            self._run(self._chosen(ready))

    def _run_until(self, events: list[Command]) -> None:
        """Runs what must be, and perhaps some more, until the events have ended."""
        wanted = _ancestors(events)
        while events:
            if events[-1].ended:
                events.pop()
                continue
            ready = list(self._ready())
            needed = [command for command in ready if command in wanted]
            if needed:
                self._run(self._chosen(ready if self._random.random() < self.eager else needed))
                continue
            left = [command for command in wanted if not command.ended]
            gates = [command for command in left if command.queue is None]
            if not gates or not self._changed.wait(_PATIENCE):
                raise StuckError(f"{len(left)} commands will never run: {len(gates)} gates are shut")

    def _ready(self) -> Iterator[Command]:
        for queue in self._queues:
            pending = queue.pending
            while pending and pending[0].ended:
                pending.popleft()
            follows = True
            for command in pending:
                if command.position > queue.flushed:
                    break
                if follows and not command.ended and all(wait.ended for wait in command.waits):
                    yield command
                follows = command.ended
                if self.behind != "at once":
                    break

    def _chosen(self, ready: list[Command]) -> Command:
        quick = [command for command in ready if not command.slow]
        return self._random.choice(quick or ready)

    def _run(self, command: Command) -> None:
        if command.fails:
            self._end(command, FAILED)
            return
        if self.behind == "fails" and any(wait.status < 0 for wait in command.waits):
            self._end(command, SPOILT)
            return
        assert command.run is not None
        self.order.append(self._number[command])
        command.run()
        self._end(command, 0)

    def _end(self, command: Command, status: int) -> None:
        command.status = status
        command.run, command.waits = None, ()
        if status < 0 and self.behind == "at once":
            for queue in self._queues:
                for waiting in queue.pending:
                    if not waiting.ended and command in waiting.waits:
                        self._end(waiting, SPOILT)


class _Borrowed:
    """Host memory that somebody else must keep alive."""

    def __init__(self, host: Bytes) -> None:
        owner: Any = host
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        self.nbytes = host.nbytes
        self._at = host.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
        self._owner = weakref.ref(owner)

    def bytes(self) -> Bytes:
        owner = self._owner()
        assert owner is not None, "host memory is gone while a command still needs it"
        return owner.reshape(-1).view(np.uint8)[self._at : self._at + self.nbytes]


def _ancestors(events: list[Command]) -> set[Command]:
    """The commands that must end for events to happen, and which have not."""
    ancestors: set[Command] = set()
    left = [event for event in events if not event.ended]
    while left:
        command = left.pop()
        if command in ancestors:
            continue
        ancestors.add(command)
        left += [wait for wait in command.waits if not wait.ended]
        if command.queue is not None:
            for before in command.queue.pending:
                if before is command:
                    break
                if not before.ended:
                    left.append(before)
    return ancestors
