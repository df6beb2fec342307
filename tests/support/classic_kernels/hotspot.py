"""hotspot: the heat of a chip, several steps a launch: of a tile with a halo, each step spoils the outermost ring."""

from __future__ import annotations

import numpy as np

import ocl_runtime as ocl
from ocl_runtime.language import Array2, barrier, cdiv, float32, fma, group_id, local_array, local_id
from tests.support.classic_kernels.classic import Arrays, Classic, Launch, Problem

WIDTH, HEIGHT, STEPS = 32, 16, 3
INNER_WIDTH, INNER_HEIGHT = WIDTH - 2 * STEPS, HEIGHT - 2 * STEPS
AMBIENT = 80.0


@ocl.kernel(local=(WIDTH, HEIGHT))
def heat_steps(before: Array2, power: Array2, after: Array2, across: float32, down: float32, loss: float32):
    heat = local_array((HEIGHT, WIDTH), float32)
    x, y = local_id(0), local_id(1)
    row = group_id(1) * INNER_HEIGHT + y - STEPS
    column = group_id(0) * INNER_WIDTH + x - STEPS
    rows, columns = before.shape
    on_chip = 0 <= row < rows and 0 <= column < columns
    own, source = float32(0), float32(0)
    if on_chip:
        own, source = before[row, column], power[row, column]
    for _ in range(STEPS):
        heat[y, x] = own
        barrier()
        if on_chip and 0 < x < WIDTH - 1 and 0 < y < HEIGHT - 1:
            west = heat[y, x - 1] if column > 0 else own
            east = heat[y, x + 1] if column < columns - 1 else own
            north = heat[y - 1, x] if row > 0 else own
            south = heat[y + 1, x] if row < rows - 1 else own
            flow = fma(across, fma(-2.0, own, west + east), down * fma(-2.0, own, north + south))
            flow = fma(loss, AMBIENT - own, flow)
            own = own + flow + source
        barrier()
    if on_chip and STEPS <= x < WIDTH - STEPS and STEPS <= y < HEIGHT - STEPS:
        after[row, column] = own


SOURCE = """
#define WIDTH 32
#define HEIGHT 16
#define STEPS 3
#define AMBIENT 80.0f

__kernel __attribute__((reqd_work_group_size(WIDTH, HEIGHT, 1)))
void heat_steps(__global const float *restrict before, __global const float *restrict power,
                __global float *restrict after, float across, float down, float loss, int rows, int columns)
{
    __local float heat[HEIGHT][WIDTH];
    int x = get_local_id(0), y = get_local_id(1);
    int row = (int)get_group_id(1) * (HEIGHT - 2 * STEPS) + y - STEPS;
    int column = (int)get_group_id(0) * (WIDTH - 2 * STEPS) + x - STEPS;
    int on_chip = 0 <= row && row < rows && 0 <= column && column < columns;
    float own = 0, source = 0;
    if (on_chip) {
        own = before[row * columns + column];
        source = power[row * columns + column];
    }
    for (int step = 0; step < STEPS; step++) {
        heat[y][x] = own;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (on_chip && 0 < x && x < WIDTH - 1 && 0 < y && y < HEIGHT - 1) {
            float west = column > 0 ? heat[y][x - 1] : own;
            float east = column < columns - 1 ? heat[y][x + 1] : own;
            float north = row > 0 ? heat[y - 1][x] : own;
            float south = row < rows - 1 ? heat[y + 1][x] : own;
            float flow = across * (west + east - 2 * own) + down * (north + south - 2 * own)
                + loss * (AMBIENT - own);
            own = own + flow + source;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (on_chip && STEPS <= x && x < WIDTH - STEPS && STEPS <= y && y < HEIGHT - STEPS)
        after[row * columns + column] = own;
}
"""


def problem(rows: int, columns: int, steps: int) -> Problem:
    """A chip of rows x columns cells over some steps, a multiple of those of a launch."""
    rng = np.random.default_rng(4)
    heat = rng.uniform(320, 340, (rows, columns)).astype(np.float32)
    power = rng.uniform(0, 0.5, (rows, columns)).astype(np.float32)
    across, down, loss = np.float32(0.12), np.float32(0.17), np.float32(0.002)

    def expected() -> Arrays:
        now = heat
        for _ in range(steps):
            padded = np.pad(now, 1, mode="edge")
            west_east = padded[1:-1, :-2] + padded[1:-1, 2:] - 2 * now
            north_south = padded[:-2, 1:-1] + padded[2:, 1:-1] - 2 * now
            now = now + (across * west_east + down * north_south + loss * (np.float32(AMBIENT) - now)) + power
        return {"b" if steps // STEPS % 2 else "a": now}

    groups = cdiv(columns, INNER_WIDTH), cdiv(rows, INNER_HEIGHT)
    launches: list[Launch] = []
    for number in range(steps // STEPS):
        before, after = ("a", "b") if number % 2 == 0 else ("b", "a")
        arguments = (before, "power", after, across, down, loss)
        launches.append(Launch(heat_steps, groups, arguments, (*arguments, rows, columns)))
    # A step rounds half a dozen times, each by half a unit in the last place at most.
    return Problem({"a": heat, "b": np.zeros_like(heat), "power": power}, launches, expected, rtol=6 * steps * 2**-24)


CLASSIC = Classic("hotspot", SOURCE, problem, small=(23, 61, 6), real=(1013, 1021, 12))
