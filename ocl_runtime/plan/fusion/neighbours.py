"""Which reads of one memory may share a pointer: those that are a few steps apart along the axes, as the terms of a
stencil are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ocl_ir.graph.build import Buffer, Node
from ocl_ir.guards import example
from ocl_ir.layout import Layout

_FARTHEST = 8
"""Steps between neighbours along an axis, at most: they are part of the code."""


@dataclass(frozen=True, slots=True)
class Family:
    """Reads of a node's elements as layouts say: the steps that lead from the first to each."""

    source: Node
    first: Layout
    steps: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, source: Node, layout: Layout) -> Family:
        """One read."""
        return cls(source, layout, ((0,) * layout.ndim,))

    def joined(self, source: Node, layout: Layout) -> Family | None:
        """With another read, unless that is elsewhere."""
        steps = _steps(self.first, layout) if _same_memory(self.source, source) else None
        if steps is None:
            return None
        made = replace(self, steps=(*self.steps, steps))
        return made if made.reached() is not None else None

    @property
    def several(self) -> bool:
        """Whether different elements are read for one result."""
        return len(set(self.steps)) > 1

    def reached(self, lanes: int = 1) -> tuple[Layout, tuple[int, ...]] | None:
        """What is reached together, from a multiple of the lanes on, and the steps from there to the first; None where
        that is beyond rows, or before the memory."""
        first = self.first
        lowest, highest = ([end(along) for along in zip(*self.steps, strict=True)] for end in (min, max))
        before = first.offset + _distance(lowest, first)
        within = example(before) % lanes
        if before < within or before % lanes != within:
            return None
        if lanes > 1:
            lowest[-1] -= within
        shape = tuple(n + high - low for n, low, high in zip(first.shape, lowest, highest, strict=True))
        reach = 0
        for axis in _inner_first(first):
            if first.strides[axis] < reach:
                return None
            reach = shape[axis] * first.strides[axis]
        return Layout(shape, first.strides, before - within), tuple(-low for low in lowest)


def families(
    reads: Iterable[tuple[Node, Layout]], before: Sequence[tuple[Family, list[int]]] = ()
) -> list[tuple[Family, list[int]]]:
    """The reads of memory, those together that may share a pointer, with their numbers; `before` are the families of
    the reads that come before these."""
    known = [*before]
    for number, (source, layout) in enumerate(reads, sum(len(numbers) for _, numbers in before)):
        for index, (family, numbers) in enumerate(known):
            joined = family.joined(source, layout)
            if joined is not None:
                known[index] = joined, [*numbers, number]
                break
        else:
            known.append((Family.of(source, layout), [number]))
    return known


def _same_memory(node: Node, other: Node) -> bool:
    if isinstance(node, Buffer) and isinstance(other, Buffer):
        return node.storage is other.storage and node.dtype == other.dtype
    return node is other


def _steps(first: Layout, other: Layout) -> tuple[int, ...] | None:
    """The steps along the axes that lead from one layout to the other, if there are few."""
    if first.strides != other.strides or any(stride < 0 for stride in first.strides):
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
