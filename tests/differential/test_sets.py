"""Distinct elements and what is made of them against NumPy, by the interpreter of kernel IR, which finds races."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ocl_runtime.arrays as xp
import ocl_runtime.numpy as ours
from ocl_runtime.plan.target import Target
from tests.support.arrays import DTYPES, elements
from tests.support.interpreted import InterpretedRuntime

QUICK = settings(
    max_examples=max(1, settings.default.max_examples // 6),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
TARGETS = {
    "gpu": Target(kind="gpu", compute_units=3, group_size=16),
    "cpu": Target(kind="cpu", compute_units=2, group_size=4, vector_bytes=64),
}
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


@pytest.fixture(params=TARGETS)
def runtime(request: pytest.FixtureRequest) -> InterpretedRuntime:
    return InterpretedRuntime(TARGETS[request.param])


@st.composite
def hosts(draw: st.DrawFn, dtype: Any = None) -> np.ndarray:
    kind = draw(st.sampled_from(DTYPES)) if dtype is None else dtype
    return elements(kind, draw(SHAPES), draw(st.integers(0, 9)))


def first_ones(host: np.ndarray, *, equal_nan: bool) -> list[np.ndarray]:
    """Distinct elements, where they come first, which of them each is, and how often they come, as the definitions say
    and not as NumPy finds them: of equal elements the first one is given, with its bits."""
    flat = host.reshape(-1)
    order = np.argsort(flat, kind="stable")
    begins: list[int] = []
    number = np.zeros(flat.size, np.int64)
    for place in order.tolist():
        last = flat[begins[-1]] if begins else None
        equal = last is not None and (
            flat[place] == last or (equal_nan and flat[place] != flat[place] and last != last)
        )
        if not equal:
            begins.append(place)
        number[place] = len(begins) - 1
    counts = np.bincount(number, minlength=len(begins)).astype(np.int64)
    indices = np.array(begins, np.int64)
    return [flat[indices], indices, number.reshape(host.shape), counts]


def same(found: Any, expected: Any) -> None:
    """Equal down to the bits."""
    values = found.numpy()
    assert (values.dtype, values.shape) == (expected.dtype, expected.shape)
    assert values.tobytes() == np.ascontiguousarray(expected).tobytes()


@given(host=hosts())
@QUICK
def test_the_standards_functions(runtime: InterpretedRuntime, host: np.ndarray) -> None:
    values, indices, inverse, counts = first_ones(host, equal_nan=False)
    with xp.use(runtime):
        x = xp.asarray(host)
        found = xp.unique_all(x)
        assert found._fields == ("values", "indices", "inverse_indices", "counts")
        for one, other in zip(found, (values, indices, inverse, counts), strict=True):
            same(one, other)
        by_counts, by_inverse = xp.unique_counts(x), xp.unique_inverse(x)
        assert (by_counts._fields, by_inverse._fields) == (("values", "counts"), ("values", "inverse_indices"))
        for one, other in zip((*by_counts, *by_inverse), (values, counts, values, inverse), strict=True):
            same(one, other)
        same(xp.unique_values(x), values)
        if host.size:
            same(xp.take(found.values, found.inverse_indices), values[inverse])


@given(host=hosts(), asked=st.tuples(st.booleans(), st.booleans(), st.booleans()), equal_nan=st.booleans())
@QUICK
def test_unique_of_numpys(
    runtime: InterpretedRuntime, host: np.ndarray, asked: tuple[bool, bool, bool], equal_nan: bool
) -> None:
    values, *others = first_ones(host, equal_nan=equal_nan)
    with xp.use(runtime):
        found = ours.unique(xp.asarray(host), *asked, equal_nan=equal_nan)
    assert isinstance(found, tuple) == any(asked)
    wanted = [values, *(other for other, is_asked in zip(others, asked, strict=True) if is_asked)]
    for one, other in zip(found if any(asked) else [found], wanted, strict=True):
        same(one, other)


@given(data=st.data(), asked=st.tuples(st.booleans(), st.booleans(), st.booleans()))
@QUICK
def test_unique_along_an_axis(runtime: InterpretedRuntime, data: st.DataObject, asked: tuple[bool, bool, bool]) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    dtype = data.draw(st.sampled_from(["?", "u1", "i4", "f2", "f4", "c8"]))
    host = np.random.default_rng(data.draw(st.integers(0, 99))).integers(-1, 2, shape).astype(dtype)
    if dtype == "c8":
        host += host.reshape(-1)[::-1].reshape(shape) * 1j
    try:
        expected = np.unique(host, *asked, axis=axis)
    except ValueError:  # NumPy: of no parts with elements
        assert not host.size
        return
    with xp.use(runtime):
        found = ours.unique(xp.asarray(host), *asked, axis=axis)
    assert isinstance(found, tuple) == isinstance(expected, tuple) == any(asked)
    for one, other in zip(found, expected, strict=True) if any(asked) else [(found, expected)]:
        values = one.numpy()
        assert (values.dtype, values.shape) == (other.dtype, other.shape)
        np.testing.assert_array_equal(values, other)


def test_parts_with_a_nan_are_all_distinct(runtime: InterpretedRuntime) -> None:
    host = np.array([[1, np.nan, 2], [1, np.nan, 2], [1, 0, 2], [1, -0.0, 2]], "f4")
    with xp.use(runtime):
        values, counts = ours.unique(xp.asarray(host), return_counts=True, axis=0)
        np.testing.assert_array_equal(values.numpy(), host[[2, 0, 1]])
        np.testing.assert_array_equal(counts.numpy(), [2, 1, 1])


@given(data=st.data())
@QUICK
def test_of_two_arrays(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    kinds = data.draw(
        st.sampled_from([("i4", "i4"), ("f4", "f4"), ("u1", "i2"), ("i4", "f4"), ("?", "?"), ("f2", "f2")])
    )
    hosts = [elements(kind, data.draw(SHAPES), data.draw(st.integers(0, 9))) for kind in kinds]
    name = data.draw(st.sampled_from(["intersect1d", "union1d", "setdiff1d", "setxor1d"]))
    how: dict[str, Any] = {}
    if name != "union1d" and data.draw(st.booleans()):
        how["assume_unique"] = True
        hosts = [np.random.default_rng(0).permutation(np.unique(host)) for host in hosts]
    if name == "intersect1d" and data.draw(st.booleans()):
        how["return_indices"] = True
    expected = getattr(np, name)(*hosts, **how)
    with xp.use(runtime):
        found = getattr(ours, name)(*map(xp.asarray, hosts), **how)
    several = isinstance(expected, tuple)
    for one, other in zip(found, expected, strict=True) if several else [(found, expected)]:
        values = one.numpy()
        assert values.shape == other.shape
        np.testing.assert_array_equal(values, other)


@given(data=st.data(), many=st.booleans(), invert=st.booleans())
@QUICK
def test_membership(runtime: InterpretedRuntime, data: st.DataObject, many: bool, invert: bool) -> None:
    """Of few values, which are all compared, and of many, which are sorted."""
    kinds = data.draw(
        st.sampled_from([("i4", "i4"), ("f4", "f4"), ("u1", "i2"), ("i8", "i8"), ("u8", "u8"), ("?", "?")])
    )
    host = elements(kinds[0], data.draw(SHAPES), data.draw(st.integers(0, 9)))
    shape = (13, 5) if many else data.draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=8))
    values = elements(kinds[1], shape, data.draw(st.integers(0, 9)))
    with xp.use(runtime):
        runtime.launched.clear()
        found = xp.isin(xp.asarray(host), xp.asarray(values), invert=invert)
        same(found, np.isin(host, values, invert=invert))
        if host.size:
            assert any("sort" in launch.kernel.name for launch in runtime.launched) == many


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_complex_numbers(runtime: InterpretedRuntime, dtype: str) -> None:
    rng = np.random.default_rng(0)
    parts = rng.choice(np.array([0.0, -0.0, 1.5, -2.0, np.inf]), (2, 30))
    host = (parts[0] + np.where(np.isinf(parts[1]), 3, parts[1]) * 1j).astype(dtype)
    holes = host.copy()
    holes[[3, 11]], holes[20] = complex(1.5, np.nan), complex(np.nan, 1)
    with xp.use(runtime):
        for one, other in zip(xp.unique_all(xp.asarray(host)), np.unique_all(host), strict=True):
            np.testing.assert_array_equal(one.numpy(), other)
        found = xp.unique_counts(xp.asarray(holes))
        numbers = np.unique(holes[~np.isnan(holes)], return_counts=True)
        np.testing.assert_array_equal(found.values.numpy()[:-3], numbers[0])
        np.testing.assert_array_equal(found.counts.numpy(), [*numbers[1], 1, 1, 1])
        assert ours.unique(xp.asarray(holes)).shape == (numbers[0].size + 1,)
        many = np.arange(80) * (0.5 + 0j)
        np.testing.assert_array_equal(xp.isin(xp.asarray(holes), many).numpy(), np.isin(holes, many))
