"""What products of matrices and vectors mean in nodes.

Products of two matrices are contractions, which have kernels of their own. Where one side is a vector, the product is a
sum like any other, and is fused with what it is made of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.graph.nodes import accumulator
from ocl_ir.indices import parse_index
from ocl_ir.layout import broadcast_shapes
from ocl_ir.source_line import Where, calling_line
from ocl_ir.types import BOOL
from ocl_runtime.arrays.meaning.broadcasting import broadcast
from ocl_runtime.arrays.meaning.precision import in_tf32
from ocl_runtime.arrays.meaning.semantics import cast, common_dtype
from ocl_runtime.errors import DTypeError, ShapeError

if TYPE_CHECKING:
    from ocl_runtime.plan.executor import Executor


def matmul(x1: Node, x2: Node, executor: Executor, where: Where) -> Node:
    """Matrices in the last two axes multiplied; what has one axis is a row on the left and a column on the right."""
    _check("matmul", x1, x2)
    if not x1.shape or not x2.shape:
        raise unfit("matmul", x1, x2, "both need axes; multiply takes numbers")
    if x1.shape[-1] != x2.shape[-2 if len(x2.shape) > 1 else 0]:
        raise unfit(
            "matmul", x1, x2, "the last axis of the left one has to be as long as the second last of the right one"
        )
    if len(x2.shape) == 1:
        return dot(x1, x2, -1, executor, where)
    if len(x1.shape) == 1:
        return dot(graph.index(x1, parse_index(x1.shape, (slice(None), None)), where), x2, -2, executor, where)
    return matrices(x1, x2, executor)


def matrices(x1: Node, x2: Node, executor: Executor) -> Node:
    """Matrices that fit, multiplied in the dtype that both are promoted to; the axes in front broadcast."""
    dtype = common_dtype((x1, x2), executor)
    front = broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    left, right = (graph.expand(cast(x, dtype), (*front, *x.shape[-2:])) for x in (x1, x2))
    return graph.contract(left, right, tf32=in_tf32())


def dot(x1: Node, x2: Node, axis: int, executor: Executor, where: Where) -> Node:
    """The sums of products along an axis, counted from the end, of arrays that broadcast against each other."""
    _check("vecdot", x1, x2)
    dtype = x1.dtype
    if x2.dtype is not dtype:
        dtype = common_dtype((x1, x2), executor)
        x1, x2 = cast(x1, dtype), cast(x2, dtype)
    # Integers wrap the same in any width; products of halves are exact in float32, as those of matrices.
    wide = dtype if dtype.is_integer else accumulator("sum", dtype)
    x1, x2 = broadcast(graph.convert(x1, wide), graph.convert(x2, wide), where)
    product = graph.pair("mul", wide, x1, x2, where)
    total = graph.reduce("sum", product, (len(product.shape) + axis,), wide, factor=dtype, where=where)
    return graph.convert(total, dtype)


def _check(what: str, x1: Node, x2: Node) -> None:
    if x1.dtype is x2.dtype is BOOL:
        raise DTypeError(f"{what} of bools", place=calling_line(), remedy="convert first: astype(x, int32)")


def unfit(what: str, x1: Node, x2: Node, remedy: str) -> ShapeError:
    """The error for shapes that cannot be multiplied."""
    return ShapeError(f"{what} of shapes {x1.shape} and {x2.shape}", place=calling_line(), remedy=remedy)
