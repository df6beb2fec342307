"""NumPy's functions that count how often values come."""

from __future__ import annotations

from typing import Any

import ocl_runtime.arrays as xp
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.functions.histograms import bin_edges
from ocl_runtime.numpy.operands import NoArrayError, array_of
from ocl_runtime.numpy.results import as_numpys

__all__ = ["bincount", "histogram", "histogram_bin_edges"]


def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Array:
    """How often each integer from 0 to the greatest comes, which is waited for; or the sums of weights, in float64."""
    places = array_of(x)
    if isinstance(x, list | tuple) and not x:  # which says no dtype
        places = xp.astype(places, "i8")
    return xp.bincount(places, _weights(weights, places), minlength)


def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:  # noqa: A002
    """How many elements lie between edges, and these: a number of bins of one width, or their edges. Sums of weights
    have the dtype of these. Rules by name, which choose a number, are not computed here."""
    x = as_numpys(array_of(a), ())  # whose integers have edges of float64
    summed = _weights(weights, x)
    counts, edges = xp.histogram(x, _bins("histogram", bins, x), range, density=bool(density), weights=summed)
    if summed is not None and not density:
        counts = xp.astype(counts, array_of(weights, executor=x._executor).dtype, copy=False)
    return counts, edges


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Array:  # noqa: A002
    """The edges that `histogram` has. Only rules by name, which are not computed here, look at weights."""
    del weights
    x = as_numpys(xp.reshape(array_of(a), (-1,)), ())
    return bin_edges("histogram_bin_edges", x, _bins("histogram_bin_edges", bins, x), range)[0]


def _bins(what: str, bins: Any, like: Array) -> Any:
    """A number of bins, or their edges as NumPy has them."""
    if isinstance(bins, str):
        raise NoArrayError(
            f"{what} with bins={bins!r}", place=calling_line(), remedy="give the number of bins, or their edges"
        )
    return bins


def _weights(weights: Any, like: Array) -> Array | None:
    """Weights as NumPy adds them up: in float64 where the device has it."""
    if weights is None:
        return None
    given = array_of(weights, executor=like._executor)
    return xp.astype(given, "f8", copy=False) if like._executor.target.fp64 else given
