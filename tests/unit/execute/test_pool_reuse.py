"""Memory that comes back while commands are still to run: who gets it when, and how it is made unreadable."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

from ocl_runtime.execute.memory.blocks import FreeBlocks
from ocl_runtime.execute.memory.pool import _PASSED_ON, Pool
from ocl_runtime.execute.memory.storage import Storage
from tests.support.world import World

KIB = 2**10
LARGE = 40 * KIB
"""More than share the 64 KiB pages of a `World`."""


def pool(world: World) -> Pool:
    return world.memory.device_pool


def place(storage: Storage) -> tuple[int, int]:
    """Where it lies, to be compared: addresses may come again."""
    return id(storage.buffer), storage.start


# ---------------------------------------------------------------------- memory with commands on it


def test_a_stream_reuses_at_once_what_it_gave_back() -> None:
    world = World()
    x = world.allocate(number=1)
    at = place(x)
    world.write(1, x)
    del x
    again = world.allocate(number=1)
    assert place(again) == at
    assert world.waits(world.write(1, again)) == []


def test_a_stream_that_knows_the_end_reuses_at_once() -> None:
    world = World()
    x, flag = world.allocate(number=1), world.allocate(number=1)
    at = place(x)
    world.write(1, x)
    world.write(1, flag)
    world.read(2, flag)  # waits for the write of the flag, which comes after that of x
    del x
    again = world.allocate(number=2)
    assert place(again) == at
    assert world.waits(world.write(2, again)) == []


def test_what_just_came_back_is_passed_on_without_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    x = world.allocate(200)
    at = place(x)
    monkeypatch.setattr(FreeBlocks, "add", None)
    for nbytes in (256, 1, 250):
        del x
        x = world.allocate(nbytes)
        assert place(x) == at
    counters = pool(world).counters
    assert (counters.allocations, counters.freed, counters.live) == (4, 3, 1)
    assert (counters.in_use, counters.peak_in_use) == (250, 256)


def test_a_handler_that_takes_back_what_just_came_back() -> None:
    """It comes between the question whether there is something and the taking of it."""

    class Emptied(deque[Any]):
        asked = 0

        def popleft(self) -> Any:
            self.asked += 1
            if self.asked == 2:  # a handler of a signal allocates and frees, and leaves nothing
                self.clear()
            return super().popleft()

    world = World()
    blocks = [world.allocate(200) for _ in range(2)]
    pool(world).returned = Emptied()
    vars(pool(world))["_put_back"] = pool(world).returned.append
    more = [world.allocate(300) for _ in range(2)]
    del blocks, more
    assert world.allocate(100).nbytes == 100


def test_while_some_is_passed_on_the_rest_does_not_wait_for_ever() -> None:
    world = World()
    large, small = world.allocate(LARGE), world.allocate(200)
    del large, small
    assert len(pool(world).returned) == 2
    for _ in range(_PASSED_ON):
        world.allocate(200)
    assert len(pool(world).returned) <= 1


def test_what_just_came_back_is_not_passed_on_where_something_else_is_asked_for() -> None:
    world = World()
    x = world.allocate(256)
    del x
    larger = world.allocate(512)
    assert larger.block.size == 512
    del larger
    smaller = world.allocate(256)
    assert smaller.block.size == 256
    del smaller
    own = world.memory.allocate(256, stream=world.stream(0), persistent=True)
    assert (own.block.page.nbytes, own.block.page.cut) == (256, False)


def test_another_stream_gets_other_memory_rather_than_wait() -> None:
    world = World()
    x = world.allocate(number=1)
    at = place(x)
    world.write(1, x)
    del x
    other = world.allocate(number=2)
    assert place(other) != at
    assert world.waits(world.write(2, other)) == []
    assert place(world.allocate(number=1)) == at  # and it is still there for who may have it


def test_a_large_page_is_taken_new_rather_than_waited_for() -> None:
    world = World()
    x = world.allocate(LARGE, 1)
    buffer = x.buffer
    world.write(1, x)
    del x
    other = world.allocate(LARGE, 2)
    assert other.buffer is not buffer
    assert world.allocate(LARGE, 1).buffer is buffer


@pytest.mark.parametrize("nbytes", [4 * KIB, LARGE])
def test_with_much_free_the_device_waits_and_the_host_does_not(nbytes: int) -> None:
    world = World(memory_limit=8 * 64 * KIB)
    idle = pool(world).sizes.idle
    held: list[Storage] = [world.allocate(nbytes, 1) for _ in range(2 * idle // nbytes)]
    commands = {place(one): world.write(1, one) for one in held}
    created = pool(world).counters.created
    held.clear()
    x = world.allocate(nbytes, 2)
    assert world.waits(world.write(2, x)) == [commands[place(x)]]
    assert pool(world).counters.created == created
    assert pool(world).counters.waits == world.streams.counters.host_waits == 0
    assert world.violations() == []


def test_what_has_ended_is_anybodys() -> None:
    world = World()
    x = world.allocate(LARGE, 1)
    at = place(x)
    command = world.write(1, x)
    del x
    world.device.wait(command.event)
    assert place(world.allocate(LARGE, 2)) == at  # found out by asking, since nothing else was at hand


def test_a_slow_stream_does_not_hold_back_the_memory_of_others() -> None:
    world = World()
    slow = [world.allocate(KIB, 1) for _ in range(100)]
    for one in slow:
        world.write(1, one, slow=True)
    places = {place(one) for one in slow}
    mine = world.allocate(KIB, 2)
    at = place(mine)
    world.write(2, mine)
    del slow, one
    del mine
    created = pool(world).counters.created
    for _ in range(1000):
        mine = world.allocate(KIB, 2)
        assert place(mine) == at
        world.write(2, mine)
        del mine
    assert pool(world).counters.created == created
    assert place(world.allocate(KIB, 1)) in places


def test_the_host_gets_only_what_no_command_uses() -> None:
    world = World(pinned_bytes=2**20)
    x = world.memory.pinned(300 * KIB)
    command = world.give(1, x.touch(1, x.bytes))
    page = x.block.page
    del x
    other = world.memory.pinned(300 * KIB)
    assert other.block.page is not page
    world.device.wait(command.event)
    assert world.memory.pinned(300 * KIB).block.page is page
    assert world.memory.host_pool.counters.waits == 0


def test_memory_that_the_pool_has_costs_no_call_of_the_driver() -> None:
    world = World()
    for nbytes in (100, 4 * KIB, LARGE):
        world.write(1, world.allocate(nbytes, 1))
    calls = world.device.calls.total()
    for _ in range(50):
        for nbytes in (4 * KIB, 100, LARGE):
            world.allocate(nbytes, 1)
    assert world.device.calls.total() == calls


def test_what_a_failed_command_did_to_memory_is_nothing_to_its_next_owner() -> None:
    world = World()
    x = world.allocate(number=1)
    at = place(x)
    command = world.write(1, x, fails=True)
    world.streams.wait(command, failed_too=True)
    del x
    y = world.allocate(number=1)
    assert place(y) == at
    world.write(1, y, 0, 100)
    world.streams.wait(world.read(1, y))


def test_memory_behind_a_failure_is_reused_only_after_it_has_ended() -> None:
    """A device cannot wait for it: some make whatever waits for a failed command fail, too."""
    world = World()
    x, flag = world.allocate(number=1), world.allocate(number=1)
    at = place(x)
    failed = world.write(1, flag, fails=True)
    world.write(1, x, slow=True)
    world.device.wait(world.read(2, world.allocate(number=2)).event)
    with pytest.raises(Exception, match="clWaitForEvents"):
        world.device.wait(failed.event)
    world.streams.look()
    del x
    assert place(world.allocate(number=1)) != at


# ---------------------------------------------------------------------- poison


def test_freed_memory_is_poisoned_where_that_is_asked_for() -> None:
    for poison in (True, False):
        world = World(poison=poison)
        x = world.allocate(1000, 1)
        buffer, start = x.buffer, x.start
        world.write(1, x, run=lambda memory: memory.fill(7), args=(buffer.bytes[start : start + 1000],))
        del x
        pool(world).free
        found = np.empty(1000, np.uint8)
        late = world.recording.read
        command = world.streams.submit(world.stream(1), [], "a late read", "", late, buffer, start, found)
        world.streams.wait(command)
        assert (found.view(np.uint32) == 0xDEADBEEF).all() == poison
        assert (found == 7).all() == (not poison)


def test_poisoning_comes_after_the_last_use_and_before_the_next() -> None:
    world = World(poison=True)
    x = world.allocate(number=1)
    world.write(1, x, slow=True)
    del x
    y = world.allocate(number=2)
    world.write(2, y)
    world.streams.finish()
    assert world.violations() == []


def test_poisoning_never_waits() -> None:
    """It happens inside of the lock."""
    world = World(poison=True)
    x, y = world.allocate(number=1), world.allocate(number=1)
    failed = world.write(1, x, fails=True)
    world.write(1, y, slow=True)
    with pytest.raises(cl.RuntimeError):
        world.device.wait(failed.event)
    world.streams.look()
    del y
    pool(world).free
    assert world.streams.counters.host_waits == 0
    assert world.device.calls["fill"] == 0


def test_poisoning_that_the_driver_refuses_is_nobodys_failure() -> None:
    world = World(poison=True)
    x = world.allocate()
    world.write(0, x)
    del x
    world.device.fail_call = world.device.calls.total() + 1
    y = world.allocate()
    assert world.device.calls["fill"] == 1
    world.streams.wait(world.write(0, y))
    world.streams.finish()
    assert pool(world).counters.live == 1
