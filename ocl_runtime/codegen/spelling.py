"""OpenCL C spellings of types and literals, and what compilers want spelled differently."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ocl_ir.kernel.grammar import Const
from ocl_ir.subgroups import Subgroups
from ocl_ir.types import F32, DType, Pointer, Type, ValueType, Vector, element, lanes

_SCALARS = {
    "bool": "bool", "i8": "char", "u8": "uchar", "i16": "short", "u16": "ushort", "i32": "int", "u32": "uint",
    "i64": "long", "u64": "ulong", "f16": "half", "f32": "float", "f64": "double",
}  # fmt: skip
_MEMORY = {**_SCALARS, "bool": "uchar", "bf16": "ushort"}
_ESCAPES = {'"': '\\"', "\\": "\\\\", "?": "\\?", "\n": "\\n", "\t": "\\t"}
_SIGNED = {8: "char", 16: "short", 32: "int", 64: "long"}


@dataclass(frozen=True)
class Dialect:
    """What the target wants spelled differently."""

    own_math: bool = False
    """Use the library's functions where the compiler's own do not become vector code, or are wrong on wide vectors."""
    vector_hint: bool = False
    """Say of a kernel with vectors that it needs no further vectorization."""
    ordered_loops: bool = False
    """Forbid vectors of loops that carry floats, because the compiler would change the order of operations."""
    guarded_loops: bool = False
    """In kernels with barriers, put loops that work-items leave at different turns behind a condition that is true."""
    opaque_complement: bool = False
    """Turn the bits of integers over in a way that the compiler does not recognise: it would lose that."""
    aligned_halves: bool = False
    """Move vectors of halves that are not known to be aligned as integers: the driver takes them for aligned."""
    scalar_halves: bool = False
    """Move vectors of halves that are known to be aligned as integers: the driver takes them one by one."""
    converted_halves: bool = False
    """Round float32 to halves by converting them to and back, which are instructions."""
    branching_division: bool = False
    """Divide vectors of float32 and take their roots for all lanes at once: the compiler branches in each."""
    slow_inlining: bool = False
    """Call functions with long code, where a kernel has many: the compiler takes long over them inlined."""
    rereads_arguments: bool = False
    """Keep numbers that are used often in registers: the compiler reads them again from the arguments each time."""
    subgroups: Subgroups | None = None
    """The sub-groups in which work-items exchange values without local memory; None: in none."""


def value_type(type_: Type) -> str:
    """The type of a value in a register. The lanes of a bool vector are chars, 0 or -1, as OpenCL's select wants
    them."""
    if element(type_).is_complex:
        return memory_type(element(type_), 1 if isinstance(type_, Pointer) else lanes(type_))
    if isinstance(type_, Vector):
        scalar = "char" if type_.dtype.kind == "bool" else _SCALARS[type_.dtype.name]
        return f"{scalar}{type_.lanes}"
    return _SCALARS[element(type_).name]


def memory_type(dtype: DType, count: int = 1) -> str:
    """The type of elements in memory: a bool is one byte, 0 or 1; bfloat16 is its bits; a complex
    number its parts."""
    if dtype.is_complex:
        return f"{_SCALARS[dtype.component.name]}{2 * count}"
    return f"{_MEMORY[dtype.name]}{count if count > 1 else ''}"


def at_offset(space: str, buffer: str, offset: str) -> str:
    """The address of a byte of a buffer, which any pointer may take.

    NVIDIA's compiler adds an offset in elements to each index within loops; one in bytes stays ahead of them.
    """
    return f"(__{space} void *)((__{space} char *){buffer} + {offset})"


def unsigned_type(type_: ValueType) -> str:
    """The unsigned integer type of the same width and lanes; of complex numbers, that of their parts."""
    return f"u{_SIGNED[element(type_).component.bits]}{_suffix(type_)}"


def mask_type(bits: int, count: int) -> str:
    """The vector type that comparisons of elements of `bits` bits give."""
    return f"{_SIGNED[bits]}{count}"


def _suffix(type_: ValueType) -> str:
    return str(type_.lanes) if isinstance(type_, Vector) else ""


def literal(const: Const, *, bare: bool = False) -> str:
    """A literal with the suffix or cast that makes it exactly this type.

    `bare` leaves a small integer without suffix and a vector's scalar without splat: enough beside an operand that has
    the type.
    """
    dtype = element(const.type)
    if dtype.is_complex:
        parts = [_scalar(part, dtype.component, False) for part in (const.value, 0.0)] * lanes(const.type)
        return f"({value_type(const.type)})({', '.join(parts)})"
    if lanes(const.type) == 1:
        return _scalar(const.value, dtype, bare)
    if dtype.kind == "bool":
        return f"({value_type(const.type)})({-int(const.value)})"
    if bare and dtype.bits >= 32:
        return _scalar(const.value, dtype, bare)
    return f"({value_type(const.type)})({_scalar(const.value, dtype, True)})"


def string_literal(text: str) -> str:
    """A text as a literal: what is no plain ASCII is written as octal numbers of its bytes, and no ? begins a
    trigraph."""
    chars = map(chr, text.encode())
    plain = (_ESCAPES.get(char) or (char if " " <= char <= "~" else f"\\{ord(char):03o}") for char in chars)
    return f'"{"".join(plain)}"'


def _scalar(value: bool | int | float, dtype: DType, bare: bool) -> str:
    if dtype.kind == "bool":
        return str(bool(value)).lower()
    if dtype.is_float:
        return _float(float(value), dtype)
    number = int(value)
    if number == -(1 << (dtype.bits - 1)) and dtype.bits >= 32 and dtype.kind == "int":
        suffix = "L" if dtype.bits == 64 else ""
        return f"(-{(1 << (dtype.bits - 1)) - 1}{suffix} - 1)"  # C has no literal for the least integer
    if dtype.bits < 32:
        return str(number) if bare else f"({_SCALARS[dtype.name]}){_wrapped(number)}"
    if bare and abs(number) < 1 << 31:
        return str(number)
    suffix = ("u" if dtype.kind == "uint" else "") + ("L" if dtype.bits == 64 else "")
    return f"{number}{suffix}"


def _wrapped(number: int) -> str:
    return f"({number})" if number < 0 else str(number)


def _float(value: float, dtype: DType) -> str:
    if math.isnan(value):
        return "NAN" if dtype.bits == 32 else f"({_SCALARS[dtype.name]})NAN"
    if math.isinf(value):
        sign = "-" if value < 0 else ""
        return f"{sign}INFINITY" if dtype.bits == 32 else f"({_SCALARS[dtype.name]})({sign}INFINITY)"
    if dtype.name == "f16":
        return f"(half){_float(value, F32)}"
    shortest = np.format_float_positional(dtype.numpy.type(value), unique=True, trim="0")
    if len(shortest) > 16 or abs(value) >= 1e16:
        shortest = np.format_float_scientific(dtype.numpy.type(value), unique=True, trim="0")
    return shortest + ("f" if dtype.name == "f32" else "")
