"""Movements between the index space of a group and the nodes below it."""

from __future__ import annotations

from ocl_ir.graph.build import Movement, Step
from ocl_ir.indices import Shape, Span
from ocl_ir.layout import Layout
from ocl_runtime.plan.fusion.canonical import axes_in_memory


class Chain:
    """The movements between a group's index space and a node, the one next to the node first."""

    __slots__ = ("outer", "step")

    def __init__(self, step: Step, outer: Chain | None) -> None:
        self.step = step
        self.outer = outer

    def undoes(self, reshaped: Movement) -> bool:
        """Whether its next movement gives back the shape that something had before it was reshaped."""
        return self.step.kind == "reshape" and self.step.value == reshaped.arg.shape

    def apply(self, layout: Layout) -> Layout:
        """The layout that the elements of a node's layout have in the index space."""
        link: Chain | None = self
        while link is not None:
            moved = link.step.apply(layout)
            assert moved is not None, "no leaf is reached through a reshape that would have to copy it"
            layout, link = moved, link.outer
        return layout


def in_memory(layout: Layout) -> tuple[Shape, Chain]:
    """The index space of the elements of a canonical layout, in the order in which they lie in memory, and the chain
    that leads there: of axes that repeat elements, and of those of length 1, the first place."""
    kept = [axis for axis in axes_in_memory(layout) if layout.strides[axis] != 0]
    items = tuple(Span(0, 1, length) if axis in kept else 0 for axis, length in enumerate(layout.shape))
    order = tuple(sorted(kept).index(axis) for axis in kept)
    picked = Step("index", items)
    return tuple(layout.shape[axis] for axis in kept), Chain(picked, Chain(Step("permute", order), None))
