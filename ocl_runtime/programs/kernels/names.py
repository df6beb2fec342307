"""The names of the kernel language: builtins, dtypes and annotations."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ocl_ir.language.builtins.registry import BUILTINS
from ocl_runtime.programs.kernels.annotations import Array, Array1, Array2, Array3, Array4, Constant

_DTYPES = (
    *("bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)

NAMES: Final[dict[str, Any]] = {
    **BUILTINS,
    **{name: getattr(np, name) for name in _DTYPES},
    **{"Array": Array, "Array1": Array1, "Array2": Array2, "Array3": Array3, "Array4": Array4, "Constant": Constant},
}
