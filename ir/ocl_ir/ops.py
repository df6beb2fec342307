"""THE table of operations: one row each. Builder, verifier, passes, code generation, interpreter, array functions and
the differential tests derive everything that they know about an operation from its row.

Types are given by letters, one an operand; equal letters are equal types, and all have the same number of lanes:
`F` float, `C` complex, `G` float or complex, `I` integer, `S` signed, `U` unsigned, `N` integer or float, `Z` those or
complex, `B` bool, `L` bool or integer, `A` any. Results are `bool`, the `real` type of the parts of a complex number,
or the `complex` type of such parts.

Spellings are OpenCL C with `{0}`, `{1}` … for operands, `{T}` for the operands' C type, `{U}` for the unsigned one
of the same width, `{V}` for the suffix of helper functions on vectors, `{bits}`, `{half}` and `{top}` for the width,
half of it, and one less; `{C}` is the complex type of such parts. The first key that fits is taken of `KIND/FORM, FORM,
KIND, any`, of a complex type of `KIND/FORM, KIND`, if there is any, where FORM is `vector`,
`narrow` or `scalar`; `narrow` is a scalar integer of 8 or 16 bits, which C would widen to int. Signed arithmetic goes
through the unsigned type because it wraps in NumPy and is undefined in C when it overflows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ocl_ir import complex_functions, random_counts, random_functions
from ocl_ir import numpy_functions as functions
from ocl_ir.op_rows import Op
from ocl_ir.op_spellings import MINIMUM, bitwise, call, complex_call, wrapping


def _float(bounds: float, f16: float = 2.0) -> dict[str, float]:
    return {"f16": f16, "f32": bounds, "f64": bounds}


def _normwise(bound: float) -> dict[str, float]:
    return {"c64": bound, "c128": bound}


EXACT = {"f16": 0.0, "f32": 0.0, "f64": 0.0, "c64": 0.0, "c128": 0.0}


def _row(name: str, types: str, spelling: Mapping[str, str], reference: Callable[..., Any], **more: Any) -> Op:
    operands, result = types.split("->")
    return Op(name, operands, result, spelling, functions.quietly(reference), **more)


def _unary_float(names: str, bound: float, reference: Callable[..., Any] | None = None, f16: float = 2.0) -> list[Op]:
    return [
        _row(name, "F->F", call(name), reference or getattr(np, _NUMPY_NAME.get(name, name)), ulp=_float(bound, f16))
        for name in names.split()
    ]


def _unary_inexact(names: str, bound: float, complex_bound: float) -> list[Op]:
    """Functions of floats and complex numbers."""
    return [
        _row(
            name,
            "G->G",
            call(name) | complex_call(name),
            _OF_BOTH.get(name) or getattr(np, _NUMPY_NAME.get(name, name)),
            ulp=_float(bound) | _normwise(complex_bound),
        )
        for name in names.split()
    ]


_OF_BOTH = {
    name: complex_functions.by_kind(getattr(np, name), getattr(complex_functions, name))
    for name in ("expm1", "log1p", "log2", "log10", "acosh")
}


_NUMPY_NAME = {f"a{name}": f"arc{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}

_ROWS = [
    # arithmetic
    _row("add", "ZZ->Z", wrapping("+"), np.add, ulp=EXACT, commutative=True),
    _row("sub", "ZZ->Z", wrapping("-"), np.subtract, ulp=EXACT),
    _row(
        "mul",
        "ZZ->Z",
        wrapping("*") | complex_call("mul", 2),
        complex_functions.by_kind(np.multiply, complex_functions.multiply),
        ulp=EXACT,
        commutative=True,
    ),
    _row(
        "div",
        "GG->G",
        {"any": "{0} / {1}"} | complex_call("div", 2),
        complex_functions.by_kind(np.divide, complex_functions.divide),
        ulp={"f16": 1.0, "f32": 2.5, "f64": 0.0} | _normwise(12),
    ),
    _row("floordiv", "NN->N", {}, np.floor_divide, ulp=EXACT, several_statements=True),
    _row("rem", "NN->N", {}, np.remainder, ulp=EXACT, several_statements=True),
    _row(
        "udiv", "UU->U", {"narrow": "({T})({0} / {1})", "any": "{0} / {1}"}, functions.divide_checked(np.floor_divide)
    ),
    _row("urem", "UU->U", {"narrow": "({T})({0} % {1})", "any": "{0} % {1}"}, functions.divide_checked(np.remainder)),
    _row("sdiv", "SS->S", {"narrow": "({T})({0} / {1})", "any": "{0} / {1}"}, functions.truncated_quotient),
    _row("srem", "SS->S", {"narrow": "({T})({0} % {1})", "any": "{0} % {1}"}, functions.divide_checked(np.fmod)),
    _row("fmod", "FF->F", call("fmod", 2), np.fmod, ulp=EXACT),
    _row(
        "fma",
        "GGG->G",
        {"any": "fma({0}, {1}, {2})"} | complex_call("fma", 3),
        complex_functions.by_kind(functions.fma, complex_functions.fma),
        ulp=_float(1, 1) | _normwise(2),
    ),
    _row(
        "neg",
        "Z->Z",
        {"int/vector": "as_{T}(-as_{U}({0}))", "narrow": "({T})(-{0})", "int": "({T})(-({U}){0})", "any": "-{0}"},
        np.negative,
        ulp=EXACT,
    ),
    _row(
        "abs",
        "N->N",
        {"float": "fabs({0})", "int/vector": "as_{T}(abs({0}))", "int": "({T})abs({0})", "any": "({0})"},
        np.abs,
        ulp=EXACT,
    ),
    _row(
        "sign",
        "Z->Z",
        {
            "float/vector": "select(convert_{T}(({0} < ({T})(0)) - ({0} > ({T})(0))), {0}, isnan({0}))",
            "float": "isnan({0}) ? {0} : ({T})(({0} > 0) - ({0} < 0))",
            "vector": "as_{T}(({0} < ({T})(0)) - ({0} > ({T})(0)))",
            "any": "({T})(({0} > 0) - ({0} < 0))",
        }
        | complex_call("sign"),
        complex_functions.by_kind(np.sign, complex_functions.sign),
        ulp=EXACT | _normwise(8),
    ),
    _row("minimum", "NN->N", MINIMUM, functions.minimum, ulp=EXACT),  # not commutative: of 0.0 and -0.0, the second
    _row(
        "maximum",
        "NN->N",
        {key: text.replace("<", ">").replace("min(", "max(") for key, text in MINIMUM.items()},
        functions.maximum,
        ulp=EXACT,
    ),
    _row("pow", "GG->G", call("pow", 2) | complex_call("pow", 2), np.power, ulp=_float(16, 4) | _normwise(64)),
    _row("ipow", "II->I", {"any": "integer_power_{T}({0}, {1})"}, functions.power, helper="integer_power"),
    _row("hypot", "FF->F", call("hypot", 2), np.hypot, ulp=_float(4)),
    _row("atan2", "FF->F", call("atan2", 2), np.arctan2, ulp=_float(6)),
    _row("copysign", "FF->F", call("copysign", 2), np.copysign, ulp=EXACT),
    _row("nextafter", "FF->F", call("nextafter", 2), functions.nextafter, ulp=EXACT),
    # rounding to integers
    *(
        _row(name, "F->F", call(c), getattr(np, name), ulp=EXACT)
        for name, c in (("floor", "floor"), ("ceil", "ceil"), ("trunc", "trunc"))
    ),
    _row("rint", "G->G", call("rint"), np.rint, ulp=EXACT),
    # exponentials, logarithms, roots
    *_unary_inexact("exp expm1 log log2 log10", 3, 8),
    *_unary_float("exp2", 3),
    *_unary_inexact("log1p", 2, 8),
    *_unary_float("cbrt", 2),
    _row(
        "sqrt",
        "G->G",
        call("sqrt") | complex_call("sqrt"),
        np.sqrt,
        ulp={"f16": 1.0, "f32": 3.0, "f64": 0.0} | _normwise(8),
    ),
    _row("rsqrt", "F->F", call("rsqrt"), functions.rsqrt, ulp=_float(2, 1)),
    # trigonometric and hyperbolic
    *_unary_inexact("sin cos asin acos asinh acosh sinh cosh", 4, 16),
    *_unary_inexact("tan atan atanh tanh", 5, 16),
    *_unary_float("erf", 16, functions.erf, f16=4),
    *_unary_float("erfc", 16, functions.erfc, f16=4),
    *_unary_float("tgamma", 16, functions.tgamma, f16=4),
    # complex numbers and their parts
    _row(
        "complex",
        "FF->complex",
        {"vector": "complex_of_{T}({0}, {1})", "any": "({C})({0}, {1})"},
        complex_functions.of_parts,
        ulp=EXACT,
    ),
    _row("real", "C->real", {"complex/vector": "{0}.even", "complex": "{0}.x"}, np.real, ulp=EXACT),
    _row("imag", "C->real", {"complex/vector": "{0}.odd", "complex": "{0}.y"}, np.imag, ulp=EXACT),
    _row("conj", "C->C", complex_call("conj"), np.conj, ulp=EXACT),
    _row("magnitude", "C->real", complex_call("magnitude"), np.abs, ulp=_normwise(4)),
    # comparisons
    _row(
        "eq",
        "AA->bool",
        {"complex/vector": "complex_eq_{T}({0}, {1})", "complex": "all({0} == {1})", "any": "{0} == {1}"},
        np.equal,
        commutative=True,
    ),
    _row(
        "ne",
        "AA->bool",
        {"complex/vector": "complex_ne_{T}({0}, {1})", "complex": "any({0} != {1})", "any": "{0} != {1}"},
        np.not_equal,
        commutative=True,
    ),
    _row("lt", "NN->bool", {"any": "{0} < {1}"}, np.less),
    _row("le", "NN->bool", {"any": "{0} <= {1}"}, np.less_equal),
    _row("gt", "NN->bool", {"any": "{0} > {1}"}, np.greater),
    _row("ge", "NN->bool", {"any": "{0} >= {1}"}, np.greater_equal),
    _row("isnan", "F->bool", call("isnan"), np.isnan),
    _row("isinf", "F->bool", call("isinf"), np.isinf),
    _row("isfinite", "F->bool", call("isfinite"), np.isfinite),
    _row("signbit", "F->bool", call("signbit"), np.signbit),
    # bits and logic
    _row("and", "LL->L", bitwise("&", "&&"), np.bitwise_and, commutative=True),
    _row("or", "LL->L", bitwise("|", "||"), np.bitwise_or, commutative=True),
    _row("xor", "LL->L", bitwise("^", "!="), np.bitwise_xor, commutative=True),
    _row("not", "L->L", {"narrow": "({T})(~{0})", "vector": "~{0}", "bool": "!{0}", "any": "~{0}"}, np.invert),
    _row(
        "shl",
        "II->I",
        {
            "vector": "select(({T})(0), as_{T}(as_{U}({0}) << as_{U}({1})), as_{U}({1}) < ({U})({bits}))",
            "narrow": "({T})(({U}){1} < {bits} ? (uint){0} << {1} : 0)",
            "int": "({T})(({U}){1} < {bits} ? ({U}){0} << {1} : 0)",
            "any": "{1} < {bits} ? {0} << {1} : 0",
        },
        np.left_shift,
        constant_shift={
            "narrow": "({T})((uint){0} << {1})",
            "int/vector": "as_{T}(as_{U}({0}) << {1})",
            "int": "({T})(({U}){0} << {1})",
            "any": "{0} << {1}",
        },
    ),
    _row(
        "shr",
        "II->I",
        {
            "int/vector": "{0} >> as_{T}(min(as_{U}({1}), ({U})({top})))",
            "int/narrow": "({T})({0} >> min(({U}){1}, ({U}){top}))",
            "int": "{0} >> min(({U}){1}, ({U}){top})",
            "vector": "select(({T})(0), {0} >> {1}, {1} < ({T})({bits}))",
            "narrow": "({T})({1} < {bits} ? {0} >> {1} : 0)",
            "any": "{1} < {bits} ? {0} >> {1} : 0",
        },
        np.right_shift,
        constant_shift={"narrow": "({T})({0} >> {1})", "any": "{0} >> {1}"},
    ),
    _row("popcount", "I->I", call("popcount"), functions.popcount),
    _row("clz", "I->I", call("clz"), functions.clz),
    # keys: the bits of a float in the order of floats, and two numbers of half the width as one
    _row(
        "float_order",
        "U->U",
        {
            "narrow": "({T})({0} ^ (-({0} >> {top}) | 1 << {top}))",
            "vector": "{0} ^ (-({0} >> ({T})({top})) | ({T})(1) << ({T})({top}))",
            "any": "{0} ^ (-({0} >> {top}) | ({T})1 << {top})",
        },
        functions.float_order,
    ),
    _row(
        "join_halves",
        "UU->U",
        {
            "narrow": "({T})({0} << {half} | {1})",
            "vector": "{0} << ({T})({half}) | {1}",
            "any": "{0} << {half} | {1}",
        },
        functions.join_halves,
    ),
    _row("mul_high", "UU->U", call("mul_hi", 2), functions.mul_high, commutative=True),
    # random numbers: a word of a stream, the bits of the normal number that a word stands for, those of a gamma
    # number, and of float64 those of Poisson and binomial numbers
    _row(
        "philox",
        "UUUUUU->U",
        {"any": "philox_{T}({0}, {1}, {2}, {3}, {4}, {5})"},
        random_functions.philox,
        helper="philox",
        only=frozenset({"u32", "u64"}),
    ),
    _row(
        "normal_bits",
        "U->U",
        {"any": "normal_bits_{T}({0})"},
        random_functions.normal_bits,
        helper="normal_bits",
        only=frozenset({"u32", "u64"}),
    ),
    _row(
        "gamma_bits",
        "UUUUUUUU->U",
        {"any": "gamma_bits_{T}({0}, {1}, {2}, {3}, {4}, {5}, {6}, {7})"},
        random_functions.gamma_bits,
        helper="gamma_bits",
        only=frozenset({"u32", "u64"}),
    ),
    _row(
        "poisson_small",
        "UU->U",
        {"any": "poisson_small_{T}({0}, {1})"},
        random_counts.poisson_small,
        helper="poisson_small",
        only=frozenset({"u64"}),
    ),
    _row(
        "poisson_large",
        "UUUUUUU->U",
        {"any": "poisson_large_{T}({0}, {1}, {2}, {3}, {4}, {5}, {6})"},
        random_counts.poisson_large,
        helper="poisson_large",
        only=frozenset({"u64"}),
    ),
    _row(
        "binomial_small",
        "UUU->U",
        {"any": "binomial_small_{T}({0}, {1}, {2})"},
        random_counts.binomial_small,
        helper="binomial_small",
        only=frozenset({"u64"}),
    ),
    _row(
        "binomial_large",
        "UUUUUUUU->U",
        {"any": "binomial_large_{T}({0}, {1}, {2}, {3}, {4}, {5}, {6}, {7})"},
        random_counts.binomial_large,
        helper="binomial_large",
        only=frozenset({"u64"}),
    ),
    # choice
    _row(
        "select",
        "BAA->A",
        {
            "complex/vector": "complex_select_{T}({0}, {1}, {2})",
            "vector": "select({2}, {1}, {0})",
            "narrow": "({T})({0} ? {1} : {2})",
            "any": "{0} ? {1} : {2}",
        },
        np.where,
        ulp=EXACT,
    ),
    # where an index points, of which negative ones count from the end: the nearest place below a length
    _row(
        "nearest",
        "SS->S",
        {
            "vector": "max(min(select({0}, as_{T}(as_{U}({0}) + as_{U}({1})), {0} < ({T})(0)), "
            "as_{T}(as_{U}({1}) - ({U})(1))), ({T})(0))",
            "narrow": "max(min(({T})({0} < 0 ? {0} + {1} : {0}), ({T})({1} - 1)), ({T})0)",
            "any": "max(min({0} < 0 ? ({T})(({U}){0} + ({U}){1}) : {0}, ({T})(({U}){1} - 1)), ({T})0)",
        },
        functions.nearest,
    ),
    # rounding of a float32 to the values that a narrower storage type has
    _row(
        "round_f16",
        "F->F",
        {"any": "round_to_half{V}({0})"},
        functions.round_f16,
        ulp=EXACT,
        helper="round_to_half",
        only=frozenset({"f32"}),
    ),
    _row(
        "round_bf16",
        "F->F",
        {"any": "round_to_bfloat16{V}({0})"},
        functions.round_bf16,
        ulp=EXACT,
        helper="round_to_bfloat16",
        only=frozenset({"f32"}),
    ),
]

OPS: Mapping[str, Op] = MappingProxyType({row.name: row for row in _ROWS})
"""Elementwise operations, by name."""


PARTIAL = frozenset({"udiv", "urem", "sdiv", "srem"})
"""C's own divisions, which truncate. They are undefined for a zero divisor, and signed ones for the least integer by
-1: none is computed where a program does not ask for it."""


WORK_ITEM = ("global_id", "local_id", "group_id", "global_size", "local_size", "num_groups")
"""Questions about the index space; the operand is a dimension, a constant 0, 1 or 2; the result is an integer of 32 or
64 bits."""

STRUCTURAL = ("copy", "uniform", "convert", "bitcast", "splat", "vector", "extract", "lo", "hi")
"""Operations whose result type is part of the statement.

`copy` gives its operand's value a name of its own; `uniform` does the same, and promises that all work-items of the
group that come there have the same value; `convert` changes the value's type as a C cast does (float to
integer truncates; out of range is unspecified, as in NumPy); `bitcast` keeps the bits; `splat` repeats a scalar;
`vector` joins scalars; `extract` takes the lane that a constant names; `lo` and `hi` are the halves of a vector.
"""
