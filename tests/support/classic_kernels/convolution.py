"""A convolution of an image: a tile with a halo in local memory, and a stencil whose size is known."""

from __future__ import annotations

import numpy as np

import ocl_runtime as ocl
from ocl_runtime.language import Array2, Constant, barrier, cdiv, float32, fma, group_id, hint, local_array, local_id
from tests.support.classic_kernels.classic import Arrays, Classic, Launch, Problem

TILE, RADIUS = 16, 2


@ocl.kernel(local=(TILE, TILE))
def convolve(image: Array2, weights: Array2, result: Array2, radius: Constant[int] = RADIUS):
    side = TILE + 2 * radius
    part = local_array((side, side), float32)
    x, y = local_id(0), local_id(1)
    top, left = group_id(1) * TILE, group_id(0) * TILE
    rows, columns = image.shape
    for j in range(y, side, TILE):
        for i in range(x, side, TILE):
            row, column = top + j - radius, left + i - radius
            part[j, i] = image[row, column] if 0 <= row < rows and 0 <= column < columns else 0
    barrier()
    if top + y < rows and left + x < columns:
        total = float32(0)
        for j in hint(range(2 * radius + 1), unroll=2 * radius + 1):
            for i in hint(range(2 * radius + 1), unroll=2 * radius + 1):
                total = fma(part[y + j, x + i], weights[j, i], total)
        result[top + y, left + x] = total


SOURCE = """
#define TILE 16
#define RADIUS 2
#define SIDE (TILE + 2 * RADIUS)

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void convolve(__global const float *restrict image, __constant float *restrict weights, __global float *restrict result,
              int rows, int columns)
{
    __local float part[SIDE][SIDE];
    int x = get_local_id(0), y = get_local_id(1);
    int top = get_group_id(1) * TILE, left = get_group_id(0) * TILE;
    for (int j = y; j < SIDE; j += TILE)
        for (int i = x; i < SIDE; i += TILE) {
            int row = top + j - RADIUS, column = left + i - RADIUS;
            part[j][i] = 0 <= row && row < rows && 0 <= column && column < columns ? image[row * columns + column] : 0;
        }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (top + y < rows && left + x < columns) {
        float total = 0;
        #pragma unroll
        for (int j = 0; j < 2 * RADIUS + 1; j++)
            #pragma unroll
            for (int i = 0; i < 2 * RADIUS + 1; i++)
                total = fma(part[y + j][x + i], weights[j * (2 * RADIUS + 1) + i], total);
        result[(top + y) * columns + left + x] = total;
    }
}
"""


def problem(rows: int, columns: int) -> Problem:
    """An image of rows x columns, which is black around."""
    rng = np.random.default_rng(6)
    image = rng.random((rows, columns), np.float32)
    weights = rng.random((2 * RADIUS + 1, 2 * RADIUS + 1), np.float32)

    def expected() -> Arrays:
        around = np.pad(image.astype(np.float64), RADIUS)
        offsets = np.ndindex(weights.shape)
        return {"result": sum(around[j : j + rows, i : i + columns] * weights[j, i] for j, i in offsets)}

    arguments = ("image", "weights", "result")
    return Problem(
        {"image": image, "weights": weights, "result": np.zeros_like(image)},
        [Launch(convolve, (cdiv(columns, TILE), cdiv(rows, TILE)), arguments, (*arguments, rows, columns))],
        expected,
        rtol=2 * weights.size * 2**-24,  # a product and a sum for each weight, all positive
    )


CLASSIC = Classic("convolution", SOURCE, problem, small=(21, 37), real=(1531, 2029))
