"""Counts: Poisson, binomial, negative binomial, multinomial, geometric and logarithmic numbers.

Where a mean is below 10, a count is how many sums of probabilities a uniform number is above. Else it is the first of
twenty candidates that is not rejected: at most one in three is, and all twenty of an element with a probability of less
than 2**-31; then the count is the mean, rounded down. A candidate has two words of the block with the element's number,
and the next candidate those of the next draw: so a loop ends when it has found one, and nobody else is concerned.
Of these, everything is rounded correctly, so counts are the same on every device that has float64, without which there
are none. Geometric and logarithmic ones take a logarithm of the device's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.random_counts import COUNT_CANDIDATES
from ocl_ir.types import F64, U64
from ocl_runtime.arrays import (
    Array,
    asarray,
    astype,
    broadcast_to,
    ceil,
    exp,
    floor,
    log,
    log1p,
    maximum,
    minimum,
    stack,
    where,
)
from ocl_runtime.arrays.meaning.dtypes import int64
from ocl_runtime.random.distributions import exponential
from ocl_runtime.random.gammas import Drawing, gamma
from ocl_runtime.random.parameters import Parameter
from ocl_runtime.random.words import counters, positive

_LARGE = 10.0
"""The mean from which on there are candidates."""
_MOST = 2.0**63 - 2.0**10
"""The greatest float64 that int64 holds."""


def poisson(drawing: Drawing, mean: Parameter) -> Array:
    """Poisson numbers."""
    return _as_counts(_counted(drawing, "poisson", mean, mean))


def binomial(drawing: Drawing, n: Parameter, p: Parameter) -> Array:
    """Binomial numbers."""
    return _as_counts(_binomial(drawing, n, p))


def _binomial(drawing: Drawing, n: Parameter, p: Parameter, most: float = math.inf) -> Array:
    """Binomial numbers, in float64: of a probability above 1/2, the others are counted. Of those no mean is above
    `most`."""
    less: Parameter = minimum(p, 1 - p) if isinstance(p, Array) else min(p, 1 - p)
    found = _counted(drawing, "binomial", n * less, n, less, is_small=most < _LARGE)
    if isinstance(p, Array):
        return where(p > 0.5, n - found, found)
    return n - found if p > 0.5 else found


def negative_binomial(drawing: Drawing, n: Parameter, p: Parameter) -> Array:
    """Poisson numbers of gamma numbers as means."""
    return poisson(drawing, gamma(drawing, n) * ((1 - p) / p))


def geometric(drawing: Drawing, p: Parameter) -> Array:
    """An exponential number in units of the failures' logarithm, rounded up."""
    rate = -log1p(-p) if isinstance(p, Array) else -math.log1p(-p) if p < 1 else math.inf
    return _as_counts(minimum(maximum(ceil(exponential(drawing.words(), drawing.dtype) / rate), 1.0), _MOST))


def logseries(drawing: Drawing, p: Parameter) -> Array:
    """A geometric number whose probability is drawn. A. W. Kemp, Efficient generation of logarithmically distributed
    pseudo-random variables, Applied Statistics 30 (1981), algorithm LK."""
    logarithm = log1p(-p) if isinstance(p, Array) else math.log1p(-p)
    v, u = (positive(drawing.words(), drawing.dtype) for _ in range(2))
    fails = exp(logarithm * u)
    q = 1 - fails
    many = minimum(floor(1 + log(v) / log1p(-fails)), _MOST)
    return _as_counts(where((v >= p) | (v >= q), 1.0, where(v <= q * q, many, 2.0)))


def multinomial(drawing: Drawing, n: Parameter, p: Any) -> Array:
    """Multinomial numbers along a further axis, by halves: how many trials have an outcome of the first half is
    binomial, and so on in each half, of all halves at once. So a thousand outcomes are ten draws."""
    count = len(p)
    levels = (count - 1).bit_length()
    p = np.pad(p, (0, (1 << levels) - count))
    found = drawing.full(n)[..., None]
    for level in range(levels):
        halves = p.reshape(1 << level, 2, -1).sum(axis=-1)
        both = halves.sum(axis=-1)
        share = np.divide(halves[:, 0], both, out=np.zeros_like(both), where=both > 0)
        most = math.inf if isinstance(n, Array) else n * float(np.minimum(share, 1 - share).max())
        nodes = drawing._replace(shape=(*drawing.shape, 1 << level))
        first = _binomial(nodes, found, asarray(share), most)
        found = stack([first, found - first], axis=-1).reshape((*drawing.shape, 2 << level))
    return _as_counts(found[..., :count])


def _counted(drawing: Drawing, name: str, mean: Parameter, *parameters: Parameter, is_small: bool = False) -> Array:
    """Numbers of a distribution by the rows that the op table has for small and large means, in float64."""
    bits = [graph.bitcast(drawing.full(value)._node, U64) for value in parameters]

    def made(row: str, words: list[Node]) -> Array:
        return Array(graph.bitcast(graph.elementwise(row, *words, *bits), F64), drawing.executor)

    def small() -> Array:
        return made(f"{name}_small", [drawing.words()._node])

    def large() -> Array:
        return made(f"{name}_large", counters(drawing.stream, drawing.shape, U64, COUNT_CANDIDATES))

    is_large = False if is_small else mean >= _LARGE
    if isinstance(is_large, Array):
        return where(broadcast_to(is_large, drawing.shape), large(), small())
    return large() if is_large else small()


def _as_counts(x: Array) -> Array:
    return astype(x, int64)
