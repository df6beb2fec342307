"""What the terms of a stencil share: a window has one pointer and one set of strides for a family of leaves; each reads
at constant steps along the axes from where all count.

So they share the address but for a constant, and what a work-item needs for several results, side by side or one above
the other, it reads once (register blocking; Datta et al., Stencil computation optimization and auto-tuning on
state-of-the-art multicore architectures, SC 2008).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ocl_ir.graph.build import Buffer
from ocl_ir.layout import Layout
from ocl_runtime.plan.fusion.neighbours import Family, families
from ocl_runtime.plan.fusion.values import Value, laid_out
from ocl_runtime.plan.kernels.form import aligned


@dataclass(frozen=True, slots=True)
class Window:
    """`shifts` has the steps of each leaf by its place among the layouts, none below 0, and `layout` what they reach
    together: it starts where they count from. `lanes`: its rows begin at multiples of so many elements."""

    layout: Layout
    shifts: Mapping[int, tuple[int, ...]]
    lanes: int = 1


def windows(values: Sequence[Value], layouts: Sequence[Layout]) -> list[Window]:
    """The windows of several leaves; `layouts` has the (collapsed) layout of each leaf that is no scalar."""
    all_windows = (_window(family, indices, 1) for family, indices in _families(values, layouts) if family.several)
    return [window for window in all_windows if window is not None]


def wide_windows(values: Sequence[Value], layouts: Sequence[Layout], lanes: int) -> list[Window]:
    """Windows in which each row begins at a multiple of the lanes, of all leaves for which there can be some. None at
    all, if none of them has several leaves, or if more are left that have neighbours along the last axis."""
    kept, several, left = [], 0, 0
    in_rows = [(family, indices) for family, indices in _families(values, layouts) if family.first.strides[-1] == 1]
    if any(family.several for family, _ in in_rows):  # else where each begins is nobody's business, and no guard
        for family, indices in in_rows:
            window = _window(family, indices, lanes)
            if window is not None and aligned(window.layout, window.layout.ndim - 1, lanes):
                kept.append(window)
                several += family.several
            else:
                left += len(set(family.steps))
    return kept if several and left <= several else []


def steps_apart(values: Sequence[Value], layouts: Sequence[Layout]) -> set[int]:
    """The axes along which leaves of one window are apart."""
    return {
        axis
        for window in windows(values, layouts)
        for shift in window.shifts.values()
        for axis, step in enumerate(shift)
        if step
    }


def _families(values: Sequence[Value], layouts: Sequence[Layout]) -> list[tuple[Family, list[int]]]:
    """The families of leaves in memory, by their places among the layouts."""
    leaves = enumerate(zip(laid_out(values), layouts, strict=True))
    indices, reads = [], []
    for index, (leaf, layout) in leaves:
        if isinstance(leaf.source, Buffer):
            indices.append(index)
            reads.append((leaf.source, layout))
    return [(family, [indices[number] for number in numbers]) for family, numbers in families(reads)]


def _window(family: Family, indices: Sequence[int], lanes: int) -> Window | None:
    reached = family.reached(lanes)
    if reached is None:
        return None
    layout, first = reached
    shifts = [tuple(map(sum, zip(steps, first, strict=True))) for steps in family.steps]
    return Window(layout, dict(zip(indices, shifts, strict=True)), lanes)


def best_axis(windows: Sequence[Window], alone: int, axes: Sequence[int], count: int) -> int:
    """The axis, the last of the best, along which a work-item should compute `count` results, for fewest reads; `alone`
    is the number of leaves in no window."""

    def reads(axis: int) -> int:
        elements = {
            (number, *shift[:axis], shift[axis] + step, *shift[axis + 1 :])
            for number, window in enumerate(windows)
            for shift in window.shifts.values()
            for step in range(count)
        }
        return len(elements) + alone * count

    return min(reversed(axes), key=reads)
