"""Capture: what a Python function does with arrays and kernels becomes a program that is replayed."""

from __future__ import annotations

import functools
import gc
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.errors import DTypeError, Error
from ocl_runtime.execute.engine import Engine
from ocl_runtime.programs import capture
from ocl_runtime.runtime import Runtime
from tests.arrays_support import assert_same, counting
from tests.programs_support import SCALE

HOST = np.random.default_rng(0).random((60, 50), dtype="f4")


@pytest.fixture
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, replace(engine.settings, streams=4))
    with ocl.use(runtime):
        yield runtime


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
    assert found.node.storage is out.node.storage
    np.testing.assert_allclose(out.numpy(), np.exp(HOST), rtol=1e-6)


def test_other_arrays_are_constants(runtime: Runtime) -> None:
    weights = ocl.asarray(HOST[0])
    replayed = capture(lambda x: x * weights + ocl.asarray(np.float32(3)))
    assert_same(replayed(ocl.asarray(HOST)).numpy(), HOST * HOST[0] + np.float32(3))
    storage = weights.node.storage
    weights = ocl.asarray(HOST[1])
    del storage
    assert_same(replayed(ocl.asarray(HOST)).numpy(), HOST * HOST[0] + np.float32(3))


def test_values_are_computed_once_and_kernels_by_hand_are_captured(runtime: Runtime) -> None:
    @capture
    def step(x: Any) -> Any:
        y = (x + 1).compute()
        z = ocl.allocate(y.shape)
        n = y.size
        runtime.launch(SCALE, [n, (y.node.storage, 0), (z.node.storage, 0)], (n,))
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
