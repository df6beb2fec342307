"""Distributions as functions of words: each takes words as wide as the dtype, and parameters that were checked.

Most are the inverse of the distribution's function at a uniform number. Words for the two halves of a distribution with
two tails are complements of each other, so that both tails have all the bits that a float has.
"""

from __future__ import annotations

import math

from ocl_ir.types import DType
from ocl_runtime.arrays import Array, exp, expm1, log, log1p, pow, sqrt, tan, where
from ocl_runtime.random.parameters import Parameter
from ocl_runtime.random.words import normal, positive, uniform


def exponential(word: Array, dtype: DType) -> Array:
    """-log(v) for v above 0 up to 1."""
    return -log(positive(word, dtype))


def nowhere_zero(word: Array, dtype: DType) -> Array:
    """Exponential numbers of which the small ones have all their bits, too: none is 0."""
    return where(word < 1 << dtype.bits - 1, -log(positive(word, dtype)), -log1p(-positive(~word, dtype)))


def laplace(word: Array, dtype: DType, loc: Parameter, scale: Parameter) -> Array:
    """The first bit is the side, the others are an exponential number."""
    distance = exponential(word + word, dtype)
    return where(word < 1 << dtype.bits - 1, distance, -distance) * scale + loc


def logistic(word: Array, dtype: DType, loc: Parameter, scale: Parameter) -> Array:
    """The logarithm of v / (1 - v)."""
    return (log(positive(word, dtype)) - log(positive(~word, dtype))) * scale + loc


def gumbel(word: Array, dtype: DType, loc: Parameter, scale: Parameter) -> Array:
    """-log of an exponential number."""
    return -log(nowhere_zero(word, dtype)) * scale + loc


def rayleigh(word: Array, dtype: DType, scale: Parameter) -> Array:
    """The length of a vector of two normal numbers, whose square is twice an exponential number."""
    return sqrt(exponential(word, dtype) * 2.0) * scale


def weibull(word: Array, dtype: DType, a: Parameter) -> Array:
    """A power of an exponential number."""
    return pow(exponential(word, dtype), 1.0 / a)


def pareto(word: Array, dtype: DType, a: Parameter) -> Array:
    """The distribution of Pareto II, or Lomax, as NumPy's."""
    return expm1(exponential(word, dtype) / a)


def power(word: Array, dtype: DType, a: Parameter) -> Array:
    """A root of a uniform number."""
    return pow(positive(word, dtype), 1.0 / a)


def standard_cauchy(word: Array, dtype: DType) -> Array:
    """The first bit is the side; the others are a part of a quarter turn, whose tangent is the number; near the end,
    by what is left of the turn."""
    part, left = positive(word + word, dtype), positive(~(word + word), dtype)
    distance = where(part < 0.5, tan(part * (math.pi / 2)), 1 / tan(left * (math.pi / 2)))
    return where(word < 1 << dtype.bits - 1, distance, -distance)


def lognormal(word: Array, dtype: DType, mean: Parameter, sigma: Parameter) -> Array:
    """The exponential of a normal number."""
    return exp(mean + sigma * normal(word, dtype))


def triangular(word: Array, dtype: DType, left: Parameter, mode: Parameter, right: Parameter) -> Array:
    """Both sides of the mode are parts of a parabola."""
    u = uniform(word, dtype)
    width, rise, fall = right - left, mode - left, right - mode
    return where(u * width < rise, left + sqrt(u * width * rise), right - sqrt((1.0 - u) * width * fall))
