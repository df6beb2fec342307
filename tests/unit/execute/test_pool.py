"""The pool's rules: kinds of pages, their sizes, what is counted, and what is kept."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace
from typing import Any

import pytest

from ocl_runtime.device import quirks_for
from ocl_runtime.errors import OutOfMemoryError, ShapeError
from ocl_runtime.execute.memory.pool import Pool
from ocl_runtime.execute.memory.sizes import PoolCounters, PoolSizes
from ocl_runtime.execute.memory.storage import Storage, pool_sizes
from ocl_runtime.settings import Settings
from tests.support import fakes
from tests.support.world import World

KIB = 2**10
LARGE = 40 * KIB
"""More than share the 64 KiB pages of a `World`."""


def pool(world: World) -> Pool:
    return world.memory.device_pool


def sizes(settings: Settings | None = None, **device: Any) -> PoolSizes:
    return pool_sizes(fakes.device(**device), settings or Settings(cache_folder=None))[0]


# ---------------------------------------------------------------------- kinds and sizes


def test_small_allocations_share_pages_and_large_ones_have_their_own() -> None:
    world = World()
    small = [world.allocate(1000) for _ in range(40)]
    assert len({id(one.buffer) for one in small}) == 1
    assert small[0].block.page.nbytes == pool(world).sizes.page == 64 * KIB
    large = [world.allocate(LARGE) for _ in range(3)]
    assert len({id(one.buffer) for one in (small[0], *large)}) == 4
    assert pool(world).counters.created == 4


def test_shared_pages_are_full_before_there_is_another() -> None:
    world = World()
    held = [world.allocate(4 * KIB) for _ in range(16)]
    assert pool(world).counters.created == 1
    assert sorted(one.start for one in held) == list(range(0, 64 * KIB, 4 * KIB))
    world.allocate(1)
    assert pool(world).counters.created == 2


def test_persistent_memory_has_a_page_of_exactly_its_size() -> None:
    world = World()
    weights = world.memory.allocate(1000, persistent=True)
    large = world.memory.allocate(LARGE + 1, persistent=True)
    assert (weights.block.page.nbytes, large.block.page.nbytes) == (1024, LARGE + 256)
    other = world.allocate(1000)
    assert other.buffer is not weights.buffer
    del weights
    assert world.allocate(1000).buffer is other.buffer  # small ones do not settle in what weights may come back to
    assert pool(world).counters.created == 3
    world.memory.allocate(1000, persistent=True)
    assert pool(world).counters.created == 3


def test_pages_of_their_own_come_in_the_sizes_of_the_ladder() -> None:
    world = World(ladder=4)
    found = {}
    for nbytes in (32 * KIB, 32 * KIB + 1, 40 * KIB, 40 * KIB + 1, 64 * KIB, 65 * KIB, 81 * KIB):
        found[nbytes] = world.allocate(nbytes).block.page.nbytes
        pool(world).trim()
    assert list(found.values()) == [size * KIB for size in (32, 40, 40, 48, 64, 80, 96)]
    exact = World(ladder=0)
    assert exact.allocate(33 * KIB).block.page.nbytes == 33 * KIB


def test_a_growing_allocation_finds_its_page_again() -> None:
    world = World()
    for more in range(1, 4096, 100):
        world.allocate(LARGE + more)
    assert pool(world).counters.created == 1


def test_the_smallest_page_that_is_large_enough_is_taken() -> None:
    world = World()
    held = [world.memory.allocate(LARGE + more * 256, persistent=True) for more in (5, 3, 9)]
    buffers = [one.buffer for one in held]
    held.clear()
    x, y = world.allocate(LARGE + 1), world.allocate(LARGE + 1)
    assert [x.buffer, y.buffer] == [buffers[1], buffers[0]]
    z = world.allocate(LARGE + 6 * 256)
    assert z.buffer is buffers[2]


def test_a_page_beyond_the_largest_allocation_is_not_asked_for() -> None:
    world = World(ladder=1)
    pool(world).sizes = replace(pool(world).sizes, largest=100 * KIB)
    assert world.allocate(70 * KIB).block.page.nbytes == 100 * KIB  # the ladder's next size is 128 KiB
    with pytest.raises(OutOfMemoryError, match="102,401 bytes are more than one allocation on"):
        world.allocate(100 * KIB + 1)


def test_every_address_is_aligned_as_the_settings_say() -> None:
    world = World(align_bytes=1024)
    held = [world.allocate(nbytes) for nbytes in (1, 1000, 1025, 1, LARGE + 1)]
    assert all(one.start % 1024 == 0 and one.block.size % 1024 == 0 for one in held)
    assert {one.start % 1024 for one in [world.allocate(1) for _ in range(9)]} == {0}


def test_sizes_are_settings_with_defaults_from_the_device() -> None:
    gpu = sizes(kind="gpu", global_memory=2**37, max_allocation=2**35)
    cpu = sizes(kind="cpu", global_memory=2**33, max_allocation=2**31)
    assert (gpu.limit, gpu.largest, cpu.limit, cpu.largest) == (2**37, 2**35, 2**33, 2**31)
    assert gpu.page > cpu.page > cpu.small > cpu.unit
    assert (gpu.kept, cpu.kept) == (2**36, 2**30)
    assert sizes(mem_base_addr_align=4096).unit == 4096
    chosen = Settings(
        cache_folder=None, memory_limit=2**30, page_bytes=2**20, align_bytes=512, ladder=2, kept_bytes=12345
    )
    found = sizes(chosen)
    assert (found.limit, found.page, found.unit, found.ladder, found.kept) == (2**30, 2**20, 512, 2, 12345)
    assert sizes(replace(chosen, page_bytes=0)).small == 0
    assert sizes(replace(chosen, memory_limit=2**16)).page <= 2**13  # a page is not all there is


def test_a_simulator_gets_a_buffer_of_its_own_for_each_allocation() -> None:
    """So that it sees the first access beyond the end."""
    found = sizes(**fakes.OCLGRIND)
    assert quirks_for(fakes.capabilities(**fakes.OCLGRIND)).simulator
    assert (found.unit, found.page, found.small, found.ladder) == (1, 0, 0, 0)


@pytest.mark.parametrize("nbytes", [0, -1, 1.5, "1", None])
def test_only_whole_numbers_of_bytes_are_memory(nbytes: Any) -> None:
    with pytest.raises(ShapeError, match="memory of"):
        World().allocate(nbytes)


# ---------------------------------------------------------------------- statistics


def test_statistics_count_what_is_there() -> None:
    world = World()
    one, two, large = world.allocate(1000), world.allocate(256), world.allocate(LARGE)
    assert pool(world).counters == PoolCounters(
        allocations=3, created=2, live=3, in_use=1256 + LARGE, padding=24, reserved=64 * KIB + LARGE,
        peak_in_use=1256 + LARGE, peak_reserved=64 * KIB + LARGE,
    )  # fmt: skip
    assert pool(world).free == 64 * KIB - 1280
    del one, large
    again = world.allocate(900)
    assert (again.start, two.start) == (0, 1024)
    pool(world).trim()
    assert pool(world).counters == PoolCounters(
        allocations=4, created=2, released=1, freed=2, live=2, in_use=1156, padding=124, reserved=64 * KIB,
        peak_in_use=1256 + LARGE, peak_reserved=64 * KIB + LARGE,
    )  # fmt: skip
    assert world.device.live_buffers == 1


def test_free_neighbours_are_joined_when_they_are_needed() -> None:
    world = World()
    held: list[Storage | None] = [world.allocate(KIB) for _ in range(64)]
    for index in (10, 12, 11, 13):
        held[index] = None
    assert world.allocate(4 * KIB).start == 10 * KIB
    held[:10] = [None] * 10
    assert [world.allocate(4 * KIB).start for _ in range(1)] == [10 * KIB]
    assert pool(world).counters.created == 1


def test_the_smallest_part_that_is_large_enough_is_taken() -> None:
    world = World()
    held: list[Storage | None] = [world.allocate(KIB) for _ in range(64)]
    held[3:6] = [None] * 3
    held[8:10] = [None] * 2
    held[20:24] = [None] * 4
    world.allocate(4 * KIB)  # takes 20 … 24, and joins the rest
    assert world.allocate(2 * KIB - 256).start == 8 * KIB


def test_a_view_and_padding_make_one_history() -> None:
    storage = World().allocate(1000)
    assert storage.touch(3) == storage.touch(3, 0, 1000)
    assert storage.touch(3).high - storage.touch(3).low == 1024


# ---------------------------------------------------------------------- what is kept


def test_free_memory_beyond_the_cap_goes_back_the_longest_free_first() -> None:
    world = World(kept_bytes=3 * LARGE)
    held = [world.allocate(LARGE) for _ in range(5)]
    buffers = [one.buffer for one in held]
    for index in (2, 0, 4, 1, 3):
        held[index] = None  # type: ignore[call-overload]
        pool(world).free  # collects
    assert [index for index, buffer in enumerate(buffers) if buffer.released] == [0, 2]
    assert pool(world).counters.reserved == 3 * LARGE


def test_a_page_that_a_command_uses_does_not_go_back() -> None:
    world = World(kept_bytes=0)
    x, y = world.allocate(LARGE, 1), world.allocate(LARGE, 2)
    buffers = x.buffer, y.buffer
    command = world.write(1, x)
    del x, y
    assert pool(world).free == LARGE
    assert [buffer.released for buffer in buffers] == [False, True]
    world.device.wait(command.event)
    pool(world).trim()
    assert buffers[0].released


def test_a_shared_page_that_a_command_uses_anywhere_does_not_go_back() -> None:
    world = World()
    held = [world.allocate(KIB, 1) for _ in range(3)]
    buffer = held[0].buffer
    command = world.write(1, held[2])
    held.clear()
    pool(world).trim()
    assert not buffer.released
    world.device.wait(command.event)
    pool(world).trim()
    assert buffer.released
    assert pool(world).counters.reserved == 0


def test_nothing_keeps_a_storage_but_who_uses_it() -> None:
    world = World()
    x = world.allocate()
    alive = weakref.ref(x)
    world.write(1, x)
    gc.disable()
    try:
        del x
        assert alive() is None
    finally:
        gc.enable()


def test_a_storage_may_go_while_the_lock_is_held() -> None:
    """A finalizer runs anywhere, also inside of the pool: it only says that the block is free."""
    world = World()
    x = world.allocate()
    with world.streams.lock:
        before = pool(world)._counters.freed
        del x
        assert pool(world)._counters.freed == before
    assert pool(world).counters.freed == before + 1
