"""What a mask takes that comes again: by what the device is told, and what is built and allocated."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import ocl_runtime as ocl
from ocl_runtime.arrays.meaning import masks
from ocl_runtime.device import Device
from ocl_runtime.errors import LaunchError, NoRoomYetError, OutOfMemoryError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from tests.support.arrays import assert_same
from tests.support.interrupts import interrupt
from tests.support.wrapped import PATIENCE, Wrapped, eventually, wrapped

RANDOM = np.random.default_rng(0)
N = 4096
HOST = RANDOM.random(N, "f4")
HALF, FEW = HOST < 0.5, HOST < 0.01
WARM = 20
"""Times after which everything has been kept that will be."""
LAUNCHES = 3
PLACES = 60
"""At which an exception is raised."""
TOLD = ("enqueue", "launch", "read", "copy", "wait", "write", "fill", "map", "marker", "gate", "buffer", "pinned")


class World:
    """A runtime that packs as a GPU does, whose transfers are those of a device with its own memory, and its driver."""

    def __init__(self, device: Device, engine: Engine) -> None:
        own, self.driver = wrapped(device, engine.settings, unified_memory=False)
        self.runtime = Runtime(device, engine.settings)
        self.executor: Any = self.runtime.executor
        self.executor.run_on(own)
        self.executor.target = replace(self.executor.target, kind="gpu", compute_units=2, group_size=64)

    @contextmanager
    def counted(self) -> Iterator[Counter[str]]:
        """The calls of the driver's methods that give the device something, wait for it, or take memory."""
        calls: Counter[str] = Counter()

        def count(name: str, args: object) -> None:
            calls[name] += name in TOLD

        self.driver.before = count
        yield calls
        self.driver.before = lambda name, args: None
        for name in [name for name, number in calls.items() if not number]:
            del calls[name]


@pytest.fixture
def world(device: Device, engine: Engine) -> Iterator[World]:
    made = World(device, engine)
    with ocl.use(made.runtime):
        yield made


@pytest.mark.parametrize(("mask", "copies"), [(HALF, 0), (FEW, 1)])
def test_the_device_is_told_no_more_than_it_has_to_do(world: World, mask: np.ndarray[Any, Any], copies: int) -> None:
    """Three kernels, the count, and where little is picked a copy; the host waits once, for the count."""
    x, m = ocl.asarray(HOST), ocl.asarray(mask)
    for _ in range(WARM):
        ocl.compute(x[m], *ocl.nonzero(m))
    expected = {"enqueue": LAUNCHES, "read": 1, "wait": 1} | ({"copy": copies} if copies else {})
    for evaluate, host in ((lambda: x[m], HOST[mask]), (lambda: ocl.nonzero(m)[0], np.flatnonzero(mask))):
        with world.counted() as calls:
            picked = evaluate()
            picked.compute()
        assert calls == expected
        assert_same(picked.numpy(), host)


@pytest.mark.sample(2)
@pytest.mark.parametrize("size", [500, N, 4 * N, 2 * N + 77])
@pytest.mark.parametrize("share", [0.5, 0.01])
def test_the_count_comes_while_the_device_packs(world: World, size: int, share: float) -> None:
    """What packs is held until the pick is there, with its shape."""
    host, mask = RANDOM.random(size, "f4"), RANDOM.random(size) < share
    x, m = ocl.asarray(host), ocl.asarray(mask)
    for _ in range(WARM):
        picked = x[m]
    gate = cl.UserEvent(world.executor.engine.opencl.context)
    late = threading.Timer(PATIENCE, gate.set_status, [0])

    held: list[str] = []

    def hold(enqueue: Any, queue: Any, kernel: Any, *sizes: Any) -> Any:
        *rest, waits = sizes
        if "pack" not in kernel.function_name:
            return enqueue(queue, kernel, *sizes)
        held.append(kernel.function_name)
        return enqueue(queue, kernel, *rest, [*(waits or ()), gate])

    world.driver.instead["enqueue"] = hold
    late.start()
    picked = x[m]
    assert late.is_alive()
    assert held
    late.cancel()
    assert picked.shape == host[mask].shape
    del world.driver.instead["enqueue"]
    gate.set_status(0)
    assert_same(picked.numpy(), host[mask])


@pytest.mark.sample(2)
@pytest.mark.parametrize("size", [500, N, 4 * N, 2 * N + 77])
def test_no_node_is_built_for_what_lies_as_before(world: World, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Within a row, one row, several, and with a shorter one behind them."""
    built: list[tuple[int, ...]] = []
    rows = masks.rows
    monkeypatch.setattr(masks, "rows", lambda mask: built.append(mask.shape) or rows(mask))
    plans, registry = world.executor.plans, world.executor.registry
    for turn in range(WARM):
        host, mask = RANDOM.random(size, "f4"), RANDOM.random(size) < turn / WARM  # other memory and counts each time
        x, m = ocl.asarray(host), ocl.asarray(mask)
        if turn == WARM - 1:
            built.clear()
            evaluations, statistics = registry.evaluations, plans.statistics
        assert_same(x[m].numpy(), host[mask])
    assert not built
    assert registry.evaluations == evaluations + 1
    assert plans.statistics == replace(statistics, hits=statistics.hits + 1)
    half = size // 2
    assert_same(x[:half][m[-half:]].numpy(), host[:half][mask[-half:]])  # which lies elsewhere
    assert built


def test_a_sparse_pick_holds_no_more_than_its_elements(world: World) -> None:
    x, m = ocl.asarray(HOST), ocl.asarray(FEW)
    count = int(FEW.sum())
    for _ in range(WARM):
        picked = x[m]
    pool = world.executor.engine.memory.device_pool
    created = pool.counters.created
    for _ in range(5):
        picked = x[m]
        assert sorted(block.wanted for block in pool.live()) == [picked.nbytes, N, HOST.nbytes]
    assert picked.nbytes == count * HOST.itemsize
    assert pool.counters.created == created


def test_of_one_array_both(world: World) -> None:
    """The mask in the memory of what it picks of; and the very same array."""
    host = HOST < 0.3
    both = ocl.asarray(host)
    for _ in range(WARM):
        assert_same(both[both].numpy(), host[host])
        assert_same(both[: N // 2][both[N // 2 :]].numpy(), host[: N // 2][host[N // 2 :]])


def test_what_is_written_meanwhile(world: World) -> None:
    """A pick has the values of when it was asked for, and later writes, in place, wait for it."""
    host, mask = HOST.copy(), HALF
    x, m = ocl.asarray(host), ocl.asarray(mask)
    for turn in range(WARM):
        picked = x[m]
        x[turn::7] = -1
        x.compute()
        assert_same(picked.numpy(), host[mask])
        host[turn::7] = -1
        picked[:3] = 5  # of which x knows nothing
        assert_same(x.numpy(), host)


def test_memory_that_is_lent(world: World) -> None:
    """What PyOpenCL is given to do comes before the next pick."""
    x, m = ocl.asarray(HOST), ocl.asarray(HALF)
    for _ in range(WARM):
        assert_same(x[m].numpy(), HOST[HALF])
    queue = world.runtime.queue
    lent = x.to_pyopencl(queue)
    for value in (3.0, 4.0):
        lent.fill(value)
        assert_same(x[m].numpy(), np.full(int(HALF.sum()), value, "f4"))


def test_streams(world: World) -> None:
    """What a mask is read from may be on its way on another stream."""
    for turn in range(WARM):
        with ocl.stream(turn % 3):
            x = ocl.asarray(HOST) + turn
            m = (ocl.asarray(HOST) < 0.2).compute()
            x.compute()
        with ocl.stream(turn % 2):
            picked = x[m]
        assert_same(picked.numpy(), (HOST + np.float32(turn))[HOST < 0.2])


def test_where_there_is_no_room(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it is counted first, and packed into what there is room for."""
    x, m = ocl.asarray(HOST), ocl.asarray(HALF)
    for _ in range(WARM):
        picked = x[m]
    memory = world.executor.engine.memory
    allocate = memory.allocate

    def short(nbytes: int, *args: Any, **how: Any) -> Any:
        if nbytes >= HOST.nbytes:
            raise OutOfMemoryError("no memory", place="", remedy="use less")
        return allocate(nbytes, *args, **how)

    monkeypatch.setattr(memory, "allocate", short)
    picked = x[m]
    assert_same(picked.numpy(), HOST[HALF])
    assert picked._node.storage.nbytes < HOST.nbytes


def test_where_there_is_room_once_commands_have_ended(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is waited for without the registry's lock."""
    x, m = ocl.asarray(HOST), ocl.asarray(HALF)
    for _ in range(WARM):
        picked = x[m]
    memory, registry = world.executor.engine.memory, world.executor.registry
    allocate, waited = memory.allocate, list[int]()

    def wait_for_room() -> None:
        taken = threading.Thread(target=lambda: registry.lock.acquire() and registry.lock.release())
        taken.start()
        taken.join(PATIENCE)
        assert not taken.is_alive()
        waited.append(1)

    def later(*args: Any, wait: bool = True, **how: Any) -> Any:
        if not wait and not waited:
            raise NoRoomYetError(wait_for_room)
        return allocate(*args, wait=wait, **how)

    monkeypatch.setattr(memory, "allocate", later)
    picked = x[m]
    assert waited == [1]
    assert_same(picked.numpy(), HOST[HALF])


@pytest.mark.parametrize("call", ["enqueue", "read", "copy"])
def test_what_the_driver_refuses(world: World, call: str) -> None:
    """The error says which line it was, and the next pick is well."""
    x, m = ocl.asarray(HOST), ocl.asarray(FEW)
    for _ in range(WARM):
        picked = x[m]

    def refuse(*args: Any, **how: Any) -> None:
        raise cl.RuntimeError(f"{call} is refused")

    driver: Wrapped = world.driver
    driver.instead[call] = refuse
    with pytest.raises(LaunchError, match=f"{call} is refused") as caught:
        _ = x[m]
    assert "test_masks_again.py" in str(caught.value)
    del driver.instead[call]
    picked = x[m]
    assert_same(picked.numpy(), HOST[FEW])


def test_captured_functions_still_refuse(world: World) -> None:
    x, m = ocl.asarray(HOST), ocl.asarray(HALF)
    for _ in range(WARM):
        _ = x[m]
    captured = ocl.capture(lambda a: a[m])
    with pytest.raises(ocl.Error, match="asks for the number of elements that a mask picks"):
        captured(x)


@pytest.mark.timeout(250, method="thread")
def test_an_exception_anywhere_leaves_every_array_right(world: World) -> None:
    """What it has interrupted is lost, and nothing else: no memory, and no later pick."""
    x, m = ocl.asarray(HOST), ocl.asarray(FEW)
    for _ in range(WARM):
        picked = x[m]
    del picked
    with interrupt(0, "execute", "plan", "arrays") as whole:
        _ = x[m]
    assert whole.count > PLACES
    world.runtime.finish()
    statistics = world.runtime.statistics
    live = statistics()["memory"]["live"]
    for at in range(1, whole.count + 1, whole.count // PLACES):
        picked = None
        with interrupt(at, "execute", "plan", "arrays") as injection:
            picked = x[m]
        late = ocl.full((N,), 7, dtype=np.float32).compute()  # in what memory there is
        if picked is not None:
            assert_same(picked.numpy(), HOST[FEW])
        assert injection.unraisable == []
        assert (late.numpy() == 7).all()
        del picked, late
        world.runtime.finish()
        assert eventually(lambda: statistics()["memory"]["live"] == live), injection.came
    assert_same(x[m].numpy(), HOST[FEW])
