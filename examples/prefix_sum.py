#!/usr/bin/env python3
"""Running sums of any length: each group scans a block, the totals of the blocks are scanned in turn, and added.

python examples/prefix_sum.py [COUNT] [--device WORDS]
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pictures import main

import ocl_runtime as ocl
from ocl_runtime.language import Array1, cdiv, group, group_id, int32, local_id, private_array, unrolled

GROUP, EACH = 128, 8
BLOCK = GROUP * EACH


@ocl.kernel(local=GROUP)
def scan_blocks(x: Array1[np.int32], sums: Array1[np.int32], totals: Array1[np.int32]):
    """A work-item adds up neighbouring elements, and the group scans what they come to."""
    first = (group_id(0) * GROUP + local_id(0)) * EACH
    own = private_array(EACH, int32)
    total = int32(0)
    for k in unrolled(range(EACH)):
        if first + k < x.size:
            total += x[first + k]
        own[k] = total
    before = group.exclusive_scan(total)
    for k in unrolled(range(EACH)):
        if first + k < x.size:
            sums[first + k] = before + own[k]
    if local_id(0) == GROUP - 1:
        totals[group_id(0)] = before + total


@ocl.kernel(local=GROUP)
def add_totals(sums: Array1[np.int32], totals: Array1[np.int32]):
    """All blocks but the first get what is before them."""
    before = totals[group_id(0)]
    first = (group_id(0) + 1) * BLOCK
    for i in range(first + local_id(0), min(first + BLOCK, sums.size), GROUP):
        sums[i] += before


def prefix_sum(x: ocl.Array) -> ocl.Array:
    """Each element and all before it, added up."""
    blocks = cdiv(x.size, BLOCK)
    sums, totals = ocl.empty(x.size, dtype=np.int32), ocl.empty(blocks, dtype=np.int32)
    scan_blocks.groups[blocks](x, sums, totals)
    if blocks > 1:
        add_totals.groups[blocks - 1](sums, prefix_sum(totals))
    return sums


def run(count: int, _: Path) -> None:
    """Adds up, and compares."""
    host = np.random.default_rng(5).integers(-50, 50, count, np.int32)
    np.testing.assert_array_equal(prefix_sum(ocl.asarray(host)).numpy(), np.cumsum(host, dtype=np.int32))
    print(f"running sums of {count} integers, as by NumPy")


if __name__ == "__main__":
    main(__doc__ or "", run, 3_000_017)
