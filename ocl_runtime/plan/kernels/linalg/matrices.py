"""Parts of the matrices of a batch: buffers with three axes, the batch, rows and columns."""

from __future__ import annotations

import math

from ocl_ir.graph.build import Buffer, buffer, iota, scalar
from ocl_ir.layout import Layout
from ocl_ir.types import BOOL, I32
from ocl_runtime.plan.fusion.values import Leaf, Operation, Value
from ocl_runtime.plan.kernels.library_kernel import Launches, leaf


def batched(array: Buffer) -> Buffer:
    """An array in row-major order with all axes before the last two as one; its sizes are numbers."""
    *batch, rows, columns = map(int, array.shape)
    return buffer(
        array.storage,
        array.dtype,
        Layout(
            (math.prod(batch), rows, columns), Layout.contiguous((math.prod(batch), rows, columns)).strides,
            array.layout.offset,
        ),
    )  # fmt: skip


def part(array: Buffer, rows: tuple[int, int], columns: tuple[int, int]) -> Buffer:
    """Rows and columns from one number to another."""
    layout = array.layout
    batch, row, column = layout.strides
    shape = (layout.shape[0], rows[1] - rows[0], columns[1] - columns[0])
    offset = layout.offset + rows[0] * row + columns[0] * column
    return buffer(array.storage, array.dtype, Layout(shape, (batch, row, column), offset))


def vector_part(vectors: Buffer, first: int, last: int) -> Buffer:
    """Elements of the vectors of a batch, from one number to another."""
    layout = vectors.layout
    shape, offset = (layout.shape[0], last - first), layout.offset + first
    return buffer(vectors.storage, vectors.dtype, Layout(shape, layout.strides, offset))


def transposed(array: Buffer) -> Buffer:
    """Rows as columns."""
    return buffer(array.storage, array.dtype, array.layout.permute((0, 2, 1)))


def conjugated(launches: Launches, array: Buffer) -> Buffer:
    """The conjugates: of complex matrices a copy, of real ones themselves."""
    if not array.dtype.is_complex:
        return array
    copy = launches.scratch(array.dtype, array.shape)
    launches.store((leaf(array), Operation("conj", array.dtype, (0,))), copy)
    return copy


def adjoint(launches: Launches, array: Buffer) -> Buffer:
    """The conjugate transposes."""
    return transposed(conjugated(launches, array))


def subtract_product(launches: Launches, target: Buffer, left: Buffer, right: Buffer) -> None:
    """Takes a product of matrices away from some."""
    if target.layout.strides[2] != 1 and target.layout.strides[1] == 1:  # the product lies as the target does
        target, left, right = transposed(target), transposed(right), transposed(left)
    product = launches.product(left, right)
    values = (leaf(target), leaf(product), Operation("sub", target.dtype, (0, 1)))
    launches.store(values, target, apart=False)


def fill(launches: Launches, target: Buffer, value: float) -> None:
    """Writes one value everywhere."""
    launches.store((_number(value, target), Operation("convert", target.dtype, (0,))), target)


def store_identity(launches: Launches, target: Buffer) -> None:
    """Writes ones on the diagonals and zeros elsewhere."""
    on: tuple[Value, ...] = (*_places(target), Operation("eq", BOOL, (0, 1)))
    launches.store((*on, Operation("convert", target.dtype, (2,))), target)


def clear_above(launches: Launches, target: Buffer) -> None:
    """Writes zeros above the diagonals."""
    values: tuple[Value, ...] = (
        *_places(target),
        leaf(target),
        _number(0.0, target),
        Operation("convert", target.dtype, (3,)),
        Operation("lt", BOOL, (0, 1)),
        Operation("select", target.dtype, (5, 4, 2)),
    )
    launches.store(values, target, apart=False)


def _number(value: float, array: Buffer) -> Leaf:
    """A number for each element: a real one, as arguments of kernels are."""
    return Leaf(scalar(value, array.dtype.component, array.shape), Layout.contiguous(array.shape), False)


def _places(array: Buffer) -> tuple[Leaf, ...]:
    """The rows and the columns of the elements."""
    layouts = (Layout(array.shape, strides) for strides in ((0, 1, 0), (0, 0, 1)))
    return tuple(Leaf(iota(I32, layout), layout, False) for layout in layouts)
