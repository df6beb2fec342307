"""NumPy's functions of arrays as sets: distinct elements, membership, what is in both or in one."""

from __future__ import annotations

from typing import Any

import ocl_runtime.arrays as xp
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.axes import axis_of
from ocl_runtime.arrays.functions.sets import Runs
from ocl_runtime.errors import DTypeError, Error
from ocl_runtime.numpy.folds import as_common
from ocl_runtime.numpy.operands import NoArrayError, array_of, arrays

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

    Distinct parts along an axis are not found here.
    """
    del sorted  # which they are anyway
    x = array_of(ar)
    if axis is not None:
        axis = axis_of("unique", axis, x.ndim)
        if x.ndim > 1:
            raise NoArrayError(
                f"unique along axis {axis} of an array with {x.ndim} axes",
                place=calling_line(),
                remedy="leave the axis out, or use numpy.unique on x.numpy()",
            )
    runs = Runs.of("unique", x, places=bool(return_index or return_inverse), equal_nan=bool(equal_nan))
    if not (return_index or return_inverse or return_counts):
        return runs.values()
    begin = runs.beginnings()
    results = [runs.ordered[begin]]
    if return_index:
        results.append(runs.indices(begin))
    if return_inverse:
        results.append(runs.inverse())
    if return_counts:
        results.append(runs.counts(begin))
    return tuple(results)


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
