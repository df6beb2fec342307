"""Arrays of other libraries: through DLPack, and PyOpenCL's without a copy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from numpy.typing import NDArray

from ocl_ir.graph import build as graph
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays.array import Array, from_host
from ocl_runtime.arrays.axes import shape_of
from ocl_runtime.arrays.current_runtime import current_executor, executor_for
from ocl_runtime.arrays.dlpack import from_capsule
from ocl_runtime.arrays.functions.transfers import allocate, compute_into
from ocl_runtime.arrays.meaning.dtypes import require, to_dtype
from ocl_runtime.arrays.reals import base_executor, like
from ocl_runtime.arrays.values import sharing
from ocl_runtime.errors import DTypeError, SharingError

_ON_HOST = (1, 3, 11)
"""DLPack's kDLCPU, kDLCUDAHost and kDLROCMHost: memory that the host reads."""
_OPENCL = 4


def from_dlpack(x: Any, /, *, device: object = None, copy: bool | None = None) -> Array:
    """An array with the values of whatever offers DLPack (`__dlpack__` and `__dlpack_device__`).

    Memory of the host is read where it is and uploaded, once, before this returns. From any other device, one of
    OpenCL too, the exporter is asked for a copy on the host (`dl_device`, of DLPack 1), since a capsule of OpenCL names
    no queue to be ordered with; PyOpenCL's buffers and arrays are taken without a copy by `from_pyopencl`. An `Array`
    of the runtime in use is given back itself unless `copy` is True.

    Raises `SharingError` (a BufferError) where `copy` is False but one is needed, or where the exporter gives nothing;
    `DTypeError` for what offers no DLPack, and for dtypes that the device does not have.
    """
    executor = executor_for(device)
    if isinstance(x, Array):
        if base_executor(x._executor) is base_executor(executor):
            return compute_into(allocate(x.shape, dtype=x.dtype), x)._by(x._executor) if copy else x
        if copy is not False:
            return from_host(x._held(), like(executor, x._executor))
    if copy is False:
        raise SharingError(
            "from_dlpack copies what lies on the host to the device", place=calling_line(), remedy="use copy=None"
        )
    return from_host(_on_host(x), executor)


def _on_host(x: Any) -> NDArray[Any]:
    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        raise DTypeError(
            f"from_dlpack of a {type(x).__name__}, which offers no DLPack",
            place=calling_line(),
            remedy="use asarray(x)",
        )
    kind = int(x.__dlpack_device__()[0])
    try:
        return from_capsule(x) if kind in _ON_HOST else from_capsule(x, device="cpu")
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        remedy = "copy the values to the host first"
        if kind == _OPENCL:
            remedy += ", or use from_pyopencl for what PyOpenCL holds"
        raise SharingError(
            f"a {type(x).__name__} on DLPack's device {kind} does not give its values: {error}",
            place=calling_line(),
            remedy=remedy if kind not in _ON_HOST else "convert it to a dtype of NumPy's that devices have",
        ) from error


def from_pyopencl(
    obj: Any,
    /,
    *,
    dtype: Any = None,
    shape: int | Iterable[int] | None = None,
    offset: int = 0,
    queue: Any = None,
    wait_for: Sequence[Any] = (),
) -> Array:
    """An array over the memory of a `pyopencl.Buffer` or a `pyopencl.array.Array`, without a copy.

    A buffer needs a `dtype`; `shape` is by default all elements from byte `offset` on. An array has these, and strides,
    of its own. The runtime in use must be of the same context: see `Runtime.over`. The memory stays the user's: it is
    kept alive as long as the result, or anything made of it, and is not freed here.

    What may be written there is ordered with all that is computed from the result, and with all that is computed into
    it, if it is enqueued on `queue`: by default the array's own, else `Runtime.queue`. That holds for as long as the
    result lives, on the device and in both directions, and nothing has to be announced: what the queue was given before
    a command of ours comes before it, what it is given afterwards comes after it. Work on other queues is not ordered:
    have `queue` wait for it (`pyopencl.enqueue_marker(queue, wait_for=[event])`), or give its events as `wait_for` now;
    those of an array's `events` are waited for anyway. The first command of ours that touches the memory waits for
    them, on the device.

    Raises `DTypeError` for anything else, for a missing dtype and for one that the device does not have; `ShapeError`
    for an offset that the size of an element does not divide and for more elements than there are; `SharingError` for
    memory that kernels cannot read; `MixedDevicesError` for another context's; `DeviceError` for an out-of-order queue.
    A buffer that was released must not be given: PyOpenCL cannot tell, and drivers crash.
    """
    executor = current_executor()
    type_ = None if dtype is None else require(to_dtype(dtype), executor.target)
    wanted = None if shape is None else shape_of(shape, 1 if type_ is None else type_.size)
    numpy_dtype = None if type_ is None else type_.numpy
    where = calling_line()
    storage, buffer_dtype, layout = sharing(executor).borrow(obj, numpy_dtype, wanted, offset, queue, wait_for, where)
    held = to_dtype(buffer_dtype) if type_ is None else type_
    return Array(graph.buffer(storage, require(held, executor.target), layout), executor)
