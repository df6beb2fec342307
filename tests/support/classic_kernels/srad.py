"""SRAD: takes speckle out of an image: how strong that is, how much each pixel gives to its neighbours, and giving."""

from __future__ import annotations

import numpy as np

import ocl_runtime as ocl
from ocl_runtime.language import (
    Array1,
    Array2,
    cdiv,
    clamp,
    float32,
    global_id,
    group,
    group_id,
    local_id,
    local_size,
    num_groups,
)
from tests.support.classic_kernels.classic import Arrays, Classic, Launch, Problem

GROUP, GROUPS, TILE = 128, 16, 16


@ocl.kernel(local=GROUP)
def partial_moments(image: Array2, sums: Array1, squares: Array1):
    total, square = float32(0), float32(0)
    for row in range(group_id(0), image.shape[0], num_groups(0)):
        for column in range(local_id(0), image.shape[1], local_size(0)):
            pixel = image[row, column]
            total += pixel
            square += pixel * pixel
    total, square = group.sum(total), group.sum(square)
    if local_id(0) == 0:
        sums[group_id(0)] = total
        squares[group_id(0)] = square


@ocl.kernel(local=GROUPS)
def speckle(sums: Array1, squares: Array1, strength: Array1, count):
    mean = group.sum(sums[local_id(0)]) / count
    variance = group.sum(squares[local_id(0)]) / count - mean * mean
    if local_id(0) == 0:
        strength[0] = variance / (mean * mean)


def differences(image, row, column):
    """To the neighbours above, below, to the left and to the right; there are none across an edge."""
    own = image[row, column]
    return (
        image[max(row - 1, 0), column] - own,
        image[min(row + 1, image.shape[0] - 1), column] - own,
        image[row, max(column - 1, 0)] - own,
        image[row, min(column + 1, image.shape[1] - 1)] - own,
    )


@ocl.kernel(local=(TILE, TILE))
def coefficients(image: Array2, strength: Array1, share: Array2):
    column, row = global_id(0), global_id(1)
    if row < image.shape[0] and column < image.shape[1]:
        north, south, west, east = differences(image, row, column)
        own = image[row, column]
        gradient = (north * north + south * south + west * west + east * east) / (own * own)
        laplacian = (north + south + west + east) / own
        slope = 1 + 0.25 * laplacian
        q = (0.5 * gradient - 0.0625 * laplacian * laplacian) / (slope * slope)
        q0 = strength[0]
        share[row, column] = clamp(1 / (1 + (q - q0) / (q0 * (1 + q0))), 0, 1)


@ocl.kernel(local=(TILE, TILE))
def diffuse(image: Array2, share: Array2, result: Array2, step: float32):
    column, row = global_id(0), global_id(1)
    if row < image.shape[0] and column < image.shape[1]:
        north, south, west, east = differences(image, row, column)
        own = share[row, column]
        below = share[min(row + 1, image.shape[0] - 1), column]
        right = share[row, min(column + 1, image.shape[1] - 1)]
        flow = own * north + below * south + own * west + right * east
        result[row, column] = image[row, column] + step * flow


SOURCE = """
#define GROUP 128
#define GROUPS 16
#define TILE 16

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void partial_moments(__global const float *restrict image, __global float *restrict sums,
                     __global float *restrict squares, int rows, int columns)
{
    __local float totals[GROUP], square_totals[GROUP];
    int lane = get_local_id(0);
    float total = 0, square = 0;
    for (int row = get_group_id(0); row < rows; row += get_num_groups(0))
        for (int column = lane; column < columns; column += GROUP) {
            float pixel = image[row * columns + column];
            total += pixel;
            square += pixel * pixel;
        }
    totals[lane] = total;
    square_totals[lane] = square;
    for (int distance = GROUP / 2; distance > 0; distance /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < distance) {
            totals[lane] += totals[lane + distance];
            square_totals[lane] += square_totals[lane + distance];
        }
    }
    if (lane == 0) {
        sums[get_group_id(0)] = totals[0];
        squares[get_group_id(0)] = square_totals[0];
    }
}

__kernel __attribute__((reqd_work_group_size(GROUPS, 1, 1)))
void speckle(__global const float *restrict sums, __global const float *restrict squares,
             __global float *restrict strength, int count)
{
    __local float totals[GROUPS], square_totals[GROUPS];
    int lane = get_local_id(0);
    totals[lane] = sums[lane];
    square_totals[lane] = squares[lane];
    for (int distance = GROUPS / 2; distance > 0; distance /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < distance) {
            totals[lane] += totals[lane + distance];
            square_totals[lane] += square_totals[lane + distance];
        }
    }
    if (lane == 0) {
        float mean = totals[0] / count, variance = square_totals[0] / count - mean * mean;
        strength[0] = variance / (mean * mean);
    }
}

float4 differences(__global const float *image, int row, int column, int rows, int columns)
{
    float own = image[row * columns + column];
    return (float4)(image[max(row - 1, 0) * columns + column] - own,
                    image[min(row + 1, rows - 1) * columns + column] - own,
                    image[row * columns + max(column - 1, 0)] - own,
                    image[row * columns + min(column + 1, columns - 1)] - own);
}

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void coefficients(__global const float *restrict image, __global const float *restrict strength,
                  __global float *restrict share, int rows, int columns)
{
    int column = get_global_id(0), row = get_global_id(1);
    if (row < rows && column < columns) {
        float4 d = differences(image, row, column, rows, columns);
        float own = image[row * columns + column];
        float gradient = (d.x * d.x + d.y * d.y + d.z * d.z + d.w * d.w) / (own * own);
        float laplacian = (d.x + d.y + d.z + d.w) / own;
        float slope = 1 + 0.25f * laplacian;
        float q = (0.5f * gradient - 0.0625f * laplacian * laplacian) / (slope * slope);
        float q0 = strength[0];
        share[row * columns + column] = clamp(1 / (1 + (q - q0) / (q0 * (1 + q0))), 0.0f, 1.0f);
    }
}

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void diffuse(__global const float *restrict image, __global const float *restrict share,
             __global float *restrict result, float step, int rows, int columns)
{
    int column = get_global_id(0), row = get_global_id(1);
    if (row < rows && column < columns) {
        float4 d = differences(image, row, column, rows, columns);
        float own = share[row * columns + column];
        float below = share[min(row + 1, rows - 1) * columns + column];
        float right = share[row * columns + min(column + 1, columns - 1)];
        float flow = own * d.x + below * d.y + own * d.z + right * d.w;
        result[row * columns + column] = image[row * columns + column] + step * flow;
    }
}
"""


def problem(rows: int, columns: int, steps: int) -> Problem:
    """An image of rows x columns with speckle, and an even number of steps."""
    rng = np.random.default_rng(11)
    down, across = np.mgrid[:rows, :columns]
    clean = 1 + 0.5 * np.hypot(down - rows / 2, across - columns / 2) / max(rows, columns)
    image = (clean * rng.uniform(0.8, 1.2, (rows, columns))).astype(np.float32)
    step = np.float32(0.125)

    def expected() -> Arrays:
        now = image.astype(np.float64)
        for _ in range(steps):
            q0 = now.var() / now.mean() ** 2
            around = np.pad(now, 1, mode="edge")
            sides = around[:-2, 1:-1], around[2:, 1:-1], around[1:-1, :-2], around[1:-1, 2:]
            north, south, west, east = (side - now for side in sides)
            gradient = (north**2 + south**2 + west**2 + east**2) / now**2
            laplacian = (north + south + west + east) / now
            q = (gradient / 2 - laplacian**2 / 16) / (1 + laplacian / 4) ** 2
            share = np.clip(1 / (1 + (q - q0) / (q0 * (1 + q0))), 0, 1)
            beside = np.pad(share, ((0, 1), (0, 1)), mode="edge")
            now = now + step * (share * (north + west) + beside[1:, :-1] * south + beside[:-1, 1:] * east)
        return {"image": now}

    tiles = cdiv(columns, TILE), cdiv(rows, TILE)
    launches: list[Launch] = []
    for number in range(steps):
        image_, result = ("image", "other") if number % 2 == 0 else ("other", "image")
        parts, strength = ("sums", "squares"), ("sums", "squares", "strength", rows * columns)
        launches += [
            Launch(partial_moments, (GROUPS,), (image_, *parts), (image_, *parts, rows, columns)),
            Launch(speckle, (1,), strength, strength),
            Launch(coefficients, tiles, (image_, "strength", "share"), (image_, "strength", "share", rows, columns)),
            Launch(diffuse, tiles, (image_, "share", result, step), (image_, "share", result, step, rows, columns)),
        ]
    partial = np.zeros(GROUPS, np.float32)
    arrays = {
        "image": image,
        "other": np.zeros_like(image),
        "share": np.zeros_like(image),
        "sums": partial,
        "squares": partial,
        "strength": partial[:1],
    }
    # Sums of thousands of positive terms, then a variance as the difference of two that are thirty times as large.
    return Problem(arrays, launches, expected, rtol=1e-5)


CLASSIC = Classic("SRAD", SOURCE, problem, small=(37, 45, 2), real=(1013, 1019, 4))
