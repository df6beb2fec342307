"""Matrices as copies of boxes and products of warpgroups lay them in local memory, place by place as PTX has it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ocl_ir.bfloat16 import bits_of
from ocl_ir.kernel.asynchronous import WARPGROUP, Swizzled
from ocl_ir.types import BF16, TF32, DType


def bits_of_elements(values: np.ndarray, dtype: DType) -> np.ndarray:
    """The bits of elements: of halves, or of float32."""
    if dtype == TF32:
        return values.astype("f4").view("u4")
    return bits_of(values.astype("f4")) if dtype == BF16 else values.astype("f2").view("u2")


def swizzled(byte: int) -> int:
    """Where a byte is: bits 4 to 6 of its address are joined with bits 7 to 9 by an exclusive or."""
    return byte ^ (byte >> 7 & 7) << 4


def laid(matrix: np.ndarray, lies: Swizzled, dtype: DType, words: int) -> np.ndarray:
    """Words of local memory with an operand: rows of the matrix along its own axis, columns along the inner one."""
    size = dtype.size
    row = 128 // size
    elements = np.zeros(4 // size * words, f"u{size}")
    bits = bits_of_elements(matrix, dtype)
    for own, inner in np.ndindex(matrix.shape):
        if lies.turned:
            byte = own * 128 + inner * size
        else:
            byte = own // row * lies.block + inner * 128 + own % row * size
        elements[swizzled(byte) // size] = bits[own, inner]
    return elements.view("u4")


def sums_of(columns: int) -> Iterator[tuple[int, int, int, int]]:
    """Of the sums of a warpgroup: the work-item, which of its sums, the row and the column."""
    for item in range(WARPGROUP):
        warp, lane = divmod(item, 32)
        for fragment in range(columns // 8):
            for i in range(4):
                row, column = 16 * warp + lane // 4 + 8 * (i // 2), 8 * fragment + 2 * (lane % 4) + i % 2
                yield item, 4 * fragment + i, row, column
