"""Commands and memory: the one module of `execute` that talks to PyOpenCL. It decides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyopencl as cl

from ocl_runtime.device import Device

Context: TypeAlias = cl.Context
Queue: TypeAlias = cl.CommandQueue
Buffer: TypeAlias = cl.Buffer
Kernel: TypeAlias = cl.Kernel
Event: TypeAlias = cl.Event
Error: TypeAlias = cl.Error


def create_context(device: Device) -> Context:
    """A context of one device."""
    return cl.Context([device.cl])


def create_queue(context: Context, device: Device) -> Queue:
    """An in-order queue."""
    return cl.CommandQueue(context, device.cl)


def create_buffer(context: Context, nbytes: int) -> Buffer:
    """A read-write buffer."""
    return cl.Buffer(context, cl.mem_flags.READ_WRITE, nbytes)


def write(queue: Queue, buffer: Buffer, source: np.ndarray[Any, Any]) -> None:
    """Copies a contiguous host array to the start of a buffer, and waits until the array may change again."""
    cl.enqueue_copy(queue, buffer, source, is_blocking=True)


def read(queue: Queue, buffer: Buffer, target: np.ndarray[Any, Any], offset: int) -> None:
    """Copies a buffer, from `offset` bytes on, into a contiguous host array, and waits for it."""
    cl.enqueue_copy(queue, target, buffer, src_offset=offset, is_blocking=True)


def group_size_limit(kernel: Kernel, device: Device) -> int:
    """The largest work-group that this kernel can have, given the registers it needs."""
    return int(kernel.get_work_group_info(cl.kernel_work_group_info.WORK_GROUP_SIZE, device.cl))


def enqueue(
    queue: Queue,
    kernel: Kernel,
    args: Sequence[Buffer | np.generic],
    global_size: tuple[int, ...],
    group_size: tuple[int, ...],
) -> Event:
    """Sets the arguments and enqueues the kernel."""
    for position, arg in enumerate(args):
        kernel.set_arg(position, arg)
    return cl.enqueue_nd_range_kernel(queue, kernel, global_size, group_size)


def finish(queue: Queue) -> None:
    """Waits for everything in the queue."""
    queue.finish()
