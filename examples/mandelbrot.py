#!/usr/bin/env python3
"""The Mandelbrot set: a function of numbers, with a loop in it, as an operation of arrays.

    python examples/mandelbrot.py [HEIGHT] [--out FOLDER] [--device WORDS]

`@ocl.elementwise` broadcasts a row of real parts with a column of imaginary ones, and what is done with the result
becomes a part of the same kernel. Nothing is contracted, so every turn has the bits that NumPy's has.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pictures import heat, main, write_png

import ocl_runtime as ocl

TURNS = 200


@ocl.elementwise
def escape_time(re, im, turns):
    """After how many turns the point is outside, where it is."""
    x, y, count = re, im, 0
    while count < turns and x * x + y * y <= 4:
        x, y = x * x - y * y + re, 2 * x * y + im
        count += 1
    return count


def reference(re: np.ndarray, im: np.ndarray) -> np.ndarray:
    """The same in NumPy, for all points at once."""
    re, im = np.broadcast_arrays(re, im)
    x, y, counts = re.copy(), im.copy(), np.zeros(re.shape, np.int32)
    for _ in range(TURNS):
        inside = x * x + y * y <= 4
        counts += inside
        x[inside], y[inside] = (
            (x * x - y * y + re)[inside],
            (2 * x * y + im)[inside],
        )
    return counts


def run(height: int, out: Path) -> None:
    """Computes the set, and compares."""
    re = np.linspace(-2.2, 0.8, height * 5 // 4, dtype=np.float32)
    im = np.linspace(-1.2, 1.2, height, dtype=np.float32)[:, None]
    counts = escape_time(ocl.asarray(re), ocl.asarray(im), TURNS)
    shade = 1 - (ocl.astype(counts, ocl.float32) / TURNS) ** 0.3
    np.testing.assert_array_equal(counts.numpy(), reference(re, im))
    print(f"{height * 5 // 4} x {height} points, up to {TURNS} turns: the same as NumPy's")
    write_png(out / "mandelbrot.png", heat(1 - shade.numpy()))


if __name__ == "__main__":
    main(__doc__ or "", run, 480)
