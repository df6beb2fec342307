"""Random calls of `ocl_runtime.numpy`'s reductions and movements against NumPy, on the interpreter."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
from hypothesis import given
from hypothesis import strategies as st

import ocl_runtime.arrays as xp
import ocl_runtime.numpy as ours
from tests.support.arrays import DTYPES
from tests.support.interpreted import InterpretedRuntime
from tests.support.numpy_cases import same

_REDUCTIONS = (
    "sum",
    "prod",
    "max",
    "min",
    "mean",
    "var",
    "std",
    "any",
    "all",
    "ptp",
    "nansum",
    "nanmax",
    "nanmean",
    "count_nonzero",
)
_NEED_ELEMENTS = {"max", "min", "ptp", "nanmax"}
_TAKE_WHERE = {"sum", "prod", "mean", "var", "any", "all", "nansum", "nanmean"}


@st.composite
def arrays(draw: st.DrawFn) -> numpy.ndarray:
    """Small whole numbers, which every dtype holds and every sum of which is exact; NaN among floats now and then."""
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=1, max_size=3)))
    dtype = numpy.dtype(draw(st.sampled_from(DTYPES)))
    rng = numpy.random.default_rng(draw(st.integers(0, 2**16)))
    host = rng.integers(0 if dtype.kind in "ub" else -2, 3, shape).astype(dtype)
    if dtype.kind == "f" and draw(st.booleans()):
        host[rng.random(shape) < 0.2] = numpy.nan
    return host


@st.composite
def reductions(draw: st.DrawFn) -> tuple[str, numpy.ndarray, dict[str, Any]]:
    name, host = draw(st.sampled_from(_REDUCTIONS)), draw(arrays())
    axes = st.integers(-host.ndim, host.ndim - 1)
    how: dict[str, Any] = {
        "axis": draw(st.none() | axes | st.sets(st.integers(0, host.ndim - 1), min_size=1).map(tuple))
    }
    if draw(st.booleans()):
        how["keepdims"] = True
    if name in _TAKE_WHERE and draw(st.booleans()):
        how["where"] = numpy.random.default_rng(0).random(host.shape) < 0.6
    if name in {"sum", "max"} and draw(st.booleans()):
        how["initial"] = draw(st.integers(0, 1))
    return name, host, how


@given(reductions())
def test_reductions(call: tuple[str, numpy.ndarray, dict[str, Any]]) -> None:
    name, host, how = call
    with warnings.catch_warnings(), xp.use(InterpretedRuntime()):
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            expected = getattr(numpy, name)(host, **how)
        except (ValueError, TypeError) as error:  # of no elements, or bools less bools
            kind = type(error)
            try:
                getattr(ours, name)(ours.asarray(host), **how)
            except kind:
                return
            raise AssertionError(f"{name} gives something where NumPy says: {error}") from error
        same(getattr(ours, name)(ours.asarray(host), **how), expected)


@st.composite
def movements(draw: st.DrawFn) -> tuple[str, numpy.ndarray, tuple[Any, ...]]:
    host = draw(arrays())
    axis = draw(st.integers(-host.ndim, host.ndim - 1))
    other = draw(st.integers(-host.ndim, host.ndim - 1))
    shift = draw(st.integers(-5, 5))
    parts = draw(st.integers(1, 5))
    calls: list[tuple[str, tuple[Any, ...]]] = [
        ("flip", (axis,)),
        ("swapaxes", (axis, other)),
        ("moveaxis", (axis, other)),
        ("rollaxis", (axis, draw(st.integers(0, host.ndim)))),
        ("expand_dims", (axis,)),
        ("roll", (shift, axis)),
        ("repeat", (parts - 1, axis)),
        ("tile", (tuple(draw(st.lists(st.integers(0, 2), min_size=1, max_size=3))),)),
        ("array_split", (parts, axis)),
        (
            "delete",
            (draw(st.lists(st.integers(0, max(host.shape[axis] - 1, 0)), max_size=3 * bool(host.shape[axis]))), axis),
        ),
        ("cumsum", (axis,)),
        ("atleast_3d", ()),
        ("ravel", ()),
        ("transpose", ()),
        ("append", (host[:1], 0)),
        ("resize", ((draw(st.integers(0, 3)), draw(st.integers(0, 3))),)),
    ]
    if host.ndim > 1 and axis % host.ndim != other % host.ndim:
        calls += [
            ("rot90", (shift, (axis, other))),
            ("diagonal", (shift, axis, other)),
            ("trace", (shift, axis, other)),
        ]
    name, how = draw(st.sampled_from(calls))
    return name, host, how


@given(movements())
def test_movements(call: tuple[str, numpy.ndarray, tuple[Any, ...]]) -> None:
    name, host, how = call
    with xp.use(InterpretedRuntime()):
        same(getattr(ours, name)(ours.asarray(host), *how), getattr(numpy, name)(host, *how))
