"""NumPy's functions that count how often values come."""

from __future__ import annotations

from typing import Any

import numpy as np

import ocl_runtime.arrays as xp
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.numpy.operands import NoArrayError, array_of

__all__ = ["bincount", "histogram"]


def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Array:
    """How often each integer from 0 to the greatest comes, which is waited for; or the sums of weights, in float64."""
    places = array_of(x)
    return xp.bincount(places, _weights(weights, places), int(minlength))


def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:  # noqa: A002
    """How many elements lie between edges, and these: a number of bins of one width, or their edges. Rules by name,
    which choose a number, are not computed here."""
    if isinstance(bins, str):
        raise NoArrayError(
            f"histogram with bins={bins!r}", place=calling_line(), remedy="give the number of bins, or their edges"
        )
    x = array_of(a)
    if not isinstance(bins, int | np.integer):
        bins = array_of(bins, executor=x._executor)
    return xp.histogram(x, bins, range, density=bool(density), weights=_weights(weights, x))


def _weights(weights: Any, like: Array) -> Array | None:
    """Weights as NumPy adds them up: in float64 where the device has it."""
    if weights is None:
        return None
    given = array_of(weights, executor=like._executor)
    return xp.astype(given, "f8", copy=False) if like._executor.target.fp64 else given
