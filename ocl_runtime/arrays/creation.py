"""Functions that make arrays. Only `asarray` moves data; the others are expressions, which take no memory."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from ocl_ir import graph
from ocl_ir.graph import Node
from ocl_ir.guards import Backed, Number
from ocl_ir.layout import Layout, Shape
from ocl_ir.reference import calling_line
from ocl_ir.types import BOOL, F16, F32, I32, I64, DType
from ocl_runtime.arrays.array import Array, from_host
from ocl_runtime.arrays.axes import length_of, shape_of
from ocl_runtime.arrays.dtypes import checked, promote, require, to_dtype
from ocl_runtime.arrays.functions import astype, where
from ocl_runtime.arrays.in_use import executor_for
from ocl_runtime.arrays.manipulation import broadcast_to, reshape
from ocl_runtime.errors import DTypeError, NumberRangeError, ShapeError, SharingError
from ocl_runtime.plan.executor import Executor

_LARGEST = sys.float_info.max
_SHOWN_BITS = 200
"""Of an integer that an error shows; Python writes none of many thousand digits."""


def asarray(obj: Any, /, *, dtype: Any = None, device: object = None, copy: bool | None = None) -> Array:
    """An array of numbers, nested lists, a NumPy array of any strides, or whatever offers `__array__` or DLPack.

    The values are copied at the call, so later changes of `obj` do not show; an `Array` is not copied
    (`dtype` converts it). Python floats become the default real dtype; NumPy's dtypes are kept. With a `dtype`, NumPy
    arrays are converted as by `astype`; Python's numbers must have a value in it.

    Raises `DTypeError` for dtypes that the device does not have, `ShapeError` for lists of differing lengths,
    `NumberRangeError` for Python numbers that the dtype cannot hold, `SharingError` (a ValueError) where `copy` is
    False but one is needed.
    """
    if isinstance(obj, Array):
        return obj if dtype is None else astype(obj, dtype, device=device)
    if copy is False:
        raise SharingError(
            "asarray always copies what is on the host", place=calling_line(), remedy="use copy=None or copy=True"
        )
    executor = executor_for(device)
    wanted = None if dtype is None else require(to_dtype(dtype), executor.target)
    host = _host(obj)
    if host.dtype.kind in "biufO" and _is_python(obj):
        if wanted is None and host.dtype.kind in "fO":
            wanted = executor.default_real if host.dtype.kind == "f" else I64
        host = host if wanted is None else _held(host, wanted)
    elif wanted is not None and host.dtype.kind in "biuf":
        with np.errstate(all="ignore"):
            host = host.astype(wanted.numpy)
    return from_host(host, executor)


def _held(host: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    """Python's numbers as `dtype`; floats round to it. Raises `NumberRangeError` for one that it cannot hold."""
    numbers = host.ravel().tolist()
    if dtype.is_float:
        largest = np.finfo(dtype.numpy).max.item()
        lost = [number for number in numbers if largest < abs(number) != math.inf]
        with np.errstate(all="ignore"):  # what is hardly larger rounds to the largest
            lost = [number for number in lost if abs(number) > _LARGEST or np.isinf(dtype.numpy.type(number))]
        holds = f"up to {largest}"
    else:
        limits = (0, 1) if dtype == BOOL else (np.iinfo(dtype.numpy).min, np.iinfo(dtype.numpy).max)
        lost = [number for number in numbers if not limits[0] <= number <= limits[1] or number != int(number)]
        holds = f"whole numbers from {limits[0]} to {limits[1]}"
    if lost:
        shown = "the integer" if isinstance(lost[0], int) and lost[0].bit_length() > _SHOWN_BITS else repr(lost[0])
        raise NumberRangeError(
            f"{shown} is no value of {dtype.numpy}, which holds {holds}",
            place=calling_line(),
            remedy="use another dtype, or make a NumPy array first, which is converted as by astype",
        )
    return host.astype(dtype.numpy)


def _host(obj: Any) -> np.ndarray[Any, Any]:
    try:
        if hasattr(obj, "__dlpack__") and not hasattr(obj, "__array__"):
            return np.from_dlpack(obj)
        return np.asarray(obj)
    except ValueError as error:
        raise ShapeError(
            f"no array can be made of a {type(obj).__name__}: {error}",
            place=calling_line(),
            remedy="make all rows equally long",
        ) from error


def _is_python(obj: object) -> bool:
    """Whether an object is made of Python's own lists and numbers, which are weak."""
    if isinstance(obj, list | tuple | range):
        return all(_is_python(part) for part in obj)
    return isinstance(obj, bool | int | float) and not isinstance(obj, np.generic)


def full(shape: int | Iterable[int], fill_value: Number, *, dtype: Any = None, device: object = None) -> Array:
    """An array with one value everywhere, by default of the value's kind: bool, int64 or the default real dtype.

    Raises `ShapeError` for a shape with negative or non-integer lengths, `DTypeError` for a value that is no number.
    """
    executor = executor_for(device)
    if isinstance(fill_value, np.generic):
        dtype, fill_value = dtype or fill_value.dtype, fill_value.item()
    if not isinstance(fill_value, Number):
        raise DTypeError(
            f"an array cannot be filled with a {type(fill_value).__name__}",
            place=calling_line(),
            remedy="use a bool, int or float; or broadcast_to(x, shape)",
        )
    type_ = _dtype(dtype, promote((type(fill_value),), executor.default_real), executor)
    return Array(graph.scalar(checked(fill_value, type_), type_, shape_of(shape, type_.size)), executor)


def zeros(shape: int | Iterable[int], *, dtype: Any = None, device: object = None) -> Array:
    """Zeros, by default of the default real dtype. Raises `ShapeError` as `full` does."""
    return _constant(0, shape, dtype, device)


def ones(shape: int | Iterable[int], *, dtype: Any = None, device: object = None) -> Array:
    """Ones, by default of the default real dtype. Raises `ShapeError` as `full` does."""
    return _constant(1, shape, dtype, device)


def empty(shape: int | Iterable[int], *, dtype: Any = None, device: object = None) -> Array:
    """An array whose values nobody should look at; they are zeros, which costs nothing until they are used."""
    return zeros(shape, dtype=dtype, device=device)


def _constant(value: int, shape: int | Iterable[int], dtype: Any, device: object) -> Array:
    executor = executor_for(device)
    type_ = _dtype(dtype, executor.default_real, executor)
    filled: Number = bool(value) if type_ == BOOL else float(value) if type_.is_float else value
    return Array(graph.scalar(filled, type_, shape_of(shape, type_.size)), executor)


def _dtype(dtype: Any, otherwise: DType, executor: Executor) -> DType:
    return require(otherwise if dtype is None else to_dtype(dtype), executor.target)


def zeros_like(x: Array, /, *, dtype: Any = None, device: object = None) -> Array:
    """Zeros of the shape of `x`, and of its dtype unless another is given."""
    return _like(x, 0, dtype, device)


def ones_like(x: Array, /, *, dtype: Any = None, device: object = None) -> Array:
    """Ones of the shape of `x`, and of its dtype unless another is given."""
    return _like(x, 1, dtype, device)


def empty_like(x: Array, /, *, dtype: Any = None, device: object = None) -> Array:
    """An array of the shape of `x` whose values nobody should look at."""
    return _like(x, 0, dtype, device)


def full_like(x: Array, /, fill_value: Number, *, dtype: Any = None, device: object = None) -> Array:
    """One value in the shape of `x`, and in its dtype unless another is given."""
    filled = full((), fill_value, dtype=x.dtype if dtype is None else dtype, device=device or x.device)
    return broadcast_to(filled, x.shape)


def _like(x: Array, value: int, dtype: Any, device: object) -> Array:
    return _constant(value, x.shape, x.dtype if dtype is None else dtype, device or x.device)


def arange(
    start: float, /, stop: float | None = None, step: float = 1, *, dtype: Any = None, device: object = None
) -> Array:
    """`start, start + step, …` below `stop`; with one number, those from 0 below it. int64, or the default real dtype.

    Raises `ShapeError` for a step of 0 and for ranges that never end.
    """
    executor = executor_for(device)
    first, last = (0, start) if stop is None else (start, stop)
    type_ = _dtype(dtype, promote((int, *map(type, (first, last, step))), executor.default_real), executor)
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
    whole = all(isinstance(one, int | Backed) for one in (first, last, step))
    count: int = -((first - last) // step) if whole else math.ceil((last - first) / step)
    return max(0, count)


def _line(first: Number, step: Number, shape: Shape, dtype: DType) -> Node:
    """`first + i * step` along one axis; in half, `i` would soon be infinite."""
    counted = F32 if dtype == F16 else dtype
    places = graph.iota(counted, Layout.contiguous(shape))
    if step != 1:
        places = graph.elementwise("mul", places, graph.scalar(checked(step, counted), counted, shape))
    if first:
        places = graph.elementwise("add", places, graph.scalar(checked(first, counted), counted, shape))
    return graph.convert(places, dtype)


def linspace(
    start: float, stop: float, /, num: int, *, dtype: Any = None, device: object = None, endpoint: bool = True
) -> Array:
    """`num` evenly spaced floats from `start` to `stop`, which is included as the last one if `endpoint`.

    Raises `ShapeError` for a number that is no size, `DTypeError` for a dtype that is no float.
    """
    executor = executor_for(device)
    type_ = _dtype(dtype, executor.default_real, executor)
    if not type_.is_float:
        raise DTypeError(f"linspace in {type_.numpy}", place=calling_line(), remedy="use a float dtype, then astype")
    count = length_of("linspace", num)
    shape = shape_of(count, type_.size)
    steps = count - 1 if endpoint else count
    line = Array(_line(float(start), (stop - start) / max(steps, 1), shape, type_), executor)
    if not endpoint or count < 2:
        return line
    places = Array(graph.iota(I64, Layout.contiguous(shape)), executor)
    return where(places == count - 1, float(stop), line)


def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: object = None) -> Array:
    """A matrix with ones on diagonal `k` and zeros elsewhere. Raises `ShapeError` for lengths that are no sizes."""
    executor = executor_for(device)
    type_ = _dtype(dtype, executor.default_real, executor)
    shape = shape_of((n_rows, n_rows if n_cols is None else n_cols), type_.size)
    return astype(_diagonal(shape, executor) == k, type_.numpy)


def _diagonal(shape: Shape, executor: Executor) -> Array:
    """The number of the diagonal that each element of the last two axes is on."""
    dtype = I32 if max(shape, default=0) < 2**31 else I64
    rows, columns = (graph.iota(dtype, Layout(shape[-2:], strides)) for strides in ((1, 0), (0, 1)))
    return Array(columns, executor) - Array(rows, executor)


def tril(x: Array, /, *, k: int = 0) -> Array:
    """The matrices in the last two axes with zeros above diagonal `k`. Raises `ShapeError` for fewer axes."""
    return where(_diagonal(_matrices("tril", x), x.executor) <= k, x, zeros_like(x))


def triu(x: Array, /, *, k: int = 0) -> Array:
    """The matrices in the last two axes with zeros below diagonal `k`. Raises `ShapeError` for fewer axes."""
    return where(_diagonal(_matrices("triu", x), x.executor) >= k, x, zeros_like(x))


def _matrices(what: str, x: Array) -> Shape:
    if x.ndim < 2:
        raise ShapeError(
            f"{what} of an array with {x.ndim} axes", place=calling_line(), remedy="add axes first: x[None, :]"
        )
    return x.shape


def meshgrid(*arrays: Array, indexing: Literal["xy", "ij"] = "xy") -> list[Array]:
    """Coordinate matrices of one-dimensional arrays: array `i` varies along axis `i` (0 and 1 exchanged for "xy").

    Raises `ShapeError` for arrays with more axes, or another indexing.
    """
    if indexing not in {"xy", "ij"} or any(x.ndim != 1 for x in arrays):
        raise ShapeError(
            f"meshgrid of arrays of shapes {', '.join(str(x.shape) for x in arrays)}, indexing {indexing!r}",
            place=calling_line(),
            remedy='give arrays with one axis, and indexing="xy" or "ij"',
        )
    order = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        order[:2] = 1, 0
    shape = tuple(arrays[place].size for place in order)
    grids = []
    for place, x in enumerate(arrays):
        axis = order.index(place)
        lengths = tuple(x.size if other == axis else 1 for other in range(len(arrays)))
        grids.append(broadcast_to(reshape(x, lengths), shape))
    return grids
