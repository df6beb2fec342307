"""The kernel language: what functions decorated with `ocl_runtime.kernel` are written with.

    from ocl_runtime.language import global_id, local_array, barrier, float32

Work-items and groups: `global_id local_id group_id global_size local_size num_groups position barrier`.
Memory: `local_array private_array vload vstore atomic_add …`. Numbers: the names of `math` and NumPy, `fma`, `where`,
`cdiv`, `minimum`, vectors as `float4` or `float32x4`, which is the same (`uint8` is NumPy's, `uint32x8` is a vector).
Groups: `group.sum subgroup.shuffle`, tiles: `tile load_tile store_tile dot`. Loops: `unrolled hint`. Annotations:
`Array1[np.float32]`, `Constant[int]`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ocl_ir.language.builtins import BUILTINS
from ocl_runtime.programs.kernels.annotations import Array, Array1, Array2, Array3, Array4, Constant

bool_ = np.bool_
int8, int16, int32, int64 = np.int8, np.int16, np.int32, np.int64
uint8, uint16, uint32, uint64 = np.uint8, np.uint16, np.uint32, np.uint64
float16, float32, float64 = np.float16, np.float32, np.float64

globals().update(BUILTINS)

__all__ = [  # noqa: PLE0604
    *BUILTINS,
    "Array",
    "Array1",
    "Array2",
    "Array3",
    "Array4",
    "Constant",
    "bool_",
    "float16",
    "float32",
    "float64",
    "int16",
    "int32",
    "int64",
    "int8",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
]


def __getattr__(name: str) -> Any:
    raise AttributeError(f"the kernel language has no {name!r}; dir(ocl_runtime.language) lists what it has")
