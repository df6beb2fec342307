"""Sums of floats with the same bits in any order: what is added at computed places, as integers.

The addends of an element are integers of one unit, which lies so far below the greatest of them that no sum overflows.
Each is rounded to units; integers are added exactly, so their order does not matter; the total is rounded to the dtype,
and added to the element (Demmel and Nguyen, Parallel reproducible summation, 2015, who add floats in the same way).

The greatest addend has `width` bits, which depend on how many addends the call has: 26 to 52 in one number of 64 bits
for float32, 53 or 63 in two for float64. So the total of n addends is off by at most n * 2**-width times the greatest
one before it is rounded. The element itself is not among them: where it is far greater, a unit of it would be more
than many small addends are together.

A key stands for the greatest addend of an element: the exponent as its bits have it, but 1 for what is smaller; above
all these one for infinity, one for minus infinity, one for NaN; 0 where there are none but -0.0, which change nothing.
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
from ocl_ir.source_line import calling_line
from ocl_ir.types import F32, F64, I64, U32, DType
from ocl_runtime.errors import ShapeError

bitcast, isnan, where = (BUILTINS[name] for name in ("bitcast", "isnan", "where"))

_HEADROOM = (10, 14, 18, 24, 31, 36)
"""Bits that the number of addends takes, in steps, since the number becomes a part of the program. More would leave too
few for the fraction of the greatest one."""


class Format(NamedTuple):
    """A float's format: its dtype, that of its bits, the bits of its fraction, the exponent of infinity, the bits of
    minus zero."""

    real: Any
    bits: Any
    fraction: int
    infinite: int
    minus_zero: int


_FORMATS = {F32: Format(np.float32, np.uint32, 23, 255, 1 << 31), F64: Format(np.float64, np.uint64, 52, 2047, 1 << 63)}


def exponent(x: Any, f: Any) -> Any:
    """The exponent of a finite number as its bits have it, not below 1."""
    return max(np.uint32(bitcast(abs(x), f.bits) >> f.fraction), np.uint32(1))


def key_of(x: Any, f: Any) -> Any:
    """The key of an addend."""
    e = exponent(x, f)
    special = where(isnan(x), np.uint32(2), where(x < 0, np.uint32(1), np.uint32(0)))
    is_minus_zero = bitcast(x, f.bits) == f.minus_zero
    return where(is_minus_zero, np.uint32(0), where(e == f.infinite, e + special, e))


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


def low_bits(width: Any) -> Any:
    """How many bits of an addend of two numbers the lower one has."""
    return np.uint32(width + 1) >> 1


def high_units(x: Any, key: Any, width: Any, f: Any) -> Any:
    """The upper half of that."""
    return signed(in_units(x, key, width, f) >> low_bits(width), x, key, f)


def low_units(x: Any, key: Any, width: Any, f: Any) -> Any:
    """The lower half of that."""
    return signed(in_units(x, key, width, f) & ((np.uint64(1) << low_bits(width)) - 1), x, key, f)


def power(e: Any, f: Any) -> Any:
    """Two to a power of a normal number."""
    return bitcast(f.bits(e + f.infinite // 2) << f.fraction, f.real)


def added(x: Any, total: Any, high: Any, key: Any, width: Any, f: Any) -> Any:
    """An element with the total of its addends in units, and where that is infinite the number of positive ones."""
    e = np.int32(key) - np.int32(width) - (f.infinite // 2 - 1)
    first = e >> 1
    finite = total * power(first, f) * power(e - first, f)
    infinite = where(key == f.infinite, f.real(np.inf), f.real(np.nan))
    infinite = where(key == f.infinite + 1, where(high == 0, f.real(-np.inf), f.real(np.nan)), infinite)
    return where(key == 0, x, x + where(key >= f.infinite, infinite, finite))


def added_one(x: Any, total: Any, key: Any, width: Any, f: Any) -> Any:
    """The same where one number has the total."""
    return added(x, f.real(total), total, key, width, f)


def added_two(x: Any, high: Any, low: Any, key: Any, width: Any, f: Any) -> Any:
    """The same where two numbers have it. What the lower one has above its bits goes to the upper one first, so that
    they never cancel each other."""
    bits = low_bits(width)
    upper = high + (low >> bits)
    lower = low & ((np.int64(1) << bits) - 1)
    return added(x, f.real(upper) * f.real(np.int64(1) << bits) + f.real(lower), high, key, width, f)


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


def added_reproducibly(what: str, node: Node, coordinates: Sequence[Node], addends: Node, kept: Node) -> Node:
    """A node of float32 or float64 with addends of its dtype at places, which may be the same, where `kept` holds;
    other places may be out of bounds. Raises `ShapeError` for more addends than integers have room for."""
    real = node.dtype
    has_one = real == F32
    if not isinstance(kept, Scalar):
        first = [graph.scalar(0, index.dtype, index.shape, "") for index in coordinates]
        coordinates = [graph.elementwise("select", kept, *pair) for pair in zip(coordinates, first, strict=True)]
    bits = _width(what, addends.size, has_one=has_one)

    def zeros(dtype: DType) -> Node:
        return graph.scalar(0, dtype, node.shape, "")

    def width(beside: Node) -> Node:
        return graph.scalar(bits, U32, beside.shape, "")

    keys = graph.scatter("max", zeros(U32), _apply(key_of, real, addends), kept, coordinates)
    key = graph.gather(keys, coordinates)
    totals = [
        graph.scatter("add", zeros(I64), _apply(function, real, addends, key, width(addends)), kept, coordinates)
        for function in ((units,) if has_one else (high_units, low_units))
    ]
    return _apply(added_one if has_one else added_two, real, node, *totals, keys, width(node))


def _width(what: str, count: int, *, has_one: bool) -> int:
    """The bits of the greatest of so many addends: as many as leave room for their sum, in one number of 64 bits or in
    two."""
    headroom = next((bits for bits in _HEADROOM if count <= 1 << bits), None)
    if headroom is None:
        raise ShapeError(
            f"{what} of {count} floats, whose sum may overflow the integers that they are added as",
            place=calling_line(),
            remedy=f"add at most 2**{_HEADROOM[-1]} at once, or say add_at(…, deterministic=False)",
        )
    return 62 - headroom if has_one else min(31, 62 - headroom) + min(32, 63 - headroom)
