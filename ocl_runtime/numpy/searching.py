"""NumPy's functions that say where elements are: the greatest and the least, places in sorted lines."""

from __future__ import annotations

import math
from typing import Any

import ocl_runtime.arrays as xp
from ocl_runtime.arrays import Array
from ocl_runtime.numpy.folds import as_common
from ocl_runtime.numpy.operands import NOT_GIVEN, array_of, arrays, into

__all__ = ["argmax", "argmin", "digitize", "nanargmax", "nanargmin", "searchsorted"]


def argmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NOT_GIVEN) -> Any:
    """The place of the first of the greatest elements along an axis; NaN counts as greatest. Without an axis, the place
    in the flat array."""
    return into("argmax", xp.argmax(array_of(a), axis, keepdims=keepdims is not NOT_GIVEN and keepdims), out)


def argmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NOT_GIVEN) -> Any:
    """The place of the first of the least elements along an axis; NaN counts as least. Without an axis, the place
    in the flat array."""
    return into("argmin", xp.argmin(array_of(a), axis, keepdims=keepdims is not NOT_GIVEN and keepdims), out)


def nanargmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NOT_GIVEN) -> Any:
    """As `argmax` of what is not NaN; of nothing else but NaN it is 0, where NumPy raises an error."""
    return argmax(_without_nan(a, -math.inf), axis, out, keepdims=keepdims)


def nanargmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NOT_GIVEN) -> Any:
    """As `argmin` of what is not NaN; of nothing else but NaN it is 0, where NumPy raises an error."""
    return argmin(_without_nan(a, math.inf), axis, out, keepdims=keepdims)


def _without_nan(a: Any, worst: float) -> Array:
    x = array_of(a)
    return xp.where(xp.isnan(x), worst, x) if x.dtype.kind == "f" else x


def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Array:
    """The place in a sorted line before which each element would be put: in front of equal ones, or behind them for
    the right side."""
    table, values = as_common(*arrays("searchsorted", (a, v)))
    order = None if sorter is None else array_of(sorter, executor=table._executor)
    return xp.searchsorted(table, values, side, sorter=order)


def digitize(x: Any, bins: Any, right: bool = False) -> Array:
    """The number of the interval between the bins, which rise or fall, that each element is in; whether they fall is
    waited for. A bin belongs to the interval above it, or below with `right`."""
    value, edge = arrays("digitize", (x, bins))
    side = "left" if right else "right"
    if edge.size > 1 and bool(edge[0] > edge[-1]):
        return edge.size - searchsorted(xp.flip(edge), value, side)
    return searchsorted(edge, value, side)
