"""PyOpenCL's contexts, queues, buffers and arrays, used without a copy, and ours given to PyOpenCL."""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pyopencl.tools
import pytest
from numpy.lib.stride_tricks import as_strided

import ocl_runtime as ocl
from ocl_ir.kernel.accesses import WRITE
from ocl_ir.layout import Layout
from ocl_runtime.arrays import display
from ocl_runtime.codegen import driver
from ocl_runtime.device import Device, Existing
from ocl_runtime.errors import (
    DeviceError,
    DTypeError,
    Error,
    LaunchError,
    MixedDevicesError,
    ShapeError,
    SharingError,
)
from ocl_runtime.execute.driver import Driver
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.sharing import foreign
from ocl_runtime.observe.commands import Recording
from ocl_runtime.observe.order import violations
from ocl_runtime.runtime import Runtime
from tests.support.arrays import COPIES_ARE_WRITABLE, DTYPES, assert_same, counting, has
from tests.support.depth import NIGHTLY
from tests.support.rehearsal import one_by_one
from tests.support.wrapped import PIECE, Wrapped, adding, eventually, on
from tests.support.wrapped import values as values_of

HOST = np.arange(40, dtype="f4").reshape(5, 8)
LAYOUTS = {
    "whole": np.s_[:],
    "a part": np.s_[1:4, 2:7],
    "columns": np.s_[:, ::3],
    "rows backwards": np.s_[::-1],
    "backwards": np.s_[::-2, ::-1],
    "one": np.s_[2, 3, ...],
    "a new axis": np.s_[1, None, 2:],
    "nothing": np.s_[3:3],
}
SLOW = """
__kernel void slow(__global uint *out, uint value, uint n, uint rounds)
{
    uint x = value;
    for (uint i = 0; i < rounds; ++i)
        x = x * 1664525u + 1013904223u + get_global_id(0);
    out[get_global_id(0) % n] = x == 0xFFFFFFFFu ? x : value;
}
"""
N = 1000

# A wait in the driver cannot be interrupted, only ended with the process.
pytestmark = pytest.mark.timeout(120, method="thread")


@pytest.fixture
def context(device: Device) -> cl.Context:
    """Held by its own, since Intel's queues do not keep it."""
    return cl.Context([device.cl])


@pytest.fixture
def queue(context: cl.Context) -> cl.CommandQueue:
    return cl.CommandQueue(context)


@pytest.fixture
def other(queue: cl.CommandQueue) -> cl.CommandQueue:
    """Another one of the same context."""
    return cl.CommandQueue(queue.context)


@pytest.fixture
def runtime(queue: cl.CommandQueue, engine: Engine) -> Iterator[Runtime]:
    with ocl.use(Runtime.over(queue, replace(engine.settings, streams=4))) as runtime:
        assert isinstance(runtime, Runtime)
        yield runtime
        runtime.finish()


def buffer_of(queue: cl.CommandQueue, host: np.ndarray, flags: int = 0) -> cl.Buffer:
    buffer = cl.Buffer(queue.context, flags or cl.mem_flags.READ_WRITE, host.nbytes)
    cl.enqueue_copy(queue, buffer, np.ascontiguousarray(host))
    return buffer


def array_of(queue: cl.CommandQueue, view: np.ndarray, base: np.ndarray, **more: Any) -> cla.Array:
    """A PyOpenCL array that is in a copy of `base` what `view` is in it."""
    at = view.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    buffer = buffer_of(queue, base)
    return cla.Array(queue, view.shape, view.dtype, data=buffer, offset=at, strides=view.strides, **more)


def values(queue: cl.CommandQueue, a: cla.Array) -> np.ndarray:
    """What PyOpenCL has in an array with any strides."""
    if not a.size:
        return np.empty(a.shape, a.dtype)
    raw = np.empty(a.base_data.size, np.uint8)
    cl.enqueue_copy(queue, raw, a.base_data)
    first = raw[a.offset : a.offset + a.dtype.itemsize].view(a.dtype)
    return as_strided(first, a.shape, a.strides).copy()


def fill(queue: cl.CommandQueue, buffer: cl.Buffer, value: int, wait_for: list[cl.Event] | None = None) -> cl.Event:
    """N elements of uint32."""
    return cl.enqueue_fill_buffer(queue, buffer, np.uint32(value), 0, N * 4, wait_for)


@contextmanager
def waiting(queue: cl.CommandQueue) -> Iterator[cl.UserEvent]:
    """What a queue is given from now on does not begin before the block ends."""
    event = cl.UserEvent(queue.context)
    cl.enqueue_marker(queue, wait_for=[event])
    try:
        yield event
    finally:
        event.set_status(0)


def assert_settles(runtime: Runtime) -> None:
    """Nobody shares any memory any more, once the queues have ended what they were given."""

    def settled() -> bool:
        runtime.finish()
        return runtime.executor.engine.streams.guests is None

    assert eventually(settled)


def assert_held_back(*downloads: ocl.Download) -> None:
    """What they wait for has not ended; a device that need not wait would be done with them soon."""
    for _ in range(20):
        assert not any(one.done() for one in downloads)  # asking makes them start
        time.sleep(0.001)


@pytest.fixture
def no_cycles() -> Iterator[None]:
    """What goes must go by itself, not when Python next looks for garbage."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class Token:
    """Something to see the end of a PyOpenCL object by, which knows no weak references."""


# ---------------------------------------------------------------------- a runtime over what there is


def test_a_runtime_over_a_queue_uses_that_very_queue(runtime: Runtime, queue: cl.CommandQueue, device: Device) -> None:
    assert runtime.device == device
    assert runtime.queue is queue
    assert on(runtime.executor.engine, 0).queue is queue
    assert on(runtime.executor.engine, 4).queue is queue
    assert on(runtime.executor.engine, 1).queue.context == queue.context
    assert_same((ocl.asarray(HOST) * 2).numpy(), HOST * 2)


def test_a_runtime_over_a_context(queue: cl.CommandQueue, device: Device, engine: Engine) -> None:
    runtime = Runtime.over(queue.context, engine.settings)
    assert runtime.device == device
    assert runtime.queue.context == queue.context
    assert runtime.queue != queue
    with ocl.use(runtime):
        assert_same((ocl.asarray(HOST) * 2).numpy(), HOST * 2)
        assert_same(ocl.from_pyopencl(buffer_of(queue, HOST), dtype="f4").numpy(), HOST.reshape(-1))


def test_work_of_the_user_and_ours_is_in_order_on_the_queue(runtime: Runtime, queue: cl.CommandQueue) -> None:
    """Nothing is said of the buffer, which is a page of ours: stream 0 is the queue."""
    x = ocl.allocate((N,), dtype="u4")
    a = x.to_pyopencl()
    with counting(runtime) as counted, waiting(queue):
        cl.enqueue_fill_buffer(queue, a.base_data, np.uint32(5), a.offset, N * 4)
        y = (x + 1).compute()
        cl.enqueue_fill_buffer(queue, a.base_data, np.uint32(7), a.offset, N * 4)
    assert counted["stream", "waits"] == counted["stream", "host_waits"] == 0
    assert (y.numpy() == 6).all()
    assert (x.numpy() == 7).all()


def test_what_no_runtime_can_be_over(queue: cl.CommandQueue, engine: Engine) -> None:
    for given in (None, "cpu", queue.device, [queue]):
        with pytest.raises(DeviceError, match="a runtime over a"):
            Runtime.over(given, engine.settings)
    loose = out_of_order(queue)
    with pytest.raises(DeviceError, match="out-of-order") as caught:
        Runtime.over(loose, engine.settings)
    assert "test_interop.py:" in caught.value.place


def test_a_context_of_several_devices_needs_a_queue(queue: cl.CommandQueue, engine: Engine) -> None:
    halves = parts_of(queue.device)
    both = cl.Context(halves)
    if len(both.devices) != 2:
        pytest.skip("the driver makes one device of two parts")
    with pytest.raises(DeviceError, match="a context of 2 devices"):
        Runtime.over(both, engine.settings)
    with ocl.use(Runtime.over(cl.CommandQueue(both, halves[1]), engine.settings)) as runtime:
        assert isinstance(runtime, Runtime)
        assert runtime.device.cl == halves[1]
        assert_same((ocl.asarray(HOST) * 2).numpy(), HOST * 2)


def parts_of(whole: cl.Device) -> list[cl.Device]:
    try:
        made: Any = whole.create_sub_devices([cl.device_partition_property.EQUALLY, whole.max_compute_units // 2, 0])
    except (cl.Error, AttributeError, ZeroDivisionError):
        pytest.skip("the device has no parts")
    return list(made[:2])


def out_of_order(queue: cl.CommandQueue) -> cl.CommandQueue:
    flag = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
    if not queue.device.queue_properties & flag:
        pytest.skip("the device has no out-of-order queues")
    return cl.CommandQueue(queue.context, properties=flag)


# ---------------------------------------------------------------------- round trips


def laid_out(queue: cl.CommandQueue, dtype: str, layout: str) -> Iterator[tuple[np.ndarray, cla.Array]]:
    """A part of rows and of columns in a row, here and in PyOpenCL's memory."""
    host = HOST.astype(dtype)
    for base in (host, np.asfortranarray(host)):
        view = base[LAYOUTS[layout]]
        if not isinstance(view, np.ndarray):
            view = as_strided(base[2:, 3:], (), ())
        yield view, array_of(queue, view, base.T if base.flags.f_contiguous else base)


@pytest.mark.sample(4)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_pyopencls_arrays_of_any_layout(runtime: Runtime, queue: cl.CommandQueue, dtype: str, layout: str) -> None:
    if not has(runtime, dtype):
        pytest.skip(f"the device has no {dtype}")
    given = list(laid_out(queue, dtype, layout))
    with counting(runtime) as counted:
        arrays = [ocl.from_pyopencl(a) for _, a in given]
    assert counted["memory", "allocations"] == 0
    if NIGHTLY or dtype == "f4" or layout == "backwards":  # a kernel each, whose places are the same for all dtypes
        copies = one_by_one(runtime, lambda: [ocl.where(x == x, x, x) for x in arrays])
        for (view, _), copy in zip(given, copies, strict=True):
            assert_same(copy.numpy(), view)
    for (view, a), x in zip(given, arrays, strict=True):
        assert (x.shape, x.dtype) == (view.shape, view.dtype)
        assert_same(x.numpy(), view)
        back = x.to_pyopencl()
        assert (back.shape, back.dtype) == (view.shape, view.dtype)
        assert_same(values(queue, back), view)
        if view.size:
            assert back.base_data.int_ptr == a.base_data.int_ptr
            assert (back.offset, back.strides) == (a.offset, a.strides)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_of_ours_of_any_layout(runtime: Runtime, queue: cl.CommandQueue, dtype: str, layout: str) -> None:
    if not has(runtime, dtype):
        pytest.skip(f"the device has no {dtype}")
    base = ocl.asarray(HOST.astype(dtype))
    padding = ocl.asarray(HOST)  # so that the second one does not begin where its page does
    for x in (base, base.T, ocl.asarray(HOST.astype(dtype))):
        part = x[LAYOUTS[layout]]
        expected = np.asarray(x.numpy()[LAYOUTS[layout]])
        with counting(runtime) as counted:
            a = part.to_pyopencl()
        assert counted["memory", "allocations"] == 0
        assert (a.shape, a.dtype, a.queue) == (expected.shape, expected.dtype, queue)
        assert_same(values(queue, a), expected)
        if a.flags.c_contiguous:
            assert_same(a.get(), expected)
        assert_same(ocl.from_pyopencl(a).numpy(), expected)
    assert_same(padding.numpy(), HOST)


def test_an_expression_is_computed_and_written_to(runtime: Runtime, queue: cl.CommandQueue) -> None:
    x = ocl.asarray(HOST) * 2
    a = x[1:3].to_pyopencl()
    cl.enqueue_fill_buffer(queue, a.base_data, np.float32(-1), a.offset, 8 * 4)
    expected = HOST * 2
    later = x + 0
    assert_same(a.get(), np.vstack([np.full(8, -1, "f4"), expected[2]]))
    np.testing.assert_array_equal(later.numpy()[2], expected[2])


def test_a_buffer_with_dtype_shape_and_offset(runtime: Runtime, queue: cl.CommandQueue) -> None:
    buffer = buffer_of(queue, HOST)
    flat = HOST.reshape(-1)
    assert_same(ocl.from_pyopencl(buffer, dtype=np.float32).numpy(), flat)
    assert_same(ocl.from_pyopencl(buffer, dtype="f4", shape=(2, 3)).numpy(), flat[:6].reshape(2, 3))
    assert_same(ocl.from_pyopencl(buffer, dtype="f4", shape=7, offset=12).numpy(), flat[3:10])
    assert_same(ocl.from_pyopencl(buffer, dtype="f4", offset=4).numpy(), flat[1:])
    assert_same(ocl.from_pyopencl(buffer, dtype="u1", shape=5, offset=3).numpy(), flat.view("u1")[3:8])
    assert ocl.from_pyopencl(buffer, dtype="f4", shape=(0, 3)).numpy().shape == (0, 3)
    assert ocl.from_pyopencl(buffer, dtype="f4", offset=HOST.nbytes).shape == (0,)
    x = ocl.from_pyopencl(buffer, dtype="f4", shape=(5, 7), offset=4)  # nothing that wide accesses could begin at
    assert_same((x * 2).numpy(), flat[1:36].reshape(5, 7) * 2)
    assert_same(ocl.sum(x, axis=0).numpy(), flat[1:36].reshape(5, 7).sum(axis=0))


def test_a_part_of_a_buffer_is_the_same_memory(runtime: Runtime, queue: cl.CommandQueue) -> None:
    step = runtime.device.capabilities.mem_base_addr_align
    host = np.arange(step, dtype="u4")
    whole = buffer_of(queue, host)
    x = ocl.from_pyopencl(whole, dtype="u4")
    part = ocl.from_pyopencl(whole.get_sub_region(step, step), dtype="u4")
    assert_same(part.numpy(), host[step // 4 : step // 2])
    assert part._node.storage is x._node.storage
    with pytest.raises(ShapeError, match=f"buffer of {step:,} bytes"):
        ocl.from_pyopencl(whole.get_sub_region(step, step), dtype="u4", shape=step // 4 + 1)


def test_the_same_buffer_twice_has_one_history(runtime: Runtime, queue: cl.CommandQueue) -> None:
    buffer = buffer_of(queue, HOST)
    x, y = ocl.from_pyopencl(buffer, dtype="f4"), ocl.from_pyopencl(buffer, dtype="f4", shape=(8, 5))
    assert x._node.storage is y._node.storage
    ocl.compute_into(x, x + 1)
    assert_same(y.numpy(), (HOST + 1).reshape(8, 5))
    ocl.compute_into(y, ocl.from_pyopencl(buffer, dtype="f4", shape=(5, 8)).T * 2)  # overlaps what it reads
    assert_same(y.numpy(), (HOST + 1).T * 2)
    address = x._node.storage.block.ranges
    del x, y
    gc.collect()
    runtime.finish()
    again = ocl.from_pyopencl(buffer, dtype="f4")
    assert again._node.storage.block.ranges is not address
    assert_same(again.numpy(), ((HOST + 1).T * 2).reshape(-1))


def test_a_history_goes_on_while_commands_of_it_run(runtime: Runtime, queue: cl.CommandQueue) -> None:
    buffer = buffer_of(queue, np.zeros(N, "u4"))
    with waiting(queue):
        x = ocl.from_pyopencl(buffer, dtype="u4")
        ranges = x._node.storage.block.ranges
        ocl.compute_into(x, x + 1)
        del x
        gc.collect()
        y = ocl.from_pyopencl(buffer, dtype="u4")
        assert y._node.storage.block.ranges is ranges
    assert (y.numpy() == 1).all()


def test_arrays_that_lie_in_pyopencls_pool(runtime: Runtime, queue: cl.CommandQueue) -> None:
    pool = pyopencl.tools.MemoryPool(pyopencl.tools.ImmediateAllocator(queue))
    a = cla.Array(queue, (N,), np.uint32, allocator=pool)
    fill(queue, a.base_data, 3)
    x = ocl.from_pyopencl(a)
    del a
    gc.collect()
    b = cla.Array(queue, (N,), np.uint32, allocator=pool)  # gets other memory
    fill(queue, b.base_data, 4)
    assert (x.numpy() == 3).all()
    assert pool.active_blocks == 2
    del x
    gc.collect()
    runtime.finish()
    assert pool.active_blocks == 1


def test_two_runtimes_of_one_context_exchange_arrays(runtime: Runtime, queue: cl.CommandQueue, engine: Engine) -> None:
    with ocl.use(Runtime.over(queue.context, engine.settings)) as second:
        theirs = (ocl.asarray(HOST) + 1).compute()
        a = theirs.to_pyopencl(queue)
    assert isinstance(second, Runtime)
    x = ocl.from_pyopencl(a)
    assert x._node.storage is not theirs._node.storage
    assert_same((x * 2).numpy(), (HOST + 1) * 2)
    ocl.compute_into(x, x * 3)
    assert_same(theirs.numpy(), (HOST + 1) * 3)


# ---------------------------------------------------------------------- lifetimes


@pytest.mark.usefixtures("no_cycles")
def test_the_users_memory_lives_as_long_as_something_of_ours_needs_it(runtime: Runtime, queue: cl.CommandQueue) -> None:
    before = runtime.statistics()["memory"]
    a = array_of(queue, HOST, HOST)
    a.base_data.token = Token()
    alive = weakref.ref(a.base_data.token)
    x = ocl.from_pyopencl(a)
    y = x[1:] * 2
    del a, x
    runtime.finish()
    assert alive() is not None
    assert_same(y.numpy(), HOST[1:] * 2)
    assert_same(y.numpy(), HOST[1:] * 2)
    runtime.finish()
    assert alive() is None  # y is computed, and nothing else has been there
    del y
    runtime.finish()
    after = runtime.statistics()["memory"]
    assert after["in_use"] == before["in_use"]
    assert runtime.executor.engine.streams.guests is None


@pytest.mark.usefixtures("no_cycles")
def test_the_users_memory_lives_until_the_last_command_has_ended(runtime: Runtime, queue: cl.CommandQueue) -> None:
    buffer = buffer_of(queue, HOST)
    queue.finish()
    same = cl.Buffer.from_int_ptr(buffer.int_ptr, True)
    buffer.token = Token()  # type: ignore[attr-defined]
    alive = weakref.ref(buffer.token)  # type: ignore[attr-defined]
    with waiting(queue):
        x = ocl.from_pyopencl(buffer, dtype="f4")
        y = (x * 2).compute()
        del x, buffer
        runtime.executor.engine.sharing.settle()
        assert alive() is not None
    assert_same(y.numpy(), HOST.reshape(-1) * 2)
    runtime.finish()
    assert alive() is None
    assert same.reference_count == 1  # but for this one, nobody holds it


@pytest.mark.usefixtures("no_cycles")
def test_a_buffer_that_the_user_releases_later_is_still_there(runtime: Runtime, queue: cl.CommandQueue) -> None:
    buffer = buffer_of(queue, HOST)
    x = ocl.from_pyopencl(buffer, dtype="f4")
    buffer.release()
    others = [buffer_of(queue, HOST * 0) for _ in range(10)]
    assert_same(x.numpy(), HOST.reshape(-1))
    assert len(others) == 10


@pytest.mark.usefixtures("no_cycles")
def test_our_memory_lives_as_long_as_pyopencls_arrays(runtime: Runtime, queue: cl.CommandQueue) -> None:
    x = (ocl.asarray(HOST) + 1).compute()
    runtime.finish()
    used = runtime.statistics()["memory"]["in_use"]
    a = x.to_pyopencl()
    part = a[2:]
    del x, a
    runtime.finish()
    others = [(ocl.asarray(HOST) * number).compute() for number in range(20)]
    assert_same(part.get(), HOST[2:] + 1)
    del others
    runtime.finish()
    assert runtime.statistics()["memory"]["in_use"] == used
    del part
    assert_settles(runtime)
    assert runtime.statistics()["memory"]["in_use"] == used - HOST.nbytes


@pytest.mark.usefixtures("no_cycles")
def test_our_memory_is_not_used_again_before_the_queue_has_done_with_it(
    runtime: Runtime, other: cl.CommandQueue
) -> None:
    x = ocl.allocate((N,), dtype="u4")
    a = x.to_pyopencl(other)
    base, offset = a.base_data.int_ptr, a.offset
    with waiting(other):
        cl.enqueue_fill_buffer(other, a.base_data, np.uint32(9), a.offset, N * 4)
        del x, a
        runtime.executor.engine.sharing.settle()
        many = [ocl.allocate((N,), dtype="u4") for _ in range(50)]
        places = {(one._node.storage.buffer.int_ptr, one._node.storage.start) for one in many}
        assert (base, offset) not in places
    assert_settles(runtime)
    many += [ocl.allocate((N,), dtype="u4") for _ in range(50)]
    assert (base, offset) in {(one._node.storage.buffer.int_ptr, one._node.storage.start) for one in many}


@pytest.mark.usefixtures("no_cycles")
def test_memory_that_came_back_is_waited_for_when_it_is_short(queue: cl.CommandQueue, engine: Engine) -> None:
    settings = replace(engine.settings, streams=4, memory_limit=2**22)
    with ocl.use(Runtime.over(queue, settings)):
        nbytes = 3 * 2**20
        x = ocl.allocate((nbytes,), dtype="u1")
        a = x.to_pyopencl()
        cl.enqueue_fill_buffer(queue, a.base_data, np.uint8(1), a.offset, nbytes)
        del x, a
        assert ocl.allocate((nbytes,), dtype="u1").shape == (nbytes,)


# ---------------------------------------------------------------------- order


@pytest.fixture(params=["stream 0's queue", "another queue"])
def guest(request: pytest.FixtureRequest, queue: cl.CommandQueue, other: cl.CommandQueue) -> cl.CommandQueue:
    return queue if request.param == "stream 0's queue" else other


@pytest.mark.parametrize("number", range(4))
def test_ours_comes_after_the_users(runtime: Runtime, guest: cl.CommandQueue, number: int) -> None:
    """Without the wait, what the device reads at once is not what the queue writes later."""
    buffer = buffer_of(guest, np.zeros(N, "u4"))
    x = ocl.from_pyopencl(buffer, dtype="u4", queue=guest)
    with ocl.stream(number):
        assert (x.numpy() == 0).all()
        for value in (1, 2):
            with counting(runtime) as counted, waiting(guest):
                fill(guest, buffer, value)
                y = (x + 10).compute()
                downloads = ocl.download(x), ocl.download(y)
                assert_held_back(*downloads)
            assert counted["stream", "host_waits"] == 0
            assert (downloads[0].result() == value).all()
            assert (downloads[1].result() == value + 10).all()


def test_elements_keep_their_values_where_the_user_writes(runtime: Runtime, queue: cl.CommandQueue) -> None:
    x = ocl.asarray(np.arange(5, dtype="f4"))
    before = x[1]
    theirs = x.to_pyopencl(queue)
    shared = x[2]
    lent = x[3].to_pyopencl(queue)
    theirs.fill(7)
    lent.fill(9)
    queue.finish()
    assert (float(before), float(shared), x.tolist()) == (1.0, 2.0, [7.0] * 5)


def test_looking_does_not_wait_for_the_user(
    runtime: Runtime, guest: cl.CommandQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(display, "_PATIENCE", 0.02)
    buffer = buffer_of(guest, np.zeros(N, "u4"))
    x = ocl.from_pyopencl(buffer, dtype="u4", queue=guest)
    with waiting(guest):
        fill(guest, buffer, 3)
        y = x + 10
        for array in (x, y):
            assert "no values yet: PyOpenCL has work on" in repr(array)
            assert f"shape=({N},), dtype=uint32" in repr(array)
    monkeypatch.setattr(display, "_PATIENCE", 20)
    assert repr(x).startswith("Array([3, 3, 3")
    assert repr(y).startswith("Array([13, 13, 13")


@pytest.mark.parametrize("number", range(4))
def test_the_users_comes_after_ours(runtime: Runtime, guest: cl.CommandQueue, number: int) -> None:
    buffer = buffer_of(guest, np.full(N, 5, "u4"))
    x = ocl.from_pyopencl(buffer, dtype="u4", queue=guest)
    go = cl.UserEvent(guest.context)
    with ocl.stream(number):
        stream = runtime.executor.engine.streams.current()
        cl.enqueue_marker(stream.queue, wait_for=[go])  # holds our own work
        y = (x + 10).compute()
        fill(guest, buffer, 6)
        guest.flush()
        z = (x + 10).compute()
        ocl.compute_into(x, x * 0 + 7)
    seen = np.empty(N, "u4")
    copied = cl.enqueue_copy(guest, seen, buffer, is_blocking=False)
    guest.flush()
    go.set_status(0)
    assert (y.numpy() == 15).all()
    assert (z.numpy() == 16).all()
    copied.wait()
    assert (seen == 7).all()


def test_what_was_lent_is_ordered_both_ways(runtime: Runtime, guest: cl.CommandQueue) -> None:
    x = ocl.asarray(np.full(N, 5, "u4"))
    go = cl.UserEvent(guest.context)
    with ocl.stream(2):
        cl.enqueue_marker(runtime.executor.engine.streams.current().queue, wait_for=[go])
        ocl.compute_into(x, x + 1)  # pending as it is lent
    a = x.to_pyopencl(guest)
    seen = np.empty(N, "u4")
    copied = cl.enqueue_copy(guest, seen, a.base_data, src_offset=a.offset, is_blocking=False)
    cl.enqueue_fill_buffer(guest, a.base_data, np.uint32(20), a.offset, N * 4)
    with ocl.stream(3):
        y = (x + 1).compute()
    cl.enqueue_fill_buffer(guest, a.base_data, np.uint32(30), a.offset, N * 4)
    del a  # the queue is not done with it
    gc.collect()
    with ocl.stream(1):
        z = (x + 1).compute()
    guest.flush()
    go.set_status(0)
    assert (y.numpy() == 21).all()
    assert (z.numpy() == 31).all()
    copied.wait()
    assert (seen == 6).all()


def test_the_events_of_an_array_come_after_what_was_done(
    runtime: Runtime, queue: cl.CommandQueue, other: cl.CommandQueue
) -> None:
    """PyOpenCL has other queues wait for them."""
    x = ocl.asarray(np.full(N, 5, "u4"))
    third, go = cl.CommandQueue(queue.context), cl.UserEvent(queue.context)
    with ocl.stream(1):
        cl.enqueue_marker(runtime.executor.engine.streams.current().queue, wait_for=[go])
        ocl.compute_into(x, x + 1)
    a = x.to_pyopencl(other)
    seen = np.empty(N, "u4")
    copied = cl.enqueue_copy(third, seen, a.base_data, src_offset=a.offset, is_blocking=False, wait_for=a.events)
    third.flush()
    go.set_status(0)
    copied.wait()
    assert (seen == 6).all()


@pytest.mark.parametrize("way", ["wait_for", "events", "both"])
def test_the_users_events_are_waited_for_on_the_device(
    runtime: Runtime, queue: cl.CommandQueue, other: cl.CommandQueue, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[list[cl.Event]] = []
    wait_in = foreign.wait_in
    monkeypatch.setattr(foreign, "wait_in", lambda q, events: (waits.append(events), wait_in(q, events)))
    buffer = buffer_of(other, np.zeros(N, "u4"))
    other.finish()
    third = cl.CommandQueue(queue.context)
    with counting(runtime) as counted, waiting(other), waiting(third):
        first = fill(other, buffer, 1)
        second = fill(third, buffer, 2, [first])
        given: dict[str, Any] = {"wait_for": [first, second]} if way == "wait_for" else {}
        if way == "wait_for":
            x = ocl.from_pyopencl(buffer, dtype="u4", **given)
        else:
            a = cla.Array(queue, (N,), np.uint32, data=buffer, events=[first] if way == "both" else [first, second])
            x = ocl.from_pyopencl(a, wait_for=[second] if way == "both" else ())
        for one in (other, third):
            one.flush()
        found = []
        for number in (1, 2, 0):  # reads, that have no conflict with each other
            with ocl.stream(number):
                found.append(ocl.download(x + 10))
        assert_held_back(*found)
        assert waits == [[first, second]]  # once; what comes later knows
    assert counted["stream", "host_waits"] == 0
    for one in found:
        assert (one.result() == 12).all()


def test_a_queue_waits_for_another_one_by_events_as_ever(
    runtime: Runtime, queue: cl.CommandQueue, other: cl.CommandQueue
) -> None:
    buffer = buffer_of(queue, np.zeros(N, "u4"))
    x = ocl.from_pyopencl(buffer, dtype="u4")
    with waiting(other):
        cl.enqueue_marker(queue, wait_for=[fill(other, buffer, 8)])
        other.flush()
        with ocl.stream(1):
            y = ocl.download(x + 1)
        assert_held_back(y)
    assert (y.result() == 9).all()


@pytest.mark.parametrize("kept", [True, False])
def test_an_array_that_comes_back_on_another_queue(
    runtime: Runtime, queue: cl.CommandQueue, other: cl.CommandQueue, kept: bool
) -> None:
    """What that queue has by then is waited for, whether or not PyOpenCL's arrays are still there."""
    x = ocl.asarray(np.zeros(N, "u4"))
    a = x.to_pyopencl()
    b = a.with_queue(other)
    with waiting(other):
        cl.enqueue_fill_buffer(other, b.base_data, np.uint32(4), b.offset, N * 4)
        y = ocl.from_pyopencl(b)
        assert y._node.storage is x._node.storage
        if not kept:
            del a, b
            queue.finish()
            runtime.executor.engine.sharing.settle()
        found = []
        for number in (1, 2):
            with ocl.stream(number):
                found.append(ocl.download(y + 1))
        assert_held_back(*found)
    for one in found:
        assert (one.result() == 5).all()
    if kept:
        del a, b
    assert_settles(runtime)


def test_memory_lent_to_a_second_queue_comes_after_the_first(
    runtime: Runtime, queue: cl.CommandQueue, other: cl.CommandQueue
) -> None:
    buffer = buffer_of(queue, np.zeros(N, "u4"))
    x = ocl.from_pyopencl(buffer, dtype="u4")
    with waiting(queue):
        fill(queue, buffer, 3)
        a = x.to_pyopencl(other)
        seen = np.empty(N, "u4")
        copied = cl.enqueue_copy(other, seen, a.base_data, is_blocking=False)
        other.flush()
    copied.wait()
    assert (seen == 3).all()


def test_many_threads_share_at_once(runtime: Runtime, queue: cl.CommandQueue, other: cl.CommandQueue) -> None:
    """One memory of the user's that all read, and one of ours for each that is lent, written and taken back."""
    buffer = buffer_of(queue, np.full(N, 7, "u4"))

    def work(number: int) -> None:
        with ocl.use(runtime), ocl.stream(number):
            x = ocl.from_pyopencl(buffer, dtype="u4")
            mine = ocl.asarray(np.zeros(N, "u4"))
            for turn in range(30):
                a = mine.to_pyopencl(other if turn % 2 else queue)
                cl.enqueue_fill_buffer(a.queue, a.base_data, np.uint32(turn), a.offset, N * 4)
                back = ocl.from_pyopencl(a)
                del a
                assert ((back + x).numpy() == turn + 7).all()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert_settles(runtime)


def test_transfers_in_pieces_are_ordered_too(
    queue: cl.CommandQueue, other: cl.CommandQueue, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a device with memory of its own large arrays pass through pinned blocks, by other threads."""
    count = 3 * PIECE + 100
    with ocl.use(Runtime.over(queue, replace(engine.settings, staging_bytes=8 * PIECE))) as runtime:
        assert isinstance(runtime, Runtime)
        monkeypatch.setattr(runtime.executor.engine.transfers, "_shared", False)
        for guest in (queue, other):
            buffer = buffer_of(guest, np.zeros(count, "u1"))
            x = ocl.from_pyopencl(buffer, dtype="u1", queue=guest)
            with waiting(guest):
                cl.enqueue_fill_buffer(guest, buffer, np.uint8(3), 0, count)
                coming = ocl.download(x)
                cl.enqueue_fill_buffer(guest, buffer, np.uint8(4), 0, count)
                guest.flush()
                again = ocl.download(x)
                assert_held_back(coming, again)
            assert (coming.result() == 3).all()
            assert (again.result() == 4).all()
            runtime.finish()


def test_slow_kernels_of_both_on_several_streams(runtime: Runtime, guest: cl.CommandQueue, device: Device) -> None:
    """No race 20 times over: a slow kernel of the user's before ours, and one of the user's right after."""
    kernel = driver.build(guest.context, device, SLOW).kernel("slow")
    buffer = buffer_of(guest, np.zeros(N, "u4"))
    x = ocl.from_pyopencl(buffer, dtype="u4", queue=guest)

    def slowly(value: int) -> None:
        kernel.set_args(buffer, np.uint32(value), np.uint32(N), np.uint32(20_000))
        cl.enqueue_nd_range_kernel(guest, kernel, (N,), None)
        guest.flush()

    found = []
    for turn in range(20):
        slowly(2 * turn)
        with ocl.stream(turn % 4):
            one = (x * 3).compute()
        with ocl.stream((turn + 1) % 4):
            two = (x + 1).compute()
            ocl.compute_into(x, x + 1)
        seen = np.empty(N, "u4")
        found.append((one, two, seen, cl.enqueue_copy(guest, seen, buffer, is_blocking=False)))
        slowly(2 * turn + 1)
    for turn, (one, two, seen, copied) in enumerate(found):
        assert (one.numpy() == 6 * turn).all()
        assert (two.numpy() == 2 * turn + 1).all()
        copied.wait()
        assert (seen == 2 * turn + 1).all()
    assert (x.numpy() == 39).all()


@pytest.mark.parametrize("lent", [False, True])
@pytest.mark.parametrize("shared", [True, False])
def test_the_record_proves_the_order(
    guest: cl.CommandQueue, queue: cl.CommandQueue, engine: Engine, shared: bool, lent: bool
) -> None:
    """The user's commands pass the recorder here, with what they touch. Unless memory is shared, they race."""
    recording: list[Recording] = []

    def recorded(inner: Driver) -> Recording:
        recording.append(Recording(inner))
        return recording[0]

    settings = replace(engine.settings, streams=4)
    made = Engine(engine.device, settings, driver=recorded, existing=Existing(engine.device, queue.context, queue))
    nbytes, layout = N * 4, Layout.contiguous((N,))
    if lent:
        storage = made.upload(np.zeros(N, "u4"))
        a = made.sharing.lend(storage, np.dtype("u4"), layout, guest, "here")
    else:
        a = buffer_of(guest, np.zeros(N, "u4"))
        borrowed, _, _ = made.sharing.borrow(a, np.dtype("u4"), (N,), 0, guest, (), "here")
        assert borrowed is not None
        storage = borrowed
    if not shared:
        made.streams.guests = None
    results = [made.allocate(nbytes) for _ in range(12)]
    for turn, result in enumerate(results):
        touched = [storage.touch(WRITE)]
        recording[0].fill(guest, storage.buffer, storage.start, nbytes, np.uint32(turn), None, touched)
        adding(made, storage, result, 1, number=turn % 4)
        adding(made, storage, storage, 5, number=turn * 7 % 4)
    del a
    gc.collect()
    adding(made, storage, storage, 0, number=3)
    made.finish()
    assert bool(violations(recording[0].log)) != shared
    if shared:
        assert [int(values_of(made, result)[0]) for result in results] == list(range(1, 13))
        assert (values_of(made, storage) == 16).all()


def test_queues_are_flushed_before_others_wait_for_them(
    queue: cl.CommandQueue, other: cl.CommandQueue, engine: Engine
) -> None:
    """Drivers may hold back what is not."""
    made: list[Wrapped] = []

    def wrap(inner: Driver) -> Any:
        made.append(Wrapped(inner))
        return made[0]

    existing = Existing(engine.device, queue.context, queue)
    seen = Engine(engine.device, replace(engine.settings, streams=4), driver=wrap, existing=existing)
    storage, result = seen.upload(np.zeros(N, "u4")), seen.allocate(N * 4)
    adding(seen, storage, result, 1)
    seen.finish()
    names = {id(on(seen, 1).queue): "ours", id(other): "theirs"}
    calls: list[tuple[str, str]] = []

    def note(name: str, args: tuple[Any, ...]) -> None:
        if args and id(args[0]) in names:
            calls.append((name, names[id(args[0])]))

    made[0].before = note
    with waiting(on(seen, 1).queue):
        adding(seen, storage, result, 1, number=1)
        assert calls == [("launch", "ours")]
        a = seen.sharing.lend(storage, np.dtype("u4"), Layout.contiguous((N,)), other, "here")
        assert calls[1:] == [("flush", "ours"), ("marker", "theirs")]
    calls.clear()
    adding(seen, storage, result, 1, number=1)
    assert calls == [
        ("marker", "theirs"),
        ("flush", "theirs"),
        ("launch", "ours"),
        ("flush", "ours"),
        ("marker", "theirs"),
    ]
    calls.clear()
    del a
    adding(seen, storage, result, 1, number=1)
    assert calls[:2] == [("marker", "theirs"), ("flush", "theirs")]


def test_ordinary_memory_costs_nothing_more(runtime: Runtime, queue: cl.CommandQueue) -> None:
    x, y = ocl.asarray(HOST), ocl.asarray(HOST)
    a = x.to_pyopencl()
    guests = runtime.executor.engine.streams.guests
    assert guests is not None
    with ocl.stream(1):
        (y * 2).compute()
        assert guests.before(on(runtime.executor.engine, 1), [y._node.storage.touch(1)]) == []
        assert len(guests.before(on(runtime.executor.engine, 1), [x._node.storage.touch(1)])) == 1
        assert guests.before(on(runtime.executor.engine, 0), [x._node.storage.touch(1)]) == []
    assert a.shape == x.shape


def test_what_pyopencl_may_write_to_is_not_viewed_in_place(runtime: Runtime, queue: cl.CommandQueue) -> None:
    x = ocl.from_pyopencl(buffer_of(queue, HOST), dtype="f4")
    y = ocl.asarray(HOST)
    a = y.to_pyopencl()
    for one in (x, y):
        with pytest.raises(ValueError, match="cannot be had without a copy"):
            np.asarray(one, copy=False)
        assert np.from_dlpack(one).flags.writeable == COPIES_ARE_WRITABLE
    assert (x._node.storage.guests, y._node.storage.guests) == (1, 1)
    del a, x, one
    gc.collect()
    assert_settles(runtime)
    assert y._node.storage.guests == 0  # it may be written over again
    if runtime.device.capabilities.unified_memory:
        assert_same(np.asarray(y, copy=False), HOST)


def test_writing_leaves_shared_memory_as_it_is(runtime: Runtime, queue: cl.CommandQueue) -> None:
    """And so does computing over an operand that nobody else needs: PyOpenCL does."""
    buffer = buffer_of(queue, HOST)
    ours = (ocl.asarray(HOST) + 0).compute()
    a = ours.to_pyopencl()

    def borrowed() -> ocl.Array:
        return ocl.from_pyopencl(buffer, dtype="f4", shape=HOST.shape)

    @ocl.capture
    def doubled(x: ocl.Array) -> ocl.Array:
        x *= 2
        return x + 0

    def lent() -> ocl.Array:
        return ocl.from_pyopencl(a)

    del ours
    for make in (borrowed, lent):
        x = make()
        y = x * 2 + 1
        del x
        assert_same(y.compute().numpy(), HOST * 2 + 1)
        x = make()
        x += 5
        assert_same(x.compute().numpy(), HOST + 5)
        x = make()
        x[1:3] = 0
        assert_same(x.compute().numpy()[1:3], HOST[1:3] * 0)
        x = make()
        assert_same(doubled(x).numpy(), HOST * 2)
        assert_same(x.numpy(), HOST * 2)
        del x, y
        assert_same(values(queue, a), HOST)
        assert_same(borrowed().numpy(), HOST)
    ocl.compute_into(lent(), lent() + 1)
    assert_same(values(queue, a), HOST + 1)


# ---------------------------------------------------------------------- what cannot be


def test_memory_of_another_context(runtime: Runtime, device: Device) -> None:
    context = cl.Context([device.cl])
    elsewhere = cl.CommandQueue(context)
    for given in (array_of(elsewhere, HOST, HOST), buffer_of(elsewhere, HOST)):
        more = {} if isinstance(given, cla.Array) else {"dtype": "f4"}
        with pytest.raises(MixedDevicesError, match="another context") as caught:
            ocl.from_pyopencl(given, **more)
        assert "Runtime.over" in caught.value.remedy
        assert "test_interop.py:" in caught.value.place
    buffer = buffer_of(runtime.queue, HOST)
    x = ocl.asarray(HOST)
    for use in (
        lambda: ocl.from_pyopencl(buffer, dtype="f4", queue=elsewhere),
        lambda: x.to_pyopencl(elsewhere),
    ):
        with pytest.raises(MixedDevicesError, match="queue belongs to another context"):
            use()
    event = cl.enqueue_marker(elsewhere)
    with pytest.raises(MixedDevicesError, match="event of another context"):
        ocl.from_pyopencl(buffer, dtype="f4", wait_for=[event])


def test_out_of_order_queues(runtime: Runtime, queue: cl.CommandQueue) -> None:
    loose = out_of_order(queue)
    with pytest.raises(DeviceError, match="out-of-order"):
        ocl.from_pyopencl(buffer_of(queue, HOST), dtype="f4", queue=loose)
    with pytest.raises(DeviceError, match="out-of-order"):
        ocl.asarray(HOST).to_pyopencl(loose)
    with pytest.raises(DeviceError, match="out-of-order"):
        ocl.from_pyopencl(cla.Array(loose, (5,), np.float32, data=buffer_of(queue, HOST)))


@pytest.mark.parametrize(
    ("more", "error", "match"),
    [
        ({}, DTypeError, "no dtype"),
        ({"dtype": "c32"}, DTypeError, "complex256"),
        ({"dtype": "f4", "offset": 2}, ShapeError, "from byte 2 on"),
        ({"dtype": "f4", "offset": -4}, ShapeError, "from byte -4 on"),
        ({"dtype": "f4", "shape": (5, 9)}, ShapeError, "160 bytes"),
        ({"dtype": "f4", "shape": 40, "offset": 4}, ShapeError, "160 bytes"),
        ({"dtype": "f4", "shape": (-1,)}, ShapeError, "-1"),
        ({"dtype": "f4", "queue": "queue"}, DTypeError, "is no queue"),
        ({"dtype": "f4", "wait_for": ["event"]}, DTypeError, "wait_for has a str"),
    ],
)
def test_what_does_not_fit_a_buffer(
    runtime: Runtime, queue: cl.CommandQueue, more: dict[str, Any], error: type[Error], match: str
) -> None:
    with pytest.raises(error, match=match) as caught:
        ocl.from_pyopencl(buffer_of(queue, HOST), **more)
    assert caught.value.remedy


def test_what_does_not_fit_an_array(runtime: Runtime, queue: cl.CommandQueue) -> None:
    buffer = buffer_of(queue, HOST)
    for more in ({"dtype": "f4"}, {"shape": 3}, {"offset": 4}):
        with pytest.raises(DTypeError, match="of its own"):
            ocl.from_pyopencl(array_of(queue, HOST, HOST), **more)
    for offset, strides in ((0, (8 * 8,)), (160, (-4,)), (2, (4,)), (0, (-4,))):
        with pytest.raises(ShapeError):
            ocl.from_pyopencl(cla.Array(queue, (5,), np.float32, data=buffer, offset=offset, strides=strides))
    with pytest.raises(ShapeError, match="strides"):
        ocl.from_pyopencl(cla.Array(queue, (5,), np.float32, data=buffer, strides=(6,)))
    with pytest.raises(DTypeError, match="complex256"):
        ocl.from_pyopencl(cla.Array(queue, (1,), np.clongdouble, data=buffer))


def test_what_is_nothing_of_pyopencls(runtime: Runtime, queue: cl.CommandQueue) -> None:
    for given in (HOST, 5, queue, queue.context):
        with pytest.raises(DTypeError, match="from_pyopencl of a"):
            ocl.from_pyopencl(given, dtype="f4")


def test_flags_of_buffers_are_respected(runtime: Runtime, queue: cl.CommandQueue) -> None:
    fixed = cl.Buffer(queue.context, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR, hostbuf=HOST)
    x = ocl.from_pyopencl(fixed, dtype="f4")
    assert_same((x + 1).numpy(), HOST.reshape(-1) + 1)
    with pytest.raises(SharingError, match="READ_ONLY"):
        ocl.compute_into(x, x + 1)
    with pytest.raises(SharingError, match="WRITE_ONLY"):
        ocl.from_pyopencl(cl.Buffer(queue.context, cl.mem_flags.WRITE_ONLY, 64), dtype="f4")


def test_memory_of_the_host_must_be_aligned(runtime: Runtime, queue: cl.CommandQueue) -> None:
    raw = np.zeros(HOST.nbytes + 128, np.uint8)
    start = -raw.__array_interface__["data"][0] % 64
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
    for shift in (0, 4):
        host = raw[start + shift : start + shift + HOST.nbytes].view("f4")
        host[:] = HOST.reshape(-1)
        buffer = cl.Buffer(queue.context, flags, hostbuf=host)
        if shift and runtime.device.capabilities.unified_memory:
            with pytest.raises(SharingError, match="an address that 64 does not divide"):
                ocl.from_pyopencl(buffer, dtype="f4")
        else:
            assert_same((ocl.from_pyopencl(buffer, dtype="f4") * 2).numpy(), HOST.reshape(-1) * 2)


def test_memory_of_ours_by_another_object(runtime: Runtime, queue: cl.CommandQueue) -> None:
    a = ocl.asarray(HOST).to_pyopencl()
    stolen = cl.Buffer.from_int_ptr(a.base_data.int_ptr, True)
    padding, b = a, ocl.asarray(HOST).to_pyopencl()
    assert padding.base_data.int_ptr == b.base_data.int_ptr
    with pytest.raises(SharingError, match="memory of this runtime"):
        ocl.from_pyopencl(stolen, dtype="f4")
    for a in (padding, b):
        for offset, shape in ((a.offset + 4, HOST.shape), (a.offset + HOST.nbytes, (1,)), (a.offset - 4, (1,))):
            if offset >= 0:
                with pytest.raises(ShapeError):
                    ocl.from_pyopencl(cla.Array(queue, shape, "f4", data=a.base_data, offset=offset))


def test_captured_functions_exchange_nothing(runtime: Runtime, queue: cl.CommandQueue) -> None:
    buffer = buffer_of(queue, HOST)
    uses: list[Callable[[ocl.Array], Any]] = [
        lambda x: x.to_pyopencl(),
        lambda x: ocl.from_pyopencl(buffer, dtype="f4"),
    ]
    for use in uses:
        with pytest.raises(Error, match="exchanges memory with PyOpenCL"):
            ocl.capture(lambda x, use=use: (use(x), x + 1)[1])(ocl.asarray(HOST))


def test_captured_functions_take_and_write_what_is_shared(runtime: Runtime, guest: cl.CommandQueue) -> None:
    """A replay is ordered with the queue, like any command."""
    double = ocl.capture(lambda x: ocl.sin(x * 0) + x * 2)
    buffer = buffer_of(guest, np.zeros(N, "f4"))
    x = ocl.from_pyopencl(buffer, dtype="f4", queue=guest)
    assert (double(x).numpy() == 0).all()
    with ocl.stream(1), waiting(guest):
        cl.enqueue_fill_buffer(guest, buffer, np.float32(3), 0, N * 4)
        y = double(x)
        cl.enqueue_fill_buffer(guest, buffer, np.float32(4), 0, N * 4)
        z = double(x)
    assert (y.numpy() == 6).all()
    assert (z.numpy() == 8).all()


def test_what_was_spoilt_is_not_lent(runtime: Runtime, queue: cl.CommandQueue) -> None:
    x = ocl.asarray(HOST)
    runtime.finish()
    failing = cl.UserEvent(queue.context)
    stream = on(runtime.executor.engine, 1)
    runtime.executor.engine.streams.submit(
        stream, [x._node.storage.touch(WRITE)], "a failure", "here", lambda q, w, t: failing
    )
    failing.set_status(-5)
    with pytest.raises(LaunchError, match="a failure failed"):
        x.to_pyopencl()
    with pytest.raises(LaunchError, match="a failure failed"):
        runtime.finish()


def test_taking_turns_leaves_nothing_behind(runtime: Runtime, queue: cl.CommandQueue) -> None:
    """Lending and taking back again and again leaves nothing behind."""
    x = ocl.asarray(HOST)
    for _ in range(100):
        a = x.to_pyopencl()
        y = ocl.from_pyopencl(a)
        del a
    assert_same(y.numpy(), HOST)
    assert_settles(runtime)
