"""Which memory a kernel reads and writes, parameter by parameter."""

from __future__ import annotations

from weakref import ref

from ocl_ir.kernel.grammar import Atomic, CopyAsync, CopyBox, DescribeMatrix, Kernel, Load, Store, walk
from ocl_ir.kernel.source_kernel import SourceKernel

READ, WRITE = 1, 2
"""What an access does; both together is 3."""


def modes(kernel: Kernel) -> tuple[int, ...]:
    """For each parameter, how the kernel uses what it points to; 0 for numbers and for what is not used."""
    known = _KNOWN.get(id(kernel))
    if known is None or known[0]() is not kernel:
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        known = _KNOWN[id(kernel)] = ref(kernel), _modes(kernel)
    return known[1]


_MOST_KNOWN = 4096
_KNOWN: dict[int, tuple[ref[Kernel], tuple[int, ...]]] = {}
"""By `id`: a kernel's hash is that of all its statements."""


def _modes(kernel: Kernel) -> tuple[int, ...]:
    if isinstance(kernel, SourceKernel):
        return kernel.modes
    by_pointer: dict[int, int] = {}
    for stmt in walk(kernel.body):
        if isinstance(stmt, Load | Store | Atomic):
            mode = READ if isinstance(stmt, Load) else WRITE if isinstance(stmt, Store) else READ | WRITE
            by_pointer[stmt.pointer.id] = by_pointer.get(stmt.pointer.id, 0) | mode
        elif isinstance(stmt, CopyAsync | DescribeMatrix | CopyBox):
            by_pointer[stmt.source.id] = by_pointer.get(stmt.source.id, 0) | READ
        if isinstance(stmt, CopyBox | DescribeMatrix):
            mode = READ if isinstance(stmt, CopyBox) else WRITE
            by_pointer[stmt.table.id] = by_pointer.get(stmt.table.id, 0) | mode
    return tuple(by_pointer.get(param.value.id, 0) for param in kernel.params)
