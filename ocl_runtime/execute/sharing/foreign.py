"""PyOpenCL's own objects: what is known of those that users hand over, and new ones over memory of ours.

It looks and makes, and decides nothing: `sharing.py` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyopencl as cl

from ocl_runtime.errors import DTypeError, MixedDevicesError, SharingError
from ocl_runtime.execute.driver import Buffer, Context, Event, Queue

_HOLDER = "_ocl_runtime_holder"
"""The attribute of a buffer of ours that keeps its memory."""
_REMEDY = "give a pyopencl.Buffer with dtype=…, or a pyopencl.array.Array"


@dataclass(frozen=True, kw_only=True)
class ImportedMemory:
    """Elements in memory that a user of PyOpenCL handed over.

    `buffer` is the whole memory object, retained, and None where there are no elements; a part of a buffer (a
    sub-buffer) is told by `start` and `end`, the bytes of the whole that it has. The first element lies at byte
    `offset` of that part; `shape` is None where all of it is meant. `holder` is what `lent` was told.
    """

    buffer: Buffer | None
    start: int = 0
    end: int = 0
    dtype: np.dtype[Any] | None
    shape: tuple[int, ...] | None
    strides: tuple[int, ...] | None
    offset: int
    queue: Queue | None
    events: Sequence[Event]
    keep: object = None
    holder: object = None

    @property
    def address(self) -> int:
        """What tells memory objects apart."""
        assert self.buffer is not None
        return int(self.buffer.int_ptr)


def looked_into(obj: object, where: str) -> ImportedMemory:
    """What a buffer or an array of PyOpenCL's consists of.

    Raises `DTypeError` for anything else, `SharingError` for memory that is no buffer.
    """
    import pyopencl.array  # which takes 40 ms, and processes do without that share nothing

    if isinstance(obj, pyopencl.array.Array):
        data: Any = obj.base_data
        whole: dict[str, Any] = {
            "dtype": obj.dtype,
            "shape": obj.shape,
            "strides": obj.strides,
            "offset": obj.offset,
            "queue": obj.queue,
            "events": tuple(obj.events),
        }
        if data is None:
            return ImportedMemory(buffer=None, **whole)
    else:
        data = obj
        whole = {"dtype": None, "shape": None, "strides": None, "offset": 0, "queue": None, "events": ()}
    if isinstance(data, cl.Image) or not isinstance(data, cl.MemoryObjectHolder):
        if data is obj:
            raise DTypeError(f"from_pyopencl of a {type(obj).__name__}", place=where, remedy=_REMEDY)
        raise SharingError(
            f"the PyOpenCL array lies in a {type(data).__name__}, which is no buffer",
            place=where,
            remedy="copy it to an array in a buffer first",
        )
    part: Any = cl.Buffer.from_int_ptr(data.int_ptr, True)
    parent = part.get_info(cl.mem_info.ASSOCIATED_MEMOBJECT)
    start = part.get_info(cl.mem_info.OFFSET) if parent is not None else 0
    return ImportedMemory(
        buffer=part if parent is None else cl.Buffer.from_int_ptr(parent.int_ptr, True),
        start=start,
        end=start + part.size,
        keep=data,
        holder=getattr(data, _HOLDER, None),
        **whole,
    )


def context_of(obj: Any) -> Context:
    """That of a buffer, a queue or an event."""
    context: Context = obj.context
    return context


def written_by_kernels(buffer: Buffer) -> bool:
    """Whether kernels may write to it."""
    return not buffer.flags & cl.mem_flags.READ_ONLY


def read_by_kernels(buffer: Buffer) -> bool:
    """Whether kernels may read it."""
    return not buffer.flags & cl.mem_flags.WRITE_ONLY


def host_address(buffer: Buffer) -> int | None:
    """Where the host's memory lies that the buffer was made over; None for one that has memory of its own."""
    if not buffer.flags & cl.mem_flags.USE_HOST_PTR:
        return None
    return int(buffer.get_host_array((1,), np.uint8).__array_interface__["data"][0])


def checked_events(events: Sequence[Event], context: Context, where: str) -> list[Event]:
    """The events themselves. Raises `DTypeError` for what is none, `MixedDevicesError` for another context's."""
    for event in events:
        if not isinstance(event, cl.Event):
            raise DTypeError(
                f"wait_for has a {type(event).__name__}", place=where, remedy="give a list of pyopencl.Event"
            )
        if context_of(event) != context:
            raise MixedDevicesError(
                "wait_for has an event of another context", place=where, remedy="wait for it on the host: event.wait()"
            )
    return list(events)


def wait_in(queue: Queue, events: Sequence[Event]) -> None:
    """Whatever the queue, an in-order one, is given from now on comes after these events.

    Not through the driver, since whoever looks on there knows nothing of where these events come from.
    """
    cl.enqueue_marker(queue, events)


def has_ended(event: Event) -> bool:
    """Whether there is nothing to wait for any more."""
    try:
        return bool(event.command_execution_status <= 0)
    except cl.Error:
        return False


def is_queue(obj: object) -> bool:
    """Whether it is a queue of PyOpenCL's."""
    return isinstance(obj, cl.CommandQueue)


def lent(buffer: Buffer, holder: object) -> Buffer:
    """Another PyOpenCL object for a buffer, which keeps `holder` for as long as it lives itself."""
    other = cl.Buffer.from_int_ptr(buffer.int_ptr, True)
    setattr(other, _HOLDER, holder)
    return other


def array(
    queue: Queue,
    buffer: Buffer | None,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
    events: list[Event],
) -> Any:
    """A `pyopencl.array.Array` over a buffer; strides and offset in bytes."""
    import pyopencl.array

    return pyopencl.array.Array(queue, shape, dtype, data=buffer, offset=offset, strides=strides, events=events)
