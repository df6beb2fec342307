"""Memory that PyOpenCL uses too: theirs that was borrowed, ours that was lent.

Memory is shared with a queue, the *guest*. As long as it is, each command of ours that touches it comes after all that
the queue was given before, and all that the queue is given afterwards comes after the command: a marker on the queue,
for which the command waits, and another one that waits for the command. So whatever a user enqueues there is ordered
with our work as the program says, and nothing has to be announced. A stream whose queue it is needs neither.

Borrowed memory is a storage like any other, but its one block lies in the user's buffer and returns to no pool; it is
known by the buffer's address, so that the same buffer borrowed twice has one history. Lent memory is held by the buffer
object that PyOpenCL was given, and when that goes, until all that the queue has by then has ended.

Objects go at any moment, and that only puts them on a list, as with the pool. Whoever is to be told of that is there
before what it is told of, so that an interrupt leaves nothing behind.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ocl_ir.layout import Layout
from ocl_runtime.device import Device, in_order
from ocl_runtime.errors import DTypeError, MixedDevicesError, SharingError
from ocl_runtime.execute.driver import Context, Driver, Error, Event, Queue
from ocl_runtime.execute.memory.blocks import Block
from ocl_runtime.execute.memory.storage import Memory, Storage
from ocl_runtime.execute.sharing import foreign
from ocl_runtime.execute.sharing.borrowed import Borrowed, block_of, laid_out, laid_out_in
from ocl_runtime.execute.sharing.foreign import ImportedMemory
from ocl_runtime.execute.streams.command import Command, Stream
from ocl_runtime.execute.streams.hazards import Ranges, Touch
from ocl_runtime.execute.streams.streams import Streams


class _Gone(weakref.ref[Any]):
    """What is put on the list when an object goes, and who it belonged to."""

    __slots__ = ("of",)
    of: _Guest | _Shared


@dataclass(eq=False)
class _Guest:
    """A queue whose commands use a memory. `storage` holds what was lent, for as long as the object that `holder` looks
    at is there; `end` is an event that comes after the last of them, once nobody can give the queue another one."""

    queue: Queue
    shared: _Shared
    storage: Storage | None = None
    holder: _Gone | None = None
    end: Event | None = None


@dataclass(eq=False)
class _Shared:
    """A memory with its guests. `events` are the user's, which nothing of ours waits for yet; `keep` lives as long as
    this. `storage` is what our arrays hold of borrowed memory, and `address` that of the user's buffer."""

    block: Block
    guests: list[_Guest] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    keep: list[object] = field(default_factory=list)
    storage: _Gone | None = None
    address: int = 0


class _Holder:
    """What the buffer object that PyOpenCL was given holds."""

    __slots__ = ("__weakref__", "guest")

    def __init__(self, guest: _Guest) -> None:
        self.guest = guest


class Sharing:
    """The memory that one runtime shares with users of PyOpenCL. Any thread may use it."""

    def __init__(self, driver: Driver, streams: Streams, memory: Memory, device: Device, context: Context) -> None:
        self._driver = driver
        self._streams = streams
        self._memory = memory
        self._unified = device.capabilities.unified_memory
        self._context = context
        self._all: dict[Ranges, _Shared] = {}
        self._borrowed: dict[int, _Shared] = {}
        self._gone: deque[_Gone] = deque()
        """Lent buffers and borrowed storages that nobody refers to any more."""
        self._ending: dict[_Shared, None] = {}
        """What these belong to, until the last work has ended."""
        memory.may_give_up(self)

    def shares(self, storage: Storage) -> bool:
        """Whether somebody else may write to it."""
        with self._streams.lock:
            self._settle()
            return storage.block.ranges in self._all

    # ------------------------------------------------------------------ theirs

    def borrow(
        self,
        obj: object,
        dtype: np.dtype[Any] | None,
        shape: tuple[int, ...] | None,
        offset: int,
        queue: Queue | None,
        wait_for: Sequence[Event],
        where: str,
    ) -> tuple[Storage | None, np.dtype[Any], Layout]:
        """The memory of a PyOpenCL buffer or array without a copy, with what lies where in it; no elements have none.

        Raises `DTypeError`, `ShapeError` or `SharingError` for what cannot be had so, `MixedDevicesError` for another
        context's, `DeviceError` for an out-of-order queue.
        """
        imported = foreign.looked_into(obj, where)
        dtype, layout = laid_out(imported, dtype, shape, offset, where)
        if imported.buffer is None or not layout.size:
            return None, dtype, Layout.contiguous(layout.shape)
        if foreign.context_of(imported.buffer) != self._context:
            raise MixedDevicesError(
                "the PyOpenCL memory belongs to another context than the runtime in use",
                place=where,
                remedy="make a runtime over that context, and use it: with use(Runtime.over(queue)): …",
            )
        guest_queue = self._queue(imported.queue if queue is None else queue, where)
        events = foreign.checked_events([*imported.events, *wait_for], self._context, where)
        with self._streams.lock:
            self._settle()
            storage = self._lent_before(imported, where)
            if storage is not None:  # its guests are those that it was lent to; of others, what there is now
                shared = self._of(storage)
                if storage not in shared.keep:
                    shared.keep.append(storage)
                layout = laid_out_in(storage, dtype, layout, where)
                events.append(self._driver.marker(guest_queue, None))
                self._driver.flush(guest_queue)
            else:
                storage = self._storage(imported, where)
                shared = self._of(storage)
                if all(guest.queue != guest_queue for guest in shared.guests if guest.storage is None):
                    shared.guests.append(_Guest(guest_queue, shared))
            shared.events += events
        return storage, dtype, layout

    def _lent_before(self, imported: ImportedMemory, where: str) -> Storage | None:
        """Our own memory, if it is that which comes back."""
        holder = imported.holder
        storage = holder.guest.storage if isinstance(holder, _Holder) else None
        if storage is not None and storage.memory is self._memory:
            return storage
        if any(
            guest.storage is not None and guest.storage.buffer.int_ptr == imported.address for guest in self._guests()
        ):
            raise SharingError(
                "the PyOpenCL buffer is memory of this runtime, by another object than to_pyopencl gave",
                place=where,
                remedy="give the array that to_pyopencl made, or a view of it",
            )
        return None

    def _storage(self, imported: ImportedMemory, where: str) -> Storage:
        shared = self._borrowed.get(imported.address)
        storage = shared.storage() if shared is not None and shared.storage is not None else None
        if storage is None:
            if shared is None:
                shared = _Shared(block_of(imported, where, unified=self._unified), address=imported.address)
            # What is left of an earlier storage is its history, which the new one goes on with.
            storage = Borrowed(self._memory, shared.block)
            gone = _Gone(storage, self._gone.append)
            gone.of = shared
            shared.storage = gone
            self._borrowed[imported.address] = shared
            self._all[shared.block.ranges] = shared
            self._streams.guests = self
        assert shared is not None
        if not any(kept is imported.keep for kept in shared.keep):
            shared.keep.append(imported.keep)
        return storage

    # ------------------------------------------------------------------ ours

    def lend(
        self, storage: Storage | None, dtype: np.dtype[Any], layout: Layout, queue: Queue | None, where: str
    ) -> Any:
        """A PyOpenCL array over elements of a storage, or without any; what the queue is given from now on comes after
        all that was done to it.

        Raises `LaunchError` for what an earlier failure spoilt, `DeviceError` for an out-of-order queue,
        `MixedDevicesError` for another context's.
        """
        guest_queue = self._queue(queue, where)
        strides = tuple(stride * dtype.itemsize for stride in layout.strides)
        if storage is None:
            return foreign.array(guest_queue, None, dtype, layout.shape, strides, 0, [])
        with self._streams.lock:
            self._settle()
            shared = self._of(storage)
            events = self._caught_up(shared, guest_queue)
            guest = _Guest(guest_queue, shared)
            holder = _Holder(guest)
            guest.holder = _Gone(holder, self._gone.append)
            guest.holder.of = guest
            guest.storage = storage
            storage.guests += 1
            shared.guests.append(guest)
        buffer = foreign.lent(storage.buffer, holder)
        start = storage.start + layout.offset * dtype.itemsize
        return foreign.array(guest_queue, buffer, dtype, layout.shape, strides, start, events)

    def _caught_up(self, shared: _Shared, queue: Queue) -> list[Event]:
        """Has a queue wait for what we, and other guests, do to a memory; an event of that, if there is anything."""
        ranges = shared.block.ranges
        self._streams.look()
        for cell in ranges.cells:
            for command, _ in cell.writes:
                if command.error is not None:
                    raise command.error.error()
        newest: dict[Stream, Command] = {}
        for command in ranges.commands():
            if command.stream.queue != queue and command.position >= newest.get(command.stream, command).position:
                newest[command.stream] = command
        for command in newest.values():
            self._streams.started(command)
        waits = [command.event for command in newest.values()] + self._markers([shared], queue)
        if shared.events:
            foreign.wait_in(queue, shared.events)
        return [self._driver.marker(queue, waits)] if waits else []

    # ------------------------------------------------------------------ order

    def before(self, stream: Stream, touches: Sequence[Touch]) -> list[Event]:
        """The events that a command must wait for besides; those of the user's go into the queue itself."""
        self._settle()
        touched = self._touched(touches)
        for shared in touched:
            if shared.events:
                foreign.wait_in(stream.queue, shared.events)
        return self._markers(touched, stream.queue) if touched else []

    def after(self, command: Command, touches: Sequence[Touch]) -> None:
        """Has the guests of what was touched wait for it."""
        touched = self._touched(touches)
        queues: list[Queue] = []
        for shared in touched:
            active = [guest.queue for guest in shared.guests if guest.end is None]
            queues += [queue for queue in active if queue not in queues]
            if active:
                shared.events = []  # the guest comes after this command, and with it whatever comes next
        for queue in queues:
            if queue != command.stream.queue:
                self._streams.started(command)
                self._driver.marker(queue, [command.event])

    def _touched(self, touches: Sequence[Touch]) -> list[_Shared]:
        entries = (self._all.get(touch.ranges) for touch in touches)
        return list(dict.fromkeys(shared for shared in entries if shared is not None))

    def _markers(self, touched: Sequence[_Shared], queue: Queue) -> list[Event]:
        """Events of all that the guests of these memories were given so far, but for a queue itself."""
        events: list[Event] = []
        queues: list[Queue] = []
        for guest in (guest for shared in touched for guest in shared.guests):
            if guest.queue == queue or guest.queue in queues:
                continue
            if guest.end is not None:
                events.append(guest.end)
            else:
                queues.append(guest.queue)
        for other in queues:
            events.append(self._driver.marker(other, None))
            self._driver.flush(other)
        return events

    # ------------------------------------------------------------------ what is over

    def settle(self) -> None:
        """Lets go of what nobody uses any more."""
        with self._streams.lock:
            self._streams.look()
            self._settle()

    def give_up(self) -> None:
        """Waits for the last work on what was lent and came back, for when memory is short."""
        self.settle()
        with self._streams.lock:
            ends = self._ends()
        for event in ends:
            with suppress(Error):
                self._driver.wait(event)
        self.settle()

    def _ends(self) -> list[Event]:
        return [guest.end for guest in self._guests() if guest.end is not None]

    def _settle(self) -> None:
        while self._gone:
            record = self._gone[0].of  # removed once it is dealt with
            if isinstance(record, _Guest):
                if record.end is None:
                    end = self._driver.marker(record.queue, None)
                    self._driver.flush(record.queue)
                    if record.storage is not None:
                        record.storage.guests -= 1
                    record.end, record.holder = end, None
                record = record.shared
            self._ending[record] = None
            self._gone.popleft()
        for shared in list(self._ending):
            shared.guests = [guest for guest in shared.guests if guest.end is None or not self._over(guest.end)]
            if shared.storage is None:
                used = bool(shared.guests)
                over = not used and all(map(foreign.has_ended, shared.events))
            else:
                used = shared.storage() is not None
                over = not used and shared.block.idle()
            if over and self._all.get(shared.block.ranges) is shared:
                self._forget(shared)
            if over or (used and all(guest.end is None for guest in shared.guests)):
                del self._ending[shared]
        if not self._all:
            self._streams.guests = None

    def _forget(self, shared: _Shared) -> None:
        """Nobody of ours, or nobody else, uses it any more."""
        self._all.pop(shared.block.ranges, None)
        # At once, and not when the garbage of Python is next collected: it may be much memory.
        shared.guests.clear()
        shared.keep.clear()
        if shared.storage is not None:
            shared.storage = None
            self._borrowed.pop(shared.address, None)
            with suppress(Error):
                self._driver.release(shared.block.page.buffer)

    def _over(self, event: Event) -> bool:
        try:
            return self._driver.status(event) <= 0
        except Error:
            return False

    def _guests(self) -> list[_Guest]:
        return [guest for shared in self._all.values() for guest in shared.guests]

    def _of(self, storage: Storage) -> _Shared:
        ranges = storage.block.ranges
        shared = self._all.get(ranges)
        if shared is None:
            shared = _Shared(storage.block)
            self._ending[shared] = None  # unless it gets a guest
            self._all[ranges] = shared
            self._streams.guests = self
        return shared

    def _queue(self, queue: Queue | None, where: str) -> Queue:
        """The queue that memory is shared with: by default stream 0's."""
        if queue is None:
            return self._streams.first.queue
        if not foreign.is_queue(queue):
            raise DTypeError(f"{type(queue).__name__} is no queue", place=where, remedy="give a pyopencl.CommandQueue")
        if foreign.context_of(queue) != self._context:
            raise MixedDevicesError(
                "the queue belongs to another context than the runtime",
                place=where,
                remedy="make the runtime over the queue: Runtime.over(queue)",
            )
        return in_order(queue)
