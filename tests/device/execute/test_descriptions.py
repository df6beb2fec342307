"""Steps that describe where memory lies run once for the same memory: what they wrote is kept.

Real ones are instructions of one vendor; here a kernel that any device runs says of itself that it describes. What it
writes depends on the first element of memory, which in these tests stays what it is: it is the memory's tag.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from pyopencl import array as cl_array

import ocl_runtime as ocl
from ocl_ir.host.builder import HostBuilder
from ocl_ir.host.grammar import Program
from ocl_ir.kernel.accesses import WRITE
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.types import F32, U32
from ocl_runtime.device import Device
from ocl_runtime.errors import LaunchError, OutOfMemoryError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.memory.storage import Memory
from ocl_runtime.execute.replay import descriptions, run
from ocl_runtime.execute.replay.descriptions import Descriptions
from ocl_runtime.execute.replay.execution import Execution
from ocl_runtime.runtime import Runtime

N = 300
STEPS = 3 * np.arange(N, dtype="f4")


def tagged(tag: int, seed: int = 0) -> np.ndarray:
    """Elements behind a tag."""
    host = np.random.default_rng(seed).integers(0, 99, N).astype("f4")
    host[0] = tag
    return host


def expected(host: np.ndarray, factor: int = 3) -> np.ndarray:
    return host + np.arange(N, dtype="f4") * factor + host[0]


def describing() -> Kernel:
    """table = the tag of x, and 0, factor, 2 factor, …"""
    k = KernelBuilder("describe")
    n, factor, x, table = k.scalar("n", U32), k.scalar("factor", U32), k.pointer("x", F32), k.pointer("table", U32)
    i = k.global_id(0)
    with k.if_(i < n):
        k.store(table, i, i * factor + k.convert(k.load(x, 0), U32))
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


def program() -> Program:
    """y = x + table."""
    p = HostBuilder("described")
    n = p.size("n")
    x, y, table = p.input("x", F32, (n,)), p.output("y", F32, (n,)), p.alloc(U32, (n,), "table")
    p.launch(DESCRIBE, (n, 3, x, table), (n,))
    p.launch(USE, (n, x, table, y), (n,))
    return p.build(y)


def of_a_copy() -> Program:
    """The same of what the program itself puts in scratch memory."""
    p = HostBuilder("of_a_copy")
    n = p.size("n")
    x, y, table, source = p.input("x", F32, (n,)), p.output("y", F32, (n,)), p.alloc(U32, (n,)), p.alloc(F32, (n,))
    p.copy(source, x)
    p.launch(DESCRIBE, (n, 3, source, table), (n,))
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
    return counting(runtime)


def counting(runtime: Runtime) -> Callable[[], int]:
    counters, last = runtime.executor.engine.counters, [0]

    def since() -> int:
        before, last[0] = last[0], counters.launches
        return last[0] - before

    since()
    return since


def array(tag: int, seed: int = 0) -> Any:
    return ocl.asarray(tagged(tag, seed), copy=True).compute()


def runs(call: Callable[[], object], launches: Callable[[], int], count: int) -> list[int]:
    """The launches of so many runs."""
    launches()
    made = []
    for _ in range(count):
        call()
        made.append(launches())
    return made


def test_memory_is_described_once(runtime: Runtime, launches: Callable[[], int]) -> None:
    """The first run of all is as it is without: most programs run once."""
    prepared, x, out = ocl.prepare(program()), array(7), ocl.allocate((N,))

    def call() -> None:
        prepared(x, y=out)
        np.testing.assert_array_equal(out.numpy(), expected(tagged(7)))

    assert runs(call, launches, 6) == [2, 2, 1, 1, 1, 1]


def test_other_memory_is_described_anew(runtime: Runtime, launches: Callable[[], int]) -> None:
    prepared, out, arrays = ocl.prepare(program()), ocl.allocate((N,)), [array(tag) for tag in range(3)]
    for turn in range(12):
        launches()
        prepared(arrays[turn % 3], y=out)
        assert launches() == (2 if turn < 4 else 1)
        np.testing.assert_array_equal(out.numpy(), expected(tagged(turn % 3)))


def test_parts_of_one_memory_are_told_apart(runtime: Runtime, launches: Callable[[], int]) -> None:
    prepared, out = ocl.prepare(program()), ocl.allocate((N,))
    whole = np.zeros(2 * N + 64, "f4")
    whole[:N], whole[320 : 320 + N] = tagged(3), tagged(5)
    x = ocl.asarray(whole, copy=True).compute()
    for turn in range(8):
        launches()
        prepared(x[320 : 320 + N] if turn % 2 else x[:N], y=out)
        np.testing.assert_array_equal(out.numpy(), expected(tagged(5 if turn % 2 else 3)))
        assert launches() == (2 if turn < 3 else 1)


def test_elements_may_change(runtime: Runtime, launches: Callable[[], int]) -> None:
    prepared, x, out = ocl.prepare(program()), array(7), ocl.allocate((N,))
    for turn in range(16):
        x[:] = tagged(7, turn)  # into one of a few pieces of memory, as it turns out
        x.compute()
        launches()
        prepared(x, y=out)
        np.testing.assert_array_equal(out.numpy(), expected(tagged(7, turn)))
        assert launches() == 1 or turn < 8


def test_scratch_memory_is_described_wherever_it_lies(runtime: Runtime, launches: Callable[[], int]) -> None:
    """A description of what a program computes is of the place that scratch memory had. It is written before that."""
    prepared, x, out, held = ocl.prepare(of_a_copy()), array(7), ocl.allocate((N,)), []
    prepared(x, y=out)
    assert runs(lambda: prepared(x, y=out), launches, 4) == [3, 2, 2, 2]
    held += [ocl.allocate((2 * 320,)) for _ in range(64)]  # and all that is free and as large
    counts = runs(lambda: prepared(x, y=out), launches, 3)
    assert counts == [3, 2, 2], "it lies elsewhere"


def one_run(prepared: Any, held: list[Any], out: Any) -> None:
    prepared(held[0], y=out)


def test_a_page_that_is_gone_is_not_known_again(
    device: Device, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where another one has its id."""
    monkeypatch.setattr(descriptions, "id", lambda _: 7, raising=False)
    runtime = Runtime(device, replace(engine.settings, page_bytes=0, kept_bytes=0))
    launches, pool = counting(runtime), runtime.executor.engine.memory.device_pool
    with ocl.use(runtime):
        prepared, out = ocl.prepare(program()), ocl.allocate((N,))
        for tag in range(3):
            held = [array(tag)]
            counts = runs(partial(one_run, prepared, held, out), launches, 4)
            assert counts == ([2, 2, 1, 1] if tag == 0 else [2, 1, 1, 1])
            np.testing.assert_array_equal(out.numpy(), expected(tagged(tag)))
            held.clear()
            runtime.finish()
            pool.trim()
            gc.collect()


def test_memory_that_is_lent_is_described_each_time(runtime: Runtime, launches: Callable[[], int]) -> None:
    prepared, x, out = ocl.prepare(program()), array(7), ocl.allocate((N,))
    assert runs(lambda: prepared(x, y=out), launches, 3) == [2, 2, 1]
    lent = x.to_pyopencl()
    assert runs(lambda: prepared(x, y=out), launches, 3) == [2, 2, 2]
    np.testing.assert_array_equal(out.numpy(), expected(lent.get()))


def test_memory_that_is_borrowed_is_described_each_time(runtime: Runtime, launches: Callable[[], int]) -> None:
    theirs = cl_array.to_device(cl.CommandQueue(runtime.executor.engine.opencl.context), tagged(7))
    prepared, x, out = ocl.prepare(program()), ocl.from_pyopencl(theirs), ocl.allocate((N,))
    assert runs(lambda: prepared(x, y=out), launches, 4) == [2, 2, 2, 2]
    np.testing.assert_array_equal(out.numpy(), expected(tagged(7)))


def test_a_description_by_a_number_of_each_call_is_not_kept(runtime: Runtime) -> None:
    replay, _ = ocl.prepare(program()).prepared({"n": N})
    bound, engine = replay._bound, runtime.executor.engine
    assert descriptions._parts(engine, bound) is not None
    bound.commands[0] = bound.commands[0]._replace(numbers=((1, "factor"),))
    assert descriptions._parts(engine, bound) is None


def test_a_program_for_several_streams_is_left_as_it_is(device: Device, engine: Engine) -> None:
    runtime = Runtime(device, replace(engine.settings, streams=2))
    p = HostBuilder("streams")
    n = p.size("n")
    x, y, z, table = p.input("x", F32, (n,)), p.output("y", F32, (n,)), p.output("z", F32, (n,)), p.alloc(U32, (n,))
    with p.stream(0):
        p.launch(DESCRIBE, (n, 3, x, table), (n,))
        p.launch(USE, (n, x, table, y), (n,))
    with p.stream(1):
        p.copy(z, x)
    launches = counting(runtime)
    with ocl.use(runtime):
        prepared, given = ocl.prepare(p.build(y, z)), array(7)
        first, second = ocl.allocate((N,)), ocl.allocate((N,))
        for _ in range(5):
            launches()
            prepared(given, y=first, z=second)
            assert launches() == 3
            np.testing.assert_array_equal(first.numpy(), expected(tagged(7)))
            np.testing.assert_array_equal(second.numpy(), tagged(7))


def test_a_table_that_is_written_twice_is_not_kept(runtime: Runtime, launches: Callable[[], int]) -> None:
    """By whoever: what describes would run before all that uses what it writes."""
    for other in ("describe", "fill"):
        p = HostBuilder("twice")
        n = p.size("n")
        x, y, z = p.input("x", F32, (n,)), p.output("y", F32, (n,)), p.output("z", F32, (n,))
        table = p.alloc(U32, (n,))
        p.launch(DESCRIBE, (n, 3, x, table), (n,))
        p.launch(USE, (n, x, table, y), (n,))
        if other == "fill":
            p.fill(table, 1)
        else:
            p.launch(DESCRIBE, (n, 5, x, table), (n,))
        p.launch(USE, (n, x, table, z), (n,))
        prepared, given = ocl.prepare(p.build(y, z)), array(7)
        first, second = ocl.allocate((N,)), ocl.allocate((N,))
        for _ in range(5):
            launches()
            prepared(given, y=first, z=second)
            assert launches() == 4
            np.testing.assert_array_equal(first.numpy(), expected(tagged(7)))
            np.testing.assert_array_equal(second.numpy(), tagged(7) + 1 if other == "fill" else expected(tagged(7), 5))


def test_what_cannot_be_kept_is_asked_for_once(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the caller gets the table, and a program of nothing but descriptions."""
    asked: list[object] = []
    parts = descriptions._parts
    monkeypatch.setattr(descriptions, "_parts", lambda *given: asked.append(given) or parts(*given))
    p = HostBuilder("given")
    n = p.size("n")
    x, y, table = p.input("x", F32, (n,)), p.output("y", F32, (n,)), p.output("table", U32, (n,))
    p.launch(DESCRIBE, (n, 3, x, table), (n,))
    p.launch(USE, (n, x, table, y), (n,))
    prepared, given = ocl.prepare(p.build(y, table)), array(7)
    out = ocl.allocate((N,))
    for _ in range(6):
        steps = ocl.allocate((N,), dtype="u4")
        prepared(given, y=out, table=steps)
        np.testing.assert_array_equal(steps.numpy(), STEPS + 7)
        np.testing.assert_array_equal(out.numpy(), expected(tagged(7)))
    assert len(asked) == 1
    p = HostBuilder("alone")
    n = p.size("n")
    x = p.input("x", F32, (n,))
    p.launch(DESCRIBE, (n, 3, x, p.alloc(U32, (n,))), (n,))
    prepared = ocl.prepare(p.build())
    for _ in range(6):
        prepared(given)
    assert len(asked) == 2


def test_steps_keep_their_lines(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared, x, out = ocl.prepare(program()), array(7), ocl.allocate((N,))
    seen: list[list[Any]] = []
    over = Execution.over

    def noted(given: Execution, memory: Any, numbers: Any, lines: Any, home: Any, *, apart: bool) -> None:
        seen.append(list(lines))
        over(given, memory, numbers, lines, home, apart=apart)

    monkeypatch.setattr(Execution, "over", noted)
    for _ in range(3):
        prepared(x, y=out)
    whole, describes, rest, again = seen
    assert whole == describes + rest
    assert again == rest != describes


def test_of_many_pieces_of_memory_some_are_kept(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptions, "_MOST_KEPT", 2)
    kept: list[Descriptions] = []
    init = Descriptions.__init__
    monkeypatch.setattr(Descriptions, "__init__", lambda self: kept.append(self) or init(self))
    prepared, out, arrays = ocl.prepare(program()), ocl.allocate((N,)), [array(tag) for tag in range(4)]
    for turn in range(24):
        prepared(arrays[turn // 3 % 4], y=out)
        np.testing.assert_array_equal(out.numpy(), expected(tagged(turn // 3 % 4)))
    assert [len(each._known) for each in kept] == [2]


def test_descriptions_are_given_up_where_there_is_no_room(runtime: Runtime, launches: Callable[[], int]) -> None:
    prepared, x, out = ocl.prepare(program()), array(7), ocl.allocate((N,))
    memory = runtime.executor.engine.memory
    for _ in range(5):
        prepared(x, y=out)
    live = len(memory.device_pool.live())
    with pytest.raises(OutOfMemoryError):
        memory.allocate(memory.device_pool.sizes.largest + 1)
    assert len(memory.device_pool.live()) == live - 1
    assert runs(lambda: prepared(x, y=out), launches, 3) == [2, 1, 1]
    np.testing.assert_array_equal(out.numpy(), expected(tagged(7)))


def test_where_there_is_no_room_for_them_all_is_as_without(
    runtime: Runtime, launches: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared, x, out = ocl.prepare(program()), array(7), ocl.allocate((N,))
    prepared(x, y=out)
    allocate = Memory.allocate

    def refused(memory: Memory, nbytes: int, *args: Any, **named: Any) -> Any:
        if args:  # as descriptions ask for it; others name what they give
            raise OutOfMemoryError("no room")
        return allocate(memory, nbytes, *args, **named)

    with monkeypatch.context() as patched:
        patched.setattr(Memory, "allocate", refused)
        assert runs(lambda: prepared(x, y=out), launches, 3) == [2, 2, 2]
    assert runs(lambda: prepared(x, y=out), launches, 2) == [2, 1]
    np.testing.assert_array_equal(out.numpy(), expected(tagged(7)))


def test_a_description_that_was_refused_is_not_kept(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared, x, out = ocl.prepare(program()), array(7), ocl.allocate((N,))
    prepared(x, y=out)
    submit = run.submit

    def refused(streams: Any, given: Any) -> None:
        if given.names == ["kernel describe"]:
            raise LaunchError("refused")
        submit(streams, given)

    with monkeypatch.context() as patched:
        patched.setattr(run, "submit", refused)
        for _ in range(2):
            with pytest.raises(LaunchError, match="refused"):
                prepared(x, y=out)
    for _ in range(3):
        prepared(x, y=out)
        np.testing.assert_array_equal(out.numpy(), expected(tagged(7)))


def fail(runtime: Runtime, storage: Any) -> None:
    """What a storage holds is spoilt by a command that fails."""
    engine = runtime.executor.engine
    failing = cl.UserEvent(engine.opencl.context)
    stream, touch = engine.streams.current(), storage.touch(WRITE)
    engine.streams.submit(stream, [touch], "a failure", "here", lambda queue, waits, touched: failing)
    failing.set_status(-5)
    with pytest.raises(LaunchError):
        runtime.finish()


def test_a_program_makes_memory_good_that_it_describes(runtime: Runtime) -> None:
    """A description is written before the memory that it is of is: it reads nothing."""
    p = HostBuilder("good_again")
    n = p.size("n")
    x, w, y, table = p.input("x", F32, (n,)), p.output("w", F32, (n,)), p.output("y", F32, (n,)), p.alloc(U32, (n,))
    p.copy(w, x)
    p.launch(DESCRIBE, (n, 3, w, table), (n,))
    p.launch(USE, (n, w, table, y), (n,))
    prepared, given = ocl.prepare(p.build(w, y)), array(7)
    w, out = array(7), ocl.allocate((N,))
    prepared(given, w=w, y=out)
    runtime.finish()
    fail(runtime, w._node.storage)
    for _ in range(4):
        prepared(given, w=w, y=out)
        np.testing.assert_array_equal(out.numpy(), expected(tagged(7)))


def test_spoilt_descriptions_are_written_again(
    runtime: Runtime, launches: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[Descriptions] = []
    init = Descriptions.__init__
    monkeypatch.setattr(Descriptions, "__init__", lambda self: kept.append(self) or init(self))
    prepared, x, out = ocl.prepare(program()), array(7), ocl.allocate((N,))
    for _ in range(4):
        prepared(x, y=out)
    runtime.finish()
    ((known,),) = [each._known.values() for each in kept]
    ((_, table),) = known.tables
    fail(runtime, table)
    assert runs(lambda: prepared(x, y=out), launches, 3) == [2, 1, 1]
    np.testing.assert_array_equal(out.numpy(), expected(tagged(7)))


def test_a_handler_may_run_the_same_program_meanwhile(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared, x, out = ocl.prepare(program()), array(7), ocl.allocate((N,))
    prepared(x, y=out)
    parts, within = descriptions._parts, []

    def interrupted(*given: Any) -> Any:
        if not within:
            within.append(None)
            prepared(x, y=out)
        return parts(*given)

    monkeypatch.setattr(descriptions, "_parts", interrupted)
    for _ in range(3):
        prepared(x, y=out)
        np.testing.assert_array_equal(out.numpy(), expected(tagged(7)))
    assert within


def test_nothing_of_a_program_is_left_behind(runtime: Runtime) -> None:
    """Without a collector of garbage."""
    prepared, x, out = ocl.prepare(program()), array(7), ocl.allocate((N,))
    pool = runtime.executor.engine.memory.device_pool
    for _ in range(2):
        prepared(x, y=out)
    runtime.finish()
    live = len(pool.live())
    gc.disable()
    try:
        del prepared
        assert len(pool.live()) < live
    finally:
        gc.enable()


def test_threads_may_run_over_the_same_memory(runtime: Runtime) -> None:
    prepared, arrays = ocl.prepare(program()), [array(tag) for tag in range(3)]
    wrong: list[int] = []

    def turns(number: int) -> None:
        with ocl.use(runtime):
            out = ocl.allocate((N,))
            for turn in range(40):
                tag = (number + turn // 4) % 3
                prepared(arrays[tag], y=out)
                if not (out.numpy() == expected(tagged(tag))).all():
                    wrong.append(number)

    threads = [threading.Thread(target=turns, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
