"""An exception at any place where Python can run a signal's handler loses no command and no memory (docs/STREAMS.md).

The device is simulated and runs everything as late as it may; the log of what reached it is proven to be in order.
"""

from __future__ import annotations

import ast
import dis
import gc
import os
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import CodeType
from typing import Any

import numpy as np
import pytest

import ocl_runtime.arrays as xp
from ocl_ir.kernel.accesses import READ, WRITE
from ocl_runtime.arrays import current_runtime, use
from ocl_runtime.errors import LaunchError
from ocl_runtime.execute.memory.storage import Storage
from ocl_runtime.execute.streams import streams
from ocl_runtime.execute.streams.chosen import chosen, stream, unchosen
from tests.support.checkout import ROOT
from tests.support.interpreted import InterpretedRuntime
from tests.support.interrupts import handler, interrupt
from tests.support.world import BYTE, PAGE, World
from tests.support.wrapped import eventually

NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
STRIDE = 1 if NIGHTLY else 3
LARGE = 5 * PAGE
"""Bytes that pass through the ring in pieces, on a device with memory of its own."""


def launch(world: World, x: Storage) -> list[Storage]:
    """A kernel on another stream than that which made its argument, over new memory."""
    y = world.allocate(256, 1)
    world.copy(1, y, x)
    return [y]


def launch_over(world: World, x: Storage) -> list[Storage]:
    world.set(2, x, 9)
    return [x]


def upload(world: World, x: Storage) -> list[Storage]:
    host = np.full(256, 9, np.uint8)
    return [world.transfers.upload(host, world.stream(1), "the test", snapshot=False)]


def upload_in_pieces(world: World, x: Storage) -> list[Storage]:
    host = np.full(LARGE, 9, np.uint8)
    return [world.transfers.upload(host, world.stream(1), "the test", snapshot=False)]


def download(world: World, x: Storage) -> list[Storage]:
    assert (world.transfers.download(x, BYTE, x.nbytes, 0, "the test").result() == 7).all()
    return []


def download_in_pieces(world: World, x: Storage) -> list[Storage]:
    large = world.allocate(LARGE, 1)
    world.set(1, large, 9)
    assert (world.transfers.download(large, BYTE, LARGE, 0, "the test").result() == 9).all()
    return [large]


def hand_over(world: World, x: Storage) -> list[Storage]:
    y = world.allocate(256, 1)
    y = y.handed_over()
    world.copy(1, y, x)
    return [y]


def many(world: World, x: Storage) -> list[Storage]:
    """Cuts pages and joins their blocks."""
    held = [world.allocate(nbytes, nbytes % 3) for nbytes in (256, 1024, 512, 3000)]
    del held[1:3]
    held.append(world.allocate(2000, 1))
    for one in held:
        world.set(1, one, 9)
    return held


def finish(world: World, x: Storage) -> list[Storage]:
    """The host learns what has ended, and what has failed."""
    y = world.allocate(256, 1)
    world.copy(1, y, x)
    world.set(2, x, 7)
    world.streams.finish()
    return [y]


ROADS: list[Callable[[World, Storage], list[Storage]]] = [
    launch,
    launch_over,
    upload,
    upload_in_pieces,
    download,
    download_in_pieces,
    hand_over,
    many,
    finish,
]


def spoilt(world: World, x: Storage) -> bool:
    """Whether reading says that an interrupt came while it was written."""
    with suppress(LaunchError):
        world.bytes(x)
        return False
    with pytest.raises(LaunchError, match="Interrupt came while the device was given it"):
        world.bytes(x)
    return True


def right(world: World, x: Storage, made: list[Storage], road: Callable[..., Any]) -> None:
    """Every value is right, or it is an error to read it."""
    # Whoever comes next gets memory that is really free, and on any stream.
    late = [world.allocate(nbytes, number % 4) for number, nbytes in enumerate([256, 256, 512, 1024, 3000, 256])]
    for number, one in enumerate(late):
        world.set(number % 4, one, 100 + number)
    for number, one in enumerate(late):
        assert set(world.bytes(one)) == {100 + number}
    for one in made:
        assert set(world.bytes(one)) <= {7, 9}
    if road in {launch_over, finish} and spoilt(world, x):
        world.set(0, x, 7)  # which makes it good again
    assert set(world.bytes(x)) <= ({7, 9} if road is launch_over else {7})


def tried(road: Callable[..., list[Storage]], at: int, again: int | None = None, **more: Any) -> str:
    """Where the exception came, if there was a place number `at`."""
    world = World(staging_bytes=8 * PAGE, idle=0, **more)
    x, other = world.allocate(256, 0), world.allocate(256, 3)
    world.set(0, x, 7, slow=True)
    world.set(3, other, 5, slow=True)
    made: list[Storage] = []
    with interrupt(at, "execute", again=again) as injection:
        made = road(world, x)
    assert injection.came or made or road is download
    right(world, x, made, road)
    assert set(world.bytes(other)) == {5}
    assert world.violations() == []
    assert injection.unraisable == []
    made.clear()
    if again is not None and sys.version_info >= (3, 12):
        gc.collect()  # contextlib keeps an exception that another one came after in a cycle
    world.streams.finish()
    device, host, staging = world.memory.device_pool, world.memory.host_pool, world.memory.staging_pool
    assert eventually(lambda: device.counters.live == 2), world.memory.report()  # the mover's thread holds some, too
    assert (host.counters.live, staging.counters.live) == (0, 0)
    for pool in (device, host, staging):
        pool.trim()
        blocks = [block for page in pool._pages for block in page.blocks()]
        assert pool.free == sum(block.size for block in blocks if not block.held)
        assert pool.counters.in_use == sum(block.size for block in blocks if block.held)
        assert pool.counters.reserved == sum(block.size for block in blocks)
    del x, other
    device.trim()
    assert not device._pages, "no command is taken to be running"
    return injection.came


@pytest.mark.sample(3)
@pytest.mark.parametrize("unified", [True, False], ids=["shared", "own"])
@pytest.mark.parametrize("road", ROADS, ids=lambda road: road.__name__)
def test_an_exception_anywhere_loses_nothing(road: Callable[..., list[Storage]], unified: bool) -> None:
    at = 1
    while tried(road, at, unified=unified):
        at += 1 if road in {launch, many} else STRIDE
    assert at > 20


def test_memory_of_a_command_that_nobody_knows_yet_is_handed_out_to_nobody() -> None:
    """Clearing up was interrupted, too, and the host would write to the memory at once."""
    world = World()
    x = world.memory.pinned(256)
    block = x.block
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.streams, "settle", interrupted_once(world.streams.settle))
        patch.setattr(streams, "record", interrupted_once(streams.record))
        with pytest.raises(KeyboardInterrupt):
            world.give(0, x.touch(READ, x.bytes), slow=True)
    del x
    y = world.memory.pinned(256)
    assert y.block is not block
    world.streams.finish()


def test_blocks_are_joined_whatever_comes_in_between() -> None:
    at = 1
    while True:
        world = World()
        held = [world.allocate(2048) for _ in range(PAGE // 2048)]
        for number, one in enumerate(held):
            world.set(number % 4, one, number)
        del held[20:24], held[7:9]
        with interrupt(at, "execute") as injection:
            held.append(world.allocate(4096, 1))
        for nbytes in (*[2048] * 5, 4096):
            held.append(world.allocate(nbytes, 2))
            world.set(2, held[-1], 99)
        kept = [*range(7), *range(9, 20), *range(24, 32)]
        for number, one in zip(kept, held, strict=False):
            assert set(world.bytes(one)) == {number}, injection.came
        assert world.violations() == []
        page = held[0].block.page
        places = [(block.low, block.high) for block in page.blocks()]
        assert [low for low, _ in places] == [0, *(high for _, high in places[:-1])]
        assert places[-1][1] == PAGE
        held.clear()
        del one
        world.streams.finish()
        world.memory.device_pool.trim()
        assert not world.memory.device_pool._pages, injection.came
        if not injection.came:
            break
        at += STRIDE
    assert at > 50


@pytest.mark.parametrize("again", [1, 2, 3, 4, 6, 9, 14])
@pytest.mark.parametrize("road", [launch, upload_in_pieces], ids=lambda road: road.__name__)
def test_another_one_while_the_first_is_cleared_up_loses_nothing_either(
    road: Callable[..., list[Storage]], again: int
) -> None:
    at = 1 + again % STRIDE
    while tried(road, at, again, unified=False):
        at += STRIDE


def test_what_was_interrupted_before_the_driver_was_told_is_spoilt_too_and_says_so() -> None:
    """The driver's call returns, and then the signal comes: nobody has the event."""
    world = World()
    x, y = world.allocate(), world.allocate()
    world.set(0, x, 1)
    real = world.device.launch

    def lost(*args: Any) -> None:
        real(*args)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.device, "launch", lost)
        with pytest.raises(KeyboardInterrupt):
            world.set(0, x, 2, name="scale", where="model.py:7")
    with pytest.raises(LaunchError) as caught:
        world.copy(1, y, x)
    text = str(caught.value)
    assert "kernel scale failed: KeyboardInterrupt came while the device was given it" in text
    assert "asked for at model.py:7" in text
    world.set(1, x, 3)
    world.copy(2, y, x)
    assert set(world.bytes(y)) == {3}
    world.streams.finish()  # who was interrupted knows


@pytest.mark.parametrize("told", [True, False])
def test_what_comes_behind_a_lost_command_waits_for_what_that_had_to_wait_for(told: bool) -> None:
    """The mark in its place has ended before that, and is not known to."""
    world = World()
    x, y, z = world.allocate(256, 0), world.allocate(256, 1), world.allocate(256, 1)
    world.set(0, x, 1, slow=True)
    real = world.device.launch

    def lost(*args: Any) -> None:
        if told:
            real(*args)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.device, "launch", lost)
        with pytest.raises(KeyboardInterrupt):
            world.copy(1, y, x)
    world.set(1, z, 5)
    assert set(world.bytes(z)) == {5}
    with pytest.raises(LaunchError, match="KeyboardInterrupt came while the device was given it"):
        world.copy(2, z, y)
    assert world.violations() == []
    world.streams.finish()


def test_what_comes_behind_a_lost_command_waits_for_transfers_in_pieces_in_front_of_it() -> None:
    """Whose event is of another queue, so that the mark behind them ends before."""
    world = World(unified=False)
    x, y, z = world.allocate(256, 0), world.allocate(256, 1), world.allocate(256, 1)
    slow = world.set(0, x, 1, slow=True)
    world.streams.submit(world.stream(1), [y.touch(WRITE)], "job", "", lambda *args: slow.event)

    def lost(*args: Any) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.device, "launch", lost)
        with pytest.raises(KeyboardInterrupt):
            world.set(1, y, 2)
    world.set(1, z, 5)
    assert set(world.bytes(z)) == {5}
    world.streams.finish()


def test_a_command_whose_event_is_known_goes_on_though_its_giver_was_interrupted() -> None:
    """As long as the driver's answer is there, nothing is spoilt."""
    world = World()
    x = world.allocate()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "record", interrupted_once(streams.record))
        with pytest.raises(KeyboardInterrupt):
            world.set(0, x, 2)
    assert world.streams.counters.failures == 0
    assert set(world.bytes(x)) == {2}


def interrupted_once(function: Callable[..., Any]) -> Callable[..., Any]:
    left = [KeyboardInterrupt]

    def called(*args: Any) -> Any:
        if left:
            raise left.pop()
        return function(*args)

    return called


def test_what_a_thread_has_chosen_is_as_before_after_any_interrupt() -> None:
    came = 0
    for at in range(1, 40):
        with interrupt(at, "execute", "arrays") as injection, use(InterpretedRuntime()), stream(3), unchosen():
            assert chosen() is None
        came += bool(injection.came)
        assert chosen() is None
        assert current_runtime._chosen.get() is None
    assert 5 < came < 39


@pytest.mark.parametrize("first", range(3))
def test_arrays_are_right_and_gone_after_interrupts(first: int) -> None:
    """Expressions, views, writes and results over operands, all of which are evaluated in the interpreter."""
    host = np.arange(12, dtype=np.float32).reshape(3, 4)
    runtime = InterpretedRuntime()
    at = 1 + first
    with use(runtime):  # type: ignore[arg-type]
        while True:
            x, z = xp.asarray(host), xp.asarray(host)
            made: list[Any] = []
            with interrupt(at, "plan", "arrays") as injection:
                y = x * 2
                made.append((y, host * 2))
                made.append((xp.sum(y), (host * 2).sum()))
                made[1][0].compute()
                z += 1
                z.compute()
                y[0] = 5
                y.compute()
            for array, expected in made[1:]:
                np.testing.assert_array_equal(array.numpy(), expected)
            np.testing.assert_array_equal(x.numpy(), host)
            assert injection.unraisable == []
            cells = [weakref.ref(array._cell) for array in (x, z, *(array for array, _ in made))]
            made.clear()
            del x, z
            y = array = None
            assert not [cell for cell in cells if cell() is not None], injection.came
            if not injection.came:
                break
            at += 3 if NIGHTLY else 97


@pytest.mark.skipif(sys.version_info < (3, 13), reason="older Pythons look for signals after a jump, not before")
@pytest.mark.parametrize("folder", ["ocl_runtime", "ir"])
def test_no_loop_goes_on_outside_of_the_try_or_with_that_it_is_in(folder: str) -> None:
    """The jump back of a condition (of `while`, of an `if` that ends a loop or a comprehension) is for Python 3.13
    outside of what is around it: of an interrupt there neither `except` nor `finally` hears, and the lock of a `with`
    stays taken. Such loops are functions of their own."""
    outside = []
    for path in (ROOT / folder).rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        blocks = [node.body for node in ast.walk(ast.parse(text)) if isinstance(node, ast.With | ast.Try)]
        protected = {line for body in blocks for line in range(body[0].lineno, (body[-1].end_lineno or 0) + 1)}
        for code in codes(compile(text, str(path), "exec")):
            if code.co_name == "<genexpr>":
                continue  # whose caller hears of it
            for jump in dis.get_instructions(code):
                if jump.opname == "JUMP_BACKWARD" and handler(code, jump.offset) != handler(code, jump.argval):
                    line = jump.positions.lineno if jump.positions is not None else None
                    outside += [f"{path.name}:{line}"] * (line in protected)
    assert outside == []


def codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a module and of all functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)
