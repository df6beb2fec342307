"""In how many ways a node is read: how often it would be computed if it was not stored.

What reads a node at the same place in one pass of one kernel reads it in one way. Each kernel, pass and view makes
another. Reductions of the same axes share a pass, unless one needs the other. Below a node that is read in several ways
all ways are that node's own: so each number says what storing just this node would save, and it does not grow with the
number of nodes above it.
"""

from __future__ import annotations

from collections.abc import Collection

from ocl_ir.graph.build import Elementwise, Gather, Movement, Node, Reduce, Step, walk
from ocl_runtime.plan.fusion.canonical import copies


def readers(roots: Collection[Node]) -> dict[Node, int]:
    """The number of ways in which each node below the roots is read, operands before their users."""
    order = list(walk(*roots))
    depth: dict[Node, int] = {}
    for node in order:
        depth[node] = max((depth[arg] for arg in node.args), default=0) + isinstance(node, Reduce)
    read: dict[Node, set[object]] = {node: set() for node in order}
    views: dict[tuple[Step, int], object] = {}
    passes: dict[tuple[tuple[int, ...], int], object] = {}
    for node in reversed(order):
        goes_on = isinstance(node, Elementwise | Gather) or (isinstance(node, Movement) and not copies(node))
        way: object = node
        if isinstance(node, Reduce):
            way = passes.setdefault((node.axes, depth[node]), object())
        elif goes_on and node not in roots and len(read[node]) == 1:
            (way,) = read[node]
        if goes_on and isinstance(node, Movement):  # a view of a view; ids are of nodes, or of what is kept here
            outer = [node] if node in roots else read[node]
            read[node.arg].update(views.setdefault((node.step, id(one)), object()) for one in outer)
            continue
        for arg in node.args:
            read[arg].add(way)
    return {node: len(found) for node, found in read.items()}
