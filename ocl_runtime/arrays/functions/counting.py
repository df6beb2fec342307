"""How often integers come.

Counts are integers that are added in any order, close to where they are read (`plan/kernels/scatter_table_kernel.py`).
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.guards import Backed
from ocl_ir.layout import Layout
from ocl_ir.source_line import calling_line
from ocl_ir.types import I64, U32, U64
from ocl_runtime.arrays.array import Array, array_of, arrays_of
from ocl_runtime.arrays.core import compute_together
from ocl_runtime.arrays.functions.elementwise import astype, where
from ocl_runtime.arrays.functions.statistics import max as _max
from ocl_runtime.arrays.functions.statistics import min as _min
from ocl_runtime.arrays.functions.statistics import sum as _sum
from ocl_runtime.arrays.meaning.adding import added_where
from ocl_runtime.arrays.meaning.dtypes import require, to_dtype
from ocl_runtime.arrays.operands import ArrayLike
from ocl_runtime.errors import DTypeError, IndexingError, ShapeError
from ocl_runtime.plan.tracing import Question, asking

_FITS_U32 = 2**32
_BINS = Question("the number of bins", "say how many there are: ocl_runtime.bincount(x, length=…)")
_LOW = 4096
"""Numbers of which a GPU counts how often they come before it is known how many there are; a table of a group has room
for them. Mostly there are no others, and the elements have been read once."""


def bincount(
    x: ArrayLike,
    /,
    weights: ArrayLike | None = None,
    minlength: int = 0,
    *,
    length: int | None = None,
    dtype: Any = None,
) -> Array:
    """How often each integer from 0 on comes in an array with one axis, in int64; with `weights` of the same shape, the
    sum of those where it comes, in their dtype or the default real (or `dtype`). At least `minlength` numbers.

        ocl.bincount(ocl.asarray([0, 2, 2]))        # 1, 0, 2

    How many numbers there are is waited for. With a `length` nothing is: there are as many, and elements that are
    negative or not below it do not count. Sums of floats have the same bits in every run, as of `add_at`.

    Raises `ShapeError` for other axes or shapes, `DTypeError` for what is no integers, and for floats as weights where
    the device has no 64-bit atomics, `IndexingError` for negative elements and lengths.
    """
    x = array_of("bincount", x)
    if x.ndim != 1 or (weights is not None and np.shape(weights) != x.shape):
        raise ShapeError(
            f"bincount of shape {x.shape}" + ("" if weights is None else f" with weights of shape {np.shape(weights)}"),
            place=calling_line(),
            remedy="give an array with one axis, and weights of the same shape: reshape(x, -1)",
        )
    if not (x._dtype.is_integer or x._dtype.kind == "bool"):
        raise DTypeError(f"bincount of {x.dtype}", place=calling_line(), remedy="convert to an integer dtype first")
    minlength = _not_negative("minlength", minlength)
    if length is not None:
        return index_counts("bincount", x, _not_negative("length", length), weights, dtype)
    if not x.size:
        return index_counts("bincount", x, minlength, weights, dtype)
    if weights is None and x._executor.target.kind == "gpu":
        low_counts = index_counts("bincount", x, max(minlength, _LOW), None, None)
        # The number behind the last one that comes; -1 where others than these come.
        numbers = Array(graph.iota(I64, Layout(low_counts.shape, (1,), 1)), x._executor)
        end = where(_sum(low_counts) == x.size, _max(where(low_counts > 0, numbers, 0)), -1)
        compute_together((low_counts, end))
        with asking(_BINS):
            length = int(end)
        if length >= 0:
            counts = low_counts[: max(length, minlength)]
            return counts if dtype is None else astype(counts, dtype)
    with asking(_BINS):
        greatest = int(_max(astype(x, f"u{x.dtype.itemsize}")))  # negative ones are greater than the others
    if x._dtype.kind == "int" and greatest > np.iinfo(x.dtype).max:
        raise IndexingError(
            f"bincount of {int(_min(x))}",
            place=calling_line(),
            remedy="give no negative numbers, or length=… to leave them out",
        )
    return index_counts("bincount", x, max(greatest + 1, minlength), weights, dtype)


def _not_negative(name: str, value: Any) -> int:
    """A length, which may be a size of a function that is captured."""
    if not isinstance(value, Backed):
        value = as_integer(f"bincount with {name}={value}", value)
    if value < 0:
        raise IndexingError(
            f"bincount with {name}={value}", place=calling_line(), remedy="give a number that is not negative"
        )
    length: int = value
    return length


def as_integer(what: str, value: Any) -> int:
    """An integer of any kind. Raises `DTypeError` for what is none."""
    try:
        return operator.index(value)
    except TypeError:
        raise DTypeError(what, place=calling_line(), remedy="give an integer: int(…)") from None


def index_counts(what: str, indices: Array, length: int, weights: ArrayLike | None, dtype: Any) -> Array:
    """Counts, or sums of weights, of indices from 0 to a length; others do not count."""
    executor = indices._executor
    unsigned = astype(indices, "u8") if indices._dtype.kind == "int" else indices  # what is negative is very large
    kept = (unsigned < length)._node
    addends: Node
    if weights is None:
        addends, wanted = graph.scalar(1, U32 if indices.size < _FITS_U32 else U64, indices.shape), I64
    else:
        weight = arrays_of(what, weights, indices)[0]
        wanted = weight._dtype if weight._dtype.is_float else executor.default_real
        addends = astype(weight, wanted, copy=False)._node
    if dtype is not None:
        wanted = require(to_dtype(dtype), executor.target)
        addends = addends if weights is None else graph.convert(addends, wanted)
    if not length or not indices.size:
        return Array(graph.scalar(0, wanted, (length,)), executor)
    zeros = graph.scalar(0, addends.dtype, (length,))
    coordinate = graph.convert(indices._node, U32 if length < _FITS_U32 else U64)
    counts = added_where(what, zeros, [coordinate], addends, kept, executor.target)
    return Array(graph.convert(counts, wanted), executor)
