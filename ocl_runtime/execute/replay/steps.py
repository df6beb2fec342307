"""What a step of a bound program is, and the bytes of a buffer that it touches."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from ocl_ir.layout import Layout
from ocl_runtime.execute.driver import Sizes
from ocl_runtime.execute.launch import Executable

ARENA = -1
"""The number of the memory that scratch buffers share, among buffers."""


class Access(NamedTuple):
    """Bytes `low … high` of a buffer, counted from its start; of them only the `footprint`, if any."""

    buffer: int
    mode: int
    low: int
    high: int
    footprint: Layout | None


class Ended(NamedTuple):
    """Bytes `low … high` of a buffer that are used no more after a step, nor after others: (stream, step) of each."""

    buffer: int
    low: int
    high: int
    others: tuple[tuple[int, int], ...]


AccessNumbers: TypeAlias = tuple[int, int, int, int, Layout | None]
"""An access as it is kept for each size: of plain tuples of numbers, the collector of garbage looks at none twice."""
Pointer: TypeAlias = tuple[int, int]
"""An argument that is memory: its index, and the buffer and bytes of an element that it points to. Plain, so that the
collector of garbage need not look at all of them again and again."""


class Transfer(NamedTuple):
    """A copy between a host buffer and the device: `nbytes` from byte `at` of one and `host_at` of the other on."""

    up: bool
    buffer: int
    at: int
    host: int
    host_at: int
    nbytes: int


class Dispatch(NamedTuple):
    """A launch. `args` lack the pointers, into these `buffers`, and the numbers (index, name) that each call gives; the
    byte that a pointer begins with is behind it, counted from where the buffer begins."""

    executable: Executable
    sizes: tuple[Sizes, Sizes]
    args: tuple[Any, ...]
    pointers: tuple[Pointer, ...]
    numbers: tuple[tuple[int, str], ...]
    buffers: frozenset[int]
