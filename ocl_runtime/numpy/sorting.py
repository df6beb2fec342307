"""NumPy's functions that put elements in order."""

from __future__ import annotations

from typing import Any

import ocl_runtime.arrays as xp
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.errors import Error
from ocl_runtime.numpy.operands import array_of

__all__ = ["argsort", "sort"]

_KINDS = frozenset({"quicksort", "heapsort", "mergesort", "stable"})


def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Array:
    """The elements along an axis in ascending order, without an axis those of the flat array; NaN last. Equal elements
    stay in their order, whatever the kind."""
    x, axis = _operand("sort", a, axis, kind, order, stable)
    return xp.sort(x, axis=axis)


def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Array:
    """The places of the elements along an axis in the order that `sort` brings them into."""
    x, axis = _operand("argsort", a, axis, kind, order, stable)
    return xp.argsort(x, axis=axis)


def _operand(name: str, a: Any, axis: Any, kind: Any, order: Any, stable: Any) -> tuple[Array, int]:
    if order is not None:
        raise Error(f"{name} by fields", place=calling_line(), remedy="arrays have none: leave `order` out")
    if kind is not None and (stable is not None or kind not in _KINDS):
        raise Error(
            f"{name} of the kind {kind!r}{'' if stable is None else f' and stable={stable!r}'}",
            place=calling_line(),
            remedy=f"give one of {', '.join(sorted(_KINDS))}, or `stable` alone; all are stable",
        )
    x = array_of(a)
    return (xp.reshape(x, -1), -1) if axis is None else (x, axis)
