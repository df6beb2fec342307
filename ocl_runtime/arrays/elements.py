"""Elements that were read with integers, which are values: a later write into the array does not change them.

Reading one computes nothing: the element is an expression over the array as it is now. What a program writes over, it
copies first as far as others need it (`ocl_runtime.plan.readers`). But memory that somebody is given to write into, by
`compute_into` or as an array of PyOpenCL, changes without that: so what pending reads of elements of such memory
need is computed into memory of their own before.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Buffer, Node, Step, walk
from ocl_ir.graph.forward import current, forward
from ocl_ir.source_line import caller
from ocl_runtime.plan.evaluate import Missing, evaluate_if_planned
from ocl_runtime.plan.registry import Cell, Read, Reads
from ocl_runtime.plan.tracing import tracer

if TYPE_CHECKING:
    from ocl_runtime.plan.executor import Executor


def read(node: Node, step: Step) -> Node:
    """The element of a node that a step with an integer for each axis leads to, as it is now."""
    element = graph.stepped(node, step, caller(3))
    # A program orders what it reads and writes by itself.
    return element if tracer.get() is None else graph.elementwise("copy", element)


def note(cell: Cell, element: Node, holder: Cell) -> None:
    """An element of what a cell is was read, and is what another cell holds."""
    reads = cell.reads
    if reads is None:
        reads = cell.reads = Reads()
    if len(reads) >= reads.most:
        reads[:] = [read for read in reads if read.node() is not None or read.cell() is not None]
        reads.most = max(Reads.most, 2 * len(reads))  # so that all are looked through ever more seldom
    reads.append(Read(weakref.ref(element), weakref.ref(holder)))


def settled_if_planned(cell: Cell, value: Node, executor: Executor, *, make: bool) -> Node | Missing:
    """Computes what reads need of memory that is about to be written with a value; gives the value over what was
    computed. Unless plan and room are to be made where they are missing, says what is. The registry's lock is held."""
    if not cell.reads or tracer.get() is not None:
        return value
    reads, cell.reads = cell.reads, None
    pending = _pending(reads, cell, value)
    if not pending:
        return value
    copies = [graph.elementwise("copy", node) for node in pending]
    results = evaluate_if_planned(copies, [None for _ in pending], executor, make=make)
    if isinstance(results, Missing):
        cell.reads = reads
        return results
    for (node, holders), result in zip(pending.items(), results, strict=True):
        for holder in holders:
            holder.become(result)
        forward(node, result)
    return current(value)


def _pending(reads: Sequence[Read], cell: Cell, value: Node) -> dict[Node, list[Cell]]:
    """What of the array somebody still needs, with the cells that are just that."""
    pending: dict[Node, list[Cell]] = {}
    own: set[Node] | None = None
    for read in reads:
        node, holder = read.node(), read.cell()
        if holder is not None:
            node = holder.node
            if not _reads(node, cell):
                continue
            pending.setdefault(node, []).append(holder)
        elif node is not None and node not in pending and _reads(node, cell):
            if own is None:
                own = set(walk(value))
            if node not in own:  # the write itself needs it, and nobody else may
                pending[node] = []
    return pending


def _reads(node: Node, cell: Cell) -> bool:
    """Whether a node of one element needs what a cell is now."""
    base = cell.node
    if isinstance(node, Buffer):
        return isinstance(base, Buffer) and node.storage is base.storage
    return True
