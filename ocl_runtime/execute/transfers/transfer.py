"""Host to device, back, and from memory of the device to other memory there, without holding up the calling thread.

What a device can copy by itself is one command: pinned arrays, and everything where it shares the host's memory. Small
pieces of ordinary memory go through a block of pinned memory, large ones through several (`staging.py`).

An upload either takes a copy before it returns (`snapshot`), or relies on the array staying as it is until it has
ended; either way the array is kept alive. For a snapshot the host waits for the device's own copying only where no
other command can be in its way; else it copies too.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ocl_ir.kernel.accesses import READ, WRITE
from ocl_ir.source_line import Where
from ocl_runtime.device import Device
from ocl_runtime.errors import DTypeError, LaunchError, ShapeError
from ocl_runtime.execute.driver import Bytes, Driver, Error, Event, Queue
from ocl_runtime.execute.memory.storage import Memory, Storage
from ocl_runtime.execute.streams.command import Command, Stream
from ocl_runtime.execute.streams.completion import Moved
from ocl_runtime.execute.streams.hazards import Touch
from ocl_runtime.execute.streams.streams import Streams
from ocl_runtime.execute.transfers.mapped import array_over
from ocl_runtime.execute.transfers.staging import Movers

_SMALL = 64 * 2**10
"""Bytes that are copied sooner than another thread is waited for."""


class Download:
    """Values on their way to `target`: `come` waits for them."""

    __slots__ = ("_come", "_command", "_streams", "_target")

    def __init__(
        self, streams: Streams, command: Command, target: np.ndarray[Any, Any], come: Callable[[], None]
    ) -> None:
        self._streams = streams
        self._command = command
        self._target = target
        self._come: Callable[[], None] | None = come

    def done(self) -> bool:
        """Whether `result` would return at once. Whoever asks again and again gets to hear so some time."""
        streams, command = self._streams, self._command
        streams.look()
        with streams.lock:
            stream = command.stream
            if command.event is not None and stream.flushed < command.position:
                with suppress(Error):
                    streams.driver.flush(stream.queue)
                    stream.flushed = stream.position
                    streams.counters.flushes += 1
        return command.event is None

    def result(self) -> np.ndarray[Any, Any]:
        """The values, once they have come. Raises `LaunchError` for the failure that spoilt them."""
        come = self._come
        if come is not None:
            come()
            self._come = None  # it holds the memory that the values came through
        return self._target


class Transfers:
    """Moves data of one device."""

    def __init__(self, driver: Driver, streams: Streams, memory: Memory, device: Device) -> None:
        self._driver = driver
        self._streams = streams
        self._memory = memory
        self._movers = Movers(driver, streams, memory)
        self._shared = device.capabilities.unified_memory
        # Letting go of a transfer's event waits for it inside of PyOpenCL, where the threads that it needs cannot run.
        weakref.finalize(self, _finish, streams, os.getpid())

    # ------------------------------------------------------------------ up

    def upload(self, source: np.ndarray[Any, Any], stream: Stream, where: str, *, snapshot: bool = True) -> Storage:
        """New memory with a contiguous host array's elements in C order; the array has at least one.

        Without `snapshot` the array must stay as it is until they are there.
        """
        if source.dtype.hasobject:
            raise DTypeError(f"upload of {source.dtype}, which are Python's objects", place=where)
        data = source.reshape(-1).view(np.uint8)
        what = f"the upload of {source.nbytes:,} bytes"
        host = self._memory.host
        if not self._shared and host.pinned_under(source) is None:
            return self._upload_staged(data, stream, what, where, snapshot=snapshot)
        if not snapshot:
            return self._upload(data, host.touch(READ, data), stream, what, where)[0]
        aside = self._undisturbed()
        if aside is not None and (data.nbytes > _SMALL or not self._shared):
            storage, command = self._upload(data, host.touch(READ, data), aside, what, where)
            self._streams.wait(command)
            return storage
        if self._shared:
            host.wait(READ, data)
            return self._upload(data.copy(), None, stream, what, where)[0]
        return self._upload_staged(data, stream, what, where, snapshot=True)

    def _upload(
        self, data: Bytes, read: Touch | None, stream: Stream, what: str, where: str
    ) -> tuple[Storage, Command]:
        """In one command, of memory that the device can reach; `read` is what it reads there, if others know of it."""
        storage = self._memory.allocate(data.nbytes, where, stream)
        touches = [storage.touch(WRITE)] if read is None else [storage.touch(WRITE), read]
        args = (self._driver.write, storage.buffer, storage.start, data)
        return storage, self._streams.submit(stream, touches, what, where, *args, keep=data)

    def _upload_staged(self, data: Bytes, stream: Stream, what: str, where: str, *, snapshot: bool) -> Storage:
        host, own = self._memory.host, data.nbytes <= self._movers.piece
        if own:
            host.wait(READ, data)
            block = self._memory.staging(data.nbytes, where)
            if block is not None:
                np.copyto(block.bytes, data)
                return self._upload(block.bytes, block.touch(READ, block.bytes), stream, what, where)[0]
            data = data.copy()
        storage = self._memory.allocate(data.nbytes, where, self._streams.uploads)
        read = None if own else host.touch(READ, data)
        job = self._movers.start(storage, storage.start, data, storage.touch(WRITE), read, what, where)
        if snapshot and data.nbytes > self._movers.piece:
            job.taken.wait()
        return storage

    def _undisturbed(self) -> Stream | None:
        """The stream of single transfers, if they would wait there for nothing but the device's copying."""
        streams = self._streams
        streams.look()
        # Where kernels run on the host's own cores they are in the way on whichever stream.
        busy = any(stream.pending for stream in streams.all()) if self._shared else bool(streams.aside.pending)
        return None if busy else streams.aside

    # ------------------------------------------------------------------ down

    def download(
        self,
        storage: Storage,
        dtype: np.dtype[Any],
        count: int,
        offset: int,
        where: Where,
        out: np.ndarray[Any, Any] | None = None,
    ) -> Download:
        """`count` elements (at least one) from element `offset` on, as a new 1-D array or in a contiguous `out`.

        Raises `ShapeError` if they are not there or `out` has not room for just them, `DTypeError` if it has another
        dtype.
        """
        itemsize = dtype.itemsize
        low, nbytes = offset * itemsize, count * itemsize
        if offset < 0 or count < 1 or low + nbytes > storage.nbytes:
            raise ShapeError(
                f"elements {offset} to {offset + count} of a storage that has {storage.nbytes // itemsize}",
                place=f"{storage!r}, read as {dtype}",
                remedy="ask for elements that are there",
            )
        streams, touch, what = self._streams, storage.touch(READ, low, low + nbytes), _download(nbytes)
        if out is None and self._shared:
            target = np.empty(count, dtype)  # of which nobody else knows
            args = (self._driver.read, storage.buffer, storage.start + low, target)
            command = streams.submit(self._stream_of(touch), (touch,), what, where, *args, keep=target)
            return Download(streams, command, target, partial(streams.wait, command))
        return self._download_to(out, storage, dtype, count, low, touch, what, where)

    def _download_to(
        self,
        out: np.ndarray[Any, Any] | None,
        storage: Storage,
        dtype: np.dtype[Any],
        count: int,
        low: int,
        touch: Touch,
        what: str,
        where: Where,
    ) -> Download:
        """To memory that others may know of, or that the device does not reach by itself."""
        if out is not None:
            _check(out, dtype, count)
        target = np.empty(count, dtype) if out is None else out
        data, at = target.reshape(-1).view(np.uint8), storage.start + low
        host, block = self._memory.host, None
        written = None if out is None else host.touch(WRITE, data)
        if not self._shared and host.pinned_under(target) is None:
            block = self._memory.staging(data.nbytes, where) if data.nbytes <= self._movers.piece else None
            if block is None:
                job = self._movers.start(storage, at, data, touch, written, what, str(where))
                return Download(self._streams, job.command, target, partial(job.wait, self._streams))
        goal = data
        if block is not None:
            goal, written = block.bytes, block.touch(WRITE, block.bytes)
        touches = [touch] if written is None else [touch, written]
        args = (self._driver.read, storage.buffer, at, goal)
        command = self._streams.submit(self._stream_of(touch), touches, what, where, *args, keep=goal)

        def come() -> None:
            self._streams.wait(command)
            if block is not None:
                if out is not None:  # of a new array nobody else knows
                    host.wait(WRITE, data)
                np.copyto(data, block.bytes)

        return Download(self._streams, command, target, come)

    def view(
        self, storage: Storage, dtype: np.dtype[Any], count: int, offset: int, where: str
    ) -> np.ndarray[Any, Any] | None:
        """`count` elements from element `offset` on, in place and read-only, once they are there; None where the device
        has memory of its own."""
        if not self._shared:
            return None
        low, high = offset * dtype.itemsize, (offset + count) * dtype.itemsize
        touch, mapped = storage.touch(READ), []

        def enqueue(queue: Queue, waits: list[Event] | None, touches: Sequence[Touch]) -> Event:
            # Always all of it: of maps that begin at one byte but differ in size, Intel's driver unmaps only some.
            event, host = self._driver.map(queue, storage.buffer, storage.start, storage.nbytes, waits, touches)
            mapped.append(host)
            return event

        what = f"the view of {high - low:,} bytes"
        command = self._streams.submit(self._stream_of(touch), [touch], what, where, enqueue, keep=storage)
        self._streams.wait(command)
        return array_over(storage, mapped[0][low:high], dtype)

    def copy(self, storage: Storage, low: int, nbytes: int, where: Where) -> Storage:
        """New memory with bytes of a storage from byte `low` on, on the caller's stream."""
        stream = self._streams.current()
        made = self._memory.allocate(nbytes, where, stream)
        touches = storage.touch(READ, low, low + nbytes), made.touch(WRITE)
        args = (self._driver.copy, storage.buffer, storage.start + low, made.buffer, made.start, nbytes)
        self._streams.submit(stream, touches, "a copy on the device", where, *args, keep=Moved(2 * nbytes))
        return made

    # ------------------------------------------------------------------ which stream

    def _stream_of(self, touch: Touch) -> Stream:
        """The stream whose last command wrote these bytes, since nothing has to be waited for there; else that of
        single transfers, or another one with nothing to do, or where there is none the caller's own."""
        streams = self._streams
        with streams.lock:
            for cell in touch.ranges.within(touch.low, touch.high):
                for command, _ in cell.writes:
                    writer = command.stream
                    last = command.event is not None and command.position == writer.position
                    if not last or writer.index >= streams.count:
                        continue
                    return writer
        aside = streams.aside
        if not aside.pending:
            return aside
        streams.look()
        for stream in (aside, *streams.all()):
            if not stream.pending and stream not in (streams.uploads, streams.downloads):
                return stream
        return streams.current()


@lru_cache
def _download(nbytes: int) -> str:
    return f"the download of {nbytes:,} bytes"


def _finish(streams: Streams, process: int) -> None:
    if os.getpid() == process:  # a forked child has nothing to wait for
        with suppress(LaunchError):
            streams.finish()


def _check(out: np.ndarray[Any, Any], dtype: np.dtype[Any], count: int) -> None:
    if out.dtype != dtype:
        raise DTypeError(f"download of {dtype} into an array of {out.dtype}", remedy="give an array of the same dtype")
    if out.size != count or not out.flags.c_contiguous or not out.flags.writeable:
        raise ShapeError(
            f"download of {count} elements into an array of shape {out.shape} with strides {out.strides}",
            remedy="give a writable, contiguous array of as many elements",
        )
