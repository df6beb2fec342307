"""How far special functions may be off, in ULP: what docs/NUMERICS.md promises."""

from __future__ import annotations

import numpy as np

from tests.support.special_values import KNOWN
from tests.support.ulp import ulps

BOUNDS = {
    "gammaln": 16, "gamma": 16, "digamma": 16, "erf": 16, "erfc": 16, "erfinv": 12, "erfcinv": 12, "ndtr": 20,
    "ndtri": 12, "log_ndtr": 24, "i0": 16, "i0e": 12, "i1": 16, "i1e": 12, "expit": 8, "log_expit": 8, "logit": 12,
    "entr": 6, "sinc": 12,
}  # fmt: skip


def known(name: str, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Arguments, and the exact values of a function there."""
    arguments, values = zip(*KNOWN[name], strict=True)
    exact = np.array([np.longdouble(value) for value in values])
    kept = np.abs(exact) < float(np.finfo(dtype).max)
    return np.array(arguments, dtype)[kept], exact[kept]


def complaints(name: str, found: np.ndarray, x: np.ndarray, exact: np.ndarray) -> list[str]:
    """Where a function is further off than it may be. Subnormal results are what the device makes of them."""
    off = np.where(np.abs(exact) < np.finfo(found.dtype).tiny, 0, ulps(found, exact))
    wrong = np.flatnonzero(~(off <= BOUNDS[name]))
    return [f"{name}({x[at]!r}) = {found[at]!r}, {off[at]:.1f} ULP from {exact[at]!r}" for at in wrong[:5]]
