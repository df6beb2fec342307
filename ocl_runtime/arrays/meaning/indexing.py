"""What an index with arrays in it means in nodes, as NumPy has it.

    x[idx]        x[rows, columns]        x[:, idx, None]        x[1, :, [0, 2]]

Arrays of integers and plain integers are broadcast against each other; their axes stand in the result where the first
of them stood if they are next to each other, else in front. Every axis of the array gets a node of coordinates: the
given ones where there is an array, counting ones where there is a slice, which fuse.

Negative places count from the end. Places that are on the host are checked at once. Those on the device cannot raise
anything: there what is out of bounds is the nearest element, which `OCL_RUNTIME_CHECK=on` reports.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.graph.nodes import AnyNode, Step
from ocl_ir.guards import formulas
from ocl_ir.indices import Item, Shape, Span, parse_index
from ocl_ir.layout import Layout, broadcast_shapes
from ocl_ir.source_line import Where, calling_line
from ocl_ir.types import BOOL, I32, I64, U32, U64, DType
from ocl_runtime.errors import DTypeError, IndexingError, ShapeError

Upload: TypeAlias = Callable[[NDArray[Any]], Node]
Note: TypeAlias = Callable[[Node, int, int], None]
"""Told of an index array on the device, with the axis that it is for and its length."""

_FITS_I32 = 2**31
_SWEPT = 4
"""Elements of an array for each that is written, up to which all of the array are gone through: that takes no kernel
which reads the index once more, and none that writes out of order."""


class Picked(NamedTuple):
    """What an index picks: of the view that `items` make of an array, the elements at coordinates, one node for each of
    its axes, of the shape of the result.

    `arrays` are the coordinates of the axes that have an index array, in the shape that these have together, which has
    `front` axes of the result before it.
    """

    items: tuple[Item, ...]
    indices: tuple[Node, ...]
    arrays: Mapping[int, Node]
    front: int

    @property
    def shape(self) -> Shape:
        """The shape of the result."""
        return self.indices[0].shape

    def of(self, node: Node) -> Node:
        """The elements of a node."""
        return graph.gather(graph.index(node, self.items), self.indices)

    def written(self, node: Node, value: Node, *, unique: bool = False) -> Node:
        """A node with these elements replaced by those of a value of the same shape; where a place comes several times,
        by the last in row-major order, or by any of them if they are said to be `unique`."""
        if not value.size:
            return node
        if unique:
            always = graph.scalar(True, BOOL, self.shape, "")
            return graph.scatter("set", node, value, always, self.coordinates())
        if self._is_of_all_rows(node.shape) and value.size * _SWEPT >= node.size:
            return self._swept(node, value)
        kept = _widened(_last(graph.index(node, self.items).shape, self.arrays), self.front, self.shape)
        return graph.scatter("set", node, value, kept, self.coordinates())

    def _is_of_all_rows(self, shape: Shape) -> bool:
        """Whether one index array picks whole rows of an array of a shape."""
        whole = tuple(Span(0, 1, length) for length in shape)
        return self.items == whole and self.arrays.keys() == {0}

    def _swept(self, node: Node, value: Node) -> Node:
        """What is written row by row: each takes the last value for it, if there is one."""
        rows, rest = self.arrays[0], node.shape[1:]
        last = _latest(node.shape[:1], self.arrays)
        there = graph.elementwise("ne", last, _number(0, last))
        place = graph.elementwise("sub", graph.elementwise("maximum", last, _number(1, last)), _number(1, last))
        there, place = (_widened(one, 0, node.shape) for one in (there, place))
        others = [counting(node.shape, axis) for axis in range(1, len(node.shape))]
        found = graph.gather(graph.reshape(value, (rows.size, *rest)), [place, *others])
        return graph.elementwise("select", there, found, node)

    def coordinates(self) -> list[Node]:
        """The coordinates in the array itself."""
        coordinates: list[Node] = []
        indices = iter(self.indices)
        for item in self.items:
            if item is None:
                next(indices)
            elif not isinstance(item, Span):
                coordinates.append(graph.scalar(item, I64, self.shape, ""))
            else:
                index = next(indices)
                if item.step != 1 or item.start != 0:
                    index = graph.convert(index, I64)
                    index = graph.elementwise("mul", index, _number(item.step, index))
                    index = graph.elementwise("add", index, _number(item.start, index))
                coordinates.append(index)
        return coordinates


def _last(shape: Shape, arrays: Mapping[int, Node]) -> Node:
    """Where in index arrays no later place is the same."""
    common = next(iter(arrays.values())).shape
    if math.prod(common) == 1:
        return graph.scalar(True, BOOL, common, "")
    latest = _latest(tuple(shape[axis] for axis in arrays), arrays)
    return graph.elementwise("eq", graph.gather(latest, tuple(arrays.values())), _numbered(common))


def _numbered(shape: Shape) -> Node:
    """The places of index arrays in row-major order, from 1 on."""
    return graph.iota(U32, Layout(shape, Layout.contiguous(shape).strides, 1))


def _latest(table: Shape, arrays: Mapping[int, Node]) -> Node:
    """For each element of a table, the number of the last place of index arrays that is for it, 0 where none is."""
    common = next(iter(arrays.values())).shape
    none, always = graph.scalar(0, U32, table, ""), graph.scalar(True, BOOL, common, "")
    return graph.scatter("max", none, _numbered(common), always, tuple(arrays.values()))


def part_of(part: object) -> object:
    """A part of an index: lists and tuples as arrays of the host, the rest as it is."""
    if isinstance(part, list | tuple):
        host = np.asarray(part)
        return host if host.size else host.astype(np.intp)
    return part


def is_array(part: object) -> bool:
    """Whether a part of an index is an array; one of the host with shape () is a number."""
    return isinstance(part, AnyNode) or (isinstance(part, np.ndarray) and part.ndim > 0)


def picked(shape: Shape, parts: Sequence[object], upload: Upload, note: Note) -> Picked:
    """What an index of which some parts are arrays (nodes, or arrays of the host) picks of an array of a shape.

    Raises `ShapeError` for an index that does not fit, `DTypeError` for arrays that are no integers.
    """
    if len(parts) == 1 and isinstance(parts[0], AnyNode) and shape:
        index = cast("Node", parts[0])
        if formulas(shape) is shape and formulas(index.shape) is index.shape:  # which say of no size what it is
            rows = indices_along(index, 0, shape[0], upload, note)
            spans = tuple([Span(0, 1, length) for length in shape])
            return Picked(spans, _coordinates_of_rows(shape, rows, ""), {0: rows}, 0)
    parts, dots = _with_all_axes(shape, parts)
    items = parse_index(shape, tuple(slice(None) if is_array(part) else part for part in parts))
    axes: list[int] = []
    axis = 0
    for part in parts:
        axes.append(axis)
        axis += part is not None
    arrays = {
        number: indices_along(cast("Node", part), axes[number], shape[axes[number]], upload, note)
        for number, part in enumerate(parts)
        if is_array(part)
    }
    shared = _shared_shape([node.shape for node in arrays.values()])
    lengths = [item.length if isinstance(item, Span) else 1 for item in items]
    kept = [number for number, part in enumerate(parts) if part is None or isinstance(part, slice)]
    advanced = [number for number in range(len(parts)) if number not in kept]
    # An Ellipsis between them keeps them apart, even one that stands for no axis.
    together = advanced[-1] - advanced[0] == len(advanced) - 1 and not advanced[0] < dots <= advanced[-1]
    front = sum(number < advanced[0] for number in kept) if together else 0
    result = (*(lengths[n] for n in kept[:front]), *shared, *(lengths[n] for n in kept[front:]))
    result_axes = {number: at if at < front else at + len(shared) for at, number in enumerate(kept)}
    indices: list[Node] = []
    for number, item in enumerate(items):
        if number in arrays:
            arrays[number] = graph.expand(arrays[number], shared)
            indices.append(_widened(arrays[number], front, result))
        elif item is None or isinstance(item, Span):
            indices.append(counting(result, result_axes[number]))
    of_view = [number for number, item in enumerate(items) if item is None or isinstance(item, Span)]
    return Picked(items, tuple(indices), {of_view.index(number): node for number, node in arrays.items()}, front)


class _Rows(NamedTuple):
    """What `x[idx]` takes beside the places in `idx`: the movements that make these coordinates of the first axis, and
    for each other axis the dtype and layout of its own."""

    steps: tuple[tuple[Step, Shape], ...]
    others: tuple[tuple[DType, Layout], ...]


def _coordinates_of_rows(shape: Shape, index: Node, where: Where) -> tuple[Node, ...]:
    """Of what a single array picks along the first axis, the coordinates along each: as `picked` has them, which works
    more out than this needs."""
    steps, others = _rows_of(shape, index.shape)
    for step, to in steps:
        index = graph.move(index, step, to, where)
    return (index, *[graph.iota(dtype, layout, where) for dtype, layout in others])


def rows_at(node: Node, index: Node, note: Note, where: Where) -> Node:
    """The elements of a node along its first axis, which has some, at places in an integer node."""
    length = node.shape[0]
    note(index, 0, length)
    rows = _nearest(index, length, where)
    return graph.gather(node, _coordinates_of_rows(node.shape, rows, where), where)


@lru_cache(maxsize=1024)  # asked for every such index, and always the same in a loop
def _rows_of(shape: Shape, index: Shape) -> _Rows:
    rest = shape[1:]
    result = (*index, *rest)
    steps: list[tuple[Step, Shape]] = []
    if rest:
        spans = tuple([Span(0, 1, length) for length in index])
        steps.append((Step("index", (*spans, *[None] * len(rest))), (*index, *[1] * len(rest))))
        if steps[0][1] != result:
            steps.append((Step("expand", result), result))
    others = tuple([_counted(result, len(index) + axis) for axis in range(len(rest))])
    return _Rows(tuple(steps), others)


def _shared_shape(shapes: Sequence[Shape]) -> Shape:
    try:
        return broadcast_shapes(*shapes)
    except ShapeError as error:
        raise IndexingError(f"index arrays: {error.fact}", place=error.place, remedy=error.remedy) from None


def _with_all_axes(shape: Shape, parts: Sequence[object]) -> tuple[list[object], int]:
    """A part for each axis, and None for each new one; before which of them the Ellipsis was, or the end."""
    used = sum(not (part is None or part is Ellipsis) for part in parts)
    dots = [number for number, part in enumerate(parts) if part is Ellipsis]
    if len(dots) > 1 or used > len(shape):
        parse_index(shape, tuple(slice(None) if is_array(part) else part for part in parts))  # which raises
    at = dots[0] if dots else len(parts)
    rest = [slice(None)] * (len(shape) - used)
    return [*parts[:at], *rest, *parts[at + len(dots) :]], at


def _widened(index: Node, front: int, shape: Shape) -> Node:
    """A node with axes in front and behind, along which it is the same."""
    whole = (Span(0, 1, length) for length in index.shape)
    behind = len(shape) - front - len(index.shape)
    return graph.expand(graph.index(index, ((None,) * front + tuple(whole) + (None,) * behind)), shape)


def counting(shape: Shape, axis: int, where: Where = "") -> Node:
    """The coordinate along an axis, everywhere in a shape; `where` is the Python line that asked for it, by default the
    calling one."""
    return graph.iota(*_counted(shape, axis), where)


def _counted(shape: Shape, axis: int) -> tuple[DType, Layout]:
    strides = tuple([int(number == axis) for number in range(len(shape))])
    return U32 if shape[axis] < _FITS_I32 else U64, Layout(shape, strides)


def indices_along(index: NDArray[Any] | Node, axis: int, length: int, upload: Upload, note: Note) -> Node:
    """Places along an axis of a length, none of them negative or beyond it. Raises `DTypeError` for what is no
    integers, `IndexingError` for places on the host that are out of bounds."""
    dtype = index.dtype if isinstance(index, np.ndarray) else index.dtype.public
    if dtype.kind not in "iu":
        raise DTypeError(
            f"axis {axis} has an index array of {dtype}",
            place=calling_line(),
            remedy="convert it: astype(index, int32)",
        )
    if isinstance(index, np.ndarray):
        return upload(_checked(index, axis, length))
    if index.size and not length:
        raise _out_of_bounds("an index array", axis, length)
    note(index, axis, length)
    return _nearest(index, length, "")


def _checked(host: NDArray[Any], axis: int, length: int) -> NDArray[Any]:
    if host.size:
        low, high = int(host.min()), int(host.max())
        for index in (low, high):
            if not -length <= index < length:
                raise _out_of_bounds(f"index {index}", axis, length)
        if low < 0:
            host = np.where(host < 0, host + int(length), host)
    return host.astype(np.int32 if length <= _FITS_I32 else np.int64)


def _nearest(index: Node, length: int, where: Where) -> Node:
    """Places on the device: the negative ones from the end, those out of bounds at it."""
    small = index.dtype.bits < 32 or index.dtype == I32
    dtype = I32 if small and length < _FITS_I32 else I64
    if index.dtype == U64:
        index = _limited("minimum", index, length - 1)
    signed = index.dtype.kind == "int"
    index = graph.convert(index, dtype)
    if signed:
        return graph.with_number("nearest", dtype, index, length, where)
    return _limited("minimum", index, length - 1)


def _limited(op: str, index: Node, limit: int) -> Node:
    return graph.elementwise(op, index, _number(limit, index))


def _number(value: int, beside: Node) -> Node:
    return graph.scalar(value, beside.dtype, beside.shape, "")


def _out_of_bounds(what: str, axis: int, length: int) -> IndexingError:
    return IndexingError(
        f"{what} is out of bounds for axis {axis} of length {length}",
        place=calling_line(),
        remedy=f"use {-length} to {length - 1}" if length else "the axis has no elements",
    )
