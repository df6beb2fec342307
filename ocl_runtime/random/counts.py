"""Counts: Poisson, binomial, negative binomial and multinomial numbers.

Where a mean is below 10, a count is how many sums of probabilities a uniform number is above. Else it is the first of
twenty candidates that is not rejected: at most one in three is, and all twenty of an element with a probability of less
than 2**-31; then the count is the mean, rounded down. A candidate has two words of the block with the element's number,
and the next candidate those of the next draw: so a loop ends when it has found one, and nobody else is concerned.
Everything is rounded correctly, so counts are the same on every device that has float64, without which there are none.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.indices import Shape
from ocl_ir.types import F64, U64
from ocl_runtime.arrays import Array, astype, broadcast_to, minimum, stack, where
from ocl_runtime.arrays.meaning.dtypes import float64, int64, require
from ocl_runtime.random.gammas import Drawing, gamma
from ocl_runtime.random.parameters import Parameter
from ocl_runtime.random.philox import Philox
from ocl_runtime.random.words import counters

if TYPE_CHECKING:
    from ocl_runtime.plan.executor import Executor

_CANDIDATES = 20
_LARGE = 10.0
"""The mean from which on there are candidates."""


def drawing(stream: Philox, executor: Executor, shape: Shape) -> Drawing:
    """A draw of counts. Raises `DTypeError` where the device has no float64."""
    return Drawing(stream, executor, shape, require(F64, executor.target))


def poisson(drawing: Drawing, mean: Parameter) -> Array:
    """Poisson numbers."""
    return _as_counts(_counted(drawing, "poisson", mean, mean))


def binomial(drawing: Drawing, n: Parameter, p: Parameter, most: float = math.inf) -> Array:
    """Binomial numbers: of a probability above 1/2, the others are counted. There are no more than `most` trials."""
    if isinstance(p, Array):
        less: Parameter = minimum(p, 1 - p)
    else:
        less = min(p, 1 - p)
    mean = n * less
    is_small = not isinstance(less, Array) and most * less < _LARGE
    found = _counted(drawing, "binomial", mean, n, less, is_small=is_small)
    if isinstance(p, Array):
        found = where(p > 0.5, n - found, found)
    elif p > 0.5:
        found = n - found
    return _as_counts(found)


def negative_binomial(drawing: Drawing, n: Parameter, p: Parameter) -> Array:
    """Poisson numbers of gamma numbers as means."""
    return poisson(drawing, gamma(drawing, n) * ((1 - p) / p))


def multinomial(drawing: Drawing, n: Parameter, p: Any) -> Array:
    """Multinomial numbers along a further axis, one after the other: each is binomial, of those that are left."""
    left: Parameter = n
    most = math.inf if isinstance(n, Array) else n
    counts = []
    rest = np.concatenate([np.cumsum(p[::-1])[::-1], [0.0]])
    for number, one in enumerate(p[:-1]):
        share = float(min(1.0, one / rest[number])) if rest[number] > 0 else 0.0
        count = binomial(drawing, left, share, most)
        counts.append(count)
        left = drawing.full(left) - astype(count, float64)
    counts.append(_as_counts(drawing.full(left)))
    return stack(counts, axis=-1)


def _counted(drawing: Drawing, name: str, mean: Parameter, *parameters: Parameter, is_small: bool = False) -> Array:
    """Numbers of a distribution by the rows that the op table has for small and large means, in float64."""
    bits = [graph.bitcast(drawing.full(value)._node, U64) for value in parameters]

    def made(row: str, words: list[Node]) -> Array:
        return Array(graph.bitcast(graph.elementwise(row, *words, *bits), F64), drawing.executor)

    def small() -> Array:
        return made(f"{name}_small", [drawing.words()._node])

    def large() -> Array:
        return made(f"{name}_large", counters(drawing.stream, drawing.shape, U64, _CANDIDATES))

    is_large = False if is_small else mean >= _LARGE
    if isinstance(is_large, Array):
        return where(broadcast_to(is_large, drawing.shape), large(), small())
    return large() if is_large else small()


def _as_counts(x: Array) -> Array:
    return astype(x, int64)
