"""Memory that somebody holds: storages on the device, and the host's beside them.

A `Storage` is a block of a pool for as long as somebody refers to it. It is there before its block is: whatever comes
in between, the pool knows who holds what.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, Protocol
from weakref import WeakSet, ref

import numpy as np

from ocl_ir.kernel.accesses import WRITE
from ocl_ir.layout import Layout
from ocl_ir.source_line import Where, calling_line
from ocl_runtime.device import Device
from ocl_runtime.errors import Error, LaunchError, NoRoomYetError, OutOfMemoryError
from ocl_runtime.execute.driver import Buffer, Driver
from ocl_runtime.execute.log import Log
from ocl_runtime.execute.memory.blocks import Block
from ocl_runtime.execute.memory.host_memory import HostMemory, Pinned
from ocl_runtime.execute.memory.pool import NoRoomError, Pool
from ocl_runtime.execute.memory.sizes import PoolSizes
from ocl_runtime.execute.streams.command import Stream
from ocl_runtime.execute.streams.footprints import footprint_of
from ocl_runtime.execute.streams.hazards import Touch
from ocl_runtime.execute.streams.streams import Streams
from ocl_runtime.settings import Settings

_LONGEST_REPORT = 12
"""Lines of a report about who holds memory."""
POISON = np.uint32(0xDEADBEEF)
"""As a float32 -6.3e18, as an integer far from zero, too."""


class Storage:
    """One allocation of `nbytes` bytes, told apart by identity. It goes back to its pool when nothing refers to it."""

    __slots__ = ("__weakref__", "block", "guests", "memory", "nbytes", "readers", "views")

    block: Block

    def __init__(self, memory: Memory, nbytes: int) -> None:
        self.memory = memory
        self.nbytes = nbytes
        self.readers: list[ref[Any]] = []
        """Views of a part of it, in expressions (`ocl_ir.graph.readers`)."""
        self.guests = 0
        """How many users outside of this runtime it has (`sharing.py`)."""
        self.views: list[ref[object]] = []
        """What the host sees of it in place, as long as it does (`mapped.py`)."""

    def __repr__(self) -> str:
        return f"<Storage of {self.nbytes:,} bytes>"

    def handed_over(self) -> Storage:
        """The same memory as another storage, for who writes over it; this one has none any more."""
        other = Storage(self.memory, self.nbytes)
        block = other.block = self.block
        del self.block  # before the pool knows the other: until then the block comes back when this one goes
        self.memory.device_pool.handed_over(block, other)
        return other

    def __getattr__(self, name: str) -> NoReturn:
        """Only asked for what is not there."""
        if name != "block":
            raise AttributeError(name)
        raise LaunchError(
            "an array is needed whose memory has been written over by a computation that then failed",
            remedy="make the array again",
        )

    @property
    def buffer(self) -> Buffer:
        """The OpenCL buffer that it lies in, from byte `start` on."""
        return self.block.page.buffer

    @property
    def start(self) -> int:
        """The byte of the buffer at which it begins."""
        return self.block.low

    def touch(self, mode: int, low: int = 0, high: int | None = None) -> Touch:
        """An access to bytes `low … high` of it, by default to all."""
        block = self.block
        if high is None or high >= self.nbytes:
            return Touch(block.ranges, block.low + low, block.high, mode)
        return Touch(block.ranges, block.low + low, block.low + high, mode)

    def touch_layout(self, mode: int, layout: Layout, itemsize: int) -> Touch:
        """An access to the elements of a layout."""
        low, high, gaps = footprint_of(layout, itemsize, self.block.low)
        if gaps is None and high == self.block.low + self.nbytes:
            high = self.block.high
        return Touch(self.block.ranges, low, high, mode, gaps)


class Idle(Protocol):
    """Who holds memory that it could do without."""

    def give_up(self) -> None:
        """Gives it back to the pool."""


def without_memory() -> Error:
    """What to say of an array that has no values."""
    return Error(
        "an array that was kept from a captured function has no values outside of it",
        place=calling_line(),
        remedy="return it from the captured function, or keep what a call of that returns",
    )


class Memory:
    """The memory of one device, and the pinned memory of the host. Any thread may use it."""

    def __init__(self, driver: Driver, streams: Streams, device: Device, settings: Settings, log: Log) -> None:
        self.device = device
        self._driver = driver
        self._streams = streams
        device_sizes, host_sizes, staging_sizes = pool_sizes(device, settings)
        self._idle: WeakSet[Idle] = WeakSet()
        self.device_pool = Pool(streams, device_sizes, self._device_page, driver.release, log)
        self.host_pool = Pool(streams, host_sizes, driver.pinned, driver.release, log)
        self.host = HostMemory(streams, self.host_pool, early=device.quirks.early_uploads)
        self.staging_pool = Pool(streams, staging_sizes, driver.pinned, driver.release, log)
        if settings.poison:
            self.device_pool.on_free = self._poison
        self.stream = streams.current
        """The stream of the calling thread."""

    def allocate(
        self,
        nbytes: int,
        where: Where = "",
        stream: Stream | None = None,
        *,
        persistent: bool = False,
        wait: bool = True,
    ) -> Storage:
        """Memory with undefined contents, for use on a stream first (by default the calling thread's).

        `persistent` memory, as for weights, has a page of exactly its size. Raises `OutOfMemoryError` where the device
        has no room for it, `ShapeError` for what is no number of bytes; and, unless it may `wait`, `NoRoomYetError`
        where there is room once commands have ended.
        """
        if stream is None:
            stream = self._streams.current()
        made, pool = Storage(self, nbytes), self.device_pool
        if pool.returned and type(nbytes) is int and not persistent:
            block = pool.passed_on(nbytes, stream, where, made)
            if block is not None:
                made.block = block
                return made
        try:
            try:
                made.block = pool.allocate(nbytes, stream, where, made, persistent=persistent, wait=wait)
            except NoRoomError:
                with self._streams.lock:
                    holders = list(self._idle)
                for holder in holders:
                    holder.give_up()
                made.block = pool.allocate(nbytes, stream, where, made, persistent=persistent, wait=wait)
        except NoRoomError as error:
            largest, most = pool.sizes.largest, pool.sizes.limit
            if nbytes > largest:
                raise OutOfMemoryError(
                    f"{nbytes:,} bytes are more than one allocation on {self.device} may have",
                    place=f"largest allocation: {largest:,} bytes; all memory: {most:,} bytes",
                    remedy="work on parts of the data, or use a narrower dtype",
                ) from error
            raise OutOfMemoryError(
                f"{self.device} has no room for {nbytes:,} bytes: {error}",
                place=self.report(),
                remedy="drop arrays that are no longer needed, or work on parts of the data",
            ) from error
        return made

    def may_give_up(self, holder: Idle) -> None:
        """Is to ask somebody, as long as there is such a one, to give memory back when there is no room."""
        with self._streams.lock:
            self._idle.add(holder)

    def pinned(self, nbytes: int, where: str = "") -> Pinned:
        """Host memory for an array, which no command uses any more. Raises `OutOfMemoryError`."""
        try:
            return Pinned(self.host_pool, nbytes, where)
        except NoRoomError as error:
            raise OutOfMemoryError(
                f"no {nbytes:,} bytes of pinned host memory: {error}",
                place=self.report(),
                remedy="drop pinned arrays, use smaller ones, or raise OCL_RUNTIME_PINNED_BYTES",
            ) from error

    def staging(self, nbytes: int, where: Where = "") -> Pinned | None:
        """Host memory for one step of a transfer, from a share that arrays cannot use up; None where nothing is left of
        that before commands have ended."""
        try:
            return Pinned(self.staging_pool, nbytes, where, wait=False)
        except (NoRoomError, NoRoomYetError):
            return None

    def _device_page(self, nbytes: int) -> tuple[Buffer, None]:
        # Where memory is only taken when it is touched, the process would end there: look before.
        if self.device.quirks.allocates_lazily and nbytes > _free_host_memory():
            raise MemoryError("the host has less free memory")
        return self._driver.buffer(nbytes), None

    def _poison(self, block: Block) -> None:
        """Fills a block that came back, so that whoever still reads it can see that."""
        streams = self._streams
        running = block.ranges.commands()
        if any(command.error is not None for command in running):
            return  # `submit` would wait for them, and the lock is held
        users = (command.stream for command in running if command.stream.index < streams.count)
        nbytes = block.size // POISON.nbytes * POISON.nbytes
        touch = Touch(block.ranges, block.low, block.high, WRITE)
        args = (self._driver.fill, block.page.buffer, block.low, nbytes, POISON)
        with suppress(LaunchError):  # whoever asks for memory now has nothing to do with it
            streams.submit(next(users, streams.current()), [touch], "poisoning freed memory", block.where, *args)

    def report(self) -> str:
        """What is held and by whom, for a person to read."""
        pools = {"device": self.device_pool, "pinned host": self.host_pool, "staging": self.staging_pool}
        return "\n".join(
            line
            for name, pool in pools.items()
            if pool is self.device_pool or pool.counters.created
            for line in _report(name, pool)
        )


def _report(name: str, pool: Pool) -> Iterator[str]:
    counters, live = replace(pool.counters), pool.live()
    limit = "" if pool.sizes.limit == sys.maxsize else f", of {pool.sizes.limit:,} at most"
    yield f"{name} memory: {counters.in_use:,} bytes in use by {len(live):,} allocation{'s' * (len(live) != 1)}"
    yield f"  {counters.padding:,} bytes of padding, {pool.free:,} free"
    yield f"  {counters.reserved:,} bytes from the driver{limit}"
    yield f"  at most {counters.peak_in_use:,} were in use at once, and {counters.peak_reserved:,} from the driver"
    groups = Counter((block.wanted, str(block.where)) for block in live)
    largest = sorted(groups.items(), key=lambda group: (-group[0][0] * group[1], group[0]))
    for (nbytes, where), count in largest[:_LONGEST_REPORT]:
        yield f"  {count:>6,} × {nbytes:>15,} bytes  {where}".rstrip()
    if len(largest) > _LONGEST_REPORT:
        yield f"  and {len(largest) - _LONGEST_REPORT:,} smaller kinds"


def pool_sizes(device: Device, settings: Settings) -> tuple[PoolSizes, PoolSizes, PoolSizes]:
    """Of device memory, pinned arrays and the staging ring: what the settings say, else what suits the device."""
    caps, gpu = device.capabilities, device.capabilities.kind == "gpu"
    limit = settings.memory_limit or caps.global_memory
    unit, page, ladder, kept = settings.align_bytes, settings.page_bytes, settings.ladder, settings.kept_bytes
    if device.quirks.simulator:
        # It finds accesses beyond the end of a buffer, so there every allocation is one of just its size.
        unit, page, ladder = 1, 0, 0
    unit = unit or max(256, caps.mem_base_addr_align)
    page = (32 * 2**20 if gpu else 4 * 2**20) if page is None else page
    page = min(page, limit // 8, caps.max_allocation) // unit * unit
    on_device = PoolSizes(
        unit=unit,
        page=page,
        small=page // 16 // unit * unit,
        ladder=ladder,
        largest=caps.max_allocation,
        limit=limit,
        idle=limit // 8,
        kept=(limit // 2 if gpu else limit // 8) if kept is None else kept,
    )
    pinned, ring = settings.pinned_bytes or sys.maxsize, settings.staging_bytes
    arrays = PoolSizes(
        unit=256, page=4 * 2**20, small=2**18, ladder=8, largest=sys.maxsize, limit=pinned, idle=pinned, kept=2**30
    )
    page = min(4 * 2**20, ring // 8) // 256 * 256
    staging = replace(arrays, page=page, small=page // 16 // 256 * 256, limit=ring, kept=ring)
    return on_device, arrays, staging


def _free_host_memory() -> int:
    """Bytes that the host could give now, as far as it says so."""
    try:
        text = Path("/proc/meminfo").read_text()
    except OSError:
        return sys.maxsize
    kilobytes = next((line.split()[1] for line in text.splitlines() if line.startswith("MemAvailable:")), None)
    return int(kilobytes) * 1024 if kilobytes else sys.maxsize
