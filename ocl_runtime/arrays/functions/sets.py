"""Distinct elements, and membership.

The flat array is sorted, and what differs from the element before it begins a run of equal ones. Sorts are stable, so
a run begins with the first of its elements. How many runs there are is waited for, as for `x[mask]`.
"""

from __future__ import annotations

from typing import NamedTuple

from ocl_ir.graph import build as graph
from ocl_ir.types import BOOL, I64
from ocl_runtime.arrays.array import Array, array_of, arrays_of
from ocl_runtime.arrays.functions.elementwise import isnan, logical_not, minimum
from ocl_runtime.arrays.functions.joining import concat, diff, pad
from ocl_runtime.arrays.functions.manipulation import expand_dims, reshape
from ocl_runtime.arrays.functions.scans import cumulative_sum
from ocl_runtime.arrays.functions.searching import searchsorted
from ocl_runtime.arrays.functions.sorting import lexicographic_order, sort, sort_keys
from ocl_runtime.arrays.functions.statistics import any as _any
from ocl_runtime.arrays.functions.taking import set_at
from ocl_runtime.arrays.meaning.dtypes import int64
from ocl_runtime.arrays.meaning.masks import coordinates, selected
from ocl_runtime.arrays.operands import ArrayLike
from ocl_runtime.plan.tracing import Question

_DISTINCT = Question("the number of distinct elements", "keep the shape: sort(x) has equal elements beside each other")
_FEW = 64
"""Values up to which `isin` compares each element with each of them."""


class UniqueAll(NamedTuple):
    """Distinct elements, where each comes first, which of them each element is, and how often each comes."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """Distinct elements, and how often each comes."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """Distinct elements, and which of them each element is."""

    values: Array
    inverse_indices: Array


def unique_all(x: ArrayLike, /) -> UniqueAll:
    """The distinct elements of an array in ascending order; where in the flat array each comes first; in the shape of
    `x`, which of them each element is; and how often each comes. All but the values are int64.

        values, indices, inverse, counts = unique_all(asarray([3, 1, 3]))     # [1, 3], [1, 0], [1, 0, 1], [1, 2]

    Each NaN is distinct, -0.0 equals 0.0, and of equal elements the first one is given. Complex numbers are in the
    order of their real parts, and then of their imaginary ones. Raises `ShapeError` for 2^32 elements or more.
    """
    runs = Runs.of("unique_all", x, places=True)
    begin = runs.beginnings()
    return UniqueAll(runs.ordered[begin], runs.indices(begin), runs.inverse(), runs.counts(begin))


def unique_counts(x: ArrayLike, /) -> UniqueCounts:
    """The distinct elements of an array, and how often each comes; more in `unique_all`."""
    runs = Runs.of("unique_counts", x)
    begin = runs.beginnings()
    return UniqueCounts(runs.ordered[begin], runs.counts(begin))


def unique_inverse(x: ArrayLike, /) -> UniqueInverse:
    """The distinct elements of an array, and which of them each element is; more in `unique_all`."""
    runs = Runs.of("unique_inverse", x, places=True)
    return UniqueInverse(runs.values(), runs.inverse())


def unique_values(x: ArrayLike, /) -> Array:
    """The distinct elements of an array; more in `unique_all`.

    unique_values(asarray([3, 1, 3]))       # [1, 3]
    """
    return Runs.of("unique_values", x).values()


class Runs(NamedTuple):
    """The elements of an array in ascending order, and whether each begins a run of equal ones. `places` has where they
    were in the flat array, if that was asked for."""

    x: Array
    ordered: Array
    begins: Array
    places: Array | None

    @classmethod
    def of(cls, what: str, operand: ArrayLike, *, places: bool = False, equal_nan: bool = False) -> Runs:
        """The runs of an array. With `equal_nan` all NaN are one run, else each is one."""
        x = array_of(what, operand)
        flat = reshape(x, -1)
        order = lexicographic_order(sort_keys(flat)) if places or x._dtype.is_complex else None
        ordered = sort(flat) if order is None else flat[order]
        first = Array(graph.scalar(True, BOOL, (min(x.size, 1),)), x._executor)
        if not x.size:
            return cls(x, ordered, first, order)
        differs = ordered[1:] != ordered[:-1]
        if equal_nan and (x._dtype.is_float or x._dtype.is_complex):
            differs = differs & logical_not(isnan(ordered[:-1]))
        return cls(x, ordered, concat([first, differs]), order)

    def values(self) -> Array:
        """The first element of each run."""
        node = selected(self.ordered._node, self.begins._node, self.x._counting(_DISTINCT))
        return Array(node, self.x._executor)

    def beginnings(self) -> Array:
        """Where in the order each run begins."""
        (begin,) = coordinates(self.begins._node, self.x._counting(_DISTINCT), I64)
        return Array(graph.convert(begin, I64), self.x._executor)

    def indices(self, begin: Array) -> Array:
        """Where in the flat array the runs come first that begin somewhere in the order."""
        return self._places()[begin]

    def inverse(self) -> Array:
        """In the shape of the array, the number of the run that each element is in."""
        number = Array(graph.undefined(I64, (self.x.size,)), self.x._executor)
        set_at(number, self._places(), cumulative_sum(self.begins, dtype=int64) - 1, unique=True)
        return reshape(number, self.x.shape)

    def counts(self, begin: Array) -> Array:
        """How many elements there are in the runs that begin somewhere in the order."""
        return diff(pad(begin, (0, 1), constant_values=self.x.size))

    def _places(self) -> Array:
        assert self.places is not None
        return self.places


def isin(x1: ArrayLike, x2: ArrayLike, /, *, invert: bool = False) -> Array:
    """Whether each element of `x1` equals an element of `x2`; with `invert`, whether it equals none. Gives bools.

        isin(asarray([1, 2, 3]), asarray([3, 1]))       # True, False, True

    NaN equals nothing. Few elements of `x2`, and complex numbers, are all compared; of more, which are sorted, the
    place is found for each element of `x1`. Raises `DTypeError` for what does not compare, `ShapeError` for 2^32
    elements of `x2` or more.
    """
    elements, values = arrays_of("isin", x1, x2)
    if not values.size:
        return Array(graph.scalar(invert, BOOL, elements.shape), elements._executor)
    flat = reshape(values, -1)
    if values.size <= _FEW or elements._dtype.is_complex or values._dtype.is_complex:
        matches = _any(expand_dims(elements, axis=-1) == flat, axis=-1)
    else:
        ordered = sort(flat)
        matches = ordered[minimum(searchsorted(ordered, elements), values.size - 1)] == elements
    return logical_not(matches) if invert else matches
