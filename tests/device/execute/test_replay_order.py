"""Replays on record: what their nodes touch is told to a driver that listens, and the checker proves their order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.errors import VerifyError
from ocl_ir.host.builder import HostBuilder
from ocl_ir.host.grammar import Program
from ocl_ir.host.schedule import Schedule
from ocl_ir.kernel.accesses import READ, WRITE
from ocl_ir.sizes import parts, smaller
from ocl_ir.types import F32
from ocl_runtime.device import Device
from ocl_runtime.errors import LaunchError
from ocl_runtime.execute.driver import Error as DriverError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.replay import replay as replay_module
from ocl_runtime.execute.replay.execution import Execution, Part
from ocl_runtime.execute.replay.replay import Replay
from ocl_runtime.observe.commands import Logged, Recording
from ocl_runtime.observe.order import Order, violations
from ocl_runtime.programs import Prepared, prepare
from ocl_runtime.runtime import Runtime
from tests.support.arrays import assert_same, counting
from tests.support.programs import ADD, REVERSED, SCALE
from tests.support.wrapped import busy, eventually

N = 1000


@pytest.fixture
def recorded(device: Device, engine: Engine) -> Iterator[Runtime]:
    yield from _recorded(device, engine)


@pytest.fixture(params=["as it is", "early uploads"])
def early_or_not(device: Device, engine: Engine, request: pytest.FixtureRequest) -> Iterator[Runtime]:
    """Also as a device whose driver reads ordinary host memory as soon as a copy of it is enqueued."""
    early = device.quirks.early_uploads or request.param == "early uploads"
    yield from _recorded(replace(device, quirks=replace(device.quirks, early_uploads=early)), engine)


@pytest.fixture(params=["as it is", "own memory"])
def shared_or_not(device: Device, engine: Engine, request: pytest.FixtureRequest) -> Iterator[Runtime]:
    """Also as a device that has memory of its own."""
    shared = device.capabilities.unified_memory and request.param == "as it is"
    changed = replace(device, capabilities=replace(device.capabilities, unified_memory=shared))
    yield from _recorded(changed, engine)


def _recorded(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, engine.settings)
    runtime.executor.run_on(Engine(device, replace(engine.settings, streams=4), driver=Recording))
    with ocl.use(runtime):
        yield runtime


def recording(runtime: Runtime) -> Recording:
    driver = runtime.executor.engine.driver
    assert isinstance(driver, Recording)
    return driver


def tiles() -> Prepared:
    """y += x / 2 + 1 in four tiles on four streams, with scratch memory, and the columns of w in two ways."""
    p = HostBuilder("tiles")
    n = p.size("n")
    x, y = p.input("x", F32, (n,)), p.input("y", F32, (n,), written=True)
    w = p.alloc(F32, (n, 2), "w")
    with p.for_(parts(n, 250)) as i, p.stream(i):
        start = i * 250
        length = smaller(250, n - start)
        t, part = p.alloc(F32, (length,), "t"), p.slice(y, 0, start, length)
        p.launch(SCALE, (length, p.slice(x, 0, start, length), t), (length,))
        p.launch(ADD, (length, t, part, part), (length,))
    with p.stream(1):
        p.copy(p.slice(w, 1, 0, 1), p.reshape(y, (n, 1)))
    with p.stream(2):
        p.copy(p.slice(w, 1, 1, 1), p.reshape(x, (n, 1)))
    return prepare(p.build(w))


def nodes(commands: list[Logged]) -> list[Logged]:
    return [one for one in commands if one.what != "marker"]


HOST = np.arange(N, dtype="f4")


def test_each_node_says_what_it_touches(recorded: Runtime) -> None:
    program, x, y = tiles(), ocl.asarray(HOST), ocl.asarray(HOST)
    schedule = program.prepared({"n": N})[0].schedule
    before = len(recording(recorded).commands)
    program(x, y)
    logged = nodes(recording(recorded).commands[before:])
    assert [one.what for one in logged] == [node.what for node in schedule.nodes]
    homes: dict[str, set[int]] = {}
    for node, one in zip(schedule.nodes, logged, strict=True):
        assert [access.mode for access in one.accesses] == [access.mode for access in node.accesses]
        for given, access in zip(one.accesses, node.accesses, strict=True):
            low, high = access.range
            assert high - low <= given.high - given.low < high - low + 256  # to the end of its block, perhaps
            assert (given.footprint is None) == (access.layout.is_dense or access.layout.strides[0] == 1)
            kind = schedule.buffers[access.buffer].kind
            homes.setdefault(f"{kind} {access.buffer}", set()).add(given.low - low)
    for kind, starts in homes.items():
        assert len(starts) == 1, f"{kind} is one place in memory"
    assert not violations(recording(recorded).log)


def test_a_driver_that_does_not_listen_is_told_nothing(device: Device, engine: Engine) -> None:
    """Its nodes take the shortest way, and nobody finds out what they touch."""
    runtime = Runtime(device, engine.settings)
    with ocl.use(runtime), pytest.MonkeyPatch.context() as patch:
        program, x, y = tiles(), ocl.asarray(HOST), ocl.asarray(HOST)
        program.prepared({"n": N})
        patch.setattr(Execution, "of_step", None)
        patch.setattr(runtime.executor.engine.opencl, "launch", None)
        program(x, y)
        runtime.finish()
        patch.undo()
        assert_same(y.numpy(), HOST + (HOST * np.float32(0.5) + np.float32(1)))


def test_memory_of_the_host_is_told_pinned_or_not(recorded: Runtime) -> None:
    p = HostBuilder("through")
    image, out = p.host_input("image", F32, (N,)), p.host_output("out", F32, (N,))
    for half in range(2):
        with p.stream(half):
            x = p.alloc(F32, (N // 2,), "x")
            p.copy(x, p.slice(image, 0, half * N // 2, N // 2))
            p.copy(p.slice(out, 0, half * N // 2, N // 2), x)
    program = prepare(p.build())
    program.prepared({})
    for make in (np.empty, ocl.pinned_empty):
        image_, out_ = make(HOST.shape, dtype=np.float32), make(HOST.shape, dtype=np.float32)
        image_[:] = HOST
        before = len(recording(recorded).commands)
        program(image=image_, out=out_)
        recorded.finish()
        assert_same(out_, HOST)
        logged = nodes(recording(recorded).commands[before:])
        assert [sorted(access.mode for access in one.accesses) for one in logged] == [[READ, WRITE]] * 4
    assert not violations(recording(recorded).log)


def into_host() -> Prepared:
    p = HostBuilder("into_host")
    n = p.size("n")
    x, out = p.input("x", F32, (n,)), p.host_output("out", F32, (n,))
    p.copy(out, x)
    return prepare(p.build())


def from_host() -> Prepared:
    p = HostBuilder("from_host")
    n = p.size("n")
    image, y = p.host_input("image", F32, (n,)), p.alloc(F32, (n,), "y")
    p.copy(y, image)
    return prepare(p.build(y))


@pytest.mark.parametrize("make", [np.empty, ocl.pinned_empty], ids=["ordinary", "pinned"])
def test_runs_are_ordered_by_the_arrays_of_the_host_that_they_use(
    early_or_not: Runtime, make: Callable[..., Any]
) -> None:
    """One writes it on a stream that is held up, another one reads it, and a third writes it, on streams of their own;
    they see different views of it, of which none is the other's base."""
    recorded = early_or_not
    write, read, x = into_host(), from_host(), ocl.asarray(HOST)
    other = ocl.asarray(HOST + 1)
    write(x, np.empty_like(HOST))
    read(HOST)
    host = make((2 * N,), dtype=np.float32)
    host[:] = -1
    recorded.finish()

    def behind() -> Any:
        with ocl.use(recorded):
            with ocl.stream(1):
                half = read(host[N // 2 : N // 2 + N])
            with ocl.stream(2):
                write(other, host[:N])
            return half

    counters = recorded.executor.engine.streams.counters
    waited = counters.host_waits
    with ThreadPoolExecutor(1) as pool:
        with busy(recorded.executor.engine, 0):
            with ocl.stream(0):
                write(x, host[:N])
            runs = pool.submit(behind)
            if recorded.device.quirks.early_uploads and make is np.empty:
                assert eventually(lambda: counters.host_waits > waited)
                assert not runs.done()
            else:
                runs.result()
                assert counters.host_waits == waited
        half = runs.result()
    assert_same(half.numpy(), np.concatenate([HOST[N // 2 :], np.full(N // 2, -1, "f4")]))
    recorded.finish()
    assert_same(host[:N], HOST + 1)
    assert not violations(recording(recorded).log)


def test_runs_on_other_arrays_of_the_host_wait_for_nothing(recorded: Runtime) -> None:
    """Also on another half of the same array, and for those that only read."""
    write, read, x = into_host(), from_host(), ocl.asarray(HOST)
    write(x, np.empty_like(HOST))
    read(HOST)
    host, apart = np.zeros((2, N), np.float32), np.zeros(N, np.float32)
    recorded.finish()
    with busy(recorded.executor.engine, 0), counting(recorded) as counted:
        with ocl.stream(0):
            write(x, host[0])
            read(HOST)
        with ocl.stream(1):
            write(x, host[1])
            read(HOST)
        with ocl.stream(2):
            write(x, apart)
    recorded.finish()
    assert counted["stream", "waits"] == 0
    assert_same(host, np.stack([HOST, HOST]))


def test_a_single_transfer_is_ordered_with_runs_by_the_array_of_the_host(shared_or_not: Runtime) -> None:
    """Where the host copies it to pinned memory first, it is the host that waits."""
    recorded = shared_or_not
    write, x = into_host(), ocl.asarray(HOST)
    host = np.full(N, -1, np.float32)
    write(x, np.empty_like(HOST))
    recorded.finish()
    other = ocl.asarray(HOST + 2)

    def behind() -> Any:
        with ocl.use(recorded), ocl.stream(1):
            return ocl.upload(host), ocl.download(other, out=host)

    with ThreadPoolExecutor(1) as pool:
        with busy(recorded.executor.engine, 0):
            with ocl.stream(0):
                write(x, host)
            transfers = pool.submit(behind)
            if recorded.device.capabilities.unified_memory:
                transfers.result()
        y, coming = transfers.result()
    assert_same(y.numpy(), HOST)
    assert_same(coming.result(), HOST + 2)
    assert_same(host, HOST + 2)
    assert not violations(recording(recorded).log)


def test_a_copy_that_the_host_takes_of_an_array_waits_for_who_writes_it(recorded: Runtime) -> None:
    write, x = into_host(), ocl.asarray(HOST)
    host = np.full(N, -1, np.float32)
    write(x, np.empty_like(HOST))
    recorded.finish()
    counters = recorded.executor.engine.streams.counters
    with ThreadPoolExecutor(1) as pool:
        with busy(recorded.executor.engine, 0):
            with ocl.stream(0):
                write(x, host)
            before = counters.host_waits
            copied = pool.submit(copied_by, recorded, host)
            assert eventually(lambda: counters.host_waits > before)
            assert not copied.done()
        assert_same(copied.result().numpy(), HOST)


def copied_by(runtime: Runtime, host: Any) -> Any:
    with ocl.use(runtime):
        return ocl.asarray(host)


def test_an_array_of_the_host_that_a_failed_run_should_have_written_may_be_filled_and_used(recorded: Runtime) -> None:
    write, read, x = into_host(), from_host(), ocl.asarray(HOST)
    host = np.empty_like(HOST)
    write(x, host)
    recorded.finish()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recording(recorded), "read", refusing)
        with pytest.raises(LaunchError):
            write(x, host)
    recorded.finish()
    host[:] = HOST * 3
    assert_same(read(host).numpy(), HOST * 3)


def refusing(*args: Any) -> Any:
    raise DriverError("refused")


def test_replays_from_several_threads_next_to_eager_commands(recorded: Runtime) -> None:
    """All of them on the same arrays, one of which is written: the checker finds nothing unordered."""
    program, x, y = tiles(), ocl.asarray(HOST), ocl.asarray(HOST * 0)
    program.prepared({"n": N})
    threads, rounds, sums = 4, 10, []

    def replaying() -> None:
        for _ in range(rounds):
            program(x, y)

    def eager() -> None:
        for _ in range(rounds):
            sums.append((y * 2 + x).compute())

    running = [threading.Thread(target=target) for target in [*[replaying] * threads, eager, eager]]
    for one in running:
        one.start()
    for one in running:
        one.join()
    recorded.finish()
    once = HOST * np.float32(0.5) + np.float32(1)
    np.testing.assert_allclose(y.numpy(), threads * rounds * once, rtol=1e-5)
    order = Order(recording(recorded).log)
    assert not list(order.violations())
    assert len({command.queue for command in order.commands}) >= 4
    touching = [command for command in order.commands if any(one.mode & WRITE for one in command.accesses)]
    assert len(touching) >= threads * rounds * 8


def test_every_wait_of_a_replay_is_needed(recorded: Runtime) -> None:
    program, x, y = tiles(), ocl.asarray(HOST), ocl.asarray(HOST)
    schedule = program.prepared({"n": N})[0].schedule
    before = len(recording(recorded).commands)
    program(x, y)
    (y * 2).compute()
    recorded.finish()
    order = Order(recording(recorded).log)
    replayed = recording(recorded).commands[before:]
    logged = replayed[: len(schedule.nodes)]
    inside = [(one, wait) for one in logged for wait in one.waits if wait in logged]
    outside = [(one, wait) for one in logged for wait in one.waits if wait not in logged]
    assert len(inside) == sum(len(node.waits) for node in schedule.nodes) > 0
    assert outside
    for wait in (*inside, *outside):
        assert order.first_without(*wait) is not None
    assert any(order.first_without(replayed[-1], wait) is not None for wait in replayed[-1].waits)


def without(schedule: Schedule, number: int, wait: int) -> Schedule:
    nodes = list(schedule.nodes)
    nodes[number] = replace(nodes[number], waits=tuple(one for one in nodes[number].waits if one != wait))
    return replace(schedule, nodes=tuple(nodes))


def test_a_replay_that_lost_a_wait_is_found_out(recorded: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what the driver was given, each in turn: the proof before that is switched off."""
    schedule = tiles().prepared({"n": N})[0].schedule
    monkeypatch.setattr(replay_module, "verify_order", lambda schedule: None)
    engine, found = recorded.executor.engine, 0
    for number, node in enumerate(schedule.nodes):
        for wait in node.waits:
            parts: dict[str, Any] = {name: Part(engine.upload(HOST)) for name in "xy"}
            Replay(engine, without(schedule, number, wait))(parts)
            engine.finish()
            new = violations(recording(recorded).log)
            assert len(new) > found
            assert new[-1].second.what == node.what
            found = len(new)
    assert found


def test_a_schedule_that_lost_a_wait_is_not_replayed(recorded: Runtime) -> None:
    """The proof is not only a test's: preparing a replay makes it."""
    schedule = tiles().prepared({"n": N})[0].schedule
    waits = [(number, wait) for number, node in enumerate(schedule.nodes) for wait in node.waits]
    for number, wait in waits:
        with pytest.raises(VerifyError, match="nothing orders node"):
            Replay(recorded.executor.engine, without(schedule, number, wait))
    assert waits


def test_replays_on_several_streams_take_turns_with_their_arena(recorded: Runtime) -> None:
    """They read the same memory and give results of their own: the arena is all that stands between them."""
    p = HostBuilder("scratch")
    n = p.size("n")
    x, t, y = p.input("x", F32, (n,)), p.alloc(F32, (n,), "t"), p.alloc(F32, (n,), "y")
    p.launch(REVERSED, (n, x, t), (n,))
    p.launch(REVERSED, (n, t, y), (n,))
    program, given = prepare(p.build(y)), ocl.asarray(HOST)
    assert program.prepared({"n": N})[0].schedule.arena
    before, results = len(recording(recorded).commands), []
    with counting(recorded) as counted:
        for number in range(4):
            with ocl.stream(number):
                results.append(program(given))
    assert counted["memory", "allocations"] == 2 * len(results), "a result and an arena each"
    assert counted["memory", "freed"] == len(results), "arenas go back as soon as all is enqueued"
    replayed = nodes(recording(recorded).commands[before:])
    assert len({one.queue for one in replayed}) == len(results)
    assert not violations(recording(recorded).log)
    for result in results:
        assert_same(result.numpy(), HOST)


@pytest.mark.parametrize(("make", "least"), [(tiles, 7), (lambda: prepare(one_stream()), 0)])
def test_statistics_count_the_waits_and_flushes_of_replays(
    recorded: Runtime, make: Callable[[], Prepared], least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as the driver gets, between queues, also for the command before it on another stream."""
    program, opencl, flushed = make(), recorded.executor.engine.opencl, []
    x, y = ocl.asarray(HOST), ocl.asarray(HOST)
    program(x, y)
    with ocl.stream(3):
        (x + y).compute()
    flush = opencl.flush
    monkeypatch.setattr(opencl, "flush", lambda queue: (flushed.append(queue), flush(queue)))
    before = len(recording(recorded).commands)
    with counting(recorded) as counted:
        program(x, y)
    new = recording(recorded).commands[before:]
    assert counted["launch", "launches"] == len(nodes(new))
    assert counted["stream", "waits"] == sum(wait.queue != one.queue for one in new for wait in one.waits)
    assert counted["stream", "waits"] >= least
    assert counted["stream", "flushes"] == len(flushed)


def one_stream() -> Program:
    """y += x / 2 + 1, in two nodes that need no wait between them."""
    p = HostBuilder("one")
    n = p.size("n")
    x, y, t = p.input("x", F32, (n,)), p.input("y", F32, (n,), written=True), p.alloc(F32, (n,), "t")
    p.launch(SCALE, (n, x, t), (n,))
    p.launch(ADD, (n, t, y, y), (n,))
    return p.build()
