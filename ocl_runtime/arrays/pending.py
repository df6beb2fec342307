"""Long pending work is started by itself, in parts that are alike.

    for _ in range(10_000):
        x = 0.5 * (x + ocl.roll(x, 1))

Nobody has to know when to call `compute`. What an array is grows by each turn; once it is as deep as a bound, and some
Python line stands in it more than once, it is computed as far as it goes, without waiting. From then on that very line
is where parts are cut: so each has the same whole number of turns, and all but the first two share one plan. One long
expression without a loop is never cut.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from ocl_ir.graph.build import Node
from ocl_ir.graph.forward import current
from ocl_ir.source_line import Line
from ocl_runtime.plan.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

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
    """Has work started that is pending below a node, if it is time: where the last part was cut, or, at every so many
    nodes, where a line comes again. What fails there is raised where the values are asked for."""
    line, cut_at = node.line, registry.cut_at
    if not isinstance(line, Line):
        return
    again = cut_at is not None and line.code is cut_at.code and line.at == cut_at.at
    if not again and (node.depth % BOUND or (cut_at is not None and node.depth < 2 * BOUND)):
        return
    length, repeats = _chain(node, line)
    if length < BOUND:
        node.depth = length  # some of it has been computed since
    elif again or repeats:
        registry.cut_at = line
        with suppress(Exception):
            compute()


def _chain(node: Node, line: Line) -> tuple[int, bool]:
    """How many open nodes that arrays are stand above each other, up to the bound, and whether some other one of them
    was made at the same place of the program."""
    length, repeats = 0, False
    stack: list[Node] = [node]
    while stack and length <= BOUND:
        one = current(stack.pop())
        if not one.args:
            continue
        if one.depth:
            length += 1
            other = one.line
            repeats = repeats or (one is not node and isinstance(other, Line) and _same(other, line))
            stack.clear()
        deepest = max(one.args, key=lambda arg: arg.depth or _deepest(arg, _NEAR))
        stack.append(deepest)
    return length, repeats


def _same(one: Line, other: Line) -> bool:
    return one.code is other.code and one.at == other.at
