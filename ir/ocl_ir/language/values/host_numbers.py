"""Python floats of a call: what only they and literals go into, the host computes, in double and before the launch.

So precision survives on devices without float64, and no value of such a number is in the key of a kernel.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from ocl_ir.language.values.values import HostNumber

HOST: Mapping[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "floordiv": operator.floordiv, "rem": operator.mod, "pow": operator.pow, "neg": operator.neg,
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "sqrt": math.sqrt, "exp": math.exp, "exp2": lambda x: 2.0**x, "expm1": math.expm1, "log": math.log,
    "log2": math.log2, "log10": math.log10, "log1p": math.log1p, "sin": math.sin, "cos": math.cos, "tan": math.tan,
    "asin": math.asin, "acos": math.acos, "atan": math.atan, "sinh": math.sinh, "cosh": math.cosh,
    "tanh": math.tanh, "atan2": math.atan2, "hypot": math.hypot, "abs": abs, "not": operator.not_,
}  # fmt: skip
"""What the host computes, by the name of the operation."""


def evaluate(number: object, argument: Callable[[tuple[object, ...]], float]) -> Any:
    """The value of a host number, whose leaves are arguments of the call; a literal is its own.

    Where Python raises an error, as for a quotient by zero, the value is NaN: whether the kernel comes to where it is
    used is not known here.
    """
    if not isinstance(number, HostNumber):
        return number
    if number.op == "argument":
        return argument(number.args)
    values = [evaluate(arg, argument) for arg in number.args]
    try:
        return HOST[number.op](*values)
    except (ArithmeticError, ValueError):
        return math.nan
