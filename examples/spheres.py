#!/usr/bin/env python3
"""Spheres that melt into each other over a floor, by marching rays through a field of distances.

    python examples/spheres.py [HEIGHT] [--out FOLDER] [--device WORDS]

The scene is a tuple of named tuples: its numbers are arguments of the launch, its length is a constant, so the loop
over it is written out. The same functions make the picture in NumPy, where they take whole images for numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from pictures import main, write_png

import ocl_runtime as ocl
from ocl_runtime.language import Array3, clamp, float32, fmin, global_id, maximum, minimum, sqrt

STEPS, FAR, NEAR = 96, 12.0, 1e-3
LIGHT = (0.48, 0.64, -0.6)


class Sphere(NamedTuple):
    """Its centre and radius."""

    x: float
    y: float
    z: float
    radius: float


SCENE = (
    Sphere(-0.9, 0.1, 0.3, 0.7),
    Sphere(0.25, -0.2, 0.0, 0.6),
    Sphere(1.2, 0.3, 0.8, 0.8),
    Sphere(0.3, 0.8, 0.6, 0.4),
)


def smooth_minimum(a, b):
    """The smaller of two distances, without an edge where they meet."""
    between = maximum(0.4 - abs(a - b), 0) / 0.4
    return minimum(a, b) - between * between * 0.1


def distance(x, y, z, scene):
    """From a point to the nearest surface."""
    nearest = x * 0 + FAR
    for ball in scene:
        dx, dy, dz = x - ball.x, y - ball.y, z - ball.z
        nearest = smooth_minimum(nearest, sqrt(dx * dx + dy * dy + dz * dz) - ball.radius)
    return minimum(nearest, y + 0.8)


def shade(x, y, z, scene):
    """How bright the surface is at a point, by the angle of its normal to the light and by what stands in the light."""
    here = distance(x, y, z, scene)
    nx = distance(x + NEAR, y, z, scene) - here
    ny = distance(x, y + NEAR, z, scene) - here
    nz = distance(x, y, z + NEAR, scene) - here
    length = sqrt(nx * nx + ny * ny + nz * nz) + 1e-9
    light = maximum((nx * LIGHT[0] + ny * LIGHT[1] + nz * LIGHT[2]) / length, 0)
    lit = x * 0 + 1
    for k in range(1, 16):
        far = 0.1 * k
        free = distance(x + far * LIGHT[0], y + far * LIGHT[1], z + far * LIGHT[2], scene)
        lit = minimum(lit, clamp(8 * free / far, 0, 1))
    return 0.12 + 0.88 * light * lit


@ocl.kernel(local=(16, 8))
def render(picture: Array3, scene):
    """A ray for each pixel."""
    column, row = global_id(0), global_id(1)
    height, width = picture.shape[0], picture.shape[1]
    if row < height and column < width:
        u = (float32(column) + 0.5 - 0.5 * float32(width)) / float32(height)
        v = 0.5 - (float32(row) + 0.5) / float32(height)
        norm = sqrt(u * u + v * v + 1.69)
        dx, dy, dz = u / norm, v / norm, 1.3 / norm
        travelled = float32(0)
        for _ in range(STEPS):
            step = distance(travelled * dx, 0.3 + travelled * dy, travelled * dz - 4, scene)
            if step < NEAR or travelled > FAR:
                break
            travelled += step
        brightness = float32(0.75) + 0.25 * v
        if travelled < FAR:
            brightness = shade(travelled * dx, 0.3 + travelled * dy, travelled * dz - 4, scene)
        for channel in (0, 1, 2):
            picture[row, column, channel] = fmin(brightness * (1.0, 0.93, 0.82)[channel], 1)


def reference(height: int, width: int, scene: tuple[Sphere, ...]) -> np.ndarray:
    """The brightness in NumPy."""
    f = np.float32
    u = (np.arange(width, dtype=f) + f(0.5) - f(0.5) * f(width)) / f(height) + np.zeros((height, 1), f)
    v = f(0.5) - (np.arange(height, dtype=f)[:, None] + f(0.5)) / f(height) + np.zeros((1, width), f)
    norm = np.sqrt(u * u + v * v + f(1.69))
    dx, dy, dz = u / norm, v / norm, f(1.3) / norm
    travelled, moves = np.zeros_like(u), np.ones(u.shape, bool)
    for _ in range(STEPS):
        step = distance(travelled * dx, f(0.3) + travelled * dy, travelled * dz - 4, scene)
        moves &= (step >= NEAR) & (travelled <= FAR)
        travelled += np.where(moves, step, 0)
    surface = shade(travelled * dx, f(0.3) + travelled * dy, travelled * dz - 4, scene)
    return np.where(travelled < FAR, surface, f(0.75) + f(0.25) * v)


def run(height: int, out: Path) -> None:
    """Renders the scene, and compares."""
    width = height * 8 // 5
    picture = ocl.empty((height, width, 3))
    render[-(-width // 16) * 16, -(-height // 8) * 8](picture, SCENE)
    found = picture.numpy()
    with np.errstate(all="ignore"):
        wanted = np.minimum(reference(height, width, SCENE), 1)
    differ = float(np.mean(np.abs(found[..., 0] - wanted) > 2 / 255))  # on silhouettes, a ray just meets or just passes
    assert differ < 0.01, f"{differ:.2%} of the pixels differ from NumPy's"
    print(f"{width} x {height} pixels, {differ:.2%} of them not as NumPy's")
    write_png(out / "spheres.png", found)


if __name__ == "__main__":
    main(__doc__ or "", run, 300)
