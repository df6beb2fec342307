"""A histogram: each group counts in local memory by atomics, and then adds its counts to those of all."""

from __future__ import annotations

import numpy as np

import ocl_runtime as ocl
from ocl_runtime.language import (
    Array1,
    atomic_add,
    barrier,
    float32,
    global_id,
    global_size,
    local_array,
    local_id,
    local_size,
    uint32,
)
from tests.support.classic_kernels.classic import Arrays, Classic, Launch, Problem

GROUP, BINS = 128, 192


@ocl.kernel(local=GROUP)
def histogram(x: Array1, counts: Array1, low: float32, high: float32, scale: float32):
    part = local_array(BINS, uint32)
    for b in range(local_id(0), BINS, local_size(0)):
        part[b] = 0
    barrier()
    for i in range(global_id(0), x.size, global_size(0)):
        v = x[i]
        if low <= v < high:
            atomic_add(part, min(int((v - low) * scale), BINS - 1), 1)
    barrier()
    for b in range(local_id(0), BINS, local_size(0)):
        if part[b] > 0:
            atomic_add(counts, b, part[b])


SOURCE = """
#define GROUP 128
#define BINS 192

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void histogram(__global const float *restrict x, __global uint *restrict counts, float low, float high, float scale,
               int n)
{
    __local uint part[BINS];
    for (int b = get_local_id(0); b < BINS; b += GROUP)
        part[b] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) {
        float v = x[i];
        if (low <= v && v < high)
            atomic_add(&part[min((int)((v - low) * scale), BINS - 1)], 1);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int b = get_local_id(0); b < BINS; b += GROUP)
        if (part[b] > 0)
            atomic_add(&counts[b], part[b]);
}
"""


def problem(n: int, groups: int) -> Problem:
    """n normal deviates, of which a few are outside."""
    x = np.random.default_rng(5).standard_normal(n).astype(np.float32)
    low, high = np.float32(-2.5), np.float32(3)
    scale = np.float32(BINS) / (high - low)

    def expected() -> Arrays:
        inside = x[(low <= x) & (x < high)]
        bins = np.minimum(((inside - low) * scale).astype(np.int32), BINS - 1)
        return {"counts": np.bincount(bins, minlength=BINS).astype(np.uint32)}

    arguments = ("x", "counts", low, high, scale)
    return Problem(
        {"x": x, "counts": np.zeros(BINS, np.uint32)},
        [Launch(histogram, (groups,), arguments, (*arguments, n))],
        expected,
    )


CLASSIC = Classic("histogram", SOURCE, problem, small=(1999, 3), real=(4_000_037, 64))
