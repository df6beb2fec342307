"""Which memory a kernel reads and writes, parameter by parameter."""

from __future__ import annotations

from ocl_ir.kernel.grammar import Atomic, Kernel, Load, Store, walk

READ, WRITE = 1, 2
"""What an access does; both together is 3."""


def modes(kernel: Kernel) -> tuple[int, ...]:
    """For each parameter, how the kernel uses what it points to; 0 for numbers and for what is not used."""
    found: dict[int, int] = {}
    for stmt in walk(kernel.body):
        if isinstance(stmt, Load | Store | Atomic):
            mode = READ if isinstance(stmt, Load) else WRITE if isinstance(stmt, Store) else READ | WRITE
            found[stmt.pointer.id] = found.get(stmt.pointer.id, 0) | mode
    return tuple(found.get(param.value.id, 0) for param in kernel.params)
