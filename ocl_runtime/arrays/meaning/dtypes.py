"""Dtypes of arrays, which are NumPy's, and the rules by which they combine.

Promotion is NumPy 2's, with weak Python scalars, but for one thing: where NumPy falls back on float64 (an integer array
with a Python float, the quotient of integers, a float function of integers), the default real dtype of the runtime is
used. A size of a function that is captured is a Python scalar too. Nothing is ever converted to a dtype that the device
does not have.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ocl_ir.guards import Backed, Given, Number
from ocl_ir.reals import given_of
from ocl_ir.source_line import calling_line
from ocl_ir.types import BOOL, I64, DType, from_numpy
from ocl_runtime.errors import DTypeError, NumberRangeError

if TYPE_CHECKING:
    from ocl_runtime.plan.target import Target

bool_ = np.dtype(np.bool_)
int8, int16, int32, int64 = (np.dtype(f"int{bits}") for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64))
float16, float32, float64 = (np.dtype(f"float{bits}") for bits in (16, 32, 64))

_KINDS: dict[str, str] = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


def to_dtype(dtype: object) -> DType:
    """The scalar type of anything that `numpy.dtype` takes. Raises `DTypeError` for what no device has."""
    try:
        return from_numpy(dtype)
    except DTypeError as error:
        raise DTypeError(error.fact, place=calling_line(), remedy=error.remedy) from None
    except TypeError as error:
        raise DTypeError(
            f"{dtype!r} is no dtype: {error}", place=calling_line(), remedy='use a dtype such as float32, or "float32"'
        ) from None


def require(dtype: DType, target: Target) -> DType:
    """The dtype itself. Raises `DTypeError` where the device has no arithmetic for it."""
    if dtype.name == "f64" and not target.fp64:
        raise DTypeError(
            "the device has no float64",
            place=calling_line(),
            remedy="convert to float32 first: astype(x, float32), or asarray(x, dtype=float32)",
        )
    return dtype


@lru_cache(maxsize=1024)
def promote(types: tuple[DType | type, ...], default_real: DType) -> DType:
    """The dtype that arrays and Python numbers have in common, given by their dtypes and by their types."""
    dtypes = [type_ for type_ in types if isinstance(type_, DType)]
    numbers = [type_ for type_ in types if not isinstance(type_, DType)]
    common = from_numpy(np.result_type(*(dtype.numpy for dtype in dtypes))) if dtypes else BOOL
    if common.is_float:
        return common
    if any(issubclass(number, float) for number in numbers):
        return default_real
    whole = any(not issubclass(number, bool) for number in numbers)
    return I64 if whole and common == BOOL else common


_SURELY_HELD = 65504.0
"""The largest half; larger numbers may overflow, which is no error."""


def checked(value: Number, dtype: DType) -> Number | Given:
    """The number as a value of `dtype`; floats round to it.

    Raises `NumberRangeError` for an integer out of range and `DTypeError` for a float where an integer is wanted.
    """
    if dtype.kind == "float":
        if type(value) is int or (type(value) is float and value):  # not 0.0, which has two signs
            return _rounded(value, dtype)
        if type(value) is not float and (placeholder := given_of(value)) is not None:
            return placeholder
        return rounded(value, dtype)
    if dtype.is_integer:
        if isinstance(value, float):
            raise _no_value(value, dtype, "round it to an int, or convert the array to a float dtype")
        signed = dtype.kind == "int"
        least, most = (-1 << dtype.bits - 1, (1 << dtype.bits - 1) - 1) if signed else (0, (1 << dtype.bits) - 1)
        if not least <= value <= most:
            raise NumberRangeError(
                f"{value} is out of range for {dtype.numpy}, which goes from {least} to {most}",
                place=calling_line(),
                remedy="convert the array to a wider dtype first: astype(x, int64)",
            )
        return value if isinstance(value, Backed) else int(value)
    if not isinstance(value, bool):
        raise _no_value(value, dtype, "compare first, as in x != 0")
    return value


@lru_cache(maxsize=1024)
def _rounded(value: float, dtype: DType) -> Number:
    """The same of a number that programs say again and again."""
    return rounded(value, dtype)


def rounded(value: Number, dtype: DType) -> Number:
    """A number as a float dtype has it. Raises `NumberRangeError` for an integer that is too large for any float."""
    if isinstance(value, Backed) and abs(value) <= 2 ** np.finfo(dtype.numpy).nmant:
        return value  # exact
    try:
        number = float(value)
        if abs(number) < _SURELY_HELD:  # `errstate` takes longer than all the rest
            return float(dtype.numpy.type(number))
        with np.errstate(over="ignore"):
            return float(dtype.numpy.type(number))
    except OverflowError:
        raise NumberRangeError(
            f"the integer is too large for {dtype.numpy}",
            place=calling_line(),
            remedy="use a smaller number",
        ) from None


def _no_value(value: Number, dtype: DType, remedy: str) -> DTypeError:
    return DTypeError(f"{value!r} is no {dtype.numpy}", place=calling_line(), remedy=remedy)


def can_cast(from_: object, to: object) -> bool:
    """Whether a dtype converts to another without losing values, by NumPy's rules."""
    return bool(np.can_cast(to_dtype(getattr(from_, "dtype", from_)).numpy, to_dtype(to).numpy))


def isdtype(dtype: object, kind: object) -> bool:
    """Whether a dtype is of a kind: a dtype, "bool", "integral", "real floating", …, or a tuple of those.

    Raises `DTypeError` for a kind that does not exist.
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, member) for member in kind)
    numpy_dtype = to_dtype(dtype).numpy
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise DTypeError(
                f"there is no kind {kind!r} of dtypes", place=calling_line(), remedy=f"use one of {', '.join(_KINDS)}"
            )
        return numpy_dtype.kind in _KINDS[kind]
    return numpy_dtype == to_dtype(kind).numpy


def finfo(type_: object, /) -> Any:
    """NumPy's limits of a float dtype, or of an array's. Raises `DTypeError` for other dtypes."""
    dtype = to_dtype(getattr(type_, "dtype", type_))
    if not dtype.is_float:
        raise DTypeError(f"{dtype.numpy} is no float dtype", place=calling_line(), remedy="use iinfo for integers")
    return np.finfo(dtype.numpy)


def iinfo(type_: object, /) -> Any:
    """NumPy's limits of an integer dtype, or of an array's. Raises `DTypeError` for other dtypes."""
    dtype = to_dtype(getattr(type_, "dtype", type_))
    if not dtype.is_integer:
        raise DTypeError(f"{dtype.numpy} is no integer dtype", place=calling_line(), remedy="use finfo for floats")
    return np.iinfo(dtype.numpy)
