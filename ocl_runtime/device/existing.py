"""What a program that uses PyOpenCL has already: a context, perhaps a queue, and the device of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import pyopencl as cl

from ocl_ir.source_line import calling_line
from ocl_runtime.device.devices import Device, all_devices, describe
from ocl_runtime.errors import DeviceError

Context: TypeAlias = cl.Context  # for those who may not import PyOpenCL
Queue: TypeAlias = cl.CommandQueue


@dataclass(frozen=True)
class Existing:
    """A context to make everything in, its device, and the queue that is to be stream 0, if there is one."""

    device: Device
    context: Context
    queue: Queue | None = None


def existing(obj: object) -> Existing:
    """A `pyopencl.Context` with one device, or an in-order `pyopencl.CommandQueue` with its context and device.

    The device is not probed: whoever has a context for it uses it already. Raises `DeviceError` for anything else.
    """
    if isinstance(obj, cl.CommandQueue):
        return Existing(_device(obj.device), obj.context, in_order(obj))
    if not isinstance(obj, cl.Context):
        raise DeviceError(
            f"a runtime over a {type(obj).__name__}",
            place=calling_line(),
            remedy="give a pyopencl.Context or a pyopencl.CommandQueue; Runtime(device) makes its own",
        )
    if len(obj.devices) != 1:
        raise DeviceError(
            f"a runtime over a context of {len(obj.devices)} devices",
            place=calling_line(),
            remedy="give a queue of the device that is to compute: pyopencl.CommandQueue(context, device)",
        )
    return Existing(_device(obj.devices[0]), obj)


def in_order(queue: Queue) -> Queue:
    """The queue itself. Raises `DeviceError` for one that runs its commands in any order."""
    properties: Any = queue.properties
    if properties & cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE:
        raise DeviceError(
            "an out-of-order queue, on which nothing would be ordered with the work of this runtime",
            place=calling_line(),
            remedy="make an in-order queue, pyopencl.CommandQueue(context, device), which events order with the other",
        )
    return queue


def _device(handle: cl.Device) -> Device:
    """As the drivers list it; a part of a device is in no list."""
    return next((device for device in all_devices() if device.cl == handle), None) or describe(handle)
