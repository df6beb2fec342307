"""Limits that are not the pool's own: a driver that has less, and the memory of the host."""

from __future__ import annotations

from typing import Any

import pyopencl as cl
import pytest

from ocl_ir.kernel.accesses import WRITE
from ocl_runtime.errors import NoRoomYetError, OutOfMemoryError
from ocl_runtime.execute.memory.pool import NoRoomError, Pool
from ocl_runtime.execute.memory.storage import Storage
from tests.support.world import World

KIB = 2**10
CAP = 256 * KIB
"""Pages of 32 KiB, shared by allocations up to 2 KiB; others have their own."""


def world_with_cap(**settings: Any) -> World:
    return World(**{"memory_limit": CAP, **settings})


def pool(world: World) -> Pool:
    return world.memory.device_pool


def filled(world: World, parts: int = 4, number: int = 0) -> list[Storage]:
    """All that the cap allows, in equal parts."""
    return [world.memory.allocate(CAP // parts, stream=world.stream(number)) for _ in range(parts)]


def refuse_more_than(world: World, nbytes: int) -> None:
    """The driver has so many bytes; the rest is taken by others."""
    create, release, given = world.device.buffer, world.device.release, {}

    def buffer(size: int) -> Any:
        if sum(given.values()) + size > nbytes:
            raise cl.MemoryError("clCreateBuffer failed: MEM_OBJECT_ALLOCATION_FAILURE")
        made = create(size)
        given[made] = size
        return made

    def released(one: Any) -> None:
        release(one)
        del given[one]

    world.device.buffer, world.device.release = buffer, released  # type: ignore[method-assign]


# ---------------------------------------------------------------------- the driver has less than the limit


def test_a_driver_that_has_no_more_gets_its_pages_back_first() -> None:
    world = World(kept_bytes=2**22)
    refuse_more_than(world, 128 * KIB)
    held = [world.allocate(32 * KIB) for _ in range(4)]
    with pytest.raises(OutOfMemoryError, match="has no room for 65,536 bytes"):
        world.allocate(64 * KIB)
    del held[1], held[2]
    x = world.allocate(64 * KIB)
    assert pool(world).counters.released == 2
    assert len({id(one.buffer) for one in (*held, x)}) == 3


def test_a_driver_that_has_no_more_is_asked_again_once_commands_have_ended() -> None:
    world = World(kept_bytes=2**22)
    refuse_more_than(world, 128 * KIB)
    held = [world.allocate(32 * KIB, 1) for _ in range(4)]
    for one in held:
        world.write(1, one)
    del held[1:], one
    x = world.allocate(96 * KIB, 1)
    assert x.block.page.nbytes == 96 * KIB
    assert pool(world).counters.waits == 1


def test_a_driver_that_has_no_more_gets_back_what_is_idle_before_the_host_waits() -> None:
    world = World(kept_bytes=2**22)
    refuse_more_than(world, 128 * KIB)
    held = [world.allocate(32 * KIB, 1) for _ in range(4)]
    world.write(1, held[0])
    del held[:3]
    x = world.allocate(60 * KIB, 1)
    assert x.block.page.nbytes >= 60 * KIB
    assert (pool(world).counters.waits, pool(world).counters.released) == (0, 2)


def test_small_allocations_share_smaller_pages_where_there_is_no_room_for_others() -> None:
    world = world_with_cap()
    large = world.allocate(CAP - 5 * KIB)
    small = [world.allocate(256) for _ in range(20)]
    pages = {one.block.page for one in small}
    assert all(page.cut for page in pages)
    assert sorted(page.nbytes for page in pages) == [256] * 4 + [2 * KIB] * 2
    with pytest.raises(OutOfMemoryError):
        world.allocate(256)
    assert large.nbytes == CAP - 5 * KIB


def test_a_large_allocation_takes_the_free_part_of_a_shared_page_when_all_is_used_up() -> None:
    world = world_with_cap()
    small = world.allocate(100)
    large = world.allocate(CAP - 32 * KIB)
    x = world.allocate(20 * KIB)
    assert x.buffer is small.buffer
    del large
    assert world.allocate(20 * KIB).buffer is not small.buffer


# ---------------------------------------------------------------------- the host's memory


def test_the_host_waits_for_its_own_memory_only_if_it_may() -> None:
    world = World(pinned_bytes=512 * KIB)
    host = world.memory.host_pool
    x = world.memory.pinned(300 * KIB)
    command = world.give(1, x.touch(WRITE, x.bytes))
    del x
    with pytest.raises(NoRoomYetError) as caught:
        host.allocate(400 * KIB, None, "", world, wait=False)
    assert command.event is not None
    assert host.counters.waits == 0
    caught.value.wait()
    assert command.event is None
    world.memory.pinned(400 * KIB)
    assert host.counters.waits == 1
    with pytest.raises(NoRoomError):
        host.allocate(600 * KIB, None, "", world, wait=False)


def test_the_host_waits_for_memory_that_fits_rather_than_to_get_other() -> None:
    world = World(pinned_bytes=512 * KIB)
    x = world.memory.pinned(300 * KIB)
    page = x.block.page
    command = world.give(1, x.touch(WRITE, x.bytes))
    del x
    assert world.memory.pinned(300 * KIB).block.page is page
    assert command.event is None
    assert world.memory.host_pool.counters.created == 1


def test_the_host_waits_for_a_part_of_a_page_that_others_use() -> None:
    world = World(pinned_bytes=256 * KIB)
    held = [world.memory.pinned(64 * KIB) for _ in range(4)]
    command = world.give(1, held[2].touch(WRITE, held[2].bytes))
    del held[2]
    assert world.memory.pinned(60 * KIB).block.page is held[0].block.page
    assert command.event is None


def test_pinned_memory_that_is_used_up_is_an_error_that_says_which_setting() -> None:
    world = World(pinned_bytes=512 * KIB)
    held = world.memory.pinned(400 * KIB, "load.py:3")
    with pytest.raises(OutOfMemoryError, match="no 204,800 bytes of pinned host memory") as caught:
        world.memory.pinned(200 * KIB)
    assert "load.py:3" in caught.value.place
    assert "OCL_RUNTIME_PINNED_BYTES" in caught.value.remedy
    held.bytes[:] = 1


def test_what_never_ends_for_the_driver_is_no_endless_loop() -> None:
    world = world_with_cap()
    held = filled(world)
    world.write(1, held[0])
    del held[0]

    def lost(event: object) -> int:
        raise cl.RuntimeError("clGetEventInfo failed: DEVICE_NOT_AVAILABLE")

    world.device.status = lost  # type: ignore[method-assign]
    with pytest.raises(OutOfMemoryError):
        world.allocate(CAP // 2, 1)
