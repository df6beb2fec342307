"""Host programs called with arrays: results, preallocated outputs, donated inputs, host memory, replays, bad input."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import ocl_runtime as ocl
from ocl_ir.host.builder import HostBuilder
from ocl_ir.sizes import parts, smaller
from ocl_ir.types import F32
from ocl_runtime.device import Device
from ocl_runtime.errors import DTypeError, Error, LaunchError, MixedDevicesError, ShapeError
from ocl_runtime.execute.driver import OpenCL
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.replay.execution import Part
from ocl_runtime.programs import Prepared, prepare
from ocl_runtime.runtime import Runtime
from tests.support.arrays import assert_same, counting
from tests.support.eager import run as run_eagerly
from tests.support.programs import ADD, REVERSED, SCALE


@pytest.fixture
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, replace(engine.settings, streams=4))
    with ocl.use(runtime):
        yield runtime


def scaled(host: np.ndarray) -> np.ndarray:
    return host * np.float32(0.5) + np.float32(1)


def twice(**how: bool) -> Prepared:
    """Scales twice, in tiles on four streams; `out`: into the caller's memory, `written`: over the input."""
    p = HostBuilder("twice")
    n = p.size("n")
    x = p.input("x", F32, (n,), written=how.get("written", False))
    y = x if how.get("written") else p.output("y", F32, (n,)) if how.get("out") else p.alloc(F32, (n,), "y")
    with p.for_(parts(n, 1000)) as i, p.stream(i):
        start = i * 1000
        length = smaller(1000, n - start)
        t = p.alloc(F32, (length,), "t")
        p.launch(SCALE, (length, p.slice(x, 0, start, length), t), (length,))
        p.launch(SCALE, (length, t, p.slice(y, 0, start, length)), (length,))
    return prepare(p.build(y))


HOST = np.arange(4321, dtype="f4")


def test_a_result_is_new_each_time(runtime: Runtime) -> None:
    """CONTRACT §6.8: the next replay does not overwrite what the last one gave."""
    program = twice()
    results = [program(ocl.asarray(HOST + number)) for number in range(4)]
    for number, one in enumerate(results):
        assert isinstance(one, ocl.Array)
        assert_same(one.numpy(), scaled(scaled(HOST + np.float32(number))))


def test_an_output_is_the_callers_memory(runtime: Runtime) -> None:
    """CONTRACT §6.2: no other allocation and no copy."""
    program, x, y = twice(out=True), ocl.asarray(HOST), ocl.allocate(HOST.shape)
    program(x, y)
    with counting(runtime) as counted:
        found = program(x=x, y=y)
    assert isinstance(found, ocl.Array)
    assert found._node.storage is y._node.storage
    assert_same(y.numpy(), scaled(scaled(HOST)))
    assert counted["memory", "allocations"] == counted["memory", "freed"] == 1  # scratch memory
    assert counted["memory", "created"] == 0
    assert counted["launch", "compiled"] == 0


def test_each_output_is_preallocated_by_itself(runtime: Runtime) -> None:
    p = HostBuilder("both")
    n = p.size("n")
    x, y, z = p.input("x", F32, (n,)), p.output("y", F32, (n,)), p.alloc(F32, (n,), "z")
    p.launch(SCALE, (n, x, y), (n,))
    p.launch(SCALE, (n, y, z), (n,))
    program, out = prepare(p.build(z, y)), ocl.allocate(HOST.shape)
    fresh, given = program(ocl.asarray(HOST), out)  # type: ignore[misc]
    assert given._node.storage is out._node.storage
    assert fresh._node.storage is not out._node.storage
    assert_same(fresh.numpy(), scaled(scaled(HOST)))


def test_an_input_is_written(runtime: Runtime) -> None:
    program, x = twice(written=True), ocl.asarray(HOST)
    with counting(runtime) as counted:
        for _ in range(3):
            program(x)
    assert_same(x.numpy(), scaled(scaled(scaled(scaled(scaled(scaled(HOST)))))))
    assert counted["memory", "allocations"] == counted["memory", "freed"] == 3  # of scratch memory
    assert counted["memory", "created"] <= 1


def test_memory_of_the_host_is_copied_piece_by_piece(runtime: Runtime) -> None:
    p = HostBuilder("through")
    n = p.size("n")
    image, out = p.host_input("image", F32, (n,)), p.host_output("out", F32, (n,))
    with p.for_(parts(n, 1000)) as i, p.stream(i):
        start = i * 1000
        length = smaller(1000, n - start)
        x, y = p.alloc(F32, (length,), "x"), p.alloc(F32, (length,), "y")
        p.copy(x, p.slice(image, 0, start, length))
        p.launch(SCALE, (length, x, y), (length,))
        p.copy(p.slice(out, 0, start, length), y)
    program = prepare(p.build())
    for host in (HOST, ocl.pinned_empty(HOST.shape)):
        host[:] = HOST
        back = np.zeros_like(host)
        program(image=host, out=back)
        runtime.finish()
        assert_same(back, scaled(HOST))
        schedule = program.prepared({"n": HOST.size})[0].schedule
        back[:] = 0
        run_eagerly(runtime.executor.engine, schedule, {"image": host.view(np.uint8), "out": back.view(np.uint8)})
        runtime.finish()
        assert_same(back, scaled(HOST))
    with pytest.raises(DTypeError, match="got float64 for image"):
        program(image=HOST.astype("f8"), out=back)
    with pytest.raises(ShapeError, match="is not contiguous"):
        program(image=np.zeros(2 * HOST.size, "f4")[::2], out=back)
    with pytest.raises(DTypeError, match="got a Array for image"):
        program(image=ocl.asarray(HOST), out=back)


def test_many_shapes_and_one_set_of_kernels(runtime: Runtime) -> None:
    program = twice()
    program(ocl.asarray(HOST))
    with counting(runtime) as counted:
        for n in range(1, 5000, 611):
            host = np.arange(n, dtype="f4")
            found = program(ocl.asarray(host))
            assert isinstance(found, ocl.Array)
            assert_same(found.numpy(), scaled(scaled(host)))
    assert counted["launch", "compiled"] == 0


def test_views_and_expressions_are_arguments(runtime: Runtime) -> None:
    program, x = twice(), ocl.asarray(np.arange(100, dtype="f4").reshape(10, 10))
    for given, host in [
        (x[2], np.arange(20, 30)),
        (x[:, 3], np.arange(3, 100, 10)),
        (x[0] + 1, np.arange(1, 11)),
        (x[1, 6:], np.arange(16, 20)),
    ]:
        found = program(given)
        assert isinstance(found, ocl.Array)
        assert_same(found.numpy(), scaled(scaled(host.astype("f4"))))


def test_threads_replay_one_program_at_once(runtime: Runtime) -> None:
    program = twice()
    program(ocl.asarray(HOST))
    wrong: list[str] = []

    def work(number: int) -> None:
        with ocl.use(runtime):
            for turn in range(20):
                host = HOST + np.float32(number * 100 + turn)
                found = program(ocl.asarray(host))
                assert isinstance(found, ocl.Array)
                if not np.array_equal(found.numpy(), scaled(scaled(host))):
                    wrong.append(f"{number} {turn}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_replay_is_ordered_with_other_work(runtime: Runtime) -> None:
    """Before it: what makes its inputs. After it: what reads its results, and what writes its inputs again."""
    program = twice(out=True)
    x, y = ocl.allocate(HOST.shape), ocl.allocate(HOST.shape)
    for number in range(10):
        with ocl.stream(number):
            ocl.compute_into(x, ocl.asarray(HOST) + number)
        with ocl.stream(number + 1):
            program(x, y)
        with ocl.stream(number + 2):
            ocl.compute_into(x, ocl.zeros(HOST.shape))
            z = (y * 2).compute()
        assert_same(z.numpy(), scaled(scaled(HOST + np.float32(number))) * 2)


def test_a_program_without_commands_runs(runtime: Runtime) -> None:
    program = twice()
    found = program(ocl.asarray(np.zeros(0, "f4")))
    assert isinstance(found, ocl.Array)
    assert found.numpy().shape == (0,)


# ---------------------------------------------------------------------- bad input


def test_calls_that_do_not_fit(runtime: Runtime) -> None:
    program, x, y = twice(out=True), ocl.asarray(HOST), ocl.allocate(HOST.shape)
    other = Runtime(runtime.device, runtime.settings)
    with ocl.use(other):
        foreign = ocl.asarray(HOST)
    for error, fact, call in [
        (ShapeError, "got 1 arrays in order", lambda: program(x)),
        (ShapeError, "got 3 arrays in order", lambda: program(x, y, y)),
        (ShapeError, "got 1 arrays in order and x by name", lambda: program(x, x=x)),
        (DTypeError, "got int32 for x", lambda: program(ocl.astype(x, "i4"), y)),
        (DTypeError, "got a ndarray for x", lambda: program(HOST, y)),
        (ShapeError, r"got n = 4321 by axis 0 of x, and n = 4 by axis 0 of y", lambda: program(x, y[:4])),
        (ShapeError, r"got shape \(1, 4321\) for x", lambda: program(x[None], y)),
        (ShapeError, "got sizes|got n = 3 by name", lambda: program(x, y, n=3)),
        (ShapeError, "got memory for y, which it writes, that is also x", lambda: program(x, x)),
        (ShapeError, "got memory for y, which it writes, that is also x", lambda: program(y[:4000], y[16:4016])),
        (ShapeError, "would write y, which is a view with gaps or not aligned", lambda: program(x[:2000], y[1:2001])),
        (ShapeError, "would write y, which is a view with gaps", lambda: program(x[:2000], y[:4000:2])),
        (MixedDevicesError, "got an array of another runtime for x", lambda: program(foreign, y)),
    ]:
        with pytest.raises(error, match=fact) as caught:
            call()
        assert "test_host_programs.py:" in caught.value.place
        assert caught.value.remedy
    program(x, y)
    assert_same(y.numpy(), scaled(scaled(HOST)))  # nothing ran half


def test_sizes_that_no_shape_has_are_given_by_name(runtime: Runtime) -> None:
    p = HostBuilder("repeat")
    n, times = p.size("n"), p.size("times")
    x = p.input("x", F32, (n,), written=True)
    with p.for_(times):
        t = p.alloc(F32, (n,), "t")
        p.launch(SCALE, (n, x, t), (n,))
        p.launch(ADD, (n, t, t, x), (n,))
    program, x_ = prepare(p.build()), ocl.asarray(HOST)
    with pytest.raises(ShapeError, match="does not get the size times"):
        program(x_)
    assert program(x_, times=2) is None
    once = scaled(HOST) * 2
    assert_same(x_.numpy(), scaled(once) * 2)


def test_replays_check_their_memory(runtime: Runtime) -> None:
    program = twice(out=True)
    replay, _ = program.prepared({"n": 100})
    engine = runtime.executor.engine
    small, good = engine.allocate(396), engine.allocate(400)
    with pytest.raises(ShapeError, match="got 396 bytes for x, which has 400"):
        replay({"x": Part(small), "y": Part(good)})
    with pytest.raises(ShapeError, match="called with other parameters than it has: y"):
        replay({"x": Part(good)})
    with pytest.raises(ShapeError, match="got x from byte 4 of its memory on"):
        replay({"x": Part(engine.allocate(800), 4), "y": Part(good)})


# ---------------------------------------------------------------------- faults that were found


class Breaking:
    """A driver that fails, or refuses, one node of a replay."""

    def __init__(self, opencl: OpenCL) -> None:
        self._opencl = opencl
        self.node = -1
        self.refuse = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opencl, name)

    def enqueue(self, queue: Any, kernel: Any, global_size: Any, group_size: Any, offset: None, waits: Any) -> Any:
        self.node -= 1
        if self.node == 0:
            if self.refuse:
                raise cl.RuntimeError("enqueue: refused")
            broken = cl.UserEvent(self._opencl.context)
            event = cl.enqueue_marker(queue, [*(waits or ()), broken])
            broken.set_status(-5)
            return event
        return self._opencl.enqueue(queue, kernel, global_size, group_size, None, waits)


# PoCL never ends what is enqueued to wait for an event that has failed already, so no node waits for the broken ones.
@pytest.mark.parametrize(("node", "refuse"), [(1, False), (3, False), (1, True), (3, True), (10, True)])
def test_regression_a_node_that_fails_is_noticed(device: Device, engine: Engine, node: int, refuse: bool) -> None:
    """Whichever node it is: a queue goes on behind it, and so does the last node's event.

    Intel's driver reports what waits for a failed event as complete: there is nothing to notice then.
    """
    if not refuse and "Intel" in device.capabilities.platform:
        pytest.skip("this driver hides the failure that is planted")
    runtime = Runtime(device, engine.settings)
    broken = Engine(device, replace(engine.settings, streams=4), driver=Breaking)
    runtime.executor.run_on(broken)
    with ocl.use(runtime):
        program, x = twice(out=True), ocl.asarray(HOST)
        y, other = ocl.allocate(HOST.shape), (x * 3).compute()
        program(x, y)
        assert isinstance(broken.driver, Breaking)
        broken.driver.node, broken.driver.refuse = node, refuse
        with pytest.raises(LaunchError, match="kernel scale") as caught:  # noqa: PT012
            program(x, y)
            y.numpy()
        assert "test_host_programs.py:" in caught.value.place
        assert_same(other.numpy(), HOST * 3)
        program(x, y)
        assert_same(y.numpy(), scaled(scaled(HOST)))


def test_regression_host_arrays_that_overlap(runtime: Runtime) -> None:
    p = HostBuilder("move")
    n = p.size("n")
    image, out, x = p.host_input("image", F32, (n,)), p.host_output("out", F32, (n,)), p.alloc(F32, (n,), "x")
    p.copy(x, image)
    p.copy(out, x)
    program = prepare(p.build())
    for one, other in ((HOST[:1024], HOST[:1024]), (HOST[:1024], HOST[512:1536])):
        with pytest.raises(ShapeError, match="got memory for out, which it writes, that is also image"):
            program(one, other)


def test_regression_idle_programs_give_their_memory_up(device: Device, engine: Engine) -> None:
    runtime = Runtime(device, replace(engine.settings, memory_limit=64 * 2**20))
    p = HostBuilder("backwards")
    n = p.size("n")
    x, t, y = p.input("x", F32, (n,)), p.alloc(F32, (n,), "t"), p.alloc(F32, (n,), "y")
    p.launch(REVERSED, (n, x, t), (n,))
    p.launch(REVERSED, (n, t, y), (n,))
    with ocl.use(runtime):
        program = prepare(p.build(y))
        for n_ in range(1_000_000, 1_000_030):
            found = program(ocl.ones(n_).compute())
            assert isinstance(found, ocl.Array)
            assert float(found[n_ - 1]) == 1
        assert runtime.statistics()["memory"]["peak_reserved"] <= 64 * 2**20


def test_regression_numbers_that_a_kernel_cannot_take(runtime: Runtime) -> None:
    p = HostBuilder("p")
    n, m = p.size("n"), p.size("m")
    x, y = p.input("x", F32, (n,)), p.output("y", F32, (n,))
    p.launch(SCALE, (m, x, y), (n,))
    program, given, out = prepare(p.build(y)), ocl.asarray(HOST), ocl.allocate(HOST.shape)
    for number in (2**33, -1):
        with pytest.raises(ShapeError, match=f"scale got {number} for n, which is no u32"):
            program(given, out, m=number)
    program(given, out, m=np.int64(HOST.size))
    assert_same(out.numpy(), scaled(HOST))


def test_counters_count_the_nodes_of_replays(runtime: Runtime) -> None:
    program, x = twice(), ocl.asarray(HOST)
    program(x)
    with counting(runtime) as counted:
        program(x)
    assert counted["launch", "launches"] == 10


def test_a_captured_function_calls_no_program(runtime: Runtime) -> None:
    p = HostBuilder("scaled")
    x, y = p.input("x", F32, (8,)), p.alloc(F32, (8,), "y")
    p.launch(SCALE, (8, x, y), (8,))
    program, array = prepare(p.build(y)), ocl.ones(8, dtype="f4")
    with pytest.raises(Error, match="a captured function calls program scaled") as caught:
        ocl.capture(lambda x: program(x) + 1)(array)
    assert caught.value.remedy == "call it outside of the captured function"
    assert (program(array) + 1).shape == (8,)


@pytest.mark.parametrize("how", ["written", "output", "donated"])
def test_regression_what_others_need_of_memory_that_a_program_writes_stays(runtime: Runtime, how: str) -> None:
    """Copies, elements and expressions; the memory is written in place where nobody needs any of it."""
    p = HostBuilder("over")
    n = p.size("n")
    x = p.input("x", F32, (n,), written=how == "written", donated=how == "donated")
    y = x if how == "written" else p.output("y", F32, (n,)) if how == "output" else p.alloc(F32, (n,), "t")
    p.launch(SCALE, (n, x, y), (n,))
    program = prepare(p.build(y) if how == "donated" else p.build())
    for needed in (True, False):
        array = ocl.asarray(HOST)
        copied, element, expression = (array.copy(), array[3], array + 1) if needed else (None, None, None)
        with counting(runtime) as counted:
            program(*([ocl.asarray(HOST)] if how == "output" else []), array)
        if needed:
            assert_same(copied.numpy(), HOST)
            assert float(element) == HOST[3]
            assert_same(expression.numpy(), HOST + 1)
        else:
            assert counted["memory", "allocations"] == (how != "written")  # the input there, the result
        if how != "donated":
            assert_same(array.numpy(), scaled(HOST))
