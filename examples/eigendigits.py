#!/usr/bin/env python3
"""The principal components of handwritten digits: what they share, and each digit from a few of them.

    python examples/eigendigits.py [COMPONENTS] [--out FOLDER] [--device WORDS]

The components are the right singular vectors of the centred pixels (K. Pearson, 1901). The picture has the first ones,
some digits above what COMPONENTS of them keep of each, and all 1,797 digits in the plane of the first two, a colour for
each number. digits.py says where the digits are from.
"""

from __future__ import annotations

import colorsys
from pathlib import Path

import numpy as np
from digits import digits
from pictures import main, write_png

import ocl_runtime as ocl

SHOWN = 16
"""Digits and components in the picture."""
ZOOM = 5


def principal(pixels, count: int):
    """The mean digit, all singular values, and the first components, a row each."""
    mean = ocl.mean(pixels, axis=0)
    _, values, components = ocl.linalg.svd(pixels - mean, full_matrices=False)
    return mean, values, components[:count]


def run(count: int, out: Path) -> None:
    """Takes digits apart, puts them together again from some components, compares with NumPy, and draws."""
    host, labels = digits()
    count = min(count, host.shape[1])
    pixels = ocl.asarray(host)
    mean, values, components = principal(pixels, count)
    coordinates = (pixels - mean) @ components.T
    restored = coordinates @ components + mean

    centred = host.astype(np.float64) - host.mean(axis=0, dtype=np.float64)
    left, exact, right = np.linalg.svd(centred, full_matrices=False)
    expected = (left[:, :count] * exact[:count]) @ right[:count] + host.mean(axis=0, dtype=np.float64)
    apart = np.abs(restored.numpy() - expected).max()
    off = np.abs(values.numpy() - exact).max() / exact[0]
    kept = float(ocl.sum(values[:count] ** 2) / ocl.sum(values**2))
    print(
        f"{len(labels)} digits: {count} of {host.shape[1]} components keep {100 * kept:.1f}% of the variance;", end=" "
    )
    print(f"singular values within {off:.1e} of NumPy's in float64, digits within {apart:.1e}")
    assert off < 1e-5
    assert apart < 1e-3
    strips = [strip(components.numpy(), signed=True), strip(host), strip(restored.numpy())]
    top = np.repeat(np.concatenate(strips)[..., None], 3, axis=2)
    write_png(out / "eigendigits.png", np.concatenate([top, plane(coordinates[:, :2].numpy(), labels, top.shape[1])]))


def strip(rows: np.ndarray, *, signed: bool = False) -> np.ndarray:
    """The first digits side by side; what has signs is grey at 0."""
    shown = np.zeros((SHOWN, 64), np.float32)
    shown[: len(rows)] = rows[:SHOWN]
    if signed:
        shown = 0.5 + 0.5 * shown / np.abs(shown).max()
    tiles = np.pad(shown.reshape(SHOWN, 8, 8), ((0, 0), (1, 1), (1, 1)))
    return np.kron(np.concatenate([*tiles], axis=1), np.ones((ZOOM, ZOOM)))


def plane(points: np.ndarray, labels: np.ndarray, width: int) -> np.ndarray:
    """A dot for each point, in the colour of its number."""
    pixels = np.ones((width // 2, width, 3))
    points = np.pad(points, ((0, 0), (0, 2 - points.shape[1])))  # of one component, a line
    low, high = points.min(axis=0), points.max(axis=0)
    spread = np.where(high > low, high - low, 1)
    columns, rows = ((points - low) / spread * [width - 6, width // 2 - 6]).astype(int).T + 2
    for row, column, label in zip(rows, columns, labels, strict=True):
        pixels[row : row + 3, column : column + 3] = colorsys.hsv_to_rgb(label / 10, 0.9, 0.75)
    return pixels


if __name__ == "__main__":
    main(__doc__ or "", run, SHOWN)
