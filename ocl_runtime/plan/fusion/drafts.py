"""Bundles to be: groups that are to share a kernel, over its index space.

Groups are tried together again and again, so what is known of two drafts is not found out anew for both together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from ocl_ir.graph.build import Node, Scalar
from ocl_ir.indices import Shape
from ocl_ir.layout import Layout
from ocl_runtime.plan.fusion.groups import Group
from ocl_runtime.plan.fusion.layouts import Layouts
from ocl_runtime.plan.fusion.reduction_order import Order
from ocl_runtime.plan.fusion.values import Leaf, Lookup, Operation


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

    @cached_property
    def scalars(self) -> frozenset[Node]:
        """The numbers that the groups read."""
        sources = [leaf.source for group in self.groups for leaf in group.leaves]
        return frozenset([source for source in sources if isinstance(source, Scalar)])

    @cached_property
    def operations(self) -> int:
        """How many operations the groups have."""
        return sum(isinstance(value, Operation) for group in self.groups for value in group.values)

    @cached_property
    def looks_up(self) -> bool:
        """Whether some group takes elements at computed places."""
        return any(isinstance(value, Lookup) for group in self.groups for value in group.values)

    def joined(self, other: Draft) -> Draft:
        """With the groups of another one over the same index space."""
        made = Draft(
            [*self.groups, *other.groups], self.shape, self.axes, self.order, self.layouts, self.rows | other.rows
        )
        known: dict[str, object] = made.__dict__
        known["roots"] = self.roots | other.roots
        known["computed"] = self.computed | other.computed
        known["scalars"] = self.scalars | other.scalars
        known["operations"] = self.operations + other.operations
        known["looks_up"] = self.looks_up or other.looks_up
        if self.axes is None and other.axes is None and self.shape == other.shape:
            known["memory"] = self.memory | other.memory
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
