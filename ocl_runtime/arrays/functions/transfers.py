"""Moving values without waiting: uploads that begin, downloads that come, and host arrays made for both.

`asarray` and `Array.numpy` do the same with NumPy's manners: what they return is there, and nobody has to keep still.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from ocl_ir.bfloat16 import numpy_bfloat16, shown
from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Buffer
from ocl_ir.graph.forward import current
from ocl_ir.indices import Shape
from ocl_ir.layout import Layout
from ocl_ir.source_line import calling_line
from ocl_ir.types import BF16, DType
from ocl_runtime.arrays.array import Array, array_of, arrays_of, compute
from ocl_runtime.arrays.axes import shape_of
from ocl_runtime.arrays.core import compute_if_planned, compute_node, until_planned
from ocl_runtime.arrays.current_runtime import executor_for
from ocl_runtime.arrays.elements import settled_if_planned
from ocl_runtime.arrays.hosts import refused
from ocl_runtime.arrays.meaning.dtypes import require, to_dtype
from ocl_runtime.arrays.operands import ArrayLike
from ocl_runtime.arrays.values import in_memory
from ocl_runtime.errors import DTypeError, ShapeError
from ocl_runtime.plan.donation import is_lent
from ocl_runtime.plan.evaluate import Missing, evaluate_into
from ocl_runtime.plan.registry import alone
from ocl_runtime.plan.tracing import tracer

if TYPE_CHECKING:
    from ocl_runtime.plan.executor import Coming, Executor


class Download:
    """The values of an array on their way to the host."""

    def __init__(self, x: Array, coming: Coming | None, shape: Shape, out: NDArray[Any]) -> None:
        self._x = x
        self._coming = coming
        self._shape = shape
        self._out = out

    def done(self) -> bool:
        """Whether `result` would return at once."""
        return self._coming is None or self._coming.done()

    def result(self) -> NDArray[Any]:
        """The values, once they have come. Raises `LaunchError` for the failure that spoilt them."""
        self._x._report_indices()
        values = self._out if self._coming is None else self._coming.result().reshape(self._shape)
        return shown(values.view(in_memory(self._x._dtype)))


def upload(host: NDArray[Any], /, *, device: object = None) -> Array:
    """An array with the values of a NumPy array, which are copied while this thread goes on.

    The host array is kept alive, and must keep its values until something that was made of the result has been seen on
    the host, or `Runtime.finish` has returned. Copying is fastest from `pinned_empty` arrays. Raises `DTypeError` for
    what is no NumPy array or has a dtype that the device does not have.
    """
    if not isinstance(host, np.ndarray):
        raise DTypeError(
            f"upload of a {type(host).__name__}", place=calling_line(), remedy="use a NumPy array, or asarray(x)"
        )
    executor = executor_for(device)
    dtype = require(to_dtype(host.dtype), executor.target)
    dense = np.ascontiguousarray(host)
    storage = executor.upload(dense, calling_line(), snapshot=False) if host.size else None
    return Array(graph.buffer(storage, dtype, Layout.contiguous(host.shape)), executor)


def download(x: ArrayLike, /, *, out: NDArray[Any] | None = None) -> Download:
    """Computes an array and begins to copy its values to the host, to `out` if given, while this thread goes on.

    Raises `ShapeError` or `DTypeError` for an `out` that is not contiguous and writable, or not of the array's shape
    and dtype.
    """
    x = array_of("download", x)
    if out is not None:
        _check(x, out)
    compute(x)
    node = x._computed()
    if not node.size:
        return Download(x, None, x.shape, np.empty(x.shape, x._dtype.numpy) if out is None else out)
    if not node.layout.is_dense:
        node = contiguous(x)
    target = None if out is None else out.view(node.dtype.numpy)
    coming = x._executor.download(node.storage, node.dtype, node.layout.offset, node.size, calling_line(), target)
    return Download(x, coming, x.shape, np.empty(0) if out is None else out)


def _check(x: Array, out: NDArray[Any]) -> None:
    if not isinstance(out, np.ndarray) or out.dtype != x.dtype:
        what = out.dtype if isinstance(out, np.ndarray) else type(out).__name__
        raise DTypeError(
            f"download of {x.dtype} into {what}", place=calling_line(), remedy="give a NumPy array of the same dtype"
        )
    if out.shape != x.shape or not out.flags.c_contiguous or not out.flags.writeable:
        raise ShapeError(
            f"download of shape {x.shape} into an array of shape {out.shape} with strides {out.strides}",
            place=calling_line(),
            remedy="give a writable, contiguous array of the same shape",
        )


def pinned_empty(shape: int | Iterable[int], *, dtype: Any = None, device: object = None) -> NDArray[Any]:
    """A NumPy array with undefined values in memory that the device copies from and to by itself, at full speed.

    Every view of it keeps the memory. Raises `OutOfMemoryError` where there is none, `ShapeError` and `DTypeError` as
    `empty` does.
    """
    executor = executor_for(device)
    type_ = require(executor.default_real if dtype is None else to_dtype(dtype), executor.target)
    if type_ is BF16 and numpy_bfloat16() is None:
        raise DTypeError(
            "NumPy has no bfloat16", place=calling_line(), remedy="install the package ml_dtypes, or use float32"
        )
    return shown(executor.pinned(shape_of(shape, type_.size), type_, calling_line()).view(in_memory(type_)))


def compute_into(out: Array, x: ArrayLike, /) -> Array:
    """Computes an array into the memory of another one, or of a view of it, without any other memory where that can be.

    `out` must have been computed (an output made by `allocate`, or a view of one). As with `out[...] = x` its views see
    the new values, and copies, elements and expressions that were made before do not: if any of them needs that memory,
    `out` gets other memory. Memory that PyOpenCL has, too, is written all the same, and whatever looks at it sees that.
    Gives `out`.

    Raises `ShapeError` or `DTypeError` where shape or dtype differ, `MixedDevicesError` for arrays of two runtimes.
    """
    if not isinstance(out, Array):
        raise refused("compute_into", out)
    if out._value:
        raise out._not_writable()
    if not isinstance(x, Array) or x._executor is not out._executor:
        out, x = arrays_of("compute_into", out, x)
    target, base = out._node_at(""), out._cell.node
    if isinstance(target, Buffer) and not isinstance(base, Buffer) and tracer.get() is None:
        compute_node(out._executor, ref(base), ref(out._cell))  # of which only the view was computed
        target = out._node_at("")
    del base  # whoever has it needs it
    if not isinstance(target, Buffer):
        raise DTypeError(
            "compute_into an expression, which has no memory",
            place=calling_line(),
            remedy="use allocate, or a view of it",
        )
    if target.dtype != x._dtype:
        raise DTypeError(
            f"compute_into {out.dtype} from {x.dtype}",
            place=calling_line(),
            remedy="convert it first: astype(x, dtype)",
        )
    if target.shape != x.shape:
        raise ShapeError(
            f"compute_into shape {target.shape} from shape {x.shape}",
            place=calling_line(),
            remedy="use equal shapes: broadcast_to(x, shape) repeats what is missing",
        )
    # What `x[...] = row` repeats gets other memory, but PyOpenCL is to see what is written.
    if out._is_broadcast or (target.layout.repeats and is_lent(target.storage)):
        raise out._repeating("compute_into")
    del target  # whoever has it needs it
    missing = _compute_into(x, out, make=False)
    if missing is not None:
        until_planned(lambda make: _compute_into(x, out, make=make), missing)
    lines = x._executor.plans.lines
    if lines.unwritten:
        lines.write()
    return out


def _compute_into(x: Array, out: Array, *, make: bool) -> Missing | None:
    cell, executor, trace = out._cell, x._executor, tracer.get()
    with executor.registry.lock:  # nobody computes a part of it meanwhile
        if trace is None:
            # Another thread, or an attempt before this one, may have written it.
            is_computed, storage = type(cell.node) is Buffer, getattr(cell.node, "storage", None)
            is_outside = is_lent(storage)
            del storage  # whoever has it needs it
            if is_computed and (is_outside or alone(cell)):
                settled = settled_if_planned(cell, x._node, executor, make=make)
                if isinstance(settled, Missing):
                    return settled
                return evaluate_into(current(settled), _memory(out), executor, make=make)
            if is_computed:
                out._replace(x._node)  # others keep what they need of that memory
            return compute_if_planned((out,), executor, make=make)
        wanted = [x._node]
    if not trace.compute_into(wanted, cell, target=partial(_memory, out)):
        out._replace(x._node)
        compute_if_planned((out,), executor, make=True)
    return None


def _memory(out: Array) -> Buffer:
    node = out._node_at("")
    assert isinstance(node, Buffer)
    return node


def allocate(shape: int | Iterable[int], *, dtype: Any = None, device: object = None) -> Array:
    """An array with memory of its own and undefined values, to be computed into. Raises as `empty` does."""
    executor = executor_for(device)
    type_ = require(executor.default_real if dtype is None else to_dtype(dtype), executor.target)
    layout = Layout.contiguous(shape_of(shape, type_.size))
    return allocated(type_, layout, executor)


def contiguous(x: Array) -> Buffer:
    """A copy of a computed array with its elements in order, in memory of its own."""
    return _memory(compute_into(allocated(x._dtype, Layout.contiguous(x.shape), x._executor), x))


def allocated(dtype: DType, layout: Layout, executor: Executor) -> Array:
    """An array of an executor with memory of its own and undefined values."""
    storage = executor.allocate(layout.size * dtype.size, calling_line()) if layout.size else None
    return Array(graph.buffer(storage, dtype, layout), executor)
