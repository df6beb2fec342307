#!/usr/bin/env python3
"""Heat in a plate, by Jacobi's method: a hundred launches of a kernel, captured once and replayed from then on.

    python examples/jacobi.py [SIDE] [--out FOLDER] [--device WORDS]

The captured function mixes launches with expressions: what it gives is the plate, and by how much the last step
changed it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pictures import heat, main, write_png

import ocl_runtime as ocl
from ocl_runtime.language import Array2, position

STEPS, REPLAYS = 100, 5


@ocl.kernel(over="after")
def relax(before: Array2, after: Array2):
    """Each inner point becomes the mean of its neighbours."""
    i, j = position()
    v = before[i, j]
    if 0 < i < before.shape[0] - 1 and 0 < j < before.shape[1] - 1:
        v = 0.25 * (before[i - 1, j] + before[i + 1, j] + before[i, j - 1] + before[i, j + 1])
    after[i, j] = v


@ocl.capture
def relaxed(plate):
    """The plate after a hundred steps, and the largest change of the last one."""
    before, after = plate + 0.0, ocl.empty(plate.shape, dtype=plate.dtype)
    for _ in range(STEPS):
        relax(before, after)
        before, after = after, before
    return before, ocl.max(ocl.abs(before - after))


def reference(plate: np.ndarray) -> np.ndarray:
    """A step in NumPy."""
    after = plate.copy()
    vertical = plate[:-2, 1:-1] + plate[2:, 1:-1]
    after[1:-1, 1:-1] = np.float32(0.25) * (vertical + plate[1:-1, :-2] + plate[1:-1, 2:])
    return after


def run(side: int, out: Path) -> None:
    """Heats two edges, and compares."""
    host = np.zeros((side, side + 7), np.float32)
    host[0, side // 4 : side // 2] = 1
    host[side // 3 :, -1] = 0.6
    plate = ocl.asarray(host)
    for _ in range(REPLAYS):
        plate, change = relaxed(plate)
    for _ in range(REPLAYS * STEPS):
        host = reference(host)
    np.testing.assert_array_equal(plate.numpy(), host)
    print(f"{REPLAYS * STEPS} steps: the same as NumPy's bit for bit; the last one changed {float(change):.1e} at most")
    write_png(out / "jacobi.png", heat(np.sqrt(host)))


if __name__ == "__main__":
    main(__doc__ or "", run, 300)
