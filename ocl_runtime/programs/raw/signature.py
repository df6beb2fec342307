"""The parameters of a kernel whose source is generated here: as they stand in the source, and as kernel IR has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ocl_ir.kernel.accesses import WRITE
from ocl_ir.kernel.grammar import Param, Value
from ocl_ir.kernel.source_kernel import SourceKernel
from ocl_ir.layout import Layout
from ocl_ir.types import F16, F64, I32, I64, DType, Pointer
from ocl_runtime.codegen.spelling import memory_type, value_type
from ocl_runtime.programs.raw.parameters import Parameter

_MOST_NARROW = 2**31


class Operand(NamedTuple):
    """An element that the text of a kernel calls by a name: its type, the pointer to its array, and its index there."""

    name: str
    type: str
    pointer: str
    index: str


class Signature:
    """Parameters, one after the other."""

    def __init__(self) -> None:
        self.declarations: list[str] = []
        """As they stand in the source."""
        self.pointers: list[str] = []
        """Statements that make pointers of buffers and offsets."""
        self.dtypes: set[DType] = set()
        self._params: list[Param] = []
        self._modes: list[int] = []

    def number(self, name: str, dtype: DType) -> None:
        """A number."""
        self._add(name, dtype, 0)
        self.declarations.append(f"const {memory_type(dtype)} {name}")

    def pointer(self, name: str, dtype: DType, mode: int) -> None:
        """A pointer to memory that is used in a mode."""
        self._add(name, Pointer(dtype), mode)
        pointee = f"__global {'' if mode & WRITE else 'const '}{memory_type(dtype)} *"
        self.declarations += [f"{pointee}{name}_buffer", f"const ulong {name}_offset"]
        self.pointers.append(f"{pointee}{name} = {name}_buffer + {name}_offset")

    def _add(self, name: str, type_: DType | Pointer, mode: int) -> None:
        self._params.append(Param(Value(len(self._params), type_, name)))
        self._modes.append(mode)
        self.dtypes.add(type_ if isinstance(type_, DType) else type_.dtype)

    @property
    def extensions(self) -> list[str]:
        """What the source has to switch on."""
        return [f"cl_khr_{name}" for name, dtype in (("fp16", F16), ("fp64", F64)) if dtype in self.dtypes]

    def kernel(
        self, name: str, source: str, options: Sequence[str], group_size: tuple[int, int, int] | None = None
    ) -> SourceKernel:
        """The kernel with these parameters and a source."""
        return SourceKernel(
            name,
            tuple(self._params),
            (),
            group_size=group_size,
            source=source,
            modes=tuple(self._modes),
            exact=(True,) * len(self._params),
            options=tuple(options),
        )


def typedefs(params: Sequence[Parameter], types: dict[str, DType]) -> list[str]:
    """Statements by which the text of a kernel may use the names that stand for types."""
    names = dict.fromkeys(param.type for param in params if param.dtype is None)
    return [f"typedef {value_type(types[name])} {name}" for name in names]


def index_type(size: int, layouts: Sequence[Layout]) -> DType:
    """The integers that count this many places and all elements of some layouts."""
    return I32 if all(number < _MOST_NARROW for number in (size, *[layout.span for layout in layouts])) else I64


def is_unit(strides: Sequence[int]) -> bool:
    """Whether the elements of collapsed axes follow each other: then the place itself is the index."""
    return not strides or (len(strides) == 1 and strides[0] == 1)


def coordinates(ndim: int, index: str, type_: str) -> list[str]:
    """Statements that take a place apart into coordinates `_c0 …`, of a space with the shape `_shape0 …`."""
    statements = [f"{type_} _rest = {index}"] if ndim > 1 else []
    for axis in range(ndim - 1, 0, -1):
        statements += [f"const {type_} _c{axis} = _rest % _shape{axis}", f"_rest /= _shape{axis}"]
    if ndim:
        statements.append(f"const {type_} _c0 = {'_rest' if ndim > 1 else index}")
    return statements


def strided_index(name: str, ndim: int) -> str:
    """Where an element with these coordinates is, by strides `_x_stride0 …`."""
    return " + ".join(f"_c{axis} * _{name}_stride{axis}" for axis in range(ndim)) or "0"
