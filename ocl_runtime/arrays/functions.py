"""Elementwise functions: one for each row of `ocl_runtime.arrays.table`, and compositions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ocl_ir import graph
from ocl_ir.reference import calling_line
from ocl_ir.types import BOOL
from ocl_runtime.arrays.array import Array, ArrayLike, elementwise, operands_of
from ocl_runtime.arrays.dtypes import require, to_dtype
from ocl_runtime.arrays.semantics import apply, as_node, cast, common_dtype, common_shape
from ocl_runtime.arrays.table import TABLE, Row
from ocl_runtime.errors import DTypeError, MixedDevicesError

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


def _described(function: Callable[..., Array], row: Row) -> None:
    function.__name__ = function.__qualname__ = row.name
    shape = "" if function.__code__.co_argcount == 1 else " Shapes and dtypes are broadcast and promoted."
    function.__doc__ = (
        f"{row.doc[0].upper()}{row.doc[1:]}, element by element. {_TAKES[row.rule]}{shape}\n\n"
        "    Raises `DTypeError` for dtypes that it does not take, `ShapeError` for shapes that do not broadcast."
    )


def _unary(name: str) -> Callable[[ArrayLike], Array]:
    def function(x: ArrayLike, /) -> Array:
        return elementwise(name, x)

    _described(function, TABLE[name])
    return function


def _binary(name: str) -> Callable[[ArrayLike, ArrayLike], Array]:
    def function(x1: ArrayLike, x2: ArrayLike, /) -> Array:
        return elementwise(name, x1, x2)

    _described(function, TABLE[name])
    return function


def _ternary(name: str) -> Callable[[ArrayLike, ArrayLike, ArrayLike], Array]:
    def function(x1: ArrayLike, x2: ArrayLike, x3: ArrayLike, /) -> Array:
        return elementwise(name, x1, x2, x3)

    _described(function, TABLE[name])
    return function


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
round = _unary("round")  # noqa: A001
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


def positive(x: Array, /) -> Array:
    """The elements as they are, as a new array."""
    return Array(x.node, x.executor)


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


def clip(x: Array, /, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Array:  # noqa: A002
    """The elements limited to the range from `min` to `max`, both broadcast; the larger bound wins where they cross.

    The result has the dtype of `x`. Raises `DTypeError` if a bound would promote it, `ShapeError` for shapes that do
    not broadcast.
    """
    bounds = [bound for bound in (min, max) if bound is not None]
    operands, executor = operands_of("clip", [x, *bounds])
    dtype = common_dtype(operands, executor)
    if dtype.numpy != x.dtype:
        raise DTypeError(
            f"clip of {x.dtype} with bounds that promote it to {dtype.numpy}",
            place=calling_line(),
            remedy="convert x or the bounds first: astype(x, dtype)",
        )
    result, *limits = operands
    names = [name for name, bound in (("maximum", min), ("minimum", max)) if bound is not None]
    for name, limit in zip(names, limits, strict=True):
        result = apply(TABLE[name], [result, limit], executor)
    return Array(as_node(result, dtype, common_shape([result])), executor)


def where(condition: Array, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The elements of `x1` where the condition holds, else those of `x2`. All are broadcast, the choices promoted.

    Raises `DTypeError` for a condition that is not bool, `ShapeError` for shapes that do not broadcast.
    """
    (test, *choices), executor = operands_of("where", [condition, x1, x2])
    if not isinstance(condition, Array) or condition.dtype != np.bool_:
        kind = condition.dtype if isinstance(condition, Array) else type(condition).__name__
        raise DTypeError(
            f"the condition of where is {kind}, not an array of bool",
            place=calling_line(),
            remedy="compare first: where(x != 0, …)",
        )
    dtype, shape = common_dtype(choices, executor), common_shape([test, *choices])
    nodes = [as_node(test, BOOL, shape), *(as_node(choice, dtype, shape) for choice in choices)]
    return Array(graph.elementwise("select", *nodes), executor)


def astype(x: Array, dtype: Any, /, *, copy: bool = True, device: object = None) -> Array:
    """The elements as another dtype: floats are cut to integers, a bool is whether an element is not 0.

    A new array; with `copy=False` the array itself where it has the dtype.

    Raises `DTypeError` for a dtype that the device does not have.
    """
    if device is not None and device != x.device:
        raise MixedDevicesError(
            f"the array is on {x.device}, not on {device}",
            place=calling_line(),
            remedy="move the values first: with use(runtime): x = asarray(x.numpy())",
        )
    wanted = require(to_dtype(dtype), x.executor.target)
    return x if not copy and wanted == x.node.dtype else Array(cast(x.node, wanted), x.executor)


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The dtype that arrays, dtypes and Python scalars are promoted to."""
    scalar_or_array = bool | int | float | np.generic | Array
    given = [x if isinstance(x, scalar_or_array) else to_dtype(x).numpy.type(0) for x in arrays_and_dtypes]
    return common_dtype(*operands_of("result_type", given)).numpy
