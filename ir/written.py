"""Which bytes of a buffer have been computed, so that a value that nobody computed is found before anything runs.

What was written without gaps is kept as ranges of bytes. Once something was written with gaps, a mask with a truth
value for each byte says exactly which, for buffers of up to `EXACT` bytes. In larger ones what is written with gaps
counts as the range that it spans: there, an element between two that were written may go unnoticed, and nothing else.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from ir.layout import Layout

EXACT = 2**22
"""The bytes of the largest buffer whose elements are told apart."""
_ONES = {size: (256**size - 1) // 255 for size in (1, 2, 4, 8)}
"""An element all of whose bytes have been computed, as it stands in a mask."""
_MOST_SHOWN = 3


class Written:
    """What has been written of one buffer. Accesses are given in elements, of the buffer, and their size in bytes."""

    __slots__ = ("_known", "_mask", "_nbytes", "_ranges")

    def __init__(self, nbytes: int, *, whole: bool = False) -> None:
        self._nbytes = nbytes
        self._ranges: list[tuple[int, int]] = [(0, nbytes)] if whole else []
        """Without gaps; what is in them need not be in the mask."""
        self._mask: NDArray[np.uint8] | None = None
        self._known: set[tuple[Layout, int]] = set()
        """With gaps, and in the mask: nothing is unwritten again."""

    def add(self, layout: Layout, itemsize: int) -> None:
        """Elements are written."""
        low, high = _bytes(layout, itemsize)
        if low == high or self._spans(low, high):
            return
        if layout.is_dense or self._nbytes > EXACT:
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
            return f"some of bytes {low} to {high} of its memory"
        there = self._elements(layout, itemsize) == _ONES[itemsize]
        if not there.all():
            return _places(~there)
        if layout.is_dense:
            self._ranges = _joined(self._ranges, low, high)
        self._known.add((layout, itemsize))
        return ""

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


def _places(missing: NDArray[np.bool_]) -> str:
    """Indices as Python writes them: slices, where these say it all, or the first few."""
    if missing.all():
        return "none of it was written"
    places = np.argwhere(missing)
    axes = [np.unique(column) for column in places.T]
    slices = [_slice(axis, length) for axis, length in zip(axes, missing.shape, strict=True)]
    count = f"{len(places)} of {missing.size} elements"
    if math.prod(map(len, axes)) == len(places) and all(slices):
        return f"{count}: [{', '.join(slices)}]"
    shown = ", ".join(str(place.tolist()) for place in places[:_MOST_SHOWN])
    return f"{count}: {shown}{', …' if len(places) > _MOST_SHOWN else ''}"


def _slice(places: NDArray[np.intp], length: int) -> str:
    """Sorted indices as one index; nothing where they are none."""
    if len(places) == length:
        return ":"
    if len(places) == 1:
        return str(places[0])
    step = int(places[1] - places[0])
    if (np.diff(places) != step).any():
        return ""
    return f"{places[0]}:{places[-1] + 1}" + (f":{step}" if step > 1 else "")
