"""Memory handed out again: pages of the driver's, for one owner or cut into blocks for many.

Small requests share cut pages: each takes the smallest free part that is large enough. A large one has a page of its
own, of the next size of a ladder, so that pages suit requests of nearly their size, too; a persistent one has a page of
exactly its size. Pages of their own are never cut, and go back to the driver when memory is short: so large
allocations cannot leave gaps that are of no use.

A free block is *ready* for a stream when everything that was done to it has happened before the stream's next command.
A request takes what is ready, else a new page. Once `idle` bytes are free it rather takes a block that is not ready,
and the new owner's first command waits for the last owner's on the device, as for any conflict.

When the limit, or the driver, allows no more, a request takes in this order: what is ready, after a look at what has
completed; what is not ready; the room of empty pages that no command uses; of those that commands still use, for which
the host waits; what Python's cyclic garbage held. Only then it fails. A page goes back to the driver only when no
command uses it, since some drivers wait there, and others unmap what is still being copied.

Blocks come back as their owners go, at any moment, so that only puts them on a list. Serving a request from the pool
takes no call of OpenCL.

A signal's exception may come amid any change. Then the pool is in doubt, and finds out anew, before it does anything
else, what is free: what nobody holds. An owner is there before its block, so none is lost on the way.
"""

from __future__ import annotations

import gc
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeAlias

from ocl_ir.source_line import Where
from ocl_runtime.errors import NoRoomYetError, ShapeError
from ocl_runtime.execute.driver import Buffer, Bytes, Error
from ocl_runtime.execute.log import Log
from ocl_runtime.execute.memory.blocks import Block, FreeBlocks, Owner, Page
from ocl_runtime.execute.memory.sizes import PoolCounters, PoolSizes
from ocl_runtime.execute.streams.command import Command, Stream
from ocl_runtime.execute.streams.streams import Streams

_ATTEMPTS = 8
_LOOKS = 4
"""Empty pages that are looked at, each time that blocks come back, for ones to be given to the driver."""
_PASSED_ON = 64
"""Blocks that are passed on before all others that came back are taken back, too."""

Create: TypeAlias = "Callable[[int], tuple[Buffer, Bytes | None]]"


class NoRoomError(Exception):
    """The pool's limit, or the driver, allows no more."""


class Pool:
    """Blocks of one kind of memory. Any thread may use it; the streams' lock guards it."""

    def __init__(
        self, streams: Streams, sizes: PoolSizes, create: Create, release: Callable[[Buffer], None], log: Log
    ) -> None:
        self.sizes = sizes
        self._refused = ""
        """Why the driver last gave no page."""
        self.returned: deque[Owner] = deque()
        """The owners of blocks that are gone."""
        self._put_back = self.returned.append  # one object for all owners
        self._in_doubt = False
        self._passed_on = 0
        """Blocks that were passed on since others were taken back."""
        self.on_free: Callable[[Block], None] | None = None
        """Told of each block that comes back; a debugging aid fills it."""
        self._streams = streams
        self._create = create
        self._release = release
        self._log = log
        self._tells = log.level > 1
        self._of_streams = streams.counters
        self._lock: threading.RLock = streams.lock
        self._counters = PoolCounters()
        self._pages: dict[Page, None] = {}
        self._free = FreeBlocks()

    # ------------------------------------------------------------------ handing out

    def allocate(
        self,
        nbytes: int,
        stream: Stream | None,
        where: Where,
        holder: object,
        *,
        persistent: bool = False,
        wait: bool = True,
    ) -> Block:
        """A block for a stream's next command, or (None) for the host to use now; it comes back when its holder goes.

        Raises `NoRoomError` where there is no room; `NoRoomYetError`, without `wait`, where there is none before
        commands have ended; `ShapeError` for what is no number of bytes.
        """
        if not isinstance(nbytes, int) or nbytes < 1:
            raise ShapeError(f"memory of {nbytes!r} bytes", remedy="ask for a whole number of bytes, at least 1")
        sizes = self.sizes
        size, most, shared = sizes.of_block(nbytes)
        if persistent:
            most, shared = size, False
        owner = Owner(holder, self._put_back)
        with self._lock:
            try:
                if self._in_doubt or self._streams.lost:
                    self._settle()
                if self.returned:
                    self._take_back()
                block = self._free.exactly(most, stream, cut=shared)
                if block is not None:
                    return self._owned(block, owner, nbytes, where)
            except BaseException:
                self._in_doubt = True
                raise
        swept = not wait
        for _ in range(_ATTEMPTS if nbytes <= sizes.largest else 0):
            with self._lock:
                try:
                    self._collect()
                    block = self._otherwise(size, most, stream, shared=shared)
                    if block is not None:
                        return self._owned(block, owner, nbytes, where)
                    running = self._in_the_way(size, most, stream, shared=shared)
                except BaseException:
                    self._in_doubt = True
                    raise
            if running and not wait:
                raise NoRoomYetError(partial(self._wait_for, running))
            if running:
                self._wait_for(running)
            elif swept:
                break
            else:
                swept = True
                gc.collect()  # outside of the lock, since it runs finalizers of others
        told, self._refused = self._refused, ""
        taken = f"{self.counters.reserved:,} bytes are taken from the driver, {self.free:,} of them free"
        raise NoRoomError(f"{taken}; it said: {told}" if told else taken)

    def _wait_for(self, commands: Iterable[Command]) -> None:
        self._counters.waits += 1
        for command in commands:
            self._streams.wait(command, failed_too=True)

    def _owned(self, block: Block, owner: Owner, nbytes: int, where: Where) -> Block:
        owner.block = block
        block.owner, block.wanted, block.where = owner, nbytes, where
        if self._of_streams.failures:
            block.ranges.forget_failures()
        counters = self._counters
        counters.allocations += 1
        counters.in_use += nbytes
        if counters.in_use > counters.peak_in_use:  # noqa: PLR1730  # this is where each allocation passes
            counters.peak_in_use = counters.in_use
        if self._tells:
            self._log.full("%d bytes for %s: bytes %d…%d of %r", nbytes, where, block.low, block.high, block.page)
        return block

    def _otherwise(self, size: int, most: int, stream: Stream | None, *, shared: bool) -> Block | None:
        """A block that is not at hand, unless the host would have to wait for it."""
        free = self._free

        def taken(blocks: Iterable[Block], *, ready: bool = True) -> Block | None:
            for block in blocks:
                if block.ready(stream) if ready else block.orderly():
                    return free.take(block, size)
            return None

        def fitting() -> Iterator[Block]:
            return free.parts(size) if shared else free.pages(size, most)

        block = taken(fitting())
        if block is None:
            self._streams.look()
            block = taken(fitting())
        if block is None and stream is not None and free.nbytes >= self.sizes.idle:
            block = taken(fitting(), ready=False)
        if block is None:
            block = self._in_new_page(size, most, shared=shared)
        if block is None:  # memory is used up
            block = taken(free.parts(size))
        if block is None and stream is not None:
            block = taken(fitting(), ready=False) or taken(free.parts(size), ready=False)
        if block is None and self._make_room(size):
            block = self._in_new_page(size, most, shared=shared)
        return block

    def _in_the_way(self, size: int, most: int, stream: Stream | None, *, shared: bool) -> list[Command]:
        """The commands that the host must wait for before there is room; none where that would not help."""
        free = self._free
        for block in free.parts(size) if shared else free.pages(size, most):
            return block.ranges.commands()
        commands: list[Command] = []
        missing = self._missing(size)
        # What the stream must wait for anyway comes first: a slow one shall not hold back the others.
        for page in sorted(free.empty, key=lambda page: not page.first.ready(stream)):
            commands += page.first.ranges.commands()
            missing -= page.nbytes
            if missing <= 0:
                return commands
        return []

    # ------------------------------------------------------------------ coming back

    def passed_on(self, nbytes: int, stream: Stream, where: Where, holder: object) -> Block | None:
        """The same, where the block that came back last is just what is asked for: loops give back what they are about
        to want, and a list gives back its last one first. Else None."""
        returned = self.returned
        with self._lock:
            if self._in_doubt or self._streams.lost or not returned:
                return None
            try:
                last = returned.pop()
                block = last.block
                if (
                    ((block.wanted != nbytes or not block.page.cut) and not self._suits(block, nbytes))
                    or block.owner is not last
                    or self.on_free is not None
                    or self._of_streams.failures
                    or (block.ranges.sole is not stream and not block.ready(stream))
                ):
                    returned.append(last)
                    return None
                self._passed_on += 1
                if block.wanted != nbytes:
                    counters = self._counters
                    counters.in_use += nbytes - block.wanted
                    counters.peak_in_use = max(counters.peak_in_use, counters.in_use)
                    block.wanted = nbytes
                owner = block.owner = Owner(holder, self._put_back)
                owner.block = block
                block.where = where
                if self._passed_on >= _PASSED_ON:
                    self._take_back()
            except BaseException:
                self._in_doubt = True
                raise
        if self._tells:
            self._log.full("%d bytes for %s: bytes %d…%d of %r", nbytes, where, block.low, block.high, block.page)
        return block

    def _suits(self, block: Block, nbytes: int) -> bool:
        """Whether a block is what a request would have made: that of a persistent one may not be."""
        return (block.size, block.page.cut) == self.sizes.of_block(nbytes)[1:]

    def handed_over(self, block: Block, other: object) -> None:
        """A block has another holder; its last one no longer has it."""
        owner = Owner(other, self._put_back)
        owner.block = block
        block.owner = owner

    def _settle(self) -> None:
        """Makes good what was interrupted: commands that nobody knows yet, changes that were made in part."""
        if self._streams.lost:
            self._streams.settle()
        if not self._in_doubt:
            return
        self._free = FreeBlocks.of(self._pages)
        counters, used = self._counters, self._used()
        counters.freed = counters.allocations - len(used)
        counters.in_use = sum(block.wanted for block in used)
        counters.reserved = sum(page.nbytes for page in self._pages)
        self._in_doubt = False

    def _collect(self) -> None:
        """Takes back the blocks of owners that are gone."""
        try:
            if self._in_doubt or self._streams.lost:
                self._settle()
            self._take_back()
        except BaseException:
            self._in_doubt = True
            raise

    def _take_back(self) -> None:
        free, counters, returned, on_free = self._free, self._counters, self.returned, self.on_free
        counters.freed += self._passed_on
        counters.allocations += self._passed_on
        self._passed_on = 0
        while returned:
            try:
                owner = returned.popleft()
            except IndexError:  # a handler of a signal has just come by here
                break
            block = owner.block
            if block.owner is not owner:
                continue  # handed over, or found out to be free
            counters.freed += 1
            counters.in_use -= block.wanted
            block.owner, block.wanted = None, 0
            if on_free is not None:
                on_free(block)
            free.add(block)
        if free.nbytes > self.sizes.kept:
            for page in free.idle(_LOOKS):
                if free.nbytes > self.sizes.kept:
                    self._give_back(page)

    # ------------------------------------------------------------------ pages

    def _in_new_page(self, size: int, most: int, *, shared: bool) -> Block | None:
        """A block of a new page, if the limit and the driver allow one."""
        counters, limit = self._counters, self.sizes.limit
        if counters.reserved + most > limit - limit // 8:
            most = size  # what little is left is not for padding
        for nbytes in (self.sizes.page, self.sizes.small, size) if shared else (most, size):
            if nbytes < size or counters.reserved + nbytes > limit:
                continue
            try:
                buffer, host = self._create(nbytes)
            except (Error, MemoryError) as error:
                self._log.basic("the driver has no %d bytes: %s", nbytes, error)
                self._refused = str(error)
                continue
            self._log.basic("a page of %d bytes from the driver", nbytes)
            self._refused = ""
            page = Page(buffer, nbytes, host, shared)
            self._pages[page] = None
            self._free.add_page(page)
            counters.created += 1
            counters.reserved += nbytes
            counters.peak_reserved = max(counters.peak_reserved, counters.reserved)
            return self._free.take(page.first, size)
        return None

    def _missing(self, size: int) -> int:
        """The bytes that must go back to the driver before it can give some; all that can, where it just refused."""
        over = self._counters.reserved + size - self.sizes.limit
        return over if over > 0 else sum(page.nbytes for page in self._free.empty)

    def _make_room(self, size: int) -> bool:
        """Gives empty pages that are in no use back to the driver: as many as leave room for a page of a size, if that
        many there are; all where the driver refused one."""
        missing = self._missing(size)
        pages: list[Page] = []
        for page in self._free.idle():
            if missing > 0:
                pages.append(page)
                missing -= page.nbytes
        if missing > 0 and self._counters.reserved + size > self.sizes.limit:
            return False
        for page in pages:
            self._give_back(page)
        return bool(pages)

    def _give_back(self, page: Page) -> None:
        """Gives an empty page that no command uses to the driver."""
        self._in_doubt = True  # until the page is nowhere any more
        self._free.remove(page)
        del self._pages[page]
        self._in_doubt = False
        self._counters.reserved -= page.nbytes
        self._counters.released += 1
        self._log.basic("a page of %d bytes goes back to the driver", page.nbytes)
        try:
            self._release(page.buffer)
        except Error as error:
            self._log.basic("the driver did not take it: %s", error)

    # ------------------------------------------------------------------ looking

    @property
    def counters(self) -> PoolCounters:
        """What the pool did and holds, as of now."""
        with self._lock:
            self._collect()
            counters = self._counters
            counters.live = counters.allocations - counters.freed
            counters.padding = counters.reserved - self._free.nbytes - counters.in_use
            return counters

    @property
    def free(self) -> int:
        """Bytes taken from the driver and in nobody's use."""
        with self._lock:
            self._collect()
            return self._free.nbytes

    def live(self) -> list[Block]:
        """The blocks in use."""
        with self._lock:
            self._collect()
            return self._used()

    def _used(self) -> list[Block]:
        return [block for page in self._pages for block in page.blocks() if block.wanted]

    def trim(self) -> None:
        """Gives every empty page that no command uses back to the driver."""
        with self._lock:
            self._collect()
            self._streams.look()
            for page in self._free.idle():
                self._give_back(page)
