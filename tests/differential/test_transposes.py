"""Permutations, reversals and steps in elementwise expressions against NumPy, by the interpreter of kernel IR, which
sees races."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ocl_runtime.arrays as xp
from ocl_runtime.plan.target import Target
from tests.support.interpreted import InterpretedRuntime

TARGETS = {
    "gpu": Target(kind="gpu", compute_units=3, group_size=8),
    "gpu, groups of 1": Target(kind="gpu", compute_units=1, group_size=1),
    "gpu, groups of 2": Target(kind="gpu", compute_units=1, group_size=2),
    "gpu, groups of 64": Target(kind="gpu", compute_units=1, group_size=64, fp16=True),
    "cpu": Target(kind="cpu", compute_units=2, group_size=4, vector_bytes=64),
    "cpu, narrow": Target(kind="cpu", compute_units=2, group_size=8, vector_bytes=16),
}
QUICK = settings(
    max_examples=max(1, settings.default.max_examples // 8),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
DTYPES = st.sampled_from([np.dtype(code) for code in ("?", "i1", "u2", "i4", "u8", "f2", "f4", "f8")])
LENGTHS = st.sampled_from([0, 1, 2, 3, 4, 7, 8, 9, 11, 12, 16, 17, 23, 24, 32, 37, 40])


@pytest.fixture(params=TARGETS)
def runtime(request: pytest.FixtureRequest) -> InterpretedRuntime:
    return InterpretedRuntime(TARGETS[request.param])


@st.composite
def shapes(draw: st.DrawFn) -> tuple[int, ...]:
    """Few elements, most of them along two axes."""
    shape = [draw(LENGTHS), draw(LENGTHS), *draw(st.lists(st.integers(1, 3), max_size=2))]
    return tuple(draw(st.permutations(shape)))


def values(shape: tuple[int, ...], dtype: np.dtype, seed: int) -> np.ndarray:
    """Among floats also NaN, infinities and -0.0."""
    random = np.random.default_rng(seed)
    made = random.integers(0, 100, shape).astype(dtype)
    if dtype.kind == "f" and made.size:
        for special in (np.nan, np.inf, -np.inf, -0.0):
            made.flat[random.integers(0, made.size)] = special
    return made


def bits(array: Any) -> np.ndarray:
    array = np.ascontiguousarray(array)
    return array.view(f"u{array.dtype.itemsize}")


def same(found: Any, expected: np.ndarray) -> None:
    found = found.numpy()
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    both_nan = np.isnan(found) & np.isnan(expected) if expected.dtype.kind == "f" else False
    assert np.all((bits(found).reshape(expected.shape) == bits(expected).reshape(expected.shape)) | both_nan)


@st.composite
def views(draw: st.DrawFn, shape: tuple[int, ...]) -> Any:
    """A function that gives, of an array whose shape it says, a view of the wanted shape: what is around it may be cut
    off, it may be turned back to front, and its axes may be permuted."""
    order = draw(st.permutations(range(len(shape))))
    lying = [shape[axis] for axis in order]
    steps = [draw(st.sampled_from([1, 1, 1, 1, -1, 2])) for _ in lying]
    before = [draw(st.sampled_from([0, 0, 0, 1, 4])) for _ in lying]
    whole = tuple(front + length * abs(step) for front, length, step in zip(before, lying, steps, strict=True))
    items = tuple(
        slice(front, None, step) if step > 0 else slice(None, front - 1 if front else None, step)
        for front, step in zip(before, steps, strict=True)
    )
    back = tuple(int(axis) for axis in np.argsort(order))
    return whole, lambda x, transpose: transpose(x[items], back)


@given(data=st.data())
@QUICK
def test_leaves_in_any_order(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    """Of an expression of three arrays, each lies in its own order."""
    shape, dtype = data.draw(shapes()), data.draw(DTYPES)
    sides = [data.draw(views(shape)) for _ in range(3)]
    hosts = [values(whole, dtype, seed) for seed, (whole, _) in enumerate(sides)]
    a, b, c = (view(host, np.transpose) for host, (_, view) in zip(hosts, sides, strict=True))
    with xp.use(runtime), np.errstate(all="ignore"):
        x, y, z = (view(xp.asarray(host), xp.permute_dims) for host, (_, view) in zip(hosts, sides, strict=True))
        same(xp.where(x == y, z, x), np.where(a == b, c, a))
        same(xp.where(x < y, x, y), np.where(a < b, a, b))
        if dtype.kind != "b":
            same(x * y + z, a * b + c)


@given(data=st.data())
@QUICK
def test_reshapes_that_copy(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    shape, dtype = data.draw(shapes()), data.draw(DTYPES)
    (whole, view), number = data.draw(views(shape)), data.draw(st.integers(0, 3))
    host, other = values(whole, dtype, 1), values((int(np.prod(shape)),), dtype, 2)
    with xp.use(runtime), np.errstate(all="ignore"):
        x, y = view(xp.asarray(host), xp.permute_dims), xp.asarray(other)
        a, b = view(host, np.transpose), other
        match number:
            case 0:
                same(xp.reshape(x, (-1,)), a.reshape(-1))
            case 1:
                same(xp.reshape(x, (-1,)) == y, a.reshape(-1) == b)
            case 2:
                flat, c = xp.reshape(xp.where(x == x, x, x), (-1,)), a.reshape(-1)
                same(xp.where(flat < y[::-1], flat, y), np.where(c < b[::-1], c, b))
            case _:
                same(xp.where(xp.reshape(x, (-1,)) == y, y, y[:1]), np.where(a.reshape(-1) == b, b, b[:1]))


@given(data=st.data())
@QUICK
def test_results_in_memory_of_any_order(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    shape, dtype = data.draw(shapes()), data.draw(DTYPES)
    (whole, view), (into, target) = data.draw(views(shape)), data.draw(views(shape))
    host, written = values(whole, dtype, 1), values(into, dtype, 2)
    with xp.use(runtime):
        x, y = xp.asarray(host), xp.asarray(written)
        target(y, xp.permute_dims)[...] = view(x, xp.permute_dims)
        expected = written.copy()
        target(expected, np.transpose)[...] = view(host, np.transpose)
        same(y, expected)


@given(data=st.data())
@QUICK
def test_a_turned_sum_is_written_over_an_operand(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    """The result takes the memory of what is needed no more: each element is read there before it is written."""
    rows, columns = data.draw(LENGTHS), data.draw(LENGTHS)
    first, second = values((columns, rows), np.dtype("f4"), 1), values((rows, columns), np.dtype("f4"), 2)
    with xp.use(runtime), np.errstate(all="ignore"):
        y = xp.asarray(second) * 2
        y.compute()
        y = xp.permute_dims(xp.asarray(first), (1, 0)) + y
        same(y, first.T + second * 2)
