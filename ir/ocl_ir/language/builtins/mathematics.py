"""Builtins of numbers: functions of the op table, minimum and maximum, choices, integer divisions, bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ocl_ir.errors import DTypeError
from ocl_ir.kernel.operands import Ref
from ocl_ir.language.errors import KernelError
from ocl_ir.language.plain import functions
from ocl_ir.language.statements.calls import Calls
from ocl_ir.language.values.host_numbers import HOST
from ocl_ir.language.values.promotion import Class
from ocl_ir.language.values.table import Builtin
from ocl_ir.language.values.values import ArrayView, HostNumber, LocalFunction, Number, Value, is_static, low_of
from ocl_ir.program_ops import InlineC
from ocl_ir.types import BOOL, F16, I32, from_numpy

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
    "erfc",
    "tgamma",
]
"""Functions of one real number."""
_ROUNDING = ("floor", "ceil", "trunc", "rint")


def _real(name: str) -> Builtin:
    def emit(t: Calls, x: Value) -> Value:
        if is_static(x) and isinstance(x, int | float) and name in HOST:
            return t.static(HOST[name], x)
        return t.real(name, x)

    emit.__doc__ = f"""`{name}` of a number; of an integer, in the default real."""
    return Builtin(name, emit, functions.real_function(name), is_elementwise=True)


def _real2(name: str, op: str) -> Builtin:
    def emit(t: Calls, x: Value, y: Value) -> Value:
        if is_static(x) and is_static(y) and op in HOST:
            return t.static(HOST[op], x, y)
        if op == "nextafter" and t.meet_all(op, (x, y)).dtype is F16:
            raise t.fault("nextafter of float16, which is computed in float32", "use float32(…)", DTypeError)
        return t.real(op, x, y)

    emit.__doc__ = f"""`{name}` of two numbers; of integers, in the default real."""
    return Builtin(name, emit, functions.real_function(op), is_elementwise=True)


def _rounding(name: str) -> Builtin:
    def emit(t: Calls, x: Value) -> Value:
        return t.real(name, x)

    emit.__doc__ = f"""`{name}` of a number, as a float; `math.{name}` gives an int."""
    return Builtin(name, emit, functions.real_function(name), is_elementwise=True)


def _question(name: str) -> Builtin:
    def emit(t: Calls, x: Value) -> Value:
        if is_static(x):
            return t.static(lambda v: bool(getattr(np, name)(v)), x)
        value = t.number(x)
        if not value.dtype.is_float:
            return name == "isfinite"
        return Number(t.k.op(name, value.ref), BOOL)

    emit.__doc__ = f"""`{name}` of a number."""
    return Builtin(name, emit, functions.question(name), is_elementwise=True)


def _extreme(name: str) -> Builtin:
    def emit(t: Calls, x: Value, y: Value) -> Value:
        if is_static(x) and is_static(y):
            return t.static(lambda a, b: getattr(np, name)(a, b).item(), x, y)
        return t.numeric(name, x, y)

    emit.__doc__ = f"""The {name} of two numbers; NaN if one is NaN."""
    return Builtin(name, emit, functions.function_of_numbers(name), is_elementwise=True)


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
    return Builtin(name, emit, functions.c_extreme(name), is_elementwise=True)


def _have_one_sign(class_: Class, *values: Value) -> bool:
    """Whether numbers are integers that their common type holds: they are compared exactly there."""
    if class_.is_index:
        return True
    if class_.dtype is None or not class_.dtype.is_integer:
        return False
    unsigned = class_.dtype.kind == "uint"
    return not unsigned or all(
        _is_at_least(value, 0) or getattr(value, "dtype", I32).kind == "uint" for value in values
    )


def _refuse_extreme(t: Calls, name: str, value: Value) -> NoReturn:
    """`max(x)` of what is no tuple."""
    remedy = f"give it two numbers, or a tuple of them: {name}(a, b)"
    if isinstance(value, ArrayView):
        remedy = f"join its elements in a loop, and those of the work-items of a group by group.{name}(v)"
    raise t.fault(f"{name} of {t.described(value)}", remedy, DTypeError)


def _python_extreme(name: str, test: str) -> Builtin:
    def emit(t: Calls, first: Value, *rest: Value) -> Value:
        if not rest and not isinstance(first, tuple):
            _refuse_extreme(t, name, first)
        values = (first, *rest) if rest else first
        if is_static(values):
            return t.static({"min": min, "max": max}[name], values)
        chosen = values[0]
        for value in values[1:]:
            class_ = t.meet_all(name, (chosen, value))
            if _have_one_sign(class_, chosen, value):
                chosen = t.numeric(f"{name}imum", chosen, value)
            else:
                chosen = t.select(t.condition_ref(t.binary(test, value, chosen)), value, chosen)
        return chosen

    emit.__doc__ = f"""Python's `{name}` of numbers."""
    return Builtin(name, emit, functions.python_extreme(name), is_elementwise=True)


def fma(t: Calls, a: Value, b: Value, c: Value) -> Value:
    """`a * b + c`, rounded once."""
    return t.real("fma", a, b, c)


def where(t: Calls, condition: Value, x: Value, y: Value) -> Value:
    """`x` where the condition holds, else `y`; both are evaluated."""
    tested = t.condition(condition)
    if isinstance(tested, bool):
        return x if tested else y
    t.refuse_choice_of_arrays(x, y)
    return t.select(tested, x, y)


def clamp(t: Calls, x: Value, low: Value, high: Value) -> Value:
    """The number, but at least `low` and at most `high`; NaN stays."""
    return t.numeric("minimum", t.numeric("maximum", x, low), high)


def absolute(t: Calls, x: Value) -> Value:
    """The absolute value."""
    if is_static(x):
        return t.static(abs, x)
    if isinstance(x, Number) and x.dtype.is_complex:
        return Number(t.k.op("magnitude", x.ref), x.dtype.component)
    return HostNumber("abs", (x,)) if isinstance(x, HostNumber) else t.numeric("abs", x)


def power(t: Calls, base: Value, exp: Value, mod: Value = None) -> Value:
    """`base ** exp`; with a modulus only of numbers that are known."""
    if mod is None:
        return t.binary("pow", base, exp)
    if not is_static((base, exp, mod)):
        raise t.fault("pow with a modulus of numbers that are known only at run time", "write a loop, with %")
    return t.static(pow, base, exp, mod)


def sign(t: Calls, x: Value) -> Value:
    """-1, 0 or 1; NaN stays."""
    return t.numeric("sign", x)


def _integers(t: Calls, name: str, a: Value, b: Value) -> tuple[Value, Value]:
    """Two integers in the type in which they meet."""
    class_ = t.meet_all(name, (a, b))
    if class_.literal in {"bool", "float"} or (class_.dtype is not None and not class_.dtype.is_integer):
        raise t.fault(
            f"{name} of {t.described(a)} and {t.described(b)}", "it divides integers: use // for floats", DTypeError
        )
    if class_.dtype is None:
        return a, b
    first, second = (Number(t.converted(value, class_.dtype), class_.dtype) for value in (a, b))
    return first, second


def _is_at_least(value: Value, least: int) -> bool:
    low = low_of(value)
    return low is not None and low >= least


def cdiv(t: Calls, a: Value, b: Value) -> Value:
    """`a / b` of integers, rounded up; by zero it is 0."""
    a, b = _integers(t, "cdiv", a, b)
    if is_static((a, b)):
        return t.static(functions.cdiv, a, b)
    t.check_divisor("cdiv", b)
    if _is_at_least(a, 0) and _is_at_least(b, 1):
        return t.numeric("floordiv", t.binary("add", a, t.binary("sub", b, 1)), b)
    is_rounded = t.binary("ne", t.numeric("rem", a, b), 0)
    quotient = t.numeric("floordiv", a, b)
    return t.select(t.condition_ref(is_rounded), t.binary("add", quotient, 1), quotient)


def c_div(t: Calls, a: Value, b: Value) -> Value:
    """`a / b` of integers, rounded to zero; by zero it is 0."""
    a, b = _integers(t, "c_div", a, b)
    if is_static((a, b)):
        return t.static(functions.c_div, a, b)
    t.check_divisor("c_div", b)
    quotient = t.numeric("floordiv", a, b)
    return t.select(_is_floored_below(t, a, b), t.binary("add", quotient, 1), quotient)


def c_mod(t: Calls, a: Value, b: Value) -> Value:
    """What `c_div` leaves: it has the sign of `a`; by zero it is 0."""
    a, b = _integers(t, "c_mod", a, b)
    if is_static((a, b)):
        return t.static(functions.c_mod, a, b)
    t.check_divisor("c_mod", b)
    remainder = t.numeric("rem", a, b)
    return t.select(_is_floored_below(t, a, b), t.binary("sub", remainder, b), remainder)


def quotient_and_remainder(t: Calls, a: Value, b: Value) -> Value:
    """Python's `divmod`: `(a // b, a % b)`."""
    if is_static((a, b)):
        return t.static(divmod, a, b)
    return t.binary("floordiv", a, b, written="divmod"), t.binary("rem", a, b, written="divmod")


def _is_floored_below(t: Calls, a: Value, b: Value) -> Ref:
    """Whether `//` rounds to another number than division to zero does."""
    differ = t.binary("ne", t.binary("lt", a, 0), t.binary("lt", b, 0))
    return t.condition_ref(t.binary("and", differ, t.binary("ne", t.numeric("rem", a, b), 0)))


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
    return Builtin(name, emit, functions.to_integer(name), is_elementwise=True)


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
    return Builtin(name, emit, functions.function_of_bits(name), is_elementwise=True)


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
    "fma": _named(fma, functions.real_function("fma")),
    "where": _named(where, functions.where),
    "clamp": _named(clamp, functions.clamp),
    "sign": _named(sign, functions.function_of_numbers("sign")),
    "cdiv": _named(cdiv, functions.cdiv),
    "c_div": _named(c_div, functions.c_div),
    "c_mod": _named(c_mod, functions.c_mod),
    "opencl_c": Builtin("opencl_c", opencl_c, _in_python),
    "bitcast": _named(bitcast, functions.bitcast),
}
"""By the name in `ocl_runtime.language`."""

PYTHON = {
    "min": _python_extreme("min", "lt"),
    "max": _python_extreme("max", "gt"),
    "abs": _named(absolute, abs, "abs"),
    "pow": _named(power, functions.power, "pow"),
    "math.pow": _real2("pow", "pow"),
    "math.gamma": _real("tgamma"),
    "int": _named(to_int, functions.to_index, "int"),
    "float": _named(to_float, functions.to_real, "float"),
    "bool": _named(to_bool, functions.to_bool, "bool"),
    "divmod": Builtin("divmod", quotient_and_remainder, functions.quotient_and_remainder),
    "round": to_integer("round"),
    **{f"math.{name}": to_integer(name) for name in ("floor", "ceil", "trunc")},
}
"""What Python's own functions of numbers are in a kernel."""
