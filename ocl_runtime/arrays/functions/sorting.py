"""Elements in order, and where they were."""

from __future__ import annotations

from typing import Literal

from ocl_ir.graph import build as graph
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays.array import Array, ordered_array_of
from ocl_runtime.arrays.axes import axis_of
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


def _sorted(name: str, operand: ArrayLike, axis: int, descending: bool, what: Literal["values", "places"]) -> Array:
    x = ordered_array_of(name, operand)
    number = axis_of(name, axis, x.ndim)
    if x.shape[number] > _MOST:
        raise ShapeError(
            f"{name} along axis {number} of shape {x.shape}, which has 2^32 elements or more",
            place=calling_line(),
            remedy="sort parts of it",
        )
    others = [other for other in range(x.ndim) if other != number]
    order = (*others, number)
    node = graph.sort(what, graph.permute(x._node, order), descending=bool(descending))
    return Array(graph.permute(node, tuple(sorted(range(x.ndim), key=order.__getitem__))), x._executor)
