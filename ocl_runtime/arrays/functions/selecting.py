"""The greatest or least elements along an axis.

Of a long line, those wanted are found without sorting it, by radix selection: the elements are counted by digits of
their keys, from the most significant digit on, and each count says which digit the last wanted element has, and so
which elements are counted by the next one. Then its key is known. Of the elements that equal it, the first are taken.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from ocl_ir.graph import build as graph
from ocl_ir.layout import Layout
from ocl_ir.source_line import calling_line
from ocl_ir.types import I64, U32, U64
from ocl_runtime.arrays.array import Array, array_of
from ocl_runtime.arrays.axes import axis_of
from ocl_runtime.arrays.functions.counting import counted, whole
from ocl_runtime.arrays.functions.elementwise import astype, isnan, where
from ocl_runtime.arrays.functions.joining import concat
from ocl_runtime.arrays.functions.manipulation import flip, moveaxis, reshape
from ocl_runtime.arrays.functions.scans import cumulative_sum
from ocl_runtime.arrays.functions.sorting import argsort
from ocl_runtime.arrays.functions.statistics import sum as _sum
from ocl_runtime.arrays.functions.taking import take_along_axis
from ocl_runtime.arrays.meaning.dtypes import int64
from ocl_runtime.arrays.meaning.masks import rows
from ocl_runtime.arrays.operands import ArrayLike
from ocl_runtime.errors import ShapeError

_LONG = 1 << 16
"""Elements of a line that is not sorted for a few of them."""
_SHARE = 8
"""A line has so many times the elements that are wanted of it, if it is not sorted."""
_DIGIT_BITS = 11
"""Of a digit, for whose counts the local memory of a group has room several times."""
_ROW = 4096
"""Elements that are searched together for the last one that equals another."""


class TopK(NamedTuple):
    """Elements, and where they were."""

    values: Array
    indices: Array


def top_k(x: ArrayLike, k: int, /, *, axis: int = -1, mode: Literal["largest", "smallest"] = "largest") -> TopK:
    """The `k` greatest elements along an axis, or the least, and their places there in int64; the first comes first,
    and of equal ones that in front. NaN counts as greatest, -0.0 equals 0.0.

        values, indices = top_k(asarray([3, 9, 9, 1]), 3)       # [9, 9, 3], [1, 2, 0]

    A single long line is not sorted, but read a few times: once for each 11 bits of an element, and three times more.
    Others are sorted. Raises `ShapeError` for a `k` that is negative or more than there are elements, and for another
    mode, `IndexingError` for an axis that does not exist, `DTypeError` for a `k` that is no integer.
    """
    x = array_of("top_k", x)
    number, count = axis_of("top_k", axis, x.ndim), whole(f"top_k with k={k!r}", k)
    length = x.shape[number]
    if not 0 <= count <= length or mode not in {"largest", "smallest"}:
        raise ShapeError(
            f"top_k with k={count} and mode={mode!r} along axis {number} of shape {x.shape}",
            place=calling_line(),
            remedy=f'give a k from 0 to {length}, and mode="largest" or "smallest"',
        )
    largest = mode == "largest"
    if x.size == length and length >= _LONG and count * _SHARE <= length:
        line = reshape(x, -1)
        places = _selected(line, count, largest=largest) if count else argsort(line[:0])
        values = line[places]
        order = argsort(values, descending=largest)
        shape = (*x.shape[:number], count, *x.shape[number + 1 :])
        return TopK(reshape(values[order], shape), reshape(places[order], shape))
    lines = moveaxis(x, number, -1)
    places = argsort(lines, descending=largest)[..., :count]
    return TopK(*[moveaxis(part, -1, number) for part in (take_along_axis(lines, places), places)])


def _selected(line: Array, count: int, *, largest: bool) -> Array:
    """The places, in ascending order, of the elements of a line with the greatest keys, as many as there shall be; of
    equal ones the first."""
    key = _keys(line, largest=largest)
    last, left = _last_key(key, count)
    end = _place_of(key == last, left)
    place = Array(graph.iota(I64, Layout.contiguous(line.shape)), line._executor)
    wanted = (key > last) | ((key == last) & (place <= end))
    return Array(rows(wanted._node).packed(place._node, count), line._executor)


def _keys(line: Array, *, largest: bool) -> Array:
    """Unsigned integers of 32 or 64 bits in the order of the elements, NaN last, or the other way round."""
    wide = line._dtype.size > U32.size
    unsigned, bits = (U64, 64) if wide else (U32, 32)
    if line._dtype.is_float:
        number = (line if wide else astype(line, "f4")) + 0.0  # -0.0 is 0.0
        order = Array(graph.elementwise("float_order", graph.bitcast(number._node, unsigned)), line._executor)
        key = where(isnan(line), (1 << bits) - 1, order)
    else:
        key = astype(line, unsigned.public) ^ ((1 << bits - 1) if line._dtype.kind == "int" else 0)
    return key if largest else ~key


def _last_key(key: Array, count: int) -> tuple[Array, Array]:
    """Of so many elements with the greatest keys the least key, and how many of those are wanted that have it."""
    bits = 8 * key._dtype.size
    left = Array(graph.scalar(count, I64), key._executor)
    prefix: Array | None = None
    for end in range(bits, 0, -_DIGIT_BITS):
        shift = max(0, end - _DIGIT_BITS)
        digits = 1 << (end - shift)
        digit = (key >> shift) & (digits - 1) if shift else key & (digits - 1)
        if prefix is not None:
            digit = where((key >> end) == prefix, digit, digits)  # which is not counted
        upto = flip(cumulative_sum(flip(counted("top_k", digit, digits, None, None)), dtype=int64))
        found = _sum(astype(upto >= left, int64)) - 1
        behind = concat([upto, Array(graph.scalar(0, I64, (1,)), key._executor)])
        left = left - behind[found + 1]
        found = astype(found, key.dtype)
        prefix = found if prefix is None else (prefix << (end - shift)) | found
    assert prefix is not None
    return prefix, left


def _place_of(mask: Array, number: Array) -> Array:
    """Where a mask holds for that number of times, counted from 1."""
    size = mask.size
    length = size - size % _ROW
    counts = [_sum(reshape(mask[:length], (-1, _ROW)), axis=1), _sum(mask[length:], keepdims=True)]
    upto = cumulative_sum(concat(counts))
    row = _sum(astype(upto < number, int64))
    before = where(row > 0, upto[row - 1], 0)
    inside = Array(graph.iota(I64, Layout.contiguous((_ROW,))), mask._executor)
    place = row * _ROW + inside
    there = mask[place] & (place < size)
    return row * _ROW + _sum(astype(cumulative_sum(there, dtype=int64) < number - before, int64))
