"""Types of values in kernel IR: scalars, vectors of 2–16 lanes, and pointers into an address space.

A complex scalar is two components of a float type, as in C and NumPy; vectors have it in at most 8 lanes, since OpenCL
C spells it as a vector of two.

A scalar type is one of the `DType` constants below. `BF16` is storage only: it can be loaded from and stored to memory,
where it converts to and from `F32`, and never computed with. `F16` is the same on devices without `cl_khr_fp16`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, TypeAlias

import numpy as np

from ocl_ir.bfloat16 import BFloat16, bfloat16, bits_of, floats_of, is_bfloat16
from ocl_ir.errors import DTypeError

Kind = Literal["bool", "int", "uint", "float", "complex"]
Space = Literal["global", "constant", "local", "private"]

_NUMPY = {
    "bool": "?", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8",
    "f16": "f2", "bf16": "u2", "tf32": "f4", "f32": "f4", "f64": "f8", "c64": "c8", "c128": "c16",
}  # fmt: skip

LANES = (2, 3, 4, 8, 16)
"""Vector widths of OpenCL C 1.2."""
COMPLEX_LANES = (2, 4, 8)
"""Those of complex numbers, which have half as many lanes as their spelling."""


@dataclass(frozen=True, eq=False, slots=True)
class DType:
    """A scalar type: `name` is its short name, `kind` its class, `bits` its width in memory.

    There is one object for each, so that identity is equality: they stand in the key of every node and plan.
    """

    name: str
    kind: Kind
    bits: int
    numpy: np.dtype = field(init=False)
    """The NumPy dtype of the same memory layout (`uint16` for bfloat16, which NumPy lacks)."""

    public: np.dtype = field(init=False)
    """What users know it as: NumPy's dtype, or `bfloat16`, which stands where a dtype of NumPy's would."""

    size: int = field(init=False)
    """Bytes of one element in memory."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "numpy", np.dtype(_NUMPY[self.name]))
        object.__setattr__(self, "public", bfloat16 if self.name == "bf16" else self.numpy)
        object.__setattr__(self, "size", self.bits // 8)

    def __reduce__(self) -> tuple[Callable[[str], DType], tuple[str]]:
        return _named, (self.name,)

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point type."""
        return self.kind == "float"

    @property
    def is_complex(self) -> bool:
        """Whether it is a complex type."""
        return self.kind == "complex"

    @property
    def is_inexact(self) -> bool:
        """Whether it is a floating-point or a complex type."""
        return self.kind in {"float", "complex"}

    @property
    def component(self) -> DType:
        """The type of the real and the imaginary part; of all but complex types, the type itself."""
        return DTYPES[f"f{self.bits // 2}"] if self.kind == "complex" else self

    @property
    def is_integer(self) -> bool:
        """Whether it is a signed or unsigned integer type (bool is not)."""
        return self.kind in {"int", "uint"}

    def value(self, number: object) -> Any:
        """A number as an element has it, converted as NumPy converts arrays: a Python bool, int, float or
        complex."""
        if self.name == "bf16":
            return floats_of(bits_of(number)).item()
        return np.asarray(number).astype(self.numpy).item()

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name.upper()


BOOL = DType("bool", "bool", 8)
I8, I16, I32, I64 = (DType(f"i{bits}", "int", bits) for bits in (8, 16, 32, 64))
U8, U16, U32, U64 = (DType(f"u{bits}", "uint", bits) for bits in (8, 16, 32, 64))
F16, F32, F64 = (DType(f"f{bits}", "float", bits) for bits in (16, 32, 64))
BF16 = DType("bf16", "float", 16)
TF32 = DType("tf32", "float", 32)
"""A float32 of which matrix instructions take sign, exponent and the upper 10 bits of the mantissa. It says so of their
operands only; no value and no memory has this type."""
C64, C128 = (DType(f"c{bits}", "complex", bits) for bits in (64, 128))

DTYPES: dict[str, DType] = {
    t.name: t for t in (BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64, C64, C128)
}


def _named(name: str) -> DType:
    return TF32 if name == TF32.name else DTYPES[name]


@dataclass(frozen=True, slots=True)
class Vector:
    """A short vector of `lanes` elements (2, 3, 4, 8 or 16) held by one work-item."""

    dtype: DType
    lanes: int

    def __post_init__(self) -> None:
        if self.lanes not in LANES:
            raise DTypeError(
                f"a vector of {self.lanes} lanes does not exist",
                remedy=f"use one of {', '.join(map(str, LANES))} lanes",
            )
        if self.dtype.is_complex and self.lanes not in COMPLEX_LANES:
            raise DTypeError(
                f"a vector of {self.lanes} complex lanes does not exist",
                remedy=f"use one of {', '.join(map(str, COMPLEX_LANES))} lanes",
            )

    def __str__(self) -> str:
        return f"{self.dtype}x{self.lanes}"


@dataclass(frozen=True, slots=True)
class Pointer:
    """The address of elements of `dtype` in `space`; the address is a multiple of `align` bytes."""

    dtype: DType
    space: Space = "global"
    align: int = 0

    def __post_init__(self) -> None:
        if self.align == 0:
            object.__setattr__(self, "align", self.dtype.size)
        if self.align % self.dtype.size or self.align & (self.align - 1):
            raise DTypeError(
                f"a pointer to {self.dtype} cannot be aligned to {self.align} bytes",
                remedy=f"use a power of two that is a multiple of {self.dtype.size}",
            )

    def __str__(self) -> str:
        aligned = f" align {self.align}" if self.align != self.dtype.size else ""
        return f"{self.space} {self.dtype}*{aligned}"


ValueType: TypeAlias = DType | Vector
Type: TypeAlias = DType | Vector | Pointer


def element(type_: Type) -> DType:
    """The scalar type inside of any type."""
    return type_ if isinstance(type_, DType) else type_.dtype


def lanes(type_: ValueType) -> int:
    """Number of lanes: 1 for a scalar."""
    return type_.lanes if isinstance(type_, Vector) else 1


def with_lanes(dtype: DType, count: int) -> ValueType:
    """`dtype` itself for one lane, else the vector type."""
    return dtype if count == 1 else Vector(dtype, count)


def with_dtype(type_: ValueType, dtype: DType) -> ValueType:
    """The type with the same number of lanes and another scalar type."""
    return with_lanes(dtype, lanes(type_))


def size_of(type_: ValueType) -> int:
    """Bytes that a value takes in memory when it is stored lane after lane."""
    return element(type_).size * lanes(type_)


@cache
def limits(dtype: DType) -> tuple[int, int]:
    """The least and the greatest number of an integer type."""
    info = np.iinfo(dtype.numpy)
    return int(info.min), int(info.max)


def is_dtype(value: object) -> bool:
    """Whether a value is a dtype as programs say it: NumPy's, the type of its scalars, or `bfloat16`."""
    return isinstance(value, np.dtype | BFloat16) or (isinstance(value, type) and issubclass(value, np.generic))


def from_numpy(dtype: object) -> DType:
    """The scalar type of a NumPy dtype (or anything `numpy.dtype` takes), or of what names bfloat16.

    Raises `DTypeError` for structured, object, datetime, string and non-native byte-order dtypes.
    """
    if not isinstance(dtype, np.dtype) and is_bfloat16(dtype):
        return BF16
    numpy_dtype = np.dtype(dtype)  # type: ignore[call-overload]
    if not numpy_dtype.isnative:
        raise DTypeError(
            f"dtype {numpy_dtype.str} has the other byte order",
            remedy="convert it: x.astype(x.dtype.newbyteorder('='))",
        )
    type_ = _FROM_NUMPY.get(numpy_dtype.str[1:])
    if type_ is None and is_bfloat16(numpy_dtype):
        return BF16
    if type_ is None:
        raise DTypeError(
            f"dtype {numpy_dtype} has no counterpart on a device",
            remedy="use bool, int8 to int64, uint8 to uint64, bfloat16, float16 to float64, complex64 or complex128",
        )
    return type_


_FROM_NUMPY = {np.dtype(code).str[1:]: DTYPES[name] for name, code in _NUMPY.items() if "bf16" != name != "tf32"}
