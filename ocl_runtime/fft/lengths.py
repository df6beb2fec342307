"""Lengths of Fourier transforms."""

from __future__ import annotations

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
