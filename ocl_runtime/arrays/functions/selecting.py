"""The greatest or least elements along an axis, without sorting it where few are wanted.

Very few are among the elements of as many blocks of the line, those with the greatest maxima. So the line is read once,
and two short ones are sorted: the maxima, and the elements of those blocks.

More of one long line are found by radix selection: the elements are counted by digits of their keys, from the most
significant digit on, and each count says which digit the last wanted element has, and so which elements are counted by
the next one. Then its key is known. Of the elements that equal it, the first are taken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.layout import Layout
from ocl_ir.source_line import calling_line
from ocl_ir.types import I64, U32, U64
from ocl_runtime.arrays.array import Array, ordered_array_of
from ocl_runtime.arrays.axes import axis_of
from ocl_runtime.arrays.functions.counting import as_integer, index_counts
from ocl_runtime.arrays.functions.elementwise import astype, isnan, minimum, where
from ocl_runtime.arrays.functions.joining import concat
from ocl_runtime.arrays.functions.manipulation import broadcast_to, expand_dims, flip, moveaxis, reshape
from ocl_runtime.arrays.functions.scans import cumulative_sum
from ocl_runtime.arrays.functions.sorting import argsort, sort
from ocl_runtime.arrays.functions.statistics import max as _max
from ocl_runtime.arrays.functions.statistics import sum as _sum
from ocl_runtime.arrays.functions.taking import take_along_axis
from ocl_runtime.arrays.meaning.dtypes import int64, uint32
from ocl_runtime.arrays.meaning.masks import rows
from ocl_runtime.arrays.operands import ArrayLike
from ocl_runtime.arrays.reals import base_executor
from ocl_runtime.errors import ShapeError
from ocl_runtime.plan.cache.routines import key_of
from ocl_runtime.plan.tracing import tracer

if TYPE_CHECKING:
    from ocl_runtime.plan.executor import Executor

_LONG = 1 << 16
"""Elements of a line that is not sorted for a few of them."""
_SHARE = 8
"""A line has so many times the elements that are wanted of it, if it is not sorted."""
_HAS_BLOCKS = 1 << 13
"""Elements of a line that is not sorted for very few of them: shorter ones are sorted by a group in one launch."""
_BLOCK_SHARE = 64
"""A line has so many times the elements that are wanted of it, if they are looked for in blocks: what is sorted then is
a quarter of it or less."""
_LONG_BLOCK_SHARE = 4096
"""The same of a line that radix selection is for otherwise, which is faster than sorts of more than a 32nd of it."""
_DIGIT_BITS = 11
"""Of a digit, for whose counts the local memory of a group has room several times."""


class TopK(NamedTuple):
    """Elements, and where they were."""

    values: Array
    indices: Array


def top_k(x: ArrayLike, k: int, /, *, axis: int = -1, mode: Literal["largest", "smallest"] = "largest") -> TopK:
    """The `k` greatest elements along an axis, or the least, and their places there in int64; the first comes first,
    and of equal ones that in front. NaN counts as greatest, -0.0 equals 0.0.

        values, indices = top_k(asarray([3, 9, 9, 1]), 3)       # [9, 9, 3], [1, 2, 0]

    Of few elements of a line, a part of it is sorted. Of more, a single long line is read a few times instead: once for
    each 11 bits of an element, and twice more. A line that is in memory is given to the device at once. Raises
    `ShapeError` for a `k` that is negative or more than there are elements, and for another mode, `IndexingError` for
    an axis that does not exist, `DTypeError` for complex elements and a `k` that is no integer.
    """
    x = ordered_array_of("top_k", x)
    number, count = axis_of("top_k", axis, x.ndim), as_integer(f"top_k with k={k!r}", k)
    length = x.shape[number]
    if not 0 <= count <= length or mode not in {"largest", "smallest"}:
        raise ShapeError(
            f"top_k with k={count} and mode={mode!r} along axis {number} of shape {x.shape}",
            place=calling_line(),
            remedy=f'give a k from 0 to {length}, and mode="largest" or "smallest"',
        )
    largest = mode == "largest"
    if x.size == length and length >= _LONG and 0 < count * _SHARE <= length:
        select = _Selecting(count, largest, base_executor(x._executor))
        line = (x._node,)
        is_in_memory = tracer.get() is None and key_of(select, line) is not None
        shape = (*x.shape[:number], count, *x.shape[number + 1 :])
        found = x._evaluated(select, line) if is_in_memory else select(*line)
        return TopK(*[reshape(Array(part, x._executor), shape) for part in found])
    lines = moveaxis(x, number, -1)
    if length >= _HAS_BLOCKS and 0 < count * _BLOCK_SHARE <= length:
        places = _from_blocks(lines, count, largest=largest)
    else:
        places = argsort(lines, descending=largest)[..., :count]
    return TopK(*[moveaxis(part, -1, number) for part in (take_along_axis(lines, places), places)])


@dataclass(frozen=True)
class _Selecting:
    """A routine: of the elements of a node the `count` greatest or least, and their places. Where the node is in
    memory its plan is found without building the nodes, which takes longer than selecting."""

    count: int
    largest: bool
    executor: Executor = field(compare=False)

    def __call__(self, node: Node) -> tuple[Node, ...]:
        line = reshape(Array(node, self.executor), -1)
        if self.count * _LONG_BLOCK_SHARE <= line.size:
            places = _from_blocks(line, self.count, largest=self.largest)
            return line[places]._node, places._node
        places = _selected(line, self.count, largest=self.largest)
        values = line[places]
        order = argsort(values, descending=self.largest)
        return values[order]._node, places[order]._node


def _from_blocks(lines: Array, count: int, *, largest: bool) -> Array:
    """The places, along the last axis, of the elements with the greatest keys, the greatest first.

    An element outside of the `count` blocks with the greatest maxima is none of them, since these maxima come before
    it: of equal maxima the blocks in front count as greater, as of equal elements the first do.
    """
    *outer, length = lines.shape
    block = math.isqrt(length // count)
    number = length // block
    whole = number * block
    maxima = _max(reshape(_keys(lines[..., :whole], largest=largest), (*outer, number, block)), axis=-1)
    blocks = expand_dims(sort(argsort(maxima, descending=True)[..., :count]), axis=-1)
    inside, behind = (
        Array(graph.iota(I64, Layout((size,), (1,), start)), lines._executor)
        for size, start in ((block, 0), (length - whole, whole))
    )
    places = reshape(blocks * block + inside, (*outer, count * block))
    places = concat([places, broadcast_to(behind, (*outer, length - whole))], axis=-1)
    key = _keys(take_along_axis(lines, places), largest=largest)
    return take_along_axis(places, argsort(key, descending=True)[..., :count])


def _selected(line: Array, count: int, *, largest: bool) -> Array:
    """The places, in ascending order, of the elements of a line with the greatest keys, as many as there shall be; of
    equal ones the first. They are counted and packed by rows, as what a mask holds for is."""
    key = _keys(line, largest=largest)
    last, left = _last_key(key, count)
    cut = rows((key >= last)._node)
    number, length = cut.whole.shape
    greater, equal = (
        _sum(reshape(mask[: number * length], (number, length)), axis=1, dtype=uint32)
        for mask in (key > last, key == last)
    )
    upto = cumulative_sum(equal, dtype=int64)
    row = _sum(astype(upto < left, int64))
    before = where(row > 0, upto[row - 1], 0)
    inside = Array(graph.iota(I64, Layout.contiguous((length,))), line._executor)
    equals = (key == last)[row * length + inside] & (row * length + inside < line.size)
    end = row * length + _sum(astype(cumulative_sum(equals, dtype=int64) < left - before, int64))
    place = Array(graph.iota(I64, Layout.contiguous(line.shape)), line._executor)
    wanted = (key > last) | ((key == last) & (place <= end))
    counts = greater + astype(minimum(upto, left) - minimum(upto - equal, left), uint32)
    packing = rows(wanted._node)._replace(counts=counts._node, upto=cumulative_sum(counts, dtype=uint32)._node)
    return Array(packing.packed(place._node, count), line._executor)


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
        upto = flip(cumulative_sum(flip(index_counts("top_k", digit, digits, None, None)), dtype=int64))
        found = _sum(astype(upto >= left, int64)) - 1
        left = left - where(found + 1 < digits, upto[minimum(found + 1, digits - 1)], 0)
        found = astype(found, key.dtype)
        prefix = found if prefix is None else (prefix << (end - shift)) | found
    assert prefix is not None
    return prefix, left
