"""Elements in order, and where they were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ocl_ir.graph import build as graph
from ocl_ir.source_line import calling_line
from ocl_ir.types import I64
from ocl_runtime.arrays.array import Array, ordered_array_of
from ocl_runtime.arrays.axes import axis_of
from ocl_runtime.arrays.functions.elementwise import imag, isnan, real
from ocl_runtime.arrays.functions.taking import take_along_axis
from ocl_runtime.arrays.operands import ArrayLike
from ocl_runtime.errors import ShapeError

_MOST = 2**32 - 1


def sort(x: ArrayLike, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """The elements along an axis in ascending order, or `descending`; shape and dtype stay. NaN counts as greatest, and
    -0.0 equals 0.0.

        sort(asarray([3, 1, 2]))                    # [1, 2, 3]
        sort(asarray([3, 1, 2]), descending=True)   # [3, 2, 1]

    Equal elements stay in their order, also for `stable=False`. Raises `IndexingError` for an axis that does not exist,
    `ShapeError` for one with 2^32 elements or more.
    """
    return _sorted("sort", x, axis, descending, "values")


def argsort(x: ArrayLike, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """The places of the elements along an axis, in the order that `sort` brings them into. Gives int64.

        argsort(asarray([30, 10, 20]))              # [1, 2, 0]

    Errors as of `sort`.
    """
    return _sorted("argsort", x, axis, descending, "places")


def sort_keys(x: Array) -> list[Array]:
    """Arrays of real dtypes in whose order the elements of `x` are; the last one decides first. Complex numbers are in
    the order of their real parts, then of their imaginary ones, and those with a NaN behind all others."""
    return [imag(x), real(x), isnan(x)] if x._dtype.is_complex else [x]


def lexicographic_order(keys: Sequence[Array], axis: int = -1) -> Array:
    """The places along an axis in ascending order of the last key, of equal ones in that of the key before, and so on.
    The keys have one shape."""
    order = argsort(keys[0], axis=axis)
    for key in keys[1:]:
        then = argsort(take_along_axis(key, order, axis=axis), axis=axis)
        order = take_along_axis(order, then, axis=axis)
    return order


def _sorted(name: str, operand: ArrayLike, axis: int, descending: bool, what: Literal["values", "places"]) -> Array:
    x = ordered_array_of(name, operand)
    number = axis_of(name, axis, x.ndim)
    if x.shape[number] > _MOST:
        raise ShapeError(
            f"{name} along axis {number} of shape {x.shape}, which has 2^32 elements or more",
            place=calling_line(),
            remedy="sort parts of it",
        )
    if x.shape[number] < 2:  # Intel's compiler ends the process over a kernel that sorts single elements
        return +x if what == "values" else Array(graph.scalar(0, I64, x.shape), x._executor)
    others = [other for other in range(x.ndim) if other != number]
    order = (*others, number)
    node = graph.sort(what, graph.permute(x._node, order), descending=bool(descending))
    return Array(graph.permute(node, tuple(sorted(range(x.ndim), key=order.__getitem__))), x._executor)
