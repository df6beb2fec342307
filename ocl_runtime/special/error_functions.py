"""The error function, the normal distribution's, and their inverses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ocl_ir.language.builtins.registry import BUILTINS
from ocl_runtime.special.element_function import special
from ocl_runtime.special.polynomials import chosen, polynomial

copysign, fma, log, log1p, sqrt, where = (
    BUILTINS[name] for name in ("copysign", "fma", "log", "log1p", "sqrt", "where")
)
c_erf, c_erfc = BUILTINS["erf"], BUILTINS["erfc"]

_ROOT_HALF = math.sqrt(0.5)
_ROOT_HALF_REST_32 = _ROOT_HALF - float(np.float32(_ROOT_HALF))
_ROOT_HALF_REST_64 = -4.833646656726457e-17
_HALF_LOG_TWO_PI = math.log(2 * math.pi) / 2

# Wichura, Algorithm AS 241 (Applied Statistics 37, 1988): PPND7 and PPND16.
_MIDDLE_32 = (59.109374720, 159.29113202, 50.434271938, 3.3871327179), (67.187563600, 78.757757664, 17.895169469, 1)
_TAIL_32 = (0.17023821103, 1.3067284816, 2.7568153900, 1.4234372777), (0.12021132975, 0.73700164250, 1)
_FAR_32 = (0.017337203997, 0.42868294337, 3.0812263860, 6.6579051150), (0.012258202635, 0.24197894225, 1)
_MIDDLE_64 = (
    (2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
     1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080),
    (5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
     5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1),
)  # fmt: skip
_TAIL_64 = (
    (7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258,
     3.64784832476320460504, 5.76949722146069140550, 4.63033784615654529590, 1.42343711074968357734),
    (1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
     6.89767334985100004550e-1, 1.67638483018380384940, 2.05319162663775882187, 1),
)  # fmt: skip
_FAR_64 = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
     2.96560571828504891230e-1, 1.78482653991729133580, 5.46378491116411436990, 6.65790464350110377720),
    (2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
     1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1),
)  # fmt: skip

# The asymptotic series of the tail in 1 / x**2: odd factorials of alternating signs.
_SERIES_32 = (105.0, -15.0, 3.0, -1.0, 1.0)
_SERIES_64 = (2027025.0, -135135.0, 10395.0, -945.0, 105.0, -15.0, 3.0, -1.0, 1.0)


def deviate(q: Any, tail: Any) -> Any:
    """The normal deviate below which a probability of 1/2 + q lies, and `tail` on its other side."""
    middle, near, far = chosen(q, (_MIDDLE_32, _TAIL_32, _FAR_32), (_MIDDLE_64, _TAIL_64, _FAR_64))
    is_middle = abs(q) <= 0.425
    r = 0.180625 - q * q
    t = sqrt(-log(tail))
    is_far = t > 5
    near_above, near_below = polynomial(t - 1.6, near[0]), polynomial(t - 1.6, near[1])
    far_above, far_below = polynomial(t - 5, far[0]), polynomial(t - 5, far[1])
    above = where(is_middle, polynomial(r, middle[0]), where(is_far, far_above, near_above))
    below = where(is_middle, polynomial(r, middle[1]), where(is_far, far_below, near_below))
    ratio = where(tail == 0, np.inf, above / below)
    return where(is_middle, q * ratio, copysign(ratio, q))


def lower_tail(x: Any) -> Any:
    """The standard normal distribution's function: what the argument of erfc loses to rounding, which would count many
    times in the tail, is put into the result."""
    z = x * -_ROOT_HALF
    rest = x * -chosen(x, _ROOT_HALF_REST_32, _ROOT_HALF_REST_64) + fma(x, -_ROOT_HALF, -z)
    tail = c_erfc(z)
    counts = where(z > 1, z < 30, False)
    return 0.5 * where(counts, tail - 2 * z * rest * tail, tail)


@special
def erf(x: Any) -> Any:
    """The error function."""
    return c_erf(x)


@special
def erfc(x: Any) -> Any:
    """1 less the error function."""
    return c_erfc(x)


@special
def erfinv(y: Any) -> Any:
    """The inverse of the error function: infinite at -1 and 1, NaN beyond."""
    return deviate(y / 2, (1 - abs(y)) / 2) * _ROOT_HALF


@special
def erfcinv(y: Any) -> Any:
    """The inverse of `erfc`: infinite at 0 and 2, NaN beyond."""
    return deviate((1 - y) / 2, where(y < 1, y, 2 - y) / 2) * _ROOT_HALF


@special
def ndtr(x: Any) -> Any:
    """The standard normal distribution's function: the probability of what is less."""
    return lower_tail(x)


@special
def ndtri(y: Any) -> Any:
    """The inverse of `ndtr`: infinite at 0 and 1, NaN beyond."""
    return deviate(y - 0.5, where(y < 0.5, y, 1 - y))


@special
def log_ndtr(x: Any) -> Any:
    """The logarithm of `ndtr`, also where that is too small to be a number."""
    is_far = x < chosen(x, -10, -20)
    tail = lower_tail(-abs(x))
    r = 1 / x
    series = polynomial(r * r, chosen(x, _SERIES_32, _SERIES_64))
    logarithm = log(where(is_far, -r * series, tail))
    far = x * x * -0.5 - (_HALF_LOG_TWO_PI - logarithm)
    return where(is_far, far, where(x > 0, log1p(-tail), logarithm))
