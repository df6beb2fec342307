"""Running sums and products of the array API standard.

They add up in a fixed order, so the same device gives the same bits every time; half adds up in float32.
"""

from __future__ import annotations

from typing import Any

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import ScanOp
from ocl_ir.source_line import calling_line
from ocl_ir.types import BOOL
from ocl_runtime.arrays.array import Array, array_of
from ocl_runtime.arrays.axes import axis_of
from ocl_runtime.arrays.functions.elementwise import astype
from ocl_runtime.arrays.functions.joining import pad
from ocl_runtime.arrays.meaning.dtypes import require, to_dtype
from ocl_runtime.arrays.operands import ArrayLike
from ocl_runtime.errors import DTypeError, ShapeError


def cumulative_sum(
    x: ArrayLike, /, axis: int | None = None, *, dtype: Any = None, include_initial: bool = False
) -> Array:
    """The sums of all elements up to each along an axis, which may be left out where there is one. Dtypes as of `sum`.

    `include_initial` puts a 0 in front. Raises `ShapeError` for an axis that does not exist or is not named.
    """
    x = array_of("cumulative_sum", x)
    return _scan("sum", x, axis, dtype, include_initial)


def cumulative_prod(
    x: ArrayLike, /, axis: int | None = None, *, dtype: Any = None, include_initial: bool = False
) -> Array:
    """The products of all elements up to each along an axis; `include_initial` puts a 1 in front. Dtypes and errors as
    of `cumulative_sum`."""
    x = array_of("cumulative_prod", x)
    return _scan("prod", x, axis, dtype, include_initial)


def _scan(op: ScanOp, x: Array, axis: int | None, dtype: Any, include_initial: bool) -> Array:
    if axis is None and x.ndim != 1:
        raise ShapeError(
            f"cumulative_{op} of an array with {x.ndim} axes names none of them",
            place=calling_line(),
            remedy=f"say which: cumulative_{op}(x, axis=0)",
        )
    dim = axis_of(f"cumulative_{op}", 0 if axis is None else axis, x.ndim)
    operand_dtype = x._dtype
    if dtype is None:
        wanted = operand_dtype if operand_dtype.is_inexact else graph.accumulator(op, operand_dtype)
    else:
        wanted = require(to_dtype(dtype), x._executor.target)
        if wanted == BOOL:
            raise DTypeError(f"cumulative_{op} in bool", place=calling_line(), remedy="use another dtype")
        x = astype(x, wanted, copy=False)
    if include_initial:
        widths = [(int(number == dim), 0) for number in range(x.ndim)]
        x = pad(astype(x, wanted, copy=False), widths, constant_values=int(op == "prod"))
    return Array(graph.scan(op, x._node, dim, wanted), x._executor)
