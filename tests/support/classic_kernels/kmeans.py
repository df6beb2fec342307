"""k-means: a step of Lloyd's: each point goes to the nearest centre, then each centre to the mean of its points."""

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
    group,
    group_id,
    local_array,
    local_id,
    local_size,
    private_array,
    unrolled,
)
from tests.support.classic_kernels.classic import Arrays, Classic, Launch, Problem

GROUP, CENTRES, FEATURES = 128, 11, 6


@ocl.kernel(local=GROUP)
def assign(points: Array2, centres: Array1, labels: Array1):
    """Features are rows: neighbouring work-items read neighbouring points."""
    near = local_array(CENTRES * FEATURES, float32)
    for k in range(local_id(0), centres.size, local_size(0)):
        near[k] = centres[k]
    barrier()
    i = global_id(0)
    if i < points.shape[1]:
        own = private_array(FEATURES, float32)
        for f in unrolled(range(FEATURES)):
            own[f] = points[f, i]
        label, least = 0, float("inf")
        for centre in range(CENTRES):
            distance = float32(0)
            for f in unrolled(range(FEATURES)):
                away = own[f] - near[centre * FEATURES + f]
                distance = fma(away, away, distance)
            if distance < least:
                label, least = centre, distance
        labels[i] = label


@ocl.kernel(local=GROUP)
def move(points: Array2, labels: Array1, centres: Array1):
    """A group for each centre."""
    centre = group_id(0)
    count = 0
    totals = private_array(FEATURES, float32)
    for f in unrolled(range(FEATURES)):
        totals[f] = 0
    for i in range(local_id(0), points.shape[1], local_size(0)):
        if labels[i] == centre:
            count += 1
            for f in unrolled(range(FEATURES)):
                totals[f] += points[f, i]
    count = group.sum(count)
    for f in unrolled(range(FEATURES)):
        total = group.sum(totals[f])
        if local_id(0) == 0 and count > 0:
            centres[centre * FEATURES + f] = total / count


SOURCE = """
#define GROUP 128
#define CENTRES 11
#define FEATURES 6

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void assign(__global const float *restrict points, __global const float *restrict centres,
            __global int *restrict labels, int n)
{
    __local float near[CENTRES * FEATURES];
    for (int k = get_local_id(0); k < CENTRES * FEATURES; k += GROUP)
        near[k] = centres[k];
    barrier(CLK_LOCAL_MEM_FENCE);
    int i = get_global_id(0);
    if (i < n) {
        float own[FEATURES], least = INFINITY;
        int label = 0;
        #pragma unroll
        for (int f = 0; f < FEATURES; f++)
            own[f] = points[f * n + i];
        for (int centre = 0; centre < CENTRES; centre++) {
            float distance_ = 0;
            #pragma unroll
            for (int f = 0; f < FEATURES; f++) {
                float away = own[f] - near[centre * FEATURES + f];
                distance_ = fma(away, away, distance_);
            }
            if (distance_ < least) {
                label = centre;
                least = distance_;
            }
        }
        labels[i] = label;
    }
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void move(__global const float *restrict points, __global const int *restrict labels, __global float *restrict centres,
          int n)
{
    __local float parts[GROUP];
    __local int counts[GROUP];
    int centre = get_group_id(0), lane = get_local_id(0), count = 0;
    float totals[FEATURES] = {0};
    for (int i = lane; i < n; i += GROUP)
        if (labels[i] == centre) {
            count++;
            #pragma unroll
            for (int f = 0; f < FEATURES; f++)
                totals[f] += points[f * n + i];
        }
    counts[lane] = count;
    for (int distance_ = GROUP / 2; distance_ > 0; distance_ /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < distance_)
            counts[lane] += counts[lane + distance_];
    }
    for (int f = 0; f < FEATURES; f++) {
        parts[lane] = totals[f];
        for (int distance_ = GROUP / 2; distance_ > 0; distance_ /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (lane < distance_)
                parts[lane] += parts[lane + distance_];
        }
        if (lane == 0 && counts[0] > 0)
            centres[centre * FEATURES + f] = parts[0] / counts[0];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
"""


def problem(n: int) -> Problem:
    """n points around as many places as there are centres."""
    rng = np.random.default_rng(12)
    places = rng.uniform(-4, 4, (CENTRES, FEATURES))
    scattered = places[rng.integers(0, CENTRES, n)] + rng.standard_normal((n, FEATURES))
    # Sixteenths: distances and sums are exact, so that ties and the order of sums do not matter.
    points = (np.round(scattered * 16) / 16).astype(np.float32).T.copy()
    centres = points[:, rng.integers(0, n, CENTRES)].T.ravel()

    def expected() -> Arrays:
        distances = [((points - centre[:, None]) ** 2).sum(0) for centre in centres.reshape(CENTRES, FEATURES)]
        labels = np.argmin(distances, axis=0).astype(np.int32)
        moved = [points[:, labels == k].mean(1, dtype=np.float64) for k in range(CENTRES)]
        return {"labels": labels, "centres": np.ravel(moved)}

    move_, assign_ = ("points", "labels", "centres"), ("points", "centres", "labels")
    return Problem(
        {"points": points, "centres": centres, "labels": np.zeros(n, np.int32)},
        [
            Launch(assign, (cdiv(n, GROUP),), assign_, (*assign_, n)),
            Launch(move, (CENTRES,), move_, (*move_, n)),
        ],
        expected,
        rtol=2**-24,  # of the quotient; labels are integers below 2**24
        rtol_by_hand=2.5 * 2**-23,  # OpenCL C divides within 2.5 ulp
    )


CLASSIC = Classic("k-means", SOURCE, problem, small=(1003,), real=(200_003,))
