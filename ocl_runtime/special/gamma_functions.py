"""The gamma function, its logarithm, and the derivative of that.

Steps of the recurrences are written out, so that vectors take them in all lanes at once.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ocl_ir.language.builtins.registry import BUILTINS
from ocl_runtime.special.element_function import special
from ocl_runtime.special.polynomials import chosen, polynomial

isinf, log, rint, sin, tan, tgamma, unrolled, where = (
    BUILTINS[name] for name in ("isinf", "log", "rint", "sin", "tan", "tgamma", "unrolled", "where")
)

_FAR = 8
"""From here on, series in 1/x are used."""

_TINY = 1e-20
"""Below it digamma is -1/x."""

# log(gamma(2 + z)) / z for z from -1/2 to 1/2: nearly minimax polynomials.
_NEAR_TWO_32 = (
    -0.00025056204, 0.00057025126, -0.0011874848, 0.0028788687, -0.0073859207, 0.020581625, -0.067352295, 0.32246703,
    0.42278433,
)  # fmt: skip
_NEAR_TWO_64 = (
    2.7475390051909663e-07, -5.811277768921246e-07, 9.242852225162277e-07, -1.9743106888421067e-06,
    4.3828545383846665e-06, -9.45628851510172e-06, 2.050601970174762e-05, -4.4923727564247656e-05,
    9.945761692157133e-05, -0.00022315497746292723, 0.0005096695196526673, -0.0011927539009983087,
    0.002890510330865901, -0.007385551028935545, 0.02058080842778338, -0.06735230105319563, 0.3224670334241132,
    0.42278433509846713,
)  # fmt: skip

# Stirling's series: Bernoulli numbers over 2k (2k - 1).
_STIRLING_32 = (1 / 1260, -1 / 360, 1 / 12)
_STIRLING_64 = (-3617 / 122400, 1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
_STIRLING_CONSTANT = math.log(2 * math.pi) / 2 - 0.5

# digamma(x) / (x - root) for x from 1 to 2, in x - 3/2: nearly minimax polynomials.
_BY_ROOT_32 = (
    -0.015906317, 0.023909071, -0.026048882, 0.03936942, -0.06200707, 0.09511622, -0.14840224, 0.24053845,
    -0.42362744, 0.9510559,
)  # fmt: skip
_BY_ROOT_64 = (
    -0.00017312261802727394, 0.00025968482126430747, -0.00015148586836773365, 0.0002272331660987376,
    -0.0004821990530566789, 0.0007233266279287554, -0.0010376374098418604, 0.0015566317474486838,
    -0.002345267632540769, 0.003519006401502276, -0.005279964873257405, 0.007926944646403797, -0.011908218001568644,
    0.0179072524394512, -0.02697579675613825, 0.04076083381242074, -0.061922133273064534, 0.09498872445494122,
    -0.14840492305390884, 0.2405424842407742, -0.4236274212814605, 0.951055876031833,
)  # fmt: skip
_ROOT_32 = 1.4616321325302124, 1.24381499389189095e-8
_ROOT_64 = 1.4616321449683622, 9.54999542996569772e-17
"""The positive root of digamma in two parts."""
# Bernoulli numbers over 2k, of alternating signs.
_DIGAMMA_32 = (1 / 252, -1 / 120, 1 / 12)
_DIGAMMA_64 = (
    43867 / 14364, -3617 / 8160, 1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12,
)  # fmt: skip


def log_gamma(y: Any) -> Any:
    """The logarithm of the gamma function's magnitude from -1/2 on: within half of 2 by a polynomial, to which the
    recurrence leads from what is smaller or larger, and by Stirling's series from 8 on."""
    is_near = y < _FAR
    w = where(is_near, y, 2)
    product = 1
    for _ in unrolled(range(6)):
        is_above = w >= 2.5
        w = where(is_above, w - 1, w)
        product = where(is_above, product * w, product)
    is_tiny, is_small = w < 0.5, w < 1.5
    z = where(is_tiny, w, where(is_small, w - 1, w - 2))
    factor = where(is_tiny, abs(w) * (w + 1), where(is_small, w, product))
    logarithm = log(where(is_near, factor, y))
    series = z * polynomial(z, chosen(y, _NEAR_TWO_32, _NEAR_TWO_64))
    near = where(is_small, series - logarithm, series + logarithm)
    s = 1 / y
    rest = s * polynomial(s * s, chosen(y, _STIRLING_32, _STIRLING_64))
    return where(is_near, near, (y - 0.5) * (logarithm - 1) + (_STIRLING_CONSTANT + rest))


def from_integer(y: Any) -> Any:
    """The distance to the nearest integer, with its sign; exact."""
    return y - rint(y)


@special
def gammaln(x: Any) -> Any:
    """The logarithm of the absolute value of the gamma function; infinite at 0, -1, -2, …"""
    is_negative = x < -0.5
    y = where(is_negative, -x, x)
    value = log_gamma(y)
    r = from_integer(y)
    reflected = where(r == 0, np.inf, -log(y * (abs(sin(math.pi * r)) * (1 / math.pi))) - value)
    return where(isinf(x), np.inf, where(is_negative, reflected, value))


@special
def gamma(x: Any) -> Any:
    """The gamma function; NaN at -1, -2, …"""
    return tgamma(x)


@special
def digamma(x: Any) -> Any:
    """The derivative of `gammaln`; NaN at -1, -2, …"""
    y = abs(x)
    is_near = y < _FAR
    w = where(is_near, y, 1.5)
    numerator, denominator = 0, 1
    for _ in unrolled(range(6)):
        is_above = w >= 2
        w = where(is_above, w - 1, w)
        numerator = where(is_above, numerator * w + denominator, numerator)
        denominator = where(is_above, denominator * w, denominator)
    is_small = w < 1
    numerator, denominator = where(is_small, -1, numerator), where(is_small, w, denominator)
    w = where(is_small, w + 1, w)
    high, low = chosen(x, _ROOT_32, _ROOT_64)
    by_root = polynomial(w - 1.5, chosen(x, _BY_ROOT_32, _BY_ROOT_64))
    near = (w - high - low) * by_root + numerator / denominator
    s = 1 / y
    far = log(y) - s / 2 - s * s * polynomial(s * s, chosen(x, _DIGAMMA_32, _DIGAMMA_64))
    value = where(is_near, near, far)
    r = from_integer(y)
    reflected = where(r == 0, np.nan, value + s + math.pi / tan(math.pi * r))
    return where(y < _TINY, -1 / x, where(x < 0, reflected, value))


psi = digamma
