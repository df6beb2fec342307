"""Checks of accesses: constant memory stays constant, promised alignment can hold, nothing is certainly outside."""

from __future__ import annotations

from collections.abc import Iterator

from ocl_ir.kernel.fault import Fault, name_of
from ocl_ir.kernel.grammar import Array, Atomic, Const, Kernel, Load, Store, walk
from ocl_ir.kernel.intervals import Intervals
from ocl_ir.types import Pointer, lanes


def constant_memory_is_not_written(kernel: Kernel) -> Iterator[Fault]:
    """Nothing is stored through a pointer to constant memory."""
    for stmt in walk(kernel.body):
        if isinstance(stmt, Store | Atomic) and _pointer(stmt).space == "constant":
            fact = f"{name_of(kernel, stmt.pointer)} points to constant memory and is written"
            yield Fault(fact, stmt, "make it a pointer to global memory")


def alignment_can_hold(kernel: Kernel) -> Iterator[Fault]:
    """`align` is a power of two and at least the element's size, and no constant index contradicts it."""
    for stmt in walk(kernel.body):
        if not isinstance(stmt, Load | Store) or stmt.align == 0:
            continue
        pointer, align = _pointer(stmt), stmt.align
        if align < pointer.dtype.size or align & (align - 1):
            yield Fault(
                f"an access to {pointer.dtype} promises an alignment of {align} bytes",
                stmt,
                f"promise a power of two that is a multiple of {pointer.dtype.size}",
            )
        # The base is a multiple of pointer.align; above that, the promise may hold for reasons that the kernel knows.
        elif isinstance(stmt.index, Const) and stmt.index.value * pointer.dtype.size % min(align, pointer.align):
            name = name_of(kernel, stmt.pointer)
            fact = f"element {stmt.index.value} of {name} is not at an address that {align} divides"
            yield Fault(fact, stmt, "promise less with `align`, or access another element")


def accesses_can_be_inside(kernel: Kernel) -> Iterator[Fault]:
    """An access to memory of known length is not certainly outside of it, whatever the index can be."""
    lengths = {
        param.value.id: int(param.length.value) for param in kernel.params if isinstance(param.length, Const)
    } | {stmt.pointer.id: stmt.length for stmt in walk(kernel.body) if isinstance(stmt, Array)}
    if not lengths:
        return
    intervals = Intervals(kernel)
    for stmt in walk(kernel.body):
        if not isinstance(stmt, Load | Store | Atomic) or stmt.pointer.id not in lengths:
            continue
        length, width, index = lengths[stmt.pointer.id], _width(stmt), intervals.of(stmt.index)
        if index.high < 0 or max(index.low, 0) + width > length:
            at = str(index.low) if index.low == index.high else f"{index.low} to {index.high}"
            touched = f"{width} elements from index {at} on" if width > 1 else f"index {at}"
            yield Fault(
                f"{touched} of {name_of(kernel, stmt.pointer)} is outside of its {length} elements, whenever this runs",
                stmt,
                "fix the index or the length; where the statement never runs, leave it out",
            )


def _pointer(stmt: Load | Store | Atomic) -> Pointer:
    assert isinstance(stmt.pointer.type, Pointer)
    return stmt.pointer.type


def _width(stmt: Load | Store | Atomic) -> int:
    match stmt:
        case Load():
            moved = stmt.result.type
        case Store():
            moved = stmt.value.type
        case Atomic():
            return 1
    assert not isinstance(moved, Pointer)
    return lanes(moved)
