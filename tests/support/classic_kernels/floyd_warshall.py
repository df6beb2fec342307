"""Floyd-Warshall in blocks: the diagonal block, those of its row and column, and then all others, for each block."""

from __future__ import annotations

import math

import numpy as np

import ocl_runtime as ocl
from ocl_runtime.language import Array2, barrier, cdiv, float32, group_id, local_array, local_id
from tests.support.classic_kernels.classic import Arrays, Classic, Launch, Problem

TILE = 16


def distance(paths, row, column):
    """Behind the end of the matrix, nothing is reached."""
    return paths[row, column] if row < paths.shape[0] and column < paths.shape[1] else math.inf


@ocl.kernel(local=(TILE, TILE))
def relax_diagonal(paths: Array2, block):
    part = local_array((TILE, TILE), float32)
    x, y = local_id(0), local_id(1)
    row, column = block * TILE + y, block * TILE + x
    part[y, x] = distance(paths, row, column)
    barrier()
    for k in range(TILE):
        # Row and column k stay as they are in this step, since no distance is negative: nobody reads what is written.
        through = part[y, k] + part[k, x]
        if through < part[y, x]:  # noqa: PLR1730
            part[y, x] = through
        barrier()
    if row < paths.shape[0] and column < paths.shape[1]:
        paths[row, column] = part[y, x]


@ocl.kernel(local=(TILE, TILE))
def relax_cross(paths: Array2, block):
    diagonal = local_array((TILE, TILE), float32)
    part = local_array((TILE, TILE), float32)
    x, y = local_id(0), local_id(1)
    other = group_id(0) + (1 if group_id(0) >= block else 0)
    of_row = group_id(1) == 0
    row = (block if of_row else other) * TILE + y
    column = (other if of_row else block) * TILE + x
    diagonal[y, x] = distance(paths, block * TILE + y, block * TILE + x)
    part[y, x] = distance(paths, row, column)
    barrier()
    for k in range(TILE):
        through = diagonal[y, k] + part[k, x] if of_row else part[y, k] + diagonal[k, x]
        if through < part[y, x]:  # noqa: PLR1730
            part[y, x] = through
        barrier()
    if row < paths.shape[0] and column < paths.shape[1]:
        paths[row, column] = part[y, x]


@ocl.kernel(local=(TILE, TILE))
def relax_rest(paths: Array2, block):
    of_column = local_array((TILE, TILE), float32)
    of_row = local_array((TILE, TILE), float32)
    x, y = local_id(0), local_id(1)
    row = (group_id(1) + (1 if group_id(1) >= block else 0)) * TILE + y
    column = (group_id(0) + (1 if group_id(0) >= block else 0)) * TILE + x
    of_column[y, x] = distance(paths, row, block * TILE + x)
    of_row[y, x] = distance(paths, block * TILE + y, column)
    barrier()
    if row < paths.shape[0] and column < paths.shape[1]:
        least = paths[row, column]
        for k in range(TILE):
            least = min(least, of_column[y, k] + of_row[k, x])
        paths[row, column] = least


SOURCE = """
#define TILE 16

float distance_(__global const float *paths, int row, int column, int n)
{
    return row < n && column < n ? paths[row * n + column] : INFINITY;
}

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void relax_diagonal(__global float *restrict paths, int block, int n)
{
    __local float part[TILE][TILE];
    int x = get_local_id(0), y = get_local_id(1);
    int row = block * TILE + y, column = block * TILE + x;
    part[y][x] = distance_(paths, row, column, n);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < TILE; k++) {
        float through = part[y][k] + part[k][x];
        if (through < part[y][x])
            part[y][x] = through;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < n && column < n)
        paths[row * n + column] = part[y][x];
}

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void relax_cross(__global float *restrict paths, int block, int n)
{
    __local float diagonal[TILE][TILE], part[TILE][TILE];
    int x = get_local_id(0), y = get_local_id(1);
    int other = get_group_id(0) + ((int)get_group_id(0) >= block ? 1 : 0);
    int of_row = get_group_id(1) == 0;
    int row = (of_row ? block : other) * TILE + y, column = (of_row ? other : block) * TILE + x;
    diagonal[y][x] = distance_(paths, block * TILE + y, block * TILE + x, n);
    part[y][x] = distance_(paths, row, column, n);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < TILE; k++) {
        float through = of_row ? diagonal[y][k] + part[k][x] : part[y][k] + diagonal[k][x];
        if (through < part[y][x])
            part[y][x] = through;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < n && column < n)
        paths[row * n + column] = part[y][x];
}

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void relax_rest(__global float *restrict paths, int block, int n)
{
    __local float of_column[TILE][TILE], of_row[TILE][TILE];
    int x = get_local_id(0), y = get_local_id(1);
    int row = (get_group_id(1) + ((int)get_group_id(1) >= block ? 1 : 0)) * TILE + y;
    int column = (get_group_id(0) + ((int)get_group_id(0) >= block ? 1 : 0)) * TILE + x;
    of_column[y][x] = distance_(paths, row, block * TILE + x, n);
    of_row[y][x] = distance_(paths, block * TILE + y, column, n);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (row < n && column < n) {
        float least = paths[row * n + column];
        for (int k = 0; k < TILE; k++) {
            float through = of_column[y][k] + of_row[k][x];
            least = through < least ? through : least;
        }
        paths[row * n + column] = least;
    }
}
"""


def problem(n: int) -> Problem:
    """A graph of n vertices, where one of eight pairs has an edge."""
    rng = np.random.default_rng(3)
    # Eighths add up exactly, so that the order of additions does not matter.
    lengths = rng.integers(1, 800, (n, n)).astype(np.float32) / 8
    paths = np.where(rng.random((n, n)) < 1 / 8, lengths, np.float32(np.inf))
    np.fill_diagonal(paths, 0)

    def expected() -> Arrays:
        least = paths.copy()
        for k in range(n):
            np.minimum(least, least[:, k, None] + least[k], out=least)
        return {"paths": least}

    blocks = cdiv(n, TILE)
    launches: list[Launch] = []
    for block in range(blocks):
        steps = (
            (relax_diagonal, (1, 1)),
            (relax_cross, (blocks - 1, 2)),
            (relax_rest, (blocks - 1, blocks - 1)),
        )
        launches += [Launch(kernel, groups, ("paths", block), ("paths", block, n)) for kernel, groups in steps]
    return Problem({"paths": paths}, launches, expected)


CLASSIC = Classic("Floyd-Warshall", SOURCE, problem, small=(37,), real=(509,))
