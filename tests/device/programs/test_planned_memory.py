"""What an evaluation, or a replay, computes on its way shares memory, and takes no more than is alive at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.host.builder import HostBuilder
from ocl_ir.types import F32
from ocl_runtime.device import Device
from ocl_runtime.errors import OutOfMemoryError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.replay.bound import Bound
from ocl_runtime.execute.replay.steps import Ended
from ocl_runtime.observe.commands import Logged, Recording
from ocl_runtime.observe.order import Order
from ocl_runtime.programs import Prepared, prepare
from ocl_runtime.runtime import Runtime
from tests.support.arrays import assert_same, counting
from tests.support.programs import ADD, REVERSED, SCALE

SIDE = 96
NBYTES = SIDE * SIDE * 4
RANDOM = np.random.default_rng(0)
HOST, WEIGHTS = (RANDOM.random((SIDE, SIDE), "f4") / SIDE for _ in range(2))


@pytest.fixture
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, replace(engine.settings, streams=1))
    with ocl.use(runtime):
        yield runtime


@contextmanager
def peak(runtime: Runtime) -> Iterator[list[float]]:
    """Bytes that are in use at once beyond those before, as so many arrays."""
    runtime.finish()
    counters = runtime.executor.engine.memory.device_pool.counters
    before = counters.in_use
    counters.peak_in_use = before
    found: list[float] = []
    yield found
    runtime.finish()
    found.append((runtime.executor.engine.memory.device_pool.counters.peak_in_use - before) / NBYTES)


def products(x: Any, weights: Any, count: int = 12) -> Any:
    for _ in range(count):
        x = x @ weights
    return x


def layers(x: Any, weights: Any) -> Any:
    for _ in range(8):
        x = ocl.maximum(x @ weights, 0)
    return x


def heat(x: Any, weights: Any) -> Any:
    u = x + 0
    for _ in range(20):
        u[1:-1, 1:-1] += 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])
    return u


@pytest.mark.parametrize(("work", "most"), [(products, 2.05), (layers, 2.05), (heat, 2.05)])
def test_an_evaluation_holds_what_is_alive_at_once(
    runtime: Runtime, work: Callable[[Any, Any], Any], most: float
) -> None:
    x, weights = ocl.asarray(HOST), ocl.asarray(WEIGHTS)
    expected = work(x, weights).numpy()
    with peak(runtime) as arrays:
        result = work(x, weights).compute()
    assert arrays[0] <= most
    assert_same(result.numpy(), expected)
    with peak(runtime) as arrays:
        capture = ocl.capture(work)
        for _ in range(3):
            result = capture(x, weights)
    assert arrays[0] <= most + 1, "and the result before"
    assert_same(result.numpy(), expected)


def test_what_others_hold_is_computed_once_and_kept(runtime: Runtime) -> None:
    x, weights = ocl.asarray(HOST), ocl.asarray(WEIGHTS)
    held = [x @ weights]
    for _ in range(3):
        held.append(held[-1] @ weights)
    last = (held[-1] @ weights) @ weights
    with counting(runtime) as counted:
        last.compute()
    assert counted["launch", "launches"] == 6
    with counting(runtime) as counted:
        for one in held:
            one.compute()
    assert counted["launch", "launches"] == 0


@pytest.mark.parametrize("way", ["evaluated", "captured"])
def test_scratch_memory_lies_in_pieces_where_there_is_no_room_for_all_of_it(
    runtime: Runtime, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where it is larger than one allocation may be."""
    x, weights = ocl.asarray(HOST), ocl.asarray(WEIGHTS)

    def three_at_once(x: Any, weights: Any) -> Any:
        one, two = x @ weights, x.T @ weights
        for _ in range(4):
            one, two = two @ weights, one @ two
        return (one @ two) @ weights

    expected = three_at_once(x, weights).numpy()
    work = ocl.capture(three_at_once) if way == "captured" else lambda *given: three_at_once(*given).compute()
    allocate, refused = runtime.executor.engine.memory.allocate, []

    def scarce(nbytes: int, *more: Any, **given: Any) -> Any:
        if nbytes > 1.5 * NBYTES:
            refused.append(nbytes)
            raise OutOfMemoryError("no room")
        return allocate(nbytes, *more, **given)

    monkeypatch.setattr(runtime.executor.engine.memory, "allocate", scarce)
    for _ in range(3):
        with peak(runtime) as arrays:
            assert_same(work(x, weights).numpy(), expected)
        assert arrays[0] <= 5.1
    assert refused


@pytest.fixture(params=[1, 4])
def poisoned(request: pytest.FixtureRequest, device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, replace(engine.settings, streams=request.param, poison=True))
    runtime.executor.run_on(Engine(device, runtime.settings, driver=Recording))
    with ocl.use(runtime):
        yield runtime


def test_scratch_memory_is_poisoned_between_its_uses(poisoned: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    x, weights = ocl.asarray(HOST), ocl.asarray(WEIGHTS)
    expected = products(x, weights, 4).numpy()
    recording = poisoned.executor.engine.driver
    assert isinstance(recording, Recording)
    before = len(recording.commands)
    for turn in range(3):
        assert_same(products(x, weights, 4).numpy(), expected)
        assert_same(products(x, weights, 4 + turn % 2).numpy(), products(x, weights, 4 + turn % 2).numpy())
    fills = [one for one in recording.commands[before:] if isinstance(one, Logged) and "fill" in one.what]
    assert len(fills) >= 3 * 3
    assert not list(map(str, Order(recording.log).violations()))


def test_who_reads_scratch_memory_after_its_last_use_reads_poison(
    poisoned: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, weights = ocl.asarray(HOST), ocl.asarray(WEIGHTS)
    expected = products(x, weights, 3).numpy()
    end_too_early(monkeypatch)
    assert not np.array_equal(products(x, weights, 5).numpy()[:2], expected[:2])
    assert np.abs(products(x, weights, 5).numpy()).max() > 1e18


def end_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scratch memory ends a step of its stream before the last one that uses it."""
    ended = Bound._ended

    def too_early(bound: Bound) -> dict[int, list[Ended]]:
        streams = [node.stream or 0 for node in bound.schedule.nodes]
        found: dict[int, list[Ended]] = {}
        for step, parts in ended(bound).items():
            earlier = [one for one in range(step) if streams[one] == streams[step]]
            if earlier:
                found.setdefault(earlier[-1], []).extend([part._replace(others=()) for part in parts])
        return found

    monkeypatch.setattr(Bound, "_ended", too_early)


def lanes() -> Prepared:
    """On each of four streams a chain over the input, and at its end one kernel that reads a buffer of all of them."""
    p = HostBuilder("lanes")
    n = p.size("n")
    x = p.input("x", F32, (n,))
    shared = p.alloc(F32, (n,), "shared")
    with p.stream(0):
        p.launch(SCALE, (n, x, shared), (n,))
    results = []
    for lane in range(4):
        with p.stream(lane):
            last = x
            for _ in range(3):
                t = p.alloc(F32, (n,), "t")
                p.launch(REVERSED, (n, last, t), (n,))
                last = t
            results.append(p.alloc(F32, (n,), "y"))
            p.launch(ADD, (n, last, shared, results[-1]), (n,))
    return prepare(p.build(*results))


def fills_inside(runtime: Runtime, program: Callable[[], object]) -> int:
    """The fills before the last kernel that the program gives."""
    recording = runtime.executor.engine.driver
    assert isinstance(recording, Recording)
    before = len(recording.commands)
    program()
    runtime.finish()
    given = [one.what for one in recording.commands[before:]]
    last = max(number for number, what in enumerate(given) if what in {"add", "scale", "reversed"})
    assert not list(map(str, Order(recording.log).violations()))
    return sum("fill" in what for what in given[:last])


@pytest.mark.parametrize("pieces", [False, True], ids=["arena", "pieces"])
def test_scratch_memory_of_several_streams_or_in_pieces_is_poisoned(
    poisoned: Runtime, pieces: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = np.arange(1000, dtype="f4")
    expected = host[::-1] + (host * np.float32(0.5) + 1)
    x, memory = ocl.asarray(host), poisoned.executor.engine.memory
    x.compute()
    allocate = memory.allocate

    def scarce(nbytes: int, *more: Any, **given: Any) -> Any:
        if nbytes > 2 * host.nbytes:
            raise OutOfMemoryError("no room")
        return allocate(nbytes, *more, **given)

    if pieces:
        monkeypatch.setattr(memory, "allocate", scarce)
    program = lanes()
    results: list[Any] = []
    for _ in range(2):
        inside = fills_inside(poisoned, lambda: results.append(program(x)))
        assert inside >= 3 * 2 + 2, "of three lanes all but the last, of the fourth two"
    for found in results:
        for one in found:
            assert_same(one.numpy(), expected)
    end_too_early(monkeypatch)
    assert any(not np.array_equal(one.numpy(), expected) for one in lanes()(x))
    assert max(np.abs(one.numpy()).max() for one in lanes()(x)) > 1e18


@pytest.mark.parametrize("count", [1, 2, 3, 8, 9])
def test_memory_that_nobody_else_needs_takes_turns_with_what_is_computed(runtime: Runtime, count: int) -> None:
    """A chain goes on from an array that is given up: with that, it takes one more."""
    weights = ocl.asarray(WEIGHTS)
    x = ocl.asarray(HOST) + 0
    x.compute()
    for _ in range(2):  # planned, then again
        expected = products(x.numpy(), WEIGHTS, count)
        with peak(runtime) as found:
            x = products(x, weights, count)
            x.compute()
        assert found[0] <= 1.1
        np.testing.assert_allclose(x.numpy(), expected, rtol=1e-4)
    kept = x
    before = kept.numpy()
    expected = products(before, WEIGHTS, count)
    x = products(x, weights, count)
    x.compute()
    assert_same(kept.numpy(), before)
    np.testing.assert_allclose(x.numpy(), expected, rtol=1e-4)


def test_given_up_memory_that_a_result_looks_at_is_left_alone(runtime: Runtime) -> None:
    weights = ocl.asarray(WEIGHTS)
    x = ocl.asarray(HOST) + 0
    x.compute()
    part, chain = x[3:5], products(x, weights, 4)
    del x
    ocl.compute(part, chain)
    assert_same(part.numpy(), HOST[3:5])
    np.testing.assert_allclose(chain.numpy(), products(HOST, WEIGHTS, 4), rtol=1e-4)


def test_given_up_memory_in_programs_of_many_values(runtime: Runtime) -> None:
    """Each value is what NumPy has, whatever takes turns in whose memory."""
    rng = np.random.default_rng(3)
    for _ in range(25):
        hosts = [rng.random((8, 8), "f4") for _ in range(3)]
        arrays = [ocl.asarray(host) + 0 for host in hosts]
        ocl.compute(*arrays)
        for _ in range(int(rng.integers(4, 14))):
            one, other, to = rng.integers(0, 3, 3)
            arrays[to], hosts[to] = arrays[one] @ arrays[other] * 0.25, hosts[one] @ hosts[other] * np.float32(0.25)
        ocl.compute(*arrays)
        for array, host in zip(arrays, hosts, strict=True):
            np.testing.assert_allclose(array.numpy(), host, rtol=1e-4)
