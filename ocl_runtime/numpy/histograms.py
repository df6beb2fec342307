"""NumPy's histograms: how many elements, or points, lie between edges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import ocl_runtime.arrays as xp
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.functions.counting import index_counts
from ocl_runtime.arrays.functions.histograms import bin_edges, bin_indices
from ocl_runtime.errors import DTypeError, ShapeError
from ocl_runtime.numpy.bin_rules import bins_by_rule
from ocl_runtime.numpy.counting import weights_of
from ocl_runtime.numpy.folds import as_common
from ocl_runtime.numpy.operands import array_of, arrays, arrays_in
from ocl_runtime.numpy.promotion import FLOAT64
from ocl_runtime.numpy.results import as_numpys

__all__ = ["histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]


def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:  # noqa: A002
    """How many elements lie between edges, and these: a number of bins of one width, their edges, or the name of a rule
    that chooses a number (as of `histogram_bin_edges`). Sums of weights have the dtype of these."""
    x = as_numpys(array_of(a), ())  # whose integers have edges of float64
    summed = weights_of(weights, x)
    bins, range = _chosen("histogram", bins, x, range, weights)  # noqa: A001
    counts, edges = xp.histogram(x, bins, range, density=bool(density), weights=summed)
    if summed is not None and not density:
        counts = xp.astype(counts, array_of(weights, executor=x._executor).dtype, copy=False)
    return counts, edges


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Array:  # noqa: A002
    """The edges that `histogram` has. Rules that choose a number of bins are `auto doane fd rice scott sqrt stone
    sturges`; what they look at is waited for.

    Raises `ShapeError` for another name, `DTypeError` for a rule and weights.
    """
    x = as_numpys(xp.reshape(array_of(a), (-1,)), ())
    bins, range = _chosen("histogram_bin_edges", bins, x, range, weights)  # noqa: A001
    return bin_edges("histogram_bin_edges", x, bins, range)[0]


def _chosen(what: str, bins: Any, x: Array, limits: Any, weights: Any) -> tuple[Any, Any]:
    """A number of bins, or their edges, and the range: of a rule those that it chooses."""
    if not isinstance(bins, str):
        return bins, limits
    if weights is not None:
        raise DTypeError(
            f"{what} with bins={bins!r} and weights",
            place=calling_line(),
            remedy="rules choose by elements that count the same: give a number of bins",
        )
    return bins_by_rule(what, bins, xp.reshape(x, (-1,)), limits)


def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,  # noqa: A002
    density: Any = None,
    weights: Any = None,
) -> Any:
    """How many points lie in the bins of a grid, and the edges along `x` and `y`: `histogramdd` of the two. `bins` is
    one number, or the edges, for both, or a pair of these. Raises `ShapeError` for another number of `y` than of `x`,
    and as `histogramdd`."""
    first, second = arrays("histogram2d", (x, y))
    if first.shape != second.shape or first.ndim != 1:
        raise ShapeError(
            f"histogram2d of shapes {first.shape} and {second.shape}",
            place=calling_line(),
            remedy="give lines of one length: x.ravel(), y.ravel()",
        )
    if _is_line(bins) and len(bins) not in {1, 2}:
        bins = [bins, bins]
    counts, (along_x, along_y) = histogramdd([first, second], bins, range, density, weights)
    return counts, along_x, along_y


def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Any = None,  # noqa: A002
    density: Any = None,
    weights: Any = None,
) -> Any:
    """How many points lie in the boxes of a grid, in float64, and the edges along each axis.

        histogramdd(points, bins=(10, 20), range=((0, 1), (0, 2)))      # points of shape (n, 2)

    `sample` has a point in each row, or is a sequence of coordinates, one line for each axis. `bins` is a number of
    bins of one width for all axes, or for each axis a number or the edges, which ascend; the last bin has its upper
    edge, too. `range` has for each axis a pair or None, which stands for the least and the greatest coordinate; these
    are waited for. With `weights` the boxes have sums of these; with `density` they are divided by the sum of all and
    the volumes. What is NaN, or outside, is in no box.

    Raises `ShapeError` for other numbers of bins, ranges or weights, and for edges and ranges as of `histogram`.
    """
    columns = _coordinates(sample)
    rank = len(columns)
    each = list(bins) if _is_line(bins) else [bins] * rank
    limits = [None] * rank if range is None else list(range)
    if len(each) != rank or len(limits) != rank:
        raise ShapeError(
            f"histogramdd along {rank} axes with {len(each)} numbers of bins and {len(limits)} ranges",
            place=calling_line(),
            remedy="give one for each axis",
        )
    if weights is not None and np.shape(weights) != columns[0].shape:
        raise ShapeError(
            f"histogramdd of {columns[0].size} points with weights of shape {np.shape(weights)}",
            place=calling_line(),
            remedy="give a weight for each point",
        )
    edges, place, inside = [], None, None
    shape: list[int] = []
    for coordinates, own, ends in zip(columns, each, limits, strict=True):
        x = coordinates
        if ends is not None or not x.size or x.dtype.kind != "f":  # the edges are float64
            x = as_numpys(array_of(x, FLOAT64), ())
        line, equal = bin_edges("histogramdd", x, own, ends)
        number = bin_indices(x, line, equal)
        length = line.size - 1
        is_inside = (number >= 0) & (number < length)
        place = number if place is None else xp.astype(place, "i8") * length + number
        inside = is_inside if inside is None else inside & is_inside
        edges.append(line)
        shape.append(length)
    assert place is not None
    assert inside is not None
    boxes = math.prod(shape)
    summed = weights_of(weights, columns[0])
    counts = index_counts("histogramdd", xp.where(inside, place, boxes), boxes, summed, None)
    result = xp.reshape(array_of(counts, FLOAT64), tuple(shape))
    return (_density(result, edges) if density else result), tuple(edges)


def _is_line(x: Any) -> bool:
    """Whether something is a sequence, and no number."""
    return getattr(x, "ndim", 0) > 0 or (isinstance(x, Sequence) and not isinstance(x, str))


def _coordinates(sample: Any) -> list[Array]:
    """The coordinates of points along each axis, in one dtype."""
    if isinstance(sample, list | tuple) and (arrays_in(sample) or not sample or np.ndim(sample[0])):
        columns = as_common(*arrays("histogramdd", sample))
    else:
        points = array_of(sample)
        points = xp.reshape(points, (-1, 1)) if points.ndim < 2 else points
        if points.ndim != 2:
            raise ShapeError(
                f"histogramdd of shape {points.shape}", place=calling_line(), remedy="give a point in each row"
            )
        columns = [points[:, axis] for axis in range(points.shape[1])]
    if not columns or any(x.ndim != 1 or x.shape != columns[0].shape for x in columns):
        raise ShapeError(
            f"histogramdd of coordinates of shapes {', '.join(str(x.shape) for x in columns)}",
            place=calling_line(),
            remedy="give as many coordinates along each axis, and one axis at least",
        )
    return columns


def _density(counts: Array, edges: list[Array]) -> Array:
    """Counts divided by their sum and the volumes of their boxes."""
    total = xp.sum(counts)
    for axis, line in enumerate(edges):
        widths = array_of(xp.diff(line), counts.dtype)
        counts = counts / xp.reshape(widths, (-1, *(1,) * (len(edges) - axis - 1)))
    return counts / total
