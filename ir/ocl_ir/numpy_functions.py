"""What the op table's rows mean where NumPy has no function of its own: on arrays of the operands' dtype."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from ocl_ir.bfloat16 import bits_of, floats_of


def erf(x: Any) -> Any:
    """The error function."""
    return np.vectorize(math.erf, otypes=[np.float64])(x).astype(x.dtype) if np.size(x) else x


def erfc(x: Any) -> Any:
    """1 less the error function."""
    return np.vectorize(math.erfc, otypes=[np.float64])(x).astype(x.dtype) if np.size(x) else x


def tgamma(x: Any) -> Any:
    """The gamma function: infinite at zeros, NaN at the negative integers."""
    return np.vectorize(_tgamma, otypes=[np.float64])(x).astype(x.dtype) if np.size(x) else x


def _tgamma(x: float) -> float:
    try:
        return math.gamma(x)
    except OverflowError:
        return math.copysign(math.inf, x)
    except ValueError:
        return math.copysign(math.inf, x) if x == 0 else math.nan


def fma(a: Any, b: Any, c: Any) -> Any:
    """a * b + c, rounded once."""
    if a.dtype != np.float64:  # in the next wider type the product is exact
        return (a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)).astype(a.dtype)
    a, b, c = np.broadcast_arrays(a, b, c)
    with np.errstate(all="ignore"):
        simple = (a == 0) | (b == 0) | ~(np.isfinite(a) & np.isfinite(b) & np.isfinite(c))
        result = np.where(simple, a * b + c, _fma_by_parts(a, b, c))
    beyond = ~(simple | _is_middling(a) & _is_middling(b) & (_is_middling(c) | (c == 0)))
    if beyond.any():
        result[beyond] = np.vectorize(_fma_of_fractions, otypes=[np.float64])(a[beyond], b[beyond], c[beyond])
    return result


def _is_middling(x: Any) -> Any:
    """Whether no product or sum of parts leaves the range of doubles."""
    return (np.abs(x) > 2.0**-400) & (np.abs(x) < 2.0**400)


def _fma_by_parts(a: Any, b: Any, c: Any) -> Any:
    """By sums and products whose roundings are known (Boldo and Melquiond, Emulation of FMA and correctly rounded sums:
    proved algorithms using rounding to odd, 2008)."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    rest = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    small, smaller = _two_sum(c, rest)
    large, middle = _two_sum(product, small)
    odd, lost = _two_sum(middle, smaller)
    # Rounded to odd: of the two neighbours of an inexact sum the one whose last bit is set.
    even = (lost != 0) & (np.ascontiguousarray(odd).view(np.int64).reshape(odd.shape) & 1 == 0)
    return large + np.where(even, np.nextafter(odd, np.copysign(np.inf, lost)), odd)


def _halves(x: Any) -> tuple[Any, Any]:
    """Of 26 bits each, so that their products are exact (Veltkamp)."""
    shifted = x * (2.0**27 + 1)
    high = shifted - (shifted - x)
    return high, x - high


def _two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """A sum, and what its rounding lost (Knuth)."""
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def _fma_of_fractions(a: float, b: float, c: float) -> float:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def clz(x: Any) -> Any:
    """Leading zero bits."""
    bits = x.dtype.itemsize * 8
    unsigned = x.astype(f"u{x.dtype.itemsize}")
    left = np.full(x.shape, bits, dtype=np.int64)
    for bit in range(bits):
        left = np.where(unsigned >> np.array(bit, unsigned.dtype) != 0, bits - 1 - bit, left)
    return left.astype(x.dtype)


def float_order(bits: Any) -> Any:
    """The bits of a float as an unsigned integer that is less where the float is: those of negative ones are
    complemented, the others have the sign."""
    sign = bits.dtype.type(1 << (bits.dtype.itemsize * 8 - 1))
    return np.where(bits & sign, ~bits, bits | sign)


def join_halves(high: Any, low: Any) -> Any:
    """The lower half of a number above another number, of which only the lower half has bits."""
    return high << high.dtype.type(high.dtype.itemsize * 4) | low


def mul_high(a: Any, b: Any) -> Any:
    """The upper half of the product, which has twice the width."""
    bits = a.dtype.itemsize * 8
    if bits < 64:
        return (a.astype(np.uint64) * b.astype(np.uint64) >> np.uint64(bits)).astype(a.dtype)
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    a_high, a_low, b_high, b_low = a >> half, a & low, b >> half, b & low
    middle = a_high * b_low + (a_low * b_low >> half)
    return a_high * b_high + (middle >> half) + ((middle & low) + a_low * b_high >> half)


def power(x: Any, y: Any) -> Any:
    """Integer power by squaring, modulo the width; a negative exponent gives 1/x truncated toward zero."""
    result, base, left = np.ones_like(x), x.copy(), y.copy()
    negative = y < 0
    left = np.where(negative, 0, left).astype(y.dtype)
    while np.any(left != 0):
        result = np.where((left & 1) != 0, result * base, result).astype(x.dtype)
        base = (base * base).astype(x.dtype)
        left = (left >> np.array(1, left.dtype)).astype(y.dtype)
    if not negative.any():  # so too for unsigned types, which have no -1
        return result
    small = np.where(x == 1, 1, np.where(x == -1, np.where(y & 1, -1, 1), 0)).astype(x.dtype)
    return np.where(negative, small, result)


def minimum(a: Any, b: Any) -> Any:
    """NumPy's minimum; where both are zeros, which NumPy leaves to the host's processor, the second."""
    return np.where((a < b) | np.isnan(a), a, b)


def maximum(a: Any, b: Any) -> Any:
    """NumPy's maximum; where both are zeros, the second."""
    return np.where((a > b) | np.isnan(a), a, b)


def nextafter(a: Any, b: Any) -> Any:
    """NumPy's nextafter; where both are zeros, the second, as C has it and NumPy's float16 has not."""
    return np.where(a == b, b, np.nextafter(a, b))


def rsqrt(x: Any) -> Any:
    """1 / sqrt(x), rounded once but for what the wider type rounds."""
    wide = x.astype(np.longdouble if x.dtype == np.float64 else np.float64)
    return (wide.dtype.type(1) / np.sqrt(wide)).astype(x.dtype)


def popcount(x: Any) -> Any:
    """Bits that are set."""
    return np.bitwise_count(x.view(f"u{x.dtype.itemsize}")).astype(x.dtype)


def round_f16(x: Any) -> Any:
    """The nearest float16 value, as float32."""
    return x.astype(np.float16).astype(np.float32)


def round_bf16(x: Any) -> Any:
    """The nearest bfloat16 value, as float32; a NaN stays one."""
    return floats_of(bits_of(x))


def divide_checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, with a zero divisor an error instead of a warning."""

    def reference(a: Any, b: Any) -> Any:
        if np.any(b == 0):
            raise ZeroDivisionError("C's division is undefined for a zero divisor")
        return function(a, b)

    return reference


def truncated_quotient(a: Any, b: Any) -> Any:
    """a / b without its fraction, as C divides integers."""
    return (a - divide_checked(np.fmod)(a, b)) // b


def nearest(index: Any, length: Any) -> Any:
    """The place that an index points to, from the end where it is negative, or the nearest one below a length."""
    last = length - length.dtype.type(1)
    return np.maximum(np.minimum(np.where(index < 0, index + length, index), last), index.dtype.type(0))


def quietly(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that warns of no value."""
    quiet: Callable[..., Any] = np.errstate(all="ignore")(function)  # in half the time that `with` takes
    return quiet
