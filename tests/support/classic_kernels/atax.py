"""atax: y = a.T @ (a @ x): a group sums a row, then a work-item sums a column."""

from __future__ import annotations

import numpy as np

import ocl_runtime as ocl
from ocl_runtime.language import Array1, Array2, cdiv, float32, fma, global_id, group, group_id, local_id, local_size
from tests.support.classic_kernels.classic import Arrays, Classic, Launch, Problem

GROUP = 64


@ocl.kernel(local=GROUP)
def row_products(a: Array2, x: Array1, products: Array1):
    row, lane = group_id(0), local_id(0)
    total = float32(0)
    for column in range(lane, a.shape[1], local_size(0)):
        total = fma(a[row, column], x[column], total)
    total = group.sum(total)
    if lane == 0:
        products[row] = total


@ocl.kernel(local=GROUP)
def column_products(a: Array2, products: Array1, y: Array1):
    column = global_id(0)
    if column < a.shape[1]:
        total = float32(0)
        for row in range(a.shape[0]):
            total = fma(a[row, column], products[row], total)
        y[column] = total


SOURCE = """
#define GROUP 64

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void row_products(__global const float *restrict a, __global const float *restrict x,
                  __global float *restrict products, int columns)
{
    __local float parts[GROUP];
    int row = get_group_id(0), lane = get_local_id(0);
    float total = 0;
    for (int column = lane; column < columns; column += GROUP)
        total = fma(a[row * columns + column], x[column], total);
    parts[lane] = total;
    for (int half_ = GROUP / 2; half_ > 0; half_ /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < half_)
            parts[lane] += parts[lane + half_];
    }
    if (lane == 0)
        products[row] = parts[0];
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void column_products(__global const float *restrict a, __global const float *restrict products,
                     __global float *restrict y, int rows, int columns)
{
    int column = get_global_id(0);
    if (column < columns) {
        float total = 0;
        for (int row = 0; row < rows; row++)
            total = fma(a[row * columns + column], products[row], total);
        y[column] = total;
    }
}
"""


def problem(rows: int, columns: int) -> Problem:
    """a is rows x columns."""
    rng = np.random.default_rng(2)
    a, x = rng.random((rows, columns), np.float32), rng.random(columns, np.float32)

    def expected() -> Arrays:
        exact = a.astype(np.float64)
        return {"y": exact.T @ (exact @ x)}

    return Problem(
        {"a": a, "x": x, "products": np.zeros(rows, np.float32), "y": np.zeros(columns, np.float32)},
        [
            Launch(row_products, (rows,), ("a", "x", "products"), ("a", "x", "products", columns)),
            Launch(
                column_products, (cdiv(columns, GROUP),), ("a", "products", "y"), ("a", "products", "y", rows, columns)
            ),
        ],
        expected,
        rtol=(rows + columns) * 2**-24,  # all terms are positive, each addition rounds
    )


CLASSIC = Classic("atax", SOURCE, problem, small=(37, 91), real=(2011, 1999))
