"""A driver that writes down what passes through it: every command, and what the host learnt of its end.

The log is all that `order.py` needs to prove that no two conflicting accesses can run at once. It holds what the driver
was given: the queue, the events to wait for, as the commands they belong to, and the bytes touched. Of a transfer it
also holds the bytes that it moves, whether they were told or not.

A gate is a command too: its event is the host's to open, so it stands in no queue's order, but after the gates before
it, as `Driver.gate` promises. The pieces of a transfer that the host gives a queue behind a gate touch nothing by
themselves: they stand under the gate, begin after its waits and end before it opens.

Any thread may use the driver; a command and its place in the log are one step. The log keeps every event alive, so that
no two have the same identity: it is for tests and for finding faults, not for every day.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ocl_ir.kernel.accesses import READ, WRITE
from ocl_ir.layout import Layout
from ocl_runtime.execute.driver import Buffer, Bytes, Driver, Event, KernelHandle, MemoryUse, Queue, Sizes, Touches


class Access(NamedTuple):
    """Bytes `low … high` of a buffer, counted in the order of their first use; of them only the `footprint`, if any."""

    buffer: int
    low: int
    high: int
    mode: int
    footprint: Layout | None

    def __str__(self) -> str:
        does = ("touches", "reads", "writes", "reads and writes")[self.mode]
        gaps = " with gaps" if self.footprint is not None else ""
        return f"{does} bytes {self.low}…{self.high}{gaps} of buffer {self.buffer}"


@dataclass(frozen=True, slots=True, eq=False)
class Logged:
    """A command that the driver took. `number` counts them all, `queue` the queues in the order of their first use."""

    number: int
    what: str
    queue: int
    gate: bool
    waits: tuple[Logged, ...]
    accesses: tuple[Access, ...]

    def __str__(self) -> str:
        waits = " after " + ", ".join(str(wait.number) for wait in self.waits) if self.waits else ""
        return f"{self.number} on queue {self.queue}{waits}: {self.what} {', '.join(map(str, self.accesses))}".rstrip()

    def __repr__(self) -> str:
        return f"<{self}>"


@dataclass(frozen=True, slots=True, eq=False)
class Ended:
    """The host learnt that commands have ended; not `well`: that the one has failed, which says nothing of others."""

    commands: tuple[Logged, ...]
    well: bool = True

    def __str__(self) -> str:
        word = "have completed" if self.well else "has failed"
        return f"the host knows that {', '.join(str(command.number) for command in self.commands)} {word}"


Entry: TypeAlias = "Logged | Ended"


class Recording:
    """Passes everything on to another driver, and keeps `log`."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self._entries: list[Entry] = []
        self._lock = threading.RLock()
        self._events: dict[int, tuple[Event, Logged]] = {}
        self._ended: set[Logged] = set()
        self._queues: dict[int, tuple[Queue, int]] = {}
        self._buffers: dict[int, tuple[Buffer, int]] = {}
        self._in_queues: dict[int, list[Logged]] = {}

    @property
    def log(self) -> list[Entry]:
        """What has happened so far, in order."""
        with self._lock:
            return list(self._entries)

    @property
    def commands(self) -> list[Logged]:
        """The commands so far."""
        return [entry for entry in self.log if isinstance(entry, Logged)]

    def logged(self, event: Event) -> Logged:
        """The command that an event belongs to."""
        return self._events[id(event)][1]

    # ------------------------------------------------------------------ what is written down

    def _recorded(
        self,
        what: str,
        queue: Queue,
        waits: list[Event] | None,
        touched: Touches,
        moved: Access | None,
        enqueue: Callable[[], Event],
        *,
        gate: bool = False,
    ) -> Event:
        with self._lock:
            event = enqueue()
            accesses = [
                Access(self._buffer(touch.ranges.buffer), touch.low, touch.high, touch.mode, touch.footprint)
                for touch in touched
            ]
            if moved is not None and touched and not any(_covers(access, moved) for access in accesses):
                accesses.append(moved)
            commands = len(self._events)
            number = self._queues.setdefault(id(queue), (queue, len(self._queues)))[1]
            before = tuple(self.logged(wait) for wait in waits or ())
            logged = Logged(commands, what, number, gate, before, tuple(accesses))
            self._events[id(event)] = event, logged
            self._entries.append(logged)
            if not gate:
                self._in_queues.setdefault(number, []).append(logged)
            return event

    def _buffer(self, buffer: Buffer) -> int:
        return self._buffers.setdefault(id(buffer), (buffer, len(self._buffers)))[1]

    def _learnt(self, commands: Sequence[Logged], *, well: bool = True) -> None:
        with self._lock:
            new = tuple(command for command in commands if command not in self._ended)
            if new:
                self._ended.update(new)
                self._entries.append(Ended(new, well))

    # ------------------------------------------------------------------ the driver's methods

    def listens(self) -> bool:
        """That is what it is for."""
        return True

    def queue(self) -> Queue:
        """Passed on."""
        return self.driver.queue()

    def buffer(self, nbytes: int) -> Buffer:
        """Passed on."""
        return self.driver.buffer(nbytes)

    def pinned(self, nbytes: int) -> tuple[Buffer, Bytes]:
        """Passed on."""
        return self.driver.pinned(nbytes)

    def release(self, buffer: Buffer) -> None:
        """Passed on."""
        self.driver.release(buffer)

    def set_types(self, kernel: KernelHandle, types: Sequence[type[np.generic] | None]) -> None:
        """Passed on."""
        self.driver.set_types(kernel, types)

    def group_size_limit(self, kernel: KernelHandle) -> int:
        """Passed on."""
        return self.driver.group_size_limit(kernel)

    def memory_use(self, kernel: KernelHandle) -> MemoryUse:
        """Passed on."""
        return self.driver.memory_use(kernel)

    def launch(
        self,
        queue: Queue,
        kernel: KernelHandle,
        args: tuple[Any, ...],
        sizes: tuple[Sizes, Sizes],
        waits: list[Event] | None,
        touched: Touches,
    ) -> Event:
        """Passed on and written down."""
        name = str(getattr(kernel, "function_name", "kernel"))

        def enqueue() -> Event:
            return self.driver.launch(queue, kernel, args, sizes, waits, touched)

        return self._recorded(name, queue, waits, touched, None, enqueue)

    def write(
        self,
        queue: Queue,
        buffer: Buffer,
        at: int,
        source: Bytes,
        waits: list[Event] | None,
        touched: Touches,
    ) -> Event:
        """Passed on and written down."""

        def enqueue() -> Event:
            return self.driver.write(queue, buffer, at, source, waits, touched)

        moved = Access(self._buffer(buffer), at, at + source.nbytes, WRITE, None)
        return self._recorded("write", queue, waits, touched, moved, enqueue)

    def read(
        self,
        queue: Queue,
        buffer: Buffer,
        at: int,
        target: Bytes,
        waits: list[Event] | None,
        touched: Touches,
    ) -> Event:
        """Passed on and written down."""

        def enqueue() -> Event:
            return self.driver.read(queue, buffer, at, target, waits, touched)

        moved = Access(self._buffer(buffer), at, at + target.nbytes, READ, None)
        return self._recorded("read", queue, waits, touched, moved, enqueue)

    def fill(
        self,
        queue: Queue,
        buffer: Buffer,
        at: int,
        nbytes: int,
        pattern: np.generic,
        waits: list[Event] | None,
        touched: Touches,
    ) -> Event:
        """Passed on and written down."""

        def enqueue() -> Event:
            return self.driver.fill(queue, buffer, at, nbytes, pattern, waits, touched)

        moved = Access(self._buffer(buffer), at, at + nbytes, WRITE, None)
        return self._recorded("fill", queue, waits, touched, moved, enqueue)

    def copy(
        self,
        queue: Queue,
        source: Buffer,
        at: int,
        target: Buffer,
        target_at: int,
        nbytes: int,
        waits: list[Event] | None,
        touched: Touches,
    ) -> Event:
        """Passed on and written down."""

        def enqueue() -> Event:
            return self.driver.copy(queue, source, at, target, target_at, nbytes, waits, touched)

        moved = Access(self._buffer(target), target_at, target_at + nbytes, WRITE, None)
        return self._recorded("copy", queue, waits, touched, moved, enqueue)

    def map(
        self, queue: Queue, buffer: Buffer, at: int, nbytes: int, waits: list[Event] | None, touched: Touches
    ) -> tuple[Event, Bytes]:
        """Passed on and written down."""
        mapped: list[Bytes] = []

        def enqueue() -> Event:
            event, host = self.driver.map(queue, buffer, at, nbytes, waits, touched)
            mapped.append(host)
            return event

        moved = Access(self._buffer(buffer), at, at + nbytes, READ, None)
        return self._recorded("map", queue, waits, touched, moved, enqueue), mapped[0]

    def enqueue(
        self,
        queue: Queue,
        kernel: KernelHandle,
        global_size: Sizes,
        group_size: Sizes,
        offset: None,
        waits: list[Event] | None,
    ) -> Event:
        """Passed on and written down, without what it touches, which it is not told: see `listens`."""

        def enqueue() -> Event:
            return self.driver.enqueue(queue, kernel, global_size, group_size, offset, waits)

        return self._recorded(str(getattr(kernel, "function_name", "kernel")), queue, waits, (), None, enqueue)

    def marker(self, queue: Queue, waits: list[Event] | None) -> Event:
        """Passed on and written down."""

        def enqueue() -> Event:
            return self.driver.marker(queue, waits)

        return self._recorded("marker", queue, waits, (), None, enqueue)

    def gate(self, queue: Queue, waits: list[Event] | None, touched: Touches) -> Event:
        """Passed on and written down."""

        def enqueue() -> Event:
            return self.driver.gate(queue, waits, touched)

        return self._recorded("gate", queue, waits, touched, None, enqueue, gate=True)

    def open(self, gate: Event, *, ok: bool) -> None:
        """Passed on. That it has opened counts once the host asks: nobody else can know."""
        self.driver.open(gate, ok=ok)

    def flush(self, queue: Queue) -> None:
        """Passed on."""
        self.driver.flush(queue)

    def status(self, event: Event) -> int:
        """Passed on; that something has ended is written down."""
        status = self.driver.status(event)
        if status <= 0:
            self._learnt([self.logged(event)], well=status == 0)
        return status

    def times(self, event: Event) -> tuple[int, int]:
        """Passed on."""
        return self.driver.times(event)

    def wait(self, event: Event) -> None:
        """Passed on; that it has ended is written down, unless it raises."""
        self.driver.wait(event)
        self._learnt([self.logged(event)])

    def finish(self, queue: Queue) -> None:
        """Passed on; that all of the queue's commands have ended is written down."""
        with self._lock:
            number = self._queues.setdefault(id(queue), (queue, len(self._queues)))[1]
            before = list(self._in_queues.get(number, ()))
        self.driver.finish(queue)
        self._learnt(before)


def _covers(access: Access, other: Access) -> bool:
    """Whether an access includes all of another."""
    same = access.buffer == other.buffer and not other.mode & ~access.mode and access.footprint is None
    return same and access.low <= other.low and access.high >= other.high
