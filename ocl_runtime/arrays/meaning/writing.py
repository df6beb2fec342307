"""What writing into arrays means in nodes, as NumPy has it.

    x[1:-1] = y        x += 1        x[x < 0] = 0        x[::2, 0] *= y

A write makes the array's cell another node: the elements with a part of them replaced. The array, its views and what
it is a view of see it, since they share the cell; expressions that were built before keep the node that they were
built on. Source and target may overlap. Whether memory is overwritten or copied is the planner's business.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node, Step
from ocl_ir.guards import Backed, PythonNumber
from ocl_ir.indices import Shape
from ocl_ir.layout import Layout
from ocl_ir.source_line import Where, calling_line
from ocl_ir.types import BOOL, DType
from ocl_runtime.arrays.meaning.dtypes import casts
from ocl_runtime.arrays.meaning.semantics import Operand, as_node, cast
from ocl_runtime.errors import DTypeError, NumberRangeError, ShapeError


def written(base: Node, steps: Sequence[Step], value: Node, where: Where) -> Node:
    """A node with the view that some steps make of it replaced by elements of the view's shape.

    Raises `ShapeError` for what was broadcast: it may have elements twice.
    """
    if not steps:
        return value
    region = steps[0].region
    if region is not None and len(steps) == 1:
        return graph.assign(base, region, value, where)
    region = Layout.contiguous(base.shape)
    for step in steps:
        if step.is_repeating:
            raise ShapeError(
                f"writing into shape {value.shape} of an array that was broadcast, where elements are repeated",
                place=calling_line(),
                remedy="write into the array before it is broadcast",
            )
        moved = step.apply(region)
        assert moved is not None, "a reshape that copies makes no view"
        region = moved
    return graph.assign(base, region, value, where)


def is_view(base: Node, steps: Sequence[Step]) -> bool:
    """Whether steps lead to a part of a node's elements; a reshape may have to copy instead."""
    region: Layout | None = Layout.contiguous(base.shape)
    for step in steps:
        region = step.apply(region) if region is not None else None
    return region is not None


def fitted(value: Operand, dtype: DType, shape: Shape, where: Where = "") -> Node:
    """What is written, converted and broadcast: floats to integers by cutting, all to bools by comparing with 0.

    Raises `ShapeError` for a shape that does not broadcast, `NumberRangeError` for a Python number that the dtype does
    not hold.
    """
    if isinstance(value, PythonNumber):
        return as_node(_number(value, dtype), dtype, shape)
    value_shape = value.shape
    if value_shape == shape and value.dtype is dtype:
        return value
    while len(value.shape) > len(shape) and value.shape[0] == 1:  # NumPy drops axes in front
        value = graph.reshape(value, value.shape[1:])
    ends = zip(reversed(value.shape), reversed(shape), strict=False)
    if len(value.shape) > len(shape) or not all(length in (1, wanted) for length, wanted in ends):
        raise ShapeError(
            f"writing shape {value_shape} into shape {shape}",
            place=calling_line(),
            remedy="each axis, from the last on, has to have the same length or 1",
        )
    return graph.expand(cast(value, dtype), shape, where)


def _number(value: PythonNumber, dtype: DType) -> PythonNumber:
    if isinstance(value, Backed):
        return value
    if dtype == BOOL:
        return bool(value)
    if isinstance(value, complex) and not dtype.is_complex:
        raise DTypeError(
            f"{value} written into {dtype.public}",
            place=calling_line(),
            remedy="write its real part, or convert the array first: astype(x, complex64)",
        )
    if dtype.is_integer and isinstance(value, float):
        if not math.isfinite(value):
            raise NumberRangeError(
                f"{value} written into {dtype.public}", place=calling_line(), remedy="use a finite number"
            )
        value = int(value)
    return value  # which `as_node` checks


def where_mask(mask: Node, value: Node, x: Node) -> Node:
    """`x` with the elements of a value of its shape where a mask holds, which has the shape of its first axes."""
    widened = graph.reshape(mask, (*mask.shape, *(1 for _ in x.shape[len(mask.shape) :])))
    return graph.elementwise("select", graph.expand(widened, x.shape), value, x)


def check_kind(name: str, result: DType, x: DType) -> None:
    """Raises `DTypeError` where the result of an operation in place is of another kind than the array."""
    if result is not x and not casts(result, x, "same_kind"):
        raise DTypeError(
            f"{name} of {x.public} in place gives {result.public}",
            place=calling_line(),
            remedy="write x = x … for a new array, or convert the operand",
        )
