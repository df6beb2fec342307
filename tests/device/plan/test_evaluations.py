"""Very many evaluations, and very large expressions: what is held stays as it was.

`make nightly` runs the long ones: 100,000 evaluations, and 100,000 nodes.
"""

from __future__ import annotations

import gc
import os
import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.graph.nodes import AnyNode
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from tests.support.arrays import counting

NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
EVALUATIONS = 100_000 if NIGHTLY else 4_000
NODES = 100_000 if NIGHTLY else 20_000


def nodes_alive() -> int:
    return sum(isinstance(each, AnyNode) for each in gc.get_objects())


pytestmark = pytest.mark.timeout(3000 if NIGHTLY else 120, method="thread")


@pytest.fixture
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, engine.settings)
    with ocl.use(runtime):
        yield runtime


def test_memory_is_flat_over_many_evaluations(runtime: Runtime) -> None:
    other = ocl.asarray(np.linspace(0, 1, 300, dtype="f4"))
    x = ocl.asarray(np.zeros(300, "f4"))
    n, host = np.zeros(300, "f4"), other.numpy()

    def turns(count: int) -> None:
        nonlocal x, n
        for turn in range(count):
            x = x * 0.5 + other * (turn % 7)
            if turn % 3 == 0:
                x[turn % 100 :: 50] = 1
            if turn % 10 == 0:
                (ocl.sum(x) + 1).compute()
            x.compute()
            n = n * np.float32(0.5) + host * np.float32(turn % 7)
            if turn % 3 == 0:
                n[turn % 100 :: 50] = 1

    def held() -> tuple[int, int]:
        runtime.finish()
        runtime.executor.engine.streams.look()
        gc.collect()
        return tracemalloc.get_traced_memory()[0], nodes_alive()

    turns(1000)  # every plan and kernel has been made
    tracemalloc.start(1)
    try:
        turns(300)
        nbytes, nodes = held()
        with counting(runtime) as counted:
            turns(EVALUATIONS)
        later, more = held()
    finally:
        tracemalloc.stop()
    assert counted["plan", "misses"] <= 8
    assert counted["memory", "created"] == 0
    assert more == nodes
    assert later - nbytes < 300_000
    np.testing.assert_allclose(x.numpy(), n, rtol=1e-5)


def test_a_very_deep_expression(runtime: Runtime) -> None:
    gc.collect()
    before = nodes_alive()
    x, n = ocl.asarray(np.ones(16, "f4")), np.ones(16, "f4")
    y = x
    for turn in range(NODES):
        factor = 1 + (turn % 5 - 2) / 1000
        y = y * factor
        n = n * np.float32(factor)
    np.testing.assert_array_equal(y.numpy(), n)
    del y, x
    gc.collect()
    assert nodes_alive() <= before + runtime.statistics()["plan"]["plans"] * 2
