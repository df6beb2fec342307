"""Which memory statements and kernels read and write."""

from __future__ import annotations

from ocl_ir.kernel.by_identity import by_identity
from ocl_ir.kernel.grammar import (
    Atomic,
    AwaitBoxes,
    Block,
    CopyAsync,
    CopyBox,
    CopyWindows,
    DescribeMatrix,
    DescribeWindows,
    InitBoxes,
    Kernel,
    Load,
    ReleaseBoxes,
    Stmt,
    Store,
    Value,
    WarpgroupMultiply,
    walk,
)
from ocl_ir.kernel.source_kernel import SourceKernel

READ, WRITE = 1, 2
"""What an access does; both together is 3."""


def accesses(stmt: Stmt) -> tuple[tuple[Value, int], ...]:
    """The pointers through which a statement reads and writes, each with what it does."""
    match stmt:
        case Load():
            return ((stmt.pointer, READ),)
        case Store():
            return ((stmt.pointer, WRITE),)
        case Atomic():
            return ((stmt.pointer, READ | WRITE),)
        case CopyAsync():
            return (stmt.pointer, WRITE), (stmt.source, READ)
        case WarpgroupMultiply():
            return (stmt.sums, WRITE if stmt.starts else READ | WRITE), (stmt.left, READ), (stmt.right, READ)
        case (
            DescribeMatrix() | DescribeWindows()
        ):  # of the matrix, boxes are read later; until then it must stay where it is
            return (stmt.table, WRITE), (stmt.source, READ)
        case InitBoxes():
            return ((stmt.barriers, WRITE),)
        case CopyBox() | CopyWindows():
            counted = stmt.barriers, READ | WRITE
            return (stmt.pointer, WRITE), (stmt.source, READ), (stmt.table, READ), counted
        case AwaitBoxes() | ReleaseBoxes():
            return ((stmt.barriers, READ | WRITE),)
    return ()


@by_identity
def written_pointers(kernel: Kernel) -> frozenset[int]:
    """Ids of the pointers through which the kernel writes."""
    return frozenset(pointer.id for stmt in walk(kernel.body) for pointer, mode in accesses(stmt) if mode & WRITE)


def only_describes(body: Block) -> bool:
    """Whether a kernel describes matrices and has no other access to memory, on which descriptions could depend."""
    touching = [stmt for stmt in walk(body) if accesses(stmt)]
    return bool(touching) and all(isinstance(stmt, DescribeMatrix | DescribeWindows) for stmt in touching)


@by_identity
def modes(kernel: Kernel) -> tuple[int, ...]:
    """For each parameter, how the kernel uses what it points to; 0 for numbers and for what is not used."""
    if isinstance(kernel, SourceKernel):
        return kernel.modes
    by_pointer: dict[int, int] = {}
    for stmt in walk(kernel.body):
        for pointer, mode in accesses(stmt):
            by_pointer[pointer.id] = by_pointer.get(pointer.id, 0) | mode
    return tuple(by_pointer.get(param.value.id, 0) for param in kernel.params)
