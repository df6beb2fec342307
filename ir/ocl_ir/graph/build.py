"""Building array expressions; the grammar is `ocl_ir.graph.nodes`.

Nothing here recurses: expressions may be many thousand nodes deep.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, cast

from ocl_ir.errors import DTypeError, ShapeError
from ocl_ir.graph.leaves import buffer, iota, scalar, undefined, zeros
from ocl_ir.graph.library_algorithm import LibraryAlgorithm, Typed
from ocl_ir.graph.movements import expand, index, move, permute, reshape, stepped
from ocl_ir.graph.nodes import (
    KERNEL,
    Assign,
    Buffer,
    Contract,
    CustomCall,
    Elementwise,
    Gather,
    Iota,
    Movement,
    Node,
    Reduce,
    ReduceOp,
    Scalar,
    Scan,
    ScanOp,
    Scatter,
    ScatterOp,
    Sort,
    Step,
    Storage,
    Undefined,
    accumulating,
    accumulator,
    deepen,
    walk,
)
from ocl_ir.graph.order import order_in_memory
from ocl_ir.guards import Given, PythonNumber
from ocl_ir.indices import Shape
from ocl_ir.layout import Layout, broadcast_shapes
from ocl_ir.op_types import result_type
from ocl_ir.program_ops import DefinedOp
from ocl_ir.source_line import Where, caller, calling_line
from ocl_ir.types import BF16, BOOL, F16, F32, I64, TF32, DType

__all__ = [
    "Assign",
    "Buffer",
    "Contract",
    "CustomCall",
    "Elementwise",
    "Gather",
    "Iota",
    "Movement",
    "Node",
    "Reduce",
    "ReduceOp",
    "Scalar",
    "Scan",
    "ScanOp",
    "Scatter",
    "ScatterOp",
    "Sort",
    "Step",
    "Storage",
    "Undefined",
    "accumulator",
    "array_dtype",
    "assign",
    "bitcast",
    "buffer",
    "contract",
    "convert",
    "custom_call",
    "elementwise",
    "expand",
    "gather",
    "index",
    "iota",
    "move",
    "pair",
    "permute",
    "reduce",
    "reshape",
    "scalar",
    "scan",
    "scatter",
    "single",
    "sort",
    "stepped",
    "typed",
    "undefined",
    "walk",
    "with_number",
    "zeros",
]


def elementwise(op: str, *operands: Node, where: Where = "") -> Node:
    """A row of the op table at every place; `where` is the Python line that asked for it, by default the calling one.

    Raises `DTypeError` for dtypes that the row does not take and `ShapeError` for operands of different shapes.
    """
    return typed(op, array_dtype(op, tuple([operand.dtype for operand in operands])), operands, where)


def typed(op: str, dtype: DType, operands: tuple[Node, ...], where: Where = "") -> Node:
    """The same for who knows the dtype of the result."""
    shape, flat, line = operands[0].shape, True, where or caller()
    for operand in operands:
        if operand.shape is not shape and operand.shape != shape:
            listed = ", ".join(str(operand.shape) for operand in operands)
            raise ShapeError(f"{op} of shapes {listed}", place=calling_line(), remedy="expand them to one shape first")
        if not operand.flat:
            flat = False
    order = None if flat or len(shape) < 2 else order_in_memory(operands)
    if order is not None:
        turned = [permute(operand, order) for operand in operands]
        return permute(typed(op, dtype, tuple(turned), line), tuple(sorted(range(len(order)), key=order.__getitem__)))
    return _deep(Elementwise(shape, dtype, line, flat, operands, op))


def single(op: str, dtype: DType, operand: Node, where: Where) -> Node:
    """The same for one operand."""
    shape, flat = operand.shape, operand.flat
    if not (flat or len(shape) < 2):  # there may be another order of axes
        return typed(op, dtype, (operand,), where)
    made = Elementwise(shape, dtype, where, flat, (operand,), op)
    made.depth = operand.depth + 1
    return made


def pair(op: str, dtype: DType, left: Node, right: Node, where: Where) -> Node:
    """The same for two operands, which have one shape."""
    flat, shape, operands = left.flat and right.flat, left.shape, (left, right)
    if not (flat or len(shape) < 2 or order_in_memory(operands) is None):
        return typed(op, dtype, operands, where)
    made = Elementwise(shape, dtype, where, flat, operands, op)
    depth, beside = left.depth, right.depth
    made.depth = (depth if depth > beside else beside) + 1
    return made


def with_number(
    op: str, dtype: DType, operand: Node, number: PythonNumber | Given, where: Where = "", *, first: bool = False
) -> Node:
    """The same beside a number, which may come first."""
    shape, flat = operand.shape, operand.flat
    beside = scalar(number, operand.dtype, shape, where)
    operands = (beside, operand) if first else (operand, beside)
    if not (where and (flat or len(shape) < 2 or order_in_memory(operands) is None)):
        return typed(op, dtype, operands, where)
    made = Elementwise(shape, dtype, where, flat, operands, op)
    made.depth = operand.depth + 1
    return made


def convert(arg: Node, dtype: DType, where: Where = "") -> Node:
    """The values as another dtype, by the rules of kernel IR's `convert`; the node itself where it has the dtype."""
    return arg if arg.dtype == dtype else typed("convert", dtype, (arg,), where)


@lru_cache(maxsize=4096)  # asked for every node
def array_dtype(op: str, dtypes: tuple[DType, ...]) -> DType:
    """The dtype of an operation on elements of arrays, which may be bfloat16: it has values there, as float16 has.

    Raises `DTypeError` as `result_type` does.
    """
    if BF16 not in dtypes or isinstance(op, DefinedOp):
        return cast("DType", result_type(op, dtypes))
    dtype = cast("DType", result_type(op, tuple([F16 if dtype is BF16 else dtype for dtype in dtypes])))
    return BF16 if dtype is F16 else dtype


def bitcast(arg: Node, dtype: DType, where: Where = "") -> Node:
    """The bits of the values as another dtype of the same width."""
    return arg if arg.dtype == dtype else typed("bitcast", dtype, (arg,), where)


def reduce(
    op: ReduceOp,
    arg: Node,
    axes: tuple[int, ...],
    dtype: DType,
    *,
    keepdims: bool = False,
    factor: DType | None = None,
    where: Where = "",
) -> Node:
    """The elements along `axes` (distinct, not negative) joined, as `dtype`. Who multiplies vectors says of which dtype
    they are, the `factor`; by default it is that of the elements.

    Without elements a sum is 0 and a product 1. Raises `ShapeError` for the least or largest of no elements.
    """
    whole = arg.shape
    shape: Shape = ()
    if keepdims or len(axes) < len(whole):
        shape = tuple([1 if axis in axes else n for axis, n in enumerate(whole) if keepdims or axis not in axes])
    if 0 in whole and any(whole[axis] == 0 for axis in axes):
        if op in {"min", "max"}:
            raise ShapeError(
                f"{op} of no elements: shape {arg.shape} along axes {axes}",
                place=calling_line(),
                remedy="check x.size first, or reduce along other axes",
            )
        nothing = op.neutral if isinstance(op, DefinedOp) else op == "prod"
        return scalar(dtype.value(nothing), dtype, shape)
    if op in {"min", "max"} and dtype not in {arg.dtype, accumulator(op, arg.dtype)}:
        raise DTypeError(f"{op} of {arg.dtype} is no {dtype}", place=calling_line(), remedy="convert the result")

    order = None if arg.flat or len(whole) < 2 else order_in_memory((arg,))
    if order is not None:
        inner = tuple(position for position, axis in enumerate(order) if axis in axes)
        turned = permute(arg, order)
        made = reduce(op, turned, inner, dtype, keepdims=keepdims, factor=factor, where=where or caller())
        kept = [axis for axis in order if keepdims or axis not in axes]
        return permute(made, tuple(sorted(range(len(kept)), key=kept.__getitem__)))
    joined, factor = accumulating(op, arg.dtype, dtype), factor or arg.dtype
    made = Reduce(shape, dtype, where or caller(), True, (arg,), op, axes, keepdims, joined, factor)
    made.depth = arg.depth + KERNEL
    return made


def scan(op: ScanOp, arg: Node, axis: int, dtype: DType, where: Where = "") -> Node:
    """The elements up to each along an axis joined, as `dtype`."""
    joined = accumulating(op, arg.dtype, dtype)
    return _deep(Scan(arg.shape, dtype, where or caller(), True, (arg,), op, axis, joined))


def sort(what: Literal["values", "places"], arg: Node, *, descending: bool = False, where: Where = "") -> Node:
    """The elements of a node along its last axis in order, or the places they had before."""
    dtype = arg.dtype if what == "values" else I64
    return _deep(Sort(arg.shape, dtype, where or caller(), True, (arg,), what, descending))


def custom_call(algorithm: LibraryAlgorithm, *operands: Node, where: Where = "") -> Node:
    """What an algorithm of the library gives of operands that it takes."""
    dtype, shape = algorithm.result(*(Typed(operand.dtype, operand.shape) for operand in operands))
    return _deep(CustomCall(shape, dtype, where or caller(), True, operands, algorithm))


def assign(arg: Node, region: Layout, value: Node, where: Where = "") -> Node:
    """The node with the elements of `region`, none of which it has twice, replaced by those of a node of its shape and
    of the same dtype. A whole node replaced is the other one, and one of which nothing is
    replaced is itself."""
    shape = arg.shape
    if region.shape == shape and region == Layout.contiguous(shape):
        return value
    if 0 in region.shape:
        return arg
    made = Assign(shape, arg.dtype, where or caller(), True, (arg, value), region)
    depth, beside = arg.depth, value.depth
    made.depth = (depth if depth > beside else beside) + KERNEL
    return made


def contract(left: Node, right: Node, where: Where = "", *, wide: bool = False, tf32: bool = False) -> Node:
    """Matrices (…, m, k) times matrices (…, k, n) of one dtype, with the same axes in front; half adds up in float32.
    The result has that dtype, or, if it is `wide`, that of the sums. Where `tf32` says so, operands of float32 may be
    rounded to 10 bits of their mantissa. A matrix of one row or column is a vector: then the product is a sum like any
    other, which reads each element once and is fused with what it is made of.

    Raises `ShapeError` for other shapes, `DTypeError` for bools and for two dtypes.
    """
    if left.dtype != right.dtype or left.dtype == BOOL:
        raise DTypeError(
            f"a product of matrices of {left.dtype} and {right.dtype}",
            place=calling_line(),
            remedy="convert both to one numeric dtype",
        )
    ranks = len(left.shape), len(right.shape)
    if min(ranks) < 2 or left.shape[:-2] != right.shape[:-2] or left.shape[-1] != right.shape[-2]:
        raise ShapeError(
            f"a product of matrices of shapes {left.shape} and {right.shape}",
            place=calling_line(),
            remedy="the last axis of the left one has to be as long as the second last of the right one",
        )
    shape, dtype = (*left.shape[:-1], right.shape[-1]), left.dtype
    joined = dtype if dtype.is_integer else accumulator("sum", dtype)  # integers wrap the same in any width
    dtype = joined if wide else dtype
    if left.shape[-1] == 0 or 0 in shape:
        return scalar(dtype.value(0), dtype, shape)
    if 1 in shape[-2:]:
        return convert(_vectors(left, right, joined, where or caller()), dtype)

    factor = TF32 if tf32 and left.dtype is F32 else left.dtype
    made = Contract(shape, dtype, where or caller(), True, (left, right), joined, factor)
    made.depth = max(left.depth, right.depth) + KERNEL
    return made


def _vectors(left: Node, right: Node, dtype: DType, where: Where) -> Node:
    """Matrices of which one is a row or a column, multiplied and added up in a dtype."""
    last = len(left.shape) - 1
    swapped = (*range(last - 1), last, last - 1)
    is_column = right.shape[-1] == 1
    sides = (left, permute(right, swapped)) if is_column else (permute(left, swapped), right)
    shape = broadcast_shapes(*(side.shape for side in sides))
    first, second = (expand(convert(side, dtype), shape) for side in sides)
    axis = last if is_column else last - 1
    product = pair("mul", dtype, first, second, where)
    return reduce("sum", product, (axis,), dtype, keepdims=True, factor=left.dtype, where=where)


def gather(arg: Node, indices: Sequence[Node], where: Where = "") -> Node:
    """The elements of a node at places that are computed: one index for each axis, all integers of one shape, none
    negative or beyond its axis. Raises `ShapeError` where there is nothing to take from."""
    shape = indices[0].shape
    if isinstance(arg, Scalar):
        return scalar(arg.value, arg.dtype, shape)
    if not arg.size and indices[0].size:
        raise ShapeError(
            f"elements taken from an array without any, of shape {arg.shape}",
            place=calling_line(),
            remedy="check x.size first",
        )
    flat = all(index.flat for index in indices)
    return _deep(Gather(shape, arg.dtype, where or caller(), flat, (arg, *indices)))


def scatter(op: ScatterOp, arg: Node, value: Node, kept: Node, indices: Sequence[Node], where: Where = "") -> Node:
    """A node with a value written at computed places, where `kept` holds: one index for each axis of `arg`, as of
    `gather`. No two places that are `set` are the same; `max` leaves the greatest value, of 32-bit integers, `add` the
    sum, of what has 32 bits or 64: that of floats in an order that may change from run to run. `pack` takes values
    with two axes and one index, which is the same for all elements of a row."""
    operands = (arg, value, kept, *indices)
    return _deep(Scatter(arg.shape, arg.dtype, where or caller(), True, operands, op))


def _deep(made: Node) -> Node:
    deepen(made)
    return made
