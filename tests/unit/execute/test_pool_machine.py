"""Random sequences of allocations, commands and frees on several streams, against a model of what the pool must hold.

The device computes as late and in as awkward an order as it may, and every command is on record: at the end nothing may
have been able to run at once that shares a byte, whoever owned it.
"""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ocl_runtime.errors import OutOfMemoryError
from ocl_runtime.execute.memory.pool import Pool
from ocl_runtime.execute.memory.storage import Storage
from tests.support.world import World

KIB = 2**10
LIMIT = 256 * KIB
STREAMS = st.integers(0, 2)
SIZES = st.one_of(st.integers(1, 5000), st.integers(1, 70_000), st.sampled_from([256, 4096, 4097, 32_768, 40_960]))


class PoolMachine(RuleBasedStateMachine):
    """The model is a list of what is alive, with the value that was last written to each."""

    def __init__(self) -> None:
        super().__init__()
        self._no_garbage = patch("ocl_runtime.execute.memory.pool.gc.collect")  # it takes most of the time
        self._no_garbage.start()
        self.world = World(3, seed=1, eager=0.2, memory_limit=LIMIT, kept_bytes=LIMIT // 4)
        self.pool: Pool = self.world.memory.device_pool
        self.live: list[tuple[Storage, int | None]] = []
        self.allocated = self.freed = self.peak = 0
        self.writes = 0

    # ------------------------------------------------------------------ what happens

    @rule(sizes=st.lists(SIZES, min_size=1, max_size=8), number=STREAMS, used=st.booleans())
    def allocate(self, sizes: list[int], number: int, used: bool) -> None:
        for nbytes in sizes:
            self._allocate(nbytes, number, persistent=nbytes % 7 == 0)
            if used and self.live:
                self._write(len(self.live) - 1, number, slow=False)

    def _allocate(self, nbytes: int, number: int, *, persistent: bool) -> None:
        world = self.world
        try:
            storage = world.memory.allocate(nbytes, stream=world.stream(number), persistent=persistent)
        except OutOfMemoryError:
            # The pages that something lives in leave no room for it: nothing else may be a reason.
            pages = {one.block.page for one, _ in self.live}
            assert sum(page.nbytes for page in pages) + nbytes + 256 > LIMIT
            return
        self.allocated += 1
        self.live.append((storage, None))
        self.peak = max(self.peak, self._in_use)

    @rule(place=st.integers(0), number=STREAMS, slow=st.booleans())
    def write(self, place: int, number: int, slow: bool) -> None:
        if self.live:
            self._write(place % len(self.live), number, slow=slow)

    def _write(self, place: int, number: int, *, slow: bool) -> None:
        storage, _ = self.live[place]
        self.writes += 1
        value, low, high = self.writes % 251, storage.start, storage.start + storage.nbytes
        self.live[place] = storage, value

        def run(memory: np.ndarray) -> None:
            memory[low:high] = value

        self.world.write(number, storage, run=run, args=(storage.buffer,), slow=slow)

    @rule(one=st.integers(0), other=st.integers(0), number=STREAMS)
    def copy(self, one: int, other: int, number: int) -> None:
        """All of one, from a larger one."""
        if not self.live:
            return
        one, other = one % len(self.live), other % len(self.live)
        (source, value), (target, _) = self.live[one], self.live[other]
        if value is None or target.nbytes > source.nbytes or target is source:
            return
        self.live[other] = target, value
        from_, to, nbytes = source.start, target.start, target.nbytes

        def run(memory: np.ndarray, result: np.ndarray) -> None:
            result[to : to + nbytes] = memory[from_ : from_ + nbytes]

        touches = source.touch(1, 0, nbytes), target.touch(2)
        self.world.give(number, *touches, run=run, args=(source.buffer, target.buffer))

    @rule(places=st.lists(st.integers(0, 100), min_size=1, max_size=10))
    def free(self, places: list[int]) -> None:
        for place in places:
            if self.live:
                del self.live[place % len(self.live)]
                self.freed += 1

    @rule()
    def look(self) -> None:
        self.world.streams.look()

    @rule()
    def trim(self) -> None:
        self.pool.trim()
        assert all(page.used or not page.first.idle() for page in self.pool._pages)

    # ------------------------------------------------------------------ what must hold

    @property
    def _in_use(self) -> int:
        return sum(storage.nbytes for storage, _ in self.live)

    @invariant()
    def counters_equal_the_model(self) -> None:
        counters, pages = self.pool.counters, self.pool._pages
        assert (counters.allocations, counters.freed, counters.live) == (self.allocated, self.freed, len(self.live))
        assert (counters.in_use, counters.peak_in_use) == (self._in_use, self.peak)
        assert counters.padding == sum(storage.block.size - storage.nbytes for storage, _ in self.live)
        assert counters.reserved == sum(page.nbytes for page in pages) <= counters.peak_reserved <= LIMIT
        assert counters.created - counters.released == len(pages) == self.world.device.live_buffers
        assert counters.reserved == counters.in_use + counters.padding + self.pool._free.nbytes

    @invariant()
    def blocks_make_up_their_pages(self) -> None:
        free = self.pool.free
        live = {storage.block for storage, _ in self.live}
        for page in self.pool._pages:
            end, before, used = 0, None, 0
            for block in page.blocks():
                assert (block.low, block.previous, block.page) == (end, before, page)
                assert (block.ranges.low, block.ranges.high) == (block.low, block.high)
                cells = block.ranges.cells
                assert (cells[0].low, cells[-1].high) == (block.low, block.high)
                assert (block in live) == bool(block.wanted)
                assert block.low % 256 == block.size % 256 == 0
                assert block.size >= block.wanted
                used += block in live
                free -= block.size * (block not in live)
                end, before = block.high, block
            assert (end, used) == (page.nbytes, page.used)
            assert page.cut or page.first.next is None
        assert free == 0
        assert {page for page in self.pool._pages if not page.used} == set(self.pool._free.empty)

    @invariant()
    def the_host_never_waited_but_for_want_of_memory(self) -> None:
        assert (self.world.streams.counters.host_waits > 0) <= (self.pool.counters.waits > 0)

    def _read(self, storage: Storage, value: int | None) -> None:
        if value is not None:
            target = np.empty(storage.nbytes, np.uint8)
            self.world.transfers.download(storage, target.dtype, target.size, 0, "", target).result()
            assert (target == value).all()

    def teardown(self) -> None:
        self._no_garbage.stop()
        world = self.world
        while self.live:
            self._read(*self.live.pop())
        world.streams.finish()
        assert world.violations() == []
        self.pool.trim()
        counters = self.pool.counters
        assert (counters.live, counters.in_use, counters.padding, counters.reserved) == (0, 0, 0, 0)
        assert self.pool.free == 0
        self.pool._free.join()
        assert not self.pool._free._joined


TestPoolMachine = PoolMachine.TestCase
TestPoolMachine.settings = settings(max_examples=settings().max_examples // 2, stateful_step_count=40)
