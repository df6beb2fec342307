"""Operands with Python's operators, as the builder hands them out."""

from __future__ import annotations

from typing import Protocol, TypeAlias, cast

from ocl_ir.errors import IRError
from ocl_ir.kernel.grammar import Operand
from ocl_ir.source_line import calling_line
from ocl_ir.types import Type


class Builder(Protocol):
    """What operands need of the builder that they belong to."""

    def op(self, name: str, *operands: Like) -> Ref:
        """The value of an operation on operands."""


class Ref:
    """An operand together with the builder that it belongs to."""

    __slots__ = ("builder", "operand")
    __array_ufunc__ = None  # NumPy scalars leave the operators to us

    def __init__(self, builder: Builder, operand: Operand) -> None:
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
