"""Medians and quantiles against NumPy's, bit by bit, by the interpreter of kernel IR."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ocl_runtime.arrays as xp
import ocl_runtime.numpy as ours
from ocl_runtime.errors import DTypeError, ShapeError
from ocl_runtime.numpy.quantiles import _METHODS
from ocl_runtime.plan.target import Target
from tests.support.arrays import FLOATS, INTEGERS
from tests.support.interpreted import InterpretedRuntime

QUICK = settings(max_examples=max(1, settings.default.max_examples // 4), deadline=None)
TARGETS = [
    Target(kind="gpu", compute_units=3, group_size=16),
    Target(kind="cpu", compute_units=2, group_size=4, vector_bytes=64),
]
PARTS: list[Any] = [
    0.5, 0.3, 0.0, 1.0, 0, 1, 0.999, np.float64(0.25), np.array([0.1, 0.5, 1.0]), np.array([[0.3], [0.75]]),
    np.array([0.2, 0.6], "f4"), np.array([]), np.array([1, 0]),
]  # fmt: skip
DTYPES = (*FLOATS, "i4", "u1", "i8")


@st.composite
def hosts(draw: st.DrawFn, dtypes: tuple[str, ...] = DTYPES) -> np.ndarray:
    """Numbers with a few infinities and zeros of both signs; of floats NaN, or all but a few."""
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    host = (rng.normal(size=shape) * 20).astype(dtype)
    if dtype.kind == "f":
        some = draw(st.sampled_from([0.0, 0.05, 0.5]))
        host[rng.random(shape) < 0.2] = draw(st.sampled_from([0.0, -0.0, 1.0, np.inf]))
        host[rng.random(shape) < some] = np.nan
    return host


def axes_of(data: st.DataObject, host: np.ndarray) -> Any:
    axes = st.integers(-host.ndim, host.ndim - 1)
    return data.draw(st.none() | axes | st.sets(st.integers(0, host.ndim - 1)).map(tuple))


DTYPES_AS_HERE = bool(np.lib.NumpyVersion(np.__version__) >= "2.4.6")
"""Older versions have other dtypes for parts that are integers (2.1 to 2.3 integers, 2.4.0 floats of arrays, too), and
for parts in float64 of narrower elements."""


def same(found: Any, expected: Any, *, dtype: bool = True, signs: bool = True) -> None:
    """Equal, the signs of zeros too."""
    values, wanted = found.numpy(), np.asarray(expected)
    assert values.shape == wanted.shape
    if dtype:
        assert values.dtype == wanted.dtype
    np.testing.assert_array_equal(values, wanted)
    if signs:
        there = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(values[there]), np.signbit(wanted[there]))


@given(data=st.data(), target=st.sampled_from(TARGETS))
@QUICK
def test_medians(data: st.DataObject, target: Target) -> None:
    host = data.draw(hosts((*DTYPES, "?")))
    how: dict[str, Any] = {"axis": axes_of(data, host), "keepdims": data.draw(st.booleans())}
    name = data.draw(st.sampled_from(["median", "nanmedian"]))
    with warnings.catch_warnings(), xp.use(InterpretedRuntime(target)):
        warnings.simplefilter("ignore")
        expected = getattr(np, name)(host, **how)
        found = getattr(ours, name)(ours.asarray(host), **how)
        # Of short rows, NumPy's masked medians are of float16 and sum infinities in another way.
        if name == "median" or not (np.isinf(host).any() or host.dtype == np.float16):
            same(found, expected, signs=False)  # NumPy's mean of two -0.0 is 0.0 for some dtypes


def numpys(name: str, host: np.ndarray, q: Any, **how: Any) -> np.ndarray:
    """NumPy's. Of parts with several axes, one after the other: `nanquantile` takes other axes of the result for theirs
    where it reduces several axes or none."""
    if np.ndim(q) < 2 or "nan" not in name:
        return np.asarray(getattr(np, name)(host, q, **how))
    flat = np.asarray(getattr(np, name)(host, np.ravel(q), **how))
    return flat.reshape(*np.shape(q), *flat.shape[1:])


def test_parts_with_two_axes_come_first() -> None:
    host, q = np.arange(24.0).reshape(2, 3, 4), np.array([[0.3], [0.75]])
    with xp.use(InterpretedRuntime(TARGETS[0])):
        for axis, rest in (((), (2, 3, 4)), ((0, 2), (3,)), (1, (2, 4))):
            for name in ("quantile", "nanquantile"):
                found = getattr(ours, name)(ours.asarray(host), q, axis=axis)
                same(found, np.quantile(host, q, axis=axis))
                assert found.shape == (2, 1, *rest)


@pytest.mark.parametrize("method", sorted(_METHODS))
@pytest.mark.parametrize("dtype", ["u1", "i4", "i8", "u8", "f2", "f4", "f8"])
def test_parts_that_are_integers(dtype: str, method: str) -> None:
    with xp.use(InterpretedRuntime(TARGETS[0])):
        for host in (np.array([3], dtype), np.array([[5, 2, 9], [7, 1, 4]], dtype)):
            for q in (0, 1, np.array(1), np.array([1, 0]), np.array([[1], [0]])):
                found = ours.quantile(ours.asarray(host), q, method=method)
                same(found, np.quantile(host, q, method=method), dtype=DTYPES_AS_HERE)
            unsigned = ours.quantile(ours.asarray(host), np.array([1, 0], "u1"), method=method)  # NumPy's overflow
            same(unsigned, np.quantile(host, np.array([1, 0]), method=method), dtype=DTYPES_AS_HERE)


@given(data=st.data(), target=st.sampled_from(TARGETS))
@QUICK
def test_quantiles(data: st.DataObject, target: Target) -> None:
    host, q = data.draw(hosts()), data.draw(st.sampled_from(PARTS))
    name = data.draw(st.sampled_from(["quantile", "nanquantile", "percentile", "nanpercentile"]))
    how: dict[str, Any] = {"axis": axes_of(data, host), "method": data.draw(st.sampled_from(sorted(_METHODS)))}
    if data.draw(st.booleans()):
        how["keepdims"] = True
    q = q * 100 if "percent" in name else q
    with warnings.catch_warnings(), xp.use(InterpretedRuntime(target)):
        warnings.simplefilter("ignore")
        expected = numpys(name, host, q, **how)
        found = getattr(ours, name)(ours.asarray(host), q, **how)
        # NumPy gives NaN in the dtype of the elements for some shapes, and where the first row has no numbers.
        same(found, expected, dtype=not np.isnan(host).any())


@given(data=st.data(), target=st.sampled_from(TARGETS))
@QUICK
def test_weighted_quantiles(data: st.DataObject, target: Target) -> None:
    host, q = data.draw(hosts()), data.draw(st.sampled_from(PARTS))
    name = data.draw(st.sampled_from(["quantile", "nanquantile", "percentile", "nanpercentile"]))
    how: dict[str, Any] = {"axis": axes_of(data, host), "method": "inverted_cdf", "keepdims": data.draw(st.booleans())}
    weights = np.random.default_rng(data.draw(st.integers(0, 2**16))).integers(1, 6, host.shape)
    if "nan" not in name and data.draw(st.booleans()):  # NumPy's nanquantile finds no axes for weights
        how["axis"] = data.draw(st.permutations(range(host.ndim)).map(tuple))[: data.draw(st.integers(1, host.ndim))]
        weights = weights[tuple(slice(None) if n in how["axis"] else 0 for n in range(host.ndim))]
        weights = weights.transpose(np.argsort(np.argsort(how["axis"])))
    if "nan" not in name and data.draw(st.booleans()):
        weights.reshape(-1)[: weights.size // 2] = 0
    if weights.shape == host.shape and (weights.sum(axis=how["axis"]) == 0).any():
        weights += 1
    q = q * 100 if "percent" in name else q
    with warnings.catch_warnings(), xp.use(InterpretedRuntime(target)):
        warnings.simplefilter("ignore")
        expected = numpys(name, host, q, weights=weights, **how)
        found = getattr(ours, name)(ours.asarray(host), q, weights=weights, **how)
        same(found, expected, dtype=not np.isnan(host).any())


@pytest.mark.parametrize(
    ("weights", "how", "error"),
    [
        (-np.ones((3, 4)), {}, ShapeError),
        (np.zeros((3, 4)), {}, ShapeError),
        (np.full((3, 4), np.inf), {}, ShapeError),
        (np.full((3, 4), np.nan), {}, ShapeError),
        (np.arange(12).reshape(3, 4) // 4, {"axis": 1}, ShapeError),  # the first row has none
        (np.ones(4), {}, DTypeError),
        (np.ones(3), {"axis": 1}, ShapeError),
        (np.ones((3, 4)), {"method": "linear"}, ShapeError),
    ],
)
def test_weights_that_are_none(weights: np.ndarray, how: dict[str, Any], error: type[Exception]) -> None:
    host = np.arange(12.0).reshape(3, 4)
    how = {"method": "inverted_cdf", **how}
    with warnings.catch_warnings(), xp.use(InterpretedRuntime(TARGETS[0])):
        warnings.simplefilter("ignore")
        if np.lib.NumpyVersion(np.__version__) >= "2.4.0":  # older ones look at signs alone
            with pytest.raises((TypeError, ValueError)):
                np.quantile(host, 0.5, weights=weights, **how)
        with pytest.raises(error, match="weights"):
            ours.quantile(ours.asarray(host), 0.5, weights=weights, **how)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
def test_medians_of_complex_numbers(dtype: str, axis: Any) -> None:
    rng = np.random.default_rng(0)
    host = (rng.integers(-3, 4, (6, 7)) + rng.integers(-3, 4, (6, 7)) * 1j).astype(dtype)
    host[1, 2], host[3, 2], host[3, 4] = complex(np.nan, 1), complex(1, np.nan), complex(np.nan, np.nan)
    with xp.use(InterpretedRuntime(TARGETS[0])):
        for name in ("median", "nanmedian"):
            same(getattr(ours, name)(ours.asarray(host), axis=axis), getattr(np, name)(host, axis=axis), signs=False)
        with pytest.raises(DTypeError, match="no order"):
            ours.quantile(ours.asarray(host), 0.5)


@given(host=hosts(INTEGERS), q=st.sampled_from(["inverted_cdf", "lower", "higher", "nearest", "closest_observation"]))
@QUICK
def test_methods_that_take_an_element_keep_its_dtype(host: np.ndarray, q: str) -> None:
    with xp.use(InterpretedRuntime(TARGETS[0])):
        for part in (0.3, np.array([0.2, 0.9])):
            same(ours.quantile(ours.asarray(host), part, method=q), np.quantile(host, part, method=q))
