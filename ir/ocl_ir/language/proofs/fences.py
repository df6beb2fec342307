"""Which memory barriers order: only what the kernel uses."""

from __future__ import annotations

from dataclasses import replace

from ocl_ir.kernel.grammar import Atomic, Barrier, Block, Kernel, Load, Store, map_blocks, walk
from ocl_ir.types import Pointer


def with_fences(kernel: Kernel, *, exchanges: bool = True) -> Kernel:
    """The kernel whose barriers order the memory that is in use: local arrays, and global memory that is both written
    and read, unless it never `exchanges` values between work-items."""
    uses_local, written, read = False, set[int](), set[int]()
    for stmt in walk(kernel.body):
        if isinstance(stmt, Load | Store | Atomic) and isinstance(stmt.pointer.type, Pointer):
            uses_local = uses_local or stmt.pointer.type.space == "local"
            if stmt.pointer.type.space == "global":
                (read if isinstance(stmt, Load) else written).add(stmt.pointer.id)
    alone = {param.value.id for param in kernel.params if param.restrict}
    shared = exchanges and (bool(written & read) or bool(written - alone and read - alone))

    def fenced(block: Block) -> Block:
        return tuple(
            replace(stmt, local=uses_local or not shared, global_=shared)
            if isinstance(stmt, Barrier)
            else map_blocks(stmt, fenced)
            for stmt in block
        )

    return replace(kernel, body=fenced(kernel.body))
