"""What statements of kernel IR work with, and what they have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from ocl_ir.types import Type, ValueType


@dataclass(frozen=True, slots=True)
class Value:
    """A binding: the result of one statement, or a kernel parameter."""

    id: int
    type: Type
    hint: str = field(default="", compare=False)

    @property
    def is_named(self) -> bool:
        """Whether a reader is to find it under its name."""
        return bool(self.hint) and self.hint[0] != "~"


@dataclass(frozen=True, slots=True)
class Variable:
    """A mutable local of one work-item."""

    id: int
    type: ValueType
    hint: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Const:
    """A literal; with a vector type every lane has this value."""

    value: bool | int | float
    type: ValueType

    def __eq__(self, other: object) -> bool:
        # repr tells 0.0 from -0.0 and makes NaN equal to itself, which == does not.
        return isinstance(other, Const) and self.type == other.type and repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        return hash((repr(self.value), self.type))


Operand: TypeAlias = Value | Variable | Const


def as_pointer(operand: Operand) -> Value:
    """An operand where memory is meant; only a value can be that."""
    assert isinstance(operand, Value), "a pass replaced a pointer by something else"
    return operand


@dataclass(frozen=True, slots=True)
class Statement:
    """What all statements have."""

    where: str = field(default="", compare=False, kw_only=True)
    """The Python line that asked for the statement."""
