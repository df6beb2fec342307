"""Builtins of numbers: functions of the op table, minimum and maximum, choices, integer divisions, bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ocl_ir.errors import DTypeError
from ocl_ir.language.calls import Calls
from ocl_ir.language.errors import KernelError
from ocl_ir.language.host_numbers import HOST
from ocl_ir.language.table import Builtin
from ocl_ir.language.values import HostNumber, LocalFunction, Number, Value, is_static
from ocl_ir.ops import OPS
from ocl_ir.program_ops import InlineC
from ocl_ir.types import BOOL, from_numpy

REAL = [
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "rsqrt",
    "cbrt",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "erf",
]
"""Functions of one real number."""
_ROUNDING = ("floor", "ceil", "trunc", "rint")


def _real(name: str) -> Builtin:
    def emit(t: Calls, x: Value) -> Value:
        if is_static(x) and isinstance(x, int | float) and name in HOST:
            return t.static(HOST[name], x)
        return t.real(name, x)

    emit.__doc__ = f"""`{name}` of a number; of an integer, in the default real."""
    return Builtin(name, emit, OPS[name].reference, is_elementwise=True)


def _real2(name: str, op: str) -> Builtin:
    def emit(t: Calls, x: Value, y: Value) -> Value:
        if is_static(x) and is_static(y) and op in HOST:
            return t.static(HOST[op], x, y)
        return t.real(op, x, y)

    emit.__doc__ = f"""`{name}` of two numbers; of integers, in the default real."""
    return Builtin(name, emit, OPS[op].reference, is_elementwise=True)


def _rounding(name: str) -> Builtin:
    def emit(t: Calls, x: Value) -> Value:
        return t.real(name, x)

    emit.__doc__ = f"""`{name}` of a number, as a float; `math.{name}` gives an int."""
    return Builtin(name, emit, OPS[name].reference, is_elementwise=True)


def _question(name: str) -> Builtin:
    def emit(t: Calls, x: Value) -> Value:
        if is_static(x):
            return t.static(lambda v: bool(getattr(np, name)(v)), x)
        value = t.number(x)
        if not value.dtype.is_float:
            return name == "isfinite"
        return Number(t.k.op(name, value.ref), BOOL)

    emit.__doc__ = f"""`{name}` of a number."""
    return Builtin(name, emit, OPS[name].reference, is_elementwise=True)


def _extreme(name: str) -> Builtin:
    def emit(t: Calls, x: Value, y: Value) -> Value:
        if is_static(x) and is_static(y):
            return t.static(lambda a, b: getattr(np, name)(a, b).item(), x, y)
        return t.numeric(name, x, y)

    emit.__doc__ = f"""The {name} of two numbers; NaN if one is NaN."""
    return Builtin(name, emit, OPS[name].reference, is_elementwise=True)


def _fextreme(name: str, op: str) -> Builtin:
    def emit(t: Calls, x: Value, y: Value) -> Value:
        class_ = t.meet_all(name, (x, y))
        if class_.dtype is None or not class_.dtype.is_float:
            return t.numeric(op, x, y)
        a, b = (Number(t.converted(value, class_.dtype), class_.dtype) for value in (x, y))
        both = t.numeric(op, a, b)
        first = t.select(t.k.op("isnan", b.ref), a, both)
        return t.select(t.k.op("isnan", a.ref), b, first)

    emit.__doc__ = f"""C's `{name}`: of a number and NaN, the number."""
    return Builtin(name, emit, getattr(np, name), is_elementwise=True)


def _python_extreme(name: str, test: str) -> Builtin:
    def emit(t: Calls, first: Value, *rest: Value) -> Value:
        values = (first, *rest)
        if len(values) == 1 and isinstance(first, tuple):
            values = first
        if is_static(values):
            return t.static({"min": min, "max": max}[name], values)
        chosen = values[0]
        for value in values[1:]:
            class_ = t.meet_all(name, (chosen, value))
            if class_.is_index or (class_.dtype is not None and class_.dtype.is_integer):
                chosen = t.numeric(f"{name}imum", chosen, value)
            else:
                chosen = t.select(t.condition_ref(t.binary(test, value, chosen)), value, chosen)
        return chosen

    emit.__doc__ = f"""Python's `{name}` of numbers."""
    return Builtin(name, emit, {"min": min, "max": max}[name], is_elementwise=True)


def fma(t: Calls, a: Value, b: Value, c: Value) -> Value:
    """`a * b + c`, rounded once."""
    return t.real("fma", a, b, c)


def where(t: Calls, condition: Value, x: Value, y: Value) -> Value:
    """`x` where the condition holds, else `y`; both are evaluated."""
    tested = t.condition(condition)
    if isinstance(tested, bool):
        return x if tested else y
    return t.select(tested, x, y)


def clamp(t: Calls, x: Value, low: Value, high: Value) -> Value:
    """The number, but at least `low` and at most `high`; NaN stays."""
    return t.numeric("minimum", t.numeric("maximum", x, low), high)


def absolute(t: Calls, x: Value) -> Value:
    """The absolute value."""
    if is_static(x):
        return t.static(abs, x)
    return HostNumber("abs", (x,)) if isinstance(x, HostNumber) else t.numeric("abs", x)


def sign(t: Calls, x: Value) -> Value:
    """-1, 0 or 1; NaN stays."""
    return t.numeric("sign", x)


def cdiv(t: Calls, a: Value, b: Value) -> Value:
    """`a / b` of integers, rounded up."""
    if is_static(a) and is_static(b):
        return t.static(lambda x, y: -(-x // y), a, b)
    if getattr(a, "low", a if isinstance(a, int) else None) is None:
        return t.unary("neg", t.number(t.binary("floordiv", t.unary("neg", t.number(a)), b)))
    one_less = t.binary("sub", b, 1)
    return t.binary("floordiv", t.binary("add", a, one_less), b)


def _c_quotient(a: Any, b: Any) -> Any:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def c_div(t: Calls, a: Value, b: Value) -> Value:
    """`a / b` of integers, rounded to zero."""
    if is_static(a) and is_static(b):
        return t.static(_c_quotient, a, b)
    quotient = t.binary("floordiv", t.numeric("abs", a), t.numeric("abs", b))
    negative = t.binary("ne", t.binary("lt", a, 0), t.binary("lt", b, 0))
    return t.select(t.condition_ref(negative), t.unary("neg", t.number(quotient)), quotient)


def c_mod(t: Calls, a: Value, b: Value) -> Value:
    """What `c_div` leaves: it has the sign of `a`."""
    return t.binary("sub", a, t.binary("mul", c_div(t, a, b), b))


def to_int(t: Calls, x: Value) -> Value:
    """`int(x)`: an index; floats lose their fraction."""
    return t.to_index(x)


def to_float(t: Calls, x: Value) -> Value:
    """`float(x)`: the default real."""
    if is_static(x):
        return t.static(float, x)
    return x if isinstance(x, HostNumber) and not x.is_bool else t.cast(x, t.options.default_real)


def to_bool(t: Calls, x: Value) -> Value:
    """`bool(x)`: whether it is not zero."""
    condition = t.condition(x)
    return condition if isinstance(condition, bool) else Number(condition, BOOL)


def to_integer(name: str) -> Builtin:
    """`math.floor` and its kin, which give an int."""

    def emit(t: Calls, x: Value) -> Value:
        if is_static(x):
            return t.static(getattr(math, name) if name != "round" else round, x)
        value = t.number(x)
        if not value.dtype.is_float:
            return value
        return t.to_index(t.real("rint" if name == "round" else name, value))

    emit.__doc__ = f"""Python's `{name}` of a number: an index."""
    return Builtin(name, emit, is_elementwise=True)


def bitcast(t: Calls, x: Value, dtype: Value) -> Value:
    """The bits of a number as another dtype of the same width."""
    target = t.dtype_of(dtype)
    value = t.number(x)
    if value.dtype.bits != target.bits or "bool" in {value.dtype.kind, target.kind} or target.bits == 16:
        raise t.fault(f"the bits of {value} as {target.numpy}", "use dtypes of one width, of 32 or 64 bits", DTypeError)
    return Number(t.k.bitcast(value.ref, target), target)


def opencl_c(t: Calls, expression: Value, *operands: Value, result: Value, python: Value = None) -> Value:
    """One expression in OpenCL C, with `{0}`, `{1}` … for numbers, and its dtype: the last resort. It must depend on
    nothing but these; `python` is its meaning on NumPy's scalars, for the interpreter."""
    if not isinstance(expression, str) or any(sign in expression for sign in ";#\n\\"):
        raise t.fault(f"{expression!r} is no single expression of OpenCL C", 'write opencl_c("native_sin({0})", x, …)')
    numbers = [t.number(operand) for operand in operands]
    try:
        expression.format(*map(str, range(len(numbers))))
    except (IndexError, KeyError, ValueError):
        raise t.fault(
            f"{expression!r} with {len(numbers)} numbers", "name them {0}, {1} …, and write braces twice"
        ) from None
    dtype = t.available(t.dtype_of(result))
    if not numbers or any(number.lanes > 1 for number in numbers):
        raise t.fault("opencl_c takes scalars, and at least one", "give its components", DTypeError)
    meaning = t.in_python(python) if isinstance(python, LocalFunction) else python
    return Number(t.k.op(InlineC(expression, dtype, meaning), *[number.ref for number in numbers]), dtype)


def _in_python(expression: str, *operands: Any, result: Any, python: Callable[..., Any] | None = None) -> Any:
    if python is None:
        raise KernelError(f"OpenCL C outside of a kernel: {expression}", remedy="give its meaning: python=np.sin")
    return from_numpy(result).numpy.type(python(*operands))


def _bits(name: str) -> Builtin:
    def emit(t: Calls, x: Value) -> Value:
        value = t.number(x)
        if not value.dtype.is_integer:
            raise t.fault(f"{name} of {value}", "bits are those of integers", DTypeError)
        return Number(t.k.op(name, value.ref), value.dtype, value.kind, 0)

    emit.__doc__ = f"""`{name}` of an integer."""
    return Builtin(name, emit, OPS[name].reference, is_elementwise=True)


def _named(function: Callable[..., Any], python: Callable[..., Any] | None = None, name: str = "") -> Builtin:
    return Builtin(name or function.__name__, function, python, is_elementwise=True)


_MINIMA = {"fmin": "minimum", "fmax": "maximum"}
_TWO = {"atan2": "atan2", "hypot": "hypot", "copysign": "copysign", "nextafter": "nextafter", "fmod": "fmod"}

BUILTINS: dict[str, Builtin] = {
    **{name: _real(name) for name in REAL},
    **{name: _real2(name, op) for name, op in _TWO.items()},
    **{name: _rounding(name) for name in _ROUNDING},
    **{name: _question(name) for name in ("isnan", "isinf", "isfinite")},
    **{name: _extreme(name) for name in ("minimum", "maximum")},
    **{name: _fextreme(name, op) for name, op in _MINIMA.items()},
    **{name: _bits(name) for name in ("popcount", "clz")},
    "fma": _named(fma, OPS["fma"].reference),
    "where": _named(where, lambda c, x, y: x if c else y),
    "clamp": _named(clamp, lambda x, low, high: np.minimum(np.maximum(x, low), high)),
    "sign": _named(sign, np.sign),
    "cdiv": _named(cdiv, lambda a, b: -(-a // b)),
    "c_div": _named(c_div, _c_quotient),
    "c_mod": _named(c_mod, lambda a, b: a - _c_quotient(a, b) * b),
    "opencl_c": Builtin("opencl_c", opencl_c, _in_python),
    "bitcast": _named(bitcast, lambda x, dtype: np.asarray(x).view(from_numpy(dtype).numpy)[()]),
}
"""By the name in `ocl_runtime.language`."""

PYTHON = {
    "min": _python_extreme("min", "lt"),
    "max": _python_extreme("max", "gt"),
    "abs": _named(absolute, abs, "abs"),
    "int": _named(to_int, int, "int"),
    "float": _named(to_float, float, "float"),
    "bool": _named(to_bool, bool, "bool"),
    "round": to_integer("round"),
    **{f"math.{name}": to_integer(name) for name in ("floor", "ceil", "trunc")},
}
"""What Python's own functions of numbers are in a kernel."""
