"""Modified Bessel functions of the first kind, orders 0 and 1, also without their exponential growth."""

from __future__ import annotations

import math
from typing import Any

from ocl_ir.language.builtins.registry import BUILTINS
from ocl_runtime.special.element_function import special
from ocl_runtime.special.polynomials import chosen, polynomial

copysign, exp, isinf, sqrt, where = (BUILTINS[name] for name in ("copysign", "exp", "isinf", "sqrt", "where"))

_FAR = 8
"""From here on, polynomials in 1/x are used; below, the power series in x * x / 4."""

_SERIES_0_32, _SERIES_0_64 = (tuple(1 / math.factorial(k) ** 2 for k in reversed(range(count))) for count in (16, 25))
_SERIES_1_32, _SERIES_1_64 = (
    tuple(1 / (math.factorial(k) * math.factorial(k + 1)) for k in reversed(range(count))) for count in (16, 25)
)

# I0(x) and I1(x), times exp(-x) sqrt(x), in 1 / x for x from 8 on: nearly minimax polynomials.
_FAR_0_32 = (
    1.8169554, -0.30054587, 0.0842414, 0.02732068, 0.028092364, 0.04986745, 0.3989423,
)  # fmt: skip
_FAR_0_64 = (
    -1.2093175131588962e+17, 2.0204820888526637e+17, -1.5487839725146112e+17, 7.246343979800523e+16,
    -2.3203933567318284e+16, 5402031217298073.0, -947878431034715.0, 128248102415035.28, -13577740942860.85,
    1135132321347.7825, -75306215617.99652, 3969485622.44403, -165892645.24234018, 5465863.43081806,
    -140614.77777280737, 2787.6956370148014, -40.93431094584347, 0.6847426928669226, 0.08707432909917082,
    0.044760390090021265, 0.02921934814004612, 0.02805062918561777, 0.04986778505011676, 0.3989422804014327,
)  # fmt: skip
_FAR_1_32 = (
    -2.0489173, 0.32631105, -0.10163402, -0.038787153, -0.046797648, -0.14960298, 0.3989423,
)  # fmt: skip
_FAR_1_64 = (
    1.1102722039051611e+17, -1.8897760722634966e+17, 1.469684483979098e+17, -6.95597283439048e+16,
    2.248349575615929e+16, -5274736741776454.0, 931471598107034.6, -126702308545742.62, 13474276746939.729,
    -1130739790243.708, 75254387378.22566, -3977488451.285284, 166608891.05794835, -5500173.738798334,
    141730.22790096246, -2814.0537369678177, 41.266486528741446, -0.7315199095572249, -0.1071649207714783,
    -0.057544114847785224, -0.04090710949559018, -0.04675104858073598, -0.14960335515047407, 0.39894228040143265,
)  # fmt: skip


def series(y: Any, single: Any, double: Any) -> Any:
    """A power series in y * y / 4, for what is near."""
    return polynomial(where(y < _FAR, y * y / 4, 0), chosen(y, single, double))


def decayed(y: Any, single: Any, double: Any) -> Any:
    """A function without its exponential growth, for what is far."""
    return polynomial(1 / y, chosen(y, single, double)) / sqrt(y)


def grown(y: Any, value: Any) -> Any:
    """The same with it: in two factors, since one alone would overflow first."""
    half = exp(y / 2)
    return where(isinf(y), y, half * value * half)


@special
def i0(x: Any) -> Any:
    """The modified Bessel function of order 0."""
    y = abs(x)
    far = grown(y, decayed(y, _FAR_0_32, _FAR_0_64))
    return where(y < _FAR, series(y, _SERIES_0_32, _SERIES_0_64), far)


@special
def i0e(x: Any) -> Any:
    """`i0(x)` times `exp(-abs(x))`."""
    y = abs(x)
    near = series(y, _SERIES_0_32, _SERIES_0_64) * exp(-y)
    return where(y < _FAR, near, decayed(y, _FAR_0_32, _FAR_0_64))


@special
def i1(x: Any) -> Any:
    """The modified Bessel function of order 1."""
    y = abs(x)
    far = grown(y, decayed(y, _FAR_1_32, _FAR_1_64))
    return where(y < _FAR, x / 2 * series(y, _SERIES_1_32, _SERIES_1_64), copysign(far, x))


@special
def i1e(x: Any) -> Any:
    """`i1(x)` times `exp(-abs(x))`."""
    y = abs(x)
    near = x / 2 * series(y, _SERIES_1_32, _SERIES_1_64) * exp(-y)
    return where(y < _FAR, near, copysign(decayed(y, _FAR_1_32, _FAR_1_64), x))
