"""Which bytes of a buffer have been computed, so that a value that nobody computed is found before anything runs.

What was written without gaps is kept as ranges of bytes. Once something was written with gaps, a mask says exactly
which: with a truth value for each byte in buffers of up to `EXACT` bytes, in larger ones for each block of as many
bytes as divide all that is done to it. Columns and tiles of large matrices are such blocks. Where even these are more
than `EXACT`, what is written with gaps counts as the range that it spans, and what is read must lie in such ranges:
there, an element between two that were written may go unnoticed, and one that is read across others that were not is
refused.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from ocl_ir.layout import Layout

EXACT = 2**22
"""The bytes of the largest buffer whose bytes are told apart, and the blocks of a larger one."""
_ONES = {size: (256**size - 1) // 255 for size in (1, 2, 4, 8)}
"""An element all of whose bytes have been computed, as it stands in a mask."""
_MOST_SHOWN = 3


class Written:
    """What has been written of one buffer. Accesses are given in elements, of the buffer, and their size in bytes."""

    __slots__ = ("_blocks", "_known", "_mask", "_nbytes", "_ranges", "_spanned")

    def __init__(self, nbytes: int, *, whole: bool = False) -> None:
        self._nbytes = nbytes
        self._ranges: list[tuple[int, int]] = [(0, nbytes)] if whole else []
        """Without gaps; what is in them need not be in the mask."""
        self._mask: NDArray[np.uint8] | None = None
        self._known: set[tuple[Layout, int]] = set()
        """With gaps, and in the mask: nothing is unwritten again."""
        self._blocks: _Blocks | None = None
        """The mask of a large buffer."""
        self._spanned = self._ranges[:]
        """Of a large buffer: what would be ranges if nothing had gaps."""

    def add(self, layout: Layout, itemsize: int) -> None:
        """Elements are written."""
        low, high = _bytes(layout, itemsize)
        if low == high or self._spans(low, high):
            return
        if self._nbytes > EXACT:
            self._add_large(layout, itemsize)
        elif layout.is_dense:
            self._ranges = _joined(self._ranges, low, high)
            if self._mask is not None:
                self._mask[low:high] = 1
        elif (layout, itemsize) not in self._known:
            self._elements(layout, itemsize)[...] = _ONES[itemsize]
            self._known.add((layout, itemsize))

    def missing(self, layout: Layout, itemsize: int) -> str:
        """Which of the elements that are read were never written, in words; nothing where all were."""
        low, high = _bytes(layout, itemsize)
        if low == high or self._spans(low, high) or (layout, itemsize) in self._known:
            return ""
        if self._nbytes > EXACT:
            if not self._all_large(layout, itemsize):
                return f"some of bytes {low} to {high} of its memory"
        else:
            there = self._elements(layout, itemsize) == _ONES[itemsize]
            if not there.all():
                return _indices(~there)
        if layout.is_dense:
            self._ranges = _joined(self._ranges, low, high)
        self._known.add((layout, itemsize))
        return ""

    def _add_large(self, layout: Layout, itemsize: int) -> None:
        low, high = _bytes(layout, itemsize)
        self._spanned = _joined(self._spanned, low, high)
        if layout.is_dense:
            self._ranges = _joined(self._ranges, low, high)
        if (self._blocks is not None or not layout.is_dense) and (layout, itemsize) not in self._known:
            blocks = self._in_blocks(layout, itemsize)
            if blocks is not None:
                blocks[...] = 1
                self._known.add((layout, itemsize))

    def _all_large(self, layout: Layout, itemsize: int) -> bool:
        blocks = self._in_blocks(layout, itemsize)
        if blocks is not None:
            return bool(blocks.all())
        low, high = _bytes(layout, itemsize)
        return any(first <= low and high <= last for first, last in self._spanned)

    def _in_blocks(self, layout: Layout, itemsize: int) -> NDArray[np.uint8] | None:
        """The blocks of a layout in the mask of a large buffer; None where they are too many."""
        if self._blocks is None:
            self._blocks = _Blocks(self._nbytes)
            for low, high in self._ranges:
                blocks = self._blocks.of(Layout((high - low,), (1,), low), 1)
                if blocks is not None:
                    blocks[...] = 1
        return self._blocks.of(layout, itemsize)

    def _spans(self, low: int, high: int) -> bool:
        return any(first <= low and high <= last for first, last in self._ranges)

    def _elements(self, layout: Layout, itemsize: int) -> NDArray[Any]:
        """The elements of a layout in the mask, which is made now if need be."""
        if self._mask is None:
            self._mask = np.zeros(-(-self._nbytes // 8) * 8, np.uint8)
            for low, high in self._ranges:
                self._mask[low:high] = 1
        strides = tuple(stride * itemsize for stride in layout.strides)
        return as_strided(self._mask.view(f"u{itemsize}")[layout.offset :], layout.shape, strides)


class _Blocks:
    """A truth value for each block of a buffer. Blocks are cut smaller as accesses need it."""

    __slots__ = ("_mask", "_size")

    def __init__(self, nbytes: int) -> None:
        self._size = nbytes
        self._mask: NDArray[np.uint8] | None = np.zeros(1, np.uint8)

    def of(self, layout: Layout, itemsize: int) -> NDArray[np.uint8] | None:
        """The blocks of a layout (once or several times each); None where there are, or ever were, too many."""
        low, _ = _bytes(layout, itemsize)
        axes = zip(layout.shape, layout.strides, strict=True)
        outer: list[tuple[int, int]] = []
        run = itemsize
        for step, length in sorted((abs(stride) * itemsize, length) for length, stride in axes if length > 1):
            if outer or step > run:
                outer.append((step, length))
            else:  # the next begins within the one before, or just behind it
                run += step * (length - 1)
        size = math.gcd(self._size, low, run, *(step for step, _ in outer))
        if self._mask is not None and size < self._size:
            count = len(self._mask) * (self._size // size)
            self._mask = np.repeat(self._mask, self._size // size) if count <= EXACT else None
            self._size = size
        if self._mask is None:
            return None
        shape = (*(length for _, length in outer), run // self._size)
        return as_strided(self._mask[low // self._size :], shape, (*(step // self._size for step, _ in outer), 1))


def _bytes(layout: Layout, itemsize: int) -> tuple[int, int]:
    low, high = layout.range()
    return low * itemsize, high * itemsize


def _joined(ranges: list[tuple[int, int]], low: int, high: int) -> list[tuple[int, int]]:
    """Ranges of bytes without overlaps, with one more."""
    kept = []
    for first, last in ranges:
        if last < low or first > high:
            kept.append((first, last))
        else:
            low, high = min(low, first), max(high, last)
    return [*kept, (low, high)]


def _indices(missing: NDArray[np.bool_]) -> str:
    """Indices as Python writes them: slices, where these say it all, or the first few."""
    if missing.all():
        return "none of it was written"
    indices = np.argwhere(missing)
    axes = [np.unique(column) for column in indices.T]
    slices = [_slice(axis, length) for axis, length in zip(axes, missing.shape, strict=True)]
    count = f"{len(indices)} of {missing.size} elements"
    if math.prod(map(len, axes)) == len(indices) and all(slices):
        return f"{count}: [{', '.join(slices)}]"
    shown = ", ".join(str(index.tolist()) for index in indices[:_MOST_SHOWN])
    return f"{count}: {shown}{', …' if len(indices) > _MOST_SHOWN else ''}"


def _slice(indices: NDArray[np.intp], length: int) -> str:
    """Sorted indices as one index; nothing where they are none."""
    if len(indices) == length:
        return ":"
    if len(indices) == 1:
        return str(indices[0])
    step = int(indices[1] - indices[0])
    if (np.diff(indices) != step).any():
        return ""
    return f"{indices[0]}:{indices[-1] + 1}" + (f":{step}" if step > 1 else "")
