"""Bundles to be: groups that are to share a kernel, over its index space.

Groups are tried together again and again, so what is known of two drafts is not found out anew for both together.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ocl_ir.graph.build import Node, Scalar
from ocl_ir.indices import Shape
from ocl_ir.kernel.work import length
from ocl_ir.layout import Layout
from ocl_runtime.plan.fusion.bundles import Bundle
from ocl_runtime.plan.fusion.groups import Group
from ocl_runtime.plan.fusion.layouts import Layouts
from ocl_runtime.plan.fusion.reduction_order import Order
from ocl_runtime.plan.fusion.values import Leaf, Lookup, Operation, dtype_of


@dataclass(slots=True)
class Draft:
    """A bundle to be. Groups are over the whole index space, or (`rows`, by their roots) over its kept axes.

    `roots` are what the groups compute, `computed` what they read that groups compute, `scalars` the numbers that they
    read. `looks_up`: some take elements at computed places.
    """

    groups: list[Group]
    shape: Shape
    axes: tuple[int, ...] | None
    order: Order | None
    layouts: Layouts
    roots: frozenset[Node]
    computed: frozenset[Node]
    scalars: frozenset[Node]
    operations: int
    looks_up: bool
    rows: frozenset[Node] = frozenset()
    reads: frozenset[int] = frozenset()
    """The drafts whose results it reads, by number."""
    bundle: Bundle | None = field(default=None, init=False)
    """What it is as a bundle, once somebody has tried it."""
    _memory: frozenset[tuple[Node, Layout]] | None = field(default=None, init=False)

    @classmethod
    def of(
        cls, group: Group, shape: Shape, axes: tuple[int, ...] | None, order: Order | None, layouts: Layouts
    ) -> Draft:
        """Of one group."""
        computed = frozenset([leaf.source for leaf in group.leaves if leaf.computed])
        scalars = frozenset([leaf.source for leaf in group.leaves if type(leaf.source) is Scalar])
        operations = sum([length(value.op) for value in group.values if type(value) is Operation])
        looks_up = Lookup in map(type, group.values)
        roots = frozenset((group.root,))
        return cls([group], shape, axes, order, layouts, roots, computed, scalars, operations, looks_up)

    @property
    def is_complex(self) -> bool:
        """Whether it computes with complex numbers."""
        return any(dtype_of(value).is_complex for group in self.groups for value in group.values)

    @property
    def memory(self) -> frozenset[tuple[Node, Layout]]:
        """What the groups read, over the index space, but for numbers."""
        known = self._memory
        if known is None:
            known = self._memory = frozenset(
                [
                    (value.source, self.layouts.placed(value.layout, self.shape, skipped))
                    for group in self.groups
                    for skipped in [self._skipped(group.root in self.rows)]
                    for value in group.values
                    if type(value) is Leaf and type(value.source) is not Scalar
                ]
            )
        return known

    def joined(self, other: Draft) -> Draft:
        """With the groups of another one over the same index space."""
        made = Draft(
            [*self.groups, *other.groups],
            self.shape,
            self.axes,
            self.order,
            self.layouts,
            self.roots | other.roots,
            self.computed | other.computed,
            self.scalars | other.scalars,
            self.operations + other.operations,
            self.looks_up or other.looks_up,
            self.rows | other.rows,
        )
        if self.axes is None and other.axes is None and self.shape == other.shape:
            made._memory = self.memory | other.memory
        return made

    @property
    def kept(self) -> Shape:
        """The lengths of the axes that are not reduced."""
        return self.layouts.kept(self.shape, self.axes or ())

    def over(self, group: Group, leaf: Leaf) -> Leaf:
        """A group's leaf over the index space; where a number is read matters to reductions only."""
        if self.axes is None and type(leaf.source) is Scalar:
            return leaf
        return self.layouts.leaf(leaf, self.shape, self._skipped(group.root in self.rows))

    def stored(self, group: Group) -> Layout:
        """Where the result of a group lies, over the index space."""
        row = group.reduce is not None or group.root in self.rows
        whole = self.layouts.contiguous(self.kept if row else self.shape)
        return self.layouts.placed(whole, self.shape, self._skipped(row))

    def _skipped(self, row: bool) -> tuple[int, ...]:
        return (self.axes or ()) if row else ()
