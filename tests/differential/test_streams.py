"""Random programs on several streams give what they give step by step, whatever is slow, and with the fewest waits."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.layout import Layout
from ocl_ir.types import U32
from ocl_runtime.device import Device, Existing, existing
from ocl_runtime.errors import LaunchError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.memory.storage import Storage
from ocl_runtime.execute.streams.chosen import stream
from ocl_runtime.execute.transfers.transfer import Download
from ocl_runtime.observe.commands import Recording
from ocl_runtime.observe.order import Order
from ocl_runtime.settings import Settings
from tests.differential.stream_programs import (
    Allocate,
    Mix,
    Read,
    Runner,
    SimulatedRunner,
    Step,
    expected,
    initial,
    programs,
    run,
)
from tests.support.world import World

SPINS = 1_000_000
"""Steps that make a kernel slow: about a millisecond."""


def assert_right(steps: Sequence[Step], runner: Runner, forgive: tuple[type[Exception], ...] = ()) -> int:
    """How many values raised an error that may be forgiven; the others are right."""
    taken, values = run(steps, runner, forgive)
    for found, wanted in zip(values, expected(taken), strict=True):
        if found is not None or not forgive:
            np.testing.assert_array_equal(found, wanted)
    return sum(value is None for value in values)


def assert_ordered_by_the_fewest_waits(recording: Recording, *, perhaps_more: bool = False) -> None:
    order = Order(recording.log)
    assert not list(map(str, order.violations()))
    assert perhaps_more or not order.redundant(), "deleting any wait must let two commands race"


@given(programs())
def test_programs_give_what_they_give_step_by_step_and_every_wait_is_needed(
    program: tuple[int, int, list[Step]],
) -> None:
    streams, seed, steps = program
    world = World(
        streams,
        seed=seed,
        eager=(0.0, 0.3, 0.8)[seed % 3],  # from nothing before it must to nearly everything at once
        unified=seed % 5 < 3,
        idle=0 if seed % 7 < 4 else None,
        page_bytes=2**13,
        memory_limit=2**16,
    )
    if in_pieces := seed % 8 == 0:
        world.transfers._movers.piece = 200  # bytes: larger transfers go in pieces, by threads of the library
    assert_right(steps, SimulatedRunner(world))
    # What these threads have waited for the host knows, but not who gives the next command at the same time.
    assert_ordered_by_the_fewest_waits(world.recording, perhaps_more=in_pieces)
    assert world.memory.device_pool.counters.waits == 0


@given(programs(most=60), st.sets(st.integers(0, 60), min_size=1, max_size=3), st.sampled_from(("fails", "runs")))
def test_where_commands_fail_every_value_is_right_or_an_error(
    program: tuple[int, int, list[Step]], failing: set[int], behind: str
) -> None:
    streams, seed, steps = program
    world = World(streams, seed=seed, behind=behind, eager=(0.0, 0.3, 0.8)[seed % 3], unified=seed % 5 < 3)
    world.device.failing = failing
    assert_right(steps, SimulatedRunner(world), forgive=(LaunchError,))
    with suppress(LaunchError):
        world.streams.finish()
    assert not list(map(str, Order(world.recording.log).violations()))
    world.device.failing = set()
    assert_right(steps, SimulatedRunner(world))  # everything goes on


# ---------------------------------------------------------------------- on the device


def mix() -> Kernel:
    """`stream_programs.Mix` for two axes, by a single work-item, which is busy for a while first."""
    k = KernelBuilder("mix")
    spins, a, b, c = (k.scalar(name, U32) for name in ("spins", "a", "b", "c"))
    rows, columns = k.scalar("rows", U32), k.scalar("columns", U32)
    to, from_ = k.pointer("to", U32), k.pointer("from", U32)
    to_at, to_row, to_column = (k.scalar(f"to_{name}", U32) for name in ("at", "row", "column"))
    from_at, from_row, from_column = (k.scalar(f"from_{name}", U32) for name in ("at", "row", "column"))
    state = k.variable(k.global_id(0), hint="state")
    with k.for_(0, spins):
        k.assign(state, state * 1664525 + 1013904223)
    busy = k.let(k.op("select", state == 12345, k.let(c + 1), c), "busy")  # it never comes to 12345
    with k.for_(0, rows, hint="row") as row, k.for_(0, columns, hint="column") as column:
        i = k.let(to_at + row * to_row + column * to_column, "i")
        j = k.let(from_at + row * from_row + column * from_column, "j")
        k.store(to, i, a * k.load(to, i) + b * k.load(from_, j) + busy)
    return k.build()


MIX = mix()


class DeviceRunner:
    """Gives steps to an engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def allocate(self, step: Allocate) -> Storage:
        with stream(step.stream):
            return self.engine.upload(initial(step), snapshot=step.how == "snapshot")

    def mix(self, step: Mix, dst: Storage, src: Storage) -> None:
        spins = SPINS if step.slow else 0
        args: list[Any] = [spins, *step.factors, *_two(step.to).shape]
        args += [(dst, step.to.ascending), (src, step.from_.ascending), *_numbers(step.to), *_numbers(step.from_)]
        with stream(step.stream):
            self.engine.launch(MIX, args, (1,), (1,))

    def read(self, step: Read, array: Storage) -> Download:
        with stream(step.stream):
            return self.engine.download(array, np.dtype(np.uint32), step.high - step.low, step.low)

    def look(self) -> None:
        self.engine.streams.look()


def _two(layout: Layout) -> Layout:
    """With a first axis of one element where there is but one axis."""
    return layout if layout.ndim == 2 else Layout((1, *layout.shape), (0, *layout.strides), layout.offset)


def _numbers(layout: Layout) -> list[int]:
    """What the kernel computes indices with, from the lowest element on, modulo 2**32."""
    return [number % 2**32 for number in (layout.offset - layout.range()[0], *_two(layout).strides)]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def context(device: Device) -> Existing:
    """For all examples: some drivers take seconds to make one."""
    return existing(cl.Context([device.cl]))


@settings(max_examples=max(10, settings.default.max_examples // 5))
@given(programs(most=100))
def test_programs_on_the_device_give_what_they_give_step_by_step(
    device: Device, context: Existing, cache: Any, program: tuple[int, int, list[Step]]
) -> None:
    streams, seed, steps = program
    chosen = Settings(cache_folder=cache, streams=streams, page_bytes=2**13, memory_limit=2**16)
    if seed % 2 == 1:  # as if it had its own memory: large transfers go in pieces, by other threads
        device = replace(device, capabilities=replace(device.capabilities, unified_memory=False))
    engine = Engine(device, chosen, driver=Recording, existing=context)
    engine.transfers._movers.piece = 200
    assert_right(steps, DeviceRunner(engine))
    assert isinstance(engine.driver, Recording)
    # What other threads have waited for the host knows, perhaps between the choice of a command's waits and its entry.
    assert_ordered_by_the_fewest_waits(engine.driver, perhaps_more=not device.capabilities.unified_memory)


def test_eight_threads_share_arrays_for_ten_thousand_commands(device: Device, cache: Any) -> None:
    engine = Engine(device, Settings(cache_folder=cache, streams=8), driver=Recording)
    runner, whole = DeviceRunner(engine), Layout((16,), (1,))
    arrays = [engine.upload(np.zeros(16, np.uint32)) for _ in range(12)]
    sums = [0] * 8

    def add(thread: int) -> None:
        pick = random.Random(thread)
        for _ in range(1250):
            dst, src = pick.sample(arrays, 2)
            factors = (1, 0, pick.randrange(100))  # dst += a number: in any order the same
            runner.mix(Mix(0, whole, 0, whole, factors, thread, slow=False), dst, src)
            sums[thread] += factors[2]

    threads = [threading.Thread(target=add, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    values = [engine.download(array, np.dtype(np.uint32), 16).result() for array in arrays]
    assert sum(int(value[0]) for value in values) == sum(sums)
    assert all((value == value[0]).all() for value in values)
    assert isinstance(engine.driver, Recording)
    assert len(engine.driver.commands) >= 10_000
    assert not list(map(str, Order(engine.driver.log).violations()))
    engine.finish()
    assert not any(one.pending for one in engine.streams.all())
    cells = [cell for array in arrays for cell in array.block.ranges.cells]
    assert len(cells) == len(arrays)
    assert max(len(cell.reads) + len(cell.writes) for cell in cells) <= 9, "a write, and a read on each stream"


def test_the_kernel_of_the_programs_means_what_its_name_says(engine: Engine) -> None:
    """So that a difference above is one of order."""
    step = Mix(0, Layout((2, 3), (8, -2), 5), 0, Layout((2, 3), (0, 1), 9), (5, 3, 7), 0, slow=True)
    array = np.arange(40, dtype=np.uint32)
    storage = engine.upload(array)
    DeviceRunner(engine).mix(step, storage, storage)
    for row in range(2):
        for column in range(3):
            i, j = 5 + 8 * row - 2 * column, 9 + column
            array[i] = 5 * array[i] + 3 * array[j] + 7
    np.testing.assert_array_equal(engine.download(storage, np.dtype(np.uint32), 40).result(), array)
