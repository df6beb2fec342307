"""NumPy's functions that put elements in order."""

from __future__ import annotations

from typing import Any

import numpy as np

import ocl_runtime.arrays as xp
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.array import ordered_array_of
from ocl_runtime.arrays.axes import axis_of
from ocl_runtime.errors import DTypeError, Error, ShapeError
from ocl_runtime.numpy.operands import array_of, arrays, host

__all__ = ["argpartition", "argsort", "lexsort", "partition", "sort"]

_KINDS = frozenset({"quicksort", "heapsort", "mergesort", "stable"})


def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Array:
    """The elements along an axis in ascending order, without an axis those of the flat array; NaN last. Equal elements
    stay in their order, whatever the kind."""
    _check_kind("sort", kind, stable)
    x, axis = _operand("sort", a, axis, order)
    return xp.sort(x, axis=axis)


def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Array:
    """The places of the elements along an axis in the order that `sort` brings them into."""
    _check_kind("argsort", kind, stable)
    x, axis = _operand("argsort", a, axis, order)
    return xp.argsort(x, axis=axis)


def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Array:
    """The elements along an axis with element `kth` where a sort puts it, none greater in front of it, and none less
    behind it: all of them sorted, which is one such order. `ocl_runtime.top_k` sorts less."""
    x, axis = _divided("partition", a, kth, axis, kind, order)
    return xp.sort(x, axis=axis)


def argpartition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Array:
    """The places of the elements along an axis in the order that `partition` brings them into."""
    x, axis = _divided("argpartition", a, kth, axis, kind, order)
    return xp.argsort(x, axis=axis)


def lexsort(keys: Any, axis: Any = -1) -> Array:
    """The places along an axis in the order of several keys, arrays of one shape: by the last of them, where that is
    equal by the one before, and so on.

    Raises `ShapeError` for no keys, and for keys of different shapes.
    """
    lines = xp.unstack(keys) if isinstance(keys, Array) and keys.ndim else arrays("lexsort", keys)
    if not lines or any(line.shape != lines[0].shape for line in lines):
        raise ShapeError(
            f"lexsort of keys of shapes {[line.shape for line in lines]}",
            place=calling_line(),
            remedy="give arrays of one shape, at least one",
        )
    if not lines[0].ndim:
        return xp.zeros_like(lines[0], dtype="i8")
    axis = axis_of("lexsort", axis, lines[0].ndim)
    order = xp.argsort(lines[0], axis=axis)
    for line in lines[1:]:
        then = xp.argsort(xp.take_along_axis(line, order, axis=axis), axis=axis)
        order = xp.take_along_axis(order, then, axis=axis)
    return order


def _check_kind(name: str, kind: Any, stable: Any) -> None:
    if kind is not None and (stable is not None or kind not in _KINDS):
        raise Error(
            f"{name} of the kind {kind!r}{'' if stable is None else f' and stable={stable!r}'}",
            place=calling_line(),
            remedy=f"give one of {', '.join(sorted(_KINDS))}, or `stable` alone; all are stable",
        )


def _operand(name: str, a: Any, axis: Any, order: Any) -> tuple[Array, int]:
    if order is not None:
        raise Error(f"{name} by fields", place=calling_line(), remedy="arrays have none: leave `order` out")
    x = ordered_array_of(name, array_of(a))
    return (xp.reshape(x, -1), -1) if axis is None else (x, axis)


def _divided(name: str, a: Any, kth: Any, axis: Any, kind: str, order: Any) -> tuple[Array, int]:
    x, axis = _operand(name, a, axis, order)
    length = x.shape[axis_of(name, axis, x.ndim)]
    places = np.asarray(host(kth))
    if places.dtype == np.bool_ or places.ndim > 1:
        raise ShapeError(f"{name} at {kth!r}", place=calling_line(), remedy="give a place, or a list of places")
    if places.dtype.kind not in "iu":
        raise DTypeError(f"{name} at places of {places.dtype}", place=calling_line(), remedy="give integers")
    for place in places.reshape(-1).tolist():
        if not -length <= place < length:
            raise ShapeError(
                f"{name} at {place} of {length} elements", place=calling_line(), remedy="give places that there are"
            )
    if kind != "introselect":
        raise Error(f"{name} of the kind {kind!r}", place=calling_line(), remedy='there is "introselect" only')
    return x, axis
