"""Functions of NumPy's that make arrays; where they make floats without being told a dtype, these are float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ocl_runtime.arrays as xp
from ocl_ir.bfloat16 import bfloat16
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.current_runtime import executor_for
from ocl_runtime.errors import NumberRangeError, ShapeError
from ocl_runtime.numpy.grids import indices
from ocl_runtime.numpy.operands import array_of, arrays_in, is_weak, only, sizes
from ocl_runtime.numpy.promotion import DTypeLike, made_as

__all__ = [
    "array", "asanyarray", "asarray", "asarray_chkfinite", "ascontiguousarray", "copy", "empty", "empty_like", "eye",
    "from_dlpack", "frombuffer", "fromfunction", "fromiter", "full", "full_like", "identity", "ones", "ones_like",
    "tri", "tril", "triu", "zeros", "zeros_like",
]  # fmt: skip


def array(
    object: Any,
    dtype: DTypeLike = None,
    *,
    copy: bool | None = True,
    order: str | None = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    like: Any = None,
) -> Array:
    """An array of numbers, nested lists (with arrays in them, if you like), or whatever makes one; a copy of an array.

    Python's floats become float64.
    """
    only("array", order=order, subok=subok, like=like, ndmax=ndmax or None)
    x = asarray(object, dtype, copy=copy)
    return xp.reshape(x, (1,) * (ndmin - x.ndim) + x.shape) if ndmin > x.ndim else x


def asarray(
    a: Any,
    dtype: DTypeLike = None,
    order: str | None = None,
    *,
    device: object = None,
    copy: bool | None = None,
    like: Any = None,
) -> Array:
    """As `array`, but an array of the runtime in use that has the dtype is given back itself.

    Raises `MixedDevicesError` for a device that is not that of the runtime in use, `SharingError` (a ValueError) where
    `copy` is False but one is needed, `NumberRangeError` for Python's integers that the dtype cannot hold.
    """
    only("asarray", order=order, like=like)
    wanted = None if dtype is None else made_as(dtype)
    if isinstance(a, Array) or copy is False:
        return xp.asarray(a, wanted, device=device, copy=copy)
    executor = executor_for(device)
    if wanted is None or arrays_in(a):
        return array_of(a, wanted, None if arrays_in(a) else executor)
    if wanted != bfloat16 and (isinstance(a, list | tuple) or is_weak(a)):
        a = _cast(a, wanted)
    return xp.asarray(a, wanted)


def _cast(numbers: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Python's numbers as NumPy casts them: floats are cut to integers."""
    try:
        return np.asarray(numbers, dtype)
    except OverflowError as error:
        raise NumberRangeError(
            f"an array of {dtype} cannot be made of them: {error}", place=calling_line(), remedy="use another dtype"
        ) from None
    except (TypeError, ValueError):
        array_of(numbers)  # which says what is wrong
        raise


def asanyarray(
    a: Any,
    dtype: DTypeLike = None,
    order: str | None = None,
    *,
    device: object = None,
    copy: bool | None = None,
    like: Any = None,
) -> Array:
    """The same as `asarray`."""
    return asarray(a, dtype, order, device=device, copy=copy, like=like)


def ascontiguousarray(a: Any, dtype: DTypeLike = None, *, like: Any = None) -> Array:
    """As `asarray`, with at least one axis; where elements lie is the library's business."""
    x = asarray(a, dtype, like=like)
    return x if x.ndim else xp.reshape(x, (1,))


def asarray_chkfinite(a: Any, dtype: DTypeLike = None, order: str | None = None) -> Array:
    """As `asarray`. Raises `ShapeError` (a ValueError) for infinities and NaN; waits for that."""
    x = asarray(a, dtype, order)
    if not bool(xp.all(xp.isfinite(x))):
        raise ShapeError("the array has infinities or NaN", place=calling_line(), remedy="see isfinite(x)")
    return x


def copy(a: Any, order: str = "K", subok: bool = False) -> Array:
    """An array of its own with the same elements."""
    only("copy", order=order, subok=subok)
    return xp.positive(array_of(a))


def from_dlpack(x: Any, /, *, device: object = None, copy: bool | None = None) -> Array:
    """An array of one of another library, by DLPack."""
    return xp.from_dlpack(x, device=device, copy=copy)


def frombuffer(buffer: Any, dtype: DTypeLike = None, count: int = -1, offset: int = 0, *, like: Any = None) -> Array:
    """A copy of the elements in a buffer of the host, by default of float64."""
    only("frombuffer", like=like)
    return array_of(np.frombuffer(buffer, float if dtype is None else dtype, count, offset))


def fromiter(iter: Any, dtype: DTypeLike, count: int = -1, *, like: Any = None) -> Array:
    """The numbers of an iterable."""
    only("fromiter", like=like)
    return asarray(np.fromiter(iter, dtype, count), dtype)


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: DTypeLike = float, like: Any = None, **kwargs: Any
) -> Any:
    """What a function makes of the coordinates of a shape, one array for each axis."""
    only("fromfunction", like=like)
    return function(*indices(shape, dtype), **kwargs)


# ---------------------------------------------------------------------- constants


def zeros(shape: Any, dtype: DTypeLike = None, order: str = "C", *, device: object = None, like: Any = None) -> Array:
    """Zeros, by default of float64."""
    only("zeros", order=order, like=like)
    return xp.zeros(sizes(shape), dtype=made_as(dtype), device=device)


def ones(shape: Any, dtype: DTypeLike = None, order: str = "C", *, device: object = None, like: Any = None) -> Array:
    """Ones, by default of float64."""
    only("ones", order=order, like=like)
    return xp.ones(sizes(shape), dtype=made_as(dtype), device=device)


def empty(shape: Any, dtype: DTypeLike = None, order: str = "C", *, device: object = None, like: Any = None) -> Array:
    """An array whose values nobody should look at."""
    only("empty", order=order, like=like)
    return xp.empty(sizes(shape), dtype=made_as(dtype), device=device)


def full(
    shape: Any,
    fill_value: Any,
    dtype: DTypeLike = None,
    order: str = "C",
    *,
    device: object = None,
    like: Any = None,
) -> Array:
    """One value everywhere, or several broadcast; by default of the dtype that NumPy gives the value."""
    only("full", order=order, like=like)
    if device is not None:
        xp.zeros((), device=device)  # which raises for another device
    value = array_of(fill_value, None if dtype is None else made_as(dtype))
    return xp.positive(xp.broadcast_to(value, sizes(shape)))


def zeros_like(
    a: Any,
    dtype: DTypeLike = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: object = None,
) -> Array:
    """Zeros of the dtype and shape of an array, unless others are given."""
    return _like("zeros_like", xp.zeros, a, dtype, order, subok, shape, device)


def ones_like(
    a: Any,
    dtype: DTypeLike = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: object = None,
) -> Array:
    """Ones of the dtype and shape of an array, unless others are given."""
    return _like("ones_like", xp.ones, a, dtype, order, subok, shape, device)


def empty_like(
    prototype: Any,
    /,
    dtype: DTypeLike = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: object = None,
) -> Array:
    """An array of the dtype and shape of another whose values nobody should look at."""
    return _like("empty_like", xp.empty, prototype, dtype, order, subok, shape, device)


def full_like(
    a: Any,
    fill_value: Any,
    dtype: DTypeLike = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: object = None,
) -> Array:
    """One value, or several broadcast, in the dtype and shape of an array, unless others are given."""
    made = _like("full_like", xp.zeros, a, dtype, order, subok, shape, device)
    made[...] = fill_value if is_weak(fill_value) else array_of(fill_value, executor=made._executor)
    return made


def _like(
    what: str,
    make: Callable[..., Array],
    a: Any,
    dtype: DTypeLike,
    order: str,
    subok: bool,
    shape: Any,
    device: object,
) -> Array:
    only(what, order=order, subok=subok)
    x = array_of(a)
    wanted = x.dtype if dtype is None else made_as(dtype, x._executor)
    with xp.use(x._executor):
        return make(x.shape if shape is None else sizes(shape), dtype=wanted, device=device)


def eye(
    N: int,  # noqa: N803
    M: int | None = None,  # noqa: N803
    k: int = 0,
    dtype: DTypeLike = float,
    order: str = "C",
    *,
    device: object = None,
    like: Any = None,
) -> Array:
    """A matrix with ones on diagonal `k`."""
    only("eye", order=order, like=like)
    return xp.eye(N, M, k=k, dtype=made_as(dtype), device=device)


def identity(n: int, dtype: DTypeLike = None, *, like: Any = None) -> Array:
    """A square matrix with ones on the diagonal."""
    return eye(n, dtype=dtype, like=like)


def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike = float, *, like: Any = None) -> Array:  # noqa: N803
    """A matrix with ones on diagonal `k` and below."""
    only("tri", like=like)
    return xp.tril(xp.ones((N, N if M is None else M), dtype=made_as(dtype)), k=k)


def tril(m: Any, k: int = 0) -> Array:
    """The matrices in the last two axes with zeros above diagonal `k`."""
    return xp.tril(_matrix(m), k=k)


def triu(m: Any, k: int = 0) -> Array:
    """The matrices in the last two axes with zeros below diagonal `k`."""
    return xp.triu(_matrix(m), k=k)


def _matrix(m: Any) -> Array:
    x = array_of(m)
    return xp.broadcast_to(x, (x.size, x.size)) if x.ndim == 1 else x
