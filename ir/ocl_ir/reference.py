"""Operands with Python's operators, as the builder hands them out, and where in the user's program they were asked
for."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import TYPE_CHECKING, TypeAlias, cast

from ocl_ir.errors import IRError
from ocl_ir.kernel import Operand
from ocl_ir.types import Type

if TYPE_CHECKING:
    from ocl_ir.builder import KernelBuilder

# Frames of this library, and of the `with` statements of its builder, are not the user's.
_HERE = Path(__file__).resolve().parent
_OWN_FILES = (
    str(_HERE),
    str(_HERE.parent / "ocl_runtime"),  # installed
    str(_HERE.parent.parent / "ocl_runtime"),  # in a checkout
    contextlib.__file__,
)


class Line:
    """A line of somebody's program; `str` says which. Only then it is looked up, which takes long in a long function.

    Holds the code, and nothing of what ran there.
    """

    __slots__ = ("at", "code")

    def __init__(self, code: CodeType, at: int) -> None:
        self.code = code
        self.at = at

    def __str__(self) -> str:
        found = next((line for low, high, line in self.code.co_lines() if low <= self.at < high), None)
        return f"{self.code.co_filename}:{self.code.co_firstlineno if found is None else found}"


Where: TypeAlias = Line | str
"""A Python line that asked for something; the empty text where it is not known."""


def caller() -> Line:
    """Where the innermost Python frame outside of this library is."""
    frame = _outside(sys._getframe(1))
    return Line(frame.f_code, frame.f_lasti)


def calling_line() -> str:
    """The same as `file:line`."""
    frame = _outside(sys._getframe(1))
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def calling_frame() -> FrameType:
    """The frame itself, for warnings; whoever asks must not keep it."""
    return _outside(sys._getframe(1))


def _outside(frame: FrameType) -> FrameType:
    while _OWN[frame.f_code.co_filename] and frame.f_back is not None:
        frame = frame.f_back
    return frame


class _Own(dict[str, bool]):
    """Whether a file is of this library; asked for several frames of every operation."""

    def __missing__(self, file: str) -> bool:
        self[file] = file.startswith(_OWN_FILES)
        return self[file]


_OWN = _Own()


class Ref:
    """An operand together with the builder that it belongs to."""

    __slots__ = ("builder", "operand")
    __array_ufunc__ = None  # NumPy scalars leave the operators to us

    def __init__(self, builder: KernelBuilder, operand: Operand) -> None:
        self.builder = builder
        self.operand = operand

    @property
    def type(self) -> Type:
        """The operand's type."""
        return self.operand.type

    def __bool__(self) -> bool:
        raise IRError(
            "a value of the device has no truth value while the kernel is built",
            place=calling_line(),
            remedy="use k.if_(…), k.while_(…) or k.op('select', …)",
        )

    def _op(self, name: str, *others: Like) -> Ref:
        return self.builder.op(name, self, *others)

    def __add__(self, other: Like) -> Ref:
        return self._op("add", other)

    def __radd__(self, other: Like) -> Ref:
        return self.builder.op("add", other, self)

    def __sub__(self, other: Like) -> Ref:
        return self._op("sub", other)

    def __rsub__(self, other: Like) -> Ref:
        return self.builder.op("sub", other, self)

    def __mul__(self, other: Like) -> Ref:
        return self._op("mul", other)

    def __rmul__(self, other: Like) -> Ref:
        return self.builder.op("mul", other, self)

    def __truediv__(self, other: Like) -> Ref:
        return self._op("div", other)

    def __rtruediv__(self, other: Like) -> Ref:
        return self.builder.op("div", other, self)

    def __floordiv__(self, other: Like) -> Ref:
        return self._op("floordiv", other)

    def __mod__(self, other: Like) -> Ref:
        return self._op("rem", other)

    def __and__(self, other: Like) -> Ref:
        return self._op("and", other)

    def __or__(self, other: Like) -> Ref:
        return self._op("or", other)

    def __xor__(self, other: Like) -> Ref:
        return self._op("xor", other)

    def __lshift__(self, other: Like) -> Ref:
        return self._op("shl", other)

    def __rshift__(self, other: Like) -> Ref:
        return self._op("shr", other)

    def __neg__(self) -> Ref:
        return self._op("neg")

    def __invert__(self) -> Ref:
        return self._op("not")

    def __lt__(self, other: Like) -> Ref:
        return self._op("lt", other)

    def __le__(self, other: Like) -> Ref:
        return self._op("le", other)

    def __gt__(self, other: Like) -> Ref:
        return self._op("gt", other)

    def __ge__(self, other: Like) -> Ref:
        return self._op("ge", other)

    def __eq__(self, other: object) -> Ref:  # type: ignore[override]
        return self._op("eq", cast("Like", other))

    def __ne__(self, other: object) -> Ref:  # type: ignore[override]
        return self._op("ne", cast("Like", other))

    __hash__ = None  # type: ignore[assignment]


Like: TypeAlias = Ref | Operand | bool | int | float
