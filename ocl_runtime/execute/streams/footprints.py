"""Which bytes the elements of a layout are."""

from __future__ import annotations

from ocl_ir.layout import Layout


def footprint_of(layout: Layout, itemsize: int, start: int) -> tuple[int, int, Layout | None]:
    """The bytes `low … high` of elements in a buffer from byte `start` on, and which of them where there are gaps."""
    low, high = layout.range()
    if layout.is_dense or _gapless(layout, high - low):
        return start + low * itemsize, start + high * itemsize, None
    in_bytes = Layout(
        (*layout.shape, itemsize),
        (*(stride * itemsize for stride in layout.strides), 1),
        start + layout.offset * itemsize,
    )
    return start + low * itemsize, start + high * itemsize, in_bytes


def _gapless(layout: Layout, span: int) -> bool:
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
