"""How many bins a histogram has by a rule with a name: NumPy's.

Each rule gives a width from a few numbers about the elements, which are computed on the device and waited for together.
Sturges (1926), Doane (1976), Scott (1979), Freedman and Diaconis (1981), Stone (1984).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import ocl_runtime.arrays as xp
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.core import compute_together
from ocl_runtime.arrays.functions.histograms import outer_edges
from ocl_runtime.errors import ShapeError
from ocl_runtime.plan.tracing import Question, asking

_NUMBER = Question("the number of bins, by what the elements are like", "say it: bins=…, range=(least, greatest)")
_TRIED = 64
"""Histograms of Stone's rule that are computed together."""


def bins_by_rule(what: str, name: str, x: Array, limits: Any) -> tuple[int, tuple[float, float]]:
    """The number of bins that a rule gives for elements along one axis, and the range that they divide. Raises
    `ShapeError` for a name that is no rule, and for a range as of `histogram`."""
    rule = _RULES.get(name)
    if rule is None:
        raise ShapeError(
            f"{what} with bins={name!r}", place=calling_line(), remedy=f"rules are {', '.join(sorted(_RULES))}"
        )
    if x.dtype == np.bool_:
        x = xp.astype(x, np.uint8)
    low, high = outer_edges(what, x, limits)
    if limits is not None:
        x = x[(x >= low) & (x <= high)]
    ends = float(low), float(high)
    if not x.size:
        return 1, ends
    width = rule(x, ends)
    if width and x.dtype.kind in "iu":
        width = max(width, 1)
    return (math.ceil((high - low) / width) if width else 1), ends


def _known(*numbers: Array) -> list[Any]:
    """Numbers about the elements, as NumPy's."""
    compute_together(numbers)
    with asking(_NUMBER):
        return [number.numpy()[()] for number in numbers]


def _extent(low: Any, high: Any) -> Any:
    """The greatest element less the least; integers do not overflow."""
    return int(high) - int(low) if isinstance(low, np.integer) else high - low


def _spread(x: Array) -> Any:
    return _extent(*_known(xp.min(x), xp.max(x)))


def _square_root(x: Array, _: tuple[float, float]) -> Any:
    return _spread(x) / np.sqrt(x.size)


def _sturges(x: Array, _: tuple[float, float]) -> Any:
    return _spread(x) / (np.log2(x.size) + 1.0)


def _rice(x: Array, _: tuple[float, float]) -> Any:
    return _spread(x) / (2.0 * x.size ** (1.0 / 3))


def _scott(x: Array, _: tuple[float, float]) -> Any:
    (deviation,) = _known(xp.std(x))
    return (24.0 * math.pi**0.5 / x.size) ** (1.0 / 3.0) * deviation


def _doane(x: Array, _: tuple[float, float]) -> Any:
    count = x.size
    if count < 3:
        return 0.0
    deviation = xp.std(x)
    skewness = xp.mean(((x - xp.mean(x)) / deviation) ** 3)
    low, high, wide, skew = _known(xp.min(x), xp.max(x), deviation, skewness)
    if not wide > 0:
        return 0.0
    usual = math.sqrt(6.0 * (count - 2) / ((count + 1.0) * (count + 3)))
    return _extent(low, high) / (1.0 + np.log2(count) + np.log2(1.0 + abs(skew) / usual))


def _freedman_diaconis(x: Array, _: tuple[float, float]) -> Any:
    last = x.size - 1
    places = [math.floor(last * quarter / 4) for quarter in (1, 3)]
    line = xp.sort(x)
    known = _known(*(line[min(place + step, last)] for place in places for step in (0, 1)))
    if x.dtype.kind in "iu":
        known = [float(number) for number in known]
    fractions = [last * quarter / 4 - place for quarter, place in zip((1, 3), places, strict=True)]
    lower, upper = (
        known[2 * number] + (known[2 * number + 1] - known[2 * number]) * fraction
        for number, fraction in enumerate(fractions)
    )
    return 2.0 * (upper - lower) * x.size ** (-1.0 / 3.0)


def _stone(x: Array, limits: tuple[float, float]) -> Any:
    count, spread = x.size, _spread(x)
    if count < 2 or not spread:
        return 0
    squares: list[Any] = []
    most = max(100, math.isqrt(count))
    for first in range(1, most + 1, _TRIED):
        tried = range(first, min(first + _TRIED, most + 1))
        counts = [xp.astype(xp.histogram(x, bins, limits)[0], np.float32) for bins in tried]
        squares += _known(*(xp.sum((number / count) ** 2) for number in counts))
    losses = [(2 - (count + 1) * float(square)) * bins for bins, square in enumerate(squares, 1)]
    return spread / (1 + losses.index(min(losses)))


def _automatic(x: Array, limits: tuple[float, float]) -> Any:
    most = max(_freedman_diaconis(x, limits), _square_root(x, limits) / 2)
    return min(most, _sturges(x, limits))


_RULES: dict[str, Callable[[Array, tuple[float, float]], Any]] = {
    "auto": _automatic,
    "doane": _doane,
    "fd": _freedman_diaconis,
    "rice": _rice,
    "scott": _scott,
    "sqrt": _square_root,
    "stone": _stone,
    "sturges": _sturges,
}
