"""Arrays whose elements follow each other, for kernels that do not ask for strides.

How an array lies is chosen by whoever computes it: the sum of two transposed arrays lies as they do, and a copy shares
memory until somebody writes. Who passes such an array to a kernel means its elements in row-major order, so it is laid
out anew. A view is passed as it lies, or refused: its memory is that of the array behind it.
"""

from __future__ import annotations

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Buffer
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.functions.transfers import contiguous
from ocl_runtime.plan.donation import is_lent
from ocl_runtime.plan.tracing import tracer


def in_order(x: Array, *, is_written: bool) -> Array:
    """An array that was computed, with its elements in row-major order: laid out anew unless it is a view, or PyOpenCL
    has its memory, too. What a captured function only reads is copied. Raises `Error` where it writes an array that is
    not its own."""
    node, cell = x._node, x._cell
    if not isinstance(node, Buffer) or node.layout.is_dense:
        return x
    base = cell.node
    if not isinstance(base, Buffer) or base.layout.is_dense or is_lent(base.storage):
        return x
    trace = tracer.get()
    if trace is not None:
        if not is_written:
            return Array(contiguous(x), x._executor)
        trace.writes(cell)
    laid_out = contiguous(x._new(graph.elementwise("copy", base)))
    with x._executor.registry.lock:
        if cell.node is base:  # else another thread has written it
            cell.become(laid_out)
    return x


def compact(x: Array) -> Array:
    """An array that was computed, or a copy where its elements do not follow each other: for who only reads it."""
    node = x._node
    is_compact = isinstance(node, Buffer) and node.layout.is_dense
    return x if is_compact else Array(contiguous(x), x._executor)
