"""What others get of a computed array: a NumPy array, a view in place, a DLPack capsule, a PyOpenCL array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from ocl_ir.bfloat16 import HELD, numpy_bfloat16, shown
from ocl_ir.graph.build import Buffer, Storage
from ocl_ir.layout import Layout
from ocl_ir.source_line import caller, calling_line
from ocl_ir.types import BF16, DType
from ocl_runtime.arrays.dlpack import CPU, to_capsule
from ocl_runtime.arrays.reals import base_executor
from ocl_runtime.errors import SharingError

if TYPE_CHECKING:
    from ocl_runtime.plan.executor import Executor

_WASTE = 4
"""How many times its size a view may spread over and still be downloaded with the gaps."""
_VERSIONED = np.lib.NumpyVersion(np.__version__) >= "2.1.0"
"""Whether NumPy makes capsules of DLPack 1, which can say that they are to be read only."""


@runtime_checkable
class SharesMemory(Protocol):
    """A runtime that computes with OpenCL, and can share memory with other users of that."""

    def borrow(
        self,
        obj: object,
        dtype: np.dtype[Any] | None,
        shape: tuple[int, ...] | None,
        offset: int,
        queue: object,
        wait_for: Sequence[object],
        where: str = "",
    ) -> tuple[Storage, np.dtype[Any], Layout]:
        """The memory of a PyOpenCL object, and what lies where in it; no storage for no elements."""

    def lend(self, storage: Storage, dtype: DType, layout: Layout, queue: object, where: str = "") -> Any:
        """A PyOpenCL array over elements of a storage, or (None) over none."""


def is_spread(node: Buffer) -> bool:
    """Whether the values lie so far apart that they are brought together on the device before they are downloaded."""
    low, high = node.layout.range()
    return high - low > _WASTE * node.size


def copied(node: Buffer, executor: Executor) -> NDArray[Any]:
    """The values as a new NumPy array, as they lie in memory (`in_memory`)."""
    dtype = in_memory(node.dtype)
    low, high = node.layout.range()
    if low == high:
        return np.empty(node.shape, dtype)
    values = executor.download(node.storage, node.dtype, low, high - low, caller(3)).result().view(dtype)
    if node.layout.is_dense:
        return values.reshape(node.shape)
    strides = [stride * dtype.itemsize for stride in node.layout.strides]
    return as_strided(values[node.layout.offset - low :], node.shape, strides).copy()


def in_memory(dtype: DType) -> np.dtype[Any]:
    """The dtype of NumPy's arrays of what lies in memory: `HELD` for bfloat16, which `shown` turns into what users
    get."""
    return HELD if dtype is BF16 else dtype.numpy


def in_place(node: Buffer, executor: Executor) -> NDArray[Any] | None:
    """The values where they are, read-only, as `copied` gives them; None where the host cannot reach them."""
    dtype = in_memory(node.dtype)
    if not node.size:
        none: NDArray[Any] = np.empty(node.shape, dtype)
        none.flags.writeable = False
        return none
    low, high = node.layout.range()
    values = executor.view(node.storage, node.dtype, low, high - low, calling_line())
    if values is None:
        return None
    strides = [stride * dtype.itemsize for stride in node.layout.strides]
    return as_strided(values.view(dtype)[node.layout.offset - low :], node.shape, strides, writeable=False)


def uncopied(node: Buffer, executor: Executor, dtype: Any = None) -> NDArray[Any]:
    """The values where they are, read-only, as users get them. Raises `SharingError` where the host cannot reach them,
    or NumPy has no such dtype, or another one is wanted."""
    if dtype is not None and np.dtype(dtype) != node.dtype.public:
        raise SharingError(
            f"the values cannot be had without a copy as {np.dtype(dtype)}: they are {node.dtype.public}",
            place=calling_line(),
            remedy="use copy=None",
        )
    if node.dtype is BF16 and numpy_bfloat16() is None:
        raise SharingError(
            "the values cannot be had without a copy: NumPy has no bfloat16",
            place=calling_line(),
            remedy="install the package ml_dtypes; or use copy=None, which gives float32",
        )
    return shown(_reached(node, executor))


def _reached(node: Buffer, executor: Executor) -> NDArray[Any]:
    values = in_place(node, executor)
    if values is None:
        raise SharingError(
            "the values cannot be had without a copy: they are on a device with memory of its own, or PyOpenCL may "
            "write to them",
            place=calling_line(),
            remedy="use copy=None or x.numpy()",
        )
    return values


def capsule(
    node: Buffer,
    executor: Executor,
    copied: Callable[[Buffer], NDArray[Any]],
    stream: object,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> Any:
    """The values on the host as DLPack gives them to others: in place where that is possible and can be said to be read
    only, else `copied`.

    Raises `SharingError` for a stream, another device, and where `copy` is False but one is needed.
    """
    if stream is not None:
        raise SharingError(
            f"DLPack with the stream {stream!r}: the values are given on the host, where there are none",
            place=calling_line(),
            remedy="use stream=None",
        )
    if dl_device is not None and tuple(map(int, dl_device)) != CPU:
        raise SharingError(
            f"DLPack to the device {tuple(map(int, dl_device))}: the values are given on the host",
            place=calling_line(),
            remedy=f"use dl_device={CPU}; for OpenCL without a copy, x.to_pyopencl()",
        )
    said = _VERSIONED and max_version is not None and max_version[0] >= 1
    host: NDArray[Any] | None = None
    if said and copy is not True:
        host = _reached(node, executor) if copy is False else in_place(node, executor)
        if copy is None and host is not None and min(host.strides, default=0) < 0:
            host = None  # many who take capsules do not take these
    elif copy is False:
        raise SharingError(
            "DLPack without a copy to one who cannot be told that the values must not be written to",
            place=calling_line(),
            remedy="use copy=None, or say max_version=(1, 0) or newer",
        )
    if host is None:
        host = copied(node)
    return to_capsule(host, {"max_version": max_version} if said else {})


def lent(node: Buffer, executor: Executor, queue: object) -> Any:
    """A PyOpenCL array over the values. Raises as `Array.to_pyopencl` does."""
    storage = node.storage if node.size else None
    return sharing(executor).lend(storage, node.dtype, node.layout, queue, calling_line())


def sharing(executor: Executor) -> SharesMemory:
    """The runtime of an executor. Raises `SharingError` for one that has no memory of OpenCL."""
    executor = base_executor(executor)
    if not isinstance(executor, SharesMemory):
        raise SharingError(
            "the runtime in use has no memory of OpenCL", place=calling_line(), remedy="use a Runtime, or Runtime.over"
        )
    return executor
