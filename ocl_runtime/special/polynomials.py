"""Polynomials, for the width of a number: written with the kernel language, as all functions here."""

from __future__ import annotations

from typing import Any

import numpy as np

from ocl_ir.language.builtins.registry import BUILTINS

fma = BUILTINS["fma"]


def chosen(x: Any, single: Any, double: Any) -> Any:
    """What belongs to the width of a number, which is known when a function is translated."""
    return double if x.dtype == np.float64 else single


def polynomial(x: Any, coefficients: Any) -> Any:
    """A polynomial by Horner's rule, the highest power first. In float32 each step is one instruction, which takes GPUs
    half of the time; in float64 it is two, since the interpreter rounds once by exact fractions."""
    value = coefficients[0]
    for coefficient in coefficients[1:]:
        value = chosen(x, fused, apart)(value, x, coefficient)
    return value


def fused(a: Any, b: Any, c: Any) -> Any:
    """`a * b + c`, rounded once."""
    return fma(a, b, c)


def apart(a: Any, b: Any, c: Any) -> Any:
    """`a * b + c`, rounded twice."""
    return a * b + c
