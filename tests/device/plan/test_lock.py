"""What one evaluation has to wait for holds up no other thread's: the registry's lock is free meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.host.builder import HostBuilder
from ocl_ir.kernel.accesses import WRITE
from ocl_ir.types import F32
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.plan.host import prepare
from ocl_runtime.runtime import Runtime
from tests.support.arrays import counting
from tests.support.programs import SCALE
from tests.support.wrapped import PATIENCE, held

MIB = 2**20

# A wait in the driver cannot be interrupted, only ended with the process.
pytestmark = pytest.mark.timeout(120, method="thread")


@pytest.fixture
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    settings = replace(engine.settings, memory_limit=64 * MIB, streams=4)
    runtime = Runtime(device, settings)
    with ocl.use(runtime):
        yield runtime


def written(x: Any) -> Any:
    x[0] = 1
    return x.compute()


@ocl.capture
def captured_write(small: Any) -> Any:
    small[0] = 0
    return ocl.sqrt(ocl.broadcast_to(small[:7, None], (7, MIB))) + 1


@ocl.capture
def captured_compute_into(small: Any) -> Any:
    ocl.compute_into(small, small + 1)
    return ocl.sqrt(ocl.broadcast_to(small[:7, None], (7, MIB))) + 1


argument = ocl.capture(lambda x: x * 2)
WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "compute": lambda wanted, small: wanted.compute(),
    "numpy": lambda wanted, small: wanted.numpy(),
    "a write": lambda wanted, small: written(wanted),
    "a lazy argument": lambda wanted, small: argument(wanted),
    "a captured write": lambda wanted, small: captured_write(small + 0),
    "a captured compute_into": lambda wanted, small: captured_compute_into(small + 0),
}


@pytest.mark.parametrize("warm", [False, True], ids=["planned", "known"])
@pytest.mark.parametrize("way", WAYS)
def test_others_go_on_while_memory_is_waited_for(runtime: Runtime, way: str, warm: bool) -> None:
    small, ask = ocl.asarray(np.arange(1000, dtype="f4")), WAYS[way]
    memory = runtime.executor.engine.memory.device_pool

    def wanted() -> Any:
        return ocl.sqrt(ocl.broadcast_to(small[:7, None], (7, MIB))) + 1

    for _ in range(2):
        (small + 1).compute()
        if warm:
            ask(wanted(), small)
    runtime.executor.engine.streams.finish()
    taken = [(ocl.zeros((5, MIB)) + number).compute() for number in range(2)]
    touches = [array._node.storage.touch(WRITE) for array in taken]
    waits = memory.counters.waits
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(ask(wanted(), small)), daemon=True)
    with held(runtime.executor.engine, 3, *touches):
        del taken
        thread.start()
        while memory.counters.waits == waits and thread.is_alive():
            time.sleep(0.001)
        other = threading.Thread(target=lambda: results.append((small + 1).numpy()), daemon=True)
        other.start()
        other.join(PATIENCE / 10)
        assert not other.is_alive(), "it waits for the memory of another evaluation"
        assert thread.is_alive()
    thread.join(PATIENCE)
    assert len(results) == 2


def freedom(runtime: Runtime) -> bool:
    """Whether another thread could take the lock now."""
    lock, free = runtime.executor.registry.lock, list[bool]()

    def ask() -> None:
        free.append(lock.acquire(blocking=False))
        if free[-1]:
            lock.release()

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return free[0]


def elements_of_what_is_lent(x: Any) -> Any:
    element = x[3] * 2
    lent = x.to_pyopencl()
    return element, lent


def an_element_of_what_has_been_lent(x: Any) -> Any:
    lent = x.to_pyopencl()
    return x[3], lent


def an_element_that_is_lent(x: Any) -> Any:
    x.compute()
    return x[3].to_pyopencl()


def values_far_apart(x: Any) -> Any:
    return ocl.broadcast_to(x, (40, 1000)).compute(), ocl.concat([x, x]).compute()[::100].numpy()


def checks(x: Any) -> Any:
    for number in range(70):
        x[ocl.asarray([number])]
    return x.numpy()


def an_argument_with_gaps(x: Any) -> Any:
    p = HostBuilder("over")
    n = p.size("n")
    p.launch(SCALE, (n, p.input("x", F32, (n,)), p.output("y", F32, (n,))), (n,))
    out = ocl.allocate((500,), dtype="f4")
    ocl.prepare(p.build())(x.compute()[::2], out)
    return out.numpy()


@pytest.mark.parametrize(
    "way",
    [
        an_argument_with_gaps,
        elements_of_what_is_lent,
        an_element_of_what_has_been_lent,
        an_element_that_is_lent,
        values_far_apart,
        checks,
    ],
)
def test_others_go_on_while_kernels_are_built(runtime: Runtime, way: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """For copies of elements, of what lies far apart or has gaps, and for checks of places."""
    runtime = Runtime(runtime.device, replace(runtime.executor.settings, check=way is checks))
    build, counters, free = runtime.executor.build, runtime.executor.engine.counters, list[bool]()

    def asked(kernels: Any) -> None:
        compiled, is_free = counters.compiled, freedom(runtime)
        build(kernels)
        if counters.compiled > compiled:
            free.append(is_free)

    monkeypatch.setattr(runtime.executor, "build", asked)
    with ocl.use(runtime):
        x = ocl.asarray(np.arange(1000, dtype="f4")) + 1
        way(x)
    assert len(free) > 1
    assert all(free)


def test_others_go_on_while_streams_are_chosen(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many launches that need not come one after the other, for each sizes."""
    is_worth_streams, free = prepare.is_worth_streams, list[bool]()

    def asked(schedule: Any) -> bool:
        free.append(freedom(runtime))
        return is_worth_streams(schedule)

    monkeypatch.setattr(prepare, "is_worth_streams", asked)
    with counting(runtime) as counted:
        for rows in (10, 20, 10):
            x = [ocl.asarray(np.full((rows, 30), number, "f4")).compute() for number in range(40)]
            ocl.compute(*[ocl.sum(ocl.sin(array[::-1]) + array, axis=0) for array in x])
    assert counted["plan", "misses"] == 1
    assert free == [True, True]


def test_who_computes_nothing_waits_for_memory_where_it_is(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """A handler of a signal amid an evaluation, say."""
    engine, small = runtime.executor.engine, ocl.asarray(np.arange(1000, dtype="f4"))
    expected = (small + 1).numpy()
    taken = [(ocl.zeros((5, MIB)) + number).compute() for number in range(2)]
    touches, found, run = [array._node.storage.touch(WRITE) for array in taken], list[Any](), runtime.executor.run

    def interrupted(plan: Any) -> None:
        waits = engine.memory.device_pool.counters.waits
        opening.start()  # not before: on a busy machine there would be nothing to wait for any more
        found.append(ocl.asarray(np.ones((7, MIB), "f4")))
        assert engine.memory.device_pool.counters.waits > waits
        run(plan)

    gate = held(engine, 3, *touches)
    gate.__enter__()
    del taken
    opening = threading.Timer(0.5, gate.__exit__, (None, None, None))
    monkeypatch.setattr(runtime.executor, "run", interrupted)
    result = (small + 1).compute()
    monkeypatch.undo()
    opening.join()
    assert np.array_equal(result.numpy(), expected)
    assert found[0].numpy().min() == 1
