"""Which type numbers meet in: the three classes of the language, held against NumPy 2.

    literal ⊕ typed      the typed one's, which the literal must fit; a float beside an integer: the default real
    literal ⊕ index      index, or the default real for a float
    index   ⊕ typed      T for floats, uint32 and uint64; int64 for int64; else index
    typed   ⊕ typed      NumPy's result type, unless that is a float64 that nobody has

Everything here is about types alone; `ocl_ir.language.expressions.arithmetic` converts and computes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from ocl_ir.language.values.values import HostNumber, Number, Value
from ocl_ir.types import BF16, BOOL, F32, F64, DType, from_numpy

LiteralKind: TypeAlias = Literal["bool", "int", "float"]


@dataclass(frozen=True, slots=True)
class Class:
    """What a number meets others as: a literal of a kind, an index (`dtype` None), or a dtype."""

    literal: LiteralKind | None = None
    dtype: DType | None = None

    @property
    def is_index(self) -> bool:
        """Whether it is a Python int that is known on the device only."""
        return self.literal is None and self.dtype is None


INDEX = Class()


class NoCommonType(Exception):  # noqa: N818
    """Two typed numbers meet in a float64 that neither has."""


def class_of(value: Value) -> Class | None:
    """The class of a number; None for what is none."""
    if isinstance(value, Number):
        if value.kind == "index":
            return INDEX
        if value.kind == "weak":
            return Class("float" if value.dtype.is_float else "int")
        return Class(dtype=F32 if value.dtype is BF16 else value.dtype)
    if isinstance(value, HostNumber):
        return Class("bool" if value.is_bool else "float")
    if isinstance(value, np.generic):
        return Class(dtype=from_numpy(value.dtype))
    if isinstance(value, bool):
        return Class("bool")
    if isinstance(value, int):
        return Class("int")
    return Class("float") if isinstance(value, float) else None


def meet(a: Class, b: Class, real: DType) -> Class:
    """The class in which two numbers are computed with; of two literals, a literal. Raises `NoCommonType`."""
    if a.literal is not None and b.literal is not None:
        kinds: tuple[LiteralKind, ...] = ("bool", "int", "float")
        return Class(max(a.literal, b.literal, key=kinds.index))
    if a.literal is not None:
        return _with_literal(a.literal, b, real)
    if b.literal is not None:
        return _with_literal(b.literal, a, real)
    if a.is_index or b.is_index:
        return _with_index(b if a.is_index else a)
    return Class(dtype=_typed(a.dtype, b.dtype))


def _with_literal(literal: LiteralKind, other: Class, real: DType) -> Class:
    if other.is_index:
        return Class(dtype=real) if literal == "float" else INDEX
    assert other.dtype is not None
    if literal == "float" and not other.dtype.is_inexact:
        return Class(dtype=real)
    return INDEX if other.dtype is BOOL and literal == "int" else other


def _with_index(other: Class) -> Class:
    dtype = other.dtype
    if dtype is None or dtype is BOOL or (dtype.is_integer and dtype.bits < 32) or dtype.name == "i32":
        return INDEX
    return other


def _typed(a: DType | None, b: DType | None) -> DType:
    assert a is not None
    assert b is not None
    if a is b:
        return a
    common = from_numpy(np.result_type(a.numpy, b.numpy))
    if common.component is F64 and F64 not in {a.component, b.component}:
        raise NoCommonType
    return common
