"""Where elements are: the greatest and the least, places in sorted arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.layout import Layout
from ocl_ir.source_line import calling_line
from ocl_ir.types import I32, I64, U32
from ocl_runtime.arrays.array import Array, array_of, arrays_of
from ocl_runtime.arrays.axes import axis_of
from ocl_runtime.arrays.functions.elementwise import astype, equal, isnan, where
from ocl_runtime.arrays.functions.statistics import max as _max
from ocl_runtime.arrays.functions.statistics import min as _min
from ocl_runtime.arrays.meaning.dtypes import float32, int64, uint32, uint64
from ocl_runtime.arrays.meaning.indexing import counting
from ocl_runtime.arrays.operands import ArrayLike
from ocl_runtime.arrays.reals import base_executor
from ocl_runtime.errors import ShapeError
from ocl_runtime.plan.cache.routines import key_of
from ocl_runtime.plan.tracing import tracer

if TYPE_CHECKING:
    from ocl_runtime.plan.executor import Executor

_SIGN = 2**31
_FITS_I32 = 2**31
_MOST_U32 = 2**32 - 1


def argmax(x: ArrayLike, /, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """The place of the greatest element along an axis, of the first where it is there several times; NaN counts as
    greatest. Without an axis, the place in row-major order. Gives int64.

    Raises `ShapeError` if there are no elements, `IndexingError` for an axis that does not exist.
    """
    return _index_of_extreme("argmax", x, axis, keepdims)


def argmin(x: ArrayLike, /, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """The place of the least element along an axis, of the first where it is there several times; NaN counts as least.
    Otherwise as `argmax`."""
    return _index_of_extreme("argmin", x, axis, keepdims)


def _index_of_extreme(what: str, operand: ArrayLike, axis: int | None, keepdims: bool) -> Array:
    x = array_of(what, operand)
    number = None if axis is None else axis_of(what, axis, x.ndim)
    if not (x.size if number is None else x.shape[number]):
        raise ShapeError(
            f"{what} of shape {x.shape} along {'all axes' if axis is None else f'axis {axis}'}, of no elements",
            place=calling_line(),
            remedy="check x.size first",
        )
    if x._dtype.size <= U32.size and (x.size if number is None else x.shape[number]) <= _MOST_U32:
        return _index_by_keys(x, number, least=what == "argmin", keepdims=keepdims)
    extreme = (_max if what == "argmax" else _min)(x, axis=number, keepdims=True)
    holds = x == extreme
    if x._dtype.is_float:
        holds = holds | isnan(x)  # if there is one, nothing equals the extreme
    if number is None:
        index, behind = graph.iota(I64, Layout.contiguous(x.shape)), x.size
    else:
        index, behind = graph.convert(counting(x.shape, number), I64), x.shape[number]
    return _min(where(holds, Array(index, x._executor), behind), axis=number, keepdims=keepdims)


def _index_by_keys(x: Array, axis: int | None, *, least: bool, keepdims: bool) -> Array:
    """The same of elements of at most 32 bits, in one reduction: the greatest of keys that have the element in their
    upper half and in their lower one the distance from the greatest index, so that of equal elements the first is
    greater."""
    index = Array(graph.iota(U32, Layout.contiguous(x.shape)) if axis is None else counting(x.shape, axis), x._executor)
    halves = [astype(half, uint64) for half in (_ordered(x, reverse=least), _MOST_U32 - index)]
    keys = graph.elementwise("join_halves", *[half._node for half in halves])
    key = _max(Array(keys, x._executor), axis=axis, keepdims=keepdims)
    return astype(_MOST_U32 - (key & _MOST_U32), int64)


def _ordered(x: Array, *, reverse: bool) -> Array:
    """Unsigned integers of 32 bits in the order of the elements, or the other way round; NaN is the greatest."""
    if not x._dtype.is_float:
        ordered = astype(x, uint32) ^ (_SIGN if x._dtype.kind == "int" else 0)
        return ~ordered if reverse else ordered
    number = astype(-x if reverse else x, float32) + 0.0  # -0.0 is 0.0
    key = graph.elementwise("float_order", graph.bitcast(number._node, U32))
    return where(isnan(number), _MOST_U32, Array(key, x._executor))


def searchsorted(
    x1: ArrayLike, x2: ArrayLike, /, side: Literal["left", "right"] = "left", *, sorter: ArrayLike | None = None
) -> Array:
    """For each element of `x2`, the place in the sorted one-dimensional array `x1` before which it would be put: before
    equal ones for `side="left"`, behind them for "right". NaN is greater than every number. Gives int64.

    `sorter` has the places of the elements of `x1` in ascending order, where it is not sorted itself. By binary search
    in steps of powers of two (Shar; Knuth, The Art of Computer Programming 3, 6.2.1): a look-up for each bit of the
    length of `x1`. Where all arrays are in memory, the search starts at once.

    Raises `ShapeError` for an `x1` or a `sorter` with other than one axis, and for another side.
    """
    table, values = arrays_of("searchsorted", x1, x2)
    order = None if sorter is None else arrays_of("searchsorted", sorter, table)[0]
    if table.ndim != 1 or side not in {"left", "right"} or (order is not None and order.shape != table.shape):
        raise ShapeError(
            f"searchsorted in shape {table.shape}{'' if order is None else f' sorted by shape {order.shape}'}, "
            f"side {side!r}",
            place=calling_line(),
            remedy='give an array with one axis, a sorter of the same length, and side="left" or "right"',
        )
    if not table.size or not values.size:
        return Array(graph.scalar(0, I64, values.shape), values._executor)
    search = _Searching(side, base_executor(values._executor))
    operands = (table._node, values._node) if order is None else (table._node, values._node, order._node)
    is_in_memory = tracer.get() is None and key_of(search, operands) is not None
    (found,) = values._evaluated(search, operands) if is_in_memory else search(*operands)
    return Array(found, values._executor)


@dataclass(frozen=True)
class _Searching:
    """A routine: the places of values in a sorted table. Where its operands are in memory its plan is found without
    building the nodes, of which there are five for each bit of the length."""

    side: str
    executor: Executor = field(compare=False)

    def __call__(self, table: Node, value: Node, order: Node | None = None) -> tuple[Node, ...]:
        count, values = table.size, Array(value, self.executor)
        step = 1
        while step * 2 <= count:
            step *= 2
        dtype = I32 if count < _FITS_I32 else I64
        is_in_front = _in_front(values, self.side)

        def element(number: Array) -> Array:
            found = Array(graph.gather(table if order is None else order, [number._node]), self.executor)
            return found if order is None else Array(table, self.executor)[found]

        def number(value: int) -> Array:
            return Array(graph.scalar(value, dtype, values.shape), self.executor)

        # Behind the first step, fewer than `step` are left, wherever it was; so no later one looks beyond the end.
        below = where(is_in_front(element(number(step - 1))), number(count - step + 1), number(0))
        while step > 1:  # `below` elements are surely in front
            step //= 2
            below = where(is_in_front(element(below + (step - 1))), below + step, below)
        return (astype(below, int64)._node,)


def _in_front(value: Array, side: str) -> Callable[[Array], Array]:
    """Whether an element comes before the place of a value, NaN last."""
    has_nan = value._dtype.is_float
    nothing = isnan(value) if has_nan else value
    if side == "left":
        return lambda element: (element < value) | (nothing & equal(element, element)) if has_nan else element < value
    return lambda element: (element <= value) | nothing if has_nan else element <= value
