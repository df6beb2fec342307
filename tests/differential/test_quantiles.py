"""Medians and quantiles against NumPy's, bit by bit, by the interpreter of kernel IR."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import ocl_runtime.arrays as xp
import ocl_runtime.numpy as ours
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


def same(found: Any, expected: Any, *, dtype: bool = True, signs: bool = True) -> None:
    """Equal, the signs of zeros too."""
    values, wanted = found.numpy(), np.asarray(expected)
    assert values.shape == wanted.shape
    if dtype:
        assert values.dtype == wanted.dtype
    np.testing.assert_array_equal(values, wanted)
    there = ~np.isnan(wanted) & signs
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
        expected = getattr(np, name)(host, q, **how)
        found = getattr(ours, name)(ours.asarray(host), q, **how)
        # NumPy gives NaN in the dtype of the elements for some shapes, and where the first row has no numbers.
        same(found, expected, dtype=not np.isnan(host).any())


@given(host=hosts(INTEGERS), q=st.sampled_from(["inverted_cdf", "lower", "higher", "nearest", "closest_observation"]))
@QUICK
def test_methods_that_take_an_element_keep_its_dtype(host: np.ndarray, q: str) -> None:
    with xp.use(InterpretedRuntime(TARGETS[0])):
        for part in (0.3, np.array([0.2, 0.9])):
            same(ours.quantile(ours.asarray(host), part, method=q), np.quantile(host, part, method=q))
