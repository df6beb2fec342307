"""Readers go first: what others, and elements that were read, still need of memory that is about to be written over.

    t = x[3:4] + 0
    x[3] = 9

Before `x` is written, `t` needs a row of it as it was. To keep the whole of `x` for that, it would have to be copied.
So the views that expressions look at are copied instead, in the same program and in front of the write, if they are
fewer bytes; the expressions find the copies in their place (`ocl_ir.graph.forward`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain
from operator import methodcaller
from typing import Any
from weakref import ref

from ocl_ir.graph.build import Assign, Buffer, Node, Scatter
from ocl_ir.graph.substitute import form
from ocl_runtime.plan.donation import used_outside
from ocl_runtime.plan.structure import Structure

_VIEW = methodcaller("__call__")
"""Of a weak reference, the node, or None."""


def readers_of(structure: Structure, held: Collection[Node], later: Sequence[int]) -> list[Node]:
    """The views that others hold of what an expression writes over, some of them by nodes of it that are `held`, and
    those that later writes of the same memory need, which are among the nodes `later`: to be copied first, each
    once."""
    bases = [structure.nodes[write].args[0] for write in structure.writes]
    own = {*structure.nodes}.difference(held)
    written = [base.storage if type(base) is Buffer else base for base in bases]
    if not later and own.issuperset(filter(None, map(_VIEW, chain.from_iterable(map(noted, written))))):
        return []  # nearly always
    views_read: dict[Node, None] = {}
    for base in bases:
        if isinstance(base, Buffer):
            storage = base.storage
            if storage is None or used_outside(storage):
                continue
            readers = noted(storage)
            others = [node for node in map(structure.nodes.__getitem__, later) if isinstance(node, Buffer)]
            needed = [node for node in others if node.storage is storage and node is not base]
        else:
            readers, needed = noted(base), []
        views = dict.fromkeys([*elsewhere(readers, base, own), *needed])
        # A copy reads and writes each byte, as one of the whole would; equal views are one copy.
        nbytes = {form(node): node.size * node.dtype.size for node in views}
        if views and sum(nbytes.values()) < base.size * base.dtype.size:
            views_read.update(views)
    return list(views_read)


def noted(written: Any) -> Sequence[ref[Node]]:
    """The views that were noted of memory, or of a node, that is written over; none of what notes none."""
    return getattr(written, "readers", ())


def elsewhere(readers: Sequence[ref[Node]], base: Node, own: Collection[Node]) -> list[Node]:
    """Those of the views noted of a node, `base`, that others than an expression's `own` nodes still need."""
    return [
        node
        for reader in readers
        if (node := reader()) is not None and node.result is None and node is not base and node not in own and node.size
    ]


def read_by_later_writes(structure: Structure) -> list[int]:
    """The memory that is read for writes over other writes, by number: by then, what lies there may be written over.
    It is the same for all expressions of a structure."""
    numbers = {node: number for number, node in enumerate(structure.nodes)}
    buffers: list[int] = []
    stack = []
    for write in structure.writes:
        base, *needed = structure.nodes[write].args
        if not isinstance(base, Buffer):
            stack += needed
    seen = {*stack}
    while stack:
        node = stack.pop()
        if isinstance(node, Buffer):
            buffers.append(numbers[node])
        elif not isinstance(node, (Assign, Scatter)):
            stack += [arg for arg in node.args if arg not in seen]
            seen.update(node.args)
    return buffers
