"""Memory that a program may write over: of arrays whose memory nobody else needs.

Copies share memory until somebody writes, and expressions and elements look at what was there when they were built. So
an array whose memory others need gets memory of its own before a program writes there.
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import ref

from ocl_ir.graph.build import Buffer, elementwise
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.core import compute_node
from ocl_runtime.errors import ShapeError
from ocl_runtime.plan.donation import is_lent
from ocl_runtime.plan.registry import alone

ATTEMPTS = 6
"""To find memory without waiting for it under the registry's lock."""


def shared(arrays: Sequence[Array]) -> list[Array]:
    """Those of some arrays whose memory others need, and views of what has no memory yet. Under the registry's lock.
    Raises `ShapeError` for what was broadcast."""
    for x in arrays:
        if x._is_broadcast:
            raise ShapeError(
                f"a program writes into shape {x.shape} of an array that was broadcast, where elements are repeated",
                place=calling_line(),
                remedy="give the array that was broadcast, or a copy",
            )
    return [x for x in arrays if type(x._cell.node) is not Buffer or not alone(x._cell)]


def is_lent_out(x: Array) -> bool:
    """Whether PyOpenCL has the memory, too, and is to see what is written there."""
    node = x._cell.node
    return isinstance(node, Buffer) and is_lent(node.storage)


def own(arrays: Sequence[Array]) -> None:
    """Computes, or copies, the whole arrays that these may be views of, so that nobody else needs their memory; unless
    another thread writes them meanwhile."""
    for x in arrays:
        cell, node = x._cell, x._cell.node
        if type(node) is not Buffer:
            compute_node(x._executor, ref(node), ref(cell))
            continue
        copied = Array(elementwise("copy", node), x._executor)
        copied._computed()
        with x._executor.registry.lock:
            if cell.node is node:
                cell.become(copied._cell.node)
