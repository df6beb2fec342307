"""What is declared of the arguments of a kernel in OpenCL C: `in float32[] x, out float32[] y, float32 a`.

A declaration is a direction, a type and a name; direction and type may be left out. Types are NumPy's or OpenCL C's;
`[]` says that it is an array.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ocl_ir.kernel.accesses import READ, WRITE
from ocl_ir.source_line import calling_line
from ocl_ir.types import U64, DType, from_numpy
from ocl_runtime.errors import DTypeError, Error
from ocl_runtime.programs.raw.prototype import SCALARS, Parameter

_DIRECTIONS: Mapping[str, int] = {"in": READ, "out": WRITE, "inout": READ | WRITE}
_DECLARATION = re.compile(r"(?:(in|out|inout)\s+)?(?:([a-z_]\w*(?:\s+[a-z]+)?)\s*(\[\s*\])?\s+)?(\w+)", re.IGNORECASE)


class Declaration(NamedTuple):
    """What is declared of a parameter: how what it points to is used (0: not said), and its type, if that is said."""

    mode: int
    dtype: DType | None


def declarations(kernel: str, text: str, parameters: Sequence[Parameter]) -> dict[str, Declaration]:
    """The declarations by name. Raises `Error` for names that the kernel does not have and for what cannot be read,
    `DTypeError` for a type that is not that of the parameter."""
    declared: dict[str, Declaration] = {}
    known = {parameter.name: parameter for parameter in parameters}
    for part in filter(None, map(str.strip, text.split(","))):
        match = _DECLARATION.fullmatch(part)
        if match is not None and match[4] not in known:
            _refuse_narrow_offset(kernel, match[4], known)
        if match is None or match[4] not in known:
            raise Error(
                f"kernel {kernel} is declared with {part!r}, which is none of its parameters",
                place=f"{calling_line()}\nit has {', '.join(known) or 'none'}",
                remedy='write direction, type and name of parameters: "in float32[] x, out float32[] y, float32 a"',
            )
        direction, type_, brackets, name = match.groups()
        parameter = known[name]
        dtype = None if type_ is None else dtype_of(kernel, type_)
        if (dtype is not None and parameter.dtype not in {None, dtype}) or (
            dtype is not None and bool(brackets) != parameter.is_pointer
        ):
            raise DTypeError(
                f"kernel {kernel} is declared with {part!r}, and its source says {parameter}",
                place=calling_line(),
                remedy="declare what the source says; an array has brackets: float32[] x",
            )
        declared[name] = Declaration(_DIRECTIONS.get(direction, 0) if parameter.is_pointer else 0, dtype)
    return declared


def _refuse_narrow_offset(kernel: str, name: str, known: Mapping[str, Parameter]) -> None:
    """Raises `DTypeError` for `x` where the kernel has `x_buffer` and `x_offset`, of a type that makes them no pair."""
    buffer, offset = known.get(f"{name}_buffer"), known.get(f"{name}_offset")
    if buffer is not None and buffer.is_pointer and offset is not None and offset.dtype is not U64:
        raise DTypeError(
            f"kernel {kernel} is declared with {name}, and its source has {offset} behind {buffer}",
            place=calling_line(),
            remedy=f"write ulong {offset.name}: an offset counts bytes of arrays of any size",
        )


def dtype_of(kernel: str, name: str) -> DType:
    """The scalar type that NumPy or OpenCL C calls so. Raises `DTypeError`."""
    if name in SCALARS:
        return SCALARS[name]
    try:
        return from_numpy(np.dtype(name))
    except TypeError:
        raise DTypeError(
            f"kernel {kernel} is declared with the type {name!r}",
            place=calling_line(),
            remedy="use NumPy's names (float32, int64) or those of OpenCL C (float, long)",
        ) from None
