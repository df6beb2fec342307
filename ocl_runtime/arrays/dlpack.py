"""DLPack capsules of NumPy arrays, and of bfloat16, which NumPy does not know.

Such a capsule is one of 16-bit unsigned integers in which the type's code is another. The structures are those of
dlpack.h, https://dmlc.github.io/dlpack/latest/c_api.html.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocl_ir.bfloat16 import HELD

CPU = (1, 0)
"""DLPack's name of the host: kDLCPU, the first."""

_UINT, _BFLOAT = 1, 4
"""kDLUInt and kDLBfloat."""


class _Tensor(ctypes.Structure):
    """DLTensor, up to its type."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    )


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned, up to its tensor's type."""

    _fields_ = (
        ("version", ctypes.c_uint32 * 2),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)


def to_capsule(host: NDArray[Any], asked: Mapping[str, Any]) -> Any:
    """A capsule of a NumPy array, with what NumPy's `__dlpack__` is asked; one of `HELD` is of bfloat16."""
    if host.dtype != HELD:
        return host.__dlpack__(**asked)
    bits: Any = host.view(np.uint16)
    capsule = bits.__dlpack__(**asked)
    _type_of(capsule).code = _BFLOAT
    return capsule


def from_capsule(x: Any, **asked: Any) -> NDArray[Any]:
    """What `numpy.from_dlpack` gives; of bfloat16 an array of `HELD`."""
    taken = _Taken(x)
    host = np.from_dlpack(taken, **asked)
    return host.view(HELD) if taken.is_bfloat16 else host


class _Taken:
    """What offers DLPack, for NumPy: bfloat16 passes for integers."""

    def __init__(self, x: Any) -> None:
        self._x = x
        self.is_bfloat16 = False

    def __dlpack_device__(self) -> Any:
        return self._x.__dlpack_device__()

    def __dlpack__(self, **asked: Any) -> Any:
        capsule = self._x.__dlpack__(**asked)
        type_ = _type_of(capsule)
        if (type_.code, type_.bits, type_.lanes) == (_BFLOAT, 16, 1):
            self.is_bfloat16, type_.code = True, _UINT  # the capsule is ours
        return capsule


def _type_of(capsule: Any) -> _Tensor:
    """The tensor in a capsule that nobody has taken yet. Raises `ValueError` for anything else."""
    if _is_valid(capsule, b"dltensor_versioned"):
        tensor: _Tensor = _Versioned.from_address(_pointer(capsule, b"dltensor_versioned")).tensor
        return tensor
    return _Tensor.from_address(_pointer(capsule, b"dltensor"))
