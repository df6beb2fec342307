"""Diagonals, products and norms of vectors."""

from __future__ import annotations

import math
from typing import Any

from ocl_ir.source_line import calling_line
from ocl_ir.types import BOOL
from ocl_runtime.arrays import (
    Array,
    abs,
    arange,
    broadcast_arrays,
    count_nonzero,
    max,
    min,
    moveaxis,
    multiply,
    sqrt,
    stack,
    sum,
    use,
)  # fmt: skip
from ocl_runtime.arrays.array import array_of, arrays_of
from ocl_runtime.arrays.axes import axes_of, axis_of
from ocl_runtime.arrays.operands import ArrayLike
from ocl_runtime.errors import DTypeError, ShapeError
from ocl_runtime.linalg.operands import floating_arrays, order_of, squared_magnitudes


def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Array:
    """The diagonals of the matrices in the last two axes, above the main one for a positive `offset`.

        diagonal(asarray([[1, 2], [3, 4]]))          # [1, 4]

    Raises `ShapeError` for less than two axes.
    """
    x = array_of("diagonal", x)
    if x.ndim < 2:
        raise ShapeError(f"diagonal of an array with {x.ndim} axes", place=calling_line(), remedy="give two axes")
    rows, columns = x.shape[-2:]
    down, right = (-offset, 0) if offset < 0 else (0, offset)
    length = rows - down if rows - down < columns - right else columns - right
    with use(x._executor):
        line = arange(length if length > 0 else 0)
    return x[..., line + down, line + right]


def trace(x: ArrayLike, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """The sums of diagonals; dtypes as of `sum`, errors as of `diagonal`."""
    return sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The products of all pairs of elements of two vectors.

        outer(asarray([1, 2]), asarray([3, 4]))      # [[3, 4], [6, 8]]

    Raises `ShapeError` for other than one axis.
    """
    x1, x2 = arrays_of("outer", x1, x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ShapeError(f"outer of shapes {x1.shape} and {x2.shape}", place=calling_line(), remedy="give two vectors")
    return multiply(x1[:, None], x2[None, :])


def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """The vector products along an axis of length 3; the other axes broadcast.

        cross(asarray([1, 0, 0]), asarray([0, 1, 0]))    # [0, 0, 1]

    Raises `ShapeError` for other lengths, `DTypeError` for bools.
    """
    x1, x2 = arrays_of("cross", x1, x2)
    if BOOL in {x1._dtype, x2._dtype}:
        raise DTypeError("cross of bools", place=calling_line(), remedy="convert them to numbers")
    axes = [axis_of("cross", axis, x.ndim) for x in (x1, x2)]
    if any(x.shape[number] != 3 for x, number in zip((x1, x2), axes, strict=True)):
        raise ShapeError(
            f"cross of shapes {x1.shape} and {x2.shape} along axis {axis}",
            place=calling_line(),
            remedy="vectors have 3 components",
        )
    x1, x2 = broadcast_arrays(moveaxis(x1, axes[0], -1), moveaxis(x2, axes[1], -1))
    (a, b, c), (d, e, f) = ([x[..., number] for number in range(3)] for x in (x1, x2))
    return moveaxis(stack([b * f - c * e, c * d - a * f, a * e - b * d], axis=-1), -1, axis)


def vector_norm(
    x: ArrayLike, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, ord: float = 2
) -> Array:
    """The norms of vectors along axes, by default of all elements: the p-norm for `ord` p, the greatest magnitude for
    infinity, the least for its negative, how many are not 0 for 0. That of no elements is 0.

        vector_norm(asarray([3.0, 4.0]))             # 5.0

    Raises `Error` for an `ord` that is no real number, `DTypeError` for others than float32, float64, complex64 and
    complex128, `ShapeError` for axes that do not exist.
    """
    x, ord = floating_arrays("vector_norm", x)[0], order_of("vector_norm", ord)
    how: dict[str, Any] = {"axis": axes_of("vector_norm", axis, x.ndim), "keepdims": keepdims}
    if ord == 2:
        return sqrt(sum(squared_magnitudes(x), **how))
    magnitudes = abs(x)
    if ord == 1:
        return sum(magnitudes, **how)
    if ord == 0:
        return count_nonzero(x, **how).astype(magnitudes.dtype)
    if math.isinf(ord) and ord > 0:
        return max(magnitudes, **how) if x.size else sum(magnitudes, **how)
    if math.isinf(ord):
        return min(magnitudes, **how)
    return sum(magnitudes**ord, **how) ** (1 / ord)
