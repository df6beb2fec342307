"""Neighbours: leaves that read the same memory a few elements apart, as the terms of a stencil do.

A window has one pointer and one set of strides for all of them; each reads at constant steps along the axes from where
all count. So they share the address but for a constant, and what a work-item needs for several results, side by side
or one above the other, it reads once (register blocking; Datta et al., Stencil computation optimization and auto-tuning
on state-of-the-art multicore architectures, SC 2008).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ir.graph import Buffer
from ir.guards import example
from ir.layout import Layout
from ocl_runtime.plan.form import aligned, laid_out
from ocl_runtime.plan.fuse import Leaf, Value

_FARTHEST = 8
"""Steps between neighbours along an axis, at most: they are part of the code."""


@dataclass(frozen=True, slots=True)
class Window:
    """`shifts` has the steps of each leaf by its place among the layouts, none below 0, and `layout` what they reach
    together: it starts where they count from."""

    layout: Layout
    shifts: Mapping[int, tuple[int, ...]]


def neighbours(values: Sequence[Value], layouts: Sequence[Layout]) -> list[Window]:
    """The windows of several leaves; `layouts` has the (collapsed) layout of each leaf that is no scalar."""
    found = (_window(layouts, places, 1) for places in _alike(values, layouts))
    return [window for window in found if window is not None and _several(window)]


def wide_windows(values: Sequence[Value], layouts: Sequence[Layout], lanes: int) -> list[Window]:
    """Windows for all leaves in memory that have neighbours along the last axis, in which each row begins at a multiple
    of the lanes. None at all, if that cannot be, or if none of them has several leaves."""
    found = []
    for places in _alike(values, layouts):
        if layouts[places[0]].strides[-1] == 1:
            window = _window(layouts, places, lanes)
            if window is None or not aligned(window.layout, window.layout.ndim - 1, lanes):
                return []
            found.append(window)
    reached = {place for window in found for place in window.shifts}
    for place, (leaf, layout) in enumerate(zip(laid_out(values), layouts, strict=True)):
        if place not in reached and isinstance(leaf.source, Buffer) and layout.strides[-1] != 0:
            return []
    return found if any(map(_several, found)) else []


def _several(window: Window) -> bool:
    """Whether different elements are read for one result."""
    return len(set(window.shifts.values())) > 1


def _alike(values: Sequence[Value], layouts: Sequence[Layout]) -> list[list[int]]:
    """The places of leaves in memory, those together that are few steps apart; of none whose strides are negative."""
    found: list[tuple[Leaf, list[int]]] = []
    for place, (leaf, layout) in enumerate(zip(laid_out(values), layouts, strict=True)):
        if not isinstance(leaf.source, Buffer) or any(stride < 0 for stride in layout.strides):
            continue
        for first, places in found:
            if _same_memory(first, leaf) and _steps(layouts[places[0]], layout) is not None:
                places.append(place)
                break
        else:
            found.append((leaf, [place]))
    return [places for _, places in found]


def _same_memory(one: Leaf, other: Leaf) -> bool:
    first, second = one.source, other.source
    assert isinstance(first, Buffer)
    assert isinstance(second, Buffer)
    return first.storage is second.storage and first.dtype == second.dtype


def _window(layouts: Sequence[Layout], places: Sequence[int], lanes: int) -> Window | None:
    """The window of some leaves, from a multiple of the lanes on; None where it would reach beyond rows."""
    first = layouts[places[0]]
    found = [_steps(first, layouts[place]) for place in places]
    steps = [one for one in found if one is not None]
    lowest, highest = ([end(along) for along in zip(*steps, strict=True)] for end in (min, max))
    before = first.offset + _distance(lowest, first)
    within = example(before) % lanes
    if before < within or before % lanes != within:
        return None
    lowest[-1] -= within
    shape = tuple(n + high - low for n, low, high in zip(first.shape, lowest, highest, strict=True))
    reach = 0
    for axis in _inner_first(first):
        if first.strides[axis] < reach:
            return None
        reach = shape[axis] * first.strides[axis]
    shifts = [tuple(step - low for step, low in zip(one, lowest, strict=True)) for one in steps]
    return Window(Layout(shape, first.strides, before - within), dict(zip(places, shifts, strict=True)))


def _steps(first: Layout, other: Layout) -> tuple[int, ...] | None:
    """The steps along the axes that lead from one layout to the other, if there are few."""
    if first.strides != other.strides:
        return None
    away = other.offset - first.offset
    steps, left = [0] * first.ndim, example(away)
    for axis in reversed(_inner_first(first)):
        stride = example(first.strides[axis])
        steps[axis] = (2 * left + stride) // (2 * stride)
        left -= steps[axis] * stride
    few = left == 0 and all(abs(step) <= _FARTHEST for step in steps)
    return tuple(steps) if few and _distance(steps, first) == away else None


def _distance(steps: Sequence[int], layout: Layout) -> int:
    return sum(step * stride for step, stride in zip(steps, layout.strides, strict=True))


def _inner_first(layout: Layout) -> list[int]:
    """The axes along which there are other elements, the nearest first."""
    return sorted((a for a in range(layout.ndim) if layout.strides[a] != 0), key=lambda axis: layout.strides[axis])


def best_axis(found: Sequence[Window], alone: int, axes: Sequence[int], count: int) -> int:
    """The axis, the last of the best, along which a work-item should compute `count` results, for fewest reads; `alone`
    is the number of leaves in no window."""

    def reads(axis: int) -> int:
        elements = {
            (number, *shift[:axis], shift[axis] + step, *shift[axis + 1 :])
            for number, window in enumerate(found)
            for shift in window.shifts.values()
            for step in range(count)
        }
        return len(elements) + alone * count

    return min(reversed(axes), key=reads)
