"""The logistic function and its inverse; entropies and products with logarithms; sin(pi x) / (pi x)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ocl_ir.language.builtins.registry import BUILTINS
from ocl_runtime.special.element_function import special

copysign, exp, isnan, log, log1p, minimum, rint, sin, where = (
    BUILTINS[name] for name in ("copysign", "exp", "isnan", "log", "log1p", "minimum", "rint", "sin", "where")
)


@special
def expit(x: Any) -> Any:
    """The logistic function, 1 / (1 + exp(-x))."""
    e = exp(-abs(x))
    return where(x < 0, e, 1) / (1 + e)


@special
def log_expit(x: Any) -> Any:
    """The logarithm of `expit`."""
    return minimum(x, 0) - log1p(exp(-abs(x)))


@special
def logit(x: Any) -> Any:
    """The inverse of `expit`, log(x / (1 - x)): infinite at 0 and 1, NaN beyond."""
    rest = 1 - x
    ratio = x / rest
    above = 2 * x - 1  # near 1/2 it is exact, and the ratio is 1 + above / rest, of which its rounding hides a part
    hidden = above / (rest * (ratio - 1))
    counts = where(abs(above) < 0.5, ratio != 1, False)
    return where(ratio == 1, 2 * above, log(ratio) * where(counts, hidden, 1))


@special
def xlogy(x: Any, y: Any) -> Any:
    """`x * log(y)`, and 0 where x is 0 and y not NaN."""
    return where(x == 0, where(isnan(y), y, 0), x * log(y))


@special
def xlog1py(x: Any, y: Any) -> Any:
    """`x * log1p(y)`, and 0 where x is 0 and y not NaN."""
    return where(x == 0, where(isnan(y), y, 0), x * log1p(y))


@special
def entr(x: Any) -> Any:
    """`-x * log(x)`; 0 at 0, minus infinity below."""
    return where(x < 0, -np.inf, where(x == 0, 0, -x * log(x)))


def relative(x: Any, y: Any) -> Any:
    """`x * log(x / y)` of positive numbers, exact where they are near each other."""
    ratio = x / y
    is_near = abs(x - y) < y / 2
    difference = where(is_near, (x - y) / y, 0)
    is_plain = where(ratio > 0, ratio < np.inf, False)
    far = where(is_plain, log(ratio), log(x) - log(y))
    return x * where(is_near, log1p(difference), far)


def of_positive(x: Any, y: Any, value: Any, at_zero: Any) -> Any:
    """A value where both are positive, another one where x is 0 and y not negative, else infinity; NaN of NaN."""
    other = where(x == 0, where(y >= 0, at_zero, np.inf), np.inf)
    result = where(x > 0, where(y > 0, value, np.inf), other)
    return where(isnan(x), x, where(isnan(y), y, result))


@special
def rel_entr(x: Any, y: Any) -> Any:
    """`x * log(x / y)` of positive numbers; 0 where x is 0 and y not negative, else infinity."""
    return of_positive(x, y, relative(x, y), 0)


@special
def kl_div(x: Any, y: Any) -> Any:
    """`x * log(x / y) - x + y` of positive numbers; y where x is 0 and y not negative, else infinity."""
    return of_positive(x, y, relative(x, y) - x + y, y)


@special
def sinc(x: Any) -> Any:
    """`sin(pi * x) / (pi * x)`, and 1 at 0. Whole turns are taken off x before it is multiplied, and it is folded to a
    quarter: both are exact."""
    turned = x - 2 * rint(x / 2)
    folded = where(abs(turned) > 0.5, copysign(1, turned) - turned, turned)
    return where(x == 0, 1, sin(math.pi * folded) / (math.pi * x))
