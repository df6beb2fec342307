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
from functools import lru_cache
from typing import NamedTuple

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Buffer, Node
from ocl_ir.guards import plain
from ocl_ir.indices import Shape, Span
from ocl_ir.layout import Layout
from ocl_ir.source_line import calling_line
from ocl_ir.types import I32, I64, U32, U64, DType
from ocl_runtime.errors import IndexingError, OutOfMemoryError
from ocl_runtime.plan.cache.routines import Routine
from ocl_runtime.plan.tracing import Question

KEEP_SHAPE = "keep the shape: where(mask, x, 0) has 0 for each element that is not picked"
PICKED = Question("the number of elements that a mask picks", KEEP_SHAPE)


class Counting(NamedTuple):
    """How the count of what a mask holds for is found."""

    evaluated: Callable[[Routine, tuple[Node, ...]], tuple[Buffer, ...]]
    """What a routine gives of operands, computed."""
    only: Callable[[Buffer], int]
    """Waits for the only element of a result."""
    copied: Callable[[Buffer, int], Node]
    """The first elements of a result with one axis, in memory of their own."""
    ahead: bool
    """Whether to pack before the count is known."""


_FITS_I32 = 2**31
_ROW = 4096
"""Places of a row at most: a tile of a team of a GPU."""
_ROOM = 3
"""Masks that hold for half of their places are common: what they pick should not be copied."""
_LEAST_ROW, _VECTOR = 1024, 16
"""Places of a row at least, where rows of one length have all places; and of what such a length is a multiple."""


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

    `whole` are its whole rows, `counts` has how many hold within each of them, and `upto` how many up to its end.
    `rest` is the row behind them, which is shorter, if there is one, and `total` how many hold in all.
    """

    whole: Node
    counts: Node
    upto: Node
    rest: Node | None
    total: Node

    def packed(self, value: Node, count: int) -> Node:
        """The elements of a node with one axis for which the mask holds, of which there are no more than a count."""
        packed, start = graph.undefined(value.dtype, (count,)), self.whole.size
        if start:
            begin = graph.reshape(graph.elementwise("sub", self.upto, self.counts), (self.upto.size, 1))
            packed = _pack(packed, _part(value, 0, start), self.whole, begin)
        if self.rest is not None:
            packed = _pack(packed, _part(value, start, self.rest.size), self.rest, _behind(self.upto))
        return packed


def _pack(packed: Node, value: Node, kept: Node, begin: Node) -> Node:
    """What rows keep of a value, written from where each row begins on."""
    index = graph.expand(begin, kept.shape)
    return graph.scatter("pack", packed, graph.reshape(value, kept.shape), kept, [index])


def _places_dtype(mask: Node) -> DType:
    return U32 if mask.size < _FITS_I32 else U64


def _part(node: Node, start: int, length: int) -> Node:
    """Neighbours of a node with one axis."""
    return graph.index(node, (Span(start, 1, length),))


def _behind(upto: Node) -> Node:
    """How many hold in all whole rows."""
    return _part(upto, upto.size - 1, 1) if upto.size else graph.scalar(0, upto.dtype, (1,))


@lru_cache
def _row_length(size: int) -> int:
    return next((row for row in range(_ROW, _LEAST_ROW - 1, -_VECTOR) if size % row == 0), _ROW)


def rows(mask: Node) -> Rows:
    """The rows of a mask that has some places."""
    size, dtype, flat = mask.size, _places_dtype(mask), graph.reshape(mask, (mask.size,))
    row = _row_length(plain(size))
    length = size % row
    whole = graph.reshape(_part(flat, 0, size - length), (size // row, row))
    counts = graph.reduce("sum", whole, (1,), dtype)
    upto = graph.scan("sum", counts, 0, dtype)
    rest, total = None, _behind(upto)
    if length:
        rest = graph.reshape(_part(flat, size - length, length), (1, length))
        total = graph.elementwise("add", graph.reduce("sum", rest, (1,), dtype), total)
    return Rows(whole, counts, upto, rest, total)


def _counted(mask: Node) -> tuple[Node, ...]:
    """How many hold within each whole row of a mask, up to its end, and in all."""
    cut = rows(mask)
    return cut.counts, cut.upto, cut.total


def _counted_and_packed(mask: Node, value: Node) -> tuple[Node, ...]:
    """How many a mask holds for in all, and the elements of a node with one axis where it does, in memory for as many
    as it has. The count comes first, so that who reads it does not wait for the packing."""
    cut = rows(mask)
    return cut.total, cut.packed(value, mask.size)


def _packed(mask: Node, value: Node, counting: Counting) -> Node:
    """The elements of a node with one axis where a mask holds."""
    if mask.size:
        if counting.ahead:
            with suppress(OutOfMemoryError):  # as many elements as the mask holds for may still fit
                total, packed = counting.evaluated(_counted_and_packed, (mask, value))
                return _first(packed, counting.only(total), counting)
        counts, upto, total = counting.evaluated(_counted, (mask,))
        count = counting.only(total)
        if count:
            return rows(mask)._replace(counts=counts, upto=upto).packed(value, count)
    return graph.scalar(0, value.dtype, (0,))


def _first(whole: Buffer, count: int, counting: Counting) -> Node:
    """The first elements of a node with one axis; not in its memory if that is more than `_ROOM` times as large."""
    if not count:
        return graph.scalar(0, whole.dtype, (0,))
    return _part(whole, 0, count) if _ROOM * count >= whole.size else counting.copied(whole, count)


def coordinates(mask: Node, counting: Counting, dtype: DType | None = None) -> list[Node]:
    """The coordinates of where a mask holds, one node for each axis; of one axis, as a dtype."""
    own = _places_dtype(mask) if dtype is None or len(mask.shape) != 1 else dtype
    picked = _packed(mask, graph.iota(own, Layout.contiguous((mask.size,))), counting)
    along: list[Node] = []
    for axis, length in enumerate(mask.shape):
        inner, index = math.prod(mask.shape[axis + 1 :]), picked
        if axis < len(mask.shape) - 1:
            index = graph.elementwise("udiv", index, graph.scalar(inner, own, index.shape, ""))
        if axis > 0:
            index = graph.elementwise("urem", index, graph.scalar(length, own, index.shape, ""))
        along.append(index)
    return along


def selected(node: Node, mask: Node, counting: Counting) -> Node:
    """The elements of a node for which a mask of its shape holds."""
    return _packed(mask, graph.reshape(node, (node.size,)), counting)


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
