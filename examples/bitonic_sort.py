#!/usr/bin/env python3
"""Bitonic sort of any number of floats: what is near each other is compared in local memory, the rest in the array.

    python examples/bitonic_sort.py [COUNT] [--device WORDS]

A network of comparisons that does not depend on the data. All steps within a block of 1024 are one launch.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from pictures import main

import ocl_runtime as ocl
from ocl_runtime.language import Array1, Constant, barrier, float32, global_id, group_id, local_array, local_id

GROUP = 256
BLOCK = 4 * GROUP


def lower_of(pair, distance):
    """The lower index of a pair of elements that are so far apart."""
    return pair // distance * 2 * distance + pair % distance


@ocl.kernel(local=GROUP)
def compare_far(x: Array1, run, distance):
    """Elements of a run are compared with those at a distance: upwards in even runs, downwards in odd ones."""
    low = lower_of(global_id(0), distance)
    a, b = x[low], x[low + distance]
    if (a > b) == (low // run % 2 == 0):
        x[low], x[low + distance] = b, a


@ocl.kernel(local=GROUP)
def sort_block(x: Array1, first_run, last_run, block: Constant[int] = BLOCK):
    """All steps of runs from the first to the last that stay within a block."""
    part = local_array(block, float32)
    start, lane = group_id(0) * block, local_id(0)
    for k in range(lane, block, GROUP):
        part[k] = x[start + k]
    run = first_run
    while run <= last_run:
        distance = min(run, block) // 2
        while distance > 0:
            barrier()
            for pair in range(lane, block // 2, GROUP):
                low = lower_of(pair, distance)
                a, b = part[low], part[low + distance]
                if (a > b) == ((start + low) // run % 2 == 0):
                    part[low], part[low + distance] = b, a
            distance //= 2
        run *= 2
    barrier()
    for k in range(lane, block, GROUP):
        x[start + k] = part[k]


def bitonic_sort(x: ocl.Array) -> ocl.Array:
    """The elements in ascending order."""
    size = max(BLOCK, 2 ** math.ceil(math.log2(x.size)))
    padded = ocl.concat([x, ocl.full(size - x.size, math.inf, dtype=np.float32)])
    blocks, run = size // BLOCK, 2 * BLOCK
    sort_block.groups[blocks](padded, 2, BLOCK)
    while run <= size:
        distance = run // 2
        while distance >= BLOCK:
            compare_far[size // 2](padded, run, distance)
            distance //= 2
        sort_block.groups[blocks](padded, run, run)
        run *= 2
    return padded[: x.size]


def run(count: int, _: Path) -> None:
    """Sorts, and compares."""
    host = np.random.default_rng(3).standard_normal(count).astype(np.float32)
    np.testing.assert_array_equal(bitonic_sort(ocl.asarray(host)).numpy(), np.sort(host))
    print(f"{count} floats in order, as by NumPy")


if __name__ == "__main__":
    main(__doc__ or "", run, 1_000_003)
