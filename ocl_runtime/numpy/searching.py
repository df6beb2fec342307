"""NumPy's functions that say where elements are: the greatest and the least, places in sorted lines."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import ocl_runtime.arrays as xp
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.errors import DTypeError, ShapeError
from ocl_runtime.numpy.folds import as_common
from ocl_runtime.numpy.operands import NOT_GIVEN, array_of, arrays, arrays_in, into
from ocl_runtime.plan.tracing import Question, asking

__all__ = ["argmax", "argmin", "digitize", "nanargmax", "nanargmin", "searchsorted"]

_ORDER = Question("whether bins rise or fall", "give bins of the host: digitize(x, [0, 1, 2])")


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
    """The number of the interval between the bins, which rise or fall, that each element is in. Which of both bins of
    the device do is waited for. A bin belongs to the interval above it, or below with `right`.

    Raises `ShapeError` for bins that are no line, and for a line that neither rises nor falls; `DTypeError` for complex
    elements.
    """
    value, edge = arrays("digitize", (x, bins))
    if value.dtype.kind == "c":
        raise DTypeError(
            f"digitize of {value.dtype}", place=calling_line(), remedy="take a part first: real(x), imag(x) or abs(x)"
        )
    if edge.ndim != 1:
        raise ShapeError(
            f"digitize with bins of shape {edge.shape}", place=calling_line(), remedy="give a line of bins"
        )
    falls = _falls(edge if arrays_in(bins) else bins)
    # A bin that falls behind the element is one that rises in front of it.
    number = searchsorted(xp.flip(edge) if falls else edge, value, "left" if right else "right")
    return edge.size - number if falls else number


def _falls(bins: Any) -> bool:
    """Whether bins fall. Those that are all equal rise, and NaN is in order beside everything."""
    if isinstance(bins, Array):
        rises, falls = (xp.logical_not(xp.any(x)) for x in (bins[:-1] > bins[1:], bins[:-1] < bins[1:]))
        with asking(_ORDER):
            is_rising, is_falling = xp.stack([rises, falls]).tolist()
    else:
        line = np.asarray(bins)
        is_rising, is_falling = not (line[:-1] > line[1:]).any(), not (line[:-1] < line[1:]).any()
    if not is_rising and not is_falling:
        raise ShapeError(
            "digitize with bins that neither rise nor fall", place=calling_line(), remedy="sort them first"
        )
    return not is_rising
