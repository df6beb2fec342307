"""What matrix instructions compute, and which work-item holds which elements.

32 work-items hold three small matrices: `left` of 16 rows, `right` of 8 columns, and 16 × 8 sums. Along the inner axis
elements are counted in registers: one of 32 bits holds two halves or a tf32, one of 64 bits a float64, and the
instruction takes eight registers' worth. Work-item `4 g + t` holds

    left      4 registers, number i:  row g + 8 (i % 2), register t + 4 (i // 2) of the inner axis
    right     2 registers, number i:  column g,          register t + 4 i
    sum       4 numbers,   number i:  row g + 8 (i // 2), column 2 t + i % 2

as PTX has it in `mma.sync.m16n8k16` of halves and `m16n8k8` of tf32 and float64. In which order products are added,
and whether sums are rounded in between, is the device's choice, in no less than the precision of the sums.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ocl_ir import tf32
from ocl_ir.bfloat16 import floats_of
from ocl_ir.types import BF16, F16, F32, F64, TF32, U32, DType, Vector

_Data: TypeAlias = NDArray[Any]

WARP = 32
"""Work-items that hold matrices together."""
ROWS, COLUMNS, REGISTERS = 16, 8, 8
"""Rows, columns, and registers along the inner axis."""

OPERANDS = {F16: (U32, 2), BF16: (U32, 2), TF32: (U32, 1), F64: (F64, 1)}
"""By the dtype of the operands, that of a register, and how many elements it holds."""
SUMS = {F16: F32, BF16: F32, TF32: F32, F64: F64}
"""The dtype of sums."""


def operand_types(dtype: DType) -> tuple[Vector, Vector, Vector]:
    """What a work-item holds of the left matrix, the right one and the sums."""
    register, _ = OPERANDS[dtype]
    return Vector(register, 4), Vector(register, 2), Vector(SUMS[dtype], 4)


def multiplied(dtype: DType, left: _Data, right: _Data, sums: _Data) -> _Data:
    """What each work-item holds of the sums afterwards; rows of the arguments are work-items by linear local id."""
    warps = [
        _multiplied(dtype, left[first : first + WARP], right[first : first + WARP], sums[first : first + WARP])
        for first in range(0, len(sums), WARP)
    ]
    return np.concatenate(warps)


def _multiplied(dtype: DType, left: _Data, right: _Data, sums: _Data) -> _Data:
    _, count = OPERANDS[dtype]
    lane, number = np.indices((WARP, 4))
    group, thread = lane // 4, lane % 4
    a = np.zeros((ROWS, REGISTERS, count))
    a[group + 8 * (number % 2), thread + 4 * (number // 2)] = _elements(dtype, left)
    b = np.zeros((REGISTERS, count, COLUMNS))
    b[(thread + 4 * number)[:, :2], :, group[:, :2]] = _elements(dtype, right)
    places = group + 8 * (number // 2), 2 * thread + number % 2
    with np.errstate(all="ignore"):
        product = a.reshape(ROWS, -1) @ b.reshape(-1, COLUMNS)
        added: _Data = product[places] + sums.astype("f8")
        return added.astype(sums.dtype)


def _elements(dtype: DType, registers: _Data) -> _Data:
    """The elements in registers, along a last axis, as float64."""
    if dtype == F64:
        return registers[..., None]
    if dtype == TF32:
        return tf32.floats_of(registers)[..., None].astype("f8")
    halves = np.ascontiguousarray(registers).view("u2").reshape(*registers.shape, 2)
    return (floats_of(halves) if dtype == BF16 else halves.view("f2")).astype("f8")
