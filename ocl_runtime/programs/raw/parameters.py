"""Parameters as CuPy declares them, `T x, raw U y`, and what their types are in a call.

A type is a dtype by NumPy's name, or a name that stands for one: it is that of the arrays that are given for it, else
of NumPy's scalars, else what Python's numbers become.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ocl_ir.guards import NUMBERS
from ocl_ir.kernel.names import function_name
from ocl_ir.source_line import calling_line
from ocl_ir.types import BF16, BOOL, I64, U8, DType, from_numpy
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.hosts import is_pyopencl
from ocl_runtime.errors import DTypeError, Error
from ocl_runtime.programs.struct_array import memory_of
from ocl_runtime.programs.structs import Struct


class Parameter(NamedTuple):
    """An argument of an elementwise kernel or a reduction: an element of an array at a time, or (`raw`) all of it."""

    type: str
    name: str
    is_raw: bool
    dtype: DType | None
    """None where the type is a name that stands for one; for a struct that of its bytes."""
    struct: Struct | None = None


def parameters(kernel: str, text: str, structs: Mapping[str, Struct] = MappingProxyType({})) -> list[Parameter]:
    """The parameters of a declaration, for which structs are known by their names. Raises `Error` for what cannot be
    read, `DTypeError` for a dtype that devices do not have."""
    made: list[Parameter] = []
    for part in filter(None, map(str.strip, text.split(","))):
        words = [word for word in part.split() if word != "const"]
        is_raw = words[0] == "raw"
        words = words[is_raw:]
        if len(words) != 2 or not all(word.isidentifier() and word.isascii() for word in words):
            raise Error(
                f"kernel {kernel} is declared with {part!r}",
                place=calling_line(),
                remedy="write a type and a name, 'T x' or 'raw float32 y'",
            )
        struct = structs.get(words[0])
        made.append(Parameter(words[0], words[1], is_raw, _dtype(words[0]) if struct is None else U8, struct))
    return made


def structs_by_name(dtypes: Sequence[Any]) -> dict[str, Struct]:
    """Structured dtypes by their names in C. Raises as `Struct.of`."""
    return {struct.name: struct for struct in map(Struct.of, dtypes)}


def check_indexed(kernel: str, params: Sequence[Parameter]) -> None:
    """Raises `DTypeError` for a parameter that takes an element at a time of an array of structs."""
    param = next((param for param in params if param.struct is not None and not param.is_raw), None)
    if param is not None:
        raise DTypeError(
            f"kernel {kernel} takes struct {param.type} for {param.name}, an element at a time",
            place=calling_line(),
            remedy=f"index it: 'raw {param.type} {param.name}', and {param.name}[i] in the text",
        )


def _dtype(name: str) -> DType | None:
    if len(name) == 1:  # NumPy has codes of one letter
        return None
    try:
        dtype = np.dtype(name)
    except TypeError:
        return None
    return _without_complex(name, from_numpy(dtype))


def _without_complex(name: str, dtype: DType) -> DType:
    """The dtype. Raises `DTypeError` for complex numbers, of which a text in OpenCL C would multiply the parts."""
    if dtype.is_complex:
        raise DTypeError(
            f"{name} is {dtype.public}, which OpenCL C does not have",
            place=calling_line(),
            remedy="write it in Python with @ocl.elementwise, or pass real(x) and imag(x)",
        )
    return dtype


def bound_types(kernel: str, params: Sequence[Parameter], args: Sequence[Any], default_real: DType) -> dict[str, DType]:
    """The dtype of each type that parameters name. Raises `DTypeError` where an array is of another dtype, and for a
    type that no argument says."""
    types = {param.type: param.dtype for param in params if param.dtype is not None}
    pairs = list(zip(params, args, strict=False))
    for kinds in (Array, np.generic, NUMBERS):
        known = set(types)
        for param, arg in pairs:
            if not isinstance(arg, kinds) or (kinds is not Array and param.type in known):
                continue
            dtype = _of_argument(arg, default_real)
            if dtype is BF16:
                raise DTypeError(
                    f"kernel {kernel} got bfloat16 for {param.name}, which OpenCL C does not have",
                    place=calling_line(),
                    remedy="convert it: ocl.astype(x, 'float32'); a RawKernel takes its bits as ushort",
                )
            _without_complex(param.name, dtype)
            if types.setdefault(param.type, dtype) is not dtype and kinds is Array:
                raise DTypeError(
                    f"kernel {kernel} got an array of {dtype.public} for {param.name}, where {param.type} is "
                    f"{types[param.type].public}",
                    place=calling_line(),
                    remedy=f"convert it: ocl.astype(x, {types[param.type].public.name!r})",
                )
    missing = [param for param in params if param.type not in types]
    if missing:
        raise DTypeError(
            f"kernel {kernel} does not know the type {missing[0].type} of {missing[0].name}",
            place=calling_line(),
            remedy=f"give an array for {missing[0].name}, or declare its dtype: 'float32 {missing[0].name}'",
        )
    return types


def _of_argument(arg: Any, default_real: DType) -> DType:
    if isinstance(arg, Array):
        return arg._dtype
    if isinstance(arg, np.generic):
        return from_numpy(arg.dtype)
    return BOOL if isinstance(arg, bool) else default_real if isinstance(arg, float) else I64


def checked_name(name: str) -> str:
    """The name of the function that a kernel becomes. Raises `Error` for what is no name in C."""
    if not name.isidentifier() or not name.isascii():
        raise Error(
            f"a kernel cannot be called {name!r}", place=calling_line(), remedy="use letters, digits and underscores"
        )
    return function_name(name)


def array_remedy(argument: object) -> str:
    """What to do for who gave something else for an array."""
    if is_pyopencl(argument):
        return "take its memory without a copy: ocl.from_pyopencl(x)"
    return "give an array of this library: ocl.asarray(x)"


def arguments_of(
    kernel: str, params: Sequence[Parameter], args: Sequence[Any], named: Mapping[str, Any], least: int
) -> list[Any]:
    """The arguments in the order of the parameters: all, or the first `least` of them. Raises `DTypeError` for another
    number of them, and for what is neither an array nor a number."""
    names = [param.name for param in params]
    values = [*args, *(named[name] for name in names[len(args) :] if name in named)]
    if len(values) not in {least, len(params)} or len(values) != len(args) + len(named):
        raise DTypeError(
            f"kernel {kernel} got {len(args)} arguments in order and {', '.join(named) or 'none'} by name",
            place=calling_line(),
            remedy=f"it takes {', '.join(names[:least])}, and then {', '.join(names[least:]) or 'no more'}",
        )
    arguments = [arg[()] if isinstance(arg, np.ndarray) and not arg.shape else arg for arg in values]
    for number, (param, arg) in enumerate(zip(params, arguments, strict=False)):
        if param.struct is not None:
            arguments[number] = memory_of(kernel, param.name, param.struct, arg)
            continue
        only_array = param.is_raw or number >= least
        if not isinstance(arg, Array) and (only_array or not isinstance(arg, (np.generic, *NUMBERS))):
            raise DTypeError(
                f"kernel {kernel} got {reprlib.repr(arg)} for {param.name}",
                place=calling_line(),
                remedy=array_remedy(arg),
            )
    return arguments
