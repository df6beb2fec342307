"""The parameters of a kernel whose source is generated here: as they stand in the source, and as kernel IR has them."""

from __future__ import annotations

from collections.abc import Sequence

from ocl_ir.kernel.accesses import WRITE
from ocl_ir.kernel.grammar import Param, Value
from ocl_ir.kernel.source_kernel import SourceKernel
from ocl_ir.source_line import calling_line
from ocl_ir.types import F16, F64, DType, Pointer
from ocl_runtime.codegen.spelling import at_offset, memory_type
from ocl_runtime.programs.structs import Struct


class Signature:
    """Parameters, one after the other."""

    def __init__(self) -> None:
        self.declarations: list[str] = []
        """As they stand in the source."""
        self.pointers: list[str] = []
        """Statements that make pointers of buffers and offsets."""
        self._dtypes: set[DType] = set()
        self._params: list[Param] = []
        self._modes: list[int] = []

    def number(self, name: str, dtype: DType) -> None:
        """A number."""
        self._add(name, dtype, dtype, 0)
        self.declarations.append(f"const {memory_type(dtype)} {name}")

    def pointer(self, name: str, dtype: DType, mode: int, struct: Struct | None = None) -> None:
        """A pointer to memory that is used in a mode; the dtype is that of bytes where these are structs."""
        self._add(name, dtype, Pointer(dtype, align=0 if struct is None else struct.align), mode)
        space = f"__global {'' if mode & WRITE else 'const '}"
        self.declarations += [f"{space}{memory_type(dtype)} *{name}_buffer", f"const ulong {name}_offset"]
        pointee = f"{space}{memory_type(dtype) if struct is None else struct.name} *"
        self.pointers.append(f"{pointee}{name} = {at_offset('global', f'{name}_buffer', f'{name}_offset')}")

    def uses(self, struct: Struct) -> None:
        """The source has values of a struct."""
        self._dtypes |= {dtype for _, dtype in struct.fields}

    def _add(self, name: str, dtype: DType, type_: DType | Pointer, mode: int) -> None:
        self._params.append(Param(Value(len(self._params), type_, name)))
        self._modes.append(mode)
        self._dtypes.add(dtype)

    @property
    def extensions(self) -> list[str]:
        """What the source has to switch on."""
        return [f"cl_khr_{name}" for name, dtype in (("fp16", F16), ("fp64", F64)) if dtype in self._dtypes]

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
            written=source,
            modes=tuple(self._modes),
            exact=(True,) * len(self._params),
            options=tuple(options),
            asked_at=calling_line(),
        )
