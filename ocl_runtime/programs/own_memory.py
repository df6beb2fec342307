"""Memory that a program may write over: of arrays whose memory nobody else needs.

Copies share memory until somebody writes, and expressions and elements look at what was there when they were built. So
an array whose memory others need gets memory of its own before a program writes there.
"""

from __future__ import annotations

from collections.abc import Sequence

from ocl_ir.graph.build import Buffer
from ocl_runtime.arrays import Array
from ocl_runtime.plan.donation import is_lent
from ocl_runtime.plan.registry import alone

ATTEMPTS = 6
"""To find memory without waiting for it under the registry's lock."""


def shared(written: Sequence[Array], into: Sequence[Array] = ()) -> list[Array]:
    """Those of some arrays whose memory others need, and views of what has no memory yet, one for all views of an
    array; but what PyOpenCL has, too, is computed `into` all the same. Under the registry's lock. Raises `ShapeError`
    for what was broadcast, `DTypeError` for an element."""
    check_writable((*written, *into), "a program")
    whole = {id(x._cell): x for x in (*written, *[x for x in into if not is_lent_out(x)])}.values()
    return [x for x in whole if type(x._cell.node) is not Buffer or not alone(x._cell)]


def check_writable(arrays: Sequence[Array], what: str) -> None:
    """Raises `ShapeError` for an array that was broadcast, `DTypeError` for an element: what writes into them is named
    in the error."""
    for x in arrays:
        if x._value:
            raise x._not_writable()
        if x._is_broadcast:
            raise x._repeating(f"{what} writes into")


def is_lent_out(x: Array) -> bool:
    """Whether PyOpenCL has the memory, too, and is to see what is written there."""
    node = x._cell.node
    return isinstance(node, Buffer) and is_lent(node.storage)


def own(arrays: Sequence[Array]) -> None:
    """Gives each of some arrays memory that nobody else needs, unless another thread writes it meanwhile."""
    for x in arrays:
        x._own(even_lent=True)
