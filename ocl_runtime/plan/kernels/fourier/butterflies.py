"""Short Fourier transforms in registers, and roots of unity.

A number is a pair of its parts, scalars or vectors, so that a product with a real constant costs two multiplications,
and on a CPU lanes are whole transforms.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from typing import NamedTuple

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import F64, DType

_SINE = {
    False: (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1),
    True: (
        1.58962301576546568060e-10, -2.50507477628578072866e-8, 2.75573136213857245213e-6, -1.98412698295895385996e-4,
        8.33333333332211858878e-3, -1.66666666666666307295e-1,
    ),
}  # fmt: skip
"""Of sin(x) = x + x^3 p(x^2) for abs(x) <= pi/4, from the highest power on: S. Moshier, Cephes, sinf.c and sin.c."""
_COSINE = {
    False: (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2),
    True: (
        -1.13585365213876817300e-11, 2.08757008419747316778e-9, -2.75573141792967388112e-7, 2.48015872888517045348e-5,
        -1.38888888888730564116e-3, 4.16666666666665929218e-2,
    ),
}  # fmt: skip
"""Of cos(x) = 1 - x^2/2 + x^4 p(x^2)."""


class Pair(NamedTuple):
    """A complex number in registers."""

    re: Ref
    im: Ref


def added(a: Pair, b: Pair) -> Pair:
    """a + b"""
    return Pair(a.re + b.re, a.im + b.im)


def subtracted(a: Pair, b: Pair) -> Pair:
    """a - b"""
    return Pair(a.re - b.re, a.im - b.im)


def multiplied(k: KernelBuilder, a: Pair, b: Pair) -> Pair:
    """a * b, of which each part is rounded twice."""
    return Pair(k.op("fma", a.re, b.re, -(a.im * b.im)), k.op("fma", a.re, b.im, a.im * b.re))


def rotated(a: Pair, *, inverse: bool) -> Pair:
    """a times -i, or i if `inverse`."""
    return Pair(-a.im, a.re) if inverse else Pair(a.im, -a.re)


def turned(k: KernelBuilder, a: Pair, turn: complex) -> Pair:
    """a times a number of magnitude 1 that is known."""
    re, im = turn.real, turn.imag
    for exact in (0.0, 1.0, -1.0):
        re, im = (exact if math.isclose(part, exact, abs_tol=1e-15) else part for part in (re, im))
    if im == 0:
        return a if re > 0 else Pair(-a.re, -a.im)
    if re == 0:
        return rotated(a, inverse=im > 0)
    if math.isclose(abs(re), abs(im)):  # an odd eighth of the circle
        across, along = (a.re - a.im, a.re + a.im) if (re > 0) == (im > 0) else (a.re + a.im, a.im - a.re)
        return Pair(across * re, along * re)
    return Pair(k.op("fma", a.re, re, a.im * -im), k.op("fma", a.re, im, a.im * re))


def transform(k: KernelBuilder, values: Sequence[Pair], *, inverse: bool) -> list[Pair]:
    """The Fourier transform of as many numbers as there are, none a multiple of a prime above 13."""
    n = len(values)
    if n == 1:
        return list(values)
    factor = 4 if n % 4 == 0 and n > 4 else next(prime for prime in (2, 3, 5, 7, 11, 13) if n % prime == 0)
    if n == 4:
        return _of_four(values, inverse=inverse)
    if factor == n:
        return _of_prime(k, values, inverse=inverse)
    rest = n // factor
    columns = [transform(k, values[column::rest], inverse=inverse) for column in range(rest)]
    rows = []
    for row in range(factor):
        turns = [_root(row * column, n, inverse=inverse) for column in range(rest)]
        rows.append([turned(k, columns[column][row], turn) for column, turn in enumerate(turns)])
    done = [transform(k, row, inverse=inverse) for row in rows]
    return [done[index % factor][index // factor] for index in range(n)]


def _root(number: int, n: int, *, inverse: bool) -> complex:
    return cmath.exp((2j if inverse else -2j) * math.pi * (number % n) / n)


def _of_four(values: Sequence[Pair], *, inverse: bool) -> list[Pair]:
    a, b, c, d = values
    even, odd = added(a, c), added(b, d)
    across, turn = subtracted(a, c), rotated(subtracted(b, d), inverse=inverse)
    return [added(even, odd), added(across, turn), subtracted(even, odd), subtracted(across, turn)]


def _of_prime(k: KernelBuilder, values: Sequence[Pair], *, inverse: bool) -> list[Pair]:
    """Sums and differences of opposite numbers, each times a cosine or a sine."""
    first, *others = values
    n = len(values)
    if n == 2:  # noqa: PLR2004
        return [added(first, others[0]), subtracted(first, others[0])]
    half = n // 2
    sums = [added(others[index], others[-1 - index]) for index in range(half)]
    apart = [subtracted(others[index], others[-1 - index]) for index in range(half)]
    total = first
    for pair in sums:
        total = added(total, pair)
    result = [total] * n
    for row in range(1, half + 1):
        along, across = first, None
        for index in range(half):
            turn = _root(row * (index + 1), n, inverse=False)
            cosine, sine = turn.real, turn.imag
            along = Pair(k.op("fma", sums[index].re, cosine, along.re), k.op("fma", sums[index].im, cosine, along.im))
            if across is None:
                across = Pair(apart[index].re * sine, apart[index].im * sine)
            else:
                across = Pair(
                    k.op("fma", apart[index].re, sine, across.re), k.op("fma", apart[index].im, sine, across.im)
                )
        assert across is not None
        quarter = rotated(across, inverse=True)
        rows = (row, n - row) if not inverse else (n - row, row)
        result[rows[0]], result[rows[1]] = added(along, quarter), subtracted(along, quarter)
    return result


def turns(k: KernelBuilder, number: Ref, radix: int, n: int, part: DType, *, inverse: bool) -> list[Pair | None]:
    """The roots of unity for 0, `number`, twice that, …, `radix` - 1 times it, of `n`; None for 1.

    Those for powers of two are made anew, since to square one doubles its error; others are products of two.
    """
    made: list[Pair | None] = [None]
    for power in range(1, radix):
        whole = 1 << power.bit_length() - 1
        if power == whole:
            made.append(root_of_unity(k, number * power if power > 1 else number, n, part, inverse=inverse))
            continue
        first, second = made[whole], made[power - whole]
        assert first is not None
        assert second is not None
        made.append(multiplied(k, first, second))
    return made


def root_of_unity(k: KernelBuilder, number: Ref, n: int, part: DType, *, inverse: bool) -> Pair:
    """exp(-2 pi i number / n), or its conjugate if `inverse`, for an unsigned `number` below `n`, which is less than an
    eighth of what its type holds.

    The number is brought into the first eighth of the circle exactly, so that both parts are within an ULP or two.
    """
    eighths = number * 8
    eighth = k.op("udiv", eighths, n)
    rest = eighths - eighth * n
    odd = (eighth & 1) != 0
    within = k.op("select", odd, n - rest, rest)
    angle = k.convert(within, part) * (math.pi / 4 / n)
    square = angle * angle
    sine = k.op("fma", angle * square, _polynomial(k, _SINE[part is F64], square), angle)
    cosine = k.op("fma", square * square, _polynomial(k, _COSINE[part is F64], square), k.op("fma", square, -0.5, 1.0))
    swapped = ((eighth + 1) & 2) != 0
    re, im = k.op("select", swapped, sine, cosine), k.op("select", swapped, cosine, sine)
    re = k.op("select", ((eighth + 2) & 4) != 0, -re, re)
    below = (eighth & 4) != 0
    return Pair(re, k.op("select", below, -im, im) if inverse else k.op("select", below, im, -im))


def _polynomial(k: KernelBuilder, coefficients: Sequence[float], x: Ref) -> Ref:
    value: Ref | float = coefficients[0]
    for coefficient in coefficients[1:]:
        value = k.op("fma", x, value, coefficient)
    assert isinstance(value, Ref)
    return value
