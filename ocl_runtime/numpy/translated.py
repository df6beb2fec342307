"""NumPy's functions that no operation of the table computes: written in the kernel language.

Greatest divisors are found in a loop for each element; floats are taken apart and put together by their bits, which is
exact.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import FunctionType
from typing import Any

import numpy as np

import ocl_runtime.arrays as xp
from ocl_ir.graph import build as graph
from ocl_ir.language.builtins.registry import BUILTINS
from ocl_ir.language.context import Options
from ocl_ir.language.functions import define
from ocl_ir.language.parameters import ElementType, ScalarType
from ocl_ir.program_ops import DefinedOp
from ocl_ir.types import BF16, F32, F64, DType
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.meaning.semantics import cast
from ocl_runtime.numpy.promotion import FLOAT64, on_device

bitcast, clamp, isfinite, maximum, minimum, where = (
    BUILTINS[name] for name in ("bitcast", "clamp", "isfinite", "maximum", "minimum", "where")
)


@lru_cache(maxsize=256)
def operations(function: FunctionType, dtypes: tuple[DType, ...]) -> tuple[DefinedOp, ...]:
    """What a function in the kernel language is for numbers of some dtypes, one operation for each result."""
    names = function.__code__.co_varnames[: len(dtypes)]
    types: dict[str, ElementType] = {name: ScalarType(dtype) for name, dtype in zip(names, dtypes, strict=True)}
    return define(function, types, Options(fp64=F64 in dtypes)).ops


def _applied(function: Callable[..., Any], *operands: Array) -> list[Array]:
    """The results of such a function of arrays of one runtime, broadcast."""
    assert isinstance(function, FunctionType)
    nodes = [x._node for x in xp.broadcast_arrays(*operands)]
    made = operations(function, tuple(node.dtype for node in nodes))
    # A tuple for each result: who counts references to an operand counts its users.
    return [Array(graph.typed(op, op.result, tuple(nodes)), operands[0]._executor) for op in made]


# ---------------------------------------------------------------------- integers


def divisor(a: Any, b: Any) -> Any:
    """The greatest divisor of two magnitudes: Euclid's algorithm."""
    while b != 0:
        a, b = b, a % b
    return a


def gcd_of(a: Any, b: Any) -> Any:
    """The greatest common divisor; 0 of zeros."""
    return abs(divisor(a, b))


def lcm_of(a: Any, b: Any) -> Any:
    """The least common multiple, which wraps around; 0 beside 0."""
    return abs(a) // abs(divisor(a, b)) * abs(b)


def gcd(x1: Array, x2: Array) -> Array:
    """The greatest common divisor; 0 of zeros."""
    return _applied(gcd_of, *_arrays(x1, x2))[0]


def lcm(x1: Array, x2: Array) -> Array:
    """The least common multiple, which wraps around; 0 beside 0."""
    return _applied(lcm_of, *_arrays(x1, x2))[0]


def _arrays(*operands: Any) -> list[Array]:
    """Operands of which some may be Python's numbers as arrays of the dtype of the others."""
    like = next(x for x in operands if isinstance(x, Array))
    with xp.use(like._executor):
        return [x if isinstance(x, Array) else xp.full((), x, dtype=like.dtype) for x in operands]


# ---------------------------------------------------------------------- floats and their bits


def format_of(x: Any) -> Any:
    """The dtype of the bits of a float, the bits of its fraction, the exponent of infinity, and the least number with
    all bits."""
    if x.dtype == np.float64:
        return np.uint64, 52, 2047, 2.0**-1022
    return np.uint32, 23, 255, 2.0**-126


def parts_of(x: Any) -> Any:
    """A number from 1/2 on to 1, with the sign, and the power of two that it is multiplied by."""
    bits_dtype, fraction, infinite, least = format_of(x)
    is_subnormal = abs(x) < least
    scaled = where(is_subnormal, x * 2.0**fraction, x)
    bits = bitcast(scaled, bits_dtype)
    exponent = np.int32((bits >> fraction) & infinite) - (infinite // 2 - 1) - where(is_subnormal, fraction, 0)
    kept = ~(bits_dtype(infinite) << fraction)
    part = bitcast((bits & kept) | (bits_dtype(infinite // 2 - 1) << fraction), x.dtype)
    is_whole = where(x == 0, True, ~isfinite(x))
    return where(is_whole, x, part), where(is_whole, np.int32(0), np.int32(exponent))


def power_of_two(exponent: Any, like: Any) -> Any:
    """Two to a power of a normal number."""
    bits_dtype, fraction, infinite, _ = format_of(like)
    return bitcast(bits_dtype(exponent + infinite // 2) << fraction, like.dtype)


def scaled_by(x: Any, exponent: Any) -> Any:
    """A number times a power of two, rounded once: by two factors, of which the first leaves it a normal number."""
    part, own = parts_of(x)
    _, fraction, infinite, _ = format_of(x)
    far = 4 * infinite
    bias = infinite // 2
    total = clamp(np.int32(clamp(exponent, -far, far)) + own, -bias - fraction - 3, bias + 3)
    half = total >> 1
    return part * power_of_two(half, x) * power_of_two(total - half, x)


def frexp(x: Array) -> tuple[Array, Array]:
    """The number from 1/2 on to 1, and the power of two that it is multiplied by, which is 0 for 0, infinity and
    NaN."""
    part, exponent = _applied(parts_of, _wide(x))
    return xp.astype(part, x.dtype, copy=False), exponent


def ldexp(x1: Array, x2: Array) -> Array:
    """A number times two to a power, rounded once."""
    x, exponent = _arrays(x1, x2) if isinstance(x1, Array) and isinstance(x2, Array) else _beside(x1, x2)
    return xp.astype(_applied(scaled_by, _wide(x), exponent)[0], x.dtype, copy=False)


def _beside(x1: Any, x2: Any) -> tuple[Array, Array]:
    """A number and an exponent of which one is Python's."""
    like = x1 if isinstance(x1, Array) else x2
    with xp.use(like._executor):
        if isinstance(x1, Array):
            return x1, xp.full((), int(x2), dtype=np.int32)
        return xp.full((), x1, dtype=on_device(FLOAT64, like._executor)), x2


def _wide(x: Array) -> Array:
    """Halves as float32, whose bits are at hand."""
    return Array(cast(x._node, F32), x._executor) if x._dtype.is_float and x._dtype.bits == 16 else x


# ---------------------------------------------------------------------- what joins two elements


def greater(a: Any, b: Any) -> Any:
    """The greater; NaN if one is."""
    return maximum(a, b)


def lesser(a: Any, b: Any) -> Any:
    """The lesser; NaN if one is."""
    return minimum(a, b)


def running(function: Callable[..., Any], x: Array, axis: int) -> Array:
    """The elements joined with all before them along an axis, by a function of two numbers of their dtype."""
    assert isinstance(function, FunctionType)
    dtype = F32 if x._dtype is BF16 else x._dtype
    op = operations(function, (dtype, dtype))[0]
    joined = Array(graph.scan(_with_neutral(op, function, dtype), cast(x._node, dtype), axis, dtype), x._executor)
    return xp.astype(joined, x.dtype, copy=False)


def _with_neutral(op: DefinedOp, function: FunctionType, dtype: DType) -> DefinedOp:
    """The operation with the number that changes nothing, which is in its name too."""
    is_greater = function is greater
    if dtype.is_float:
        neutral: Any = -np.inf if is_greater else np.inf
    else:
        limits = np.iinfo(dtype.numpy)
        neutral = limits.min if is_greater else limits.max
    return DefinedOp(f"{op}_from_{'least' if is_greater else 'greatest'}", op.definition, op.dtypes, dtype, neutral)
