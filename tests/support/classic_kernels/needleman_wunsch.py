"""Needleman-Wunsch: the best alignment of two sequences, blocks of a diagonal at once, and diagonals within a block."""

from __future__ import annotations

import numpy as np

import ocl_runtime as ocl
from ocl_runtime.language import Array1, Array2, barrier, cdiv, group_id, int32, local_array, local_id
from tests.support.classic_kernels.classic import Arrays, Classic, Launch, Problem

BLOCK = 16
LETTERS = 20


@ocl.kernel(local=BLOCK)
def align_blocks(scores: Array2, a: Array1, b: Array1, similarity: Array2, penalty: int32, diagonal, first_block):
    part = local_array((BLOCK + 1, BLOCK + 1), int32)
    lane = local_id(0)
    block_row = first_block + group_id(0)
    top, left = block_row * BLOCK, (diagonal - block_row) * BLOCK
    rows, columns = scores.shape
    column = left + 1 + lane
    part[0, lane + 1] = scores[top, column] if column < columns else 0
    part[lane + 1, 0] = scores[top + 1 + lane, left] if top + 1 + lane < rows else 0
    if lane == 0:
        part[0, 0] = scores[top, left]
    barrier()
    for wave in range(2 * BLOCK - 1):
        i = wave - lane
        if 0 <= i < BLOCK and top + 1 + i < rows and column < columns:
            matched = part[i, lane] + similarity[a[top + i], b[left + lane]]
            part[i + 1, lane + 1] = max(matched, part[i, lane + 1] - penalty, part[i + 1, lane] - penalty)
        barrier()
    for i in range(BLOCK):
        if top + 1 + i < rows and column < columns:
            scores[top + 1 + i, column] = part[i + 1, lane + 1]


SOURCE = """
#define BLOCK 16
#define LETTERS 20

__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void align_blocks(__global int *restrict scores, __global const uchar *restrict a, __global const uchar *restrict b,
                  __global const int *restrict similarity, int penalty, int diagonal, int first_block, int rows,
                  int columns)
{
    __local int part[BLOCK + 1][BLOCK + 1];
    int lane = get_local_id(0);
    int block_row = first_block + get_group_id(0);
    int top = block_row * BLOCK, left = (diagonal - block_row) * BLOCK;
    int column = left + 1 + lane;
    part[0][lane + 1] = column < columns ? scores[top * columns + column] : 0;
    part[lane + 1][0] = top + 1 + lane < rows ? scores[(top + 1 + lane) * columns + left] : 0;
    if (lane == 0)
        part[0][0] = scores[top * columns + left];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int wave = 0; wave < 2 * BLOCK - 1; wave++) {
        int i = wave - lane;
        if (0 <= i && i < BLOCK && top + 1 + i < rows && column < columns) {
            int matched = part[i][lane] + similarity[a[top + i] * LETTERS + b[left + lane]];
            part[i + 1][lane + 1] = max(max(matched, part[i][lane + 1] - penalty), part[i + 1][lane] - penalty);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = 0; i < BLOCK; i++)
        if (top + 1 + i < rows && column < columns)
            scores[(top + 1 + i) * columns + column] = part[i + 1][lane + 1];
}
"""


def problem(length: int, other_length: int) -> Problem:
    """Two sequences of amino acids, and a symmetric table of how like each two are."""
    rng = np.random.default_rng(10)
    a, b = (rng.integers(0, LETTERS, size, np.uint8) for size in (length, other_length))
    table = rng.integers(-4, 3, (LETTERS, LETTERS), np.int32)
    similarity = table + table.T
    np.fill_diagonal(similarity, 6)
    penalty = np.int32(3)
    scores = np.zeros((length + 1, other_length + 1), np.int32)
    scores[:, 0], scores[0] = -penalty * np.arange(length + 1), -penalty * np.arange(other_length + 1)

    def expected() -> Arrays:
        best = scores.copy()
        offsets = penalty * np.arange(1, other_length + 1)
        for i in range(1, length + 1):
            own = np.maximum(best[i - 1, :-1] + similarity[a[i - 1], b], best[i - 1, 1:] - penalty)
            # What comes from the left loses the penalty at each step: a running maximum, where that is given back.
            own[0] = max(own[0], best[i, 0] - penalty)
            best[i, 1:] = np.maximum.accumulate(own + offsets) - offsets
        return {"scores": best}

    rows, columns = cdiv(length, BLOCK), cdiv(other_length, BLOCK)
    launches: list[Launch] = []
    for diagonal in range(rows + columns - 1):
        first, last = max(0, diagonal - columns + 1), min(diagonal, rows - 1)
        arguments = ("scores", "a", "b", "similarity", penalty, diagonal, first)
        launches.append(Launch(align_blocks, (last - first + 1,), arguments, (*arguments, *scores.shape)))
    return Problem({"scores": scores, "a": a, "b": b, "similarity": similarity}, launches, expected)


CLASSIC = Classic("Needleman-Wunsch", SOURCE, problem, small=(37, 53), real=(1501, 1387))
