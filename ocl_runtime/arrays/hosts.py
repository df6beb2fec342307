"""Values of the host as NumPy arrays of a dtype that arrays have: numbers, nested lists, NumPy arrays, and whatever
offers `__array__` or DLPack."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocl_ir.bfloat16 import bfloat16, floats_of, held, is_bfloat16
from ocl_ir.guards import NUMBERS
from ocl_ir.source_line import calling_line
from ocl_ir.types import BF16, BOOL, I64, DType
from ocl_runtime.arrays.dlpack import from_capsule
from ocl_runtime.arrays.meaning.dtypes import complex_of
from ocl_runtime.errors import DTypeError, NumberRangeError, ShapeError

_TYPES = (*NUMBERS, np.generic, np.ndarray, list, tuple, range)
_SHOWN_BITS = 200
"""Of an integer that an error shows; Python writes none of many thousand digits."""


def is_array_like(value: object) -> bool:
    """Whether `host_values` takes it, as far as its type tells."""
    return not is_pyopencl(value) and (
        isinstance(value, _TYPES) or hasattr(value, "__array__") or hasattr(value, "__dlpack__")
    )


def is_pyopencl(value: object) -> bool:
    """Whether it is something of PyOpenCL's, which is on a device already."""
    return type(value).__module__.partition(".")[0] == "pyopencl"


def refused(what: str, value: object) -> DTypeError:
    """The error for what is no array and nothing that one can be made of."""
    if is_pyopencl(value):
        return DTypeError(
            f"{what} does not take a {type(value).__module__}.{type(value).__name__}",
            place=calling_line(),
            remedy="take its memory without a copy: from_pyopencl(x)",
        )
    return DTypeError(
        f"{what} does not take an operand of type {type(value).__name__}",
        place=calling_line(),
        remedy="use arrays, numbers, lists of them, and NumPy arrays",
    )


def host_values(value: object, default_real: DType, dtype: DType | None = None) -> NDArray[Any]:
    """The values as a NumPy array, of `dtype` if that is given.

    Without it, Python's floats become the default real dtype, its integers int64, and NumPy's dtypes are kept. With it,
    NumPy's arrays are converted as by `astype`, and Python's numbers must have a value in it; floats round to it.

    Raises `DTypeError` for what is no array of numbers, `ShapeError` for lists of differing lengths, `NumberRangeError`
    for integers that the dtype cannot hold.
    """
    if not is_array_like(value):
        raise refused("asarray", value)
    host = _host(value)
    if host.dtype.kind in "biufcO" and _is_python(value):
        if dtype is None and host.dtype.kind in "fcO":
            dtype = I64 if host.dtype.kind == "O" else default_real
            dtype = complex_of(dtype) if host.dtype.kind == "c" else dtype
        return host if dtype is None else _held(host, dtype)
    if dtype is not None and (host.dtype.kind in "biufc" or is_bfloat16(host.dtype)):
        return converted(host, dtype)
    return host


def converted(host: NDArray[Any], dtype: DType) -> NDArray[Any]:
    """A NumPy array as another dtype, as by `astype`; bfloat16 as its bits, of the dtype `HELD`."""
    if dtype is BF16:
        return held(host)
    if is_bfloat16(host.dtype):
        host = floats_of(host.view(np.uint16))
    if host.dtype.kind == "c" and not dtype.is_complex:
        raise DTypeError(
            f"{host.dtype} as {dtype.public} would lose the imaginary part",
            place=calling_line(),
            remedy="take the part that is meant first: x.real, x.imag or abs(x)",
        )
    with np.errstate(all="ignore"):
        return host.astype(dtype.numpy, copy=False)


def _held(host: NDArray[Any], dtype: DType) -> NDArray[Any]:
    """Python's numbers as `dtype`; floats round to it, and to infinity, as numbers beside arrays do. Raises
    `NumberRangeError` for one that it cannot hold."""
    numbers = host.ravel().tolist()
    if host.dtype.kind == "c":
        return converted(host, dtype)
    if dtype.is_inexact:
        lost = [number for number in numbers if isinstance(number, int) and _overflows(number)]
        holds = "no integer of that size"
    else:
        limits = (0, 1) if dtype == BOOL else (np.iinfo(dtype.numpy).min, np.iinfo(dtype.numpy).max)
        lost = [number for number in numbers if not limits[0] <= number <= limits[1] or number != int(number)]
        holds = f"whole numbers from {limits[0]} to {limits[1]}"
    if lost:
        shown = "the integer" if isinstance(lost[0], int) and lost[0].bit_length() > _SHOWN_BITS else repr(lost[0])
        raise NumberRangeError(
            f"{shown} is no value of {dtype.public}, which holds {holds}",
            place=calling_line(),
            remedy="use another dtype, or make a NumPy array first, which is converted as by astype",
        )
    return converted(host, dtype)


def _overflows(number: int) -> bool:
    try:
        float(number)
    except OverflowError:
        return True
    return False


def _host(value: Any) -> NDArray[Any]:
    try:
        if hasattr(value, "__dlpack__") and (not hasattr(value, "__array__") or _is_foreign_bfloat16(value)):
            return from_capsule(value)
        return np.asarray(value)
    except ValueError as error:
        raise ShapeError(
            f"no array can be made of a {type(value).__name__}: {error}",
            place=calling_line(),
            remedy="make all rows equally long",
        ) from error


def _is_foreign_bfloat16(value: Any) -> bool:
    """Whether it is an array of bfloat16 that NumPy may not know, as torch has them."""
    return not isinstance(value, np.ndarray | np.generic) and str(getattr(value, "dtype", "")).endswith(bfloat16.name)


def _is_python(value: object) -> bool:
    """Whether an object is made of Python's own lists and numbers, which are weak."""
    if isinstance(value, list | tuple | range):
        return all(_is_python(part) for part in value)
    return isinstance(value, bool | int | float | complex) and not isinstance(value, np.generic)
