"""Long pending work is started by itself, in parts that are alike.

    for _ in range(10_000):
        x = 0.5 * (x + ocl.roll(x, 1))

Nobody has to know when to call `compute`. What an array is grows by each turn; once it is as deep as a bound, and some
Python line stands in it more than once, it is computed as far as it goes, without waiting. From then on that line is
where parts of this loop are cut: each has the same whole number of turns, and all but the first and the last share one
plan; and another run of the loop has the parts of this one. One long expression without a loop is never cut.

A part starts as something is built on it: by then the statement that made it is over, and what only this statement
needed, such as the array that it replaces, is gone and can be written over.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import NamedTuple
from weakref import ref

from ocl_ir.graph.build import Assign, Contract, Node, Reduce, Scan, Scatter
from ocl_ir.graph.forward import current
from ocl_ir.source_line import Line
from ocl_runtime.plan.registry import Cell, Registry

BOUND = 256
"""Operations above each other that are left pending."""
_KERNEL = 8
"""For how many operations one counts that needs a kernel of its own: those of an expression are one kernel."""
_TURNS = 16
"""Of which a part has a multiple."""
_MOST = 8 * BOUND
"""More work than this is never left pending by a loop."""
_KERNELS = frozenset({Assign, Contract, Reduce, Scan, Scatter})
_NEAR = 3
"""Levels of nodes between two that arrays are."""


def deepened(node: Node) -> int:
    """The depth of a new node that an array is, which is noted there."""
    node.depth = depth = _work(node) + _deepest(node, _NEAR)
    return depth


def _work(node: Node) -> int:
    return _KERNEL if type(node) in _KERNELS else 1


def _deepest(node: Node, levels: int) -> int:
    deepest = 0
    for arg in node.args:
        depth = 0 if arg.result is not None else arg.depth
        if not depth and levels and arg.args:
            depth = _deepest(arg, levels - 1)
        deepest = max(deepest, depth)
    return deepest


def relieve(node: Node, cell: Cell, registry: Registry, compute: Callable[[Cell], object]) -> None:
    """Has work started that is pending below a node, which a cell is, if it is time: at a line where parts are cut,
    once there is enough for a part; such a line is found, at every so much work, where one comes again and no such line
    is in between. What fails there is raised where the values are asked for."""
    due: Callable[[], None] | None = getattr(registry.due, "start", None)
    if due is not None:
        registry.due.start = None
        due()
        if deepened(node) < BOUND:
            return
    line = node.line
    if not isinstance(line, Line):
        return
    enough = registry.part(line)
    if enough is None:
        if node.depth % BOUND >= _work(node):
            return
        pending, turn, soon = _chain(node, line, registry, BOUND)
        if turn and pending >= BOUND and (not soon or node.depth >= 2 * BOUND):
            enough = _part(turn)
            registry.cut(line, enough)
    else:
        if node.depth < enough:
            return
        pending = _chain(node, line, registry, enough).pending
    if enough is not None and pending >= enough:
        registry.due.start = _Part(cell, compute)


class _Part:
    """What is to be started: an array, on the stream that is chosen now."""

    def __init__(self, cell: Cell, compute: Callable[[Cell], object]) -> None:
        self._cell = ref(cell)
        self._compute = compute
        self._context = copy_context()

    def __call__(self) -> None:
        cell = self._cell()
        if cell is not None:
            with suppress(Exception):
                self._context.run(self._compute, cell)


def _part(turn: int) -> int:
    """Enough work for a part of a loop, of so much a turn: that many turns after which sizes that change by one each
    time can be divided as before. Half a turn less, so that no odd operation makes it one more."""
    return min(-(-BOUND // (turn * _TURNS)) * _TURNS * turn - turn // 2, _MOST)


class _Chain(NamedTuple):
    """Work of arrays that stands above each other; how much of it is a turn of a loop, if it is one; and whether some
    of it was made, since the last turn, where parts are cut."""

    pending: int
    turn: int
    soon: bool


def _chain(node: Node, line: Line, registry: Registry, most: int) -> _Chain:
    """That below a node, up to a limit. A turn is from one node that was made at a line to the next."""
    length = turns = last = 0
    soon = False
    above: list[tuple[Node, int]] = []
    below = current(node)
    while below.args and length <= most:
        if below.depth:
            above.append((below, length))
            other = below.line
            if below is not node and isinstance(other, Line):
                if other.code is line.code and other.at == line.at:
                    turns, last = turns + 1, length
                soon = soon or (not turns and registry.part(other) is not None)
            length += _work(below)
        below = current(max(below.args, key=lambda arg: arg.depth or _deepest(arg, _NEAR)))
    if not below.args:
        for passed, before in above:  # some of what was below has been computed since
            passed.depth = length - before
    return _Chain(length, last // turns if turns else 0, soon)
