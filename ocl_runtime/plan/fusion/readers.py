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
    """How many reductions are one below the other at a node, where there are any."""
    for node in order:
        deepest = max([depth.get(arg, 0) for arg in node.args], default=0) if depth else 0
        if deepest or type(node) is Reduce:
            depth[node] = deepest + (type(node) is Reduce)
    read: dict[Node, set[object]] = {}
    views: dict[tuple[Step, int], object] = {}
    passes: dict[tuple[tuple[int, ...], int], object] = {}
    for node in reversed(order):
        ways: Collection[object] = read.get(node, ())
        way: object = node
        if isinstance(node, Movement) and not copies(node):  # a view of a view
            outer = [node] if node in roots else ways  # ids are of nodes, or of what is kept here
            read.setdefault(node.arg, set()).update(
                views.setdefault((node.step, id(reader)), object()) for reader in outer
            )
            continue
        if isinstance(node, Reduce):
            way = passes.setdefault((node.axes, depth[node]), object())
        elif len(ways) == 1 and isinstance(node, Elementwise | Gather) and node not in roots:
            (way,) = ways
        for arg in node.args:
            known = read.get(arg)
            if known is None:
                read[arg] = {way}
            else:
                known.add(way)
    return {node: len(read.get(node, ())) for node in order}
