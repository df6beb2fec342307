"""Lengths of Fourier transforms."""

from __future__ import annotations

import math
from functools import lru_cache

PRIMES = (2, 3, 5, 7, 11, 13)
"""Those of which a length is made that butterflies transform."""


def is_smooth(n: int) -> bool:
    """Whether no prime factor of a length is too large for a butterfly."""
    rest = int(n)
    for prime in PRIMES:
        while rest % prime == 0:
            rest //= prime
    return rest == 1


@lru_cache(maxsize=256)
def smooth_length(least: int) -> int:
    """The least length that is not below another one, and has prime factors 2, 3 and 5 alone."""
    best = 1 << (least - 1).bit_length()
    fives = 1
    while fives < best:
        threes = fives
        while threes < best:
            quotient = -(-least // threes)
            best = min(best, threes << (quotient - 1).bit_length())
            threes *= 3
        fives *= 5
    return best


@lru_cache(maxsize=256)
def primitive_root(n: int) -> int | None:
    """The least number whose powers are all remainders but 0 of an odd prime below 2^31 that is one more than a smooth
    number; None for other numbers."""
    if not 2 < n < 2**31 or not is_smooth(n - 1) or any(n % divisor == 0 for divisor in range(2, math.isqrt(n) + 1)):
        return None
    quotients = [(n - 1) // prime for prime in PRIMES if (n - 1) % prime == 0]
    return next(g for g in range(2, n) if all(pow(g, quotient, n) != 1 for quotient in quotients))
