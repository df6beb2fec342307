"""NumPy's functions of arrays as sets: distinct elements, membership, what is in both or in one."""

from __future__ import annotations

from typing import Any

import numpy as np

import ocl_runtime.arrays as xp
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.axes import axis_of
from ocl_runtime.arrays.functions.sets import Runs
from ocl_runtime.arrays.functions.sorting import lexicographic_order, sort_keys
from ocl_runtime.errors import DTypeError, Error
from ocl_runtime.numpy.folds import as_common
from ocl_runtime.numpy.operands import array_of, arrays

__all__ = [
    "intersect1d", "isin", "setdiff1d", "setxor1d", "union1d", "unique", "unique_all", "unique_counts",
    "unique_inverse", "unique_values",
]  # fmt: skip


def unique(
    ar: Any,
    return_index: Any = False,
    return_inverse: Any = False,
    return_counts: Any = False,
    axis: Any = None,
    *,
    equal_nan: Any = True,
    sorted: Any = True,  # noqa: A002
) -> Any:
    """The distinct elements of the flat array, in ascending order, and in a tuple with them what is asked for: where
    each comes first, which of them each element is, how often each comes. NaN comes once if `equal_nan`.

    With an axis, the same for the parts along it, in the order of their first elements that differ; parts with a NaN
    are all distinct.
    """
    del sorted  # which they are anyway
    x = array_of(ar)
    asks = bool(return_index or return_inverse or return_counts)
    number = None if axis is None else axis_of("unique", axis, x.ndim)
    if number is None or x.ndim == 1:
        runs = Runs.of("unique", x, places=bool(return_index or return_inverse), equal_nan=bool(equal_nan))
        if not asks:
            return runs.values()
        begin = runs.beginnings()
        values = runs.ordered[begin]
    else:
        runs = Runs.of("unique", _ranks(x, number), places=True)
        begin = runs.beginnings()
        values = xp.take(x, runs.indices(begin), axis=number)
    if not asks:
        return values
    results = [values]
    if return_index:
        results.append(runs.indices(begin))
    if return_inverse:
        results.append(runs.inverse())
    if return_counts:
        results.append(runs.counts(begin))
    return tuple(results)


def _ranks(x: Array, axis: int) -> Array:
    """A number for each part along an axis, in the order of the parts by their elements, first ones first; equal parts
    have one number.

    All columns of elements are ranked at once. Then each pair of neighbours becomes one column, of the numbers that
    their pairs of ranks have in order, until one column is left: Karp, Miller and Rosenberg, Rapid identification of
    repeated patterns in strings, trees and arrays (1972).
    """
    length = x.shape[axis]
    columns = xp.permute_dims(xp.reshape(xp.moveaxis(x, axis, 0), (length, x.size // max(1, length))), (1, 0))
    if not columns.shape[0]:
        return xp.zeros(length, dtype=np.int64)
    ranks = _ranked(columns)
    while ranks.shape[0] > 1:
        pairs, single = ranks[: ranks.shape[0] // 2 * 2], ranks[ranks.shape[0] // 2 * 2 :]
        ranks = xp.concat([_ranked(pairs[::2] * length + pairs[1::2]), single])
    return ranks[0]


def _ranked(lines: Array) -> Array:
    """The place of each element in its line's order among the distinct ones; each NaN is distinct."""
    order = lexicographic_order(sort_keys(lines))
    ordered = xp.take_along_axis(lines, order)
    differs = xp.astype(ordered[:, 1:] != ordered[:, :-1], np.int64)
    rank = xp.cumulative_sum(differs, axis=1, include_initial=True)
    return xp.take_along_axis(rank, xp.argsort(order))


def unique_all(x: Any) -> Any:
    """The distinct elements, where each comes first, which of them each element is, and how often each comes, by the
    standard: each NaN is distinct."""
    return xp.unique_all(array_of(x))


def unique_counts(x: Any) -> Any:
    """The distinct elements, and how often each comes, by the standard."""
    return xp.unique_counts(array_of(x))


def unique_inverse(x: Any) -> Any:
    """The distinct elements, and which of them each element is, by the standard."""
    return xp.unique_inverse(array_of(x))


def unique_values(x: Any) -> Array:
    """The distinct elements, by the standard, and in ascending order."""
    return xp.unique_values(array_of(x))


def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: Any = None,
) -> Array:
    """Whether each element is one of the others, or none of them with `invert`. The kind changes nothing, but a table
    is of integers."""
    del assume_unique
    elements, values = arrays("isin", (element, test_elements))
    if kind not in {None, "sort", "table"}:
        raise Error(f"isin of the kind {kind!r}", place=calling_line(), remedy='use "sort", "table" or None')
    if kind == "table" and not all(x.dtype.kind in "biu" for x in (elements, values)):
        raise DTypeError(
            f"isin of {elements.dtype} among {values.dtype} by a table",
            place=calling_line(),
            remedy="leave the kind out; tables are of integers",
        )
    return xp.isin(*as_common(elements, values), invert=invert)


def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """What is in both arrays, in ascending order; with `return_indices` also where it comes first in each flat one. NaN
    is in none."""
    flat = _lines("intersect1d", ar1, ar2)
    lines, firsts = list(flat), []
    if not assume_unique:
        for number, x in enumerate(flat):
            if return_indices:
                lines[number], first = unique(x, return_index=True)
                firsts.append(first)
            else:
                lines[number] = unique(x)
    joined = xp.concat(lines)
    order = xp.argsort(joined)
    ordered = joined[order]
    (both,) = xp.nonzero(ordered[1:] == ordered[:-1])
    if not return_indices:
        return ordered[both]
    places = [order[both], order[both + 1] - lines[0].size]
    if firsts:
        places = [first[place] for first, place in zip(firsts, places, strict=True)]
    return (ordered[both], *places)


def union1d(ar1: Any, ar2: Any) -> Array:
    """What is in one of the arrays or in both, in ascending order."""
    joined: Array = unique(xp.concat(_lines("union1d", ar1, ar2)))
    return joined


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Array:
    """What is in the first array, but not in the second, in ascending order; or, of elements that are said to be
    distinct, in theirs."""
    first, second = arrays("setdiff1d", (ar1, ar2))
    line = xp.reshape(first, -1) if assume_unique else unique(first)
    return line[isin(line, second, invert=True)]


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Array:
    """What is in one of the arrays, but not in both, in ascending order."""
    lines = _lines("setxor1d", ar1, ar2)
    ordered = xp.sort(xp.concat(lines if assume_unique else [unique(x) for x in lines]))
    if not ordered.size:
        return ordered
    differs = ordered[1:] != ordered[:-1]
    alone = xp.logical_and(xp.pad(differs, (1, 0), constant_values=True), xp.pad(differs, (0, 1), constant_values=True))
    return ordered[alone]


def _lines(what: str, *values: Any) -> list[Array]:
    """Flat arrays of one dtype."""
    return as_common(*(xp.reshape(x, -1) for x in arrays(what, values)))
