"""When memory runs out: what is tried before an allocation fails, in which order, and that nothing else suffers."""

from __future__ import annotations

import gc
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

from ocl_ir.kernel.accesses import WRITE
from ocl_runtime.errors import OutOfMemoryError
from ocl_runtime.execute.memory.blocks import Block
from ocl_runtime.execute.memory.pool import Pool
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


# ---------------------------------------------------------------------- the order of what is tried


def test_first_what_is_found_to_have_ended() -> None:
    world = world_with_cap()
    held = filled(world, number=1)
    commands = [world.write(1, one) for one in held]
    buffer = held[2].buffer
    for command in commands[:3]:
        world.device.wait(command.event)
    del held[2]
    x = world.allocate(CAP // 4, 2)
    assert x.buffer is buffer
    assert world.waits(world.write(2, x)) == []
    assert (pool(world).counters.created, pool(world).counters.released) == (4, 0)
    assert world.streams.counters.host_waits == 0


def test_then_what_a_stream_can_wait_for_on_the_device() -> None:
    world = world_with_cap(kept_bytes=CAP)
    held = filled(world, number=1)
    first = world.write(1, held[0])
    del held[0], held[-1]  # the last one is idle, but a page of another size fits neither
    x = world.allocate(CAP // 4, 2)
    y = world.allocate(CAP // 4, 2)
    assert {len(world.waits(world.write(2, one))) for one in (x, y)} == {0, 1}
    assert first.event is not None
    assert (pool(world).counters.created, pool(world).counters.released) == (4, 0)
    assert pool(world).counters.waits == world.streams.counters.host_waits == 0
    assert world.violations() == []


def test_that_holds_however_little_of_it_is_free() -> None:
    world = world_with_cap()
    held = filled(world, 16, number=1)
    command = world.write(1, held[3])
    buffer = held[3].buffer
    del held[3]
    assert pool(world).free < pool(world).sizes.idle
    x = world.allocate(CAP // 16, 2)
    assert x.buffer is buffer
    assert world.waits(world.write(2, x)) == [command]
    assert pool(world).counters.released == 0


def test_a_large_allocation_waits_on_the_device_for_part_of_a_shared_page() -> None:
    world = world_with_cap()
    small = [world.allocate(2 * KIB, 1) for _ in range(16)]
    held = [world.memory.allocate(CAP // 8, persistent=True) for _ in range(7)]
    commands = [world.write(1, one) for one in small[4:14]]
    del small[4:14]
    x = world.allocate(18 * KIB, 2)
    assert x.buffer is small[0].buffer
    assert world.waits(world.write(2, x)) == [commands[8]]
    assert len(held) == 7
    assert world.violations() == []


def test_memory_behind_a_failure_is_not_waited_for_on_the_device() -> None:
    """Some devices make what waits for a failed command fail, too."""
    world = world_with_cap()
    held = filled(world, 4, number=1)
    failed = world.write(1, held[0], fails=True)
    behind = world.write(1, held[1], slow=True)
    with pytest.raises(cl.RuntimeError):
        world.device.wait(failed.event)
    world.streams.look()
    assert behind.error is not None
    del held[1]
    x = world.allocate(CAP // 4, 2)
    assert behind.event is None
    assert pool(world).counters.waits == 1
    command = world.write(2, x)
    assert world.waits(command) == []
    world.streams.wait(command)


def test_what_is_ready_in_a_shared_page_comes_before_what_is_not() -> None:
    world = world_with_cap(idle=CAP)
    small = [world.allocate(2 * KIB, 1) for _ in range(16)]
    held = [world.memory.allocate(25 * KIB, stream=world.stream(1), persistent=True) for _ in range(8)]
    held.append(world.memory.allocate(24 * KIB, persistent=True))
    world.write(1, held[0])
    del small[3:], held[0]
    x = world.allocate(25 * KIB, 2)
    assert x.buffer is small[0].buffer
    assert world.waits(world.write(2, x)) == []


def test_then_cached_pages_go_that_nothing_uses_and_only_as_many_as_it_takes() -> None:
    world = world_with_cap(kept_bytes=CAP)
    held = filled(world, 8)
    del held[:5]
    x = world.allocate(CAP // 4 + 1)
    assert pool(world).counters.released == 3
    assert x.block.page.nbytes == CAP // 4 + 256  # of just its size, since there is no more
    assert pool(world).counters.waits == 0


def test_then_the_host_waits_for_as_few_commands_as_it_takes() -> None:
    world = world_with_cap(kept_bytes=CAP)
    held = [*filled(world, 8)[:4], *[world.allocate(CAP // 8, 2) for _ in range(4)]]
    slow = [world.write(1, one, slow=True) for one in held[:4]]
    quick = [world.write(2, one) for one in held[4:]]
    while held:
        del held[0]
    x = world.allocate(CAP // 4 + 1, 2)
    assert pool(world).counters.waits == 1
    # What the stream has to go through anyway; another stream, which is slow, is not waited for.
    assert [command.event is None for command in quick] == [True, True, True, False]
    assert all(command.event is not None for command in slow)
    assert world.waits(world.write(2, x)) == []


def test_then_what_only_pythons_garbage_holds() -> None:
    world = world_with_cap()

    class Holder:
        def __init__(self, held: object) -> None:
            self.held, self.self = held, self

    gc.collect()
    gc.disable()
    try:
        Holder(filled(world))
        assert pool(world).counters.live == 4
        x = world.allocate(CAP)
    finally:
        gc.enable()
    assert x.block.page.nbytes == CAP
    assert pool(world).counters.released == 4


def test_and_only_then_it_is_an_error_with_a_report() -> None:
    world = world_with_cap()
    held = [world.memory.allocate(CAP // 8, where=f"train.py:{line}") for line in (7, 7, 7, 20)]
    waited = world.write(0, held[0])
    with pytest.raises(OutOfMemoryError) as caught:
        world.memory.allocate(CAP * 3 // 4, where="train.py:30")
    error = caught.value
    assert isinstance(error, MemoryError)
    assert re.fullmatch(
        r"NVIDIA H200 .* has no room for 196,608 bytes: 131,072 bytes are taken from the driver, 0 of them free",
        error.fact,
    )
    assert error.place.splitlines()[0] == "device memory: 131,072 bytes in use by 4 allocations"
    assert "131,072 bytes from the driver, of 262,144 at most" in error.place
    assert re.search(r"3 × +32,768 bytes  train.py:7\n +1 × +32,768 bytes  train.py:20", error.place)
    assert "drop arrays" in error.remedy
    assert waited.event is not None


def test_nothing_is_waited_for_and_nothing_dropped_in_vain() -> None:
    world = world_with_cap(kept_bytes=CAP)
    held = filled(world, 8, number=1)
    command = world.write(1, held[0])
    del held[:2]
    with pytest.raises(OutOfMemoryError):
        world.allocate(CAP // 2, 1)
    assert command.event is not None
    assert (pool(world).counters.waits, pool(world).counters.released) == (0, 0)


def test_after_it_everything_works() -> None:
    world = world_with_cap()
    held = filled(world)
    for value, one in enumerate(held):
        world.write(value % 3, one, run=lambda memory, value: memory.fill(value), args=(one.buffer, value))
    for _ in range(3):
        with pytest.raises(OutOfMemoryError):
            world.allocate(1)
    del held[1]
    smaller = world.allocate(CAP // 8, 3)
    world.write(3, smaller, run=lambda memory: memory.fill(99), args=(smaller.buffer,))
    world.streams.finish()
    assert [int(one.buffer.bytes[0]) for one in held] == [0, 2, 3]
    assert all((one.buffer.bytes == one.buffer.bytes[0]).all() for one in held)
    assert (smaller.buffer.bytes == 99).all()
    assert world.violations() == []


# ---------------------------------------------------------------------- threads


def test_threads_never_share_a_block() -> None:
    world = World(memory_limit=2**21)
    owner: dict[Block, int] = {}
    lock = threading.Lock()
    clashes = []

    def work(number: int) -> int:
        rng = np.random.default_rng(number)
        held: list[Storage] = []
        failed = 0
        for _ in range(300):
            try:
                one = world.memory.allocate(int(rng.choice([10, 1000, 5000, 40_000])), stream=world.stream(number))
            except OutOfMemoryError:
                failed += 1
                held.clear()
                continue
            with lock:
                clashes.extend(
                    (one.block, other)
                    for other, who in owner.items()
                    if other.page is one.block.page and other.low < one.block.high and one.block.low < other.high
                )
                owner[one.block] = number
            held.append(one)
            if len(held) > rng.integers(1, 12):
                with lock:
                    del owner[held[0].block]
                del held[0]
        with lock:
            for one in held:
                owner.pop(one.block, None)
        return failed

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    assert clashes == []
    counters = pool(world).counters
    assert (counters.live, counters.in_use, counters.padding) == (0, 0, 0)
    assert counters.freed == counters.allocations > 500


def test_threads_that_need_each_others_memory_all_get_on() -> None:
    """The cap has room for one at a time per thread; everything else is on its way back."""
    world = world_with_cap()
    barrier = threading.Barrier(4)

    def work(number: int) -> None:
        for turn in range(50):
            x = world.memory.allocate(CAP // 4 - 256 * (turn % 3), stream=world.stream(number))
            world.streams.submit(
                world.stream(number), [x.touch(WRITE)], "fill", "", world.recording.fill, x.buffer, 0, 4, np.uint32(1)
            )
            del x
            barrier.wait(20)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    world.streams.finish()
    assert world.violations() == []
    assert pool(world).counters.peak_reserved <= CAP
