"""Arrays of the host that the device reads and writes: pinned ones, and all others by their address.

A `Pinned` array is a NumPy array over a block of a pool; every view of it holds the block too, which has a history as
every block has. Of what is not pinned the runtime knows only the address. So all of the host's memory is one
allocation here, whose cells say what is running there: two views are ordered where their bytes overlap, whichever
arrays they belong to. A command keeps its array alive until it has ended, so no other array can lie there before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ocl_ir.indices import Shape
from ocl_ir.kernel.accesses import READ
from ocl_ir.source_line import Where
from ocl_runtime.execute.driver import Bytes
from ocl_runtime.execute.memory.blocks import Block
from ocl_runtime.execute.memory.pool import Pool
from ocl_runtime.execute.streams.hazards import Ranges, Touch
from ocl_runtime.execute.streams.streams import Streams


class Pinned:
    """A block of host memory of `nbytes` bytes; NumPy arrays made of it hold it. Raises as `Pool.allocate` does."""

    block: Block
    bytes: Bytes

    def __init__(self, pool: Pool, nbytes: int, where: Where, *, wait: bool = True) -> None:
        self.pool = pool
        self.block = pool.allocate(nbytes, None, where, self, wait=wait)
        assert self.block.page.host is not None
        self.bytes = self.block.page.host[self.block.low : self.block.low + nbytes]

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.bytes.__array_interface__

    def touch(self, mode: int, data: Bytes) -> Touch:
        """An access to some of it."""
        block = self.block
        if data.nbytes == self.bytes.nbytes:
            return Touch(block.ranges, block.low, block.high, mode)
        low = block.low + _address(data) - _address(self.bytes)
        return Touch(block.ranges, low, low + data.nbytes, mode)


class HostMemory:
    """The history of the host's memory: of pinned arrays of a pool in their blocks, of all else by address."""

    def __init__(self, streams: Streams, pool: Pool, *, early: bool) -> None:
        self._streams = streams
        self._early = early
        self._pool = pool
        self._ranges = Ranges(object(), 0, 1 << 64)

    def pinned_under(self, host: np.ndarray[Any, Any]) -> Pinned | None:
        """The pinned memory that an array is a view of, if it is."""
        base: object = host
        while isinstance(base, np.ndarray | memoryview):
            base = base.base if isinstance(base, np.ndarray) else base.obj
        return base if isinstance(base, Pinned) and base.pool is self._pool else None

    def touch(self, mode: int, data: Bytes) -> Touch:
        """An access of a command to an array of the host, by its bytes. What failed there is nothing to it: whoever
        owns the array may have filled it since."""
        pinned = self.pinned_under(data)
        if pinned is not None:
            return pinned.touch(mode, data)
        if self._streams.counters.failures:
            with self._streams.lock:
                self._ranges.forget_failures()
        low = _address(data)
        return Touch(self._ranges, low, low + data.nbytes, mode)

    def settle(self, data: Bytes) -> None:
        """Makes sure that a copy to the device, which is enqueued next, reads what was written there before: waits for
        who writes it, where the driver reads ordinary memory at once (`Quirks.early_uploads`)."""
        if self._early and self.pinned_under(data) is None:
            self.wait(READ, data)

    def wait(self, mode: int, data: Bytes) -> None:
        """Returns when no command is running any more that an access of the host itself must come after."""
        touch = self.touch(mode, data)
        with self._streams.lock:
            running = touch.ranges.running(touch.low, touch.high, mode)
        for command in running:
            self._streams.wait(command, failed_too=True)


def _address(data: Bytes) -> int:
    return int(data.__array_interface__["data"][0])


def pinned_array(pinned: Pinned, shape: Shape, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A NumPy array over pinned memory."""
    return np.asarray(pinned).view(dtype).reshape(shape)
