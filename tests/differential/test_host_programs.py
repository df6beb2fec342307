"""Random host programs: every wait is needed, and no stream, arena, replay or slow kernel changes a result."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from hypothesis import given, settings

from ocl_ir.host.conflicts import conflicts
from ocl_ir.host.schedule import BufferView, Schedule
from ocl_ir.host.verify_order import unordered
from ocl_ir.interpret.host import run as interpret
from ocl_runtime.device import Device
from ocl_runtime.execute.driver import OpenCL
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.replay.execution import Part
from ocl_runtime.execute.replay.replay import Replay
from ocl_runtime.execute.streams.chosen import stream
from ocl_runtime.observe.commands import Recording
from ocl_runtime.observe.order import Order
from ocl_runtime.plan.host.prepare import HostTarget, prepare
from ocl_runtime.plan.host.waits import place_waits
from ocl_runtime.plan.kernels.cache import KernelCache
from tests.differential.host_programs import WIDTH, Made, host_programs
from tests.support.eager import run as run_eagerly

KERNELS = KernelCache()
SPIN = """
__kernel void spin(__global uint *sink)
{
    uint state = 1;
    for (uint j = 0; j < 30000; ++j)
        state = state * 1664525u + 1013904223u;
    sink[0] = state;
}
"""


class Delaying:
    """A driver that sometimes keeps a queue busy for a while before a node."""

    def __init__(self, opencl: OpenCL) -> None:
        self._opencl = opencl
        self._random = random.Random(0)
        program = cl.Program(opencl.context, SPIN).build()
        self._spin = cl.Kernel(program, "spin")
        self._sink = cl.Buffer(opencl.context, cl.mem_flags.READ_WRITE, 4)  # set_args does not hold it
        self._spin.set_args(self._sink)
        self.delayed = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opencl, name)

    def enqueue(self, queue: Any, *args: Any) -> Any:
        if self._random.random() < 0.2:
            self.delayed += 1
            cl.enqueue_nd_range_kernel(queue, self._spin, (1,), (1,))
        return cl.enqueue_nd_range_kernel(queue, *args)


@pytest.fixture(scope="module")
def delayed(device: Device, engine: Engine) -> Engine:
    return Engine(device, replace(engine.settings, streams=8), driver=Delaying)


def inputs(made: Made) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(made.rows)
    return {name: rng.integers(-8, 8, (made.rows, WIDTH)).astype("f4") for name in "xzy"}


def on_device(
    engine: Engine, made: Made, run: Callable[[Mapping[str, Part]], list[tuple[Part, BufferView]]]
) -> list[np.ndarray]:
    parts = {name: Part(engine.upload(array)) for name, array in inputs(made).items()}
    results = run(parts)
    return [
        engine.download(part.storage, place.dtype.numpy, place.layout.size).result().reshape(place.layout.shape)
        for part, place in results
    ]


def scheduled(made: Made) -> Schedule:
    return prepare(made.program, {"n": made.rows}, HostTarget(KERNELS, group_size=16, streams=made.streams))


@given(host_programs())
def test_every_wait_of_a_schedule_is_needed(made: Made) -> None:
    schedule = scheduled(made)
    memory = schedule.memory
    assert memory is not None
    assert memory.bound <= memory.arena <= memory.unshared
    conflicting = conflicts(schedule)
    assert unordered(schedule, conflicting) is None
    for number, node in enumerate(schedule.nodes):
        for wait in node.waits:
            nodes = list(schedule.nodes)
            nodes[number] = replace(node, waits=tuple(one for one in node.waits if one != wait))
            assert unordered(replace(schedule, nodes=tuple(nodes)), conflicting) is not None


@given(host_programs())
@settings(max_examples=max(1, settings.default.max_examples // 2))
def test_sharing_memory_adds_no_wait(made: Made) -> None:
    schedule = scheduled(made)
    apart = replace(schedule, offsets={}, arena=0)
    assert schedule.memory is not None
    assert not schedule.memory.by_program_order
    assert [node.waits for node in place_waits(apart).nodes] == [node.waits for node in schedule.nodes]


@given(made=host_programs())
@settings(max_examples=max(1, settings.default.max_examples // 4))
def test_slow_kernels_change_nothing(delayed: Engine, made: Made) -> None:
    arrays = inputs(made)
    expected = interpret(made.program, {"n": made.rows}, arrays)
    schedule = scheduled(made)
    replay = Replay(delayed, schedule)
    for run in (replay, replay, lambda parts: run_eagerly(delayed, schedule, parts)):
        for one, other in zip(on_device(delayed, made, run), expected, strict=True):
            np.testing.assert_array_equal(one, other)


@given(made=host_programs())
@settings(max_examples=max(1, settings.default.max_examples // 8))
def test_replays_on_record_are_ordered(device: Device, engine: Engine, made: Made) -> None:
    """Replays and eager runs over the same memory from several streams; of a replay's nodes every wait is needed."""
    schedule = scheduled(made)
    recorded = Engine(device, replace(engine.settings, streams=8), driver=Recording)
    driver = recorded.driver
    assert isinstance(driver, Recording)
    parts = {name: Part(recorded.upload(array)) for name, array in inputs(made).items()}
    replay, within = Replay(recorded, schedule), []
    for number in range(4):
        before = len(driver.commands)
        with stream(number * 3):
            (run_eagerly(recorded, schedule, parts) if number == 2 else replay(parts))
        if number != 2:
            nodes = [one for one in driver.commands[before:] if one.what != "marker"]
            within += [(one, wait) for one in nodes for wait in one.waits if wait in nodes]
    recorded.finish()
    order = Order(driver.log)
    assert not list(order.violations())
    assert len(within) == 3 * sum(len(node.waits) for node in schedule.nodes)
    for wait in within:
        assert order.first_without(*wait) is not None


@given(made=host_programs())
@settings(max_examples=max(1, settings.default.max_examples // 8))
def test_poison_comes_after_the_last_uses_and_before_the_next(device: Device, engine: Engine, made: Made) -> None:
    arrays = inputs(made)
    expected = interpret(made.program, {"n": made.rows}, arrays)
    poisoned = Engine(device, replace(engine.settings, streams=8, poison=True), driver=Recording)
    driver = poisoned.driver
    assert isinstance(driver, Recording)
    schedule = scheduled(made)
    for run in (replay := Replay(poisoned, schedule), replay):
        before = len(driver.commands)
        found = on_device(poisoned, made, run)
        fills = [one for one in driver.commands[before:] if "fill" in one.what]
        assert len(fills) >= len(schedule.lives), "and those of freed memory"
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    poisoned.finish()
    assert not list(Order(driver.log).violations())


def test_kernels_are_delayed(delayed: Engine) -> None:
    """What the test above relies on."""
    driver = delayed.driver
    assert isinstance(driver, Delaying)
    before, queue = driver.delayed, delayed.streams.current().queue
    for _ in range(100):
        driver.enqueue(queue, driver._spin, (1,), (1,))
    assert 5 < driver.delayed - before < 50
