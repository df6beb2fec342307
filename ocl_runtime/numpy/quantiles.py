"""NumPy's medians and quantiles, those that leave NaN out too.

Elements are sorted along the axes, and each quantile is taken between two neighbours: of the thirteen methods, those of
Hyndman and Fan, Sample quantiles in statistical packages (1996), and four more. The formulas are evaluated in NumPy's
order and dtypes, so that results have NumPy's bits: on the host where the number of elements is known there, and on the
device where NaN is left out, since each place has a number of its own then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

import ocl_runtime.arrays as xp
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.array import ordered_array_of
from ocl_runtime.arrays.axes import axes_of
from ocl_runtime.errors import IndexingError, ShapeError
from ocl_runtime.numpy.elementwise import UFUNCS
from ocl_runtime.numpy.operands import NOT_GIVEN, array_of, floats, host, into, uploaded_floats
from ocl_runtime.numpy.reductions import nanmean
from ocl_runtime.numpy.sorting import in_order
from ocl_runtime.numpy.weighted_quantiles import weighted_quantile, weights_of

__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]


# ---------------------------------------------------------------------- where a quantile is


class _Method(NamedTuple):
    """Where the quantile `q` of `n` elements is among them, and how far from the element before towards the next. The
    first argument is a namespace, NumPy's or the standard's. A method without `fraction` takes an element."""

    place: Callable[[Any, Any, Any], Any]
    fraction: Callable[[Any, Any, Any], Any] | None = None


def _continuous(alpha: float, beta: float) -> _Method:
    """A line through the elements, which lie where the method's constants say."""
    return _Method(lambda xp, n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1, lambda xp, gamma, index: gamma)


def _stepwise(shift: float, keeps: Callable[[Any, Any, Any], Any]) -> _Method:
    """The element behind `n q - shift`, or the one before where `keeps` says so; none is before the first."""

    def index(xp: Any, n: Any, q: Any) -> Any:
        place = n * q - 1 - shift if shift else n * q - 1
        before = xp.floor(place)
        return xp.maximum(xp.where(keeps(xp, place - before, before), before, before + 1), 0)

    return _Method(index)


_METHODS: Mapping[str, _Method] = MappingProxyType(
    {
        "inverted_cdf": _stepwise(0, lambda xp, gamma, before: gamma == 0),
        "averaged_inverted_cdf": _Method(
            lambda xp, n, q: n * q - 1, lambda xp, gamma, index: xp.where(gamma == 0, 0.5, 1.0)
        ),
        "closest_observation": _stepwise(0.5, lambda xp, gamma, before: (gamma == 0) & (before % 2 == 1)),
        "interpolated_inverted_cdf": _continuous(0, 1),
        "hazen": _continuous(0.5, 0.5),
        "weibull": _continuous(0, 0),
        "linear": _Method(lambda xp, n, q: (n - 1) * q, lambda xp, gamma, index: gamma),
        "median_unbiased": _continuous(1 / 3.0, 1 / 3.0),
        "normal_unbiased": _continuous(3 / 8.0, 3 / 8.0),
        "lower": _Method(lambda xp, n, q: xp.floor((n - 1) * q)),
        "higher": _Method(lambda xp, n, q: xp.ceil((n - 1) * q)),
        "midpoint": _Method(
            lambda xp, n, q: 0.5 * (xp.floor((n - 1) * q) + xp.ceil((n - 1) * q)),
            lambda xp, gamma, index: xp.where(index % 1 == 0, 0.0, 0.5),
        ),
        "nearest": _Method(lambda xp, n, q: xp.round((n - 1) * q)),
    }
)


class _Places(NamedTuple):
    """The numbers of the elements before and behind quantiles, and how far these are from the first to the second, None
    where they are the first."""

    before: Any
    behind: Any
    fraction: Any


def _places(namespace: Any, method: _Method, n: Any, q: Any, *, whole: bool) -> _Places:
    """Where quantiles of `n` elements are; of the ends, both elements are the last or the first one. `whole`: `q` are
    integers, which a line takes to elements."""
    index = method.place(namespace, n, q)
    if method.fraction is None or whole:
        return _Places(index, index, None)
    before = namespace.floor(index)
    above, below = index >= n - 1, index < 0
    number = namespace.where(below, 0.0, before)
    # What NumPy takes the fraction from at the upper end, where it is of no difference but to the sign of a zero.
    gamma = index - namespace.where(above, -1.0, number)
    behind = namespace.where(above, n - 1, namespace.where(below, 0.0, before + 1))
    return _Places(namespace.where(above, n - 1, number), behind, method.fraction(namespace, gamma, index))


# ---------------------------------------------------------------------- elements in order


class _Lines(NamedTuple):
    """Elements along the first axis, which the axes of a reduction became, and the shape of the result with these axes
    kept or not."""

    x: Array
    shape: tuple[int, ...]


def _lines(what: str, x: Array, axis: Any, keepdims: Any) -> _Lines:
    axes = axes_of(what, axis, x.ndim)
    others = [number for number in range(x.ndim) if number not in axes]
    rest = [x.shape[number] for number in others]
    keep = keepdims is not NOT_GIVEN and keepdims
    shape = tuple(1 if n in axes else x.shape[n] for n in range(x.ndim)) if keep else tuple(rest)
    length = x.size // max(1, int(np.prod(rest))) if x.size else int(np.prod([x.shape[number] for number in axes]))
    return _Lines(xp.reshape(xp.permute_dims(x, (*sorted(axes), *others)), (length, *rest)), shape)


def _numbers(ordered: Array) -> Array:
    """How many elements in order along the first axis are not NaN, which is last."""
    return xp.sum(xp.equal(ordered, ordered), axis=0)


def _unless_nan(result: Array, ordered: Array) -> Array:
    """A result, and NaN where an element was."""
    if ordered.dtype.kind not in "fc":
        return result
    last = ordered[-1]
    return xp.where(xp.isnan(last), xp.astype(last, result.dtype, copy=False), result)


# ---------------------------------------------------------------------- medians


def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    """The middle element along axes (by default all) in ascending order, or the mean of two; NaN if there is one, and
    of no elements. Integers give float64."""
    del overwrite_input  # nothing is
    x, shape = _lines("median", array_of(a), axis, keepdims)
    ordered, count = in_order(x, 0), x.shape[0]
    if not count:
        result = xp.full_like(xp.sum(floats(ordered)[0], axis=0), np.nan)
    else:
        (low,), (high,) = floats(ordered[(count - 1) // 2]), floats(ordered[count // 2])
        result = _unless_nan(low if count % 2 else _middle(low, high), ordered)
    return into("median", xp.reshape(result, shape), out)


def nanmedian(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = NOT_GIVEN
) -> Any:
    """As `median` of what is not NaN; NaN where there is nothing else."""
    x = array_of(a)
    if x.dtype.kind not in "fc" or not x.size:
        return median(x, axis, out, overwrite_input, keepdims is not NOT_GIVEN and keepdims)
    line, shape = _lines("nanmedian", x, axis, keepdims)
    ordered = in_order(line, 0)
    count = _numbers(ordered)
    places = xp.stack([xp.maximum(count - 1, 0) // 2, xp.minimum(count // 2, xp.maximum(count - 1, 0))])
    low, high = xp.unstack(xp.take_along_axis(ordered, places, axis=0))
    result = xp.where(count % 2 == 0, _middle(low, high), low)  # of nothing, the first is NaN
    return into("nanmedian", xp.reshape(result, shape), out)


def _middle(low: Array, high: Array) -> Array:
    if low.dtype.itemsize > 2:
        return (low + high) / 2
    return xp.astype((xp.astype(low, np.float32) + xp.astype(high, np.float32)) / 2, low.dtype)


# ---------------------------------------------------------------------- quantiles


def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """The elements, or numbers between them, below which a part `q` of all along axes (by default all) lies, for each
    of several parts along the first axes of the result; NaN if there is one. Parts are on the host, or waited for.

    Raises `ShapeError` for parts that are not from 0 to 1 or have three axes, and for a method that does not exist,
    `IndexingError` of no elements. With weights, which the method "inverted_cdf" takes, see `weighted_quantiles`.
    """
    del overwrite_input
    return _quantile("quantile", a, _parts("quantile", q, 1), axis, out, method, keepdims, weights, without_nan=False)


def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """As `quantile` of parts in hundredths."""
    del overwrite_input
    parts = _parts("percentile", q, 100)
    return _quantile("percentile", a, parts, axis, out, method, keepdims, weights, without_nan=False)


def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = NOT_GIVEN,
    *,
    weights: Any = None,
) -> Any:
    """As `quantile` of what is not NaN; NaN where there is nothing else."""
    del overwrite_input
    parts = _parts("nanquantile", q, 1)
    return _quantile("nanquantile", a, parts, axis, out, method, keepdims, weights, without_nan=True)


def nanpercentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = NOT_GIVEN,
    *,
    weights: Any = None,
) -> Any:
    """As `nanquantile` of parts in hundredths."""
    del overwrite_input
    parts = _parts("nanpercentile", q, 100)
    return _quantile("nanpercentile", a, parts, axis, out, method, keepdims, weights, without_nan=True)


class _Parts(NamedTuple):
    """The parts on the host, and whether they were one of Python's numbers, which has no dtype of its own."""

    values: Any
    weak: bool


def _parts(what: str, q: Any, whole: int) -> _Parts:
    parts = np.asarray(host(q))
    if parts.dtype.kind == "u":
        parts = parts.astype(np.int64)  # the place before the first element is none of theirs
    if whole != 1:
        parts = np.asarray(np.true_divide(parts, whole))
    if parts.ndim > 2 or not ((parts >= 0) & (parts <= 1)).all():
        raise ShapeError(
            f"{what} of {q!r}", place=calling_line(), remedy=f"give parts from 0 to {whole}, along two axes at most"
        )
    return _Parts(parts, type(q) in (int, float))


def _quantile(
    what: str,
    a: Any,
    parts: _Parts,
    axis: Any,
    out: Any,
    method: str,
    keepdims: Any,
    weights: Any,
    *,
    without_nan: bool,
) -> Any:
    if method not in _METHODS:
        raise ShapeError(
            f"{what} by the method {method!r}", place=calling_line(), remedy=f"use one of {', '.join(_METHODS)}"
        )
    x = ordered_array_of(what, array_of(a))
    if without_nan and not x.size:
        return nanmean(x, axis, out=out, keepdims=keepdims)
    line, shape = _lines(what, x, axis, keepdims)
    if not line.shape[0]:
        raise IndexingError(f"{what} of no elements", place=calling_line(), remedy="check x.size first")
    if weights is not None:
        if method != "inverted_cdf":
            raise ShapeError(
                f"{what} with weights by the method {method!r}", place=calling_line(), remedy='use "inverted_cdf"'
            )
        heavy, _ = _lines(what, weights_of(what, weights, x, axis), axis, keepdims)
        result = weighted_quantile(line, heavy, parts.values, without_nan=without_nan)
    else:
        whole = method == "linear" and parts.values.dtype.kind in "iub"
        find = _without_nan if without_nan and x.dtype.kind == "f" else _of_all
        result = find(in_order(line, 0), parts, _METHODS[method], whole=whole)
    return into(what, xp.reshape(result, (*parts.values.shape, *shape)), out)


def _of_all(ordered: Array, parts: _Parts, method: _Method, *, whole: bool) -> Array:
    places = _places(np, method, ordered.shape[0], parts.values, whole=whole)
    before, behind = (ordered[_number(place)] for place in (places.before, places.behind))
    fraction = places.fraction
    if fraction is None:
        return _unless_nan(before, ordered)
    if parts.weak:
        t, difference = float(fraction), UFUNCS["subtract"](behind, before)
        if t < 0.5:
            result = UFUNCS["add"](before, UFUNCS["multiply"](difference, t))
        else:
            result = UFUNCS["subtract"](behind, UFUNCS["multiply"](difference, 1 - t))
        return _unless_nan(result, ordered)
    if ordered.dtype.kind in "iu" and method.place(np, ordered.shape[0], parts.values).dtype.kind in "iu":
        # Parts that are integers are the ends, which are elements; NumPy computes in integers there.
        return xp.astype(before, np.result_type(ordered.dtype, np.int64))
    way = np.asarray(fraction, parts.values.dtype if parts.values.dtype.kind == "f" else np.float64)
    spread = uploaded_floats(way.reshape(way.shape + (1,) * (ordered.ndim - 1)), ordered)
    return _unless_nan(_between(before, behind, spread, 1 - spread, spread), ordered)


def _number(place: Any) -> Any:
    """Places of the host as an index."""
    return place.astype(np.intp) if place.ndim else int(place)


def _without_nan(ordered: Array, parts: _Parts, method: _Method, *, whole: bool) -> Array:
    count = _numbers(ordered)
    q, rest = parts.values, count.shape
    real = q.dtype if q.dtype.kind == "f" else np.dtype(np.float64)
    spread = uploaded_floats(q.astype(real).reshape((q.size,) + (1,) * len(rest)), ordered)
    # Of nothing else but NaN, the first element is taken.
    n = xp.astype(xp.maximum(count, 1), spread.dtype)
    places = _places(xp, method, n, spread, whole=whole)
    before, behind = (
        xp.take_along_axis(ordered, xp.astype(place, np.int64), axis=0) for place in (places.before, places.behind)
    )
    if places.fraction is None:
        return before
    fraction = xp.astype(places.fraction, spread.dtype, copy=False)
    t, left = fraction, 1 - fraction
    if parts.weak and ordered.dtype.kind == "f":
        t, left = (xp.astype(part, ordered.dtype, copy=False) for part in (t, left))
    return _between(before, behind, t, left, fraction)


def _between(before: Array, behind: Array, t: Array, left: Array, fraction: Array) -> Array:
    """Elements a fraction of the way from one to another, counted from the nearer one: `t` is the way from the one in
    front, `left` from the one behind."""
    difference = UFUNCS["subtract"](behind, before)
    forth = UFUNCS["add"](before, UFUNCS["multiply"](difference, t))
    back = UFUNCS["subtract"](behind, UFUNCS["multiply"](difference, left))
    return xp.where(xp.greater_equal(fraction, 0.5), back, forth)
