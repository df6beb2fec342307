"""Which bytes the elements of a layout are."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ocl_ir.kernel.accesses import WRITE
from ocl_ir.layout import Layout
from ocl_runtime.execute.streams.hazards import Touch

_NEARLY = 8
"""Windows leave no more of their memory than one byte of so many, at both ends together."""


def footprint_of(layout: Layout, itemsize: int, start: int) -> tuple[int, int, Layout | None]:
    """The bytes `low … high` of elements in a buffer from byte `start` on, and which of them where there are gaps."""
    low, high = layout.range()
    if layout.is_dense or is_gapless(layout, high - low):
        return start + low * itemsize, start + high * itemsize, None
    in_bytes = Layout(
        (*layout.shape, itemsize),
        (*(stride * itemsize for stride in layout.strides), 1),
        start + layout.offset * itemsize,
    )
    return start + low * itemsize, start + high * itemsize, in_bytes


def is_gapless(layout: Layout, span: int) -> bool:
    """Whether the elements, in whichever order and perhaps repeated, fill the range that they span."""
    axes = [
        (abs(stride), length)
        for length, stride in zip(layout.shape, layout.strides, strict=True)
        if length > 1 and stride
    ]
    filled = 1
    for stride, length in sorted(axes):
        if stride > filled:
            return False
        filled += stride * (length - 1)
    return filled == span


def windows_of(parts: Sequence[Touch]) -> list[list[Touch]]:
    """Reads of parts of one memory that are nearly all of it together, as those of a stencil: to note one read of the
    whole takes a tenth of the time. It orders more than is needed where somebody writes what little they leave."""
    of_memory: dict[int, list[Touch]] = {}
    for touch in parts:
        if not touch.mode & WRITE:
            of_memory.setdefault(id(touch.ranges), []).append(touch)
    return [touches for touches in of_memory.values() if len(touches) > 1 and _is_nearly_all(touches)]


def _is_nearly_all(touches: Sequence[Touch]) -> bool:
    ranges = touches[0].ranges
    span = max([touch.high for touch in touches]) - min([touch.low for touch in touches])
    gaps = [touch.footprint for touch in touches]
    sizes = [
        math.prod(footprint.shape) if footprint else touch.high - touch.low
        for footprint, touch in zip(gaps, touches, strict=True)
    ]
    return sum(sizes) >= span and _NEARLY * (ranges.high - ranges.low - span) <= ranges.high - ranges.low
