"""What the op table's rows mean where NumPy has no function of its own: on arrays of the operands' dtype."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def erf(x: Any) -> Any:
    """The error function."""
    return np.vectorize(math.erf, otypes=[np.float64])(x).astype(x.dtype) if np.size(x) else x


def fma(a: Any, b: Any, c: Any) -> Any:
    """a * b + c, rounded once."""
    # The product of two float32 is exact in float64; for float64 the extended type is the best there is.
    wide = np.longdouble if a.dtype == np.float64 else np.float64
    return (a.astype(wide) * b.astype(wide) + c.astype(wide)).astype(a.dtype)


def clz(x: Any) -> Any:
    """Leading zero bits."""
    bits = x.dtype.itemsize * 8
    unsigned = x.astype(f"u{x.dtype.itemsize}")
    left = np.full(x.shape, bits, dtype=np.int64)
    for bit in range(bits):
        left = np.where(unsigned >> np.array(bit, unsigned.dtype) != 0, bits - 1 - bit, left)
    return left.astype(x.dtype)


def power(x: Any, y: Any) -> Any:
    """Integer power by squaring, modulo the width; a negative exponent gives 1/x truncated toward zero."""
    result, base, left = np.ones_like(x), x.copy(), y.copy()
    negative = y < 0
    left = np.where(negative, 0, left).astype(y.dtype)
    while np.any(left != 0):
        result = np.where((left & 1) != 0, result * base, result).astype(x.dtype)
        base = (base * base).astype(x.dtype)
        left = (left >> np.array(1, left.dtype)).astype(y.dtype)
    small = np.where(x == 1, 1, np.where((x == -1) if x.dtype.kind == "i" else False, np.where(y & 1, -1, 1), 0))
    return np.where(negative, small, result).astype(x.dtype)


def rsqrt(x: Any) -> Any:
    """1 / sqrt(x), rounded twice."""
    return x.dtype.type(1) / np.sqrt(x)


def popcount(x: Any) -> Any:
    """Bits that are set."""
    return np.bitwise_count(x.view(f"u{x.dtype.itemsize}")).astype(x.dtype)


def round_f16(x: Any) -> Any:
    """The nearest float16 value, as float32."""
    return x.astype(np.float16).astype(np.float32)


def round_bf16(x: Any) -> Any:
    """The nearest bfloat16 value, as float32; a NaN stays one."""
    bits = np.asarray(x, np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(x), x, rounded.view(np.float32))


def divide_checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, with a zero divisor an error instead of a warning."""

    def reference(a: Any, b: Any) -> Any:
        if np.any(b == 0):
            raise ZeroDivisionError("udiv and urem are undefined for a zero divisor")
        return function(a, b)

    return reference
