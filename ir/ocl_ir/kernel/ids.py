"""Ids that a kernel does not use yet."""

from __future__ import annotations

from ocl_ir.kernel.grammar import For, Kernel, Local, defined, walk


def next_id(kernel: Kernel) -> int:
    """The first id that no value and no variable of the kernel has."""
    ids = [param.value.id for param in kernel.params]
    for stmt in walk(kernel.body):
        value = defined(stmt)
        if value is not None:
            ids.append(value.id)
        if isinstance(stmt, Local):
            ids.append(stmt.variable.id)
        if isinstance(stmt, For):
            ids.append(stmt.index.id)
    return max(ids, default=-1) + 1
