"""Builtins of complex numbers; the functions of one number take them, too."""

from __future__ import annotations

from ocl_ir.language.plain import functions
from ocl_ir.language.statements.calls import Calls
from ocl_ir.language.values.table import Builtin
from ocl_ir.language.values.values import Number, Value, is_static
from ocl_ir.types import C64, C128, F32, F64


def conj(t: Calls, x: Value) -> Value:
    """The complex conjugate; of a real number the number itself."""
    if isinstance(x, Number) and x.dtype.is_complex:
        return Number(t.k.op("conj", x.ref), x.dtype)
    return x


def to_complex(t: Calls, real: Value, imag: Value = 0.0) -> Value:
    """`complex(real, imag)`: of two parts, in the float type in which they meet."""
    zero_imag = is_static(imag) and imag == 0
    if isinstance(real, Number) and real.dtype.is_complex and zero_imag:
        return real
    class_ = t.meet_all("complex", (real, imag))
    dtype = class_.dtype if class_.dtype is not None and class_.dtype.is_float else t.options.default_real
    part = F64 if dtype is F64 else F32
    refs = [t.converted(value, part) for value in (real, imag)]
    return Number(t.k.op("complex", *refs), C128 if part is F64 else C64)


BUILTINS = {"conj": Builtin("conj", conj, functions.conj, is_elementwise=True)}
"""By the name in `ocl_runtime.language`."""

PYTHON = {"complex": Builtin("complex", to_complex, functions.to_complex, is_elementwise=True)}
"""What Python's own functions of numbers are in a kernel."""
