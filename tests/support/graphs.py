"""Expressions compared."""

from __future__ import annotations

from ocl_ir.graph.build import Node
from ocl_ir.graph.substitute import substitute


def is_same(node: Node, other: Node) -> bool:
    """Whether two nodes are the same operation of the same operands, down to the same leaves."""
    first, second = substitute([node, other], {})
    return first is second
