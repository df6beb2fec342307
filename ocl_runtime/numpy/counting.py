"""NumPy's functions that count how often values come."""

from __future__ import annotations

from typing import Any

import ocl_runtime.arrays as xp
from ocl_runtime.arrays import Array
from ocl_runtime.numpy.operands import array_of

__all__ = ["bincount"]


def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Array:
    """How often each integer from 0 to the greatest comes, which is waited for; or the sums of weights, in float64."""
    places = array_of(x)
    if isinstance(x, list | tuple) and not x:  # which says no dtype
        places = xp.astype(places, "i8")
    return xp.bincount(places, weights_of(weights, places), minlength)


def weights_of(weights: Any, like: Array) -> Array | None:
    """Weights as NumPy adds them up: in float64 where the device has it."""
    if weights is None:
        return None
    given = array_of(weights, executor=like._executor)
    return xp.astype(given, "f8", copy=False) if like._executor.target.fp64 else given
