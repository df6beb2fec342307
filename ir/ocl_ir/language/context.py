"""What translating a kernel has in hand: the builder, the options, the parameters made so far, and where it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from ocl_ir.errors import DTypeError, Error
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Atomic, GroupStmt, Let, Load, Param, Stmt, walk
from ocl_ir.kernel.operands import Ref
from ocl_ir.language.errors import KernelError, Span
from ocl_ir.language.values.multiples import Multiples
from ocl_ir.language.values.values import Deferred, HostNumber, Number, dtype_name
from ocl_ir.types import BOOL, F16, F32, F64, I32, I64, U8, U64, DType

Path: TypeAlias = tuple[object, ...]
"""Which part of which argument: a parameter's name, then indices of tuples and names of fields."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a variant of a kernel is translated for. `default_real` is what quotients of integers are.

    `wide`: indices have 64 bits. `checked`: accesses are tested and the first one outside is reported. `interpreted`:
    the interpreter runs it. `fp64`, `int64`: whether the device computes with these. `group_size` is that of the
    launch, where it is known. `whole`: launches count groups, so that no work-item is one too many. On a CPU,
    by its `kind`, compilers make vectors of neighbouring work-items. `local_bytes` is
    the local memory that a group has, `matrix_instructions` the names of those that there are.
    """

    default_real: DType = F32
    wide: bool = False
    checked: bool = False
    interpreted: bool = False
    fp64: bool = True
    int64: bool = True
    group_size: tuple[int, int, int] | None = None
    dimensions: int = 1
    whole: bool = False
    kind: Literal["gpu", "cpu"] = "gpu"
    local_bytes: int = 32 << 10
    matrix_instructions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pointer:
    """The parameter is the memory of the array argument at `path`."""

    path: Path


@dataclass(frozen=True, slots=True)
class Scalar:
    """The parameter is the number at `path`."""

    path: Path


@dataclass(frozen=True, slots=True)
class Host:
    """The parameter is what the host computes, in a dtype of the program."""

    number: HostNumber
    dtype: DType


@dataclass(frozen=True, slots=True)
class Status:
    """The parameter is the record of the first violation."""


Source: TypeAlias = Pointer | Scalar | Host | Status | Deferred
"""Where a kernel's parameter comes from at a launch."""


def waits(body: Iterable[Stmt]) -> bool:
    """Whether work-items wait for each other in statements."""
    return any(isinstance(stmt, GroupStmt) for stmt in walk(tuple(body)))


class SpanText(str):
    """A span as the text that statements have for the line that asked, with the span itself."""

    __slots__ = ("span",)
    span: Span

    @property
    def excerpt(self) -> str:
        """The line with carets, which errors about a statement show."""
        return self.span.excerpt


class LanguageBuilder(KernelBuilder):
    """A builder whose statements know the line of the kernel that they come from."""

    where: SpanText | None = None

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self.multiples = Multiples()

    def emit(self, stmt: Stmt) -> None:
        """Appends a statement to the innermost open block."""
        if isinstance(stmt, Let):
            self.multiples.bind(stmt)
        if self.where is None or isinstance(stmt.where, SpanText):  # as what is taken from another block
            super().emit(stmt)
        else:
            super().emit(replace(stmt, where=self.where))

    @property
    def depth(self) -> int:
        """How many blocks are open."""
        return len(self._stack)

    def named(self, ref: Ref, name: str) -> Ref:
        """The value under a name, if the last statement made it and it has none; a variable's name is its own."""
        block = self._stack[-1]
        last = block[-1] if block else None
        if not isinstance(last, Let | Load | Atomic) or last.result is None:
            return ref
        if last.result != ref.operand or last.result.hint:
            return ref
        value = replace(last.result, hint=name)
        block[-1] = replace(last, result=value)
        return Ref(self, value)

    def fixed(self, ref: Ref) -> Ref:
        """What a variable holds now; any other value as it is."""
        return Ref(self, self._fixed(ref.operand))

    def put_first(self, stmts: Sequence[Stmt]) -> None:
        """Puts statements at the top of the kernel."""
        self._stack[0][:0] = stmts

    def marked(self) -> tuple[int, int]:
        """How much there is of ids and parameters."""
        return self._next_id, len(self._params)

    def back_to(self, mark: tuple[int, int]) -> None:
        """Forgets the ids and parameters made since a mark."""
        self._next_id = mark[0]
        self.multiples.forget(mark[0])
        del self._params[mark[1] :]

    @property
    def params(self) -> tuple[Param, ...]:
        """The parameters made so far."""
        return tuple(self._params)


class Context:
    """The state of one translation, on which the rooms of this package build up: arithmetic, memory, expressions,
    statements."""

    def __init__(self, name: str, options: Options, span: Span, builder: LanguageBuilder | None = None) -> None:
        self.k = builder or LanguageBuilder(name, group_size=options.group_size)
        self.options = options
        self._span = span
        self.sources: list[Source] = []
        """Where each parameter comes from."""
        self._made: dict[tuple[Source, DType], Number] = {}
        self.dimensions_asked: set[int] = set()
        """Dimensions of the index space that the kernel asks for."""
        self.target_name = ""
        """The name that the value of the expression gets, if it is assigned to one."""
        self.is_used = True
        """Whether anybody looks at the value of the expression."""

    # ------------------------------------------------------------------ where

    @property
    def span(self) -> Span:
        """The piece of source that is translated now."""
        return self._span

    @span.setter
    def span(self, span: Span) -> None:
        self._span = span
        where = SpanText(str(span))
        where.span = span
        self.k.where = where

    def fault(self, fact: str, remedy: str = "", kind: type[Error] = KernelError, span: Span | None = None) -> Error:
        """An error at a span, by default the current one."""
        return kind(fact, place=(span or self._span).excerpt, remedy=remedy)

    # ------------------------------------------------------------------ types

    @property
    def index_type(self) -> DType:
        """What an index is computed in."""
        return I64 if self.options.wide else I32

    def computed_as(self, dtype: DType) -> DType:
        """The type of kernel IR that a dtype of the program is computed in."""
        return F32 if dtype is F16 else dtype

    def available(self, dtype: DType) -> DType:
        """The dtype, which the device must have. Raises `DTypeError`."""
        has = self.options.fp64 if dtype is F64 else self.options.int64 if dtype in {I64, U64} else True
        if not has:
            narrower = "float32" if dtype is F64 else "int32"
            raise self.fault(
                f"the device has no {dtype_name(dtype)}",
                f"use {narrower}(…), or another device (ocl-devices lists them)",
                DTypeError,
            )
        return dtype

    # ------------------------------------------------------------------ parameters

    def parameter(
        self, source: Source, name: str, dtype: DType, *, kind: Any = "typed", low: int | None = None
    ) -> Number:
        """A scalar parameter, made once for each source and dtype; a bool is passed as a byte."""
        known = self._made.get((source, dtype))
        if known is not None:
            return known
        passed = U8 if dtype is BOOL else self.computed_as(dtype)
        ref = self.k.scalar(self._unique(name), passed)
        self.sources.append(source)
        number = Number(ref, dtype, kind, low)
        self._made[source, dtype] = number
        return number

    def _unique(self, name: str) -> str:
        """A name that no parameter has."""
        taken = {param.value.hint for param in self.k.params}
        while name in taken:
            stem = name.rstrip("0123456789").rstrip("_")
            number = name[len(stem) :].lstrip("_")
            name = f"{stem}_{int(number or 1) + 1}"
        return name

    def pointer(self, source: Source, name: str, dtype: DType, *, align: int = 0, restrict: bool = False) -> Ref:
        """A pointer parameter to global memory."""
        ref = self.k.pointer(self._unique(name), dtype, align=align, restrict=restrict)
        self.sources.append(source)
        return ref

    def marked(self) -> tuple[Any, ...]:
        """The state to come `back_to` after statements that are not kept."""
        return self.k.marked(), len(self.sources), dict(self._made), set(self.dimensions_asked)

    def back_to(self, mark: tuple[Any, ...]) -> None:
        """Forgets what was made since a mark."""
        ids, count, made, asked = mark
        self.k.back_to(ids)
        del self.sources[count:]
        self._made, self.dimensions_asked = dict(made), set(asked)
