"""Elementwise kernels as PyOpenCL has them: arguments in C, and a statement that indexes them by `i`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ocl_ir.source_line import calling_line
from ocl_ir.types import U8
from ocl_runtime.arrays import Array
from ocl_runtime.codegen.templates import render
from ocl_runtime.errors import DTypeError, Error, ShapeError
from ocl_runtime.programs.raw.declared_structs import with_structs
from ocl_runtime.programs.raw.index_space import IndexSpace
from ocl_runtime.programs.raw.parameters import Parameter, checked_name
from ocl_runtime.programs.raw.prototype import prototypes
from ocl_runtime.programs.raw.raw_kernel import RawKernel, RawLaunch
from ocl_runtime.programs.struct_array import StructArray
from ocl_runtime.programs.structs import Struct

_GROUP = 64
_MOST_ITEMS = 2**22


def without_context(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments of a constructor without the context of OpenCL in front, where PyOpenCL has it: where a kernel runs
    is said by its arrays."""
    is_context = bool(arguments) and type(arguments[0]).__module__.startswith("pyopencl")
    return tuple(arguments[is_context:])


def global_arguments(arguments: str) -> list[str]:
    """Arguments in C, with `__global` in front of pointers where it is left out."""
    parts = [part.strip() for part in arguments.split(",") if part.strip()]
    return [
        f"__global {part}" if ("*" in part or "[" in part) and "global" not in part and "constant" not in part else part
        for part in parts
    ]


class IndexedKernel:
    """A kernel that runs a statement for each `i` below `n`."""

    def __init__(
        self,
        arguments: str,
        operation: str,
        name: str = "elementwise",
        *,
        preamble: str = "",
        structs: Sequence[Any] = (),
        options: Sequence[str] = (),
    ) -> None:
        self.name = name = checked_name(name)
        source = render(
            "raw_indexed.cl.mako",
            name=name,
            preamble=with_structs([Struct.of(dtype) for dtype in structs], preamble),
            params=[*global_arguments(arguments), "const long n"],
            operation=operation.strip().removesuffix(";"),
        )
        self._raw = RawKernel(source, name, options=options)
        self._pointers = [parameter for parameter in self._raw.taken if parameter.is_pointer]
        if not self._pointers:
            raise Error(
                f"kernel {name} is declared without an array: {arguments}",
                place=calling_line(),
                remedy="an argument with a * is an array: float *x",
            )

    def __call__(self, *args: Any, **named: Any) -> None:
        """Launches the kernel over the elements of the first array."""
        arrays = [arg for arg in args if isinstance(arg, Array | StructArray)]
        if not arrays:
            raise ShapeError(
                f"kernel {self.name} got no array",
                place=calling_line(),
                remedy="give an array for each argument with *",
            )
        count = arrays[0].size // self._pointers[0].lanes
        items = -(-min(count, _MOST_ITEMS) // _GROUP) * _GROUP
        RawLaunch(self._raw, IndexSpace((items,), (_GROUP,)))(*args, **named, n=count)


def declared_arguments(
    kernel: str, arguments: str, preamble: str = "", structs: Mapping[str, Struct] = MappingProxyType({})
) -> list[Parameter]:
    """Arguments in C as parameters: pointers are raw arrays. Raises as `prototypes` does, and `DTypeError` for what is
    neither a number nor an array of numbers or of one of the structs, which are known by their names."""
    preamble = with_structs([*structs.values()], preamble)
    text = f"{preamble}\n__kernel void {kernel}({', '.join(global_arguments(arguments))}) {{}}"
    made: list[Parameter] = []
    for parameter in prototypes(text, kernel)[0].parameters:
        if parameter.struct in structs:
            made.append(Parameter(parameter.struct, parameter.name, True, U8, structs[parameter.struct]))
            continue
        if parameter.dtype is None or parameter.lanes > 1:
            raise DTypeError(
                f"kernel {kernel} takes {parameter.type} for {parameter.name}",
                place=calling_line(),
                remedy="declare numbers and pointers to numbers: float a, __global const float *x",
            )
        made.append(Parameter(parameter.dtype.name, parameter.name, parameter.is_pointer, parameter.dtype))
    return made
