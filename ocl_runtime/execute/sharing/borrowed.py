"""Memory of a user of PyOpenCL's that is used without a copy: its storage, and what lies where in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ocl_ir.kernel.accesses import WRITE
from ocl_ir.layout import Layout
from ocl_runtime.errors import DTypeError, ShapeError, SharingError
from ocl_runtime.execute.memory.blocks import Block, Page
from ocl_runtime.execute.memory.storage import Memory, Storage
from ocl_runtime.execute.sharing import foreign
from ocl_runtime.execute.sharing.foreign import ImportedMemory
from ocl_runtime.execute.streams.hazards import Touch

_ALIGNED = 64
"""Bytes that divide the address of any storage: the widest access of a kernel."""


class Borrowed(Storage):
    """A whole buffer of the user's."""

    __slots__ = ("read_only",)

    def __init__(self, memory: Memory, block: Block) -> None:
        super().__init__(memory, block.size)
        self.block = block
        self.guests = 1
        self.read_only = not foreign.written_by_kernels(self.buffer)

    def __repr__(self) -> str:
        return f"<Storage of {self.nbytes:,} bytes, borrowed>"

    def touch(self, mode: int, low: int = 0, high: int | None = None) -> Touch:
        """As of any storage. Raises `SharingError` for a write to a buffer that kernels must not write to."""
        self._check(mode)
        return super().touch(mode, low, high)

    def touch_layout(self, mode: int, layout: Layout, itemsize: int) -> Touch:
        """As of any storage. Raises `SharingError` for a write to a buffer that kernels must not write to."""
        self._check(mode)
        return super().touch_layout(mode, layout, itemsize)

    def _check(self, mode: int) -> None:
        if mode & WRITE and self.read_only:
            raise SharingError(
                "a write to a PyOpenCL buffer that was made with mem_flags.READ_ONLY",
                remedy="make it with READ_WRITE, or compute into memory of the runtime's own",
            )


def block_of(imported: ImportedMemory, where: str, *, unified: bool) -> Block:
    """All of a buffer, as a block without a history.

    Raises `SharingError` for one that kernels must not read, or that is not aligned as they expect.
    """
    assert imported.buffer is not None
    if not foreign.read_by_kernels(imported.buffer):
        raise SharingError(
            "the PyOpenCL buffer was made with mem_flags.WRITE_ONLY, so kernels must not read it",
            place=where,
            remedy="make it with READ_WRITE",
        )
    address = foreign.host_address(imported.buffer)
    if unified and address is not None and address % _ALIGNED:
        raise SharingError(
            f"the PyOpenCL buffer lies over memory of the host at an address that {_ALIGNED} does not divide",
            place=where,
            remedy="copy the host's array: asarray(x), or make the buffer with COPY_HOST_PTR",
        )
    return Page(imported.buffer, imported.buffer.size, None, cut=False).first


def laid_out_in(storage: Storage, dtype: np.dtype[Any], layout: Layout, where: str) -> Layout:
    """Elements of a whole buffer as those of a storage in it. Raises `ShapeError` for others than its own."""
    first = storage.start // dtype.itemsize
    inside = Layout(layout.shape, layout.strides, layout.offset - first)
    low, high = inside.range()
    if low < 0 or high * dtype.itemsize > storage.nbytes:
        raise ShapeError(
            "the PyOpenCL array reaches beyond the memory that to_pyopencl gave",
            place=where,
            remedy="count its offset from that of the array that to_pyopencl gave, or use a view of that",
        )
    return inside


def laid_out(
    imported: ImportedMemory, dtype: np.dtype[Any] | None, shape: tuple[int, ...] | None, offset: int, where: str
) -> tuple[np.dtype[Any], Layout]:
    """The dtype, and which elements of the whole buffer are meant."""
    if imported.dtype is not None:
        if dtype is not None or shape is not None or offset:
            raise DTypeError(
                "a PyOpenCL array has a dtype, a shape and an offset of its own",
                place=where,
                remedy="leave them out; or give its base_data with dtype, shape and offset",
            )
        dtype, shape, offset = imported.dtype, imported.shape, imported.offset
    elif dtype is None:
        raise DTypeError("a PyOpenCL buffer has no dtype", place=where, remedy="say it: from_pyopencl(x, dtype=…)")
    size = dtype.itemsize
    if offset < 0 or offset % size:
        raise ShapeError(
            f"elements of {dtype} from byte {offset} on",
            place=where,
            remedy=f"give an offset in bytes that {size} divides",
        )
    if any(stride % size for stride in imported.strides or ()):
        raise ShapeError(
            f"elements of {dtype} with strides of {imported.strides} bytes",
            place=where,
            remedy="copy them to an array without gaps first",
        )
    first = imported.start + offset
    if shape is None:
        shape = (max(0, imported.end - first) // size,)
    strides = tuple(stride // size for stride in imported.strides or ())
    layout = (
        Layout(shape, strides, first // size)
        if imported.strides is not None
        else Layout.contiguous(shape, first // size)
    )
    low, high = layout.range()
    if layout.size and (low * size < imported.start or high * size > imported.end):
        raise ShapeError(
            f"shape {shape} of {dtype} from byte {offset} on in a PyOpenCL buffer of "
            f"{imported.end - imported.start:,} bytes",
            place=where,
            remedy="give a smaller shape, or a larger buffer",
        )
    return dtype, layout
