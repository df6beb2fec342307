"""Sums of floats in any order with the same bits: what is added at computed places, as integers.

Each element's addends are integers of one unit, that of the greatest of them, which lies so far below it that no sum of
all addends overflows. Integers are added exactly, so their order does not matter, and the total is rounded once (Demmel
and Nguyen, Parallel reproducible summation, 2015, who add floats in the same way). float32 takes one number of 64 bits
with at least 14 bits below the least of the greatest addend, float64 two with 10.

A key stands for the greatest addend of an element: the exponent as its bits have it, but 1 for what is smaller; above
all these one for infinity, one for minus infinity, one for NaN; 0 where there is no addend.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node, Scalar
from ocl_ir.language.builtins.registry import BUILTINS
from ocl_ir.language.context import Options
from ocl_ir.language.functions import define
from ocl_ir.language.parameters import Constant, ElementType, ScalarType
from ocl_ir.program_ops import DefinedOp
from ocl_ir.types import F32, F64, I64, U32, DType

bitcast, isnan, where = (BUILTINS[name] for name in ("bitcast", "isnan", "where"))

_HEADROOM = (10, 14, 18, 24, 32)
"""Bits that the number of addends takes, in steps, since the number becomes a part of the program."""


class Format(NamedTuple):
    """A float's format: its dtype, that of its bits, the bits of its fraction, and the exponent of infinity."""

    real: Any
    bits: Any
    fraction: int
    infinite: int


_FORMATS = {F32: Format(np.float32, np.uint32, 23, 255), F64: Format(np.float64, np.uint64, 52, 2047)}


def exponent(x: Any, f: Any) -> Any:
    """The exponent of a finite number as its bits have it, not below 1."""
    return max(np.uint32(bitcast(abs(x), f.bits) >> f.fraction), np.uint32(1))


def key_of(x: Any, f: Any) -> Any:
    """The key of an addend."""
    e = exponent(x, f)
    special = where(isnan(x), np.uint32(2), where(x < 0, np.uint32(1), np.uint32(0)))
    return where(e == f.infinite, e + special, e)


def in_units(x: Any, key: Any, width: Any, f: Any) -> Any:
    """The magnitude of an addend in units of its element, rounded to the nearest one; the greatest has `width` bits."""
    bits = bitcast(abs(x), f.bits)
    fraction = np.uint64(bits & ((1 << f.fraction) - 1))
    hidden = where(bits >> f.fraction != 0, np.uint64(1 << f.fraction), np.uint64(0))
    down = np.uint64(key - exponent(x, f))
    wide = (fraction | hidden) << np.uint64(width - (f.fraction + 1))
    half = where(down > 0, np.uint64(1) << (down - 1), np.uint64(0))
    return where(down < 64, (wide + half) >> down, np.uint64(0))


def signed(magnitude: Any, x: Any, key: Any, f: Any) -> Any:
    """An addend as it is added; beside infinities, whether it is the positive one."""
    finite = where(x < 0, -np.int64(magnitude), np.int64(magnitude))
    return where(key >= f.infinite, where(x == f.real(np.inf), np.int64(1), np.int64(0)), finite)


def units(x: Any, key: Any, width: Any, f: Any) -> Any:
    """An addend in units."""
    return signed(in_units(x, key, width, f), x, key, f)


def high_units(x: Any, key: Any, width: Any, f: Any) -> Any:
    """The upper half of that."""
    return signed(in_units(x, key, width, f) >> 32, x, key, f)


def low_units(x: Any, key: Any, width: Any, f: Any) -> Any:
    """The lower half of that."""
    return signed(in_units(x, key, width, f) & 0xFFFFFFFF, x, key, f)


def power(e: Any, f: Any) -> Any:
    """Two to a power of a normal number."""
    return bitcast(f.bits(e + f.infinite // 2) << f.fraction, f.real)


def added(y: Any, total: Any, high: Any, key: Any, width: Any, f: Any) -> Any:
    """An element with the total of its addends in units, and where that is infinite the number of positive ones."""
    e = np.int32(key) - np.int32(width) - (f.infinite // 2 - 1)
    first = e >> 1
    finite = total * power(first, f) * power(e - first, f)
    infinite = where(key == f.infinite, f.real(np.inf), f.real(np.nan))
    infinite = where(key == f.infinite + 1, where(high == 0, f.real(-np.inf), f.real(np.nan)), infinite)
    return where(key == 0, y, y + where(key >= f.infinite, infinite, finite))


def added_one(y: Any, total: Any, key: Any, width: Any, f: Any) -> Any:
    """The same where one number has the total."""
    return added(y, f.real(total), total, key, width, f)


def added_two(y: Any, high: Any, low: Any, key: Any, width: Any, f: Any) -> Any:
    """The same where two numbers have it."""
    return added(y, f.real(high) * f.real(4294967296.0) + f.real(low), high, key, width, f)


@lru_cache(maxsize=64)
def _op(function: Callable[..., Any], dtypes: tuple[DType, ...], real: DType) -> DefinedOp:
    """The operation of a function of operands of some dtypes, for a float's format."""
    assert isinstance(function, FunctionType)
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    types: dict[str, ElementType] = {name: ScalarType(dtype) for name, dtype in zip(names, dtypes, strict=False)}
    types["f"] = Constant(_FORMATS[real])
    return define(function, types, Options()).ops[0]


def _apply(function: Callable[..., Any], real: DType, *operands: Node) -> Node:
    op = _op(function, tuple(operand.dtype for operand in operands), real)
    return graph.typed(op, op.result, operands)


def added_exactly(node: Node, coordinates: Sequence[Node], value: Node, kept: Node) -> Node:
    """A node of float32 or float64 with a value of its dtype added at places, which may be the same, where `kept`
    holds; other places may be out of bounds."""
    real = node.dtype
    one = real == F32
    if not isinstance(kept, Scalar):
        first = [graph.scalar(0, index.dtype, index.shape, "") for index in coordinates]
        coordinates = [graph.elementwise("select", kept, *pair) for pair in zip(coordinates, first, strict=True)]
    headroom = next((bits for bits in _HEADROOM if value.size <= 1 << bits), 40)

    def zeros(dtype: DType) -> Node:
        return graph.scalar(0, dtype, node.shape, "")

    def width(beside: Node) -> Node:
        return graph.scalar(62 - headroom if one else 63, U32, beside.shape, "")

    keys = graph.scatter("max", zeros(U32), _apply(key_of, real, value), kept, coordinates)
    key = graph.gather(keys, coordinates)
    totals = [
        graph.scatter("add", zeros(I64), _apply(function, real, value, key, width(value)), kept, coordinates)
        for function in ((units,) if one else (high_units, low_units))
    ]
    return _apply(added_one if one else added_two, real, node, *totals, keys, width(node))
