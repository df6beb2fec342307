"""What ufuncs make of several elements: `reduce` and `accumulate`, which the named reductions are too.

A fold takes the elements along axes to one. `initial` is one element more, and `where` says which take part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

import ocl_runtime.arrays as xp
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.axes import axes_of, axis_of
from ocl_runtime.errors import ShapeError
from ocl_runtime.numpy import translated
from ocl_runtime.numpy.operands import NOT_GIVEN, array_of, common, into
from ocl_runtime.numpy.promotion import DTypeLike

REDUCTIONS: Mapping[str, Callable[..., Array]] = MappingProxyType(
    {
        "add": xp.sum,
        "multiply": xp.prod,
        "maximum": xp.max,
        "minimum": xp.min,
        "logical_and": xp.all,
        "logical_or": xp.any,
    }
)
"""The function of the standard that reduces by a ufunc."""
_NEUTRAL: Mapping[str, Any] = MappingProxyType({"add": 0, "multiply": 1, "logical_and": True, "logical_or": False})
_JOIN: Mapping[str, Callable[..., Array]] = MappingProxyType(
    {
        "add": xp.add,
        "multiply": xp.multiply,
        "maximum": xp.maximum,
        "minimum": xp.minimum,
        "logical_and": xp.logical_and,
        "logical_or": xp.logical_or,
    }
)


def fold(
    what: str,
    ufunc: str,
    a: Any,
    axis: Any = None,
    dtype: DTypeLike = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = NOT_GIVEN,
    where: Any = True,
) -> Any:
    """The elements along axes joined by a ufunc of `REDUCTIONS`; `what` is the function that the user called.

    Raises `ShapeError` for the greatest or least of no elements without `initial`.
    """
    x, keep = array_of(a), keepdims is not NOT_GIVEN and bool(keepdims)
    if out is None and dtype is None and initial is NOT_GIVEN and where is NOT_GIVEN:
        return REDUCTIONS[ufunc](x, axis=axis, keepdims=keep)
    sums, has_neutral = ufunc in {"add", "multiply"}, ufunc in _NEUTRAL
    begin = None if initial is NOT_GIVEN else initial
    if where is not True and where is not NOT_GIVEN:
        if begin is None and not has_neutral:
            raise ShapeError(
                f"{what} with where= and without initial=, which is what there is where nothing takes part",
                place=calling_line(),
                remedy=f"give one: {what}(x, where=mask, initial=0)",
            )
        neutral = _NEUTRAL[ufunc] if has_neutral else _value(begin, x.dtype)
        x = xp.where(array_of(where, np.bool_, x._executor), x, neutral)
    if begin is not None and not has_neutral and 0 in [x.shape[number] for number in axes_of(what, axis, x.ndim)]:
        result = xp.full_like(xp.sum(x, axis=axis, keepdims=keep), _value(begin, x.dtype), dtype=x.dtype)
    else:
        result = REDUCTIONS[ufunc](x, axis=axis, keepdims=keep, **({"dtype": dtype} if sums else {}))
        if begin is not None:
            result = _JOIN[ufunc](result, _value(begin, result.dtype))
    return into(what, result if sums else array_of(result, dtype), out)


def _value(initial: Any, dtype: np.dtype[Any]) -> Any:
    """A first value as NumPy has it: cut to integers, or taken as whether it is not 0."""
    if isinstance(initial, Array):
        return xp.astype(initial, dtype)
    if dtype.kind == "b":
        return bool(initial)
    return int(initial) if dtype.kind in "iu" else initial


def running(what: str, ufunc: str, a: Any, axis: Any, dtype: DTypeLike, out: Any) -> Any:
    """The elements joined with all before them along an axis; None makes the array flat first."""
    x = array_of(a)
    if axis is None:
        x, axis = xp.reshape(x, -1), 0
    axis = axis_of(what, axis, x.ndim)
    result = _RUNNING[ufunc](x, axis, dtype)
    return into(what, result, out)


def _sums(x: Array, axis: int, dtype: DTypeLike) -> Array:
    return xp.cumulative_sum(x, axis=axis, dtype=dtype)


def _products(x: Array, axis: int, dtype: DTypeLike) -> Array:
    return xp.cumulative_prod(x, axis=axis, dtype=dtype)


def _ever(x: Array, axis: int, dtype: DTypeLike) -> Array:
    return array_of(xp.cumulative_sum(xp.astype(x, np.bool_), axis=axis) > 0, dtype)


def _always(x: Array, axis: int, dtype: DTypeLike) -> Array:
    return array_of(xp.cumulative_sum(xp.logical_not(x), axis=axis) == 0, dtype)


def _greatest(x: Array, axis: int, dtype: DTypeLike) -> Array:
    x = array_of(x, dtype)
    return _ever(x, axis, np.bool_) if x.dtype == np.bool_ else translated.running(translated.greater, x, axis)


def _least(x: Array, axis: int, dtype: DTypeLike) -> Array:
    x = array_of(x, dtype)
    return _always(x, axis, np.bool_) if x.dtype == np.bool_ else translated.running(translated.lesser, x, axis)


_RUNNING: Mapping[str, Callable[[Array, int, DTypeLike], Array]] = MappingProxyType(
    {
        "add": _sums,
        "multiply": _products,
        "logical_or": _ever,
        "logical_and": _always,
        "maximum": _greatest,
        "minimum": _least,
    }
)
ACCUMULATES = frozenset(_RUNNING)
"""The ufuncs that `running` knows."""


def element_count(x: Array, axis: Any, where: Any) -> Any:
    """How many elements along axes take part: a number, or where `where` says which, an array with axes kept."""
    if where is True or where is NOT_GIVEN:
        count = 1
        for number in axes_of("a reduction", axis, x.ndim):
            count *= x.shape[number]
        return count
    mask = xp.broadcast_to(array_of(where, np.bool_, x._executor), x.shape)
    return xp.sum(mask, axis=axis, keepdims=True)


def as_common(*arrays: Array) -> list[Array]:
    """The arrays in the dtype to which NumPy promotes them."""
    if not arrays:
        return []
    dtype = common(*arrays)
    return [xp.astype(x, dtype, copy=False) for x in arrays]
