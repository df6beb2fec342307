"""What masks mean in nodes, as NumPy has it.

What a mask holds for is packed in row-major order: counted in rows, the counts added up, and each row packed from where
it begins on. Reading by a mask, or with one beside other indices, needs the count of these elements: the shape of the
result depends on it, so it is waited for. A GPU would have nothing to do meanwhile, so it packs before the count is
known, into memory for as many elements as the mask has. Writing needs no count: where the mask does not hold, the old
element stays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.indices import Shape, Span
from ocl_ir.layout import Layout
from ocl_ir.source_line import calling_line
from ocl_ir.types import I32, I64, U32, U64, DType
from ocl_runtime.errors import IndexingError, OutOfMemoryError


class Counting(NamedTuple):
    """How the count of what a mask holds for is found."""

    compute: Callable[[tuple[Node, ...]], tuple[tuple[Node, ...], int]]
    """Gives nodes computed, and the last element of the last one."""
    ahead: bool
    """Whether to pack before the count is known."""


_FITS_I32 = 2**31
_ROW = 4096
"""Places of a row: a tile of a team of a GPU."""


def check(mask: Node, shape: Shape, axis: int) -> None:
    """Raises `IndexingError` for a mask that has not the shape of the axes of an array from one on."""
    if mask.shape != shape[axis : axis + len(mask.shape)]:
        raise IndexingError(
            f"a mask of shape {mask.shape} for an array of shape {shape}" + (f", from axis {axis} on" if axis else ""),
            place=calling_line(),
            remedy="give a mask of the same shape, or of that of the first axes",
        )


class Rows(NamedTuple):
    """A mask cut into rows, so that what it holds for is counted for each row and not for each place.

    `kept` is the mask in rows, with nothing behind its end. `upto` has how many hold up to the end of each row, and
    `counts` how many within it.
    """

    mask: Node
    kept: Node
    counts: Node
    upto: Node

    def before(self) -> Node:
        """For each row, how many before it hold; of the shape of the rows."""
        before = graph.elementwise("sub", self.upto, self.counts)
        return graph.expand(graph.reshape(before, (before.size, 1)), self.kept.shape)

    def packed(self, value: Node, count: int) -> Node:
        """The elements of a node of the shape of the rows for which the mask holds, whose number is known."""
        return graph.scatter("pack", graph.undefined(value.dtype, (count,)), value, self.kept, [self.before()])


def _places_dtype(mask: Node) -> DType:
    return U32 if mask.size < _FITS_I32 else U64


def _in_rows(node: Node, rows: Shape) -> Node:
    count = node.size
    flat = graph.reshape(node, (count,))
    if math.prod(rows) == count:
        return graph.reshape(flat, rows)
    place = graph.iota(_places_dtype(node), Layout.contiguous(rows))
    last = graph.scalar(count - 1, place.dtype, rows, "")
    return graph.gather(flat, [graph.elementwise("minimum", place, last)])


def rows(mask: Node) -> Rows:
    """The rows of a mask that has some places."""
    count = mask.size
    shape = (1, count) if count <= _ROW else (-(-count // _ROW), _ROW)
    kept = _in_rows(mask, shape)
    dtype = _places_dtype(mask)
    if math.prod(shape) != count:
        place = graph.iota(dtype, Layout.contiguous(shape))
        inside = graph.elementwise("lt", place, graph.scalar(count, dtype, shape, ""))
        kept = graph.elementwise("and", inside, kept)
    counts = graph.reduce("sum", kept, (1,), dtype)
    return Rows(mask, kept, counts, graph.scan("sum", counts, 0, dtype))


def _packed(mask: Node, value: Callable[[Shape], Node], dtype: DType, counting: Counting) -> Node:
    """What a value has, as a node of a shape in rows, where a mask holds."""
    if mask.size:
        places = rows(mask)
        if counting.ahead:
            with suppress(OutOfMemoryError):  # as many elements as the mask holds for may still fit
                whole = places.packed(value(places.kept.shape), mask.size)
                (whole, _), count = counting.compute((whole, places.upto))
                return _first(whole, count)
        (counts, upto), count = counting.compute((places.counts, places.upto))
        if count:
            return places._replace(counts=counts, upto=upto).packed(value(places.kept.shape), count)
    return graph.scalar(0, dtype, (0,))


def _first(whole: Node, count: int) -> Node:
    """The first elements of a node with one axis; not in its memory if that would be more than twice as large."""
    if not count:
        return graph.scalar(0, whole.dtype, (0,))
    part = graph.index(whole, (Span(0, 1, count),))
    return part if 2 * count >= whole.size else graph.elementwise("copy", part)


def coordinates(mask: Node, counting: Counting, dtype: DType | None = None) -> list[Node]:
    """The coordinates of where a mask holds, one node for each axis; of one axis, as a dtype."""
    own = _places_dtype(mask) if dtype is None or len(mask.shape) != 1 else dtype
    found = _packed(mask, lambda shape: graph.iota(own, Layout.contiguous(shape)), own, counting)
    along: list[Node] = []
    for axis, length in enumerate(mask.shape):
        inner, index = math.prod(mask.shape[axis + 1 :]), found
        if axis < len(mask.shape) - 1:
            index = graph.elementwise("udiv", index, graph.scalar(inner, own, index.shape, ""))
        if axis > 0:
            index = graph.elementwise("urem", index, graph.scalar(length, own, index.shape, ""))
        along.append(index)
    return along


def selected(node: Node, mask: Node, counting: Counting) -> Node:
    """The elements of a node for which a mask of its shape holds."""
    return _packed(mask, lambda shape: _in_rows(node, shape), node.dtype, counting)


def spread(value: Node, mask: Node, shape: Shape) -> Node:
    """A value that has, along its first axis, an element for each place where a mask holds, in row-major order: each at
    its place in a shape. If it has too few, the last one is repeated."""
    count, rest = value.shape[0], shape[len(mask.shape) :]
    dtype = I32 if mask.size < _FITS_I32 else I64
    flat = graph.reshape(mask, (mask.size,))
    number = graph.elementwise("sub", graph.scan("sum", flat, 0, dtype), graph.scalar(1, dtype, flat.shape, ""))
    for op, limit in (("minimum", count - 1), ("maximum", 0)):
        number = graph.elementwise(op, number, graph.scalar(limit, number.dtype, number.shape, ""))
    number = graph.reshape(number, (*mask.shape, *(1 for _ in rest)))
    behind = []
    for axis in range(len(rest)):
        strides = (0,) * (len(mask.shape) + axis) + (1,) + (0,) * (len(rest) - axis - 1)
        behind.append(graph.iota(U32 if rest[axis] < _FITS_I32 else U64, Layout(shape, strides)))
    return graph.gather(graph.expand(value, (count, *rest)), [graph.expand(number, shape), *behind])
