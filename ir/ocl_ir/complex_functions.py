"""What the op table's rows mean for complex numbers, where NumPy computes in another order or has no function: on
arrays of the operands' dtype. Each step is rounded to the components' dtype, as devices round it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ocl_ir.numpy_functions import fma as real_fma


def of_parts(real: Any, imag: Any) -> Any:
    """The complex numbers with these parts."""
    joined = np.empty(np.broadcast(real, imag).shape, np.result_type(real.dtype, np.complex64))
    joined.real, joined.imag = real, imag
    return joined


def by_kind(real: Callable[..., Any], complex_: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is `complex_` of complex numbers, and `real` of all others."""

    def reference(*args: Any) -> Any:
        return (complex_ if args[-1].dtype.kind == "c" else real)(*args)

    return reference


def multiply(a: Any, b: Any) -> Any:
    """The product by the schoolbook formula, in which infinities may give NaN, as in NumPy."""
    return of_parts(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real)


def fma(a: Any, b: Any, c: Any) -> Any:
    """a * b + c: each part takes two additions, both fused with a product."""
    real = real_fma(-a.imag, b.imag, real_fma(a.real, b.real, c.real))
    return of_parts(real, real_fma(a.imag, b.real, real_fma(a.real, b.imag, c.imag)))


def divide(a: Any, b: Any) -> Any:
    """The quotient, divided by the greater part of `b` first, as NumPy does.

    Source: R. L. Smith, Algorithm 116: Complex division, Communications of the ACM 5 (1962).
    """
    turned = np.abs(b.real) < np.abs(b.imag)
    large, small = np.where(turned, b.imag, b.real), np.where(turned, b.real, b.imag)
    first, second = np.where(turned, a.imag, a.real), np.where(turned, a.real, a.imag)
    ratio = np.where(large == 0, large, small / large)  # of zeros, by which each part is divided
    scale = large.dtype.type(1) / (large + small * ratio)
    real = np.where(large == 0, first / np.abs(large), (first + second * ratio) * scale)
    imag = np.where(large == 0, second / np.abs(large), (second - first * ratio) * scale)
    return of_parts(real, np.where(turned, -imag, imag))


def sign(z: Any) -> Any:
    """z / abs(z); 0 of 0, and the direction of the infinite part of what has one."""
    one = z.real.dtype.type(1)
    infinite = np.isinf(z.real) != np.isinf(z.imag)
    # A quarter, so that the magnitude is finite, of all but the least.
    scale = np.where(np.fmax(np.abs(z.real), np.abs(z.imag)) > 1, one / 4, one)
    real, imag = (
        np.where(infinite, np.copysign(np.where(np.isinf(part), one, 0), part), part * scale).astype(part.dtype)
        for part in (z.real, z.imag)
    )
    size = np.hypot(real, imag)
    zero = size == 0
    return of_parts(*(np.where(zero, 0, part / size).astype(size.dtype) for part in (real, imag)))


def expm1(z: Any) -> Any:
    """exp(z) - 1, without loss where that is near 0."""
    x, y = z.real, z.imag
    one, two = x.dtype.type(1), x.dtype.type(2)
    half_sine = np.sin(y / two)
    near = of_parts(np.expm1(x) * np.cos(y) - two * half_sine * half_sine, np.exp(x) * np.sin(y))
    whole = np.where(np.isfinite(near), near, np.exp(z) - of_parts(one, x.dtype.type(0)))
    return np.where(y == 0, of_parts(np.expm1(x), y), whole)


def log1p(z: Any) -> Any:
    """The logarithm of 1 + z, without loss where that is near 1."""
    half, near = z.real.dtype.type(0.5), np.maximum(np.abs(z.real), np.abs(z.imag)) < 0.5
    whole = np.log(of_parts(1 + z.real, z.imag))
    real = half * np.log1p(z.real * (2 + z.real) + z.imag * z.imag)
    return of_parts(np.where(near, real, whole.real), whole.imag)


def acosh(z: Any) -> Any:
    """NumPy's acosh; of 0 + NaN i the imaginary part is pi / 2, as in C17, where NumPy before 2.2 has NaN."""
    result = np.arccosh(z)
    turned = (z.real == 0) & np.isnan(z.imag)
    return of_parts(result.real, np.where(turned, result.imag.dtype.type(np.pi / 2), result.imag))


def log2(z: Any) -> Any:
    """The logarithm to base 2, whose parts are those of the natural one times a constant."""
    return _scaled(np.log(z), 2)


def log10(z: Any) -> Any:
    """The logarithm to base 10."""
    return _scaled(np.log(z), 10)


def _scaled(z: Any, base: int) -> Any:
    number = (1 / np.log(np.longdouble(base))).astype(z.real.dtype)
    return of_parts(z.real * number, z.imag * number)
