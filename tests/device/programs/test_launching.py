"""Kernels launched over arrays do to them what the same would do to NumPy's, captured or not."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ocl_runtime as ocl
from ocl_ir.graph.build import Buffer
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.types import F32, U32
from ocl_runtime.device import Device
from ocl_runtime.errors import DTypeError, Error, MixedDevicesError, ShapeError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.programs.launching import Call, PreparedLaunch, launch_over, prepare_over
from ocl_runtime.programs.trace import SharedArgumentsError
from ocl_runtime.runtime import Runtime
from tests.support.arrays import counting

N = 1000


@pytest.fixture(scope="module")
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, replace(engine.settings, streams=4))
    with ocl.use(runtime):
        yield runtime


def _axpy() -> Kernel:
    """y[i] += a * x[i] where i is even, for n elements with strides."""
    k = KernelBuilder("axpy")
    n, x_stride, y_stride = (k.scalar(name, U32) for name in ("n", "x_stride", "y_stride"))
    a = k.scalar("a", F32)
    x, y = k.pointer("x", F32), k.pointer("y", F32)
    i = k.global_id(0) * 2
    with k.if_(i < n):
        k.store(y, i * y_stride, k.load(y, i * y_stride) + a * k.load(x, i * x_stride))
    return k.build()


AXPY = _axpy()


def axpy(x: Any, y: Any, a: Any = 1.0) -> None:
    """y[::2] += a * x[::2]"""

    def call(buffers: Sequence[Buffer]) -> Call:
        layouts = [buffer.layout for buffer in buffers]
        strides = [layout.strides[0] for layout in layouts]
        return Call(AXPY, (y.shape[0], *strides, a, *buffers), (-(-y.shape[0] // 2),), None)

    launch_over((x, y), call)


def numpy_axpy(x: np.ndarray, y: np.ndarray, a: float = 1.0) -> None:
    """The same in NumPy."""
    y[::2] += np.float32(a) * x[::2]


def both(runtime: Runtime) -> tuple[Any, Any]:
    """Two computed arrays."""
    x = ocl.asarray(np.arange(N, dtype="f4"))
    y = ocl.asarray(np.full(N, 7, "f4"))
    return x, y


def expected(times: float = 1) -> np.ndarray:
    """What `axpy` leaves in the second one."""
    y = np.full(N, 7, "f4")
    y[::2] += np.float32(times) * np.arange(N, dtype="f4")[::2]
    return y


def test_a_kernel_writes_in_place_where_nobody_else_needs_the_memory(runtime: Runtime) -> None:
    x, y = both(runtime)
    axpy(x, y)
    with counting(runtime) as counted:
        for _ in range(3):
            axpy(x, y)
    assert counted["launch", "launches"] == 3
    assert counted["memory", "allocations"] == 0
    assert (y.numpy() == expected(4)).all()


def test_what_is_read_is_computed_first(runtime: Runtime) -> None:
    x, y = both(runtime)
    twice, sum_ = x * 2, y + 0
    axpy(twice, sum_)
    assert (sum_.numpy() == expected(2)).all()
    assert (y.numpy() == 7).all()


@pytest.mark.parametrize("kind", ["copy", "element", "expression", "row", "lazy copy", "host view"])
def test_what_was_there_before_stays_what_it_was(runtime: Runtime, kind: str) -> None:
    x, y = both(runtime)
    if kind == "lazy copy":
        y = y + 0
    before: Any = {
        "copy": y.copy,
        "element": lambda: y[2],
        "expression": lambda: y * 2,
        "row": lambda: y[2:5] + 0,
        "lazy copy": y.copy,
        "host view": lambda: np.from_dlpack(y),
    }[kind]()
    axpy(x, y)
    assert (np.asarray(before) == (14 if kind == "expression" else 7)).all()
    assert (y.numpy() == expected()).all()


def test_an_element_that_was_read_is_copied_and_not_the_array(runtime: Runtime) -> None:
    x, y = both(runtime)
    axpy(x, y)
    element = y[2]
    with counting(runtime) as counted:
        axpy(x, y)
    assert counted["memory", "in_use"] < 4 * N
    assert float(element) == 9
    assert (y.numpy() == expected(2)).all()


def test_an_element_may_be_an_argument_beside_its_array(runtime: Runtime) -> None:
    _, y = both(runtime)
    axpy(ocl.reshape(y[2], (1,)), y[:1])
    assert float(y[0]) == 14
    element = y[2]
    axpy(ocl.broadcast_to(element, (N,)), y)
    assert float(element) == 7
    assert float(y[4]) == 14


def test_views_of_the_same_array_see_what_is_written(runtime: Runtime) -> None:
    x, y = both(runtime)
    tail, sparse = y[1:], y[::2]
    axpy(x[: N // 2], sparse)
    host = np.full(N, 7, "f4")
    numpy_axpy(np.arange(N, dtype="f4")[: N // 2], host[::2])
    assert (y.numpy() == host).all()
    assert (tail.numpy() == host[1:]).all()


def test_a_view_of_an_expression_is_written_through(runtime: Runtime) -> None:
    x, y = both(runtime)
    z = y + 0
    view = z[10:]
    axpy(x[10:], view)
    host = np.full(N, 7, "f4")
    numpy_axpy(np.arange(N, dtype="f4")[10:], host[10:])
    assert (z.numpy() == host).all()


def test_copies_of_each_other_are_apart_when_one_is_written(runtime: Runtime) -> None:
    _, y = both(runtime)
    other = y.copy()
    axpy(other, y)
    assert (other.numpy() == 7).all()
    assert (y.numpy()[::2] == 14).all()


def test_the_same_array_may_be_passedtwice_and_a_part_of_it_not(runtime: Runtime) -> None:
    x, y = both(runtime)
    axpy(y, y)
    assert (y.numpy()[::2] == 14).all()
    with pytest.raises(ShapeError) as error:
        axpy(x[1:], x[:-1])
    assert "y shares memory with x (elements 0 to 998) and is written" not in str(error.value)
    assert "y shares memory with x (elements 0 to 997) and is written" in str(error.value)
    assert "pass x.copy(), or a y of its own" in str(error.value)
    axpy(x[: N // 2], x[N // 2 :])
    axpy(x[::2], x[1::2])


def test_what_cannot_be_written_is_refused(runtime: Runtime) -> None:
    x, y = both(runtime)
    with pytest.raises(ShapeError, match="a kernel writes into"):
        axpy(x, ocl.broadcast_to(y[:1], (N,)))
    with pytest.raises(DTypeError, match="that is a value"):
        launch_over((y[3],), lambda buffers: Call(AXPY, (1, 1, 1, 1.0, *buffers, *buffers), (1,), None))


def test_arrays_of_two_runtimes_are_refused(runtime: Runtime, device: Device, engine: Engine) -> None:
    x, _ = both(runtime)
    with ocl.use(Runtime(device, engine.settings)):
        other = ocl.asarray(np.ones(N, "f4"))
        with pytest.raises(MixedDevicesError):
            axpy(x, other)


def test_nothing_is_launched_over_nothing(runtime: Runtime) -> None:
    x, y = both(runtime)
    with counting(runtime) as counted:
        axpy(x[:0], y[:0])
    assert counted["launch", "launches"] == 0


def test_an_array_without_elements_may_be_an_argument(runtime: Runtime) -> None:
    x, y = both(runtime)
    launch_over((x[:0], y), lambda buffers: Call(AXPY, (0, 1, 1, 1.0, *buffers), (1,), None))
    assert (y.numpy() == 7).all()


def test_memory_that_pyopencl_has_is_written_in_place(runtime: Runtime) -> None:
    x, y = both(runtime)
    lent = y.to_pyopencl()
    element = y[2]
    axpy(x, y)
    assert (lent.get() == expected()).all()
    assert float(element) == 7


def test_a_captured_launch_writes_an_array_from_outside(runtime: Runtime) -> None:
    x, y = both(runtime)

    @ocl.capture
    def step(z: Any) -> Any:
        axpy(z, y)
        return z + 1

    with pytest.raises(Error, match="not its own"):
        step(x)


def test_a_captured_argument_is_written_in_place(runtime: Runtime) -> None:
    step = ocl.capture(axpy)
    x, y = both(runtime)
    for _ in range(3):
        step(x, y)
    with counting(runtime) as counted:
        step(x, y)
    assert counted["memory", "allocations"] == 0
    assert counted["launch", "launches"] == 1
    assert (y.numpy() == expected(4)).all()
    before = y.copy()
    step(x, y)
    assert (before.numpy() == expected(4)).all()
    assert (y.numpy() == expected(5)).all()


def test_a_pointer_is_to_the_first_element_of_a_view_that_goes_backwards(runtime: Runtime) -> None:
    @ocl.kernel
    def add(x: Any, y: Any) -> None:
        i, j = ocl.language.global_id(0), ocl.language.global_id(1)
        y[i, j] = y[i, j] + x[i, j]

    def step(x: Any, y: Any) -> None:
        add[3, 4](x[::-1, ::-2], y[:, ::-1])

    x, expected = np.arange(24, dtype="f4").reshape(3, 8), np.zeros((3, 4), "f4")
    left, right = ocl.asarray(x), ocl.zeros((3, 4), dtype="float32")
    for call in [step] * 3 + [ocl.capture(step)] * 2:
        call(left, right)
        expected[:, ::-1] += x[::-1, ::-2]
        np.testing.assert_array_equal(right.numpy(), expected)


def test_copies_that_a_captured_launch_would_mix_up_are_set_apart(runtime: Runtime) -> None:
    step = ocl.capture(lambda x, y: axpy(x[1:], y[:-1]))
    for _ in range(3):
        y = ocl.asarray(np.arange(N, dtype="f4"))
        x = y.copy()
        step(x, y)
        host = np.arange(N, dtype="f4")
        numpy_axpy(np.arange(1, N, dtype="f4"), host[:-1])
        assert (y.numpy() == host).all()
        assert (x.numpy() == np.arange(N)).all()
    with pytest.raises(ShapeError, match="shares memory with x"):
        step(y, y)


def test_a_captured_launch_serves_other_sizes_and_numbers(runtime: Runtime) -> None:
    calls = []

    @ocl.capture
    def step(x: Any, y: Any, a: float) -> Any:
        calls.append(1)
        axpy(x, y, a)
        return y * 2

    for n, a in ((10, 2.0), (20, 3.0), (30, 4.0), (30, 5.0)):
        x, y = np.arange(n, dtype="f4"), np.ones(n, "f4")
        device_y = ocl.asarray(y)
        twice = step(ocl.asarray(x), device_y, a)
        numpy_axpy(x, y, a)
        assert (device_y.numpy() == y).all()
        assert (twice.numpy() == y * 2).all()
    assert len(calls) <= 3


# ---------------------------------------------------------------------- prepared


def prepared_axpy(x: Any, y: Any) -> PreparedLaunch:
    """`axpy` to be called again and again."""
    return prepare_over((x, y), lambda buffers: Call(AXPY, (N, 1, 1, 1.0, *buffers), (N,), None))


def test_a_prepared_launch_is_made_in_place(runtime: Runtime) -> None:
    x, y = both(runtime)
    add = prepared_axpy(x, y)
    assert (y.numpy() == 7).all()
    add()
    with counting(runtime) as counted:
        for _ in range(9):
            add()
    assert counted["launch", "launches"] == 9
    assert counted["memory", "allocations"] == 0
    assert (y.numpy() == expected(10)).all()


@pytest.mark.parametrize("kind", ["copy", "element", "expression", "write", "lent"])
def test_a_prepared_launch_leaves_what_was_there_before(runtime: Runtime, kind: str) -> None:
    x, y = both(runtime)
    add = prepared_axpy(x, y)
    for _ in range(8):
        add()
    if kind == "write":
        y[...] = 1
        x[...] = 2
        add()
        add()
        assert (y.numpy()[::2] == 5).all()
        return
    before: Any = {
        "copy": y.copy,
        "element": lambda: y[2],
        "expression": lambda: y[2:3] * 1,
        "lent": y.to_pyopencl,
    }[kind]()
    add()
    add()
    if kind == "lent":
        assert (before.get() == expected(10)).all()
    else:
        assert np.asarray(before).ravel()[2 if kind == "copy" else 0] == 23
    assert (y.numpy() == expected(10)).all()


def test_a_prepared_launch_in_a_captured_function(runtime: Runtime) -> None:
    x, _ = both(runtime)

    @ocl.capture
    def step(x: Any) -> Any:
        y = x + 1
        add = prepared_axpy(x, y)
        add()
        add()
        return y

    assert (step(x).numpy()[::2] == (3 * x.numpy() + 1)[::2]).all()


# ---------------------------------------------------------------------- the same sequence three ways

Step = tuple[str, int, int]
OPS = ("axpy", "views", "write", "lazy", "copy", "element", "into", "sum", "self")


def run(steps: Sequence[Step], arrays: list[Any], axpy_: Callable[..., None], np_: Any) -> list[Any]:
    """What some steps make of arrays: launches, writes and expressions, in order."""
    arrays = list(arrays)
    made: list[Any] = []
    for op, first, second in steps:
        x, y = arrays[first % len(arrays)], arrays[second % len(arrays)]
        if op == "axpy" and x is not y:
            axpy_(x, y, 0.5)
        elif op == "self":
            axpy_(y, y, 0.5)
        elif op == "views" and x is not y:
            axpy_(x[1:], y[:-1], 2.0)
        elif op == "write":
            y[1:3] = x[0:2] + 1
        elif op == "lazy":
            made.append(x * 2 + y)
        elif op == "copy":
            arrays.append(x.copy())
        elif op == "element":
            made.append(y[2] + 1)
        elif op == "sum":
            arrays.append(x + y)
        elif op == "into":
            if np_ is np:
                y[...] = y + 3
            else:
                y.compute()
                if isinstance(y._node, Buffer):
                    ocl.compute_into(y, y + 3)
                else:
                    y[...] = y + 3
    return [*arrays, *made]


def arguments(kind: str, asarray: Callable[[np.ndarray], Any]) -> list[Any]:
    """Three arrays of eight elements that share no memory, or lie in one another's until somebody writes, or are parts
    of one."""
    first = asarray(np.arange(8, dtype="f4"))
    if kind == "copies":
        return [first, first.copy(), asarray(np.full(8, 3, "f4"))]
    if kind == "parts":
        whole = asarray(np.arange(24, dtype="f4"))
        return [whole[:8], whole[8:16], whole[16:]]
    return [first, asarray(np.ones(8, "f4")), asarray(np.full(8, 3, "f4"))]


@given(
    steps=st.lists(st.tuples(st.sampled_from(OPS), st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=8),
    kind=st.sampled_from(["apart", "copies", "parts"]),
)
def test_launches_writes_and_expressions_give_what_numpy_gives(runtime: Runtime, steps: list[Step], kind: str) -> None:
    expected = run(steps, arguments(kind, np.copy), numpy_axpy, np)
    eager = run(steps, arguments(kind, ocl.asarray), axpy, ocl)
    passed = arguments(kind, ocl.asarray)

    @ocl.capture
    def captured(*arrays: Any) -> Any:
        return run(steps, list(arrays), axpy, ocl)

    replayed: list[Any] = []
    try:
        replayed = [*passed, *captured(*passed)[len(passed) :]]
    except SharedArgumentsError:
        assert kind == "parts"
    for number, (host, one) in enumerate(zip(expected, eager, strict=True)):
        np.testing.assert_array_equal(one.numpy(), host, f"{number} of {steps}")
        if replayed:
            np.testing.assert_array_equal(replayed[number].numpy(), host, f"{number} of {steps}, captured")


def test_threads_that_write_one_array_come_one_after_another(runtime: Runtime) -> None:
    x, y = ocl.ones(N), ocl.zeros(N)
    adds = [prepare_over((x, y), lambda buffers: Call(AXPY, (N, 1, 1, 1.0, *buffers), (N,), None)) for _ in range(2)]
    copies: list[Any] = []

    def work(number: int) -> None:
        with ocl.use(runtime):
            for turn in range(50):
                if number % 2:
                    adds[number // 2]()
                else:
                    axpy(x, y)
                if turn % 10 == 0:
                    copies.append(y.copy())

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (y.numpy()[::2] == 200).all()
    assert all((copy.numpy()[::2] == copy.numpy()[0]).all() for copy in copies)


def test_a_refused_launch_leaves_arrays_as_they_are(runtime: Runtime) -> None:
    x, y = both(runtime)
    before = y.copy()
    with pytest.raises(ShapeError):
        launch_over((x, y), lambda buffers: Call(AXPY, (N, 1, 1, 1.0, *buffers), (N,), (1 << 20,)))
    assert (y.numpy() == 7).all()
    assert (before.numpy() == 7).all()
    axpy(x, y)
    assert (y.numpy() == expected()).all()
