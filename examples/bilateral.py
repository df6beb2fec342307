#!/usr/bin/env python3
"""A bilateral filter: a mean of neighbours by their distance and by how alike they are, so that edges stay sharp.

    python examples/bilateral.py [HEIGHT] [--out FOLDER] [--device WORDS]

The radius is a constant: for each, the kernel is translated anew, with a halo of that size in local memory.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pictures import main, write_png

import ocl_runtime as ocl
from ocl_runtime.language import Array2, Constant, barrier, cdiv, clamp, exp, float32, group_id, local_array, local_id

TILE, RADIUS = 16, 3


@ocl.kernel(local=(TILE, TILE))
def bilateral(image: Array2, result: Array2, spatial, tonal, radius: Constant[int] = RADIUS):
    """A group filters a tile, whose neighbourhood it has in local memory."""
    side = TILE + 2 * radius
    part = local_array((side, side), float32)
    x, y = local_id(0), local_id(1)
    top, left = group_id(1) * TILE, group_id(0) * TILE
    rows, columns = image.shape
    for j in range(y, side, TILE):
        for i in range(x, side, TILE):
            row, column = clamp(top + j - radius, 0, rows - 1), clamp(left + i - radius, 0, columns - 1)
            part[j, i] = image[row, column]
    barrier()
    if top + y < rows and left + x < columns:
        own = part[y + radius, x + radius]
        total, weights = float32(0), float32(0)
        near, alike = -0.5 / (spatial * spatial), -0.5 / (tonal * tonal)  # of Python floats: the host computes them
        for j in range(2 * radius + 1):
            for i in range(2 * radius + 1):
                other = part[y + j, x + i]
                away = (j - radius) * (j - radius) + (i - radius) * (i - radius)
                weight = exp(away * float32(near) + (other - own) * (other - own) * alike)
                total += weight * other
                weights += weight
        result[top + y, left + x] = total / weights


def reference(image: np.ndarray, spatial: float, tonal: float) -> np.ndarray:
    """The filter in float64."""
    padded = np.pad(image.astype(np.float64), RADIUS, mode="edge")
    total, weights = np.zeros(image.shape), np.zeros(image.shape)
    for j, i in np.ndindex(2 * RADIUS + 1, 2 * RADIUS + 1):
        other = padded[j : j + image.shape[0], i : i + image.shape[1]]
        away = (j - RADIUS) ** 2 + (i - RADIUS) ** 2
        weight = np.exp(-0.5 * away / spatial**2 - 0.5 * ((other - image) / tonal) ** 2)
        total, weights = total + weight * other, weights + weight
    return total / weights


def run(height: int, out: Path) -> None:
    """Filters a noisy image, and compares."""
    down, right = np.mgrid[:height, : height * 5 // 4] / height
    clean = 0.25 + 0.5 * (np.hypot(down - 0.5, right - 0.6) < 0.35) + 0.15 * (right + down > 1.3)
    image = (clean + 0.06 * np.random.default_rng(6).standard_normal(clean.shape)).astype(np.float32)
    result = ocl.empty(image.shape)
    bilateral.groups[cdiv(image.shape[1], TILE), cdiv(height, TILE)](ocl.asarray(image), result, 2.0, 0.2)
    found = result.numpy()
    np.testing.assert_allclose(found, reference(image, 2.0, 0.2), atol=2e-6)
    noise = [float(np.abs(each - clean).mean()) for each in (image, found)]
    print(f"{image.shape[1]} x {height} pixels: the mean error went from {noise[0]:.3f} to {noise[1]:.3f}")
    write_png(out / "bilateral.png", np.concatenate([image, found], axis=1))


if __name__ == "__main__":
    main(__doc__ or "", run, 400)
