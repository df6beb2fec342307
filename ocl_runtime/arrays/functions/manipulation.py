"""Functions that move elements without changing them: views, but for a reshape of elements that do not lie in order."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import takewhile

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Step
from ocl_ir.indices import Shape, Span
from ocl_ir.layout import broadcast_shapes as _common_shape
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays.array import Array, array_of, arrays_of
from ocl_runtime.arrays.axes import axes_of, axis_of, length_of, shape_of
from ocl_runtime.arrays.meaning.basic_index import known_index
from ocl_runtime.arrays.meaning.writing import is_view
from ocl_runtime.arrays.operands import ArrayLike
from ocl_runtime.errors import ShapeError
from ocl_runtime.plan.tracing import tracer


def broadcast_to(x: ArrayLike, /, shape: Iterable[int]) -> Array:
    """The array repeated along axes of length 1, and along new ones in front.

    Raises `ShapeError` where `x` does not broadcast to the shape.
    """
    x = array_of("broadcast_to", x)
    wanted = shape_of(shape)
    fits = len(wanted) >= x.ndim and all(
        length in (1, to) for length, to in zip(reversed(x.shape), reversed(wanted), strict=False)
    )
    if not fits:
        raise ShapeError(
            f"shape {x.shape} does not broadcast to {wanted}",
            place=calling_line(),
            remedy="each axis, from the last on, has to have the wanted length or 1",
        )
    return x._stepped(Step("expand", wanted))


def broadcast_arrays(*arrays: ArrayLike) -> list[Array]:
    """The arrays broadcast against each other. Raises `ShapeError` where that is impossible."""
    operands = arrays_of("broadcast_arrays", *arrays)
    shape = _common_shape(*(x.shape for x in operands))
    return [broadcast_to(x, shape) for x in operands]


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that shapes broadcast to. Raises `ShapeError` where there is none."""
    return _common_shape(*map(shape_of, shapes))


def permute_dims(x: ArrayLike, /, axes: Iterable[int]) -> Array:
    """The array whose axis `k` is axis `axes[k]` of `x`. Raises `ShapeError` unless each axis is named once."""
    x = array_of("permute_dims", x)
    order = axes_of("permute_dims", axes, x.ndim)
    if len(order) != x.ndim:
        raise ShapeError(
            f"permute_dims of {x.ndim} axes names {len(order)}", place=calling_line(), remedy="name each axis once"
        )
    return x._stepped(Step("permute", order))


def matrix_transpose(x: ArrayLike, /) -> Array:
    """The last two axes exchanged. Raises `ShapeError` for fewer."""
    x = array_of("matrix_transpose", x)
    return x.mT


def moveaxis(x: ArrayLike, source: int | Iterable[int], destination: int | Iterable[int], /) -> Array:
    """Axes moved to other places, the others in their order. Raises `ShapeError` for axes that do not fit."""
    x = array_of("moveaxis", x)
    from_, to = axes_of("moveaxis", source, x.ndim), axes_of("moveaxis", destination, x.ndim)
    if len(from_) != len(to):
        raise ShapeError(
            f"moveaxis moves {len(from_)} axes to {len(to)} places", place=calling_line(), remedy="give as many of both"
        )
    order = [axis for axis in range(x.ndim) if axis not in from_]
    for position, axis in sorted(zip(to, from_, strict=True)):
        order.insert(position, axis)
    return permute_dims(x, order)


def reshape(x: ArrayLike, /, shape: int | Iterable[int], copy: bool | None = None) -> Array:
    """The elements in row-major order in another shape; one length may be -1 and is computed.

    A view where that can be, as in NumPy, unless `copy`. Raises `ShapeError` for a shape of another size, and for
    `copy=False` where only a copy has the shape.
    """
    x = array_of("reshape", x)
    lengths = tuple(shape) if isinstance(shape, Iterable) else (shape,)
    known = [length_of("a shape", length) for length in lengths if length != -1]
    if len(known) < len(lengths):
        rest = math.prod(known)
        if len(known) < len(lengths) - 1 or rest == 0 or x.size % rest:
            raise ShapeError(
                f"the length -1 in {lengths} cannot be found for {x.size} elements of shape {x.shape}",
                place=calling_line(),
                remedy="leave one length open, and let the others divide the number of elements",
            )
        known.insert(lengths.index(-1), x.size // rest)
    wanted = tuple(known)
    if not copy and tracer.get() is None and (index := _as_index(x.shape, wanted)) is not None:
        return x._stepped(index)
    step = Step("reshape", wanted)
    if not copy and math.prod(wanted) == x.size and is_view(x._cell.node, (*x._steps, step)):
        return x._stepped(step)
    copied = Array(graph.reshape((+x)._node if copy else x._node, wanted), x._executor)
    if copy is False:
        raise ShapeError(
            f"shape {x.shape} as {wanted} without a copy, which is no view",
            place=calling_line(),
            remedy="use copy=None",
        )
    return copied


def _as_index(shape: Shape, wanted: Shape) -> Step | None:
    """The index that gives a shape another one, if only axes of length 1 come or go: it is always a view, and fuses."""
    lengths = [length for length in shape if length != 1]
    if not lengths or lengths != [length for length in wanted if length != 1]:
        return None
    key: list[object] = []
    own = iter(shape)
    for length in wanted:
        if length == 1:
            key.append(None)
        else:
            key += [0 for _ in takewhile(lambda length: length == 1, own)]
            key.append(_WHOLE)
    return known_index(shape, (*key, *[0 for _ in own]))


_WHOLE, _BACKWARDS = slice(None), slice(None, None, -1)


def expand_dims(x: ArrayLike, /, axis: int | tuple[int, ...] = 0) -> Array:
    """New axes of length 1 at places of the result. Raises `ShapeError` for places that do not exist."""
    x = array_of("expand_dims", x)
    ndim = x.ndim + (len(axis) if isinstance(axis, tuple) else 1)
    new = axes_of("expand_dims", axis, ndim)
    return x[tuple(None if dim in new else slice(None) for dim in range(ndim))]


def squeeze(x: ArrayLike, /, axis: int | tuple[int, ...]) -> Array:
    """The array without axes of length 1. Raises `ShapeError` for an axis of another length."""
    x = array_of("squeeze", x)
    gone = axes_of("squeeze", axis, x.ndim)
    for dim in gone:
        if x.shape[dim] != 1:
            raise ShapeError(
                f"squeeze of axis {dim}, which has length {x.shape[dim]}",
                place=calling_line(),
                remedy="only axes of length 1 can go; index or reduce the others",
            )
    return x[(*(0 if dim in gone else slice(None) for dim in range(x.ndim)), ...)]


def flip(x: ArrayLike, /, axis: int | tuple[int, ...] | None = None) -> Array:
    """The elements in reverse order along axes, by default all. Raises `ShapeError` for axes that do not exist."""
    x = array_of("flip", x)
    turned = axes_of("flip", axis, x.ndim)
    step = known_index(x.shape, tuple([_BACKWARDS if dim in turned else _WHOLE for dim in range(x.ndim)]))
    if step is not None:
        return x._stepped(step)
    items = tuple(
        Span(length - 1, -1, length) if dim in turned else Span(0, 1, length) for dim, length in enumerate(x.shape)
    )
    return x._stepped(Step("index", items))


def windows(x: ArrayLike, /, length: int) -> Array:
    """All parts of a length along the last axis, each beginning one element behind the one before, along a new last
    axis: a view, which nobody writes into. Raises `ShapeError` for a length that is not from 1 to that of the axis."""
    x = array_of("windows", x)
    if not x.ndim or not 1 <= length <= x.shape[-1]:
        raise ShapeError(
            f"windows of length {length} of shape {x.shape}",
            place=calling_line(),
            remedy="give a length from 1 to that of the last axis",
        )
    return x._stepped(Step("windows", (x.shape[-1] - length + 1, length)))


def unstack(x: ArrayLike, /, axis: int = 0) -> tuple[Array, ...]:
    """The parts along an axis. Raises `ShapeError` for an axis that does not exist."""
    x = array_of("unstack", x)
    dim = axis_of("unstack", axis, x.ndim)
    return tuple(x[(slice(None),) * dim + (number,)] for number in range(x.shape[dim]))
