"""pathfinder: the cheapest way down a grid, several rows a launch: stretches of columns with ghost zones."""

from __future__ import annotations

import numpy as np

import ocl_runtime as ocl
from ocl_runtime.language import Array1, Array2, barrier, cdiv, group_id, int32, local_array, local_id
from tests.support.classic_kernels.classic import Arrays, Classic, Launch, Problem

GROUP, STEPS = 256, 20
INNER = GROUP - 2 * STEPS
FAR = 2**30


@ocl.kernel(local=GROUP)
def path_steps(costs: Array2, before: Array1, after: Array1, first, steps):
    part = local_array(GROUP, int32)
    x = local_id(0)
    column = group_id(0) * INNER + x - STEPS
    on_grid = 0 <= column < costs.shape[1]
    own = before[column] if on_grid else FAR
    for step in range(steps):
        part[x] = own
        barrier()
        if on_grid and 0 < x < GROUP - 1:
            own = min(part[x - 1], own, part[x + 1]) + costs[first + step, column]
        barrier()
    if on_grid and STEPS <= x < GROUP - STEPS:
        after[column] = own


SOURCE = """
#define GROUP 256
#define STEPS 20
#define FAR (1 << 30)

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void path_steps(__global const int *restrict costs, __global const int *restrict before, __global int *restrict after,
                int first, int steps, int columns)
{
    __local int part[GROUP];
    int x = get_local_id(0);
    int column = (int)get_group_id(0) * (GROUP - 2 * STEPS) + x - STEPS;
    int on_grid = 0 <= column && column < columns;
    int own = on_grid ? before[column] : FAR;
    for (int step = 0; step < steps; step++) {
        part[x] = own;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (on_grid && 0 < x && x < GROUP - 1)
            own = min(min(part[x - 1], own), part[x + 1]) + costs[(first + step) * columns + column];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (on_grid && STEPS <= x && x < GROUP - STEPS)
        after[column] = own;
}
"""


def problem(rows: int, columns: int) -> Problem:
    """A grid of rows x columns."""
    costs = np.random.default_rng(9).integers(0, 10, (rows, columns), np.int32)

    def expected() -> Arrays:
        total = costs[0]
        for row in costs[1:]:
            padded = np.pad(total, 1, constant_values=FAR)
            total = np.minimum(np.minimum(padded[:-2], total), padded[2:]) + row
        return {"ab"[cdiv(rows - 1, STEPS) % 2]: total}

    launches: list[Launch] = []
    for number, first in enumerate(range(1, rows, STEPS)):
        before, after = ("a", "b") if number % 2 == 0 else ("b", "a")
        arguments = ("costs", before, after, first, min(STEPS, rows - first))
        launches.append(Launch(path_steps, (cdiv(columns, INNER),), arguments, (*arguments, columns)))
    return Problem({"costs": costs, "a": costs[0].copy(), "b": np.zeros(columns, np.int32)}, launches, expected)


CLASSIC = Classic("pathfinder", SOURCE, problem, small=(48, 443), real=(204, 50_021))
