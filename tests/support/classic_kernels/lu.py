"""LU without pivots, right-looking, in blocks: the diagonal one, those of its row and column, then all behind them."""

from __future__ import annotations

import numpy as np

import ocl_runtime as ocl
from ocl_runtime.language import Array2, barrier, cdiv, float32, fma, group_id, local_array, local_id
from tests.support.classic_kernels.classic import Arrays, Classic, Launch, Problem

TILE = 16


def element(a, row, column):
    """Behind its end, the matrix goes on as the identity."""
    if row < a.shape[0] and column < a.shape[1]:
        return a[row, column]
    return 1.0 if row == column else 0.0


@ocl.kernel(local=(TILE, TILE))
def factor_diagonal(a: Array2, block):
    part = local_array((TILE, TILE), float32)
    x, y = local_id(0), local_id(1)
    row, column = block * TILE + y, block * TILE + x
    part[y, x] = element(a, row, column)
    barrier()
    for k in range(TILE):
        if x == k and y > k:
            part[y, k] /= part[k, k]
        barrier()
        if x > k and y > k:
            part[y, x] -= part[y, k] * part[k, x]
        barrier()
    if row < a.shape[0] and column < a.shape[1]:
        a[row, column] = part[y, x]


@ocl.kernel(local=(TILE, TILE))
def factor_cross(a: Array2, block):
    diagonal = local_array((TILE, TILE), float32)
    part = local_array((TILE, TILE), float32)
    inverse = local_array(TILE, float32)
    x, y = local_id(0), local_id(1)
    other = block + 1 + group_id(0)
    of_row = group_id(1) == 0
    row = (block if of_row else other) * TILE + y
    column = (other if of_row else block) * TILE + x
    diagonal[y, x] = element(a, block * TILE + y, block * TILE + x)
    part[y, x] = element(a, row, column)
    if x == y:
        inverse[x] = 1 / diagonal[x, x]
    barrier()
    for k in range(TILE):
        if x == k and not of_row:
            part[y, k] *= inverse[k]
        barrier()
        if of_row:
            if y > k:
                part[y, x] -= diagonal[y, k] * part[k, x]
        elif x > k:
            part[y, x] -= part[y, k] * diagonal[k, x]
        barrier()
    if row < a.shape[0] and column < a.shape[1]:
        a[row, column] = part[y, x]


@ocl.kernel(local=(TILE, TILE))
def update_rest(a: Array2, block):
    lower = local_array((TILE, TILE), float32)
    upper = local_array((TILE, TILE), float32)
    x, y = local_id(0), local_id(1)
    row = (block + 1 + group_id(1)) * TILE + y
    column = (block + 1 + group_id(0)) * TILE + x
    lower[y, x] = element(a, row, block * TILE + x)
    upper[y, x] = element(a, block * TILE + y, column)
    barrier()
    if row < a.shape[0] and column < a.shape[1]:
        rest = a[row, column]
        for k in range(TILE):
            rest = fma(-lower[y, k], upper[k, x], rest)
        a[row, column] = rest


SOURCE = """
#define TILE 16

float element(__global const float *a, int row, int column, int n)
{
    return row < n && column < n ? a[row * n + column] : row == column;
}

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void factor_diagonal(__global float *restrict a, int block, int n)
{
    __local float part[TILE][TILE];
    int x = get_local_id(0), y = get_local_id(1);
    int row = block * TILE + y, column = block * TILE + x;
    part[y][x] = element(a, row, column, n);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < TILE; k++) {
        if (x == k && y > k)
            part[y][k] /= part[k][k];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (x > k && y > k)
            part[y][x] -= part[y][k] * part[k][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < n && column < n)
        a[row * n + column] = part[y][x];
}

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void factor_cross(__global float *restrict a, int block, int n)
{
    __local float diagonal[TILE][TILE], part[TILE][TILE], inverse[TILE];
    int x = get_local_id(0), y = get_local_id(1);
    int other = block + 1 + get_group_id(0), of_row = get_group_id(1) == 0;
    int row = (of_row ? block : other) * TILE + y, column = (of_row ? other : block) * TILE + x;
    diagonal[y][x] = element(a, block * TILE + y, block * TILE + x, n);
    part[y][x] = element(a, row, column, n);
    if (x == y)
        inverse[x] = 1 / diagonal[x][x];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < TILE; k++) {
        if (x == k && !of_row)
            part[y][k] *= inverse[k];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (of_row) {
            if (y > k)
                part[y][x] -= diagonal[y][k] * part[k][x];
        } else if (x > k)
            part[y][x] -= part[y][k] * diagonal[k][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < n && column < n)
        a[row * n + column] = part[y][x];
}

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void update_rest(__global float *restrict a, int block, int n)
{
    __local float lower[TILE][TILE], upper[TILE][TILE];
    int x = get_local_id(0), y = get_local_id(1);
    int row = (block + 1 + get_group_id(1)) * TILE + y, column = (block + 1 + get_group_id(0)) * TILE + x;
    lower[y][x] = element(a, row, block * TILE + x, n);
    upper[y][x] = element(a, block * TILE + y, column, n);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (row < n && column < n) {
        float rest = a[row * n + column];
        for (int k = 0; k < TILE; k++)
            rest = fma(-lower[y][k], upper[k][x], rest);
        a[row * n + column] = rest;
    }
}
"""


def problem(n: int) -> Problem:
    """A matrix of n x n whose diagonal outweighs the rest, so that it needs no pivots."""
    a = np.random.default_rng(8).uniform(-1, 1, (n, n)).astype(np.float32)
    np.fill_diagonal(a, 2 * n**0.5)

    def expected() -> Arrays:
        lu = a.astype(np.float64)
        for k in range(n - 1):
            lu[k + 1 :, k] /= lu[k, k]
            lu[k + 1 :, k + 1 :] -= np.outer(lu[k + 1 :, k], lu[k, k + 1 :])
        return {"a": lu}

    blocks = cdiv(n, TILE)
    launches: list[Launch] = []
    for block in range(blocks):
        behind = blocks - 1 - block
        steps = ((factor_diagonal, (1, 1)), (factor_cross, (behind, 2)), (update_rest, (behind, behind)))
        launches += [Launch(kernel, groups, ("a", block), ("a", block, n)) for kernel, groups in steps]
    # An element is rounded n times at most; such errors add up to about the square root.
    return Problem({"a": a}, launches, expected, rtol=2 * n**0.5 * 2**-24)


CLASSIC = Classic("LU", SOURCE, problem, small=(37,), real=(509,))
