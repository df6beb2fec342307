"""Steps that describe where memory lies run once for the same memory: their results are kept.

Real ones are instructions of one vendor; here a kernel that any device runs says of itself that it describes. What it
writes depends on no element of the memory that it reads.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.host.builder import HostBuilder
from ocl_ir.host.grammar import Program
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.types import F32, U32
from ocl_runtime.device import Device
from ocl_runtime.errors import LaunchError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.replay import descriptions
from ocl_runtime.execute.replay.descriptions import Descriptions
from ocl_runtime.execute.streams.failures import Failure
from ocl_runtime.runtime import Runtime

N = 300
HOST = np.random.default_rng(0).random(N, "f4")
EXPECTED = HOST + 3 * np.arange(N, dtype="f4")


def describing() -> Kernel:
    """table = 0, 3, 6, …"""
    k = KernelBuilder("describe")
    n, x, table = k.scalar("n", U32), k.pointer("x", F32), k.pointer("table", U32)
    i = k.global_id(0)
    with k.if_(i < n):
        k.store(table, i, i * 3 + k.convert(k.load(x, i) * 0.0, U32))
    return replace(k.build(), describes=True)


def using() -> Kernel:
    """y = x + table."""
    k = KernelBuilder("use")
    n, x, table, y = k.scalar("n", U32), k.pointer("x", F32), k.pointer("table", U32), k.pointer("y", F32)
    i = k.global_id(0)
    with k.if_(i < n):
        k.store(y, i, k.load(x, i) + k.convert(k.load(table, i), F32))
    return k.build()


DESCRIBE, USE = describing(), using()


def program(*, twice: bool = False, scaled: bool = False) -> Program:
    """y = x + table; or the table is written by others, too; or what is described is computed before."""
    p = HostBuilder("described")
    n = p.size("n")
    x, y, table = p.input("x", F32, (n,)), p.output("y", F32, (n,)), p.alloc(U32, (n,), "table")
    source = x
    if scaled:
        source = p.alloc(F32, (n,), "copy")
        p.copy(source, x)
    p.launch(DESCRIBE, (n, source, table), (n,))
    if twice:
        p.fill(table, 1)
    p.launch(USE, (n, source, table, y), (n,))
    return p.build(y)


@pytest.fixture
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, engine.settings)
    with ocl.use(runtime):
        yield runtime


@pytest.fixture
def launches(runtime: Runtime) -> Callable[[], int]:
    """How many launches there were since this was asked for the last time."""
    counters, last = runtime.executor.engine.counters, [0]

    def since() -> int:
        before, last[0] = last[0], counters.launches
        return last[0] - before

    return since


def test_memory_is_described_once(runtime: Runtime, launches: Callable[[], int]) -> None:
    """The first run of all is as it is without: most programs run once."""
    prepared, x, out = ocl.prepare(program()), ocl.asarray(HOST), ocl.allocate((N,))
    x.compute()
    launches()
    counts = []
    for _ in range(6):
        prepared(x, y=out)
        np.testing.assert_array_equal(out.numpy(), EXPECTED)
        counts.append(launches())
    assert counts == [2, 2, 1, 1, 1, 1]


def test_other_memory_is_described_anew(runtime: Runtime, launches: Callable[[], int]) -> None:
    prepared, out = ocl.prepare(program()), ocl.allocate((N,))
    arrays = [ocl.asarray(HOST + number) for number in range(3)]
    ocl.compute(*arrays)
    for turn in range(12):
        number = turn % 3
        launches()
        prepared(arrays[number], y=out)
        assert launches() == (2 if turn < 4 else 1)
        np.testing.assert_array_equal(out.numpy(), HOST + number + 3 * np.arange(N, dtype="f4"))


def test_elements_may_change(runtime: Runtime, launches: Callable[[], int]) -> None:
    prepared, x, out = ocl.prepare(program()), ocl.asarray(HOST, copy=True), ocl.allocate((N,))
    for turn in range(16):
        x[:] = HOST * turn  # into one of two pieces of memory, as it turns out
        x.compute()
        launches()
        prepared(x, y=out)
        np.testing.assert_array_equal(out.numpy(), HOST * turn + 3 * np.arange(N, dtype="f4"))
        assert launches() == 1 or turn < 8


def test_what_a_program_computes_is_described_where_it_lies(runtime: Runtime, launches: Callable[[], int]) -> None:
    """In scratch memory, which mostly is the same again."""
    prepared, x, out = ocl.prepare(program(scaled=True)), ocl.asarray(HOST), ocl.allocate((N,))
    for _ in range(8):
        launches()
        prepared(x, y=out)
        np.testing.assert_array_equal(out.numpy(), EXPECTED)
    assert launches() == 2  # the copy and the use


def test_a_page_that_is_gone_is_not_known_again(
    device: Device, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where another one has its id."""
    monkeypatch.setattr(descriptions, "id", lambda _: 7, raising=False)
    runtime = Runtime(device, replace(engine.settings, page_bytes=0, kept_bytes=0))
    counters, pool = runtime.executor.engine.counters, runtime.executor.engine.memory.device_pool
    with ocl.use(runtime):
        prepared, out = ocl.prepare(program()), ocl.allocate((N,))
        for turn in range(3):
            x = ocl.asarray(HOST + turn, copy=True).compute()
            counts = []
            for _ in range(4):
                before = counters.launches
                prepared(x, y=out)
                np.testing.assert_array_equal(out.numpy(), HOST + turn + 3 * np.arange(N, dtype="f4"))
                counts.append(counters.launches - before)
            assert counts == ([2, 2, 1, 1] if turn == 0 else [2, 1, 1, 1])
            del x
            runtime.finish()
            pool.trim()
            gc.collect()


def test_memory_that_is_lent_is_described_each_time(runtime: Runtime, launches: Callable[[], int]) -> None:
    prepared, x, out = ocl.prepare(program()), ocl.asarray(HOST), ocl.allocate((N,))
    for _ in range(5):
        prepared(x, y=out)
    launches()
    prepared(x, y=out)
    assert launches() == 1
    lent = x.to_pyopencl()
    for _ in range(4):
        launches()
        prepared(x, y=out)
        assert launches() == 2
    np.testing.assert_array_equal(out.numpy(), EXPECTED)
    np.testing.assert_array_equal(lent.get(), HOST)


def test_who_writes_descriptions_otherwise_runs_each_time(runtime: Runtime, launches: Callable[[], int]) -> None:
    prepared, x, out = ocl.prepare(program(twice=True)), ocl.asarray(HOST), ocl.allocate((N,))
    for _ in range(6):
        launches()
        prepared(x, y=out)
        np.testing.assert_array_equal(out.numpy(), HOST + 1)
    assert launches() == 3


def test_of_many_pieces_of_memory_some_are_kept(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptions, "_MOST_KEPT", 2)
    kept: list[Descriptions] = []
    init = Descriptions.__init__
    monkeypatch.setattr(Descriptions, "__init__", lambda self, bound: kept.append(self) or init(self, bound))
    prepared, out = ocl.prepare(program()), ocl.allocate((N,))
    arrays = [ocl.asarray(HOST + number) for number in range(4)]
    for turn in range(24):
        number = turn // 3 % 4
        prepared(arrays[number], y=out)
        np.testing.assert_array_equal(out.numpy(), HOST + number + 3 * np.arange(N, dtype="f4"))
    assert [len(each._known) for each in kept] == [2]


def test_it_is_given_up_where_there_is_no_room(runtime: Runtime, launches: Callable[[], int]) -> None:
    prepared, x, out = ocl.prepare(program()), ocl.asarray(HOST), ocl.allocate((N,))
    memory = runtime.executor.engine.memory
    for _ in range(5):
        prepared(x, y=out)
    live = len(memory.device_pool.live())
    for holder in list(memory.idle):
        holder.give_up()
    assert len(memory.device_pool.live()) < live
    launches()
    for _ in range(3):
        prepared(x, y=out)
        np.testing.assert_array_equal(out.numpy(), EXPECTED)
    assert launches() == 2 + 1 + 1


def test_descriptions_whose_step_failed_are_written_again(
    runtime: Runtime, launches: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared, x, out = ocl.prepare(program()), ocl.asarray(HOST), ocl.allocate((N,))
    for _ in range(5):
        prepared(x, y=out)
    runtime.finish()
    launches()
    with monkeypatch.context() as patched:
        patched.setattr(descriptions, "spoiler", lambda touches: Failure("describe", "", "lost"))
        prepared(x, y=out)
    assert launches() == 2
    counts = []
    for _ in range(3):
        prepared(x, y=out)
        counts.append(launches())
        np.testing.assert_array_equal(out.numpy(), EXPECTED)
    assert counts == [2, 1, 1]


def test_a_refused_description_is_not_kept(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared, x, out = ocl.prepare(program()), ocl.asarray(HOST), ocl.allocate((N,))
    prepared(x, y=out)
    described = Descriptions._described

    def refused(*args: object) -> None:
        raise LaunchError("refused")

    with monkeypatch.context() as patched:
        patched.setattr(Descriptions, "_described", refused)
        with pytest.raises(LaunchError, match="refused"):
            prepared(x, y=out)
    assert Descriptions._described is described
    for _ in range(3):
        prepared(x, y=out)
        np.testing.assert_array_equal(out.numpy(), EXPECTED)


def test_threads_may_run_over_the_same_memory(runtime: Runtime) -> None:
    prepared = ocl.prepare(program())
    arrays = [ocl.asarray(HOST + number) for number in range(3)]
    ocl.compute(*arrays)
    wrong: list[int] = []

    def turns(number: int) -> None:
        with ocl.use(runtime):
            out = ocl.allocate((N,))
            for turn in range(40):
                place = (number + turn // 4) % 3
                prepared(arrays[place], y=out)
                if not (out.numpy() == HOST + place + 3 * np.arange(N, dtype="f4")).all():
                    wrong.append(number)

    threads = [threading.Thread(target=turns, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
