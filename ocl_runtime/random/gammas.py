"""Gamma numbers, and distributions that are made of them.

A gamma number is the first of eight candidates that is not rejected. Each candidate has words of its own, of draws of
the stream that come one after the other: so what an element is depends on its place alone, and a loop ends when it has
found one. Of a shape of 1, which is the worst, one candidate in 21 is rejected; an element all of whose candidates are
rejected, of which there is less than one in 2**34, becomes the shape less 1/3, so that probabilities are off by no more
than that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ocl_ir.graph import build as graph
from ocl_ir.indices import Shape
from ocl_ir.random_functions import GAMMA_CANDIDATES
from ocl_ir.types import F32, U32, U64, DType
from ocl_runtime.arrays import Array, astype, broadcast_to, exp, log, maximum, sqrt, where
from ocl_runtime.arrays import max as greatest
from ocl_runtime.arrays import sum as total
from ocl_runtime.random.distributions import nowhere_zero
from ocl_runtime.random.parameters import Parameter
from ocl_runtime.random.philox import Philox
from ocl_runtime.random.words import counters, normal, words_for

if TYPE_CHECKING:
    from ocl_runtime.plan.executor import Executor


class Drawing(NamedTuple):
    """Where numbers are drawn from, and what they shall be."""

    stream: Philox
    executor: Executor
    shape: Shape
    dtype: DType

    def words(self) -> Array:
        """Words of another draw, as wide as the numbers."""
        return words_for(self.stream, self.shape, self.dtype, self.executor)

    def full(self, value: Parameter) -> Array:
        """A parameter at each place."""
        if isinstance(value, Array):
            return broadcast_to(astype(value, self.dtype.public, copy=False), self.shape)
        return Array(graph.scalar(float(value), self.dtype, self.shape), self.executor)


class _Parts(NamedTuple):
    """A gamma number is `number` times `exp(power)`, which may be too small for a float."""

    number: Array
    power: Array | float


def gamma(drawing: Drawing, a: Parameter) -> Array:
    """Standard gamma numbers."""
    number, power = _parts(drawing, a)
    return number * exp(power) if isinstance(power, Array) else number


def _log_gamma(drawing: Drawing, a: Parameter) -> Array:
    number, power = _parts(drawing, a)
    return log(number) + power


def _parts(drawing: Drawing, a: Parameter) -> _Parts:
    """Of a shape below 1, a number of a shape that is greater by 1, times a uniform number to the power of 1 / a."""
    dtype, real = drawing.dtype, drawing.dtype.numpy.type
    if isinstance(a, Array):
        above = where(a < 1, a + 1, a) - 1 / 3
        d, c = drawing.full(above), drawing.full(1 / sqrt(above * 9))
    else:
        with np.errstate(over="ignore"):  # of what is beyond the dtype the number is infinite, too
            least = real(a + 1 if a < 1 else a) - real(1 / 3)
            c_number = float(real(1) / np.sqrt(real(9) * least))
        d, c = drawing.full(float(least)), drawing.full(c_number)
    unsigned = U32 if dtype is F32 else U64
    words = counters(drawing.stream, drawing.shape, unsigned, GAMMA_CANDIDATES)
    bits = graph.elementwise("gamma_bits", *words, *[graph.bitcast(value._node, unsigned) for value in (c, d)])
    found = Array(graph.bitcast(bits, dtype), drawing.executor)
    if not isinstance(a, Array) and a >= 1:
        return _Parts(found, 0.0)
    # Shapes that are nearly 0 give powers that are finite still: a quotient of two gamma numbers is told by these.
    smallest = float(np.finfo(dtype.numpy).tiny) * 128
    exponent = maximum(a, smallest) if isinstance(a, Array) else max(a, smallest)
    power = -nowhere_zero(drawing.words(), dtype) / exponent
    return _Parts(found, where(a < 1, power, 0.0) if isinstance(a, Array) else power)


def beta(drawing: Drawing, a: Parameter, b: Parameter) -> Array:
    """A gamma number divided by the sum of it and another one, by their logarithms, which are never too small."""
    return 1 / (1 + exp(_log_gamma(drawing, b) - _log_gamma(drawing, a)))


def chisquare(drawing: Drawing, df: Parameter) -> Array:
    """Twice a gamma number of half the shape."""
    return gamma(drawing, df / 2) * 2


def f(drawing: Drawing, dfnum: Parameter, dfden: Parameter) -> Array:
    """A quotient of two numbers of chi square, each divided by its degrees of freedom."""
    return (chisquare(drawing, dfnum) / dfnum) / (chisquare(drawing, dfden) / dfden)


def standard_t(drawing: Drawing, df: Parameter) -> Array:
    """A normal number divided by the root of one of chi square, which is divided by its degrees of freedom."""
    return normal(drawing.words(), drawing.dtype) / sqrt(chisquare(drawing, df) / df)


def dirichlet(drawing: Drawing, alpha: Array) -> Array:
    """Gamma numbers along the last axis divided by their sum, by their logarithms."""
    numbers = _log_gamma(drawing, alpha)
    shares = exp(numbers - greatest(numbers, axis=-1, keepdims=True))
    return shares / total(shares, axis=-1, keepdims=True)
