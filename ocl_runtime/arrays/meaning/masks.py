"""What masks mean in nodes, as NumPy has it.

What a mask holds for is numbered in row-major order by a running sum. Reading by a mask, or with one beside other
indices, needs the count of these elements: the shape of the result depends on it, so it is waited for. Writing needs no
count: where the mask does not hold, the old element stays.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.indices import Shape
from ocl_ir.layout import Layout
from ocl_ir.source_line import calling_line
from ocl_ir.types import I64, U32, U64
from ocl_runtime.errors import IndexingError

_FITS_I32 = 2**31


def check(mask: Node, shape: Shape, axis: int) -> None:
    """Raises `IndexingError` for a mask that has not the shape of the axes of an array from one on."""
    if mask.shape != shape[axis : axis + len(mask.shape)]:
        raise IndexingError(
            f"a mask of shape {mask.shape} for an array of shape {shape}" + (f", from axis {axis} on" if axis else ""),
            place=calling_line(),
            remedy="give a mask of the same shape, or of that of the first axes",
        )


def order(mask: Node) -> Node:
    """For each place of a mask, in row-major order, how many up to it hold."""
    return graph.scan("sum", graph.reshape(mask, (mask.size,)), 0, I64)


def coordinates(mask: Node, counted: Callable[[Node], tuple[Node, int]]) -> list[Node]:
    """The coordinates of where a mask holds, one node for each axis; `counted` gives what `order` is computed to, and
    the last of it."""
    dtype = U32 if mask.size < _FITS_I32 else U64
    if not mask.size:
        return [graph.scalar(0, dtype, (0,)) for _ in mask.shape]
    numbers, count = counted(order(mask))
    if not count:
        return [graph.scalar(0, dtype, (0,)) for _ in mask.shape]
    flat = graph.reshape(mask, (mask.size,))
    indices = graph.iota(dtype, Layout.contiguous(flat.shape))
    to = graph.elementwise("sub", numbers, graph.scalar(1, I64, numbers.shape, ""))
    selected = graph.scatter("set", graph.undefined(dtype, (count,)), indices, flat, [to])
    along: list[Node] = []
    for axis, length in enumerate(mask.shape):
        inner = math.prod(mask.shape[axis + 1 :])
        quotient = graph.elementwise("udiv", selected, graph.scalar(inner, dtype, selected.shape, ""))
        along.append(graph.elementwise("urem", quotient, graph.scalar(length, dtype, selected.shape, "")))
    return along


def spread(value: Node, mask: Node, shape: Shape) -> Node:
    """A value that has, along its first axis, an element for each place where a mask holds, in row-major order: each at
    its place in a shape. If it has too few, the last one is repeated."""
    count, rest = value.shape[0], shape[len(mask.shape) :]
    number = graph.elementwise("sub", order(mask), graph.scalar(1, I64, (mask.size,), ""))
    for op, limit in (("minimum", count - 1), ("maximum", 0)):
        number = graph.elementwise(op, number, graph.scalar(limit, I64, number.shape, ""))
    number = graph.reshape(number, (*mask.shape, *(1 for _ in rest)))
    behind = []
    for axis in range(len(rest)):
        strides = (0,) * (len(mask.shape) + axis) + (1,) + (0,) * (len(rest) - axis - 1)
        behind.append(graph.iota(U32 if rest[axis] < _FITS_I32 else U64, Layout(shape, strides)))
    return graph.gather(graph.expand(value, (count, *rest)), [graph.expand(number, shape), *behind])
