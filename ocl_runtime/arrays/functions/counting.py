"""How often values come: counts of integers, and of numbers between edges.

Counts are integers that are added in any order, close to where they are read (`plan/kernels/scatter_table_kernel.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.layout import Layout
from ocl_ir.source_line import calling_line
from ocl_ir.types import BF16, F32, I64, U32, U64
from ocl_runtime.arrays.array import Array, array_of, arrays_of
from ocl_runtime.arrays.core import compute_together
from ocl_runtime.arrays.functions.elementwise import astype, floor, maximum, minimum, where
from ocl_runtime.arrays.functions.manipulation import reshape
from ocl_runtime.arrays.functions.searching import searchsorted
from ocl_runtime.arrays.functions.statistics import max as _max
from ocl_runtime.arrays.functions.statistics import min as _min
from ocl_runtime.arrays.functions.statistics import sum as _sum
from ocl_runtime.arrays.meaning.adding import added_where
from ocl_runtime.arrays.meaning.dtypes import require, to_dtype
from ocl_runtime.arrays.operands import ArrayLike, uploaded
from ocl_runtime.errors import DTypeError, IndexingError, ShapeError

_FITS_U32 = 2**32
_FEW = 4096
"""Numbers of which a GPU counts how often they come before it is known how many there are; a table of a group has room
for them. Mostly there are no others, and the elements have been read once."""
_SPARE_BITS = 4
"""Of a float's fraction, bits that the distance from the first edge has beside the number of the bin."""


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

    Raises `ShapeError` for other axes or shapes, `DTypeError` for what is no integers, `IndexingError` for negative
    elements.
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
    if length is not None:
        return _counted(x, length, weights, dtype)
    if minlength < 0:
        raise IndexingError(
            f"bincount with minlength={minlength}", place=calling_line(), remedy="give a number that is not negative"
        )
    if not x.size:
        return _counted(x, minlength, weights, dtype)
    if weights is None and x._executor.target.kind == "gpu":
        few = _counted(x, max(minlength, _FEW), None, None)
        # The number behind the last one that comes; -1 where others than these come.
        numbers = Array(graph.iota(I64, Layout(few.shape, (1,), 1)), x._executor)
        end = where(_sum(few) == x.size, _max(where(few > 0, numbers, 0)), -1)
        compute_together((few, end))
        length = int(end)
        if length >= 0:
            counts = few[: max(length, minlength)]
            return counts if dtype is None else astype(counts, dtype)
    greatest = int(_max(astype(x, f"u{x.dtype.itemsize}")))  # negative ones are greater than the others
    if x._dtype.kind == "int" and greatest > np.iinfo(x.dtype).max:
        raise IndexingError(
            f"bincount of {int(_min(x))}",
            place=calling_line(),
            remedy="give no negative numbers, or length=… to leave them out",
        )
    return _counted(x, max(greatest + 1, minlength), weights, dtype)


def _counted(places: Array, length: int, weights: ArrayLike | None, dtype: Any) -> Array:
    """Counts, or sums of weights, of places from 0 to a length; others do not count."""
    executor = places._executor
    inside = astype(places, "u8") if places._dtype.kind == "int" else places  # what is negative is very large
    kept = (inside < length)._node
    value: Node
    if weights is None:
        value, wanted = graph.scalar(1, U32 if places.size < _FITS_U32 else U64, places.shape), I64
    else:
        given = arrays_of("bincount", weights, places)[0]
        wanted = given._dtype if given._dtype.is_float else executor.default_real
        value = astype(given, wanted, copy=False)._node
    if dtype is not None:
        wanted = require(to_dtype(dtype), executor.target)
        value = value if weights is None else graph.convert(value, wanted)
    if not length or not places.size:
        return Array(graph.scalar(0, wanted, (length,)), executor)
    zeros = graph.scalar(0, value.dtype, (length,))
    at = graph.convert(places._node, U32 if length < _FITS_U32 else U64)
    return Array(graph.convert(added_where(zeros, [at], value, kept), wanted), executor)


def histogram(
    x: ArrayLike,
    /,
    bins: int | Sequence[float] | ArrayLike = 10,
    range: tuple[float, float] | None = None,  # noqa: A002
    *,
    density: bool = False,
    weights: ArrayLike | None = None,
) -> tuple[Array, Array]:
    """How many elements lie between edges, and the edges: NumPy's `histogram`.

    `bins` is a number of bins of one width from the least to the greatest element, or in a `range`, or has their edges
    in ascending order. The last bin has its upper edge, too. The counts are int64, of `weights` as of `bincount`; with
    `density` they are divided by their sum and the widths. NaN lies in no bin. Least and greatest elements, unless a
    range says them, are waited for.

    Raises `ShapeError` for no bins, for a range that is not finite or descends, for weights of another shape.
    """
    x = array_of("histogram", x)
    if weights is not None and np.shape(weights) != x.shape:
        raise ShapeError(
            f"histogram of shape {x.shape} with weights of shape {np.shape(weights)}",
            place=calling_line(),
            remedy="give a weight for each element",
        )
    flat = reshape(x, (-1,))
    given = None if weights is None else reshape(arrays_of("histogram", weights, x)[0], (-1,))
    real = x._dtype if x._dtype.is_float else x._executor.default_real
    real = F32 if real is BF16 else real  # whose edges of many bins would be equal
    if isinstance(bins, int | np.integer):
        low, high = _range(flat, range)
        if bins < 1:
            raise ShapeError(f"histogram with {bins} bins", place=calling_line(), remedy="use at least one")
        ends = real.numpy.type(low), real.numpy.type(high)
        host: Any = np.linspace(*ends, int(bins) + 1, dtype=real.numpy)
        edges = Array(uploaded(host, x._executor), x._executor)
        places = _places(astype(flat, real, copy=False), edges, low, high, int(bins))
    else:
        edges = arrays_of("histogram", bins, x)[0]
        if edges.ndim != 1 or edges.size < 2:
            raise ShapeError(
                f"histogram with edges of shape {edges.shape}", place=calling_line(), remedy="give two edges or more"
            )
        places = _searched(flat, edges, edges.size - 1)
    counts = _counted(places, edges.size - 1, given, None)
    if density:
        counts = astype(counts, real) / (edges[1:] - edges[:-1]) / _sum(counts)
    return counts, edges


def _range(x: Array, given: tuple[float, float] | None) -> tuple[float, float]:
    """The least and the greatest number of a histogram; a half beside, where they are the same."""
    if given is not None:
        low, high = float(given[0]), float(given[1])
    elif not x.size:
        low, high = 0.0, 1.0
    else:
        ends = _min(x), _max(x)
        compute_together(ends)
        low, high = map(float, ends)
    if not (np.isfinite(low) and np.isfinite(high) and low <= high):
        raise ShapeError(
            f"histogram from {low} to {high}", place=calling_line(), remedy="give a finite range, the lesser one first"
        )
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _places(x: Array, edges: Array, low: float, high: float, bins: int) -> Array:
    """The bins of elements, by their distance from the first edge; rounding may put one into the bin beside, which the
    edges tell. What is outside of them has a bin that is not there."""
    if bins > 2 ** (np.finfo(x.dtype).nmant - _SPARE_BITS):
        return _searched(x, edges, bins)
    inside = (x >= edges[0]) & (x <= edges[bins])
    guess = floor((x - low) * (bins / (high - low)))
    place = astype(where(inside & (guess > 0), minimum(guess, bins - 1), 0), "i4")
    place = where(x < edges[place], maximum(place - 1, 0), place)
    place = where((x >= edges[place + 1]) & (place != bins - 1), place + 1, place)
    return where(inside, place, bins)


def _searched(x: Array, edges: Array, bins: int) -> Array:
    """The same by binary search."""
    places = where(x == edges[bins], bins - 1, searchsorted(edges, x, side="right") - 1)
    return where(x <= edges[bins], places, bins)
