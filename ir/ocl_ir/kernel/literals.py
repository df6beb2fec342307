"""Python numbers as literals of a type."""

from __future__ import annotations

from typing import Any, NoReturn

from ocl_ir.errors import DTypeError
from ocl_ir.kernel.grammar import Const
from ocl_ir.source_line import calling_line
from ocl_ir.types import Pointer, Type, element


def literal(value: Any, type_: Type) -> Const:
    """A literal that the type can hold exactly as the user wrote it; floats round to the type. Those of complex types
    are real, and others are joined by the operation `complex`."""
    if isinstance(type_, Pointer):
        raise DTypeError("a pointer has no literal", place=calling_line())
    dtype = element(type_)
    if dtype.kind == "bool" and isinstance(value, bool):
        return Const(value, type_)
    if dtype.is_integer and isinstance(value, int) and not isinstance(value, bool):
        low, high = (
            (-(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1)
            if dtype.kind == "int"
            else (0, (1 << dtype.bits) - 1)
        )
        if low <= value <= high:
            return Const(value, type_)
    if dtype.is_float and isinstance(value, int | float) and not isinstance(value, bool):
        return Const(float(value if dtype.name == "bf16" else dtype.numpy.type(value)), type_)
    if dtype.is_complex and isinstance(value, int | float) and not isinstance(value, bool):
        return Const(float(dtype.component.numpy.type(value)), type_)
    raise DTypeError(
        f"{value!r} is no {dtype}",
        place=calling_line(),
        remedy="write a literal in the range of the type, or convert the value",
    )


def refuse_typeless(value: bool | int | float) -> NoReturn:
    """Raises `DTypeError` for a number that stands beside nothing that has a type."""
    raise DTypeError(
        f"the number {value!r} stands alone and has no type", place=calling_line(), remedy="use k.const(value, dtype)"
    )
