"""Memory on the device."""

from __future__ import annotations

from dataclasses import dataclass, field

from ocl_runtime.device import Device
from ocl_runtime.errors import OutOfMemoryError
from ocl_runtime.execute import driver


@dataclass(frozen=True, eq=False)
class Storage:
    """One allocation: `nbytes` bytes on one device. Told apart by identity; freed when nothing refers to it."""

    nbytes: int
    owner: object = field(repr=False)
    """The engine whose context the memory belongs to."""
    handle: driver.Buffer = field(repr=False)


@dataclass
class AllocationCounters:
    """How much memory was asked for since the engine began."""

    allocations: int = 0
    bytes: int = 0


def allocate(owner: object, context: driver.Context, device: Device, nbytes: int) -> Storage:
    """New memory with undefined contents. Raises `OutOfMemoryError` where the device has no room for it."""
    caps = device.capabilities
    if nbytes > caps.max_allocation:
        raise OutOfMemoryError(
            f"{nbytes:,} bytes are more than one allocation on {device} may have",
            place=f"largest allocation: {caps.max_allocation:,} bytes; all memory: {caps.global_memory:,} bytes",
            remedy="work on parts of the data, or use a narrower dtype",
        )
    try:
        # Zero bytes are no buffer in OpenCL; an empty array still needs something to be passed to a kernel.
        handle = driver.create_buffer(context, max(nbytes, 1))
    except driver.Error as error:
        raise OutOfMemoryError(
            f"{device} has no room for {nbytes:,} bytes: {error}",
            place=f"all memory: {caps.global_memory:,} bytes",
            remedy="drop arrays that are no longer needed, or work on parts of the data",
        ) from error
    return Storage(nbytes, owner, handle)
