"""What adding at computed places means in nodes: places that come several times get all of their addends.

Integers are added by atomic operations, in any order, which changes no bit. Floats are added exactly, as integers
(`exact_sums.py`); or, if the order may change the last bits from run to run, by atomic operations too.
"""

from __future__ import annotations

from collections.abc import Sequence

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.types import BOOL, F32, I32, U32, DType


def added(node: Node, coordinates: Sequence[Node], value: Node, *, deterministic: bool = True) -> Node:
    """A node with a value of its dtype added at places, which may be the same: one index for each axis, as of
    `graph.gather`. Of bools, what is added is or'ed."""
    kept = graph.scalar(True, BOOL, value.shape, "")
    return added_where(node, coordinates, value, kept, deterministic=deterministic)


def added_where(
    node: Node, coordinates: Sequence[Node], value: Node, kept: Node, *, deterministic: bool = True
) -> Node:
    """The same of the elements for which `kept` holds; the places of others may be out of bounds."""
    if not value.size:
        return node
    dtype = node.dtype
    if dtype == BOOL:
        none = graph.scalar(0, U32, node.shape, "")
        found = graph.scatter("max", none, graph.convert(value, U32), kept, coordinates)
        return graph.elementwise("or", node, graph.convert(found, BOOL))
    if dtype.bits < 32:  # which no device adds in one step
        wide: DType = F32 if dtype.is_float else I32
        if dtype.is_float:
            operands = graph.convert(node, wide), coordinates, graph.convert(value, wide)
            summed = added_where(*operands, kept, deterministic=deterministic)
        else:
            table = graph.scalar(0, wide, node.shape, "")
            summed = graph.scatter("add", table, graph.convert(value, wide), kept, coordinates)
            summed = graph.elementwise("add", graph.convert(node, wide), summed)
        return graph.convert(summed, dtype)
    if dtype.is_float and deterministic:
        from ocl_runtime.arrays.meaning.exact_sums import added_exactly  # noqa: PLC0415  # loads the language

        return added_exactly(node, coordinates, value, kept)
    return graph.scatter("add", node, value, kept, coordinates)
