"""Long pending work is started by itself, in parts that are alike.

    for _ in range(10_000):
        x = 0.5 * (x + ocl.roll(x, 1))

Nobody has to know when to call `compute`. What an array is grows by each turn; once it is as deep as a bound, and some
Python line stands in it more than once, it is computed as far as it goes, without waiting. From then on that line is
where parts of this loop are cut: each has the same whole number of turns, and all but the first and the last share one
plan; and another run of the loop has the parts of this one. One long expression without a loop is never cut.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from ocl_ir.graph.build import Node
from ocl_ir.graph.forward import current
from ocl_ir.source_line import Line
from ocl_runtime.plan.registry import Registry

BOUND = 256
"""Nodes above each other that are left pending."""
_NEAR = 3
"""Levels of nodes between two that arrays are."""


def deepened(node: Node) -> int:
    """The depth of a new node that an array is, which is noted there."""
    node.depth = depth = 1 + _deepest(node, _NEAR)
    return depth


def _deepest(node: Node, levels: int) -> int:
    deepest = 0
    for arg in node.args:
        depth = arg.depth
        if not depth and levels and arg.args:
            depth = _deepest(arg, levels - 1)
        deepest = max(deepest, depth)
    return deepest


def relieve(node: Node, registry: Registry, compute: Callable[[], object]) -> None:
    """Has work started that is pending below a node, if it is time: at a line where parts were cut before, or, at every
    so many nodes, where a line comes again and no such line is in between. What fails there is raised where the values
    are asked for."""
    line = node.line
    if not isinstance(line, Line):
        return
    again = registry.is_cut(line)
    if not again and node.depth % BOUND:
        return
    length, repeats, soon = _chain(node, line, registry)
    if length < BOUND:
        node.depth = length  # some of it has been computed since
    elif again or (repeats and (not soon or node.depth >= 2 * BOUND)):
        registry.note_cut(line)
        with suppress(Exception):
            compute()


def _chain(node: Node, line: Line, registry: Registry) -> tuple[int, bool, bool]:
    """How many open nodes that arrays are stand above each other, up to the bound; whether some other one of them was
    made at the same place of the program; and whether one between the two was made where parts are cut."""
    length, repeats, soon = 0, False, False
    below = current(node)
    while below.args and length <= BOUND:
        if below.depth:
            length += 1
            other = below.line
            if not repeats and below is not node and isinstance(other, Line):
                repeats = other.code is line.code and other.at == line.at
                soon = soon or registry.is_cut(other)
        below = current(max(below.args, key=lambda arg: arg.depth or _deepest(arg, _NEAR)))
    return length, repeats, soon
