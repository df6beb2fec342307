"""Polynomials, for the width of a number: written with the kernel language, as all functions here."""

from __future__ import annotations

from typing import Any

import numpy as np


def chosen(x: Any, single: Any, double: Any) -> Any:
    """What belongs to the width of a number, which is known when a function is translated."""
    return double if x.dtype == np.float64 else single


def polynomial(x: Any, coefficients: Any) -> Any:
    """A polynomial by Horner's rule, the highest power first."""
    value = coefficients[0]
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value
