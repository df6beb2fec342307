"""What the op table's rows of random counts mean, on NumPy arrays: Poisson and binomial numbers from words of 64 bits.

Numbers are float64, as bits. Everything is made of sums, products, quotients and roots of float64, which are rounded
correctly on every device, in the order that templates/helpers/random_counts.cl.mako has.

Where a mean is below 10, a uniform number is compared with the running sum of probabilities. Else a number is the first
candidate that is not rejected of twenty by Hörmann's transformed rejection: The transformed rejection method for
generating Poisson random variables, and The generation of binomial random variates (1993). Logarithms of probabilities
are Loader's, Fast and accurate computation of binomial probabilities (2000), of which little cancels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ocl_ir.random_functions import candidate_words, log_of, parts

_STEPS = 48
"""Counts that are compared; with a mean of 10 a greater one comes less than once in 2**53 times."""
_TERMS = 14
COUNT_CANDIDATES = 20
_ERRORS = 0.08106146679532726, 0.04134069595540929, 0.02767792568499834, 0.02079067210376509, 0.01664469118982119
"""Stirling's error of log(k!) for k from 1 to 5."""


def _float(bits: Any) -> Any:
    return np.asarray(bits).view(np.float64)


def _between(word: Any) -> Any:
    """A uniform number above 0."""
    return word.astype(np.float64) * 2.0**-64 + 2.0**-65


def _uniform(word: Any) -> Any:
    """A uniform number below 1."""
    return (word >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _exp(x: Any) -> Any:
    """exp(x) for x from -16 to 0: a power of that of a sixteenth, whose series is summed."""
    y = x / 16.0
    e = np.ones_like(y)
    for number in range(_TERMS, 0, -1):
        e = 1.0 + y * e / float(number)
    for _ in range(4):
        e = e * e
    return e


def _log(x: Any) -> Any:
    return log_of(*parts(np.where(x > 0, x, 1.0)))


def _distance(x: Any, mean: Any) -> Any:
    """x log(x / mean) + mean - x."""
    t = (mean - x) / x
    is_near = (t > -0.29) & (t < 0.41)
    ratio = mean / x
    k, f = parts(np.where(ratio > 0, ratio, 1.0))
    return x * (t - log_of(np.where(is_near, 0.0, k), np.where(is_near, t, f)))


def _error(x: Any) -> Any:
    """How much log(x!) is more than Stirling's formula says, for x from 1 on."""
    square = x * x
    e = (
        0.08333333333333333
        - (0.002777777777777778 - (7.936507936507937e-4 - 5.952380952380953e-4 / square) / square) / square
    ) / x
    for number, exact in enumerate(_ERRORS, 1):
        e = np.where(x == float(number), exact, e)
    return e


def poisson_small(word: Any, mean: Any) -> Any:
    """The bits of a Poisson number of a mean below 10."""
    u, mean = _uniform(word), _float(mean)
    probability = _exp(-mean)
    upto, count = probability, np.zeros_like(u)
    for number in range(1, _STEPS + 1):
        count = np.where(u >= upto, count + 1.0, count)
        probability = probability * mean / float(number)
        upto = upto + probability
    return count.view(np.uint64)


def poisson_large(number: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any, mean: Any) -> Any:
    """The bits of Poisson numbers of a mean of 10 or more. What words they have,
    `candidate_words` says."""
    expected = _float(mean)
    return _first((number, c1, c2, c3, k0, k1), lambda first, second: poisson_candidate(first, second, mean), expected)


def binomial_large(number: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any, n: Any, p: Any) -> Any:
    """The bits of binomial numbers of `n` trials of a probability that is 1/2 at most, of a mean of 10 or more, from
    words as of `poisson_large`."""
    expected = _float(n) * _float(p)
    return _first((number, c1, c2, c3, k0, k1), lambda first, second: binomial_candidate(first, second, n, p), expected)


def _first(words: tuple[Any, Any, Any, Any, Any, Any], candidate: Callable[[Any, Any], Any], expected: Any) -> Any:
    """The bits of the first candidate that is not rejected; if all are, what is expected, rounded down."""
    found = np.full(np.shape(expected), -1.0)
    for turn in range(COUNT_CANDIDATES):
        found = np.where(found >= 0.0, found, _float(candidate(*candidate_words(*words, turn))))
        if (found >= 0.0).all():
            break
    return np.where(found >= 0.0, found, np.where(expected > 0.0, np.floor(expected), 0.0)).view(np.uint64)


def poisson_candidate(first: Any, second: Any, mean: Any) -> Any:
    """The bits of a candidate for a Poisson number, or of -1 where it is rejected: algorithm PTRS."""
    u, v, mean = _between(first) - 0.5, _between(second), _float(mean)
    b = 0.931 + 2.53 * np.sqrt(mean)
    a = -0.059 + 0.02483 * b
    room = 0.5 - np.abs(u)
    k = np.floor((2.0 * a / room + b) * u + mean + 0.43)
    is_inside = (room >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2.0))
    is_outside = (k < 0.0) | ((room < 0.013) & (v > room))
    x = np.where(k > 1.0, k, 1.0)
    most = -_distance(x, mean) - _error(x) - 0.5 * _log(6.283185307179586 * x)
    most = np.where(k == 0.0, -mean, most)
    least = _log(v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (room * room) + b))
    return np.where((is_inside | (~is_outside & (least <= most))) & (k >= 0.0), k, -1.0).view(np.uint64)


def binomial_small(word: Any, n: Any, p: Any) -> Any:
    """The bits of a binomial number of `n` trials of a probability that is 1/2 at most, of a mean below 10."""
    u, n, p = _uniform(word), _float(n), _float(p)
    q = 1.0 - p
    probability, odds = _exp(n * _log(q)), p / q
    upto, count = probability, np.zeros_like(u)
    for number in range(1, _STEPS + 1):
        count = np.where((u >= upto) & (count < n), count + 1.0, count)
        probability = probability * odds * (n + 1.0 - float(number)) / float(number)
        upto = upto + probability
    return count.view(np.uint64)


def _log_probability(k: Any, n: Any, p: Any) -> Any:
    """Of a count between 0 and `n`, without what all counts have."""
    x, y = np.where(k > 1.0, k, 1.0), np.where(n - k > 1.0, n - k, 1.0)
    inner = -_error(x) - _error(y) - _distance(x, n * p) - _distance(y, n * (1.0 - p)) - 0.5 * _log(x * y)
    # Of the ends, Stirling's formula has no part.
    shared = _error(n) + 0.5 * _log(n * 0.15915494309189535)
    ends = np.where(k == 0.0, n * _log(1.0 - p), n * _log(p)) - shared
    return np.where((k == 0.0) | (k == n), ends, inner)


def binomial_candidate(first: Any, second: Any, n: Any, p: Any) -> Any:
    """The bits of a candidate for a binomial number, or of -1 where it is rejected: algorithm BTRS."""
    u, v, n, p = _between(first) - 0.5, _between(second), _float(n), _float(p)
    spread = np.sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    room = 0.5 - np.abs(u)
    k = np.floor((2.0 * a / room + b) * u + n * p + 0.5)
    is_outside = (k < 0.0) | (k > n)
    is_inside = (room >= 0.07) & (v <= 0.92 - 4.2 / b)
    middle = np.floor((n + 1.0) * p)
    most = _log_probability(np.where(is_outside, middle, k), n, p) - _log_probability(middle, n, p)
    least = _log(v * (2.83 + 5.1 / b) * spread / (a / (room * room) + b))
    return np.where(~is_outside & (is_inside | (least <= most)) & (k >= 0.0), k, -1.0).view(np.uint64)
