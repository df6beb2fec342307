"""In which order the axes of operands lie in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ocl_ir.graph.nodes import Buffer, Movement, Node, Scalar
from ocl_ir.indices import Shape


def order_in_memory(operands: Sequence[Node]) -> tuple[int, ...] | None:
    """The order in which the axes of all operands lie in memory, if it is the same and not their own: then they are
    computed in that order, as NumPy does, so that neighbours in memory stay neighbours. Repeated elements fit any."""
    common: tuple[int, ...] | None = None
    for operand in operands:
        if type(operand) is Movement:
            step = operand.step
            if step.kind == "expand":
                continue
            if operand.flat or step.kind != "permute":
                return None
            axes = cast("Shape", step.value)
            order = tuple(sorted(range(len(axes)), key=axes.__getitem__))
        elif type(operand) is Scalar:
            continue
        elif operand.flat or type(operand) is not Buffer:
            return None
        else:
            lies = operand.layout.order
            if lies is None:
                continue
            order = lies
        if order == tuple(range(len(order))) or (common is not None and order != common):
            return None
        common = order
    return common
