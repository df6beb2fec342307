"""How many numbers lie between edges, of bins of one width or of any.

Edges of bins of one width are NumPy's, from the host. Then an element's bin follows from its distance to the first one,
where that is at most one off, and from the edges beside; else, and of other bins, from a binary search.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocl_ir.source_line import calling_line
from ocl_ir.types import BF16, F32
from ocl_runtime.arrays.array import Array, array_of, arrays_of
from ocl_runtime.arrays.core import compute_together
from ocl_runtime.arrays.functions.counting import as_integer, index_counts
from ocl_runtime.arrays.functions.elementwise import astype, floor, maximum, minimum, where
from ocl_runtime.arrays.functions.manipulation import reshape
from ocl_runtime.arrays.functions.searching import searchsorted
from ocl_runtime.arrays.functions.statistics import max as _max
from ocl_runtime.arrays.functions.statistics import min as _min
from ocl_runtime.arrays.functions.statistics import sum as _sum
from ocl_runtime.arrays.hosts import host_values, is_array_like, refused
from ocl_runtime.arrays.meaning.dtypes import float16, float32, float64, promote
from ocl_runtime.arrays.operands import ArrayLike, uploaded
from ocl_runtime.errors import ShapeError
from ocl_runtime.plan.tracing import Question, asking

_ENDS = Question("the least and the greatest element, between which the bins lie", "say it: range=(least, greatest)")

_SPARE_BITS = 4
"""Of a float's fraction, bits that the distance from the first edge has beside the number of the bin, and that the
width of a bin has beside the rounding of its edges."""


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

        ocl.histogram(ocl.asarray([0.0, 1, 5, 6]), 3)       # [2, 0, 2], [0, 2, 4, 6]

    `bins` is a number of bins of one width from the least to the greatest element, or in a `range`, or has their edges
    in ascending order. The last bin has its upper edge, too. The counts are int64, of `weights` as of `bincount`; with
    `density` they are divided by their sum and the widths, in the default real, or in float64 where edges or weights
    are. NaN lies in no bin. Least and greatest elements, unless a range says them, are waited for.

    Raises `ShapeError` for no bins, for a range that is not finite or descends, for so many bins that their edges are
    not distinct, for edges on the host that descend, for weights of another shape; `DTypeError` for a number of bins
    that is no integer, and for weights where the device has no 64-bit atomics.
    """
    x = array_of("histogram", x)
    if weights is not None and np.shape(weights) != x.shape:
        raise ShapeError(
            f"histogram of shape {x.shape} with weights of shape {np.shape(weights)}",
            place=calling_line(),
            remedy="give a weight for each element",
        )
    flat = reshape(x, (-1,))
    weight = None if weights is None else reshape(arrays_of("histogram", weights, x)[0], (-1,))
    edges, equal = bin_edges("histogram", flat, bins, range)
    counts = index_counts("histogram", bin_indices(flat, edges, equal), edges.size - 1, weight, None)
    return (_density(counts, edges) if density else counts), edges


def bin_edges(what: str, x: Array, bins: Any, limits: Any) -> tuple[Array, NDArray[Any] | None]:
    """The edges of a histogram; also on the host, if its bins have one width. Errors as of `histogram`, for which
    `what` stands."""
    executor = x._executor
    is_list = isinstance(bins, Sequence) and not isinstance(bins, str)
    if not isinstance(bins, Array) and (is_list or getattr(bins, "ndim", None)):
        if not is_array_like(bins):
            raise refused(what, bins)
        host = host_values(bins, executor.default_real)
        if host.ndim == 1 and not (host[:-1] <= host[1:]).all():
            raise ShapeError(
                f"{what} with edges that do not ascend", place=calling_line(), remedy="sort them: sorted(edges)"
            )
        bins = Array(uploaded(host, executor), executor)
    if not getattr(bins, "ndim", None):
        equal = _equal_edges(what, x, as_integer(f"{what} with bins={bins!r}", bins), limits)
        return Array(uploaded(equal, executor), executor), equal
    if bins.ndim != 1 or bins.size < 2:
        raise ShapeError(
            f"{what} with edges of shape {bins.shape}", place=calling_line(), remedy="give two edges or more"
        )
    return arrays_of(what, bins, x)[0], None


def bin_indices(x: Array, edges: Array, equal: NDArray[Any] | None) -> Array:
    """The number of the bin that each element is in, from 0 on; for what is in none a negative one, or how many bins
    there are. The edges are as `bin_edges` gives them."""
    return _searched(x, edges) if equal is None else _of_equal_bins(x, edges, equal)


def _equal_edges(what: str, x: Array, bins: int, limits: Any) -> NDArray[Any]:
    """NumPy's edges of bins of one width, in the dtype of floats, or the default real."""
    if bins < 1:
        raise ShapeError(f"{what} with {bins} bins", place=calling_line(), remedy="use at least one")
    real = x._dtype if x._dtype.is_float else x._executor.default_real
    dtype = (F32 if real is BF16 else real).numpy  # of bfloat16, edges of many bins would be equal
    low, high = outer_edges(what, x, limits)
    with np.errstate(all="ignore"):
        edges = np.linspace(low, high, bins + 1, dtype=dtype)
    if not (np.isfinite(edges).all() and (edges[:-1] < edges[1:]).all()):
        raise ShapeError(
            f"{what} with {bins} bins from {low} to {high}, whose edges are not finite and distinct in {dtype}",
            place=calling_line(),
            remedy="use fewer bins, or another range" + (", or astype(x, float64)" if dtype != float64 else ""),
        )
    return edges


def outer_edges(what: str, x: Array, limits: Any) -> tuple[Any, Any]:
    """The least and the greatest number of a histogram; a half beside, where they are the same. Errors as of
    `histogram`."""
    if limits is not None:
        try:
            low, high = map(float, limits)
        except (TypeError, ValueError):
            raise ShapeError(
                f"{what} with range={limits!r}", place=calling_line(), remedy="give two numbers: range=(low, high)"
            ) from None
        if not (np.isfinite(low) and np.isfinite(high) and low <= high):
            raise ShapeError(
                f"{what} from {low} to {high}", place=calling_line(), remedy="give a finite range, the lesser one first"
            )
    elif not x.size:
        low, high = 0.0, 1.0
    else:
        low, high = _extremes(x)
        if not (np.isfinite(low) and np.isfinite(high)):
            raise ShapeError(
                f"{what} of elements from {low} to {high}: some are NaN or infinite",
                place=calling_line(),
                remedy="give a finite range, outside of which nothing counts: range=(low, high)",
            )
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _extremes(x: Array) -> tuple[Any, Any]:
    """The least and the greatest element, as NumPy's numbers."""
    ends = _min(x), _max(x)
    compute_together(ends)
    with asking(_ENDS):
        low, high = (end.numpy()[()] for end in ends)
    return (np.float32(low), np.float32(high)) if x._dtype is BF16 else (low, high)


def _of_equal_bins(x: Array, edges: Array, host: NDArray[Any]) -> Array:
    """The bins of elements, by their distance from the first edge; rounding may put one into the bin beside, which the
    edges tell. What is outside of them has a bin that is not there."""
    x = astype(x, float32 if host.dtype == float16 else host.dtype, copy=False)
    scale = _bins_of_a_unit(host, x.dtype)
    if scale is None:
        return _searched(x, edges)
    bins = len(host) - 1
    inside = (x >= edges[0]) & (x <= edges[bins])
    guess = floor((x - float(host[0])) * scale)
    index = astype(where(inside & (guess > 0), minimum(guess, bins - 1), 0), "i4")
    index = where(x < edges[index], maximum(index - 1, 0), index)
    index = where((x >= edges[index + 1]) & (index != bins - 1), index + 1, index)
    return where(inside, index, bins)


def _bins_of_a_unit(edges: NDArray[Any], dtype: np.dtype[Any]) -> float | None:
    """How many bins a distance of 1 has; None where rounding in a dtype may be more than one bin off: the distances
    overflow or are subnormal, or have too few bits for the bins."""
    bins, computed = len(edges) - 1, np.finfo(dtype)
    width = float(edges[-1]) - float(edges[0])
    step, farthest = width / bins, np.abs(edges[[0, -1]]).max()
    is_near = (
        width <= computed.max
        and computed.tiny <= step <= 1 / computed.tiny
        and bins <= 2 ** (np.finfo(edges.dtype).nmant - _SPARE_BITS)
        and step >= float(np.spacing(farthest)) * 2**_SPARE_BITS
    )
    return bins / width if is_near else None


def _searched(x: Array, edges: Array) -> Array:
    """The same by binary search, for any edges."""
    bins = edges.size - 1
    indices = where(x == edges[bins], bins - 1, searchsorted(edges, x, side="right") - 1)
    return where(x <= edges[bins], indices, bins)


def _density(counts: Array, edges: Array) -> Array:
    """Counts divided by their sum and the widths of their bins."""
    floats = [dtype for dtype in (counts._dtype, edges._dtype) if dtype.is_float]
    real = promote((counts._executor.default_real, *floats), counts._executor.default_real)
    widths, total = edges[1:] - edges[:-1], _sum(counts)
    return astype(counts, real) / astype(widths, real) / astype(total, real)
