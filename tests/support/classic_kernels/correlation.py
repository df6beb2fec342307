"""correlation of each two columns: their moments, the columns in units of these, a product in tiles."""

from __future__ import annotations

import numpy as np

import ocl_runtime as ocl
from ocl_runtime.language import (
    Array1,
    Array2,
    barrier,
    cdiv,
    float32,
    fma,
    global_id,
    group_id,
    local_array,
    local_id,
    sqrt,
)
from tests.support.classic_kernels.classic import Arrays, Classic, Launch, Problem

GROUP, TILE = 64, 16


@ocl.kernel(local=GROUP)
def moments(data: Array2, means: Array1, scales: Array1):
    column, rows = global_id(0), data.shape[0]
    if column < data.shape[1]:
        total = float32(0)
        for row in range(rows):
            total += data[row, column]
        mean = total / rows
        squares = float32(0)
        for row in range(rows):
            away = data[row, column] - mean
            squares = fma(away, away, squares)
        means[column] = mean
        scales[column] = 1 / sqrt(squares) if squares > 0 else 1


@ocl.kernel(local=(TILE, TILE))
def standardise(data: Array2, means: Array1, scales: Array1):
    column, row = global_id(0), global_id(1)
    if row < data.shape[0] and column < data.shape[1]:
        data[row, column] = (data[row, column] - means[column]) * scales[column]


@ocl.kernel(local=(TILE, TILE))
def correlate(data: Array2, result: Array2):
    of_row = local_array((TILE, TILE), float32)
    of_column = local_array((TILE, TILE), float32)
    x, y = local_id(0), local_id(1)
    top, left = group_id(1) * TILE, group_id(0) * TILE
    rows, columns = data.shape
    total = float32(0)
    for start in range(0, rows, TILE):
        of_row[y, x] = data[start + y, top + x] if start + y < rows and top + x < columns else 0
        of_column[y, x] = data[start + y, left + x] if start + y < rows and left + x < columns else 0
        barrier()
        for k in range(TILE):
            total = fma(of_row[k, y], of_column[k, x], total)
        barrier()
    if top + y < columns and left + x < columns:
        result[top + y, left + x] = total


SOURCE = """
#define GROUP 64
#define TILE 16

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void moments(__global const float *restrict data, __global float *restrict means, __global float *restrict scales,
             int rows, int columns)
{
    int column = get_global_id(0);
    if (column < columns) {
        float total = 0, squares = 0;
        for (int row = 0; row < rows; row++)
            total += data[row * columns + column];
        float mean = total / rows;
        for (int row = 0; row < rows; row++) {
            float away = data[row * columns + column] - mean;
            squares = fma(away, away, squares);
        }
        means[column] = mean;
        scales[column] = squares > 0 ? 1 / sqrt(squares) : 1;
    }
}

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void standardise(__global float *restrict data, __global const float *restrict means,
                 __global const float *restrict scales, int rows, int columns)
{
    int column = get_global_id(0), row = get_global_id(1);
    if (row < rows && column < columns)
        data[row * columns + column] = (data[row * columns + column] - means[column]) * scales[column];
}

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void correlate(__global const float *restrict data, __global float *restrict result, int rows, int columns)
{
    __local float of_row[TILE][TILE], of_column[TILE][TILE];
    int x = get_local_id(0), y = get_local_id(1);
    int top = get_group_id(1) * TILE, left = get_group_id(0) * TILE;
    float total = 0;
    for (int start = 0; start < rows; start += TILE) {
        of_row[y][x] = start + y < rows && top + x < columns ? data[(start + y) * columns + top + x] : 0;
        of_column[y][x] = start + y < rows && left + x < columns ? data[(start + y) * columns + left + x] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; k++)
            total = fma(of_row[k][y], of_column[k][x], total);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (top + y < columns && left + x < columns)
        result[(top + y) * columns + left + x] = total;
}
"""


def problem(rows: int, columns: int) -> Problem:
    """Of so many observations of so many variables."""
    rng = np.random.default_rng(7)
    data = rng.standard_normal((rows, columns)).astype(np.float32) + rng.random((rows, 1), np.float32)

    def expected() -> Arrays:
        return {"result": np.corrcoef(data.astype(np.float64), rowvar=False)}

    tiles = cdiv(columns, TILE)
    moments_of, names = ("data", "means", "scales"), (rows, columns)
    return Problem(
        {
            "data": data,
            "means": np.zeros(columns, np.float32),
            "scales": np.zeros(columns, np.float32),
            "result": np.zeros((columns, columns), np.float32),
        },
        [
            Launch(moments, (cdiv(columns, GROUP),), moments_of, (*moments_of, *names)),
            Launch(standardise, (tiles, cdiv(rows, TILE)), moments_of, (*moments_of, *names)),
            Launch(correlate, (tiles, tiles), ("data", "result"), ("data", "result", *names)),
        ],
        expected,
        rtol=3 * rows * 2**-24,  # three sums over the rows, of terms whose magnitudes add up to about 1
    )


CLASSIC = Classic("correlation", SOURCE, problem, small=(53, 37), real=(1201, 509))
