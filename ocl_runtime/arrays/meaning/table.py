"""The elementwise functions of the array API standard, and a few more: one row each.

`op` is the row of `ocl_ir.ops` that computes it, `rule` says which dtypes it takes and gives:

    numeric    numbers, in their common dtype; bools by `BOOL_OPS`
    real       floats; integers and bools become the default real dtype
    rounding   numbers; integers and bools are left as they are
    compare    any two, in their common dtype; gives bools
    classify   numbers; gives bools
    bits       integers and bools
    count      integers and bools, which count as uint8; gives uint8
    logical    anything, which counts as whether it is not 0; gives bools
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

Rule: TypeAlias = Literal["numeric", "real", "rounding", "compare", "classify", "bits", "count", "logical"]


@dataclass(frozen=True, slots=True)
class Row:
    """One function; `doc` completes the sentence "The function gives …"."""

    name: str
    op: str
    rule: Rule
    doc: str


BOOL_OPS = MappingProxyType({"add": "or", "mul": "and", "minimum": "and", "maximum": "or", "abs": ""})
"""What arithmetic does to bools, as in NumPy; an empty name leaves them as they are."""
WIDENS_BOOL = frozenset({"floordiv", "rem", "pow"})
"""Arithmetic that NumPy does in int8 if both operands are bools. What is in neither table, bools do not have."""

_MORE = " (an extension of the standard)"

_ROWS = (
    Row("abs", "abs", "numeric", "the absolute value"),
    Row("acos", "acos", "real", "the arc cosine"),
    Row("acosh", "acosh", "real", "the inverse hyperbolic cosine"),
    Row("add", "add", "numeric", "the sum"),
    Row("asin", "asin", "real", "the arc sine"),
    Row("asinh", "asinh", "real", "the inverse hyperbolic sine"),
    Row("atan", "atan", "real", "the arc tangent"),
    Row("atan2", "atan2", "real", "the angle of the point (x2, x1)"),
    Row("atanh", "atanh", "real", "the inverse hyperbolic tangent"),
    Row("bitwise_and", "and", "bits", "the bits that both have"),
    Row("bitwise_count", "popcount", "count", f"the number of bits set in the absolute value{_MORE}"),
    Row("bitwise_invert", "not", "bits", "the bits inverted"),
    Row("bitwise_left_shift", "shl", "bits", "the bits of x1 moved to the left by x2"),
    Row("bitwise_or", "or", "bits", "the bits that any has"),
    Row("bitwise_right_shift", "shr", "bits", "the bits of x1 moved to the right by x2; the sign stays"),
    Row("bitwise_xor", "xor", "bits", "the bits that one of them has"),
    Row("cbrt", "cbrt", "real", f"the cubic root{_MORE}"),
    Row("ceil", "ceil", "rounding", "the least integer not below"),
    Row("clz", "clz", "count", f"the number of zero bits above the first that is set{_MORE}"),
    Row("copysign", "copysign", "real", "the magnitude of x1 with the sign of x2"),
    Row("cos", "cos", "real", "the cosine"),
    Row("cosh", "cosh", "real", "the hyperbolic cosine"),
    Row("divide", "div", "real", "the quotient"),
    Row("equal", "eq", "compare", "whether they are equal"),
    Row("erf", "erf", "real", f"the error function{_MORE}"),
    Row("exp", "exp", "real", "the exponential"),
    Row("exp2", "exp2", "real", f"2 to the power of it{_MORE}"),
    Row("expm1", "expm1", "real", "the exponential less 1"),
    Row("floor", "floor", "rounding", "the greatest integer not above"),
    Row("floor_divide", "floordiv", "numeric", "the quotient rounded down; 0 for an integer by 0"),
    Row("fma", "fma", "real", f"the sum x1 * x2 + x3, rounded once{_MORE}"),
    Row("fmod", "fmod", "real", f"what the quotient cut to an integer leaves, with the sign of x1{_MORE}"),
    Row("greater", "gt", "compare", "whether x1 is greater than x2"),
    Row("greater_equal", "ge", "compare", "whether x1 is not less than x2"),
    Row("hypot", "hypot", "real", "the root of the sum of squares"),
    Row("isfinite", "isfinite", "classify", "whether it is neither infinite nor NaN"),
    Row("isinf", "isinf", "classify", "whether it is infinite"),
    Row("isnan", "isnan", "classify", "whether it is NaN"),
    Row("less", "lt", "compare", "whether x1 is less than x2"),
    Row("less_equal", "le", "compare", "whether x1 is not greater than x2"),
    Row("log", "log", "real", "the natural logarithm"),
    Row("log10", "log10", "real", "the logarithm to base 10"),
    Row("log1p", "log1p", "real", "the natural logarithm of 1 more"),
    Row("log2", "log2", "real", "the logarithm to base 2"),
    Row("logical_and", "and", "logical", "whether both are true"),
    Row("logical_not", "not", "logical", "whether it is false"),
    Row("logical_or", "or", "logical", "whether any is true"),
    Row("logical_xor", "xor", "logical", "whether one of them is true"),
    Row("maximum", "maximum", "numeric", "the greater; NaN if any is"),
    Row("minimum", "minimum", "numeric", "the less; NaN if any is"),
    Row("multiply", "mul", "numeric", "the product"),
    Row("negative", "neg", "numeric", "the negative"),
    Row("nextafter", "nextafter", "real", "the next float after x1 in the direction of x2"),
    Row("not_equal", "ne", "compare", "whether they differ"),
    Row("pow", "pow", "numeric", "the power with base x1 and exponent x2"),
    Row("remainder", "rem", "numeric", "what floor_divide leaves, with the sign of x2; 0 for an integer by 0"),
    Row("round", "rint", "rounding", "the nearest integer, the even one of two"),
    Row("rsqrt", "rsqrt", "real", f"1 divided by the square root{_MORE}"),
    Row("sign", "sign", "numeric", "-1, 0 or 1; NaN of NaN"),
    Row("signbit", "signbit", "classify", "whether the sign is negative"),
    Row("sin", "sin", "real", "the sine"),
    Row("sinh", "sinh", "real", "the hyperbolic sine"),
    Row("sqrt", "sqrt", "real", "the square root"),
    Row("subtract", "sub", "numeric", "the difference"),
    Row("tan", "tan", "real", "the tangent"),
    Row("tanh", "tanh", "real", "the hyperbolic tangent"),
    Row("trunc", "trunc", "rounding", "the integer part"),
)

TABLE = MappingProxyType({row.name: row for row in _ROWS})
