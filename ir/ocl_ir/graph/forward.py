"""Nodes that are in memory by now.

Somebody computes a node that others have built on: `forward` gives it its result and takes its operands from it. Nobody
goes through what was built; who takes an expression apart later finds the result there, and leaves the computed node
out of the expression for good. So computing costs nothing for arrays that are not computed, however many there are.

A movement of a computed node is a view of its memory, unless it has to copy; so it counts as computed, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ocl_ir.graph.build import Buffer, Movement, Node, buffer, move, permute
from ocl_ir.indices import Shape


def forward(node: Node, result: Buffer) -> None:
    """The elements of a node are in memory. What it was made of is no longer kept by it."""
    if node is not result and node.result is None:
        node.result = result  # before the operands go: whoever has read none looks here
        node.args = ()
        node.depth = 0
        if isinstance(node, Buffer):  # its elements have moved
            node.storage = None


def turned_back(node: Node, result: Buffer) -> list[tuple[Node, Buffer]]:
    """What a result says of the nodes that it is only a permutation of: builders reach them through it."""
    pairs: list[tuple[Node, Buffer]] = []
    while isinstance(node, Movement) and node.step.kind == "permute" and node.args:
        axes = cast("Shape", node.step.value)
        node = node.args[0]
        back = permute(result, tuple(sorted(range(len(axes)), key=axes.__getitem__)))
        assert isinstance(back, Buffer)
        result = back
        pairs.append((node, result))
    return pairs


def apart(node: Buffer) -> Buffer:
    """The same elements as a node that nobody else has, and so nobody forwards while it is looked at."""
    return buffer(node.storage, node.dtype, node.layout, node.line)


def current(node: Node) -> Node:
    """The memory that a node is in by now; itself where it is not."""
    while node.result is not None:
        node = node.result
    if type(node) is not Movement:
        return node
    chain: list[Movement] = []
    base: Node = node
    while base.result is None and type(base) is Movement:
        chain.append(base)
        base = base.args[0]
    while base.result is not None:
        base = base.result
    for movement in reversed(chain):
        if base is not movement.args[0]:
            moved = move(base, movement.step, movement.shape, movement.line)
            if isinstance(moved, Buffer):
                forward(movement, moved)
                base = moved
                continue
            movement.args = (base,)
        base = movement
    return base


def operands(node: Node) -> tuple[Node, ...]:
    """What an open node is made of, as it is by now; and so the node refers to it from here on."""
    args = node.args
    for arg in args:
        if arg.result is None:
            if type(arg) is not Movement:
                continue
            below = arg.args
            if below and below[0].result is None and type(below[0]) is not Movement:
                continue
        now = tuple([current(arg) for arg in args])
        if now != args:  # nodes equal themselves alone
            node.args = now
        return now
    return args


def resolve(roots: Sequence[Node]) -> list[Node]:
    """What some nodes are by now, and so everything below them, for who walks them."""
    nodes = [current(root) for root in roots]
    known = set(nodes)
    stack = list(known)
    while stack:
        for arg in operands(stack.pop()):
            if arg not in known:
                known.add(arg)
                stack.append(arg)
    return nodes
