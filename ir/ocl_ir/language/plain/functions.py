"""Functions of numbers in plain Python, by the rules of the language."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ocl_ir.complex_functions import of_parts
from ocl_ir.errors import DTypeError
from ocl_ir.guards import Backed
from ocl_ir.language.plain.names import dtype_of
from ocl_ir.language.plain.numbers import (
    Index,
    Typed,
    apply,
    binary,
    cast,
    class_of,
    common,
    converted,
    in_common,
    in_real,
    is_ours,
    plain,
    truth,
)
from ocl_ir.language.plain.work_item import default_real, refuse_zero_divisor
from ocl_ir.language.values.host_numbers import HOST
from ocl_ir.language.values.promotion import Class
from ocl_ir.ops import OPS
from ocl_ir.types import BOOL, F16, F32, F64


def real_function(op: str) -> Callable[..., Any]:
    """A function of floats, of which integers become the default real."""
    reference = OPS[op].reference

    def function(*values: Any) -> Any:
        if not is_ours(*values):
            literal = op in HOST and all(isinstance(value, int | float) for value in values)
            return HOST[op](*values) if literal else reference(*map(np.asarray, values))[()]
        dtype = in_real(common(*values))
        if op == "nextafter" and dtype is F16:
            raise DTypeError("nextafter of float16, which is computed in float32", remedy="use float32")
        return apply(reference, dtype, *values)

    return function


def function_of_numbers(op: str) -> Callable[..., Any]:
    """A function of numbers of one type."""
    reference = OPS[op].reference

    def function(*values: Any) -> Any:
        if not is_ours(*values):
            result = reference(*map(np.asarray, values))[()]
            return result.item() if all(isinstance(value, int | float) for value in values) else result
        class_ = common(*values)
        if class_.dtype is BOOL or class_.literal == "bool":
            raise DTypeError(f"{op} of bools", remedy="convert them: int(…)")
        if class_.literal == "float":
            class_ = Class(dtype=default_real())
        if class_.dtype is not None:
            return apply(reference, class_.dtype, *values)
        return Index(reference(*[np.asarray(int(value), np.int64) for value in values]))

    return function


def question(op: str) -> Callable[[Any], Any]:
    """`isnan` and its kin."""
    reference = OPS[op].reference

    def function(value: Any) -> Any:
        if not is_ours(value):
            return bool(reference(np.asarray(value, float)))
        class_ = common(value)
        return apply(reference, class_.dtype, value) if class_.dtype and class_.dtype.is_float else op == "isfinite"

    return function


def conj(value: Any) -> Any:
    """The complex conjugate; of a real number the number itself."""
    class_ = common(value)
    is_complex = class_.dtype is not None and class_.dtype.is_complex
    return apply(np.conj, class_.dtype, value) if is_complex and class_.dtype else value


def to_complex(real: Any, imag: Any = 0.0) -> Any:
    """Python's `complex`, of parts in the float type in which they meet."""
    class_ = common(real, imag)
    if class_.dtype is not None and class_.dtype.is_complex:
        return real
    if not is_ours(real, imag):
        return complex(real, imag)
    dtype = F64 if in_real(class_) is F64 else F32
    return Typed(of_parts(*[np.asarray(converted(value, dtype)) for value in (real, imag)])[()])


def function_of_bits(op: str) -> Callable[[Any], Any]:
    """`popcount` and `clz`, which look at an index in 32 bits."""
    reference = OPS[op].reference

    def function(value: Any) -> Any:
        class_ = common(value)
        if class_.literal in {"bool", "float"} or (class_.dtype is not None and not class_.dtype.is_integer):
            raise DTypeError(f"{op} of {value!r}", remedy="bits are those of integers")
        if class_.dtype is not None:
            return apply(reference, class_.dtype, value)
        return Index(reference(np.asarray([int(value)], np.int32))[0])

    return function


def where(condition: Any, x: Any, y: Any) -> Any:
    """One of two numbers, in the type in which they meet."""
    return in_common(x if truth(condition) else y, x, y)


def clamp(x: Any, low: Any, high: Any) -> Any:
    """At least `low` and at most `high`."""
    return function_of_numbers("minimum")(function_of_numbers("maximum")(x, low), high)


def c_extreme(name: str) -> Callable[[Any, Any], Any]:
    """C's `fmin` or `fmax`: of a number and NaN, the number."""
    nearest = function_of_numbers({"fmin": "minimum", "fmax": "maximum"}[name])

    def function(x: Any, y: Any) -> Any:
        both = nearest(x, y)
        for value, other in ((x, y), (y, x)):
            if truth(question("isnan")(value)):
                return in_common(other, x, y)
        return both

    return function


def python_extreme(name: str) -> Callable[..., Any]:
    """Python's `min` or `max`, in the type in which the numbers meet."""

    def function(first: Any, *rest: Any) -> Any:
        if not rest and not isinstance(first, tuple):
            raise DTypeError(f"{name} of {first!r}", remedy=f"give it two numbers, or a tuple of them: {name}(a, b)")
        chosen, *others = (first, *rest) if rest else first
        for value in others:
            is_better = value < chosen if name == "min" else value > chosen
            chosen = in_common(value if is_better else chosen, chosen, value)
        return chosen

    return function


def question_of_tuple(name: str) -> Callable[[Any], Any]:
    """Python's `any` or `all`."""
    function: Callable[[Any], bool] = {"any": any, "all": all}[name]

    def asked(values: Any) -> Any:
        conditions = tuple(values)
        result = function(map(truth, conditions))
        return Typed(np.bool_(result)) if is_ours(*conditions) else result

    return asked


def power(base: Any, exp: Any, mod: Any = None) -> Any:
    """Python's `pow`, which is `**` unless it has a modulus."""
    return base**exp if mod is None else pow(base, exp, mod)


# ---------------------------------------------------------------------- integers


def cdiv(a: Any, b: Any) -> Any:
    """`a / b`, rounded up; of the sizes of a captured function a size."""
    if isinstance(a, Backed) or isinstance(b, Backed):
        return -(-a // b)
    return _exactly("cdiv", lambda x, y: -(-x // y), a, b)


def c_div(a: Any, b: Any) -> Any:
    """`a / b`, rounded to zero."""
    return _exactly("c_div", _truncated, a, b)


def c_mod(a: Any, b: Any) -> Any:
    """What `c_div` leaves."""
    return _exactly("c_mod", lambda x, y: x - _truncated(x, y) * y, a, b)


def quotient_and_remainder(a: Any, b: Any) -> tuple[Any, Any]:
    """Python's `divmod`."""
    if not is_ours(a, b):
        return a // b, a % b
    return binary("floordiv", a, b, written="divmod"), binary("rem", a, b, written="divmod")


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _exactly(name: str, function: Callable[[int, int], int], a: Any, b: Any) -> Any:
    """A function of integers, computed in Python's; by zero it is 0."""
    class_ = common(a, b)
    if class_.literal in {"bool", "float"} or (class_.dtype is not None and not class_.dtype.is_integer):
        raise DTypeError(f"a division of the integers {a!r} and {b!r}", remedy="use // for floats")
    if class_.dtype is not None:
        a, b = (cast(value, class_.dtype) for value in (a, b))
    if int(b) == 0:
        refuse_zero_divisor(name)
    result = Index(0 if int(b) == 0 else function(int(a), int(b)))
    if class_.dtype is not None:
        return cast(result, class_.dtype)
    return result if is_ours(a, b) else int(result)


# ---------------------------------------------------------------------- conversions


def to_index(value: Any) -> Any:
    """`int(v)`: an index, unless it is known from the text."""
    return Index(int(plain(value))) if is_ours(value) or isinstance(value, np.generic) else int(value)


def to_real(value: Any) -> Any:
    """`float(v)`: the default real, unless it is known from the text."""
    return cast(value, default_real()) if is_ours(value) or isinstance(value, np.generic) else float(value)


def to_bool(value: Any) -> Any:
    """`bool(v)`: whether it is not zero."""
    return Typed(np.bool_(truth(value))) if is_ours(value) else bool(value)


def to_integer(name: str) -> Callable[[Any], Any]:
    """`round`, `math.floor` and their kin: an index."""
    function: Callable[[float], int] = round if name == "round" else getattr(math, name)

    def rounded(value: Any) -> Any:
        if not is_ours(value):
            return function(value)
        class_ = class_of(value)
        is_float = class_ is not None and class_.dtype is not None and class_.dtype.is_float
        return Index(function(float(value))) if is_float else value

    return rounded


def bitcast(value: Any, dtype: Any) -> Any:
    """The bits of a number as another dtype of the same width."""
    target = dtype_of(dtype).numpy
    bits = np.asarray(plain(value) if not isinstance(value, Index) else np.int32(value))
    if bits.dtype.itemsize != target.itemsize or "b" in {bits.dtype.kind, target.kind} or target.itemsize == 2:
        raise DTypeError(f"the bits of {value!r} as {target}", remedy="use dtypes of one width, of 32 or 64 bits")
    return Typed(bits.view(target)[()]) if is_ours(value) else bits.view(target)[()]
