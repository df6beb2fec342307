"""Matrices of 16-bit elements as copies of boxes and products of warpgroups lay them in local memory, place by place as
PTX has it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ocl_ir.bfloat16 import bits_of
from ocl_ir.kernel.asynchronous import WARPGROUP, Swizzled
from ocl_ir.types import BF16, DType


def halves_of(values: np.ndarray, dtype: DType) -> np.ndarray:
    """The bits of elements."""
    return bits_of(values.astype("f4")) if dtype == BF16 else values.astype("f2").view("u2")


def swizzled(byte: int) -> int:
    """Where a byte is: bits 4 to 6 of its address are joined with bits 7 to 9 by an exclusive or."""
    return byte ^ (byte >> 7 & 7) << 4


def laid(matrix: np.ndarray, lies: Swizzled, dtype: DType, words: int) -> np.ndarray:
    """Words of local memory with an operand: rows of the matrix along its own axis, columns along the inner one."""
    halves = np.zeros(2 * words, "u2")
    bits = halves_of(matrix, dtype)
    for own, inner in np.ndindex(matrix.shape):
        if lies.turned:
            byte = own * 128 + inner * 2
        else:
            byte = own // 64 * lies.block + inner * 128 + own % 64 * 2
        halves[swizzled(byte) // 2] = bits[own, inner]
    return halves.view("u4")


def sums_of(columns: int) -> Iterator[tuple[int, int, int, int]]:
    """Of the sums of a warpgroup: the work-item, which of its sums, the row and the column."""
    for item in range(WARPGROUP):
        warp, lane = divmod(item, 32)
        for fragment in range(columns // 8):
            for i in range(4):
                row, column = 16 * warp + lane // 4 + 8 * (i // 2), 8 * fragment + 2 * (lane % 4) + i % 2
                yield item, 4 * fragment + i, row, column
