"""NumPy's ufuncs: one row each, with the function of the standard or the composition that computes it.

The compositions take what `ufunc` gives them: arrays in the dtypes that NumPy computes in, and Python's numbers. They
fuse with what stands around them like everything else.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ocl_runtime.arrays as xp
from ocl_runtime.arrays import Array
from ocl_runtime.numpy import translated
from ocl_runtime.numpy.operands import array_of
from ocl_runtime.numpy.ufuncs import ufunc

_LN2 = math.log(2)


def _fabs(x: Array) -> Array:
    """The absolute value, as a float."""
    return xp.abs(x)


def _degrees(x: Array) -> Array:
    """Degrees of radians."""
    return xp.multiply(x, 180 / math.pi)


def _radians(x: Array) -> Array:
    """Radians of degrees."""
    return xp.multiply(x, math.pi / 180)


def _divmod(x1: Any, x2: Any) -> tuple[Array, Array]:
    """The quotient rounded down, and what it leaves."""
    return xp.floor_divide(x1, x2), xp.remainder(x1, x2)


def _fmax(x1: Any, x2: Any) -> Array:
    """The greater; of a NaN and a number, the number."""
    return _without_nan(*_arrays(x1, x2), xp.maximum)


def _fmin(x1: Any, x2: Any) -> Array:
    """The less; of a NaN and a number, the number."""
    return _without_nan(*_arrays(x1, x2), xp.minimum)


def _arrays(x1: Any, x2: Any) -> tuple[Array, Array]:
    """Operands of which one may be a number as arrays of the dtype of the other."""
    array = x1 if isinstance(x1, Array) else x2
    return array_of(x1, array.dtype, array._executor), array_of(x2, array.dtype, array._executor)


def _without_nan(x1: Array, x2: Array, choice: Callable[..., Array]) -> Array:
    if x1.dtype.kind != "f":
        return choice(x1, x2)
    return xp.where(xp.isnan(x1), x2, xp.where(xp.isnan(x2), x1, choice(x1, x2)))


def _heaviside(x1: Any, x2: Any) -> Array:
    """0 below 0, 1 above it, and the second operand at 0; NaN of NaN."""
    x, middle = _arrays(x1, x2)
    step = xp.where(xp.less(x, 0), 0.0, xp.where(xp.equal(x, 0), middle, 1.0))
    return xp.where(xp.isnan(x), x, step)


def _logaddexp2(x1: Any, x2: Any) -> Array:
    """The logarithm to base 2 of the sum of powers of 2, without overflow."""
    larger, distance = xp.maximum(x1, x2), xp.abs(xp.subtract(x1, x2))
    added = xp.multiply(xp.log1p(xp.exp2(xp.negative(distance))), 1 / _LN2)
    # The distance of equal infinities is NaN; there the larger one is the result.
    return xp.where(xp.equal(x1, x2), xp.add(larger, 1), xp.add(larger, added))


def _exp2(x: Array) -> Array:
    """2 to the power of the elements."""
    if x.dtype.kind != "c":
        return xp.exp2(x)
    return xp.exp(xp.complex_of(xp.multiply(xp.real(x), _LN2), xp.multiply(xp.imag(x), _LN2)))


def _modf(x: Array) -> tuple[Array, Array]:
    """The fraction and the integer part, both with the sign of the operand."""
    whole = xp.trunc(x)
    return xp.copysign(xp.where(xp.isinf(x), 0.0, xp.subtract(x, whole)), x), whole


def _reciprocal(x: Array) -> Array:
    """1 divided by the elements; of integers the integer part."""
    if x.dtype.kind in "fc":
        return xp.divide(1, x)
    return xp.multiply(xp.sign(x), xp.equal(xp.abs(x), 1))


def _spacing(x: Array) -> Array:
    """The distance to the next float away from 0."""
    return xp.subtract(xp.nextafter(x, xp.copysign(math.inf, x)), x)


def _fmod(x1: Any, x2: Any) -> Array:
    """What the quotient cut to an integer leaves, with the sign of the first operand."""
    over, by = _arrays(x1, x2)
    if over.dtype.kind == "f":
        return xp.fmod(over, by)
    left = xp.remainder(xp.abs(over), xp.abs(by))
    return xp.where(xp.less(over, 0), xp.negative(left), left)


def _conjugate(x: Array) -> Array:
    """The complex conjugate: of real numbers the elements."""
    return xp.conj(x)


_COMPUTED: dict[str, Callable[..., Any]] = {
    "absolute": xp.abs,
    "add": xp.add,
    "arccos": xp.acos,
    "arccosh": xp.acosh,
    "arcsin": xp.asin,
    "arcsinh": xp.asinh,
    "arctan": xp.atan,
    "arctan2": xp.atan2,
    "arctanh": xp.atanh,
    "bitwise_and": xp.bitwise_and,
    "bitwise_count": xp.bitwise_count,
    "bitwise_or": xp.bitwise_or,
    "bitwise_xor": xp.bitwise_xor,
    "cbrt": xp.cbrt,
    "ceil": xp.ceil,
    "conjugate": _conjugate,
    "copysign": xp.copysign,
    "cos": xp.cos,
    "cosh": xp.cosh,
    "deg2rad": _radians,
    "degrees": _degrees,
    "divide": xp.divide,
    "divmod": _divmod,
    "equal": xp.equal,
    "exp": xp.exp,
    "exp2": _exp2,
    "expm1": xp.expm1,
    "fabs": _fabs,
    "float_power": xp.pow,
    "floor": xp.floor,
    "floor_divide": xp.floor_divide,
    "fmax": _fmax,
    "fmin": _fmin,
    "fmod": _fmod,
    "frexp": translated.frexp,
    "gcd": translated.gcd,
    "greater": xp.greater,
    "greater_equal": xp.greater_equal,
    "heaviside": _heaviside,
    "hypot": xp.hypot,
    "invert": xp.bitwise_invert,
    "isfinite": xp.isfinite,
    "isinf": xp.isinf,
    "isnan": xp.isnan,
    "lcm": translated.lcm,
    "ldexp": translated.ldexp,
    "left_shift": xp.bitwise_left_shift,
    "less": xp.less,
    "less_equal": xp.less_equal,
    "log": xp.log,
    "log10": xp.log10,
    "log1p": xp.log1p,
    "log2": xp.log2,
    "logaddexp": xp.logaddexp,
    "logaddexp2": _logaddexp2,
    "logical_and": xp.logical_and,
    "logical_not": xp.logical_not,
    "logical_or": xp.logical_or,
    "logical_xor": xp.logical_xor,
    "maximum": xp.maximum,
    "minimum": xp.minimum,
    "modf": _modf,
    "multiply": xp.multiply,
    "negative": xp.negative,
    "nextafter": xp.nextafter,
    "not_equal": xp.not_equal,
    "positive": xp.positive,
    "power": xp.pow,
    "rad2deg": _degrees,
    "radians": _radians,
    "reciprocal": _reciprocal,
    "remainder": xp.remainder,
    "right_shift": xp.bitwise_right_shift,
    "rint": xp.round,
    "sign": xp.sign,
    "signbit": xp.signbit,
    "sin": xp.sin,
    "sinh": xp.sinh,
    "spacing": _spacing,
    "sqrt": xp.sqrt,
    "square": xp.square,
    "subtract": xp.subtract,
    "tan": xp.tan,
    "tanh": xp.tanh,
    "trunc": xp.trunc,
}

UFUNCS = {name: ufunc(name, compute) for name, compute in _COMPUTED.items()}
"""By NumPy's first name for each."""

ALIASES = {
    "abs": "absolute",
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "bitwise_invert": "invert",
    "bitwise_left_shift": "left_shift",
    "bitwise_not": "invert",
    "bitwise_right_shift": "right_shift",
    "conj": "conjugate",
    "mod": "remainder",
    "pow": "power",
    "true_divide": "divide",
}
"""NumPy's other names for them."""
