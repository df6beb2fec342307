"""Independent parts of one computation run on several streams by themselves, where they are worth it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.observe.commands import Logged, Recording
from ocl_runtime.observe.order import Order
from ocl_runtime.runtime import Runtime
from tests.support.arrays import assert_same


@pytest.fixture
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, replace(engine.settings, streams=4))
    runtime.executor.run_on(Engine(device, runtime.settings, driver=Recording))
    with ocl.use(runtime):
        yield runtime


def recording(runtime: Runtime) -> Recording:
    assert isinstance(runtime.executor.engine.driver, Recording)
    return runtime.executor.engine.driver


def queues(runtime: Runtime) -> list[int]:
    """The queue of each kernel, in the order in which they were given."""
    commands = [entry for entry in recording(runtime).log if isinstance(entry, Logged)]
    return [one.queue for one in commands if "sin" in one.what or "sum" in one.what or "max" in one.what]


def costly(x: Any) -> Any:
    """Hundreds of operations for each element."""
    for _ in range(12):
        x = ocl.sin(ocl.exp(x)) * 0.5
    return x


HOST = [np.random.default_rng(number).random((300, 4000), dtype="f4") for number in range(3)]


def test_chains_that_are_worth_it_have_streams_of_their_own(runtime: Runtime) -> None:
    arrays = [ocl.asarray(host) for host in HOST]
    sums = [ocl.sum(costly(x), axis=1) for x in arrays]
    ocl.compute(*sums)
    assert len(set(queues(runtime))) == 3
    total = sums[0] + sums[1] + sums[2]
    expected = sum(ocl.sum(costly(ocl.asarray(host)), axis=1).numpy() for host in HOST)
    np.testing.assert_allclose(total.numpy(), expected, rtol=1e-6)
    assert not list(map(str, Order(recording(runtime).log).violations()))


def test_what_is_small_or_depends_on_each_other_stays_together(runtime: Runtime) -> None:
    small = [ocl.asarray(host[:2, :8]) for host in HOST]
    ocl.compute(*(ocl.sum(x + 1, axis=0) for x in small))
    x = ocl.asarray(HOST[0])
    rows = costly(x)
    ocl.compute(ocl.sum(costly(rows - ocl.max(rows, axis=1, keepdims=True)), axis=0))
    assert len(set(queues(runtime))) == 1


def test_long_chains_of_small_kernels_stay_together(runtime: Runtime) -> None:
    """Enqueueing them takes longer than they do."""
    arrays = [ocl.asarray(host[:8, :41]) for host in HOST]
    for column in range(40):
        for x in arrays:
            x[:, column + 1] = ocl.sin(x[:, column]) * 0.5
    ocl.compute(*arrays)
    assert len(queues(runtime)) == 120
    assert len(set(queues(runtime))) == 1


def test_a_stream_that_was_chosen_is_kept(runtime: Runtime) -> None:
    arrays = [ocl.asarray(host) for host in HOST]
    with ocl.stream(2):
        sums = [ocl.sum(costly(x), axis=1) for x in arrays]
        ocl.compute(*sums)
    assert len(set(queues(runtime))) == 1


def test_memory_that_comes_and_goes_between_spread_parts_is_ordered(runtime: Runtime) -> None:
    arrays = [ocl.asarray(host) for host in HOST]
    for _ in range(4):
        made = [costly(x) for x in arrays]
        ocl.compute(*made)
        arrays = [(x[::-1] + y) * 0.5 for x, y in zip(made, arrays, strict=True)]
        arrays[1][0] = 0
        ocl.compute(*arrays)
        del made
    with ocl.use(Runtime(runtime.device, replace(runtime.settings, streams=1))):
        alone = [ocl.asarray(host) for host in HOST]
        for _ in range(4):
            made = [costly(x) for x in alone]
            alone = [(x[::-1] + y) * 0.5 for x, y in zip(made, alone, strict=True)]
            alone[1][0] = 0
        for one, other in zip(arrays, alone, strict=True):
            assert_same(one.numpy(), other.numpy())
    assert not list(map(str, Order(recording(runtime).log).violations()))
