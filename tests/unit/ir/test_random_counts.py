"""The meaning of the rows of random counts, against probabilities by `math.lgamma`."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from ocl_ir import random_counts
from ocl_ir.random_functions import philox

COUNT = 60_000


def words(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**64, COUNT, dtype=np.uint64)


def bits(value: float) -> np.ndarray:
    return np.full(COUNT, float(value)).view(np.uint64)


def poisson(k: int, mean: float) -> float:
    return math.exp(k * math.log(mean) - mean - math.lgamma(k + 1))


def binomial(k: int, n: int, p: float) -> float:
    chosen = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(chosen + k * math.log(p) + (n - k) * math.log1p(-p))


def check(numbers: np.ndarray, probability: Callable[[int], float]) -> None:
    """Chi square, cells of few being one, as a normal number (Wilson and Hilferty)."""
    counts = np.bincount(numbers.astype(np.int64))
    wanted = np.array([probability(k) for k in range(counts.size)]) * numbers.size
    many = wanted > 20
    found = [*counts[many], numbers.size - counts[many].sum()]
    expected = [*wanted[many], max(numbers.size - wanted[many].sum(), 1e-9)]
    total = sum((one - other) ** 2 / other for one, other in zip(found, expected, strict=True) if other > 1)
    freedom = sum(other > 1 for other in expected) - 1
    assert ((total / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / (2 / (9 * freedom)) ** 0.5 < 3.5


@pytest.mark.parametrize("mean", [0.01, 0.7, 4.5, 9.999])
def test_small_poisson_numbers(mean: float) -> None:
    found = random_counts.poisson_small(words(1), bits(mean)).view(np.float64)
    check(found, lambda k: poisson(k, mean))


@pytest.mark.parametrize("mean", [10.0, 11.5, 60.0, 1000.0])
def test_large_poisson_numbers(mean: float) -> None:
    found = random_counts.poisson_candidate(words(2), words(3), bits(mean)).view(np.float64)
    taken = found >= 0
    assert 0.7 < taken.mean() < 0.95
    assert (found[~taken] == -1).all()
    check(found[taken], lambda k: poisson(k, mean))


@pytest.mark.parametrize(("n", "p"), [(1, 0.5), (7, 0.3), (19, 0.5), (500, 0.0199), (10**9, 3e-9)])
def test_small_binomial_numbers(n: int, p: float) -> None:
    found = random_counts.binomial_small(words(4), bits(n), bits(p)).view(np.float64)
    check(found, lambda k: binomial(k, n, p) if k <= n else 0.0)


@pytest.mark.parametrize(("n", "p"), [(20, 0.5), (33, 0.4), (100, 0.1), (2000, 0.45), (10**6, 1e-4)])
def test_large_binomial_numbers(n: int, p: float) -> None:
    found = random_counts.binomial_candidate(words(5), words(6), bits(n), bits(p)).view(np.float64)
    taken = found >= 0
    assert 0.68 < taken.mean() < 0.95
    assert found.max() <= n
    check(found[taken], lambda k: binomial(k, n, p) if k <= n else 0.0)


def test_ends() -> None:
    assert (random_counts.poisson_small(words(7), bits(0)).view(np.float64) == 0).all()
    assert (random_counts.binomial_small(words(7), bits(5), bits(0)).view(np.float64) == 0).all()
    assert (random_counts.binomial_small(words(7), bits(0), bits(0.5)).view(np.float64) == 0).all()


def test_logarithms_of_probabilities() -> None:
    """Of all counts, the ends too, up to what all have."""
    n, p = 30, 0.35
    k = np.arange(n + 1.0)
    found = random_counts._log_probability(k, np.full_like(k, n), np.full_like(k, p))
    exact = np.log([binomial(int(one), n, p) for one in k])
    np.testing.assert_allclose(found - found[10], exact - exact[10], atol=2e-10)


def test_the_first_candidate_is_taken() -> None:
    """Of the next draw, whose number may carry, if those before are rejected."""
    number, zero = np.arange(500, dtype=np.uint64), np.zeros(500, np.uint64)
    draw, mean = zero + np.uint64(2**32 - 2), np.full(500, 10.5).view(np.uint64)
    found = random_counts.poisson_large(number, zero, draw, zero + np.uint64(4), zero, zero, mean).view(np.float64)
    turns = np.full(500, -1)
    for turn in range(20):
        low, high = (2**32 - 2 + turn) % 2**32, 4 + (turn >= 2)
        counter = zero, zero + np.uint64(low), zero + np.uint64(high), zero, zero
        first, second = (philox(2 * number + np.uint64(at), *counter) for at in (0, 1))
        candidate = random_counts.poisson_candidate(first, second, mean).view(np.float64)
        taken = (turns < 0) & (candidate >= 0)
        np.testing.assert_array_equal(found[taken], candidate[taken])
        turns[taken] = turn
    assert 2 < turns.max() < 19
    assert turns.min() == 0
    never = random_counts.poisson_large(number, zero, draw, zero, zero, zero, np.full(500, np.nan).view(np.uint64))
    assert (never == 0).all()
