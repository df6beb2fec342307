"""Bundles to be: groups that are to share a kernel, over its index space.

Sizes may be formulas, with which layouts take long to work out. So each is worked out once, however often groups are
tried together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from ocl_ir.graph.build import Node, Scalar
from ocl_ir.indices import Shape
from ocl_ir.layout import Layout
from ocl_runtime.plan.fusion.groups import Group
from ocl_runtime.plan.fusion.reduction_order import Order
from ocl_runtime.plan.fusion.values import Leaf


class Layouts:
    """Layouts of groups over the index spaces of drafts."""

    def __init__(self) -> None:
        self._steps: dict[int, tuple[Layout, list[int]]] = {}
        """By the identity of a layout, which is held: its strides along axes that are longer than 1."""
        self._placed: dict[tuple[int, int, tuple[int, ...]], tuple[Layout, Shape, Layout]] = {}
        self._kept: dict[tuple[int, tuple[int, ...]], tuple[Shape, Shape]] = {}
        self._whole: dict[int, tuple[Shape, Layout]] = {}
        self._leaves: dict[tuple[int, int, tuple[int, ...]], tuple[Leaf, Shape, Leaf]] = {}

    def kept(self, shape: Shape, axes: tuple[int, ...]) -> Shape:
        """The lengths of the other axes of a shape."""
        known = self._kept.get((id(shape), axes))
        if known is None:
            kept = tuple([length for axis, length in enumerate(shape) if axis not in axes])
            known = self._kept[id(shape), axes] = shape, kept
        return known[1]

    def contiguous(self, shape: Shape) -> Layout:
        """Elements in the order of a shape, without gaps."""
        known = self._whole.get(id(shape))
        if known is None:
            known = self._whole[id(shape)] = shape, Layout.contiguous(shape)
        return known[1]

    def placed(self, layout: Layout, shape: Shape, skipped: tuple[int, ...]) -> Layout:
        """A group's layout over an index space, along which some axes are skipped."""
        key = id(layout), id(shape), skipped
        known = self._placed.get(key)
        if known is None:
            steps = iter(self._long(layout))
            strides = tuple([0 if axis in skipped else next(steps) for axis in range(len(shape))])
            known = self._placed[key] = layout, shape, Layout(shape, strides, layout.offset)
        return known[2]

    def _long(self, layout: Layout) -> list[int]:
        known = self._steps.get(id(layout))
        if known is None:
            steps = [stride for length, stride in zip(layout.shape, layout.strides, strict=True) if length != 1]
            known = self._steps[id(layout)] = layout, steps
        return known[1]

    def leaf(self, leaf: Leaf, shape: Shape, skipped: tuple[int, ...]) -> Leaf:
        """A group's leaf over an index space."""
        key = id(leaf), id(shape), skipped
        known = self._leaves.get(key)
        if known is None:
            if isinstance(leaf.source, Scalar):
                layout = Layout(shape, (0,) * len(shape))
            else:
                layout = self.placed(leaf.layout, shape, skipped)
            known = self._leaves[key] = leaf, shape, replace(leaf, layout=layout)
        return known[2]


@dataclass
class Draft:
    """A bundle to be. Groups are over the whole index space, or (`rows`, by their roots) over its kept axes."""

    groups: list[Group]
    shape: Shape
    axes: tuple[int, ...] | None
    order: Order | None
    layouts: Layouts
    rows: set[Node] = field(default_factory=set)
    reads: set[int] = field(default_factory=set)
    """The drafts whose results it reads, by number."""

    @cached_property
    def roots(self) -> frozenset[Node]:
        """What the groups compute."""
        return frozenset([group.root for group in self.groups])

    @cached_property
    def computed(self) -> frozenset[Node]:
        """What the groups read that groups compute."""
        return frozenset([leaf.source for group in self.groups for leaf in group.leaves if leaf.computed])

    @cached_property
    def memory(self) -> frozenset[tuple[Node, Layout]]:
        """What the groups read, over the index space, but for numbers."""
        return frozenset(
            [(leaf.source, leaf.layout) for _, leaf in self.leaves() if not isinstance(leaf.source, Scalar)]
        )

    def joined(self, other: Draft) -> Draft:
        """With the groups of another one over the same index space. What is known of both is not found out again."""
        made = replace(self, groups=[*self.groups, *other.groups], rows=self.rows | other.rows)
        made.__dict__["roots"] = self.roots | other.roots
        made.__dict__["computed"] = self.computed | other.computed
        if self.axes is None and other.axes is None and self.shape == other.shape:
            made.__dict__["memory"] = self.memory | other.memory
        return made

    @property
    def kept(self) -> Shape:
        """The lengths of the axes that are not reduced."""
        return self.layouts.kept(self.shape, self.axes or ())

    def leaves(self) -> Iterator[tuple[Group, Leaf]]:
        """What the groups read, over the index space."""
        for group in self.groups:
            for value in group.values:
                if isinstance(value, Leaf):
                    yield group, self.over(group, value)

    def over(self, group: Group, leaf: Leaf) -> Leaf:
        """A group's leaf over the index space."""
        return self.layouts.leaf(leaf, self.shape, self._skipped(group.root in self.rows))

    def stored(self, group: Group) -> Layout:
        """Where the result of a group lies, over the index space."""
        row = group.reduce is not None or group.root in self.rows
        whole = self.layouts.contiguous(self.kept if row else self.shape)
        return self.layouts.placed(whole, self.shape, self._skipped(row))

    def _skipped(self, row: bool) -> tuple[int, ...]:
        return (self.axes or ()) if row else ()
