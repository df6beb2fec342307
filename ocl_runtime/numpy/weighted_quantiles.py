"""Quantiles of elements with weights: the first element in ascending order up to which a part of all weight lies."""

from __future__ import annotations

from typing import Any

import numpy as np

import ocl_runtime.arrays as xp
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.axes import axes_of
from ocl_runtime.errors import DTypeError, ShapeError
from ocl_runtime.numpy.operands import array_of, uploaded_floats
from ocl_runtime.numpy.promotion import on_device
from ocl_runtime.numpy.reductions import weights_along


def weights_of(what: str, weights: Any, x: Array, axis: Any) -> Array:
    """The weight of each element of `x`: weights have its shape, or that of the axes in the order in which they are
    named. Raises `DTypeError` where these are not named, `ShapeError` for other shapes and, of weights of the host, for
    negative ones, NaN, and sums that are infinite or 0."""
    weight = array_of(weights, executor=x._executor)
    is_each = weight.shape == x.shape
    if not isinstance(weights, Array):
        _check_values(what, np.asarray(weights), axis if is_each else None)
    if is_each:
        return weight
    place = calling_line()
    if axis is None:
        raise DTypeError(
            f"{what} of shape {x.shape} with weights of shape {weight.shape}", place=place, remedy="name the axes"
        )
    named = [axes_of(what, number, x.ndim)[0] for number in (axis if isinstance(axis, tuple) else (axis,))]
    lengths = tuple(x.shape[number] for number in named)
    if weight.shape != lengths:
        raise ShapeError(
            f"{what} along axes of lengths {lengths} with weights of shape {weight.shape}",
            place=place,
            remedy="give one weight for each element along the axes, or for each of all elements",
        )
    return xp.broadcast_to(weights_along(weight, axis, x.ndim), x.shape)


def _check_values(what: str, weights: np.ndarray[Any, Any], axis: Any) -> None:
    totals = weights.sum(axis=axis)
    if not ((weights >= 0).all() and (totals > 0).all() and np.isfinite(totals).all()):
        raise ShapeError(
            f"{what} with weights that are negative, or have no positive and finite sum",
            place=calling_line(),
            remedy="give weights from 0 up, one of them above 0",
        )


def weighted_quantile(x: Array, weight: Array, parts: np.ndarray[Any, Any], *, without_nan: bool = False) -> Array:
    """For each of some parts of the weight, the elements along the first axis in which it is reached; NaN if there is
    one, or, `without_nan`, if there is nothing else. The results follow each other along the first axis."""
    heavy = xp.astype(weight, on_device(np.dtype(np.float64), x._executor))
    order = xp.argsort(x, axis=0)
    ordered, heavy = (xp.take_along_axis(part, order, axis=0) for part in (x, heavy))
    is_nan = xp.isnan(ordered) if x.dtype.kind == "f" else xp.zeros_like(ordered, dtype=bool)
    if without_nan:
        heavy = xp.where(is_nan, 0.0, heavy)
    below = xp.cumulative_sum(heavy, axis=0)
    dtype = parts.dtype if parts.dtype.kind == "f" else np.dtype(np.float64)
    below = xp.astype(below / below[-1], on_device(dtype, x._executor), copy=False)
    below = xp.where(below == 0, -1.0, below)  # an element without weight is none, not even the first one
    asked = uploaded_floats(parts.astype(dtype).reshape((-1, 1) + (1,) * (x.ndim - 1)), x)
    last = xp.sum(xp.logical_not(is_nan), axis=0) - 1 if without_nan else x.shape[0] - 1
    index = xp.maximum(xp.minimum(xp.sum(below < asked, axis=1), last), 0)
    result = xp.take_along_axis(ordered, index, axis=0)
    return result if without_nan else xp.where(is_nan[-1], ordered[-1], result)
