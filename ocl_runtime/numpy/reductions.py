"""NumPy's reductions and running sums, those that leave NaN out too.

Where NumPy makes float64 of integers (means, deviations), so do these.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import ocl_runtime.arrays as xp
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.meaning.dtypes import common_of
from ocl_runtime.numpy.folds import element_count, fold, running
from ocl_runtime.numpy.operands import NOT_GIVEN, array_of, floats, into
from ocl_runtime.numpy.promotion import DTypeLike, dtype_of

__all__ = [
    "all", "amax", "amin", "any", "average", "count_nonzero", "cumprod", "cumsum", "cumulative_prod", "cumulative_sum",
    "max", "mean", "min", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum",
    "nanvar", "prod", "ptp", "std", "sum", "var",
]  # fmt: skip


def sum(
    a: Any,
    axis: Any = None,
    dtype: DTypeLike = None,
    out: Any = None,
    keepdims: Any = NOT_GIVEN,
    initial: Any = NOT_GIVEN,
    where: Any = NOT_GIVEN,
) -> Any:
    """The sum along axes, by default all. Floats keep their dtype, integers and bools give int64 or uint64."""
    return fold("sum", "add", a, axis, dtype, out, keepdims, initial, where)


def prod(
    a: Any,
    axis: Any = None,
    dtype: DTypeLike = None,
    out: Any = None,
    keepdims: Any = NOT_GIVEN,
    initial: Any = NOT_GIVEN,
    where: Any = NOT_GIVEN,
) -> Any:
    """The product along axes; dtypes as of `sum`."""
    return fold("prod", "multiply", a, axis, dtype, out, keepdims, initial, where)


def max(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NOT_GIVEN,
    initial: Any = NOT_GIVEN,
    where: Any = NOT_GIVEN,
) -> Any:
    """The greatest element along axes; NaN if there is one."""
    return fold("max", "maximum", a, axis, None, out, keepdims, initial, where)


def min(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NOT_GIVEN,
    initial: Any = NOT_GIVEN,
    where: Any = NOT_GIVEN,
) -> Any:
    """The least element along axes; NaN if there is one."""
    return fold("min", "minimum", a, axis, None, out, keepdims, initial, where)


amax = max
amin = min


def all(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NOT_GIVEN, *, where: Any = NOT_GIVEN) -> Any:
    """Whether all elements along axes are not 0."""
    return fold("all", "logical_and", a, axis, None, out, keepdims, where=where)


def any(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NOT_GIVEN, *, where: Any = NOT_GIVEN) -> Any:
    """Whether an element along axes is not 0."""
    return fold("any", "logical_or", a, axis, None, out, keepdims, where=where)


def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Array:
    """How many elements along axes are not 0."""
    return xp.count_nonzero(array_of(a), axis=axis, keepdims=keepdims)


def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NOT_GIVEN) -> Any:
    """The greatest element less the least."""
    return into("ptp", max(a, axis, keepdims=keepdims) - min(a, axis, keepdims=keepdims), out)


# ---------------------------------------------------------------------- means


def _keep(keepdims: Any) -> bool:
    return keepdims is not NOT_GIVEN and bool(keepdims)


def _as(a: Any, dtype: DTypeLike) -> tuple[Array, np.dtype[Any] | None]:
    """Floats to add up, and the dtype of the result if it is another."""
    (x,) = floats(a)
    if dtype is None:
        return x, None
    wanted = dtype_of(dtype)
    return (array_of(x, wanted), None) if wanted.kind in "fc" else (x, wanted)


def mean(
    a: Any,
    axis: Any = None,
    dtype: DTypeLike = None,
    out: Any = None,
    keepdims: Any = NOT_GIVEN,
    *,
    where: Any = NOT_GIVEN,
) -> Any:
    """The sum along axes divided by the number of elements; NaN of none."""
    x, wanted = _as(a, dtype)
    if where is NOT_GIVEN or where is True:
        result = xp.mean(x, axis=axis, keepdims=_keep(keepdims))
    else:
        result = _without(_ratio(x, axis, where, 0), axis, keepdims)
    return into("mean", array_of(result, wanted), out)


def _ratio(x: Array, axis: Any, where: Any, ddof: Any) -> Array:
    """The sum of some elements divided by their number less `ddof`, with axes kept."""
    half = x.dtype.itemsize == 2
    total = fold("mean", "add", xp.astype(x, np.float32) if half else x, axis, None, None, True, where=where)
    count = element_count(x, axis, where)
    if isinstance(count, Array):
        left = xp.maximum(xp.astype(count - ddof, xp.real(total).dtype), 0)
        return xp.astype(total / left, x.dtype)
    left = count - ddof
    return xp.astype(total / (left if left > 0 else 0), x.dtype)


def _without(x: Array, axis: Any, keepdims: Any) -> Array:
    """The array without the axes of length 1 that a reduction kept."""
    if _keep(keepdims):
        return x
    return xp.squeeze(x, tuple(range(x.ndim)) if axis is None else axis)


def var(
    a: Any,
    axis: Any = None,
    dtype: DTypeLike = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = NOT_GIVEN,
    *,
    where: Any = NOT_GIVEN,
    mean: Any = NOT_GIVEN,
    correction: Any = NOT_GIVEN,
) -> Any:
    """The mean squared distance from the mean (or from `mean`, with axes kept), with the number of elements less
    `ddof`, which the standard calls `correction`."""
    x, wanted = _as(a, dtype)
    less = ddof if correction is NOT_GIVEN else correction
    if (where is NOT_GIVEN or where is True) and mean is NOT_GIVEN:
        result = xp.var(x, axis=axis, correction=less, keepdims=_keep(keepdims))
    else:
        wide = xp.astype(x, np.float32) if x.dtype.itemsize == 2 else x
        center = _ratio(wide, axis, where, 0) if mean is NOT_GIVEN else array_of(mean, executor=x._executor)
        squares = xp.square(xp.abs(wide - xp.astype(center, wide.dtype)))
        result = xp.astype(_without(_ratio(squares, axis, where, less), axis, keepdims), xp.real(x).dtype)
    return into("var", array_of(result, wanted), out)


def std(
    a: Any,
    axis: Any = None,
    dtype: DTypeLike = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = NOT_GIVEN,
    *,
    where: Any = NOT_GIVEN,
    mean: Any = NOT_GIVEN,
    correction: Any = NOT_GIVEN,
) -> Any:
    """The square root of `var`."""
    variance = var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)
    return into("std", xp.sqrt(variance), out)


def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = NOT_GIVEN) -> Any:
    """The mean along axes with weights: of the shape of `a`, or of that of the axes in their order. `returned` gives
    the sum of the weights too."""
    x = array_of(a)
    if weights is None:
        result = mean(x, axis, keepdims=keepdims)
        total = xp.full_like(result, element_count(x, axis, True))
    else:
        weight = array_of(weights, executor=x._executor)
        x, weight = (array_of(factor, common_of(x.dtype, weight.dtype, *_real(x))) for factor in (x, weight))
        if weight.shape != x.shape:
            weight = weights_along(weight, axis, x.ndim)
        weight = xp.broadcast_to(weight, x.shape)
        total = xp.sum(weight, axis=axis, keepdims=_keep(keepdims))
        result = xp.sum(x * weight, axis=axis, keepdims=_keep(keepdims)) / total
    return (result, total) if returned else result


def _real(x: Array) -> tuple[type, ...]:
    return () if x.dtype.kind in "fc" else (np.float64,)


def weights_along(weight: Array, axis: Any, ndim: int) -> Array:
    """Weights with an axis of length 1 for each that they do not have."""
    axes = [number % ndim for number in (axis if isinstance(axis, tuple) else (axis or 0,))]
    ordered = xp.permute_dims(weight, sorted(range(len(axes)), key=axes.__getitem__))
    lengths = iter(ordered.shape)
    return xp.reshape(ordered, tuple(next(lengths) if number in axes else 1 for number in range(ndim)))


# ---------------------------------------------------------------------- running


def cumsum(a: Any, axis: Any = None, dtype: DTypeLike = None, out: Any = None) -> Any:
    """The sums of all elements up to each along an axis; without one, of the flat array."""
    return running("cumsum", "add", a, axis, dtype, out)


def cumprod(a: Any, axis: Any = None, dtype: DTypeLike = None, out: Any = None) -> Any:
    """The products of all elements up to each along an axis; without one, of the flat array."""
    return running("cumprod", "multiply", a, axis, dtype, out)


def cumulative_sum(
    x: Any, /, *, axis: Any = None, dtype: DTypeLike = None, out: Any = None, include_initial: bool = False
) -> Any:
    """The standard's running sum: the axis may be left out where there is one."""
    result = xp.cumulative_sum(array_of(x), axis=axis, dtype=dtype, include_initial=include_initial)
    return into("cumulative_sum", result, out)


def cumulative_prod(
    x: Any, /, *, axis: Any = None, dtype: DTypeLike = None, out: Any = None, include_initial: bool = False
) -> Any:
    """The standard's running product: the axis may be left out where there is one."""
    result = xp.cumulative_prod(array_of(x), axis=axis, dtype=dtype, include_initial=include_initial)
    return into("cumulative_prod", result, out)


# ---------------------------------------------------------------------- without NaN


def _there(x: Array) -> Array:
    """Where the elements are numbers."""
    return xp.equal(x, x)


def _filled(a: Any, value: float) -> Array:
    """The elements with a number for NaN."""
    x = array_of(a)
    return xp.where(_there(x), x, value) if x.dtype.kind in "fc" else x


def _taking_part(x: Array, where: Any) -> Array:
    """The numbers among the elements that `where` says."""
    if where is NOT_GIVEN or where is True:
        return _there(x)
    return xp.logical_and(_there(x), array_of(where, np.bool_, x._executor))


def nansum(
    a: Any,
    axis: Any = None,
    dtype: DTypeLike = None,
    out: Any = None,
    keepdims: Any = NOT_GIVEN,
    initial: Any = NOT_GIVEN,
    where: Any = NOT_GIVEN,
) -> Any:
    """The sum along axes of what is not NaN."""
    return fold("nansum", "add", _filled(a, 0.0), axis, dtype, out, keepdims, initial, where)


def nanprod(
    a: Any,
    axis: Any = None,
    dtype: DTypeLike = None,
    out: Any = None,
    keepdims: Any = NOT_GIVEN,
    initial: Any = NOT_GIVEN,
    where: Any = NOT_GIVEN,
) -> Any:
    """The product along axes of what is not NaN."""
    return fold("nanprod", "multiply", _filled(a, 1.0), axis, dtype, out, keepdims, initial, where)


def nanmax(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NOT_GIVEN,
    initial: Any = NOT_GIVEN,
    where: Any = NOT_GIVEN,
) -> Any:
    """The greatest element along axes that is not NaN; NaN where there is none."""
    return _limit("nanmax", "maximum", -math.inf, a, axis, out, keepdims, initial, where)


def nanmin(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NOT_GIVEN,
    initial: Any = NOT_GIVEN,
    where: Any = NOT_GIVEN,
) -> Any:
    """The least element along axes that is not NaN; NaN where there is none."""
    return _limit("nanmin", "minimum", math.inf, a, axis, out, keepdims, initial, where)


def _limit(
    what: str, ufunc: str, worst: float, a: Any, axis: Any, out: Any, keepdims: Any, initial: Any, where: Any
) -> Any:
    x = array_of(a)
    result = fold(what, ufunc, _filled(x, worst), axis, None, None, keepdims, initial, where)
    if x.dtype.kind == "f" and initial is NOT_GIVEN:
        result = xp.where(xp.any(_there(x), axis=axis, keepdims=_keep(keepdims)), result, math.nan)
    return into(what, result, out)


def nanmean(
    a: Any,
    axis: Any = None,
    dtype: DTypeLike = None,
    out: Any = None,
    keepdims: Any = NOT_GIVEN,
    *,
    where: Any = NOT_GIVEN,
) -> Any:
    """The mean along axes of what is not NaN; NaN where there is nothing."""
    (x,) = floats(a)
    return mean(x, axis, dtype, out, keepdims, where=_taking_part(x, where))


def nanvar(
    a: Any,
    axis: Any = None,
    dtype: DTypeLike = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = NOT_GIVEN,
    *,
    where: Any = NOT_GIVEN,
    mean: Any = NOT_GIVEN,
    correction: Any = NOT_GIVEN,
) -> Any:
    """`var` along axes of what is not NaN; NaN where there is too little."""
    (x,) = floats(a)
    there = _taking_part(x, where)
    less = ddof if correction is NOT_GIVEN else correction
    variance = var(x, axis, dtype, None, less, True, where=there, mean=mean)
    enough = xp.greater(element_count(x, axis, there), less)
    return into("nanvar", _without(xp.where(enough, variance, math.nan), axis, keepdims), out)


def nanstd(
    a: Any,
    axis: Any = None,
    dtype: DTypeLike = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = NOT_GIVEN,
    *,
    where: Any = NOT_GIVEN,
    mean: Any = NOT_GIVEN,
    correction: Any = NOT_GIVEN,
) -> Any:
    """The square root of `nanvar`."""
    variance = nanvar(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)
    return into("nanstd", xp.sqrt(variance), out)


def nancumsum(a: Any, axis: Any = None, dtype: DTypeLike = None, out: Any = None) -> Any:
    """The running sums with 0 for NaN."""
    return running("nancumsum", "add", _filled(a, 0.0), axis, dtype, out)


def nancumprod(a: Any, axis: Any = None, dtype: DTypeLike = None, out: Any = None) -> Any:
    """The running products with 1 for NaN."""
    return running("nancumprod", "multiply", _filled(a, 1.0), axis, dtype, out)
