"""Reductions of the array API standard.

Sums add up in a fixed order, so the same device gives the same bits every time; half adds up in float32, integers in 64
bits.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import ReduceOp
from ocl_ir.source_line import caller, calling_line
from ocl_ir.types import BOOL, F32, DType
from ocl_runtime.arrays.array import Array, array_of, ordered_array_of
from ocl_runtime.arrays.axes import axes_of
from ocl_runtime.arrays.functions.elementwise import astype, imag, real, square
from ocl_runtime.arrays.functions.elementwise import sqrt as _sqrt
from ocl_runtime.arrays.meaning.dtypes import require, to_dtype
from ocl_runtime.arrays.meaning.semantics import cast
from ocl_runtime.arrays.operands import ArrayLike
from ocl_runtime.errors import DTypeError

Axis: TypeAlias = int | tuple[int, ...] | None


def sum(x: ArrayLike, /, axis: Axis = None, *, dtype: Any = None, keepdims: bool = False) -> Array:  # noqa: A001
    """The sum along axes, by default all. Floats keep their dtype, integers and bools give int64 or uint64.

    `dtype` converts the elements first. Raises `ShapeError` for axes that do not exist or are named twice.
    """
    x = array_of("sum", x)
    return _accumulated("sum", x, axis, dtype, keepdims)


def prod(x: ArrayLike, /, axis: Axis = None, *, dtype: Any = None, keepdims: bool = False) -> Array:
    """The product along axes; dtypes and errors as of `sum`."""
    x = array_of("prod", x)
    return _accumulated("prod", x, axis, dtype, keepdims)


def min(x: ArrayLike, /, axis: Axis = None, *, keepdims: bool = False) -> Array:  # noqa: A001
    """The least element along axes; NaN if there is one.

    Raises `ShapeError` if there are no elements, and for axes that do not exist or are named twice.
    """
    x = ordered_array_of("min", x)
    return _reduce("min", x, axis, x._dtype, keepdims)


def max(x: ArrayLike, /, axis: Axis = None, *, keepdims: bool = False) -> Array:  # noqa: A001
    """The greatest element along axes; NaN if there is one. Errors as of `min`."""
    x = ordered_array_of("max", x)
    return _reduce("max", x, axis, x._dtype, keepdims)


def any(x: ArrayLike, /, axis: Axis = None, *, keepdims: bool = False) -> Array:  # noqa: A001
    """Whether an element along axes is true (not 0); of no elements, no. Gives bools."""
    x = array_of("any", x)
    return _bools("max", x, axis, keepdims)


def all(x: ArrayLike, /, axis: Axis = None, *, keepdims: bool = False) -> Array:  # noqa: A001
    """Whether all elements along axes are true (not 0); of no elements, yes. Gives bools."""
    x = array_of("all", x)
    return _bools("min", x, axis, keepdims)


def count_nonzero(x: ArrayLike, /, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """How many elements along axes are not 0, as int64."""
    x = array_of("count_nonzero", x)
    return sum(astype(x, np.bool_), axis=axis, keepdims=keepdims)


def mean(x: ArrayLike, /, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """The sum along axes divided by the number of elements (NaN of none), in the dtype of `x`.

    Integers give the default real dtype. Errors as of `sum`.
    """
    x = array_of("mean", x)
    dtype = _real(x)
    # The sum of halves may be out of their range when their mean is not.
    total = _reduce("sum", x, axis, F32 if dtype.bits == 16 else dtype, keepdims)
    return astype(total / _count(x, axis), dtype)


def var(x: ArrayLike, /, axis: Axis = None, *, correction: float = 0.0, keepdims: bool = False) -> Array:
    """The mean squared distance from the mean, divided by the number of elements less `correction`.

    Dtypes and errors as of `mean`.
    """
    x = array_of("var", x)
    dtype = _real(x)
    wide = astype(x, F32 if dtype.bits == 16 else dtype)
    apart = wide - mean(wide, axis=axis, keepdims=True)
    squares = square(real(apart)) + square(imag(apart)) if dtype.is_complex else square(apart)
    dtype = dtype.component
    total = sum(squares, axis=axis, keepdims=keepdims)
    whole = int(correction) if correction == int(correction) else correction
    left = _count(x, axis) - whole
    return astype(total / (left if left > 0 else 0), dtype)


def std(x: ArrayLike, /, axis: Axis = None, *, correction: float = 0.0, keepdims: bool = False) -> Array:
    """The square root of `var`."""
    x = array_of("std", x)
    return _sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def _accumulated(op: ReduceOp, x: Array, axis: Axis, dtype: Any, keepdims: bool) -> Array:
    if dtype is None:
        operand_dtype = x._dtype
        return _reduce(
            op, x, axis, operand_dtype if operand_dtype.is_inexact else graph.accumulator(op, operand_dtype), keepdims
        )
    wanted = require(to_dtype(dtype), x._executor.target)
    if wanted == BOOL:
        raise DTypeError(f"{op} in bool", place=calling_line(), remedy="use any or all")
    return _reduce(op, astype(x, wanted), axis, wanted, keepdims)


def _bools(op: ReduceOp, x: Array, axis: Axis, keepdims: bool) -> Array:
    test = Array(cast(x._node, BOOL), x._executor)
    if _count(test, axis) == 0:
        counted = _reduce("sum", test, axis, graph.accumulator("sum", BOOL), keepdims)
        return Array(graph.scalar(op == "min", BOOL, counted.shape), x._executor)
    return _reduce(op, test, axis, BOOL, keepdims)


def _reduce(op: ReduceOp, x: Array, axis: Axis, dtype: DType, keepdims: bool) -> Array:
    axes = tuple(sorted(axes_of(op, axis, x.ndim)))
    line = caller(3)
    return Array(graph.reduce(op, x._node_at(line), axes, dtype, keepdims=keepdims, where=line), x._executor)


def _count(x: Array, axis: Axis) -> int:
    """Elements that become one."""
    count = 1
    for dim in axes_of("a reduction", axis, x.ndim):
        count *= x.shape[dim]
    return count


def _real(x: Array) -> DType:
    return x._dtype if x._dtype.is_inexact else x._executor.default_real
