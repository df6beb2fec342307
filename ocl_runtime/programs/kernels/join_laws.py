"""Whether a user's join is what the library takes it for: associative, commutative in reductions, and with a neutral
value that changes nothing. Tested in the interpreter, on elements that are really joined.

Floats are associative up to rounding only. A join may lose half of the digits of its dtype, measured at the largest
number that has to do with it: sums of a few numbers lose a few bits, and what is wrong differs at once.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocl_ir.language.builtins.registry import BUILTINS
from ocl_ir.language.errors import Span
from ocl_ir.language.syntax.source import source_of
from ocl_ir.language.values.table import ElementFunction
from ocl_runtime.arrays import Array, asarray, empty
from ocl_runtime.errors import KernelError
from ocl_runtime.programs.kernels.kernel import kernel

global_id = BUILTINS["global_id"]

_TRIPLES = 256
"""How many times three elements are drawn."""
_WAYS = 9
"""States that `joined_ways` gives for each triple."""

State = tuple[NDArray[Any], ...]
"""An array for each part of the states that are joined."""


class _Law(NamedTuple):
    """Two of the ways in `joined_ways` that must give the same, of so many `elements`. `measured` are the ways that say
    how large the numbers are."""

    name: str
    first: int
    second: int
    measured: tuple[int, ...]
    elements: int
    texts: tuple[str, ...]
    remedy: str


_ANY_ORDER = "join so that the order makes no difference: the library chooses it"
_NEUTRAL = "give a neutral value that changes nothing: 0 for a sum, 1 for a product, -inf for a maximum"
_ASSOCIATIVE = _Law(
    "associative", 3, 4, (0, 1, 2, 3, 4, 5), 3, ("join(join(a, b), c)", "join(a, join(b, c))"), _ANY_ORDER
)
_COMMUTATIVE = _Law("commutative", 5, 6, (0, 1, 5, 6), 2, ("join(a, b)", "join(b, a)"), _ANY_ORDER)
_NEUTRAL_FIRST = _Law("neutral", 7, 0, (0,), 1, ("join(neutral, a)",), _NEUTRAL)
_NEUTRAL_LAST = _Law("neutral", 8, 0, (0,), 1, ("join(a, neutral)",), _NEUTRAL)


@kernel(local=_TRIPLES)
def joined_ways(columns: Any, results: Any, join: Any, neutral: Any) -> None:
    """Three elements by themselves, and joined in different ways: `columns` and `results` have ways and triples."""
    triple = global_id(0)
    a: Any = ()
    b: Any = ()
    c: Any = ()
    nothing: Any = ()
    for column, value in zip(columns, neutral):  # noqa: B905, a loop over what is known
        a = (*a, column[0, triple])
        b = (*b, column[1, triple])
        c = (*c, column[2, triple])
        nothing = (*nothing, column.dtype(value))
    ab = join(a, b)
    ways = (
        *(a, b, c, join(ab, c), join(a, join(b, c))),
        *(ab, join(b, a), join(nothing, a), join(a, nothing)),
    )
    for way, state in enumerate(ways):
        for result, part in zip(results, state):  # noqa: B905
            result[way, triple] = part


def check_laws(
    function: ElementFunction, join: Any, columns: Sequence[Array], neutral: Sequence[Any], *, is_ordered: bool
) -> None:
    """Draws elements that are in one row of `columns`, which have rows and elements, and joins them in different ways.
    `join` is the function on tuples; `is_ordered`: elements stay in their order, so that it need not be commutative.
    Raises `KernelError` where the ways differ. Rows of one or two elements are not joined as three would be."""
    rows, length = columns[0].shape
    if not rows or not length:
        return
    row, positions = _triples(rows, length)
    elements = [asarray(np.ascontiguousarray(x.numpy()[row, positions]), dtype=x.dtype) for x in columns]
    results = tuple(empty((_WAYS, _TRIPLES), dtype=x.dtype) for x in columns)
    joined_ways.interpret[_TRIPLES](tuple(elements), results, join, tuple(neutral))
    ways: State = tuple(np.asarray(result.numpy()) for result in results)
    laws = (_ASSOCIATIVE, *(() if is_ordered else (_COMMUTATIVE,)), _NEUTRAL_FIRST, _NEUTRAL_LAST)
    for law in laws:
        differ = _differ(ways, law)
        if law.elements <= length and differ.any():
            raise _broken(function, law, ways, int(np.argmax(differ)), neutral)


def _triples(rows: int, length: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """For each triple a row, and the positions of three elements in it, in their order; the same in every run."""
    drawn = random.Random(0)
    row = [drawn.randrange(rows) for _ in range(_TRIPLES)]
    if length < 3:
        positions = [[0, length - 1, length - 1]] * _TRIPLES
    else:
        positions = [sorted(drawn.sample(range(length), 3)) for _ in range(_TRIPLES)]
    return np.array(row), np.array(positions).T


def _differ(ways: State, law: _Law) -> NDArray[Any]:
    """Of which triples two ways give different states."""
    reals = [part[list(law.measured)].astype(np.float64) for part in ways if part.dtype.kind == "f"]
    numbers = np.concatenate(reals) if reals else np.zeros((1, _TRIPLES))
    largest = np.max(np.abs(numbers), axis=0, where=np.isfinite(numbers), initial=0.0)
    differ = np.zeros(_TRIPLES, bool)
    for part in ways:
        first, second = part[law.first], part[law.second]
        differs = first != second
        if part.dtype.kind == "f":
            with np.errstate(invalid="ignore"):
                distance = np.abs(first.astype(np.float64) - second.astype(np.float64))
            differs &= ~(distance <= np.sqrt(float(np.finfo(part.dtype).eps)) * largest)
            differs &= ~(np.isnan(first) & np.isnan(second))
        differ |= differs
    if law is _ASSOCIATIVE:  # of finite elements, one order may leave the range of the dtype where another does not
        elements = np.concatenate([part[:3].astype(np.float64) for part in ways])
        differ &= ~(np.isfinite(elements).all(axis=0) & ~np.isfinite(numbers).all(axis=0))
    return differ


def _broken(function: ElementFunction, law: _Law, ways: State, triple: int, neutral: Sequence[Any]) -> KernelError:
    """The error of a law that does not hold for a triple."""
    states = [_text([part[way, triple] for part in ways]) for way in range(len(ways[0]))]
    fact = f"{function.__name__} is not {law.name}"
    if law.name == "neutral":
        fact = f"{_text(neutral)} is not neutral to {function.__name__}"
    outcomes = [f"{text} is {states[way]}" for text, way in zip(law.texts, (law.first, law.second), strict=False)]
    elements = [f"{letter} = {states[way]}" for way, letter in enumerate("abc"[: law.elements])]
    source = source_of(function.function)
    return KernelError(
        f"{fact}: {' and '.join(outcomes)}, where {', '.join(elements)}",
        place=Span.of(source.node, source.frame).excerpt,
        remedy=law.remedy,
    )


def _text(state: Sequence[Any]) -> str:
    parts = list(map(str, state))
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"
