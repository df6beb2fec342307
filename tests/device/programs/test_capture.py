"""Capture: what a Python function does with arrays and kernels becomes a program that is replayed."""

from __future__ import annotations

import functools
import gc
import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.host.printer import text
from ocl_ir.host.schedule import Schedule
from ocl_ir.kernel.accesses import WRITE
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.types import F32, U32
from ocl_runtime.arrays.meaning.precision import chosen_precision
from ocl_runtime.device import Device
from ocl_runtime.errors import DTypeError, Error, LaunchError, SharingError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.replay.bound import Bound
from ocl_runtime.language import cdiv, global_id
from ocl_runtime.plan import planner
from ocl_runtime.programs import capture, known_programs, trace
from ocl_runtime.runtime import Runtime
from tests.support.arrays import assert_same, counting
from tests.support.lives import parts_of
from tests.support.programs import REVERSED, SCALE

HOST = np.random.default_rng(0).random((60, 50), dtype="f4")


@pytest.fixture
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, replace(engine.settings, streams=4))
    with ocl.use(runtime):
        yield runtime


def test_the_precision_of_a_call_is_part_of_what_is_captured(runtime: Runtime) -> None:
    """Each has a program of its own, whichever is first; the function itself may choose, too."""
    calls: list[str] = []

    @capture
    def step(x: Any) -> Any:
        calls.append(chosen_precision())
        with ocl.precision("tf32"):
            inner = x @ x
        return inner, x @ x

    x = ocl.asarray(HOST[:50])
    for _ in range(3):
        with ocl.precision("tf32"):
            rounded = step(x)
        exact = step(x)
    assert calls == ["tf32", "float32"]
    wanted = HOST[:50].astype("f8") @ HOST[:50].astype("f8")
    for result in (*rounded, *exact):
        np.testing.assert_allclose(result.numpy(), wanted, rtol=2.0**-10)
    np.testing.assert_allclose(exact[1].numpy(), wanted, rtol=1e-5)


def test_a_captured_function_gives_what_it_gave(runtime: Runtime) -> None:
    calls = []

    def step(x: Any, y: Any) -> Any:
        calls.append(1)
        return ocl.sqrt(x) + y[:, ::-1], ocl.sum(x * y, axis=0), x.T

    replayed = capture(step)
    for number in range(3):
        x, y = ocl.asarray(HOST + number), ocl.asarray(HOST * 2)
        expected = step(x, y)
        for one, other in zip(replayed(x, y), expected, strict=True):
            assert_same(one.numpy(), other.numpy())
    assert len(calls) == 4  # three by hand, one captured


def test_equal_results_have_memory_of_their_own(runtime: Runtime) -> None:
    """Each may be written over by who gets its memory; the same array twice is one."""

    @ocl.capture
    def both(x: Any) -> Any:
        first, second = x + x, x + x
        return first, second, first

    host = np.arange(64, dtype="f4")
    first, second, same = both(ocl.asarray(host))
    ocl.compute_into(first, ocl.full(64, 99, dtype="f4"))
    assert_same(second.numpy(), host * 2)
    assert_same(same.numpy(), first.numpy())


def test_a_replay_builds_nothing_and_plans_nothing(runtime: Runtime) -> None:
    replayed = capture(lambda x: ocl.sin(x) * x + 1)
    x = ocl.asarray(HOST)
    replayed(x)
    with counting(runtime) as counted:
        for _ in range(10):
            replayed(x)
    assert counted["launch", "compiled"] == 0
    assert counted["kernel", "hits"] == 0
    assert counted["kernel", "misses"] == 0
    assert counted["memory", "allocations"] == 10  # the results


def test_a_function_is_compiled_without_data(runtime: Runtime) -> None:
    """Nothing is computed and no memory taken; then calls with these shapes run no Python and build nothing."""
    captured = []

    @capture
    def step(x: Any, y: Any, *, dt: float) -> Any:
        captured.append(x.shape)
        total = ocl.sum(x + y * dt, axis=0)
        return total, (x.T @ y) * total

    host = np.random.default_rng(0).random((70, 33)).astype("f4")
    with counting(runtime) as counted:
        step.compile(ocl.empty((70, 33), dtype="f4"), ocl.empty((70, 33), dtype="f4"), dt=0.5)
    assert counted["launch", "launches"] == counted["memory", "allocations"] == 0
    x, y = ocl.asarray(host), ocl.asarray(host + 1)
    for dt in (0.5, 0.25):
        with counting(runtime) as counted:
            total, product = step(x, y, dt=dt)
        assert counted["launch", "launches"] > 0
        assert counted["launch", "compiled"] == counted["kernel", "misses"] == 0
        wanted = (host + (host + 1) * np.float32(dt)).sum(0)
        np.testing.assert_allclose(total.numpy(), wanted, rtol=1e-5)
        np.testing.assert_allclose(product.numpy(), host.T @ (host + 1) * wanted, rtol=1e-5)
    assert captured == [(70, 33)]


def test_what_is_compiled_is_decided_as_in_a_call(runtime: Runtime) -> None:
    """Floats whose values the function asks for are a part of the program; errors are those of a call; what is
    computed already, and views, are taken as they lie."""

    @capture
    def scaled(x: Any, by: float) -> Any:
        return x * math.sin(by)

    table = ocl.asarray(np.arange(12, dtype="f4").reshape(3, 4))
    scaled.compile(table[:, :3], 0.5)
    with counting(runtime) as counted:
        assert_same(scaled(table[:, :3], 0.5).numpy(), table.numpy()[:, :3] * np.float32(math.sin(0.5)))
    assert counted["launch", "compiled"] == 0
    with pytest.raises(DTypeError, match="no array"):
        scaled.compile(3, 0.5)
    with pytest.raises(Error, match="value"):
        capture(lambda x: float(x[0])).compile(table[0])


def test_what_fails_to_compile_says_nothing_of_floats(runtime: Runtime) -> None:
    """Nor does a call that fails: later ones with other floats share a program."""
    captured: list[float] = []

    @capture
    def scaled(x: Any, by: float) -> Any:
        captured.append(float("nan"))
        if len(captured) <= 4:  # the second attempts, with the floats as they are, fail as well
            raise ValueError("not yet")
        return x * by

    for attempt in (scaled.compile, scaled):
        with pytest.raises(ValueError, match="not yet"):
            attempt(ocl.empty(5), 0.5)
    del captured[4:]
    x = ocl.asarray(HOST)
    for by in (0.5, 0.25, 2.0):
        assert_same(scaled(x, by).numpy(), HOST * np.float32(by))
    assert len(captured) == 5
    assert scaled.compile.__doc__


def test_programs_are_told_apart_by_what_they_depend_on(runtime: Runtime) -> None:
    captured = []

    def step(x: Any, power: int = 1) -> Any:
        captured.append((x.dtype, x.shape, power))
        return x**power

    replayed = capture(step)
    x = ocl.asarray(HOST)
    for given, power in [(x, 1), (x, 2), (x[:, :7], 2), (x.T, 2), (ocl.astype(x, "i4"), 2), (x + 1, 2), (x, 2)]:
        assert_same(replayed(given, power).numpy(), (given**power).numpy())
    assert len(captured) == 5  # x + 1 is like x, once it is computed


def test_streams_are_kept(runtime: Runtime) -> None:
    @capture
    def halves(x: Any, out: Any) -> Any:
        for number in range(2):
            with ocl.stream(number):
                rows = slice(30 * number, 30 * number + 30)
                ocl.compute_into(out[rows], ocl.exp(x[rows]))
        return out

    out = ocl.allocate(HOST.shape)
    with counting(runtime) as counted:
        found = halves(ocl.asarray(HOST), out)
    assert counted["memory", "allocations"] == 1  # x: nothing else is needed
    assert found._node.storage is out._node.storage
    np.testing.assert_allclose(out.numpy(), np.exp(HOST), rtol=1e-6)


def test_other_arrays_are_constants(runtime: Runtime) -> None:
    weights = ocl.asarray(HOST[0])
    replayed = capture(lambda x: x * weights + ocl.asarray(np.float32(3)))
    assert_same(replayed(ocl.asarray(HOST)).numpy(), HOST * HOST[0] + np.float32(3))
    storage = weights._node.storage
    weights = ocl.asarray(HOST[1])
    del storage
    assert_same(replayed(ocl.asarray(HOST)).numpy(), HOST * HOST[0] + np.float32(3))


def test_values_are_computed_once_and_kernels_by_hand_are_captured(runtime: Runtime) -> None:
    @capture
    def step(x: Any) -> Any:
        y = (x + 1).compute()
        z = ocl.allocate(y.shape)
        n = y.size
        runtime.launch(SCALE, [n, (y._node.storage, 0), (z._node.storage, 0)], (n,))
        return z * y

    for _ in range(2):
        y = HOST + np.float32(1)
        assert_same(step(ocl.asarray(HOST)).numpy(), (y * np.float32(0.5) + np.float32(1)) * y)


def test_nothing_is_returned_too(runtime: Runtime) -> None:
    @capture
    def double(x: Any) -> None:
        ocl.compute_into(x, x * 2)

    x = ocl.asarray(HOST)
    for _ in range(3):
        assert double(x) is None
    assert_same(x.numpy(), HOST * 8)


@pytest.mark.parametrize("turn", ["value", "before"])
def test_regression_what_was_there_before_compute_into_stays_what_it_was(runtime: Runtime, turn: str) -> None:
    """The value itself, what it is made of, elements, views' copies and expressions; also in other memory."""

    @capture
    def step(x: Any) -> Any:
        element, copied, backwards = x[3, 4], x.copy(), x[::-1].copy()
        before, value = x * 2, x + 3
        other = ocl.asarray(HOST + 5).compute()
        later = other - 1
        ocl.compute_into(other, x if turn == "before" else value * 4)
        ocl.compute_into(x, before if turn == "before" else value)
        return element, copied, backwards, before, value, other, later, x + 0

    for _ in range(2):
        x = ocl.asarray(HOST)
        found = step(x)
        before, value = HOST * 2, HOST + 3
        written = before if turn == "before" else value
        other = HOST if turn == "before" else value * 4
        expected = [HOST[3, 4], HOST, HOST[::-1], before, value, other, HOST + 4, written]
        for result, values in zip(found, expected, strict=True):
            assert_same(result.numpy(), np.asarray(values))
        assert_same(x.numpy(), written)
        for result in found:  # each has memory of its own
            if result.ndim:
                ocl.compute_into(result, result * 0)
        assert_same(x.numpy(), written)


def test_compute_into_needs_no_other_memory_where_nobody_else_needs_what_it_writes_over(runtime: Runtime) -> None:
    @capture
    def steps(x: Any, y: Any) -> Any:
        ocl.compute_into(x, x * 2 + y)
        ocl.compute_into(y, x - y)
        value = x + y
        ocl.compute_into(x, value)
        return value * 2

    x, y = ocl.asarray(HOST), ocl.asarray(HOST + 1)
    with counting(runtime) as counted:
        result = steps(x, y)
    assert counted["memory", "allocations"] == 1  # the result
    first = HOST * 2 + (HOST + 1)
    second = first - (HOST + 1)
    assert_same(x.numpy(), first + second)
    assert_same(y.numpy(), second)
    assert_same(result.numpy(), (first + second) * 2)


def test_arrays_from_outside_are_not_computed_into(runtime: Runtime) -> None:
    """As they are not written: the function would do it once, and copies of theirs might share the memory."""
    outside = ocl.asarray(HOST).compute()
    copied = outside.copy()

    @capture
    def step(x: Any) -> Any:
        ocl.compute_into(outside, x * 2)
        return x + outside

    with pytest.raises(Error, match="writes into an array that is not its own"):
        step(ocl.asarray(HOST))
    assert_same(copied.numpy(), HOST)


def test_captured_functions_call_captured_functions(runtime: Runtime) -> None:
    inner = capture(lambda x: x * x)
    outer = capture(lambda x: inner(x) + inner(x + 1))
    for _ in range(2):
        assert_same(outer(ocl.asarray(HOST)).numpy(), HOST * HOST + (HOST + 1) * (HOST + 1))


def test_arrays_without_elements(runtime: Runtime) -> None:
    replayed = capture(lambda x, y: (x + 1, ocl.sum(y)))
    x, y = ocl.asarray(HOST[:0]), ocl.asarray(HOST)
    for _ in range(2):
        empty, total = replayed(x, y)
        assert empty.numpy().shape == (0, 50)
        assert float(total) == float(ocl.sum(y))


@pytest.mark.parametrize(
    "ask",
    [lambda x: float(ocl.sum(x)), lambda x: bool(x[0, 0] > 0), lambda x: x.numpy(), lambda x: ocl.download(x).result()],
)
def test_asking_for_a_value_names_the_line(runtime: Runtime, ask: Any) -> None:
    replayed = capture(lambda x: x if ask(x) is None else x * 2)
    with pytest.raises(Error, match="a captured function asks for a value") as caught:
        replayed(ocl.asarray(HOST))
    assert "test_capture.py:" in caught.value.place
    assert "where(condition, a, b)" in caught.value.remedy
    assert_same((ocl.asarray(HOST) + 1).numpy(), HOST + 1)  # nothing is captured any more


def test_bins_of_the_host_are_captured(runtime: Runtime) -> None:
    for bins in ([-1, 0, 2], [2, 0, -1]):
        replayed = capture(lambda x, bins=bins: np.digitize(x, bins))
        assert_same(replayed(ocl.asarray(HOST)).numpy(), np.digitize(HOST, bins))


@pytest.mark.parametrize(
    ("ask", "fact", "remedy"),
    [
        (lambda x: x[x > 0], "the number of elements that a mask picks", "where(mask, x, 0)"),
        (lambda x: x[1, x[1] > 0], "the number of elements that a mask picks", "where(mask, x, 0)"),
        (lambda x: np.compress(x[0] > 0, x[0]), "the number of elements that are not 0", "where(mask, x, 0)"),
        (lambda x: ocl.nonzero(x)[0], "the number of elements that are not 0", "where(mask, x, 0)"),
        (lambda x: ocl.bincount(ocl.astype(x[0], "i4")), "the number of bins", "length=…"),
        (lambda x: ocl.bincount(ocl.astype(x[0], "i4"), x[0]), "the number of bins", "length=…"),
        (lambda x: ocl.histogram(x)[0], "the least and the greatest element", "range="),
        (lambda x: np.digitize(x, x[0]), "whether bins rise or fall", "bins of the host"),
    ],
    ids=["mask", "mask-and-index", "compress", "nonzero", "bincount", "weights", "histogram", "digitize"],
)
def test_what_waits_by_itself_is_refused_with_what_it_waits_for(
    runtime: Runtime, ask: Any, fact: str, remedy: str
) -> None:
    with pytest.raises(Error, match=f"a captured function asks for {fact}") as caught:
        capture(ask)(ocl.asarray(HOST))
    assert "test_capture.py:" in caught.value.place
    assert remedy in caught.value.remedy


@pytest.mark.parametrize(
    "ask",
    [
        lambda x, i: x[i:],
        lambda x, i: ocl.histogram(x, i, range=(0, 1))[0],
        lambda x, i: ocl.bincount(ocl.astype(x[0], "i4"), length=i),
    ],
    ids=["slice", "histogram", "bincount"],
)
def test_a_value_that_is_an_argument_is_called_so(runtime: Runtime, ask: Any) -> None:
    """Also in functions that wait for something by themselves."""
    with pytest.raises(Error, match="a captured function asks for a value"):
        capture(ask)(ocl.asarray(HOST), ocl.asarray(np.int32(3)))


def test_what_cannot_be_captured(runtime: Runtime) -> None:
    x = ocl.asarray(HOST)
    with pytest.raises(DTypeError, match="is captured and returned a ndarray"):
        capture(lambda x: (x, HOST))(x)
    with pytest.raises(DTypeError, match="got no array"):
        capture(lambda x: x)(3)
    with pytest.raises(DTypeError, match="got a set, by whose value calls cannot be told apart"):
        capture(lambda x, y: x)(x, {1})
    with pytest.raises(ZeroDivisionError):  # the function's own errors are its own
        capture(lambda x: x * (1 // 0))(x)
    kept = []
    capture(lambda x: kept.append(x + 1))(x)
    with pytest.raises(Error, match="no values"):
        kept[0].numpy()


def test_regression_an_array_that_was_kept_and_that_nobody_else_holds(runtime: Runtime) -> None:
    """Its memory, which is only planned, then looks as if it could be written over."""
    kept = []
    capture(lambda x: kept.append(x + 1))(ocl.asarray(HOST))
    gc.collect()
    with pytest.raises(Error, match="no values"):
        kept[0].numpy()
    with pytest.raises(Error, match="no values"):
        kept.pop().numpy()


# ---------------------------------------------------------------------- sizes

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "elementwise": lambda x, y: ocl.sqrt(x) * 2 + y,
    "rows and columns": lambda x, y: (ocl.sum(x * y, axis=0), ocl.max(x, axis=1), ocl.mean(x)),
    "normalised": lambda x, y: (x - ocl.mean(x, axis=-1, keepdims=True)) / (1 + ocl.std(y, axis=-1, keepdims=True)),
    "stencil": lambda x, y: x[1:-1, 1:-1] * 4 - x[:-2, 1:-1] - x[2:, 1:-1] - y[1:-1, :-2] - y[1:-1, 2:],
    "turned": lambda x, y: x.T[::-2] + y.T[::-2],
    "reshaped": lambda x, y: ocl.reshape(x.T, (-1,))[3:] - ocl.reshape(y, (x.size,))[3:],
    "sizes as numbers": lambda x, y: x * x.shape[0] + ocl.arange(y.shape[1]) / y.size,
    "made of sizes": lambda x, y: ocl.zeros((x.shape[0], 2)) + ocl.ones(y.shape)[:, :2] + x[:, -1:],
}


@ocl.kernel(local=8)
def doubled(x: Any, y: Any) -> Any:
    i = global_id(0)
    if i < x.shape[0]:
        y[i] = 2 * x[i]


def test_cdiv_takes_sizes(runtime: Runtime) -> None:
    @capture
    def replayed(x: Any) -> Any:
        y = ocl.empty(x.shape)
        doubled.groups[cdiv(x.shape[0], 8)](x, y)
        return y

    for size in (10, 17, 300):
        np.testing.assert_array_equal(replayed(ocl.arange(size, dtype=ocl.float32)).numpy(), 2 * np.arange(size))


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_program_serves_many_shapes(runtime: Runtime, name: str) -> None:
    function, calls = FUNCTIONS[name], 0

    @capture
    def replayed(x: Any, y: Any) -> Any:
        nonlocal calls
        calls += 1
        return function(x, y)

    rng, kernels = np.random.default_rng(1), 0
    for turn in range(50):
        shape = tuple(rng.integers(260, 700, 2) // 16 * 16)  # rows that begin where wide loads can
        x, y = (ocl.asarray(rng.random(shape, dtype="f4")) for _ in range(2))
        expected = function(x, y)
        ocl.compute(*(expected if isinstance(expected, tuple) else [expected]))
        with counting(runtime) as counted:
            found = replayed(x, y)
        kernels += turn > 25 and counted["kernel", "misses"]
        for one, other in zip(*((one if isinstance(one, tuple) else [one]) for one in (found, expected)), strict=True):
            assert_same(one.numpy(), other.numpy())
    assert kernels == 0
    # Sums over columns take 1, 2, 4 or 8 vectors at a time, as rows allow, and in parts or not.
    assert calls <= (20 if name == "rows and columns" else 6)


def test_a_program_is_shown_with_its_sizes(runtime: Runtime) -> None:
    shown: list[str] = []

    class Recorder:
        def fused(self, fusion: Any) -> None: ...

        def planned(self, expression: str) -> None: ...

        def compiled(self, compilation: Any, program: Any) -> None: ...

        def prepared(self, schedule: Schedule, stages: Any) -> None:
            shown.append(text(schedule.program))

    @capture
    def step(x: Any, y: Any) -> Any:
        return x * y

    with ocl.use(Runtime(runtime.device, runtime.settings, Recorder())):
        for rows in (500, 1000):
            x = ocl.asarray(np.ones((rows, 96), "f4"))
            step(x, ocl.asarray(np.ones((rows, 200), "f4"))[:, 96:192])
    assert len(shown) == 2
    assert shown[0] == shown[1]
    assert shown[0].startswith("program step(n0_0, n0_1, s1_0; x0: ")
    assert "f32[n0_0, n0_1] strides (s1_0, 1)" in shown[0]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * 2 if x.shape[0] > 20 else x * 3,
        lambda x: x * (1.0 / x.shape[0]),
        lambda x: x * {5: 2, 24: 7}.get(x.shape[0], 3),
        lambda x: x * (1 if x.shape[0] in {4, 24, 30} else 2),
        lambda x: sum((x[row] * row for row in range(x.shape[0])), ocl.zeros(x.shape[1])),
        lambda x: x * len(f"{x.shape[0]}"),
        lambda x: x * float(np.arange(x.shape[0]).sum()),
        lambda x: ocl.linspace(0, 1, num=x.shape[1]) * x,
        lambda x: x if x.shape[0] == x.shape[1] else x.T,
        lambda x: ocl.unstack(x)[-1],
        lambda x: ocl.expand_dims(x, axis=1)[:, 0, x.shape[1] // 2],
    ],
)
def test_what_a_function_decides_by_a_size_is_decided_anew(runtime: Runtime, function: Any) -> None:
    replayed = capture(function)
    for shape in [(24, 7), (5, 7), (24, 9), (30, 7), (5, 5), (31, 1), (1, 7), (4, 4), (24, 7), (100, 33), (31, 31)]:
        x = ocl.asarray(np.random.default_rng(2).random(shape, dtype="f4"))
        assert_same(replayed(x).numpy(), function(x).numpy())


def test_a_launch_by_hand_over_sizes(runtime: Runtime) -> None:
    calls = []

    @capture
    def scaled(x: Any) -> Any:
        calls.append(1)
        y = ocl.allocate(x.shape)
        runtime.launch(SCALE, [x.size, (x._node.storage, 0), (y._node.storage, 0)], (x.size,))
        return y

    for count in (100, 1000, 77):
        x = np.arange(count, dtype="f4")
        assert_same(scaled(ocl.asarray(x)).numpy(), x * np.float32(0.5) + np.float32(1))
    assert len(calls) == 1


def test_a_new_shape_is_planned_but_runs_no_python_of_the_function(runtime: Runtime) -> None:
    """Views with gaps and offsets too: lengths and strides are bound by each call."""
    calls = []

    @capture
    def add(x: Any, y: Any) -> Any:
        calls.append(1)
        return x + y

    whole = ocl.asarray(HOST)
    whole.compute()
    for rows, columns, step in [(40, 32, 1), (50, 48, 1), (44, 16, 1)]:
        x = whole[2 : 2 + rows : step, :columns]
        y = whole[60 - rows :, 50 - columns :][::-1]
        assert_same(add(x, y).numpy(), HOST[2 : 2 + rows, :columns] + HOST[60 - rows :, 50 - columns :][::-1])
    assert len(calls) <= 3


def test_regression_a_size_that_is_kept_is_an_integer_afterwards(runtime: Runtime) -> None:
    """Another function would take it for a size of its own with the same name."""
    seen: dict[str, Any] = {}

    @capture
    def keeps(x: Any) -> Any:
        seen["n"] = x.shape[0]
        return x + 1

    keeps(ocl.asarray(np.ones(10, "f4")))
    multiplied = capture(lambda x: x * seen["n"])
    for count in (20, 30):
        assert_same(multiplied(ocl.asarray(np.ones(count, "f4"))).numpy(), np.full(count, 10, "f4"))
    assert ocl.zeros((seen["n"], 2)).numpy().shape == (10, 2)


def test_regression_filled_with_a_size(runtime: Runtime) -> None:
    filled = capture(lambda x: ocl.full(x.shape, x.shape[0]) + ocl.full_like(x, x.shape[1]))
    for shape in ((20, 30), (40, 50), (60, 30)):
        found = filled(ocl.asarray(np.ones(shape, "f4"))).numpy()
        assert_same(found, (np.full(shape, shape[0]) + np.full(shape, shape[1], "f4")).astype(found.dtype))


def test_regression_programs_and_their_constants_are_bounded(runtime: Runtime) -> None:
    constants: dict[int, Any] = {}

    @capture
    def step(x: Any, number: int) -> Any:
        return x + constants[number]

    x = ocl.asarray(HOST)
    for number in range(200):
        constants[number] = ocl.asarray(HOST + number)
        step(x, number)
        del constants[number]
    runtime.finish()
    gc.collect()
    assert runtime.statistics()["memory"]["live"] <= 64 + 1  # the constants of what is kept, and x


def test_regression_nobody_sees_what_a_function_computes_while_it_is_captured(runtime: Runtime) -> None:
    lazy = ocl.asarray(HOST) + 1
    row = lazy[3]
    seen: list[Any] = []

    def look() -> None:
        with ocl.use(runtime):
            seen.append(((lazy * 2).numpy(), (row * 2).numpy()))

    @capture
    def uses(x: Any) -> Any:
        ocl.compute(lazy, row)
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        return x * lazy + row

    expected = HOST * (HOST + 1) + (HOST + 1)[3]
    for _ in range(2):
        assert_same(uses(ocl.asarray(HOST)).numpy(), expected)
    ((whole, part),) = seen
    assert_same(whole, (HOST + 1) * 2)
    assert_same(part, (HOST + 1)[3] * 2)


# ---------------------------------------------------------------------- writing


def test_a_function_writes_into_its_arguments(runtime: Runtime) -> None:
    calls = []

    def relax(x: Any, edge: Any) -> Any:
        calls.append(1)
        x[1:-1] = (x[:-2] + x[2:]) * 0.5
        x[:, 0] = edge
        x[x > 0.9] = 0
        return ocl.max(x)

    replayed, n = capture(relax), HOST.copy()
    x, edge = ocl.asarray(HOST), ocl.asarray(HOST[:, 3].copy())
    view = x[5:]
    for turn in range(4):
        before = x + 1  # what was there, whenever it is computed
        expected = n.copy()
        with counting(runtime) as counted:
            found = replayed(x, edge)
        relax(n_ := ocl.asarray(n), edge)
        n = n_.numpy()
        assert_same(x.numpy(), n)
        assert_same(view.numpy(), n[5:])
        assert_same(before.numpy(), expected + 1)
        assert float(found) == n.max()
        assert turn < 1 or counted["launch", "compiled"] == 0
    assert len(calls) == 1 + 4
    assert view._node.storage is x._node.storage


def test_a_captured_write_copies_nothing_where_nobody_else_looks(runtime: Runtime) -> None:
    @capture
    def step(x: Any) -> None:
        x[1:] *= 2

    x, n = ocl.asarray(HOST), HOST.copy()
    step(x)
    with counting(runtime) as counted:
        for _ in range(3):
            step(x)
    assert counted["memory", "allocations"] == 0
    for _ in range(4):
        n[1:] *= 2
    assert_same(x.numpy(), n)


def test_a_result_from_before_a_write_is_what_was_there(runtime: Runtime) -> None:
    @capture
    def step(x: Any) -> Any:
        old, head = +x, x[:3] * 1
        x[...] = 0
        x[0] = head[2]
        return old, head, x

    for _ in range(2):
        x = ocl.asarray(HOST)
        old, head, new = step(x)
        assert_same(old.numpy(), HOST)
        assert_same(head.numpy(), HOST[:3])
        expected = np.zeros_like(HOST)
        expected[0] = HOST[2]
        assert_same(x.numpy(), expected)
        assert_same(new.numpy(), expected)


def test_the_last_row_of_an_expression(runtime: Runtime) -> None:
    for function in (lambda x: (x * 3)[-1], lambda x: ocl.sum((x * 3)[-1], axis=0), lambda x: ocl.sum(x, axis=0)[-2]):
        x = ocl.asarray(HOST)
        found, expected = capture(function)(x), function(x)
        assert_same(found.numpy(), expected.numpy())


def test_arguments_get_each_others_elements(runtime: Runtime) -> None:
    def turn(x: Any) -> None:
        x[...] = x[::-1]

    def swap(x: Any, y: Any) -> Any:
        old = x * 3
        x[...], y[...] = +y, x + 1
        return old, x[1:]

    def shift(x: Any, y: Any, z: Any) -> Any:
        first = +x
        x[...] = y
        y[...] = z
        z[...] = first
        return first, y * 2

    for function, count in ((turn, 1), (swap, 2), (shift, 3)):
        replayed = capture(function)
        for _ in range(2):
            hosts = [HOST * (number + 1) for number in range(count)]
            ours, eager = map(ocl.asarray, hosts), [ocl.asarray(host) for host in hosts]
            given = list(ours)
            found, expected = replayed(*given), function(*eager)
            for one, other in zip((*given, *(found or ())), (*eager, *(expected or ())), strict=True):
                assert_same(one.numpy(), other.numpy())
    x = ocl.asarray(HOST)
    capture(turn)(x)
    assert_same(x.numpy(), HOST[::-1])


def test_a_captured_write_is_not_seen_in_place_by_the_host(runtime: Runtime) -> None:
    @capture
    def step(x: Any) -> None:
        x += 1

    x = ocl.asarray(HOST)
    seen = x.__array__(copy=False) if shared(x) else x.numpy()
    step(x)
    assert_same(seen, HOST)
    assert_same(x.numpy(), HOST + 1)


def shared(x: Any) -> bool:
    """Whether the host reaches an array's memory."""
    try:
        x.__array__(copy=False)
    except SharingError:
        return False
    return True


def test_what_a_captured_function_may_not_write(runtime: Runtime) -> None:
    outside, x = ocl.asarray(HOST), ocl.asarray(HOST)

    @capture
    def writes_outside(x: Any) -> Any:
        outside[0] = x[0]
        return x

    with pytest.raises(Error, match="writes into an array that is not its own"):
        writes_outside(x)
    assert_same(outside.numpy(), HOST)

    @capture
    def writes_shared(x: Any, y: Any) -> None:
        x[0] = y[0]

    with pytest.raises(Error, match="an argument that shares memory with another one"):
        writes_shared(x, x[1:])
    assert_same(x.numpy(), HOST)

    @capture
    def writes_its_own(x: Any) -> Any:
        y = x * 2
        y[0] = 1
        return y

    expected = HOST * 2
    expected[0] = 1
    assert_same(writes_its_own(x).numpy(), expected)


# ---------------------------------------------------------------------- faults that were found


def test_regression_values_that_are_equal_but_not_the_same(runtime: Runtime) -> None:
    x = ocl.asarray(np.arange(4, dtype="i4"))
    times = capture(lambda x, how: x * how[0])
    assert times(x, (2,)).dtype == np.int32
    assert times(x, (2.0,)).dtype == np.float32
    signed = capture(lambda x, zero: x * zero)
    for zero in (0.0, -0.0, 0.0):
        found = signed(ocl.asarray(np.ones(2, "f4")), zero).numpy()
        assert np.signbit(found).all() == np.signbit(zero)


def test_regression_arrays_from_outside_stay_what_they_were(runtime: Runtime) -> None:
    """Computing one inside, also in a function that fails, must not leave it without memory."""
    lazy = ocl.asarray(HOST) + 1

    @capture
    def uses(x: Any, fail: bool) -> Any:
        lazy.compute()
        if fail:
            raise ValueError
        return x * lazy

    x = ocl.asarray(HOST)
    with pytest.raises(ValueError):  # noqa: PT011  # the function's own
        uses(x, True)
    assert_same(lazy.numpy(), HOST + 1)
    other = ocl.asarray(HOST) + 2
    inside = capture(lambda x: x + other.compute())
    assert_same(inside(x).numpy(), HOST + (HOST + 2))
    assert_same(other.numpy(), HOST + 2)


def test_regression_arguments_that_share_memory(runtime: Runtime) -> None:
    whole = (ocl.asarray(HOST) * 1).compute()

    @capture
    def double(source: Any, target: Any) -> None:
        ocl.compute_into(target, source * 2)

    double(whole[:30], whole[30:])
    expected = HOST.copy()
    expected[30:] = HOST[:30] * 2
    assert_same(whole.numpy(), expected)
    double(whole, whole)
    assert_same(whole.numpy(), expected * 2)
    double(ocl.asarray(HOST[:30]), whole[30:])
    assert_same(whole.numpy()[30:], HOST[:30] * 2)


def test_regression_trees_and_keywords(runtime: Runtime) -> None:
    @capture
    def step(state: Any, *, rate: float, extra: Any = None) -> Any:
        moved = [one - rate * one for one in state["weights"]]
        return {"weights": moved, "rate": rate, "sum": (moved[0] + moved[1] if extra is None else extra,)}

    state = {"weights": [ocl.asarray(HOST), ocl.asarray(HOST * 2)]}
    for rate in (0.5, 0.25, 0.5):
        found = step(state, rate=rate)
        assert list(found) == ["weights", "rate", "sum"]
        assert found["rate"] == rate
        assert_same(found["weights"][1].numpy(), HOST * 2 - np.float32(rate) * (HOST * 2))
    assert step(state, rate=0.5, extra=ocl.asarray(HOST))["sum"][0].shape == HOST.shape
    assert_same(capture(functools.partial(lambda y, x: x + y, 3))(ocl.asarray(HOST)).numpy(), HOST + 3)


def test_regression_runtimes_that_are_gone(device: Device, engine: Engine) -> None:
    """A new runtime must not meet a program of one that had its place in memory."""
    step = capture(lambda x: x + 1)
    for _ in range(5):
        runtime = Runtime(device, engine.settings)
        with ocl.use(runtime):
            assert_same(step(ocl.asarray(HOST)).numpy(), HOST + 1)
        del runtime
        gc.collect()


def test_calls_that_nobody_waits_for_hold_what_one_call_needs_and_two_results(runtime: Runtime) -> None:
    """Memory goes back with the enqueue of its last use; nothing waits for the collector of garbage."""
    step = ocl.capture(lambda x: ((x * 0.5 + 1), [{"sum": ocl.sum(x)}]))
    x, _ = step(ocl.asarray(np.ones(2**20, "f4")))
    before = runtime.statistics()["memory"]
    gc.collect()
    gc.disable()
    try:
        for _ in range(60):
            x, _ = step(x)
        after = runtime.statistics()["memory"]
    finally:
        gc.enable()
    assert after["peak_in_use"] <= before["peak_in_use"]
    assert after["live"] == before["live"]
    np.testing.assert_allclose(x.numpy(), 2, rtol=1e-6)


# ---------------------------------------------------------------------- numbers


def test_a_new_float_builds_and_plans_nothing(runtime: Runtime) -> None:
    calls = []

    @capture
    def step(x: Any, rate: float, scale: Any = 1.0) -> Any:
        calls.append(1)
        return x - (rate * 0.5) * ocl.sin(x) / scale, ocl.full((3,), rate)

    x = ocl.asarray(HOST)
    for rate in (0.1, 0.2):
        step(x, rate)
    rates = (0.3, -0.0, 1e30, 0.3)
    with counting(runtime) as counted:
        results = [step(x, rate) for rate in rates]
    assert len(calls) == 2, "with the float as it is, and as a number of the program"
    assert counted["launch", "compiled"] == counted["kernel", "hits"] == counted["kernel", "misses"] == 0
    for rate, (found, filled) in zip(rates, results, strict=True):
        assert_same(found.numpy(), (x - (rate * 0.5) * ocl.sin(x) / 1.0).numpy())
        assert_same(filled.numpy(), np.full(3, rate, "f4"))


def test_what_a_function_decides_by_a_float_is_decided_anew(runtime: Runtime) -> None:
    calls = []

    @capture
    def clipped(x: Any, most: float) -> Any:
        calls.append(1)
        return x if most > 1 else ocl.minimum(x, most)

    x = ocl.asarray(HOST)
    for most in (0.5, 0.25, 0.75, 2.0, 3.0, 0.125):
        assert_same(clipped(x, most).numpy(), HOST if most > 1 else np.minimum(HOST, np.float32(most)))
    assert len(calls) == 3


@pytest.mark.parametrize(
    "use", [lambda x, s: x * np.float32(np.sin(s)), lambda x, s: x * {0.5: 1.0}.get(s, 2.0), lambda x, s: x * int(s)]
)
def test_floats_that_are_used_up_in_python_are_told_apart(runtime: Runtime, use: Callable[..., Any]) -> None:
    replayed, x = capture(use), ocl.asarray(HOST)
    for number in (0.5, 1.5, 0.5, 2.5, 1.5):
        assert_same(replayed(x, number).numpy(), use(x, number).numpy())


def test_a_function_that_cannot_do_without_the_value_is_captured_for_each(runtime: Runtime) -> None:
    def picky(x: Any, s: float) -> Any:
        if type(s) is not float:
            raise TypeError("no float")
        return x + s

    replayed, x = capture(picky), ocl.asarray(HOST)
    for number in (0.5, 1.5, 2.5):
        assert_same(replayed(x, number).numpy(), HOST + np.float32(number))


def test_floats_in_trees_and_beside_arrays_of_other_dtypes(runtime: Runtime) -> None:
    replayed = capture(lambda given, x: {"sum": x + given["by"][0], "whole": ocl.asarray(x, dtype=ocl.int32) * 2.0})
    x = ocl.asarray(HOST)
    for number in (0.5, 1.5, 2.5):
        found = replayed({"by": (number, 3)}, x)
        assert_same(found["sum"].numpy(), HOST + np.float32(number))


def test_floats_of_kernels_that_are_launched_by_hand(runtime: Runtime) -> None:
    calls = []
    kernel = KernelBuilder("scaled", pointwise=True)
    n, factor = kernel.scalar("n", U32), kernel.scalar("factor", F32)
    x_, y_ = (kernel.pointer(name, F32, length=n) for name in ("x", "y"))
    i = kernel.global_id(0)
    with kernel.if_(i < n):
        kernel.store(y_, i, kernel.load(x_, i) * factor)
    scaled = kernel.build()

    @capture
    def by_hand(x: Any, factor: float) -> Any:
        calls.append(factor)
        y = ocl.allocate(x.shape)
        runtime.launch(scaled, [x.size, factor * 2, (x._node.storage, 0), (y._node.storage, 0)], (x.size,))
        return y

    x = ocl.asarray(HOST)
    for factor in (1.0, 2.0, 3.5, -0.25):
        assert_same(by_hand(x, factor).numpy(), HOST * np.float32(factor * 2))
    assert len(calls) == 2


def test_regression_launches_over_nothing_are_left_out_of_some_sizes_and_others_of_others(runtime: Runtime) -> None:
    @capture
    def both(x: Any, y: Any) -> Any:
        n, m = x.shape[0] - 5, y.shape[0] - 5
        halves, turned = ocl.zeros(n + 5).compute(), ocl.zeros(m + 5).compute()
        runtime.launch(SCALE, [n, (x._node.storage, 0), (halves._node.storage, 0)], (n,))
        runtime.launch(REVERSED, [m, (y._node.storage, 0), (turned._node.storage, 0)], (m,))
        return halves, turned

    for n, m in ((5, 9), (9, 5), (9, 8), (5, 9), (9, 5), (7, 8)):
        x, y = (np.arange(size, dtype="f4") + 1 for size in (n, m))
        halves, turned = both(ocl.asarray(x), ocl.asarray(y))
        assert_same(halves.numpy(), np.append(x[: n - 5] / 2 + 1, np.zeros(5, "f4")).astype("f4"))
        assert_same(turned.numpy(), np.append(y[: m - 5][::-1], np.zeros(5, "f4")).astype("f4"))


def test_regression_floats_that_functions_keep(runtime: Runtime) -> None:
    @functools.lru_cache
    def twice(number: float) -> float:
        return number * 2

    first, second = capture(lambda x, a: x * twice(a)), capture(lambda x, b, a: x * (b + twice(a)))
    x = ocl.asarray(HOST)
    for a in (1.0, 3.0):
        assert_same(first(x, a).numpy(), HOST * np.float32(a * 2))
    for b, a in ((10.0, 1.0), (100.0, 3.0), (1000.0, 1.0)):
        assert_same(second(x, b, a).numpy(), HOST * np.float32(b + 2 * a))


def test_floats_are_returned_as_they_were_given(runtime: Runtime) -> None:
    step = capture(lambda x, a: {"x": x * a, "a": [a]})
    for a in (1.0, 2.0, 2.5):
        assert json.dumps(step(ocl.asarray(HOST), a)["a"]) == f"[{a}]"


@pytest.mark.filterwarnings("error")
def test_floats_too_large_for_their_dtype(runtime: Runtime) -> None:
    step, x = capture(lambda x, a: x * a), ocl.asarray(np.ones(3, "f4"))
    for a in (1.0, 2.0, 1e39, -1e39):
        assert_same(step(x, a).numpy(), np.full(3, a if abs(a) < 3 else math.copysign(math.inf, a), "f4"))


def test_a_runtime_that_nobody_holds_is_freed_whatever_it_captured(device: Device, engine: Engine) -> None:
    step, runtime = capture(lambda x: x + 1), Runtime(device, engine.settings)
    with ocl.use(runtime):
        x = ocl.asarray(HOST)
        for _ in range(3):
            step(x).numpy()
    parts = parts_of(runtime)
    del runtime, x
    gc.collect()
    assert [part() for part in parts] == [None, None, None]


def test_what_a_failure_spoilt_is_written_over_and_then_read(runtime: Runtime) -> None:
    @capture
    def repaired(x: Any, y: Any) -> Any:
        ocl.compute_into(x, y * 2)
        return (x + 1).compute()

    x, y, streams = ocl.allocate(HOST.shape), ocl.asarray(HOST), runtime.executor.engine.streams
    repaired(x, y)
    for _ in range(3):
        streams.refused(streams.current(), [x._node.storage.touch(WRITE)], "a kernel", "here", (), RuntimeError("no"))
        assert_same(repaired(x, y).numpy(), HOST * 2 + 1)
        assert_same(x.numpy(), HOST * 2)


def test_what_a_failure_spoilt_between_rows_that_are_written_stays_spoilt(runtime: Runtime) -> None:
    @capture
    def rows(x: Any, y: Any) -> None:
        for row in range(0, 40, 2):
            x[row] = ocl.sin(y[row])

    x, y, streams = ocl.asarray(HOST).compute(), ocl.asarray(HOST), runtime.executor.engine.streams
    rows(x, y)
    width = HOST.shape[1] * 4
    spoilt = x._node.storage.touch(WRITE, 3 * width, 4 * width)
    streams.refused(streams.current(), [spoilt], "a kernel", "here", (), RuntimeError("no"))
    with suppress(LaunchError):
        rows(x, y)
    assert_same(x[4].numpy(), np.asarray(ocl.sin(y[4])))
    with pytest.raises(LaunchError, match="a kernel"):
        x[3].numpy()


def test_parts_of_an_outer_expression_are_those_of_each_call(runtime: Runtime) -> None:
    """Two functions whose sizes have the same names look at other parts of what both have from outside."""
    outer = [ocl.asarray(np.arange(20, dtype="f4")) + 0.5, (ocl.asarray(np.arange(20, dtype="f4")) + 0.5).compute()]
    kept: list[Any] = []

    def function(value: Any) -> Any:
        @ocl.capture
        def part(x: Any) -> Any:
            length = x.shape[0]
            seen = value[length : length + 3]
            kept.extend((seen, seen * 1))
            return seen + 0 * x[:3]

        return part

    for value in outer:
        for length in (5, 7):
            found = function(value)(ocl.asarray(np.ones(length, "f4")))
            assert_same(found.numpy(), np.arange(length, length + 3, dtype="f4") + np.float32(0.5))


def test_of_threads_that_want_the_same_program_one_makes_it(runtime: Runtime) -> None:
    captured: list[int] = []
    together = threading.Barrier(4)

    @ocl.capture
    def program(x: Any) -> Any:
        captured.append(threading.get_ident())
        time.sleep(0.2)  # the others want it meanwhile
        return ocl.sin(x) * 2

    def work() -> None:
        with ocl.use(runtime):
            x = ocl.asarray(np.arange(10, dtype="f4"))
            together.wait()
            found.append(program(x).numpy())

    found: list[Any] = []
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(captured) == 1
    assert all(np.array_equal(one, found[0]) for one in found)
    assert len(found) == 4


@pytest.mark.parametrize("way", ["a lazy argument", "the first call", "explain", "to_pyopencl"])
def test_others_go_on_while_it_is_made(runtime: Runtime, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The registry's lock is free for other threads whenever something is planned or built."""
    x = ocl.asarray(np.arange(10, dtype="f4"))
    program = ocl.capture(lambda x: ocl.cos(x) + 1)
    ways: dict[str, Any] = {
        "a lazy argument": lambda: program(ocl.sin(x) * 3),
        "the first call": lambda: ocl.capture(lambda x: ocl.exp(ocl.sin(x)) * (outside + 5))(x),
        "explain": lambda: (ocl.explain(later), later.compute()),
        "to_pyopencl": (ocl.sin(x) * 5).to_pyopencl,
    }
    program(x)
    outside, later = ocl.cosh(x), ocl.tanh(x) * 4
    registry, free = runtime.executor.registry, list[bool]()

    def asked(function: Any) -> Any:
        def ask() -> None:
            free.append(registry.lock.acquire(blocking=False))
            if free[-1]:
                registry.lock.release()

        def first(*args: Any, **kwargs: Any) -> Any:
            thread = threading.Thread(target=ask)
            thread.start()
            thread.join()
            return function(*args, **kwargs)

        return first

    monkeypatch.setattr(planner, "plan", asked(planner.plan))
    monkeypatch.setattr(trace, "plan", asked(trace.plan))
    monkeypatch.setattr(Engine, "_all", asked(Engine._all))  # what is not built yet
    ways[way]()
    assert len(free) >= 1
    assert all(free)


def test_programs_for_many_sizes_are_bounded_by_their_launches(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    def step(x: Any) -> Any:
        for _ in range(3):
            x = ocl.sum(ocl.sin(x), axis=0) + x
        return x

    def alive() -> int:
        gc.collect()
        return sum(isinstance(each, Bound) for each in gc.get_objects())

    x = np.random.default_rng(0).random((40, 7), "f4")
    expected = {rows: step(ocl.asarray(x[:rows])).numpy() for rows in range(10, 20)}
    for most_launches, least in ((2**15, 10), (4, 4), (1, 1)):
        monkeypatch.setattr(known_programs, "_MOST_LAUNCHES", most_launches)
        kept, before = ocl.capture(step), alive()
        for rows, value in expected.items():
            for _ in range(2):
                assert_same(kept(ocl.asarray(x[:rows])).numpy(), value)
        assert least <= alive() - before <= least + 2
        del kept
