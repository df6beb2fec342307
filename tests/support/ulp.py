"""Distances between floats in units in the last place."""

from __future__ import annotations

import numpy as np


def ulps(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """How far `got` is from `exact`, in ULP of `got`'s dtype at `exact`; `exact` may be of a wider type.

    0 for equal values, NaN beside NaN, and infinity beside what rounds to it; infinite for a NaN or an infinity alone.
    """
    info = np.finfo(got.dtype)
    with np.errstate(all="ignore"):
        wide = np.asarray(exact, np.longdouble)
        rounded = wide.astype(got.dtype)
        exponent = np.frexp(np.abs(wide))[1] - 1
        size = np.ldexp(np.longdouble(1), np.maximum(exponent, info.minexp) - info.nmant)
        distance = np.abs(got.astype(np.longdouble) - wide) / size
    distance = np.where(np.isfinite(got) & np.isfinite(rounded), distance, np.inf)
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    # Half an ULP that rounding alone costs does not count where the rounding is right.
    return np.where(same & ~np.isfinite(rounded), 0.0, np.where(np.isnan(distance), np.inf, distance)).astype(
        np.float64
    )
