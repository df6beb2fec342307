"""Memory on the device, and its reuse.

Strategy: memory that nobody refers to any more is kept and handed out again for the same number of bytes, because new
memory is slow (CPU drivers fault in every page of it). One in-order queue makes this safe at once: whatever still runs
on the old contents comes before what the new owner enqueues. At most a share of the device's memory is kept; the
longest unused goes first, and all of it goes before an allocation fails.
"""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict, deque
from dataclasses import dataclass
from pathlib import Path

from ocl_runtime.device import Device
from ocl_runtime.errors import OutOfMemoryError, ShapeError
from ocl_runtime.execute import driver

_KEPT_SHARE = 8
"""One part in this many of the device's memory may be kept unused."""


class Storage:
    """One allocation of `nbytes` bytes, told apart by identity. It goes back when nothing refers to it."""

    __slots__ = ("__weakref__", "handle", "memory", "nbytes")

    def __init__(self, memory: Memory, nbytes: int, handle: driver.Buffer) -> None:
        self.memory = memory
        self.nbytes = nbytes
        self.handle = handle

    def __repr__(self) -> str:
        return f"<Storage of {self.nbytes:,} bytes>"

    def __del__(self) -> None:
        self.memory.give_back(self.nbytes, self.handle)


@dataclass
class MemoryCounters:
    """`allocations` were asked for; `created` of them were new memory of the driver's, the others `reused`."""

    allocations: int = 0
    created: int = 0
    reused: int = 0
    bytes_kept: int = 0


class Memory:
    """The memory of one context. Any thread may use it."""

    def __init__(self, context: driver.Context, device: Device) -> None:
        self.counters = MemoryCounters()
        self._context = context
        self._device = device
        self._most_kept = device.capabilities.global_memory // _KEPT_SHARE
        self._kept: OrderedDict[int, list[driver.Buffer]] = OrderedDict()
        # A finalizer may run at any moment, also inside of the lock: it only appends here.
        self._returned: deque[tuple[int, driver.Buffer]] = deque()
        self._lock = threading.Lock()

    def give_back(self, nbytes: int, handle: driver.Buffer) -> None:
        """Called when a storage dies."""
        self._returned.append((nbytes, handle))

    def allocate(self, nbytes: int) -> Storage:
        """Memory with undefined contents.

        Raises `OutOfMemoryError` where the device has no room for it, `ShapeError` for what is no number of bytes.
        """
        if not isinstance(nbytes, int) or nbytes < 1:
            raise ShapeError(f"memory of {nbytes!r} bytes", remedy="ask for a whole number of bytes, at least 1")
        with self._lock:
            self._collect()
            self.counters.allocations += 1
            same_size = self._kept.get(nbytes)
            if same_size:
                self.counters.reused += 1
                self.counters.bytes_kept -= nbytes
                handle = same_size.pop()
                if not same_size:
                    del self._kept[nbytes]
            else:
                self.counters.created += 1
                handle = self._create(nbytes)
        return Storage(self, nbytes, handle)

    def _collect(self) -> None:
        """Sorts what came back; drops the longest unused beyond the share that may be kept."""
        while self._returned:
            nbytes, handle = self._returned.popleft()
            self._kept.setdefault(nbytes, []).append(handle)
            self._kept.move_to_end(nbytes)
            self.counters.bytes_kept += nbytes
        while self.counters.bytes_kept > self._most_kept:
            nbytes, handles = next(iter(self._kept.items()))
            handles.pop(0)
            self.counters.bytes_kept -= nbytes
            if not handles:
                del self._kept[nbytes]

    def _create(self, nbytes: int) -> driver.Buffer:
        caps = self._device.capabilities
        if nbytes > caps.max_allocation:
            raise OutOfMemoryError(
                f"{nbytes:,} bytes are more than one allocation on {self._device} may have",
                place=f"largest allocation: {caps.max_allocation:,} bytes; all memory: {caps.global_memory:,} bytes",
                remedy="work on parts of the data, or use a narrower dtype",
            )
        try:
            return self._from_driver(nbytes)
        except (driver.Error, MemoryError):
            self._kept.clear()
            self.counters.bytes_kept = 0
        try:
            return self._from_driver(nbytes)
        except (driver.Error, MemoryError) as error:
            raise OutOfMemoryError(
                f"{self._device} has no room for {nbytes:,} bytes: {error}",
                place=f"all memory: {caps.global_memory:,} bytes",
                remedy="drop arrays that are no longer needed, or work on parts of the data",
            ) from error

    def _from_driver(self, nbytes: int) -> driver.Buffer:
        # Where memory is only taken when it is touched, the process would end there: look before.
        if self._device.quirks.allocates_lazily and nbytes > _free_host_memory():
            raise MemoryError("the host has less free memory")
        return driver.create_buffer(self._context, nbytes)


def _free_host_memory() -> int:
    """Bytes that the host could give now, as far as it says so."""
    try:
        text = Path("/proc/meminfo").read_text()
    except OSError:
        return sys.maxsize
    kilobytes = next((line.split()[1] for line in text.splitlines() if line.startswith("MemAvailable:")), None)
    return int(kilobytes) * 1024 if kilobytes else sys.maxsize
