"""NumPy's functions that put elements in order."""

from __future__ import annotations

from typing import Any

import numpy as np

import ocl_runtime.arrays as xp
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.axes import axis_of
from ocl_runtime.arrays.functions.sorting import lexicographic_order, sort_keys
from ocl_runtime.errors import DTypeError, Error, ShapeError
from ocl_runtime.numpy.operands import NOT_GIVEN, array_of, arrays, host

__all__ = ["argpartition", "argsort", "lexsort", "partition", "sort"]

_KINDS = frozenset({"quicksort", "heapsort", "mergesort", "stable"})


def sort(
    a: Any,
    axis: Any = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: Any = None,
    descending: Any = NOT_GIVEN,
) -> Array:
    """The elements along an axis in ascending order, or `descending`, without an axis those of the flat array; NaN last
    in either. Equal elements stay in their order, whatever the kind. Complex numbers are in the order of their real
    parts, then of their imaginary ones."""
    _check_kind("sort", kind, stable, descending)
    x, number = _operand("sort", a, axis, order)
    if descending is NOT_GIVEN or not descending:
        return in_order(x, number)
    return -in_order(-x, number) if x.dtype.kind in "fc" else xp.sort(x, axis=number, descending=True)


def argsort(
    a: Any,
    axis: Any = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: Any = None,
    descending: Any = NOT_GIVEN,
) -> Array:
    """The places of the elements along an axis in the order that `sort` brings them into."""
    _check_kind("argsort", kind, stable, descending)
    x, number = _operand("argsort", a, axis, order)
    if descending is NOT_GIVEN or not descending:
        return _order(x, number)
    return _order(-x, number) if x.dtype.kind in "fc" else xp.argsort(x, axis=number, descending=True)


def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Array:
    """The elements along an axis with element `kth` where a sort puts it, none greater in front of it, and none less
    behind it: all of them sorted, which is one such order. `ocl_runtime.top_k` sorts less."""
    return in_order(*_divided("partition", a, kth, axis, kind, order))


def argpartition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Array:
    """The places of the elements along an axis in the order that `partition` brings them into."""
    return _order(*_divided("argpartition", a, kth, axis, kind, order))


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
    return lexicographic_order([key for line in lines for key in sort_keys(line)], axis)


def in_order(x: Array, axis: int) -> Array:
    """The elements along an axis in NumPy's ascending order, of complex numbers too."""
    if x.dtype.kind == "c":
        return xp.take_along_axis(x, _order(x, axis), axis=axis)
    return xp.sort(x, axis=axis)


def _order(x: Array, axis: int) -> Array:
    return lexicographic_order(sort_keys(x), axis)


def _check_kind(name: str, kind: Any, stable: Any, descending: Any) -> None:
    beside = {"stable": stable} if stable is not None else {}
    beside |= {"descending": descending} if descending is not NOT_GIVEN else {}
    if kind is not None and (beside or kind not in _KINDS):
        raise Error(
            f"{name} of the kind {kind!r}{''.join(f' and {key}={value!r}' for key, value in beside.items())}",
            place=calling_line(),
            remedy=f"give one of {', '.join(sorted(_KINDS))}, or `stable` and `descending` alone; all are stable",
        )


def _operand(name: str, a: Any, axis: Any, order: Any) -> tuple[Array, int]:
    if order is not None:
        raise Error(f"{name} by fields", place=calling_line(), remedy="arrays have none: leave `order` out")
    x = array_of(a)
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
