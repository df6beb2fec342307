"""2mm: d = alpha * a @ b @ c + beta * d, in tiles of 64 x 64 elements, 4 x 4 of them in registers of a work-item."""

from __future__ import annotations

import numpy as np

import ocl_runtime as ocl
from ocl_runtime.language import (
    Array2,
    barrier,
    cdiv,
    float32,
    fma,
    group_id,
    local_array,
    local_id,
    private_array,
    unrolled,
)
from tests.support.classic_kernels.classic import Arrays, Classic, Launch, Problem

SIDE, EACH = 16, 4
TILE = SIDE * EACH


@ocl.kernel(local=(SIDE, SIDE))
def product(alpha: float32, a: Array2, b: Array2, beta: float32, c: Array2):
    x, y = local_id(0), local_id(1)
    top, left = group_id(1) * TILE, group_id(0) * TILE
    rows, inner, columns = a.shape[0], a.shape[1], b.shape[1]
    a_part = local_array((TILE, SIDE), float32)
    b_part = local_array((SIDE, TILE), float32)
    sums = private_array((EACH, EACH), float32)
    for i in unrolled(range(EACH)):
        for j in unrolled(range(EACH)):
            sums[i, j] = 0
    for start in range(0, inner, SIDE):
        for i in unrolled(range(EACH)):
            row, column = y + i * SIDE, x + i * SIDE
            a_part[row, x] = a[top + row, start + x] if top + row < rows and start + x < inner else 0
            b_part[y, column] = b[start + y, left + column] if start + y < inner and left + column < columns else 0
        barrier()
        for k in range(SIDE):
            for i in unrolled(range(EACH)):
                for j in unrolled(range(EACH)):
                    sums[i, j] = fma(a_part[y + i * SIDE, k], b_part[k, x + j * SIDE], sums[i, j])
        barrier()
    for i in unrolled(range(EACH)):
        for j in unrolled(range(EACH)):
            row, column = top + y + i * SIDE, left + x + j * SIDE
            if row < rows and column < columns:
                c[row, column] = alpha * sums[i, j] + beta * c[row, column]


SOURCE = """
#define SIDE 16
#define EACH 4
#define TILE (SIDE * EACH)

__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1)))
void product(float alpha, __global const float *restrict a, __global const float *restrict b, float beta,
             __global float *restrict c, int rows, int inner, int columns)
{
    __local float a_part[TILE][SIDE], b_part[SIDE][TILE];
    int x = get_local_id(0), y = get_local_id(1);
    int top = get_group_id(1) * TILE, left = get_group_id(0) * TILE;
    float sums[EACH][EACH] = {{0}};
    for (int start = 0; start < inner; start += SIDE) {
        #pragma unroll
        for (int i = 0; i < EACH; i++) {
            int row = y + i * SIDE, column = x + i * SIDE;
            a_part[row][x] = top + row < rows && start + x < inner ? a[(top + row) * inner + start + x] : 0;
            b_part[y][column] = start + y < inner && left + column < columns
                ? b[(start + y) * columns + left + column] : 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < SIDE; k++) {
            #pragma unroll
            for (int i = 0; i < EACH; i++)
                #pragma unroll
                for (int j = 0; j < EACH; j++)
                    sums[i][j] = fma(a_part[y + i * SIDE][k], b_part[k][x + j * SIDE], sums[i][j]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    #pragma unroll
    for (int i = 0; i < EACH; i++)
        #pragma unroll
        for (int j = 0; j < EACH; j++) {
            int row = top + y + i * SIDE, column = left + x + j * SIDE;
            if (row < rows && column < columns)
                c[row * columns + column] = alpha * sums[i][j] + beta * c[row * columns + column];
        }
}
"""


def problem(ni: int, nj: int, nk: int, nl: int) -> Problem:
    """a is ni x nk, b nk x nj, c nj x nl."""
    rng = np.random.default_rng(1)
    a, b, c, d = (rng.random(shape, np.float32) for shape in ((ni, nk), (nk, nj), (nj, nl), (ni, nl)))
    alpha, beta = np.float32(1.5), np.float32(0.75)

    def expected() -> Arrays:
        exact = [x.astype(np.float64) for x in (a, b, c, d)]
        return {"d": alpha * (exact[0] @ exact[1]) @ exact[2] + beta * exact[3]}

    def launch(factor: np.float32, x: str, y: str, kept: np.float32, z: str, m: int, k: int, n: int) -> Launch:
        numbers = (factor, x, y, kept, z)
        return Launch(product, (cdiv(n, TILE), cdiv(m, TILE)), numbers, (*numbers, m, k, n))

    return Problem(
        {"a": a, "b": b, "c": c, "d": d, "ab": np.zeros((ni, nj), np.float32)},
        [
            launch(alpha, "a", "b", np.float32(0), "ab", ni, nk, nj),
            launch(np.float32(1), "ab", "c", beta, "d", ni, nj, nl),
        ],
        expected,
        rtol=(nk + nj) * 2**-24,  # each of so many additions rounds, all terms are positive
    )


CLASSIC = Classic("2mm", SOURCE, problem, small=(37, 29, 45, 70), real=(517, 389, 601, 450))
