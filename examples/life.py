#!/usr/bin/env python3
"""Conway's game of life on a torus: the smallest kernel that reads its neighbours, and two arrays by turns.

python examples/life.py [SIDE] [--out FOLDER] [--device WORDS]
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pictures import main, write_png

import ocl_runtime as ocl
from ocl_runtime.language import Array2, position, uint8

GENERATIONS = 200


@ocl.kernel(over="after")
def generation(before: Array2[np.uint8], after: Array2[np.uint8]):
    """Cells live with three neighbours, and go on living with two."""
    i, j = position()
    rows, columns = before.shape
    neighbours = 0
    for di in (-1, 0, 1):
        for dj in (-1, 0, 1):
            if di != 0 or dj != 0:
                neighbours += before[(i + di) % rows, (j + dj) % columns]
    lives = neighbours == 3 or (neighbours == 2 and before[i, j] == 1)
    after[i, j] = uint8(lives)


def reference(cells: np.ndarray) -> np.ndarray:
    """The next generation in NumPy."""
    steps = [(di, dj) for di in (-1, 0, 1) for dj in (-1, 0, 1) if (di, dj) != (0, 0)]
    neighbours = sum(np.roll(cells, step, (0, 1)) for step in steps)
    return ((neighbours == 3) | ((neighbours == 2) & (cells == 1))).astype(np.uint8)


def run(side: int, out: Path) -> None:
    """Lets a random soup live, and compares."""
    host = (np.random.default_rng(1).random((side, side + side // 3)) < 0.3).astype(np.uint8)
    before, after = ocl.asarray(host), ocl.empty(host.shape, dtype=np.uint8)
    for _ in range(GENERATIONS):
        generation(before, after)
        before, after = after, before
        host = reference(host)
    np.testing.assert_array_equal(before.numpy(), host)
    print(f"{GENERATIONS} generations: {int(ocl.sum(before))} of {host.size} cells live, as in NumPy")
    write_png(out / "life.png", before.numpy() * np.uint8(255))


if __name__ == "__main__":
    main(__doc__ or "", run, 500)
