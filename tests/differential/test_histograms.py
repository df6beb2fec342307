"""NumPy's histograms of several dimensions, and rules for numbers of bins, against NumPy, by the interpreter."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ocl_runtime.arrays as xp
import ocl_runtime.numpy as ours
from tests.support.arrays import DTYPES
from tests.support.interpreted import InterpretedRuntime

_RULES = ("auto", "doane", "fd", "rice", "scott", "sqrt", "stone", "sturges")


@st.composite
def samples(draw: st.DrawFn) -> tuple[list[np.ndarray], dict[str, Any]]:
    """Coordinates that often lie on an edge, some of them NaN, and how they are put into boxes. Mostly that fits."""
    rank, count = draw(st.integers(1, 3)), draw(st.integers(0, 25))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    columns = []
    for _ in range(rank):
        dtype = np.dtype(draw(st.sampled_from(DTYPES)))
        column = (rng.integers(0 if dtype.kind in "ub" else -8, 9, count) / 2).astype(dtype)
        if dtype.kind == "f" and draw(st.integers(0, 3)) == 0:
            column[rng.random(count) < 0.2] = np.nan
        columns.append(column)
    pairs = st.tuples(st.integers(-3, 0), st.integers(1, 4)) | st.just((2, 2)) | st.just((3, 1))
    edges = st.lists(st.integers(-8, 8), min_size=2, max_size=5).map(sorted).map(lambda x: [one / 2 for one in x])
    one_axis = st.integers(1, 6) | edges | st.integers(0, 1)
    how: dict[str, Any] = {"bins": draw(st.integers(1, 6) | st.lists(one_axis, min_size=rank, max_size=rank))}
    if draw(st.booleans()):
        how["range"] = draw(st.lists(pairs | st.none(), min_size=rank, max_size=rank))
    if draw(st.booleans()):
        how["weights"] = rng.integers(-2, 5, count).astype(draw(st.sampled_from(["f4", "f8", "i4"])))
    if draw(st.booleans()):
        how["density"] = draw(st.booleans())
    return columns, how


def same(found: Any, expected: Any) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12, atol=1e-12)


@given(samples(), st.booleans())
def test_points_in_boxes(sample: tuple[list[np.ndarray], dict[str, Any]], in_rows: bool) -> None:
    columns, how = sample
    host: Any = np.stack([column.astype("f8") for column in columns], axis=1) if in_rows else columns
    with warnings.catch_warnings(), xp.use(InterpretedRuntime()):
        warnings.simplefilter("ignore", RuntimeWarning)
        given_ = ours.asarray(host) if in_rows else [ours.asarray(column) for column in columns]
        try:
            counts, edges = np.histogramdd(host, **how)
        except ValueError:
            with pytest.raises(ValueError, match="histogramdd"):
                ours.histogramdd(given_, **how)
            return
        found, lines = ours.histogramdd(given_, **how)
        same(found, counts)
        for line, edge in zip(lines, edges, strict=True):
            same(line, edge)


@settings(max_examples=max(1, settings.default.max_examples // 3))
@given(
    st.sampled_from(_RULES),
    st.integers(0, 60),
    st.sampled_from(["f8", "f4", "i4", "u1", "i8"]),
    st.booleans(),
    st.integers(0, 2**16),
)
def test_rules_for_numbers_of_bins(rule: str, count: int, dtype: str, has_range: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    host = (rng.gamma(2.0, 10.0, count) if seed % 5 else rng.integers(0, 3, count)).astype(dtype)
    limits = (2, 21) if has_range else None
    with warnings.catch_warnings(), xp.use(InterpretedRuntime()):
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = np.histogram_bin_edges(host, rule, limits)
        x = ours.asarray(host)
        same_number(ours.histogram_bin_edges(x, rule, limits), expected)
        if rule != "stone":
            same_number(ours.histogram(x, rule, limits)[1], expected)


def same_number(found: Any, expected: np.ndarray) -> None:
    """Equal edges; of float32 one more or less, where the width divides the range but for rounding."""
    if expected.dtype == np.float32 and abs(found.size - expected.size) == 1:
        return
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


def test_what_does_not_fit() -> None:
    with xp.use(InterpretedRuntime()):
        x = ours.asarray(np.arange(4.0))
        for bins, match in (("odd", "rules are auto, doane"), ("auto", "and weights")):
            with pytest.raises((ValueError, TypeError), match=match):
                ours.histogram(x, bins, weights=x if bins == "auto" else None)
        with pytest.raises(ValueError, match="histogram2d"):
            ours.histogram2d(x, x[:3])
        with pytest.raises(ValueError, match="histogramdd"):
            ours.histogram2d(x, x, [2])
        with pytest.raises(ValueError, match="weights"):
            ours.histogram2d(x, x, weights=[1, 2])
        with pytest.raises(ValueError, match="in each row"):
            ours.histogramdd(ours.zeros((2, 2, 2)))


def test_what_lies_below_equal_edges_is_in_no_box_of_a_grid() -> None:
    columns = np.array([1.0, 1.0]), np.array([0.0, -2.0])
    with xp.use(InterpretedRuntime()):
        found = ours.histogram2d(*map(ours.asarray, columns), bins=[2, [0.0, 0.0]])[0]
        same(found, np.histogram2d(*columns, bins=[2, [0.0, 0.0]])[0])
