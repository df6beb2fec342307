"""What a kernel is translated for: the types of its arguments, which are all that a variant depends on.

Sizes, strides and numbers are no part of them. An array is known by its dtype, its rank, how it lies and whether it
shares memory with another one; a NumPy scalar by its dtype; a Python int is an index, a Python float is converted on
the host. What is no number is known while the kernel is translated.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Literal, TypeAlias

import numpy as np

from ocl_ir.language.context import Path, Pointer, Scalar
from ocl_ir.language.statements.calls import Calls
from ocl_ir.language.values.values import ArrayView, Deferred, HostNumber, Memory, Number, Size, Value
from ocl_ir.types import BOOL, DType

UNIT_BYTES = 16
"""Of the widest access to memory."""

Lies: TypeAlias = Literal["dense", "rows", "strided"]
"""In row-major order without gaps; with rows whose elements are neighbours; anyhow."""


@dataclass(frozen=True, slots=True)
class ArrayType:
    """An array. `same_as`: the argument whose very elements it has, in the order of the arguments; None where it
    shares memory with none. `in_units`: all its rows begin at a multiple of 16 bytes and are such a multiple long;
    False where they are not, or nobody has looked."""

    dtype: DType
    rank: int
    lies: Lies = "dense"
    same_as: int | None = None
    is_alone: bool = True
    in_units: bool = False


@dataclass(frozen=True, slots=True)
class ScalarType:
    """A NumPy scalar, or a Python bool."""

    dtype: DType


@dataclass(frozen=True, slots=True)
class IndexType:
    """A Python int."""


@dataclass(frozen=True, slots=True)
class FloatType:
    """A Python float."""


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A value that is known while the kernel is translated. Functions are equal where their code and what it closes
    over are: a lambda is a new function in each call."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and _identity(self.value) == _identity(other.value)

    def __hash__(self) -> int:
        return hash(_identity(self.value))


@dataclass(frozen=True, slots=True)
class Parts:
    """A tuple, a named tuple or a frozen dataclass; `type` makes it of its parts."""

    type: type
    names: tuple[object, ...]
    parts: tuple[ArgumentType, ...]


ArgumentType: TypeAlias = ArrayType | ScalarType | IndexType | FloatType | Constant | Parts
ElementType: TypeAlias = ScalarType | IndexType | Constant | Parts
"""What a function of elements is translated for; `Parts` have such types inside."""


def _identity(value: Any) -> Hashable:
    """What tells a constant from others, also 1 from 1.0 and True."""
    if isinstance(value, FunctionType):
        cells = [_identity(cell.cell_contents) for cell in value.__closure__ or ()]
        defaults = [_identity(default) for default in value.__defaults__ or ()]
        return value.__code__, id(value.__globals__), tuple(cells), tuple(defaults), str(value.__kwdefaults__)
    if isinstance(value, tuple):
        return type(value), tuple(map(_identity, value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return type(value), *[_identity(getattr(value, field.name)) for field in dataclasses.fields(value)]
    try:
        hash(value)
    except TypeError:
        return type(value), id(value)
    return type(value), repr(value) if isinstance(value, float | np.floating) else value


def declare(t: Calls, arguments: Mapping[str, ArgumentType]) -> dict[str, Value]:
    """The values of a kernel's parameters, with the parameters of kernel IR that they need."""
    return {name: _declared(t, (name,), argument) for name, argument in arguments.items()}


def _declared(t: Calls, path: Path, argument: ArgumentType) -> Value:
    name = "_".join(map(str, path))
    match argument:
        case ArrayType():
            return _array(t, path, name, argument)
        case ScalarType(dtype=dtype):
            number = t.parameter(Scalar(path), name, t.available(dtype))
            return Number(t.condition_of_byte(number.ref), BOOL) if dtype is BOOL else number
        case IndexType():
            return t.parameter(Scalar(path), name, t.index_type, kind="index")
        case FloatType():
            return HostNumber("argument", path, name=name)
        case Constant(value=value):
            return value
        case Parts(type=type_, names=names, parts=parts):
            values = [_declared(t, (*path, part), argument) for part, argument in zip(names, parts, strict=True)]
            return tuple(values) if type_ is tuple else type_(*values)


def _array(t: Calls, path: Path, name: str, argument: ArrayType) -> ArrayView:
    pointer = t.pointer(Pointer(path), name, argument.dtype, restrict=argument.is_alone)
    axes = range(argument.rank)
    lengths = [f"{name}_size"] if argument.rank == 1 else [f"{name}_size{axis}" for axis in axes]
    unit = UNIT_BYTES // argument.dtype.size if argument.in_units else 1
    divisors = [*[1] * (argument.rank - 1), unit]
    shape: tuple[Size, ...] = tuple(Deferred("shape", path, axis, lengths[axis], divisors[axis]) for axis in axes)
    strides: tuple[Size, ...] | None = None
    if argument.lies != "dense":
        strides = tuple(Deferred("stride", path, axis, f"{name}_stride{axis}", unit) for axis in axes)
        if argument.lies == "rows":
            strides = (*strides[:-1], 1)
    align = UNIT_BYTES if argument.in_units else 0
    return ArrayView(Memory(name, pointer, argument.dtype, align=align), shape, strides)
