"""A kernel of a source as kernel IR: its parameters, and what is known of their use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ocl_ir.kernel.accesses import READ, WRITE
from ocl_ir.kernel.grammar import Param, Value
from ocl_ir.kernel.source_kernel import SourceKernel
from ocl_ir.source_line import calling_line
from ocl_ir.types import I64, U8, DType, Pointer
from ocl_runtime.errors import DTypeError
from ocl_runtime.programs.raw.declarations import Declaration
from ocl_runtime.programs.raw.prototype import Parameter, Prototype
from ocl_runtime.programs.raw.rewriting import lanes_of, rewritten


def kernel_of(
    source: str,
    prototypes: Sequence[Prototype],
    others: Sequence[Prototype],
    local: Sequence[int],
    known: Mapping[str, Declaration],
    options: tuple[str, ...],
    asked_at: str,
) -> SourceKernel:
    """The kernel IR of a kernel with these prototypes, of which some is declared, beside others of the source, and
    with sizes for its local memory; `asked_at` is the line in Python that made it. Raises `DTypeError` for a parameter
    of a type that is not known."""
    name = prototypes[0].name
    params: list[Param] = []
    modes: list[int] = []
    exact: list[bool] = []
    sizes: dict[str, int] = {}
    counts = iter(local)
    for index, parameter in enumerate(prototypes[0].parameters):
        if parameter.is_local:
            sizes[parameter.name] = next(counts)
        elif parameter.is_pointer:
            dtype = dtype_of(name, parameter, known)
            aligned = dtype.size * (4 if parameter.lanes == 3 else parameter.lanes)
            if holds_structs(parameter, known):
                aligned = I64.size  # the widest scalar that it may have
            type_ = Pointer(dtype, parameter.space or "global", aligned)
            restrict = any(prototype.parameters[index].is_restrict for prototype in prototypes)
            params.append(Param(Value(len(params), type_, parameter.name), restrict))
            modes.append(mode_of(parameter, known))
            exact.append(parameter.name in known and bool(known[parameter.name].mode))
        else:
            lanes = lanes_of(parameter) if parameter.lanes > 1 else [parameter.name]
            dtype = dtype_of(name, parameter, known)
            params += [Param(Value(len(params) + lane, dtype, hint)) for lane, hint in enumerate(lanes)]
            modes += [0] * len(lanes)
            exact += [True] * len(lanes)
    return SourceKernel(
        name,
        tuple(params),
        (),
        group_size=next((prototype.group_size for prototype in prototypes if prototype.group_size), None),
        written=source,
        source=rewritten(source, [*[_typed(prototype, known) for prototype in prototypes], *others], sizes),
        modes=tuple(modes),
        exact=tuple(exact),
        options=options,
        asked_at=asked_at,
    )


def _typed(prototype: Prototype, declared: Mapping[str, Declaration]) -> Prototype:
    """The prototype with the types that its structs are passed as."""
    name, parameters = prototype.name, prototype.parameters
    return replace(
        prototype,
        parameters=tuple(replace(p, dtype=dtype_of(name, p, declared)) if p.struct else p for p in parameters),
    )


def holds_structs(parameter: Parameter, declared: Mapping[str, Declaration]) -> bool:
    """Whether it takes an array of structs, and no other type is declared."""
    return bool(parameter.struct) and (parameter.name not in declared or declared[parameter.name].dtype is None)


def mode_of(parameter: Parameter, declared: Mapping[str, Declaration]) -> int:
    """How a kernel uses what a parameter points to: as declared, else as its type lets it."""
    mode = declared[parameter.name].mode if parameter.name in declared else 0
    return mode or (READ if parameter.is_const else READ | WRITE)


def dtype_of(kernel: str, parameter: Parameter, declared: Mapping[str, Declaration]) -> DType:
    """The scalar type of a number, or of what is pointed to. Raises `DTypeError` where it is not known."""
    known = declared[parameter.name].dtype if parameter.name in declared else None
    dtype = known or parameter.dtype or (U8 if parameter.struct else None)
    if dtype is None:
        raise DTypeError(
            f"kernel {kernel} has a parameter {parameter.name} of a type that is not known: {parameter.type}",
            place=calling_line(),
            remedy=f'declare it: arguments="float32{"[]" if parameter.is_pointer else ""} {parameter.name}"',
        )
    return dtype
