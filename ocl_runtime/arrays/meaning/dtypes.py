"""Dtypes of arrays, which are NumPy's, and the rules by which they combine.

Promotion is NumPy 2's, with weak Python scalars, but for one thing: where NumPy falls back on float64 (an integer array
with a Python float, the quotient of integers, a float function of integers), the default real dtype of the runtime is
used. A size of a function that is captured is a Python scalar too. Nothing is ever converted to a dtype that the device
does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ocl_ir.bfloat16 import LIMITS, bfloat16, is_bfloat16
from ocl_ir.guards import Backed, Given, Number, PythonNumber
from ocl_ir.reals import given_of
from ocl_ir.source_line import calling_line
from ocl_ir.types import BF16, BOOL, C64, C128, F16, F32, F64, I64, DType, from_numpy
from ocl_runtime.errors import DTypeError, NumberRangeError

if TYPE_CHECKING:
    from ocl_runtime.plan.target import Target

bool_ = np.dtype(np.bool_)
int8, int16, int32, int64 = (np.dtype(f"int{bits}") for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64))
float16, float32, float64 = (np.dtype(f"float{bits}") for bits in (16, 32, 64))
complex64, complex128 = (np.dtype(f"complex{bits}") for bits in (64, 128))

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
    """The scalar type of anything that `numpy.dtype` takes, of what names bfloat16, or the scalar type itself. Raises
    `DTypeError` for what no device has."""
    if isinstance(dtype, DType):
        return dtype
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
    if dtype.component is F64 and not target.fp64:
        narrower = "complex64" if dtype.is_complex else "float32"
        raise DTypeError(
            f"the device has no {dtype.public}",
            place=calling_line(),
            remedy=f"convert to {narrower} first: astype(x, {narrower}), or asarray(x, dtype={narrower})",
        )
    return dtype


@lru_cache(maxsize=1024)
def promote(types: tuple[DType | type, ...], default_real: DType) -> DType:
    """The dtype that arrays and Python numbers have in common, given by their dtypes and by their types."""
    dtypes = [type_ for type_ in types if isinstance(type_, DType)]
    numbers = [type_ for type_ in types if not isinstance(type_, DType)]
    common = from_numpy(common_of(*(dtype.public for dtype in dtypes))) if dtypes else BOOL
    if common.is_complex:
        return common
    if any(issubclass(number, complex) for number in numbers):
        return complex_of(common if common.is_float else default_real)
    if common.is_float:
        return common
    if any(issubclass(number, float) for number in numbers):
        return default_real
    whole = any(not issubclass(number, bool) for number in numbers)
    return I64 if whole and common == BOOL else common


def complex_of(real: DType) -> DType:
    """The complex dtype that has a float dtype's values as its parts: that of float32 for halves."""
    return C128 if real is F64 else C64


def as_promoted(rule: Callable[[tuple[Any, ...]], Sequence[Any]], kinds: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a rule of NumPy's makes of dtypes, among which bfloat16 may be: it is promoted as float16 is, and the two
    together as float32."""
    if not any(map(is_bfloat16, kinds)):
        return tuple(rule(kinds))
    half = float32 if float16 in kinds else float16
    results = rule(tuple(half if is_bfloat16(kind) else kind for kind in kinds))
    return tuple(bfloat16 if result == half == float16 else result for result in results)


def common_of(*kinds: Any) -> Any:
    """The dtype that `numpy.result_type` gives, for bfloat16 too."""
    (common,) = as_promoted(lambda known: [np.result_type(*known)], kinds)
    return common


_SURELY_HELD = 65504.0
"""The largest half; larger numbers may overflow, which is no error."""


def checked(value: PythonNumber, dtype: DType) -> PythonNumber | Given:
    """The number as a value of `dtype`; floats round to it.

    Raises `NumberRangeError` for an integer out of range and `DTypeError` for a float where an integer is wanted.
    """
    if dtype.is_complex:
        return _checked_complex(value, dtype)
    if isinstance(value, complex):
        raise _no_value(value, dtype, "convert the array to a complex dtype: astype(x, complex64)")
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
                f"{value} is out of range for {dtype.public}, which goes from {least} to {most}",
                place=calling_line(),
                remedy="convert the array to a wider dtype first: astype(x, int64)",
            )
        return value if isinstance(value, Backed) else int(value)
    if not isinstance(value, bool):
        raise _no_value(value, dtype, "compare first, as in x != 0")
    return value


def _checked_complex(value: PythonNumber, dtype: DType) -> PythonNumber | Given:
    """The number with parts as a complex dtype has them; a real one as its real part."""
    if isinstance(value, complex):
        return complex(*[cast("float", checked(part, dtype.component)) for part in (value.real, value.imag)])
    return checked(float(value) if isinstance(value, bool) else value, dtype.component)


@lru_cache(maxsize=1024)
def _rounded(value: float, dtype: DType) -> Number:
    """The same of a number that programs say again and again."""
    return rounded(value, dtype)


def rounded(value: Number, dtype: DType) -> Number:
    """A number as a float dtype has it. Raises `NumberRangeError` for an integer that is too large for any float."""
    if isinstance(value, Backed) and abs(value) <= 2 ** finfo(dtype).nmant:
        return value  # exact
    try:
        number = float(value)
        if dtype is BF16:
            return float(dtype.value(number))
        if abs(number) < _SURELY_HELD:  # `errstate` takes longer than all the rest
            return float(dtype.numpy.type(number))
        with np.errstate(over="ignore"):
            return float(dtype.numpy.type(number))
    except OverflowError:
        raise NumberRangeError(
            f"the integer is too large for {dtype.public}",
            place=calling_line(),
            remedy="use a smaller number",
        ) from None


def _no_value(value: PythonNumber, dtype: DType, remedy: str) -> DTypeError:
    return DTypeError(f"{value!r} is no {dtype.public}", place=calling_line(), remedy=remedy)


def can_cast(from_: object, to: object) -> bool:
    """Whether a dtype converts to another without losing values, by NumPy's rules."""
    return casts(to_dtype(getattr(from_, "dtype", from_)), to_dtype(to), "safe")


def casts(from_: DType, to: DType, casting: str) -> bool:
    """Whether a rule of NumPy's allows a conversion. What has a value in bfloat16 has one in float32, and 8 bits have
    one in bfloat16."""
    if from_ is to:
        return True
    if to is BF16 and from_ is F16:
        return casting in {"same_kind", "unsafe"}
    known: Any = casting
    return np.can_cast((F32 if from_ is BF16 else from_).numpy, (F16 if to is BF16 else to).numpy, known)


def isdtype(dtype: object, kind: object) -> bool:
    """Whether a dtype is of a kind: a dtype, "bool", "integral", "real floating", …, or a tuple of those.

    Raises `DTypeError` for a kind that does not exist.
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, member) for member in kind)
    type_ = to_dtype(dtype)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise DTypeError(
                f"there is no kind {kind!r} of dtypes", place=calling_line(), remedy=f"use one of {', '.join(_KINDS)}"
            )
        return type_.public.kind in _KINDS[kind]
    return type_ is to_dtype(kind)


def finfo(type_: object, /) -> Any:
    """NumPy's limits of a float dtype, or of an array's; those of bfloat16 have the same names, and of a complex dtype
    they are those of its parts. Raises `DTypeError` for other dtypes."""
    dtype = type_ if isinstance(type_, DType) else to_dtype(getattr(type_, "dtype", type_))
    if dtype is BF16:
        return LIMITS
    if not dtype.is_inexact:
        raise DTypeError(f"{dtype.public} is no float dtype", place=calling_line(), remedy="use iinfo for integers")
    return np.finfo(dtype.numpy)


def iinfo(type_: object, /) -> Any:
    """NumPy's limits of an integer dtype, or of an array's. Raises `DTypeError` for other dtypes."""
    dtype = to_dtype(getattr(type_, "dtype", type_))
    if not dtype.is_integer:
        raise DTypeError(f"{dtype.public} is no integer dtype", place=calling_line(), remedy="use finfo for floats")
    return np.iinfo(dtype.numpy)
