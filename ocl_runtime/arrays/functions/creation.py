"""Functions that make arrays. Only `asarray` moves data; the others are expressions, which take no memory."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.guards import Backed, PythonNumber
from ocl_ir.indices import Shape
from ocl_ir.layout import Layout
from ocl_ir.source_line import caller, calling_line
from ocl_ir.types import BOOL, F32, F64, I32, I64, DType
from ocl_runtime.arrays.array import Array, array_of, arrays_of, from_host
from ocl_runtime.arrays.axes import length_of, shape_of
from ocl_runtime.arrays.current_runtime import executor_for
from ocl_runtime.arrays.functions.elementwise import astype, complex_of, floor, where
from ocl_runtime.arrays.functions.manipulation import broadcast_to, reshape
from ocl_runtime.arrays.hosts import host_values, refused
from ocl_runtime.arrays.meaning.dtypes import checked, promote, require, to_dtype
from ocl_runtime.arrays.meaning.dtypes import complex_of as complex_dtype
from ocl_runtime.arrays.operands import ArrayLike
from ocl_runtime.arrays.reals import base_executor, like
from ocl_runtime.errors import DTypeError, ShapeError, SharingError

if TYPE_CHECKING:
    from ocl_runtime.plan.executor import Executor


def asarray(obj: Any, /, dtype: Any = None, *, device: object = None, copy: bool | None = None) -> Array:
    """An array of numbers, nested lists, a NumPy array of any strides, or whatever offers `__array__` or DLPack.

    The values are copied at the call, so later changes of `obj` do not show. An `Array` of the runtime in use is given
    back itself, or converted to `dtype`; one of another runtime is copied here by way of the host. With `copy=True` the
    result is always an array of its own. Python's floats become the default real dtype; NumPy's dtypes are kept. With a
    `dtype`, NumPy arrays are converted as by `astype`; Python's numbers must have a value in it.

    Raises `DTypeError` for dtypes that the device does not have, `ShapeError` for lists of differing lengths,
    `NumberRangeError` for Python numbers that the dtype cannot hold, `MixedDevicesError` for a device that is not that
    of the runtime in use, `SharingError` (a ValueError) where `copy` is False but one is needed.
    """
    executor = executor_for(device)
    wanted = None if dtype is None else require(to_dtype(dtype), executor.target)
    if isinstance(obj, Array):
        return _own(obj, wanted, executor, copy)
    if copy is False:
        raise SharingError(
            "asarray always copies what is on the host", place=calling_line(), remedy="use copy=None or copy=True"
        )
    return from_host(host_values(obj, executor.default_real, wanted), executor)


def _own(x: Array, dtype: DType | None, executor: Executor, copy: bool | None) -> Array:
    """An array in a dtype and on a runtime, itself if it is that already, unless `copy`."""
    here = base_executor(x._executor) is base_executor(executor)
    same = dtype is None or dtype == x._dtype
    if copy is False and not (here and same):
        raise SharingError(
            f"asarray of {x.dtype} on {x.device} as {x.dtype if dtype is None else dtype.public} on {executor.device}"
            f"{'' if here else ', another runtime,'} without a copy",
            place=calling_line(),
            remedy="use copy=None or copy=True",
        )
    if not here:
        x = from_host(x._held(), like(executor, x._executor))
    if dtype is not None and not same:
        return astype(x, dtype)
    return x.copy() if copy else x


def full(
    shape: int | Iterable[int],
    fill_value: PythonNumber | np.generic | Array,
    dtype: Any = None,
    *,
    device: object = None,
) -> Array:
    """An array with one value everywhere, by default of the value's kind: bool, int64 or the default real dtype. An
    array of shape () is a value too, with its dtype.

    Raises `ShapeError` for a shape with negative or non-integer lengths, `DTypeError` for a value that is no number.
    """
    executor = executor_for(device)
    if isinstance(fill_value, np.generic):
        dtype, fill_value = dtype or fill_value.dtype, fill_value.item()
    if isinstance(fill_value, Array) and not fill_value.ndim:
        value = fill_value if dtype is None else astype(fill_value, dtype)
        return broadcast_to(value, shape_of(shape)).copy()
    if not isinstance(fill_value, PythonNumber):
        raise DTypeError(
            f"an array cannot be filled with a {type(fill_value).__name__}",
            place=calling_line(),
            remedy="use a number; or broadcast_to(x, shape)",
        )
    type_ = _dtype(dtype, promote((fill_value.__class__,), executor.default_real), executor)
    return Array(graph.scalar(checked(fill_value, type_), type_, shape_of(shape, type_.size)), executor)


def zeros(shape: int | Iterable[int], dtype: Any = None, *, device: object = None) -> Array:
    """Zeros, by default of the default real dtype. Raises `ShapeError` as `full` does."""
    return _constant(0, shape, dtype, executor_for(device))


def ones(shape: int | Iterable[int], dtype: Any = None, *, device: object = None) -> Array:
    """Ones, by default of the default real dtype. Raises `ShapeError` as `full` does."""
    return _constant(1, shape, dtype, executor_for(device))


def empty(shape: int | Iterable[int], dtype: Any = None, *, device: object = None) -> Array:
    """An array whose values nobody should look at; they are zeros, which costs nothing until they are used."""
    return zeros(shape, dtype=dtype, device=device)


def _constant(value: int, shape: int | Iterable[int], dtype: Any, executor: Executor) -> Array:
    type_ = _dtype(dtype, executor.default_real, executor)
    filled: PythonNumber = bool(value) if type_ == BOOL else float(value) if type_.is_float else value
    line = caller(3)  # `zeros` or `ones` has called this
    return Array(graph.scalar(filled, type_, shape_of(shape, type_.size), line), executor)


def _dtype(dtype: Any, otherwise: DType, executor: Executor) -> DType:
    return require(otherwise if dtype is None else to_dtype(dtype), executor.target)


def zeros_like(x: ArrayLike, /, dtype: Any = None, *, device: object = None) -> Array:
    """Zeros of the shape of `x`, and of its dtype unless another is given."""
    x = array_of("zeros_like", x)
    return _like(x, 0, dtype, device)


def ones_like(x: ArrayLike, /, dtype: Any = None, *, device: object = None) -> Array:
    """Ones of the shape of `x`, and of its dtype unless another is given."""
    x = array_of("ones_like", x)
    return _like(x, 1, dtype, device)


def empty_like(x: ArrayLike, /, dtype: Any = None, *, device: object = None) -> Array:
    """An array of the shape of `x` whose values nobody should look at."""
    x = array_of("empty_like", x)
    return _like(x, 0, dtype, device)


def full_like(
    x: ArrayLike, /, fill_value: PythonNumber | np.generic | Array, dtype: Any = None, *, device: object = None
) -> Array:
    """One value in the shape of `x`, and in its dtype unless another is given."""
    x = array_of("full_like", x)
    if isinstance(fill_value, Array):
        x, fill_value = arrays_of("full_like", x, fill_value)
        return full(x.shape, fill_value, x.dtype if dtype is None else dtype)
    type_ = _dtype(x.dtype if dtype is None else dtype, x._dtype, _executor_like(x, device))
    number = fill_value.item() if isinstance(fill_value, np.generic) else fill_value
    return Array(graph.scalar(checked(number, type_), type_, x.shape), _executor_like(x, device))


def _like(x: Array, value: int, dtype: Any, device: object) -> Array:
    return _constant(value, x.shape, x.dtype if dtype is None else dtype, _executor_like(x, device))


def _executor_like(x: Array, device: object) -> Executor:
    """The runtime of an array, or that in use for another device."""
    return x._executor if device is None or device == x.device else executor_for(device)


def arange(
    start: float, /, stop: float | None = None, step: float = 1, dtype: Any = None, *, device: object = None
) -> Array:
    """`start, start + step, …` below `stop`; with one number, those from 0 below it. int64, or the default real dtype.

    Raises `ShapeError` for a step of 0 and for ranges that never end.
    """
    executor = executor_for(device)
    first, last = (0, start) if stop is None else (start, stop)
    for number in (first, last, step):
        if not isinstance(number, PythonNumber):
            raise refused("arange", number)
    type_ = _dtype(
        dtype, promote((int, *(number.__class__ for number in (first, last, step))), executor.default_real), executor
    )
    try:
        length = _count(first, last, step)
    except (ZeroDivisionError, OverflowError, ValueError):
        raise ShapeError(
            f"arange from {first} to {last} by {step} never ends",
            place=calling_line(),
            remedy="use finite numbers and a step that is not 0",
        ) from None
    shape = shape_of(length, type_.size)
    if type_ == BOOL:
        raise DTypeError("arange does not count in bool", place=calling_line(), remedy="use an integer dtype")
    return Array(_line(first, step, shape, type_), executor)


def _count(first: Any, last: Any, step: Any) -> int:
    """How many numbers there are from `first` below `last`."""
    whole = all(isinstance(number, int | Backed) for number in (first, last, step))
    count: int = -((first - last) // step) if whole else math.ceil((last - first) / step)
    return max(0, count)


def _line(first: PythonNumber, step: PythonNumber, shape: Shape, dtype: DType) -> Node:
    """`first + i * step` along one axis; in half, `i` would soon be infinite."""
    counted = F32 if dtype.bits == 16 else dtype.component
    values = graph.iota(counted, Layout.contiguous(shape))
    if step != 1:
        values = graph.elementwise("mul", values, graph.scalar(checked(step, counted), counted, shape))
    if first:
        values = graph.elementwise("add", values, graph.scalar(checked(first, counted), counted, shape))
    return graph.convert(values, dtype)


def linspace(
    start: float, stop: float, /, num: int, dtype: Any = None, *, device: object = None, endpoint: bool = True
) -> Array:
    """`num` evenly spaced numbers from `start` to `stop`, which is included as the last one if `endpoint`; with a dtype
    of integers, the greatest ones not above these.

    Raises `ShapeError` for a number that is no size.
    """
    executor = executor_for(device)
    wanted = _dtype(dtype, executor.default_real, executor)
    if wanted.is_complex or isinstance(start, complex) or isinstance(stop, complex):
        return _complex_line(complex(start), complex(stop), num, wanted, executor, endpoint)
    if not wanted.is_float:
        line = linspace(start, stop, num, F64 if executor.target.fp64 else F32, endpoint=endpoint)
        return astype(floor(line), wanted)
    type_ = wanted
    count = length_of("linspace", num)
    shape = shape_of(count, type_.size)
    steps = count - 1 if endpoint else count
    line = Array(_line(float(start), (stop - start) / max(steps, 1), shape, type_), executor)
    if not endpoint or count < 2:
        return line
    indices = Array(graph.iota(I64, Layout.contiguous(shape)), executor)
    return where(indices == count - 1, float(stop), line)


def _complex_line(start: complex, stop: complex, num: int, dtype: DType, executor: Executor, endpoint: bool) -> Array:
    """Evenly spaced complex numbers, whose parts are; without a complex dtype, in that of the default real one."""
    dtype = dtype if dtype.is_complex else complex_dtype(dtype)
    part, device = dtype.component.public, executor.device
    real, imag = (
        linspace(*ends, num, part, endpoint=endpoint, device=device)
        for ends in ((start.real, stop.real), (start.imag, stop.imag))
    )
    return complex_of(real, imag)


def eye(n_rows: int, n_cols: int | None = None, /, k: int = 0, *, dtype: Any = None, device: object = None) -> Array:
    """A matrix with ones on diagonal `k` and zeros elsewhere. Raises `ShapeError` for lengths that are no sizes."""
    executor = executor_for(device)
    type_ = _dtype(dtype, executor.default_real, executor)
    shape = shape_of((n_rows, n_rows if n_cols is None else n_cols), type_.size)
    return astype(_diagonal(shape, executor, k) == k, type_)


def _diagonal(shape: Shape, executor: Executor, k: int) -> Array:
    """The number of the diagonal that each element of the last two axes is on, to be compared with `k`."""
    dtype = I32 if max(shape, default=0) < 2**31 and abs(k) < 2**31 else I64
    rows, columns = (graph.iota(dtype, Layout(shape[-2:], strides)) for strides in ((1, 0), (0, 1)))
    return Array(columns, executor) - Array(rows, executor)


def tril(x: ArrayLike, /, k: int = 0) -> Array:
    """The matrices in the last two axes with zeros above diagonal `k`. Raises `ShapeError` for fewer axes."""
    x = array_of("tril", x)
    return where(_diagonal(_matrices("tril", x), x._executor, k) <= k, x, zeros_like(x))


def triu(x: ArrayLike, /, k: int = 0) -> Array:
    """The matrices in the last two axes with zeros below diagonal `k`. Raises `ShapeError` for fewer axes."""
    x = array_of("triu", x)
    return where(_diagonal(_matrices("triu", x), x._executor, k) >= k, x, zeros_like(x))


def _matrices(what: str, x: Array) -> Shape:
    if x.ndim < 2:
        raise ShapeError(
            f"{what} of an array with {x.ndim} axes", place=calling_line(), remedy="add axes first: x[None, :]"
        )
    return x.shape


def meshgrid(*vectors: ArrayLike, indexing: Literal["xy", "ij"] = "xy") -> list[Array]:
    """Coordinate matrices of one-dimensional arrays: array `i` varies along axis `i` (0 and 1 exchanged for "xy").

    Raises `ShapeError` for arrays with more axes, or another indexing.
    """
    arrays = arrays_of("meshgrid", *vectors)
    if indexing not in {"xy", "ij"} or any(x.ndim != 1 for x in arrays):
        raise ShapeError(
            f"meshgrid of arrays of shapes {', '.join(str(x.shape) for x in arrays)}, indexing {indexing!r}",
            place=calling_line(),
            remedy='give arrays with one axis, and indexing="xy" or "ij"',
        )
    order = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        order[:2] = 1, 0
    shape = tuple(arrays[index].size for index in order)
    grids = []
    for index, x in enumerate(arrays):
        axis = order.index(index)
        lengths = tuple(x.size if other == axis else 1 for other in range(len(arrays)))
        grids.append(broadcast_to(reshape(x, lengths), shape))
    return grids
