"""`ocl-dump file.py:kernel`: the variant of a kernel in Python for types that the command line names."""

from __future__ import annotations

import runpy
from collections.abc import Sequence
from pathlib import Path

from ocl_ir.language.context import Options
from ocl_ir.language.parameters import ArgumentType, ArrayType, Constant, FloatType, IndexType, ScalarType
from ocl_ir.types import DTYPES
from ocl_runtime.errors import Error, InputFileError
from ocl_runtime.executor import DeviceExecutor
from ocl_runtime.programs.kernels import Kernel


def split(what: str) -> tuple[Path, str] | None:
    """The file and the name of a kernel that a command line names; None for anything else."""
    file, colon, name = what.rpartition(":")
    return (Path(file), name) if colon and file.endswith(".py") and name.isidentifier() else None


def dump_kernel(path: Path, name: str, declarations: Sequence[str], executor: DeviceExecutor, dimensions: int) -> None:
    """Translates and builds a kernel for declared types, which whoever looks on sees. Raises `InputFileError`, `Error`
    for what is no kernel, and what translating and building raise."""
    if not path.is_file():
        raise InputFileError(f"there is no file {path}", place=str(path.absolute()), remedy="name a Python file")
    kernel = runpy.run_path(str(path), run_name="__ocl_dump__").get(name)
    if not isinstance(kernel, Kernel):
        raise Error(f"{path} has no kernel {name}", remedy="name a function that is decorated with ocl_runtime.kernel")
    types = dict(map(_declared, declarations))
    wanted = list(kernel.parameters)
    given = {**{name: Constant(value) for name, value in kernel.defaults.items()}, **types}
    missing = [parameter for parameter in wanted if parameter not in given]
    if missing or set(types) - set(wanted):
        raise Error(
            f"kernel {name} takes {', '.join(wanted)}",
            place=" ".join(declarations),
            remedy="declare each: x:f32[n] for an array, a:f32 for a number, n:int and s:float for those of Python",
        )
    capabilities = executor.device.capabilities
    group = kernel.group or (executor.device.quirks.group_size,)
    x, y, z = (*group, 1, 1)[:3]
    options = Options(
        default_real=executor.default_real,
        fp64=capabilities.computes("f64"),
        group_size=(x, y, z),
        dimensions=dimensions,
    )
    translation = kernel.translated({parameter: given[parameter] for parameter in wanted}, options)
    executor.engine.executables([translation.kernel])


def _declared(declaration: str) -> tuple[str, ArgumentType]:
    name, _, type_ = declaration.partition(":")
    dtype, bracket, sizes = type_.partition("[")
    if dtype in {"int", "float"} and not bracket:
        return name, IndexType() if dtype == "int" else FloatType()
    if not name.isidentifier() or dtype not in DTYPES or (bracket and not sizes.endswith("]")):
        raise Error(f"{declaration!r} declares nothing", remedy="write x:f32[n], m:u8[h,w], a:f32, n:int or s:float")
    return name, ArrayType(DTYPES[dtype], sizes.count(",") + 1) if bracket else ScalarType(DTYPES[dtype])
