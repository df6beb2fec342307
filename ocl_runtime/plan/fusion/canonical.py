"""How the elements of a node lie in memory, or would if it was computed by itself: its canonical layout.

What operations, reductions and writes compute lies in row-major order. A view keeps the order in memory of what it
shows, and takes no more memory where it shows an element twice. So the canonical layout of a node is the same whether
its operands have been computed or not, and what depends on nothing else, as the order in which a sum adds, is the same
in fused and unfused kernels.
"""

from __future__ import annotations

from typing import cast

from ocl_ir.graph.build import Buffer, Iota, Movement, Node, Scalar
from ocl_ir.indices import Shape
from ocl_ir.layout import Layout


def canonical(node: Node) -> Layout:
    """The layout of a node's elements, without gaps; a view that could only be a copy lies in row-major order."""
    steps = []
    while isinstance(node, Movement):
        steps.append(node.step)
        node = node.arg
    if isinstance(node, Buffer | Iota):
        layout = node.layout.packed()
    elif isinstance(node, Scalar):
        layout = Layout(node.shape, (0,) * len(node.shape))  # sums take its axes in the order of row-major ones
    else:
        layout = Layout.contiguous(node.shape)
    for step in reversed(steps):
        moved = step.apply(layout)
        layout = Layout.contiguous(cast("Shape", step.value)) if moved is None else moved.packed()
    return layout


def copies(node: Movement) -> bool:
    """Whether a movement is no view of the leaves below it."""
    return node.step.kind == "reshape" and not node.arg.flat


def stays(node: Movement) -> bool:
    """Whether a movement is a view of its operand once that has been computed."""
    return node.step.apply(canonical(node.arg)) is not None


def axes_in_memory(layout: Layout) -> list[int]:
    """The axes of a canonical layout longer than 1: those that repeat elements, then the others, outermost first."""
    axes = [axis for axis, length in enumerate(layout.shape) if length != 1]
    repeated = [axis for axis in axes if layout.strides[axis] == 0]
    return repeated + sorted(
        (axis for axis in axes if layout.strides[axis] != 0), key=lambda axis: -layout.strides[axis]
    )
