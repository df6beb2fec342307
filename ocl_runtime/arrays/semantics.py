"""What array functions mean in nodes: promotion, broadcasting and conversion become explicit.

The graph below knows neither: there, operands have one shape and the dtypes that the op table wants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from ir import graph
from ir.graph import Node
from ir.guards import Number
from ir.layout import Shape, broadcast_shapes
from ir.ops import OPS
from ir.reference import calling_line
from ir.types import BOOL, I8, U8, DType
from ocl_runtime.arrays.dtypes import checked, promote, require
from ocl_runtime.arrays.table import BOOL_OPS, WIDENS_BOOL, Row, Rule
from ocl_runtime.errors import DTypeError
from ocl_runtime.plan.executor import Executor

Operand: TypeAlias = Node | Number


def common_dtype(operands: Sequence[Operand], executor: Executor) -> DType:
    """The dtype that the operands are promoted to. Raises `DTypeError` where the device does not have it."""
    dtypes = [operand.dtype for operand in operands if not isinstance(operand, Number)]
    numbers = [operand for operand in operands if isinstance(operand, Number)]
    return require(promote(dtypes, numbers, executor.default_real), executor.target)


def common_shape(operands: Sequence[Operand]) -> Shape:
    """The shape that the operands broadcast to. Raises `ShapeError` where there is none."""
    return broadcast_shapes(*(() if isinstance(operand, Number) else operand.shape for operand in operands))


def as_node(operand: Operand, dtype: DType, shape: Shape) -> Node:
    """An operand converted and broadcast."""
    if isinstance(operand, Number):
        return graph.scalar(checked(operand, dtype), dtype, shape, "")  # the operation that it is for has a line
    return graph.expand(cast(operand, dtype), shape)


def cast(node: Node, dtype: DType) -> Node:
    """The node's values as another dtype; a bool is whether a value is not 0."""
    if dtype == BOOL and node.dtype != BOOL:
        return graph.elementwise("ne", node, graph.scalar(_zero(node.dtype), node.dtype, node.shape))
    if isinstance(node, graph.Scalar) and (dtype.is_float or not node.dtype.is_float):
        return graph.scalar(np.array(node.value, node.dtype.numpy).astype(dtype.numpy).item(), dtype, node.shape)
    return graph.convert(node, dtype)


def _zero(dtype: DType) -> Number:
    return 0.0 if dtype.is_float else 0


def apply(row: Row, operands: Sequence[Operand], executor: Executor) -> Node:
    """A row of the table on operands of any dtypes and shapes.

    Raises `DTypeError` for dtypes that the function does not take or that the device does not have, `ShapeError` for
    shapes that do not broadcast, `NumberRangeError` for a Python number that does not fit its neighbour's dtype.
    """
    dtype = common_dtype(operands, executor)
    return _RULES[row.rule](row, operands, dtype, executor)


def _at(op: str, operands: Sequence[Operand], dtype: DType) -> Node:
    shape = common_shape(operands)
    return graph.elementwise(op, *(as_node(operand, dtype, shape) for operand in operands))


def _numeric(row: Row, operands: Sequence[Operand], dtype: DType, executor: Executor) -> Node:
    del executor
    if dtype == BOOL:
        if row.op in BOOL_OPS:
            op = BOOL_OPS[row.op]
            return _at(op, operands, BOOL) if op else as_node(operands[0], BOOL, common_shape(operands))
        if row.op not in WIDENS_BOOL:
            raise _refused(row, dtype, "use logical functions, or convert: astype(x, int8)")
        dtype = I8
    if row.op != "pow" or dtype.is_float:
        return _at(row.op, operands, dtype)
    if isinstance(operands[1], Number) and operands[1] < 0:
        raise DTypeError(
            f"{row.name} of integers to the negative power {operands[1]}",
            place=calling_line(),
            remedy="convert to a float dtype first: astype(x, float32)",
        )
    return _at("ipow", operands, dtype)


def _real(row: Row, operands: Sequence[Operand], dtype: DType, executor: Executor) -> Node:
    dtype = dtype if dtype.is_float else executor.default_real
    if row.op == "nextafter" and dtype.bits == 16 and not executor.target.fp16:
        raise _refused(row, dtype, "convert to float32: this device has no arithmetic in half precision")
    return _at(row.op, operands, dtype)


def _rounding(row: Row, operands: Sequence[Operand], dtype: DType, executor: Executor) -> Node:
    del executor
    return _at(row.op, operands, dtype) if dtype.is_float else as_node(operands[0], dtype, common_shape(operands))


def _compare(row: Row, operands: Sequence[Operand], dtype: DType, executor: Executor) -> Node:
    del executor
    ordered_bools = dtype == BOOL and row.op not in {"eq", "ne"}
    return _at(row.op, operands, U8 if ordered_bools else dtype)


def _classify(row: Row, operands: Sequence[Operand], dtype: DType, executor: Executor) -> Node:
    del executor
    if dtype.is_float:
        return _at(row.op, operands, dtype)
    if row.op == "signbit" and dtype.kind == "int":
        return _at("lt", [*operands, 0], dtype)
    return graph.scalar(row.op == "isfinite", BOOL, common_shape(operands))


def _bits(row: Row, operands: Sequence[Operand], dtype: DType, executor: Executor) -> Node:
    del executor
    if dtype.is_float:
        raise _refused(row, dtype, "convert to an integer dtype first: astype(x, int32)")
    shifts_bools = dtype == BOOL and row.op in {"shl", "shr"}
    return _at(row.op, operands, I8 if shifts_bools else dtype)


def _count(row: Row, operands: Sequence[Operand], dtype: DType, executor: Executor) -> Node:
    if dtype == BOOL:
        dtype = U8
    if row.op == "popcount" and dtype.kind == "int":
        operands = [_at("abs", operands, dtype)]  # of the least integer the same bits, which as a number are right
    return cast(_bits(row, operands, dtype, executor), U8)


def _logical(row: Row, operands: Sequence[Operand], dtype: DType, executor: Executor) -> Node:
    del dtype, executor
    return _at(row.op, [bool(x) if isinstance(x, Number) else x for x in operands], BOOL)


def _refused(row: Row, dtype: DType, remedy: str) -> DTypeError:
    return DTypeError(f"{row.name} does not take {dtype.numpy}", place=calling_line(), remedy=remedy)


_RULES: Mapping[Rule, Callable[[Row, Sequence[Operand], DType, Executor], Node]] = MappingProxyType(
    {
        "numeric": _numeric,
        "real": _real,
        "rounding": _rounding,
        "compare": _compare,
        "classify": _classify,
        "bits": _bits,
        "count": _count,
        "logical": _logical,
    }
)


def arity(row: Row) -> int:
    """Number of operands."""
    return OPS[row.op].arity
