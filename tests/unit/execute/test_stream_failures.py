"""Failed commands (CONTRACT.md, section 2.7): what they spoil, what they do not, and what the error says."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pyopencl
import pytest

from ocl_runtime.errors import Error, LaunchError
from ocl_runtime.execute.driver import Error as DriverError
from ocl_runtime.execute.memory.storage import Storage
from tests.support.world import World

BEHIND = pytest.mark.parametrize("behind", ["fails", "at once", "runs"])
"""What a driver does with a command that waits for a failed one: all of them exist."""


def expect(world: World, storage: Storage, value: int) -> None:
    assert world.bytes(storage) == bytes([value]) * storage.nbytes


def unseen(world: World) -> str:
    """The failure that nobody has seen yet."""
    with pytest.raises(LaunchError) as caught:
        world.streams.finish()
    return str(caught.value)


# ---------------------------------------------------------------------- what is spoilt


@BEHIND
def test_the_error_at_the_next_read_names_the_operation_the_kernel_the_reason_and_the_line(behind: str) -> None:
    world = World(behind=behind)
    x, y = world.allocate(), world.allocate()
    world.set(0, x, 1, name="scale", where="model.py:7", fails=True)
    world.copy(1, y, x, name="total", where="model.py:9")
    with pytest.raises(LaunchError) as caught:
        world.bytes(y)
    text = str(caught.value)
    assert "kernel scale failed: the device reported OUT_OF_RESOURCES (-5)" in text
    assert "asked for at model.py:7" in text
    assert "total" not in text
    world.streams.finish()  # the failure has been seen


@BEHIND
def test_a_failure_spoils_what_it_wrote_and_its_streams_later_work_and_nothing_else(behind: str) -> None:
    world = World(behind=behind)
    before, failed, later, other, made, apart = (world.allocate() for _ in range(6))
    world.set(0, before, 1)
    world.set(1, other, 2)
    world.copy(2, apart, before)  # waits for stream 0, for what came before the failure
    world.set(0, failed, 3, fails=True)
    world.set(0, later, 4)
    world.copy(3, made, later)
    with pytest.raises(LaunchError):
        world.bytes(failed)
    for spoilt in (later, made, failed):
        with pytest.raises(LaunchError, match="kernel kernel failed"):
            world.bytes(spoilt)
    expect(world, before, 1)
    expect(world, other, 2)
    expect(world, apart, 1)


@BEHIND
def test_what_comes_after_the_failure_was_noticed_goes_on(behind: str) -> None:
    world = World(behind=behind)
    x, y, z = (world.allocate() for _ in range(3))
    world.set(0, x, 1, fails=True)
    world.copy(1, y, x)
    assert "kernel kernel failed" in unseen(world)
    world.set(0, z, 2)
    world.set(1, x, 3)  # writing over it makes it good again
    world.copy(0, y, x)
    expect(world, z, 2)
    expect(world, x, 3)
    expect(world, y, 3)
    assert not world.violations()


@BEHIND
def test_the_first_failure_is_the_one_that_is_named_however_long_the_cascade(behind: str) -> None:
    world = World(behind=behind)
    storages = [world.allocate() for _ in range(12)]
    world.set(0, storages[0], 1, name="first", fails=True)
    for number in range(1, 12):
        world.copy(number, storages[number], storages[number - 1], name=f"next_{number}")
    for storage in reversed(storages):
        with pytest.raises(LaunchError, match="kernel first failed"):
            world.bytes(storage)
    assert world.streams.counters.failures == 1
    world.streams.finish()


def test_a_command_that_would_read_what_is_spoilt_is_refused_and_changes_nothing() -> None:
    world = World()
    x, y = world.allocate(), world.allocate()
    world.set(1, y, 5)
    world.set(0, x, 1, name="bad", fails=True)
    unseen(world)
    given = world.device.enqueued
    with pytest.raises(LaunchError, match="kernel bad failed"):
        world.copy(1, y, x)
    assert world.device.enqueued == given
    expect(world, y, 5)


# ---------------------------------------------------------------------- order behind a failure


def test_what_a_failed_command_should_have_come_after_is_still_ordered() -> None:
    """A driver lets a command fail before all that it waits for has ended; what is behind it must not run too early."""
    world = World(behind="at once")
    x, y, z = (world.allocate() for _ in range(3))
    world.set(0, x, 1)
    world.copy(2, y, x, slow=True)
    bad = world.set(1, z, 2, fails=True)
    world.copy(3, x, z)  # waits for the slow reader of x and for the failed one, and fails with that
    world.device.eager = 0.5
    world.streams.wait(bad, failed_too=True)
    world.streams.look()
    world.set(0, x, 9)
    expect(world, y, 1)
    expect(world, x, 9)


def test_a_queue_with_a_failed_command_goes_on_only_when_what_was_before_it_has_ended() -> None:
    world = World(behind="at once")
    x, y, z = (world.allocate() for _ in range(3))
    world.set(1, x, 1)
    world.copy(1, y, x, slow=True)
    bad = world.set(0, z, 2, fails=True)
    world.copy(1, world.allocate(), z)
    world.device.eager = 0.5
    world.streams.wait(bad, failed_too=True)
    world.set(1, x, 9)
    expect(world, y, 1)
    expect(world, x, 9)


@pytest.mark.parametrize("behind", ["fails", "runs"])
def test_memory_of_a_failed_command_is_good_for_its_next_owner(behind: str) -> None:
    world = World(behind=behind, idle=0, page_bytes=4096)
    blocks = [world.allocate() for _ in range(16)]
    world.set(0, blocks[-1], 1, fails=True)
    unseen(world)
    start = blocks.pop().start
    again = world.allocate(256, 1)
    assert again.start == start
    for low in (0, 128):
        world.write(1, again, low, low + 128)
    assert len(world.bytes(again)) == 256


# ---------------------------------------------------------------------- what the driver refuses


def refuse(*args: object, **more: object) -> None:
    """A call that fails."""
    raise pyopencl.RuntimeError("gone")


def test_a_command_that_the_driver_refuses_spoils_what_it_should_have_written_and_nothing_is_lost() -> None:
    world = World()
    x, y = world.allocate(), world.allocate()
    world.set(0, x, 1)
    world.set(1, y, 2)
    world.device.fail_call = world.device.calls.total() + 2  # the flush of stream 0 comes first
    with pytest.raises(LaunchError, match=r"kernel bad failed: injected: call \d+, launch"):
        world.copy(1, y, x, name="bad", where="model.py:3")
    with pytest.raises(LaunchError, match="kernel bad"):
        world.bytes(y)
    written = world.set(1, y, 3)
    assert world.waits(written) == []
    assert len(world.waits(world.copy(1, y, x))) == 1, "the refused command made nobody know of x"
    expect(world, y, 1)
    assert not world.violations()


def test_a_wait_that_fails_by_itself_spoils_nothing() -> None:
    world = World()
    x = world.allocate()
    command = world.set(0, x, 1)
    world.device.fail_call = world.device.calls.total() + 1
    with pytest.raises(LaunchError, match="waiting for kernel kernel failed: injected"):
        world.streams.wait(command)
    expect(world, x, 1)
    world.streams.finish()


def test_a_failure_is_not_missed_because_the_driver_would_not_tell_of_it_at_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(behind="runs")
    x, y = world.allocate(), world.allocate()
    bad = world.set(0, x, 1, name="bad", fails=True).event
    copied = world.copy(1, y, x)
    world.device.wait(copied.event)
    monkeypatch.setattr(world.device, "status", lambda event: refuse() if event is bad else event.status)
    world.streams.look()
    monkeypatch.undo()
    with pytest.raises(LaunchError, match="kernel bad failed"):
        world.bytes(y)


def test_a_transfer_in_pieces_that_failed_unnoticed_makes_nobody_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(behind="at once", unified=False)
    world.transfers._movers.piece = 64
    x, y = world.allocate(), world.allocate()
    world.set(0, x, 1)
    world.streams.finish()
    monkeypatch.setattr(world.device, "read", refuse)
    coming = world.transfers.download(x, np.dtype(np.uint8), 256, 0, "model.py:5")
    gate = coming._command.event
    while not gate.ended:  # a thread of the library opens it
        time.sleep(0.001)
    monkeypatch.undo()
    world.set(1, x, 2)  # waits for the download, which has ended by now
    world.set(2, y, 3)
    with pytest.raises(LaunchError, match="the download of 256 bytes failed: gone"):
        coming.result()
    expect(world, y, 3)


def test_a_driver_that_never_answers_again_is_an_error_and_no_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    x, y = world.allocate(), world.allocate()
    world.set(0, x, 1)
    world.set(1, y, 1)

    for name in ("launch", "status", "wait", "flush", "finish"):
        monkeypatch.setattr(world.device, name, refuse)
    with pytest.raises(LaunchError):
        world.streams.finish()
    with pytest.raises(LaunchError):
        world.copy(0, x, y)
    with pytest.raises(LaunchError):
        world.copy(1, y, x)
    world.streams.look()


def test_a_failure_that_nobody_saw_surfaces_at_the_end_once() -> None:
    world = World()
    x, y = world.allocate(), world.allocate(256, 1)
    world.set(0, x, 1, name="first", fails=True)
    world.streams.wait(world.set(1, y, 1))
    assert "kernel first failed" in unseen(world)
    world.streams.finish()


# ---------------------------------------------------------------------- every call and every command, one by one


def several(world: World) -> list[Callable[[], bytes]]:
    """Two independent chains of uploads, kernels on several streams, and downloads; values when they are asked for."""
    found: list[Callable[[], bytes]] = []
    for chain in range(2):
        first = 2 * chain
        x = world.transfers.upload(np.full(1000, 7, np.uint8), world.stream(first), "upload", snapshot=False)
        y, z = world.allocate(1000, first), world.allocate(1000, first + 1)
        world.copy(first, y, x, where="copy")
        del x
        world.copy(first + 1, z, y, where="copy")
        world.set(first, y, chain + 1, where="set")
        for storage in (y, z):
            coming = world.transfers.download(storage, np.dtype(np.uint8), 1000, 0, "download")
            found.append(lambda coming=coming: coming.result().tobytes())  # type: ignore[misc]
    return found


RIGHT = [bytes([value]) * 1000 for value in (1, 7, 2, 7)]


def attempt(world: World) -> list[bytes | str]:
    """What comes of `several`: values, or what the library's errors say."""
    try:
        coming = several(world)
    except Error as error:
        return [str(error)]
    values: list[bytes | str] = []
    for one in coming:
        try:
            values.append(one())
        except Error as error:
            values.append(str(error))
    return values


def assert_nothing_is_left(world: World) -> None:
    """Everything has ended and been let go; the pools give all their memory back."""
    world.streams.finish()
    assert world.device.unfinished == 0
    assert not any(stream.pending for stream in world.streams.all())
    assert world.device.live_events == 0
    for pool in (world.memory.device_pool, world.memory.host_pool, world.memory.staging_pool):
        pool.trim()
        assert pool.counters.in_use == 0
    assert world.device.live_buffers == 0


@pytest.mark.parametrize("kind", ["shared", "staged", "in pieces"])
def test_whichever_call_of_the_driver_fails_nothing_hangs_or_leaks_and_the_rest_is_right(kind: str) -> None:
    call = failed = 0
    while True:
        call += 1
        world = World(record=False, unified=kind == "shared", behind="at once", eager=0.2, seed=call)
        if kind == "in pieces":
            world.transfers._movers.piece = 400
        world.device.fail_call = call
        values = attempt(world)
        if world.device.calls.total() < call:
            assert values == RIGHT
            break
        for value, wanted in zip(values, RIGHT, strict=False):
            assert isinstance(value, str) or value == wanted
            failed += isinstance(value, str)
        world.device.fail_call = None
        try:
            world.streams.finish()
        except LaunchError as error:
            assert "injected" in str(error)  # noqa: PT017
        assert attempt(world) == RIGHT, "everything goes on"
        assert_nothing_is_left(world)
    assert failed > 12, "many calls matter"


@BEHIND
@pytest.mark.parametrize("unified", [True, False])
def test_whichever_command_fails_the_values_are_right_or_an_error(behind: str, unified: bool) -> None:
    outcomes = set()
    for number in range(12):
        eager = 0.0 if behind == "at once" else 0.3  # such a driver hangs if the failure is not noticed in time
        world = World(record=False, behind=behind, unified=unified, seed=number, eager=eager)
        world.device.failing = {number}
        values = attempt(world)
        for value, wanted in zip(values, RIGHT, strict=False):
            assert isinstance(value, str) or value == wanted
        errors = {value.partition("\n")[0] for value in values if isinstance(value, str)}
        assert len(errors) == 1, "the first failure"
        outcomes |= errors
        world.streams.finish()  # it has been seen
        assert attempt(world) == RIGHT
        assert_nothing_is_left(world)
    assert len(outcomes) == 3, "an upload, a kernel, a download"


def test_the_simulated_drivers_errors_are_the_real_ones() -> None:
    world = World()
    world.device.fail_call = 1
    with pytest.raises(DriverError):
        world.device.queue()
