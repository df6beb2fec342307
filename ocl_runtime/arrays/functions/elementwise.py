"""Elementwise functions: one for each row of `ocl_runtime.arrays.meaning.table`, and compositions."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ocl_ir.graph import build as graph
from ocl_ir.source_line import caller, calling_line
from ocl_ir.types import BOOL, F32, F64, DType
from ocl_runtime.arrays.array import Array, array_of, binary_function, ternary_function, unary_function
from ocl_runtime.arrays.meaning.dtypes import require, to_dtype
from ocl_runtime.arrays.meaning.semantics import Operand, apply, as_node, cast, common_dtype, common_shape
from ocl_runtime.arrays.meaning.table import TABLE, Row
from ocl_runtime.arrays.operands import ArrayLike, node_of, operands_of
from ocl_runtime.errors import DTypeError

_Function = TypeVar("_Function", bound=Callable[..., Array])

_TAKES = {
    "numeric": "Numbers, in their common dtype.",
    "real": "Floats; integers count as the default real dtype.",
    "rounding": "Numbers; integers stay as they are.",
    "compare": "Gives bools.",
    "classify": "Gives bools.",
    "bits": "Integers and bools, in their common dtype.",
    "count": "Integers and bools; gives uint8.",
    "logical": "Gives bools; a number counts as whether it is not 0.",
}


def _described(function: _Function, row: Row) -> _Function:
    function.__name__ = function.__qualname__ = row.name
    function.__module__ = __name__
    shape = "" if function.__code__.co_argcount == 1 else " Shapes and dtypes are broadcast and promoted."
    function.__doc__ = (
        f"{row.doc[0].upper()}{row.doc[1:]}, element by element. {_TAKES[row.rule]}{shape}\n\n"
        "    Raises `DTypeError` for dtypes that it does not take, `ShapeError` for shapes that do not broadcast."
    )
    return function


def _unary(name: str) -> Callable[[ArrayLike], Array]:
    return _described(unary_function(name), TABLE[name])


def _binary(name: str) -> Callable[[ArrayLike, ArrayLike], Array]:
    return _described(binary_function(name), TABLE[name])


def _ternary(name: str) -> Callable[[ArrayLike, ArrayLike, ArrayLike], Array]:
    return _described(ternary_function(name), TABLE[name])


abs = _unary("abs")  # noqa: A001
acos = _unary("acos")
acosh = _unary("acosh")
add = _binary("add")
asin = _unary("asin")
asinh = _unary("asinh")
atan = _unary("atan")
atan2 = _binary("atan2")
atanh = _unary("atanh")
bitwise_and = _binary("bitwise_and")
bitwise_count = _unary("bitwise_count")
bitwise_invert = _unary("bitwise_invert")
bitwise_left_shift = _binary("bitwise_left_shift")
bitwise_or = _binary("bitwise_or")
bitwise_right_shift = _binary("bitwise_right_shift")
bitwise_xor = _binary("bitwise_xor")
cbrt = _unary("cbrt")
ceil = _unary("ceil")
clz = _unary("clz")
copysign = _binary("copysign")
cos = _unary("cos")
cosh = _unary("cosh")
divide = _binary("divide")
equal = _binary("equal")
erf = _unary("erf")
exp = _unary("exp")
exp2 = _unary("exp2")
expm1 = _unary("expm1")
floor = _unary("floor")
floor_divide = _binary("floor_divide")
fma = _ternary("fma")
fmod = _binary("fmod")
greater = _binary("greater")
greater_equal = _binary("greater_equal")
hypot = _binary("hypot")
isfinite = _unary("isfinite")
isinf = _unary("isinf")
isnan = _unary("isnan")
less = _binary("less")
less_equal = _binary("less_equal")
log = _unary("log")
log10 = _unary("log10")
log1p = _unary("log1p")
log2 = _unary("log2")
logical_and = _binary("logical_and")
logical_not = _unary("logical_not")
logical_or = _binary("logical_or")
logical_xor = _binary("logical_xor")
maximum = _binary("maximum")
minimum = _binary("minimum")
multiply = _binary("multiply")
negative = _unary("negative")
nextafter = _binary("nextafter")
not_equal = _binary("not_equal")
pow = _binary("pow")  # noqa: A001
remainder = _binary("remainder")
rsqrt = _unary("rsqrt")
sign = _unary("sign")
signbit = _unary("signbit")
sin = _unary("sin")
sinh = _unary("sinh")
sqrt = _unary("sqrt")
subtract = _binary("subtract")
tan = _unary("tan")
tanh = _unary("tanh")
trunc = _unary("trunc")


_rounded = unary_function("round")


def round(x: ArrayLike, /, decimals: int = 0) -> Array:  # noqa: A001
    """The nearest numbers with so many decimals, the even one of two; integers stay as they are for 0 or more.

    Tens are divided out and multiplied back for fewer than 0, as NumPy does. Raises `DTypeError` for bools and
    decimals.
    """
    if not decimals:
        return _rounded(x)
    x = array_of("round", x)
    if not x._dtype.is_inexact and decimals > 0:
        return positive(x)
    scale = 10.0 ** builtins.abs(decimals)
    if decimals > 0:
        return divide(_rounded(multiply(x, scale)), scale)
    return astype(multiply(_rounded(divide(x, scale)), scale), x.dtype)


def conj(x: ArrayLike, /) -> Array:
    """The complex conjugate: of real numbers the elements as a new array."""
    x = array_of("conj", x)
    return _of_complex("conj", x) if x._dtype.is_complex else positive(x)


def real(x: ArrayLike, /) -> Array:
    """The real part: of real numbers the elements as a new array."""
    x = array_of("real", x)
    return _of_complex("real", x) if x._dtype.is_complex else positive(x)


def imag(x: ArrayLike, /) -> Array:
    """The imaginary part: of real numbers zeros of their shape and dtype."""
    x = array_of("imag", x)
    if x._dtype.is_complex:
        return _of_complex("imag", x)
    return Array(cast(graph.scalar(False, BOOL, x.shape), x._dtype), x._executor)


def angle(x: ArrayLike, /) -> Array:
    """The angle of complex numbers in the plane, from -pi to pi in radians: 0 or pi for real numbers."""
    x = array_of("angle", x)
    return atan2(imag(x), real(x))


def complex_of(real_part: ArrayLike, imag_part: ArrayLike, /) -> Array:
    """The complex numbers with these parts, which are broadcast: complex128 of float64, else complex64 (an extension of
    the standard). Raises `DTypeError` for parts that are complex themselves."""
    parts, executor = operands_of("complex_of", [real_part, imag_part])
    common = common_dtype(parts, executor)
    if common.is_complex:
        raise DTypeError(
            "complex_of parts that are complex", place=calling_line(), remedy="add them instead: x1 + 1j * x2"
        )
    dtype, shape = (F64 if common is F64 else F32), common_shape(parts)
    return Array(graph.elementwise("complex", *[as_node(part, dtype, shape) for part in parts]), executor)


def _of_complex(op: str, x: Array) -> Array:
    return Array(graph.elementwise(op, x._node), x._executor)


def positive(x: ArrayLike, /) -> Array:
    """The elements as they are, as a new array."""
    return +array_of("positive", x)


def square(x: ArrayLike, /) -> Array:
    """The elements times themselves, in their dtype."""
    return multiply(x, x)


def reciprocal(x: ArrayLike, /) -> Array:
    """1 divided by the elements; integers count as the default real dtype."""
    return divide(1, x)


def logaddexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The logarithm of the sum of exponentials, without overflow. Shapes and dtypes are broadcast and promoted."""
    larger, distance = maximum(x1, x2), negative(abs(subtract(x1, x2)))
    # The distance of equal infinities is NaN; there the larger one is the result.
    return where(equal(x1, x2), add(larger, np.log(2.0).item()), add(larger, log1p(exp(distance))))


def clip(x: ArrayLike, /, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Array:  # noqa: A002
    """The elements limited to the range from `min` to `max`, both broadcast; the larger bound wins where they cross.

    Dtypes are promoted. An integer below the dtype as `min`, or above it as `max`, limits nothing. Raises
    `NumberRangeError` for other integers that the dtype does not hold, `ShapeError` for shapes that do not broadcast.
    """
    bounds = [("maximum", min), ("minimum", max)]
    operands, executor = operands_of("clip", [x, *(bound for _, bound in bounds if bound is not None)])
    result, *limits = operands
    dtype = common_dtype(operands, executor)
    names = [name for name, bound in bounds if bound is not None]
    for name, limit in zip(names, limits, strict=True):
        if not _limits_nothing(name, limit, dtype):
            result = apply(TABLE[name], [result, limit], executor)
    return +Array(as_node(result, dtype, common_shape([result, *limits])), executor)  # it may be the array


def _limits_nothing(name: str, limit: Operand, dtype: DType) -> bool:
    """Whether every value of an integer dtype is on the right side of a Python integer."""
    if not dtype.is_integer or not isinstance(limit, int):
        return False
    limits = np.iinfo(dtype.numpy)
    return limit < limits.min if name == "maximum" else limit > limits.max


def where(condition: ArrayLike, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The elements of `x1` where the condition holds, else those of `x2`. All are broadcast, the choices promoted.

    Raises `DTypeError` for a condition that is not bool, `ShapeError` for shapes that do not broadcast.
    """
    if type(condition) is type(x1) is type(x2) is Array and condition._executor is x1._executor is x2._executor:
        line = caller()
        nodes = tuple([x._node_at(line) for x in (condition, x1, x2)])
        test, first, second = nodes
        if test.dtype is BOOL and first.dtype is second.dtype and test.shape == first.shape == second.shape:
            return Array(graph.typed("select", first.dtype, nodes, line), x1._executor)
    (predicate, *choices), executor = operands_of("where", [condition, x1, x2])
    test = node_of("where", predicate, executor)
    if test.dtype != BOOL:
        raise DTypeError(
            f"the condition of where is {test.dtype.public}, not an array of bool",
            place=calling_line(),
            remedy="compare first: where(x != 0, …)",
        )
    dtype, shape = common_dtype(choices, executor), common_shape([test, *choices])
    terms = [as_node(test, BOOL, shape), *(as_node(choice, dtype, shape) for choice in choices)]
    return Array(graph.elementwise("select", *terms), executor)


def astype(x: ArrayLike, dtype: Any, /, copy: bool = True, *, device: object = None) -> Array:
    """The elements as another dtype: floats are cut to integers, a bool is whether an element is not 0.

    A new array; with `copy=False` the array itself where it has the dtype.

    On another `device` a copy, as of `Array.to_device`. Raises `DTypeError` for a dtype that the device does not have,
    `MixedDevicesError` for a device that is not that of the runtime in use.
    """
    x = array_of("astype", x)
    if device is not None:
        x = x.to_device(device)
    wanted = require(to_dtype(dtype), x._executor.target)
    if wanted == x._dtype:
        return +x if copy else x
    return Array(cast(x._node, wanted), x._executor)


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The dtype that arrays, dtypes and Python scalars are promoted to."""
    scalar_or_array = bool | int | float | complex | np.generic | Array
    operands, executor = operands_of("result_type", [x for x in arrays_and_dtypes if isinstance(x, scalar_or_array)])
    dtypes = [to_dtype(x) for x in arrays_and_dtypes if not isinstance(x, scalar_or_array)]
    return common_dtype([*operands, *[graph.scalar(dtype.value(0), dtype) for dtype in dtypes]], executor).public
