"""Small programs in which arithmetic counts: Mandelbrot's set, a step of k-means, attraction of bodies, a product."""

from __future__ import annotations

from typing import Any

import numpy as np

from ocl_runtime.commands.bench.case import Arrays, Case, square
from ocl_runtime.commands.bench.data import Data

ITERATIONS, CENTRES = 50, 16


def mandelbrot(xp: Any, x: Any, y: Any) -> Any:
    """How many iterations each point of the plane stays inside."""
    real, imaginary, count = x, y, x * 0
    for _ in range(ITERATIONS):
        inside = real * real + imaginary * imaginary < 4
        count = xp.where(inside, count + 1, count)
        real, imaginary = (
            xp.where(inside, real * real - imaginary * imaginary + x, real),
            xp.where(inside, 2 * real * imaginary + y, imaginary),
        )
    return count


def k_means_step(xp: Any, points: Any, centres: Any, numbers: Any) -> tuple[Any, Any]:
    """The nearest centre of each point, and the mean of the points of each centre."""
    distances = xp.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=2)
    labels = xp.argmin(distances, axis=1)
    members = labels[:, None] == numbers[None, :]
    weights = xp.where(members, numbers[None, :] * 0 + 1.0, numbers[None, :] * 0.0)
    sums = xp.sum(weights[:, :, None] * points[:, None, :], axis=0)
    return sums / xp.sum(weights, axis=0)[:, None], labels


def n_body(xp: Any, x: Any, y: Any, z: Any, mass: Any) -> tuple[Any, Any, Any]:
    """What each body is accelerated by all others."""
    right, up, near = x[None, :] - x[:, None], y[None, :] - y[:, None], z[None, :] - z[:, None]
    distance = right * right + up * up + near * near + 0.01
    pull = mass[None, :] / (distance * xp.sqrt(distance))
    return xp.sum(right * pull, axis=1), xp.sum(up * pull, axis=1), xp.sum(near * pull, axis=1)


def _plane(data: Data, n: int, dtype: np.dtype[Any]) -> Arrays:
    return data.real(dtype, n, low=-2.0, high=0.6), data.real(dtype, n, low=-1.2, high=1.2)


def _points(data: Data, n: int, dtype: np.dtype[Any]) -> Arrays:
    numbers = np.arange(CENTRES, dtype=dtype)
    return data.real(dtype, max(CENTRES, n // 4), 4), data.real(dtype, CENTRES, 4), numbers


def _bodies(data: Data, n: int, dtype: np.dtype[Any]) -> Arrays:
    return tuple(data.real(dtype, square(n), low=0.1) for _ in range(4))


CASES = (
    Case(
        "mandelbrot",
        f"Mandelbrot, {ITERATIONS} iterations",
        mandelbrot,
        _plane,
        ("f32", "f64"),
        gpu=24,
        cpu=21,
        operations=10 * ITERATIONS,
        slabs=True,
        exact=True,
        strays=0.005,
        compiled=True,
    ),
    Case(
        "k-means",
        f"k-means step, {CENTRES} centres",
        k_means_step,
        _points,
        ("f32", "f64"),
        gpu=24,
        cpu=21,
        operations=3 * CENTRES * 2,
        strays=0.001,
        compiled=True,
    ),
    Case(
        "n-body",
        "n-body, all pairs",
        n_body,
        _bodies,
        ("f32", "f64"),
        operations=lambda inputs: 20.0 * inputs[0].size ** 2,
        compiled=True,
    ),
    Case(
        "product",
        "a @ b",
        lambda _, a, b: a @ b,
        lambda data, n, dtype: (data.real(dtype, square(n), square(n)), data.real(dtype, square(n), square(n))),
        ("f32", "f64", "f16"),
        gpu=24,
        cpu=21,
        operations=lambda inputs: 2.0 * inputs[0].size ** 1.5,
    ),
)
