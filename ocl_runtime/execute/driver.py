"""The seam to OpenCL: what a device is told, one method for each command. It decides nothing.

`Driver` is the protocol; `OpenCL` speaks to a real device through PyOpenCL, and is the one class of `execute` that
does. Tests put others in its place: one that records, one that fails, one that computes with NumPy in the most awkward
order that the waits allow. Every command is told which bytes it touches; OpenCL has no use for that, a recorder has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import starmap
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import pyopencl as cl

from ocl_ir.layout import Layout
from ocl_runtime.device import Device
from ocl_runtime.device.ending import DriverCall
from ocl_runtime.device.kernel_objects import prepare, set_types

Context: TypeAlias = cl.Context
Error: TypeAlias = cl.Error
Queue: TypeAlias = Any
Buffer: TypeAlias = Any
KernelHandle: TypeAlias = Any
Event: TypeAlias = Any
Bytes: TypeAlias = "np.ndarray[Any, np.dtype[np.uint8]]"
"""Host memory, as a contiguous 1-D array of bytes."""
Sizes: TypeAlias = tuple[int, ...]

STATUS_NAMES = {
    value: name for name, value in vars(cl.status_code).items() if isinstance(value, int) and not name.startswith("_")
}
"""OpenCL's names of error codes."""


_MAP = "_ocl_runtime_map"
"""The attribute of a pinned buffer that keeps it mapped."""
_WAITING = DriverCall()


class Buffered(Protocol):
    """What is in a buffer of the driver's."""

    @property
    def buffer(self) -> Buffer:
        """The buffer."""


class Touched(Protocol):
    """Bytes `low … high` of a buffer that a command reads, writes or both; of them only the `footprint`, if any."""

    @property
    def ranges(self) -> Buffered:
        """What is known of the buffer."""

    low: int
    high: int
    mode: int
    footprint: Layout | None


Touches: TypeAlias = Sequence[Touched]


class MemoryUse(NamedTuple):
    """Bytes that a compiled kernel asks for: of each work-item beside its registers, and of each group."""

    private: int
    local: int


class Driver(Protocol):
    """A device. All methods but `wait` and `finish` return at once; all may raise `Error`."""

    def listens(self) -> bool:
        """Whether anybody here wants to know which bytes commands touch; `enqueue` cannot tell, so such a driver gets
        the kernels of a replay by `launch`."""

    def queue(self) -> Queue:
        """A new in-order queue."""

    def buffer(self, nbytes: int) -> Buffer:
        """Memory on the device."""

    def pinned(self, nbytes: int) -> tuple[Buffer, Bytes]:
        """Memory of the host that the device copies from and to without help, with the bytes in it."""

    def release(self, buffer: Buffer) -> None:
        """Gives memory back; no command may use it any more."""

    def set_types(self, kernel: KernelHandle, types: Sequence[type[np.generic] | None]) -> None:
        """Says what a kernel's arguments are: None for a buffer, the type of a number."""

    def group_size_limit(self, kernel: KernelHandle) -> int:
        """The largest work-group that this kernel can have, given the registers it needs."""

    def memory_use(self, kernel: KernelHandle) -> MemoryUse:
        """What the compiled kernel asks for."""

    def launch(
        self,
        queue: Queue,
        kernel: KernelHandle,
        args: Sequence[Any],
        sizes: tuple[Sizes, Sizes],
        waits: list[Event] | None,
        touched: Touches,
    ) -> Event:
        """Runs a kernel with these arguments over (global size, group size)."""

    def write(
        self,
        queue: Queue,
        buffer: Buffer,
        at: int,
        source: Bytes,
        waits: list[Event] | None,
        touched: Touches,
    ) -> Event:
        """Copies host memory, which must stay as it is until the event, into a buffer."""

    def read(
        self,
        queue: Queue,
        buffer: Buffer,
        at: int,
        target: Bytes,
        waits: list[Event] | None,
        touched: Touches,
    ) -> Event:
        """Copies from a buffer into host memory."""

    def map(
        self, queue: Queue, buffer: Buffer, at: int, nbytes: int, waits: list[Event] | None, touched: Touches
    ) -> tuple[Event, Bytes]:
        """Bytes of a buffer to be read in place once the event has happened, until nobody refers to them any more."""

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
        """Repeats a pattern."""

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
        """Copies bytes from one buffer to another."""

    def enqueue(
        self,
        queue: Queue,
        kernel: KernelHandle,
        global_size: Sizes,
        group_size: Sizes,
        offset: None,
        waits: list[Event] | None,
    ) -> Event:
        """Runs a kernel whose arguments are set already. The shortest way there is: PyOpenCL's own function."""

    def marker(self, queue: Queue, waits: list[Event] | None) -> Event:
        """An event of these events, or of everything that the queue has."""

    def gate(self, queue: Queue, waits: list[Event] | None, touched: Touches) -> Event:
        """An event of something to come: what this thread of the host will give the queue next, after these waits."""

    def open(self, gate: Event, *, ok: bool) -> None:
        """The gate's event has happened, or failed."""

    def flush(self, queue: Queue) -> None:
        """Makes the queue start what it has."""

    def status(self, event: Event) -> int:
        """0 once it is complete, below 0 where it failed, above 0 before."""

    def times(self, event: Event) -> tuple[int, int]:
        """When a complete command began and ended, in nanoseconds of the device's clock."""

    def wait(self, event: Event) -> None:
        """Returns when the event is complete; raises where it failed."""

    def finish(self, queue: Queue) -> None:
        """Returns when the queue has nothing left to do."""


class OpenCL:
    """A device of a real driver, through PyOpenCL; in a context of its own, or in one that is there already."""

    enqueue = staticmethod(cl.enqueue_nd_range_kernel)

    def __init__(self, device: Device, *, profile: bool = False, context: Context | None = None) -> None:
        self._properties: Any = cl.command_queue_properties.PROFILING_ENABLE if profile else 0
        prepare()
        self.context = cl.Context([device.cl]) if context is None else context
        self._device = device.cl
        self._strays: list[Event] = []
        """Of transfers whose giving was interrupted, until they have ended."""

    def listens(self) -> bool:
        """OpenCL does not."""
        return False

    def queue(self) -> Queue:
        """A new in-order queue, which measures times only if asked to: that costs."""
        return cl.CommandQueue(self.context, self._device, self._properties)

    def buffer(self, nbytes: int) -> Buffer:
        """A read-write buffer."""
        return cl.Buffer(self.context, cl.mem_flags.READ_WRITE, nbytes)

    def pinned(self, nbytes: int) -> tuple[Buffer, Bytes]:
        """A buffer in the host's memory, mapped for as long as it lives."""
        flags = cl.mem_flags
        buffer: Buffer = cl.Buffer(self.context, flags.READ_WRITE | flags.ALLOC_HOST_PTR, nbytes)
        both = cl.map_flags.READ | cl.map_flags.WRITE
        queue = self.queue()
        map_buffer: Any = cl.enqueue_map_buffer  # PyOpenCL's stub mistakes most of its arguments
        host, _ = map_buffer(queue, buffer, both, 0, (nbytes,), np.uint8, is_blocking=True)
        setattr(buffer, _MAP, (queue, host.base))
        return buffer, host

    def release(self, buffer: Buffer) -> None:
        """The driver itself waits for commands that still use the buffer."""
        queue, mapped = getattr(buffer, _MAP, (None, None))
        if mapped is not None:
            mapped.release(queue)
        buffer.release()

    def set_types(self, kernel: KernelHandle, types: Sequence[type[np.generic] | None]) -> None:
        """PyOpenCL then takes Python's numbers."""
        set_types(kernel, types)

    def group_size_limit(self, kernel: KernelHandle) -> int:
        """The device's answer for the kernel as it was compiled. NVIDIA's driver answers 256 for a kernel that was
        compiled for larger groups, too, and runs it in these."""
        info = cl.kernel_work_group_info
        compiled_for = math.prod(kernel.get_work_group_info(info.COMPILE_WORK_GROUP_SIZE, self._device))
        return max(int(kernel.get_work_group_info(info.WORK_GROUP_SIZE, self._device)), int(compiled_for))

    def memory_use(self, kernel: KernelHandle) -> MemoryUse:
        """The driver's answers."""
        info = cl.kernel_work_group_info
        private, local = (
            kernel.get_work_group_info(what, self._device) for what in (info.PRIVATE_MEM_SIZE, info.LOCAL_MEM_SIZE)
        )
        return MemoryUse(int(private), int(local))

    def launch(
        self,
        queue: Queue,
        kernel: KernelHandle,
        args: Sequence[Any],
        sizes: tuple[Sizes, Sizes],
        waits: list[Event] | None,
        touched: Touches,
    ) -> Event:
        """Sets the arguments and enqueues the kernel."""
        kernel.set_args(*args)
        return cl.enqueue_nd_range_kernel(queue, kernel, sizes[0], sizes[1], None, waits)

    def write(
        self,
        queue: Queue,
        buffer: Buffer,
        at: int,
        source: Bytes,
        waits: list[Event] | None,
        touched: Touches,
    ) -> Event:
        """Without waiting, where the driver can do that from this memory."""
        enqueue = cl._cl._enqueue_write_buffer
        return self._kept(partial(enqueue, queue, buffer, source, dst_offset=at, is_blocking=False, wait_for=waits))

    def read(
        self,
        queue: Queue,
        buffer: Buffer,
        at: int,
        target: Bytes,
        waits: list[Event] | None,
        touched: Touches,
    ) -> Event:
        """Without waiting, where the driver can do that to this memory."""
        enqueue = cl._cl._enqueue_read_buffer
        return self._kept(partial(enqueue, queue, buffer, target, src_offset=at, is_blocking=False, wait_for=waits))

    def _kept(self, transfer: Callable[[], Event]) -> Event:
        """The event of a transfer. Who lets go of one waits for it in PyOpenCL, where no other thread of Python can
        run, and perhaps one must; so it is not lost to a signal's exception. Between the call of OpenCL and the list
        there is no Python."""
        self._strays = [event for event in self._strays if self.status(event) > 0] if self._strays else []
        events: list[Event] = []
        try:
            with _WAITING:  # for the driver to copy, as some do at once
                events.extend(starmap(transfer, ((),)))
        except BaseException:
            self._strays += events
            raise
        return events[0]

    def map(
        self, queue: Queue, buffer: Buffer, at: int, nbytes: int, waits: list[Event] | None, touched: Touches
    ) -> tuple[Event, Bytes]:
        """A map of OpenCL; PyOpenCL takes it back when the bytes go."""
        map_buffer: Any = cl.enqueue_map_buffer
        with _WAITING:
            host, event = map_buffer(
                queue, buffer, cl.map_flags.READ, at, (nbytes,), np.uint8, wait_for=waits, is_blocking=False
            )
        return event, host

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
        """A fill of OpenCL 1.2."""
        return cl.enqueue_fill_buffer(queue, buffer, np.asarray(pattern), at, nbytes, waits)

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
        """On the device, without the host's memory."""
        enqueue = cl._cl._enqueue_copy_buffer
        return enqueue(queue, source, target, nbytes, src_offset=at, dst_offset=target_at, wait_for=waits)

    def marker(self, queue: Queue, waits: list[Event] | None) -> Event:
        """A marker of OpenCL 1.2."""
        return cl.enqueue_marker(queue, waits)

    def gate(self, queue: Queue, waits: list[Event] | None, touched: Touches) -> Event:
        """A user event; what the host does behind it waits by itself."""
        return cl.UserEvent(self.context)

    def open(self, gate: Event, *, ok: bool) -> None:
        """Sets the user event's status: complete, or out of resources."""
        gate.set_status(0 if ok else cl.status_code.OUT_OF_RESOURCES)

    def flush(self, queue: Queue) -> None:
        """Commands reach the device; without this some drivers hold them back."""
        queue.flush()

    def status(self, event: Event) -> int:
        """The driver's answer, without waiting."""
        return int(event.get_info(cl.event_info.COMMAND_EXECUTION_STATUS))

    def times(self, event: Event) -> tuple[int, int]:
        """Where queues measure them."""
        info, get = cl.profiling_info, event.get_profiling_info  # `event.profile` takes seven times as long
        return get(info.START), get(info.END)

    def wait(self, event: Event) -> None:
        """Other Python threads go on meanwhile."""
        with _WAITING:
            event.wait()

    def finish(self, queue: Queue) -> None:
        """Waits for everything in the queue."""
        with _WAITING:
            queue.finish()
