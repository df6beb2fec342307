"""Numbers of a matrix, real or complex: kernels are written once for both, and of what is here only the plain operation
is left for a real number. `conj`, `abs`, `x.real` and `x.imag` are the language's own, and take both, too."""

from __future__ import annotations

from typing import Any

from ocl_ir.language.builtins.registry import BUILTINS

conj, copysign = (BUILTINS[name] for name in ("conj", "copysign"))


def squared_magnitude(x: Any) -> Any:
    """The square of the magnitude, a real number."""
    return (conj(x) * x).real


def greatest_part(x: Any) -> Any:
    """The magnitude of the greater part: unlike that of a complex number, it is as finite as its parts are."""
    if x.dtype.kind == "c":
        return max(abs(x.real), abs(x.imag))
    return abs(x)


def scaled(x: Any, factor: Any) -> Any:
    """The product with a real number: of each part, where the language would multiply two complex numbers."""
    if x.dtype.kind == "c":
        return complex(factor * x.real, factor * x.imag)
    return factor * x


def divided(x: Any, divisor: Any) -> Any:
    """The quotient by a real number: of each part, where the language would multiply by a reciprocal, which is infinite
    for the least divisors."""
    if x.dtype.kind == "c":
        return complex(x.real / divisor, x.imag / divisor)
    return x / divisor


def quotient(x: Any, divisor: Any) -> Any:
    """The quotient by a number of any magnitude: of complex ones Smith's formula without a reciprocal."""
    if x.dtype.kind == "c":
        if abs(divisor.real) < abs(divisor.imag):  # both times -i: the greater part is the real one then
            x = complex(x.imag, -x.real)
            divisor = complex(divisor.imag, -divisor.real)
        ratio = divisor.imag / divisor.real
        return divided(x * complex(1, -ratio), divisor.real + divisor.imag * ratio)
    return x / divisor


def phase(x: Any) -> Any:
    """The number of magnitude 1 in the direction of one that is not 0: of a real number its sign."""
    if x.dtype.kind == "c":
        return divided(x, abs(x))
    return copysign(1, x)
