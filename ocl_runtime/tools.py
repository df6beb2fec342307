"""Structured dtypes for kernels in OpenCL C, by the names that PyOpenCL has for it in `pyopencl.tools`.

    pair = get_or_register_dtype("pair", np.dtype([("value", np.float32), ("index", np.int32)]))
    pairs = StructArray(np.zeros(10, pair))

A dtype carries its name in C with it: nothing is registered, and a name may stand for other fields elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ocl_runtime.programs.raw.declared_structs import with_structs
from ocl_runtime.programs.struct_array import StructArray
from ocl_runtime.programs.structs import Struct, in_c_layout, named

__all__ = ["StructArray", "get_or_register_dtype", "match_dtype_to_c_struct"]


def match_dtype_to_c_struct(device: object, name: str, dtype: Any, context: object = None) -> tuple[np.dtype[Any], str]:
    """A dtype with the same fields in the layout of C, padded where C pads, and the declaration of that struct.

    Layouts are the same on all devices: neither device nor context is used, and None will do. Raises `Error` for names
    that OpenCL C does not take, `DTypeError` for fields that are no scalars of a device.
    """
    struct = Struct(name, in_c_layout(name, dtype))
    return struct.dtype, with_structs([struct])


def get_or_register_dtype(name: str, dtype: Any) -> np.dtype[Any]:
    """A structured dtype with its name in C, to be given to `ReductionKernel` and `ElementwiseKernel`.

    Raises as `match_dtype_to_c_struct` does, and `DTypeError` for a layout that is not that of C.
    """
    return named(name, dtype)
