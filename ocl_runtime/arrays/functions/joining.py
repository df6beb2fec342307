"""Arrays put together, and elements repeated around an array.

Parts are computed into their places of the result. Where elements are repeated, the result looks them up: what is made
of it does that too, and no repeated element is stored on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.guards import integer
from ocl_ir.indices import Span
from ocl_ir.layout import Layout
from ocl_ir.source_line import caller, calling_line
from ocl_ir.types import BOOL, DType
from ocl_runtime.arrays.array import Array, array_of, arrays_of
from ocl_runtime.arrays.axes import axis_of, length_of
from ocl_runtime.arrays.functions.elementwise import subtract
from ocl_runtime.arrays.functions.manipulation import expand_dims, reshape
from ocl_runtime.arrays.hosts import refused
from ocl_runtime.arrays.meaning.indexing import counting
from ocl_runtime.arrays.meaning.semantics import cast, common_dtype
from ocl_runtime.arrays.meaning.writing import fitted
from ocl_runtime.arrays.operands import ArrayLike, operands_of
from ocl_runtime.errors import Error, ShapeError


def concat(arrays: Sequence[ArrayLike] | Array, /, axis: int | None = 0) -> Array:
    """The arrays one after the other along an axis; None makes each flat first. Dtypes are promoted.

    Raises `ShapeError` for no arrays, and for shapes that differ along other axes.
    """
    if not isinstance(arrays, Iterable):
        raise refused("concat", arrays)
    parts = arrays_of("concat", *arrays)
    if axis is None:
        parts = [reshape(x, -1) for x in parts]
    if not parts:
        raise of_no_arrays("concat")
    operands, executor = operands_of("concat", parts)
    first = parts[0].shape
    dim = axis_of("concat", 0 if axis is None else axis, len(first))
    for x in parts:
        if x.ndim != len(first) or any(x.shape[other] != first[other] for other in range(x.ndim) if other != dim):
            raise ShapeError(
                f"concat of shapes {first} and {x.shape} along axis {dim}",
                place=calling_line(),
                remedy="only that axis may have different lengths",
            )
    dtype = common_dtype(operands, executor)
    total = sum(x.shape[dim] for x in parts)
    shape = (*first[:dim], total, *first[dim + 1 :])
    node, begin = graph.undefined(dtype, shape), 0
    for x in parts:
        length = x.shape[dim]
        items = [Span(begin, 1, length) if number == dim else Span(0, 1, size) for number, size in enumerate(shape)]
        if x.size:
            node = graph.assign(node, Layout.contiguous(shape).index(items), cast(x._node, dtype))
        begin += length
    return +Array(node if node.size else graph.scalar(0, dtype, shape), executor)  # it may be one of the arrays


def of_no_arrays(what: str) -> ShapeError:
    """The error for no arrays."""
    return ShapeError(f"{what} of no arrays", place=calling_line(), remedy="give at least one")


def stack(arrays: Sequence[ArrayLike] | Array, /, axis: int = 0) -> Array:
    """The arrays, all of one shape, along a new axis of the result. Errors as of `concat`."""
    parts = arrays_of("stack", *arrays)
    if not parts:
        raise of_no_arrays("stack")
    for x in parts:
        if x.shape != parts[0].shape:
            raise ShapeError(
                f"stack of shapes {parts[0].shape} and {x.shape}",
                place=calling_line(),
                remedy="broadcast them to one shape first",
            )
    return concat([expand_dims(x, axis=axis) for x in parts], axis=axis)


def roll(x: ArrayLike, /, shift: int | tuple[int, ...], axis: int | tuple[int, ...] | None = None) -> Array:
    """The elements moved along axes, those from the end to the front; without an axis, in row-major order.

    Raises `ShapeError` for axes that do not exist, and for another number of shifts than of axes.
    """
    x = array_of("roll", x)
    if axis is None:
        return reshape(roll(reshape(x, -1), shift, axis=0), x.shape)
    axes = axis if isinstance(axis, tuple) else (axis,)
    shifts = shift if isinstance(shift, tuple) else (shift,) * len(axes)
    if len(shifts) != len(axes):
        raise ShapeError(
            f"roll by {len(shifts)} shifts along {len(axes)} axes", place=calling_line(), remedy="give as many of both"
        )
    by = [0] * x.ndim
    for dim, distance in zip(axes, shifts, strict=True):
        by[axis_of("roll", dim, x.ndim)] += integer(distance)

    def moved(number: int, coordinate: Node) -> Node:
        if not by[number]:
            return coordinate
        length = x.shape[number]
        behind = _op("add", coordinate, length - by[number] % length)
        # Below 0, numbers without a sign are large.
        return graph.pair("minimum", coordinate.dtype, behind, _op("sub", behind, length), coordinate.line)

    return _looked_up(x, x.shape, moved) if x.size else x


def tile(x: ArrayLike, repetitions: tuple[int, ...], /) -> Array:
    """The array repeated along its axes, the last ones where there are fewer numbers than axes; more numbers than axes
    give new axes in front. Raises `ShapeError` for negative numbers."""
    x = array_of("tile", x)
    times = [length_of("tile", count) for count in repetitions]
    times = [1] * (x.ndim - len(times)) + times
    x = reshape(x, (1,) * (len(times) - x.ndim) + x.shape)
    shape = tuple(length * many for length, many in zip(x.shape, times, strict=True))
    return _looked_up(x, shape, lambda axis, coordinate: _op("urem", coordinate, x.shape[axis]))


def repeat(x: ArrayLike, repeats: int | Array | Iterable[int], /, axis: int | None = None) -> Array:
    """Each part along an axis repeated, `repeats` times or as often as its number there says; without an axis, each
    element in row-major order.

    An array of repeats is waited for, since the result's shape depends on it. Raises `ShapeError` for negative numbers
    and for another count of them than the axis has parts.
    """
    x = array_of("repeat", x)
    if axis is None:
        return repeat(reshape(x, -1), repeats, axis=0)
    number = axis_of("repeat", axis, x.ndim)
    if isinstance(repeats, Array | Iterable):
        times = np.asarray(repeats if isinstance(repeats, Array) else list(repeats), dtype=np.int64)
        if (times.size != 1 and times.shape != (x.shape[number],)) or (times < 0).any():
            raise ShapeError(
                f"repeats of shape {times.shape} for an axis of length {x.shape[number]}",
                place=calling_line(),
                remedy="give one number that is not negative for each part",
            )
        return x[(slice(None),) * number + (np.repeat(np.arange(x.shape[number]), times),)]
    many = length_of("repeat", repeats)
    shape = (*x.shape[:number], x.shape[number] * many, *x.shape[number + 1 :])
    return _looked_up(
        x, shape, lambda axis, coordinate: _op("udiv", coordinate, many) if axis == number else coordinate
    )


def diff(
    x: ArrayLike, /, n: int = 1, *, axis: int = -1, prepend: Array | None = None, append: Array | None = None
) -> Array:
    """The differences of neighbours along an axis, taken `n` times, with other elements in front or behind first.

    Bools give whether neighbours differ. Raises `ShapeError` for a negative `n` and for shapes that do not fit.
    """
    x = array_of("diff", x)
    dim = axis_of("diff", axis, x.ndim)
    around = [array for array in (prepend, x, append) if array is not None]
    joined = concat(around, axis=dim) if len(around) > 1 else x
    times = length_of("diff", n)
    for _ in range(times if times < 2 else min(times, joined.shape[dim])):  # then nothing is left
        later, earlier = (joined[(slice(None),) * dim + (part,)] for part in (slice(1, None), slice(None, -1)))
        joined = later != earlier if joined._dtype == BOOL else subtract(later, earlier)
    return joined


def pad(
    x: ArrayLike,
    pad_width: int | Sequence[int] | Sequence[Sequence[int]],
    /,
    mode: str = "constant",
    *,
    constant_values: ArrayLike = 0,
) -> Array:
    """The array with elements around it, as NumPy's `pad`: `pad_width` of them before and behind each axis, as one
    number, a pair, or a pair for each axis.

    `mode` says which: `constant`, `edge` (the outermost ones), `reflect` and `symmetric` (mirrored, without and with
    the outermost), `wrap` (from the other end). Raises `ShapeError` for widths that do not fit, `Error` for another
    mode.
    """
    x = array_of("pad", x)
    if mode != "constant" and mode not in _PADDED:
        raise Error(
            f"pad has no mode {mode!r}", place=calling_line(), remedy=f"use one of constant, {', '.join(_PADDED)}"
        )
    widths = _widths(pad_width, x.ndim)
    shape = tuple(before + length + after for length, (before, after) in zip(x.shape, widths, strict=True))
    filling = fitted(operands_of("pad", [x, constant_values])[0][1], x._dtype, shape)
    if not x.size:
        if mode != "constant" and filling.size:
            raise ShapeError(
                f"pad by {mode} of an array without elements, of shape {x.shape}",
                place=calling_line(),
                remedy="use mode='constant'",
            )
        return Array(filling, x._executor)
    if mode != "constant":
        return _looked_up(x, shape, lambda axis, coordinate: _PADDED[mode](coordinate, x.shape[axis], widths[axis][0]))
    inside: list[Node] = []

    def moved(axis: int, coordinate: Node) -> Node:
        if not any(widths[axis]):
            return coordinate
        there = _op("sub", coordinate, widths[axis][0])  # below 0, numbers without a sign are large
        inside.append(_op("lt", there, x.shape[axis], BOOL))
        return _op("minimum", there, x.shape[axis] - 1)

    padded, line = _looked_up(x, shape, moved), caller()
    if not inside:
        return padded
    within = reduce(lambda left, right: graph.pair("and", BOOL, left, right, line), inside)
    return Array(graph.typed("select", x._dtype, (within, padded._node_at(line), filling), line), x._executor)


def _widths(pad_width: Any, ndim: int) -> list[tuple[int, int]]:
    """A number before and one behind for each axis."""
    pairs = pad_width if isinstance(pad_width, Sequence) else (pad_width, pad_width)
    if not any(isinstance(width, Sequence) for width in pairs):
        pairs = [pairs] * ndim
    pairs = list(pairs) * (ndim if len(pairs) == 1 else 1)
    if len(pairs) != ndim or any(len(pair) != 2 for pair in pairs):
        raise ShapeError(
            f"pad of {ndim} axes by {pad_width}",
            place=calling_line(),
            remedy="give one number, a pair, or a pair for each",
        )
    return [(length_of("pad", before), length_of("pad", after)) for before, after in pairs]


def _inside(coordinate: Node, length: int, before: int) -> Node:
    return _op("minimum", _op("sub", _op("maximum", coordinate, before), before), length - 1)


def _wrapped(coordinate: Node, length: int, before: int) -> Node:
    return _op("urem", _op("add", coordinate, -before % length), length)


def _symmetric(coordinate: Node, length: int, before: int) -> Node:
    there = _wrapped(coordinate, 2 * length, before)
    return graph.elementwise("minimum", there, _from(2 * length - 1, there))


def _reflected(coordinate: Node, length: int, before: int) -> Node:
    if length == 1:
        return _op("minimum", coordinate, 0)
    there = _wrapped(coordinate, 2 * length - 2, before)
    return graph.elementwise("minimum", there, _from(2 * length - 2, there))


_PADDED: dict[str, Callable[[Node, int, int], Node]] = {
    "edge": _inside,
    "reflect": _reflected,
    "symmetric": _symmetric,
    "wrap": _wrapped,
}


def _looked_up(x: Array, shape: tuple[int, ...], source: Callable[[int, Node], Node]) -> Array:
    """The array of a shape whose elements are those of `x` at `source(axis, coordinate)`."""
    if not shape:
        return x
    line = caller()
    coordinates = [source(axis, counting(shape, axis, line)) for axis in range(len(shape))]
    return Array(graph.gather(x._node_at(line), coordinates, line), x._executor)


def _op(op: str, coordinate: Node, number: int, dtype: DType | None = None) -> Node:
    return graph.with_number(op, dtype or coordinate.dtype, coordinate, number, coordinate.line)


def _from(number: int, coordinate: Node) -> Node:
    return graph.with_number("sub", coordinate.dtype, coordinate, number, coordinate.line, first=True)
