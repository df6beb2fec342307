"""Twenty programs of NumPy, most of them with a Python loop, and inputs for them.

Each takes the module that computes: NumPy, `ocl_runtime.numpy` or CuPy. `tests/bench/loops.py` measures them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy

Results = tuple[Any, ...]


def stencil_1d(np: Any, x: Any, steps: int) -> Any:
    x = np.array(x)
    y = np.array(x)
    for _ in range(steps):
        y[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 3
        x[1:-1] = (y[:-2] + y[1:-1] + y[2:]) / 3
    return x


def stencil_2d(np: Any, x: Any, steps: int) -> Any:
    x = np.array(x)
    y = np.array(x)
    for _ in range(steps):
        y[1:-1, 1:-1] = 0.2 * (x[1:-1, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + x[2:, 1:-1] + x[:-2, 1:-1])
        x[1:-1, 1:-1] = 0.2 * (y[1:-1, 1:-1] + y[1:-1, :-2] + y[1:-1, 2:] + y[2:, 1:-1] + y[:-2, 1:-1])
    return x


def stencil_3d(np: Any, u: Any, steps: int) -> Any:
    """The heat equation, in place."""
    u = np.array(u)
    for _ in range(steps):
        centre = u[1:-1, 1:-1, 1:-1]
        u[1:-1, 1:-1, 1:-1] = (
            0.125 * (u[2:, 1:-1, 1:-1] - 2 * centre + u[:-2, 1:-1, 1:-1])
            + 0.125 * (u[1:-1, 2:, 1:-1] - 2 * centre + u[1:-1, :-2, 1:-1])
            + 0.125 * (u[1:-1, 1:-1, 2:] - 2 * centre + u[1:-1, 1:-1, :-2])
            + centre
        )
    return u


def fdtd_2d(np: Any, ex: Any, ey: Any, hz: Any, source: Any) -> Results:
    ex, ey, hz = np.array(ex), np.array(ey), np.array(hz)
    for t in range(source.shape[0]):
        ey[0, :] = source[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz


def adi(np: Any, u: Any, steps: int) -> Any:
    """Alternating directions implicit: a tridiagonal solve along each column, then one along each row."""
    n = u.shape[0]
    u = np.array(u)
    v, p, q = np.zeros_like(u), np.zeros_like(u), np.zeros_like(u)
    a, b, c, d = -0.25, 1.5, -0.5, 2.0
    for _ in range(steps):
        v[0, 1:-1], v[-1, 1:-1] = 1, 1
        p[1:-1, 0], q[1:-1, 0] = 0, 1
        for j in range(1, n - 1):
            p[1:-1, j] = -a / (a * p[1:-1, j - 1] + b)
            q[1:-1, j] = (-c * u[j, :-2] + (1 + 2 * c) * u[j, 1:-1] - c * u[j, 2:] - a * q[1:-1, j - 1]) / (
                a * p[1:-1, j - 1] + b
            )
        for j in range(n - 2, 0, -1):
            v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]
        u[1:-1, 0], u[1:-1, -1] = 1, 1
        p[1:-1, 0], q[1:-1, 0] = 0, 1
        for j in range(1, n - 1):
            p[1:-1, j] = -c / (c * p[1:-1, j - 1] + d)
            q[1:-1, j] = (-a * v[:-2, j] + (1 + 2 * a) * v[1:-1, j] - a * v[2:, j] - c * q[1:-1, j - 1]) / (
                c * p[1:-1, j - 1] + d
            )
        for j in range(n - 2, 0, -1):
            u[1:-1, j] = p[1:-1, j] * u[1:-1, j + 1] + q[1:-1, j]
    return u


def lu(np: Any, a: Any) -> Any:
    """Right-looking, without pivots."""
    a = np.array(a)
    for k in range(a.shape[0] - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


def cholesky(np: Any, a: Any) -> Any:
    """Left-looking, a column at a time."""
    a = np.array(a)
    for j in range(a.shape[0]):
        a[j, j] = np.sqrt(a[j, j] - np.dot(a[j, :j], a[j, :j]))
        a[j + 1 :, j] = (a[j + 1 :, j] - a[j + 1 :, :j] @ a[j, :j]) / a[j, j]
    return np.tril(a)


def gram_schmidt(np: Any, a: Any) -> Results:
    a = np.array(a)
    n = a.shape[1]
    q, r = np.zeros_like(a), np.zeros((n, n), dtype=a.dtype)
    for k in range(n):
        r[k, k] = np.sqrt(np.dot(a[:, k], a[:, k]))
        q[:, k] = a[:, k] / r[k, k]
        r[k, k + 1 :] = q[:, k] @ a[:, k + 1 :]
        a[:, k + 1 :] -= np.outer(q[:, k], r[k, k + 1 :])
    return q, r


def durbin(np: Any, r: Any) -> Any:
    """The Yule-Walker equations of a Toeplitz matrix."""
    y = np.zeros_like(r)
    alpha, beta = -r[0], 1.0
    y[0] = alpha
    for k in range(1, r.shape[0]):
        beta = (1 - alpha * alpha) * beta
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


def n_body(np: Any, mass: Any, position: Any, velocity: Any, steps: int) -> Results:
    position, velocity = np.array(position), np.array(velocity)

    def acceleration() -> Any:
        x, y, z = position[:, 0:1], position[:, 1:2], position[:, 2:3]
        dx, dy, dz = x.T - x, y.T - y, z.T - z
        cubed = (dx**2 + dy**2 + dz**2 + 0.01) ** -1.5
        return np.stack([(dx * cubed) @ mass, (dy * cubed) @ mass, (dz * cubed) @ mass], axis=1)

    now = acceleration()
    for _ in range(steps):
        velocity += now * 0.005
        position += velocity * 0.01
        now = acceleration()
        velocity += now * 0.005
    return position, velocity


def floyd_warshall(np: Any, path: Any) -> Any:
    path = np.array(path)
    for k in range(path.shape[0]):
        path[:] = np.minimum(path, path[:, k, np.newaxis] + path[k, :])
    return path


def convolution(np: Any, image: Any, kernel: Any) -> Any:
    rows, columns = kernel.shape
    height, width = image.shape[0] - rows + 1, image.shape[1] - columns + 1
    out = np.zeros((height, width), dtype=image.dtype)
    for i in range(rows):
        for j in range(columns):
            out += image[i : i + height, j : j + width] * kernel[i, j]
    return out


def max_pooling(np: Any, x: Any, window: int) -> Any:
    out = np.full((x.shape[0], x.shape[1] // window, x.shape[2] // window), -np.inf, dtype=x.dtype)
    for i in range(window):
        for j in range(window):
            out = np.maximum(out, x[:, i::window, j::window])
    return out


def edit_distance(np: Any, a: Any, b: Any) -> Any:
    """Two strings of the same length; a cell of an anti-diagonal is at its row."""
    n = a.shape[0]
    backwards = np.flip(b)
    before, last = np.zeros(n + 1, dtype=np.int32), np.zeros(n + 1, dtype=np.int32)
    last[:2] = 1
    for d in range(2, 2 * n + 1):
        low, high = max(1, d - n), min(n, d - 1) + 1
        now = np.zeros(n + 1, dtype=np.int32)
        if d <= n:
            now[0] = d
            now[d] = d
        differ = a[low - 1 : high - 1] != backwards[n - d + low : n - d + high]
        shifted = np.minimum(last[low - 1 : high - 1], last[low:high]) + 1
        now[low:high] = np.minimum(shifted, before[low - 1 : high - 1] + differ)
        before, last = last, now
    return last[n]


def histogram(np: Any, x: Any, bins: int) -> Any:
    counts = np.zeros(bins, dtype=np.int64)
    for number in range(bins):
        counts[number] = np.sum((x >= number / bins) & (x < (number + 1) / bins))
    return counts


def sparse_product(np: Any, starts: list[int], columns: Any, values: Any, x: Any) -> Any:
    """A matrix in compressed sparse rows times a vector."""
    y = np.zeros(len(starts) - 1, dtype=values.dtype)
    for row in range(len(starts) - 1):
        start, end = starts[row], starts[row + 1]
        y[row] = values[start:end] @ x[columns[start:end]]
    return y


def mandelbrot(np: Any, re: Any, im: Any, iterations: int) -> Any:
    cx, cy = re[np.newaxis, :], im[:, np.newaxis]
    zx, zy = np.zeros((im.shape[0], re.shape[0]), dtype=re.dtype), np.zeros((im.shape[0], re.shape[0]), dtype=re.dtype)
    count = np.zeros(zx.shape, dtype=np.int32)
    for _ in range(iterations):
        inside = zx * zx + zy * zy < 4
        count += inside
        zx, zy = np.where(inside, zx * zx - zy * zy + cx, zx), np.where(inside, 2 * zx * zy + cy, zy)
    return count


def softmax(np: Any, x: Any) -> Any:
    largest = np.max(x, axis=-1, keepdims=True)
    shifted = x - largest
    powers = np.exp(shifted)
    total = np.sum(powers, axis=-1, keepdims=True)
    return powers / total


def k_means(np: Any, points: Any, centres: Any, steps: int) -> Results:
    centres = np.array(centres)
    for _ in range(steps):
        distances = np.sum((points[:, np.newaxis, :] - centres[np.newaxis, :, :]) ** 2, axis=2)
        labels = np.argmin(distances, axis=1)
        for number in range(centres.shape[0]):
            members = labels == number
            total = np.sum(np.where(members[:, np.newaxis], points, 0), axis=0)
            centres[number] = total / np.maximum(np.sum(members), 1).astype(np.float32)
    return centres, labels


def power_iteration(np: Any, a: Any, x: Any, steps: int) -> Results:
    for _ in range(steps):
        y = a @ x
        x = y / np.sqrt(np.sum(y * y))
    return x, x @ (a @ x)


Generator = numpy.random.Generator


def uniform(rng: Generator, *shape: int) -> numpy.ndarray:
    return rng.random(shape, dtype=numpy.float32)


def dominant(rng: Generator, n: int) -> numpy.ndarray:
    """A symmetric matrix whose diagonal dominates."""
    a = uniform(rng, n, n)
    return (a + a.T) / 2 + n * numpy.eye(n, dtype=numpy.float32)


def toeplitz(rng: Generator, n: int) -> numpy.ndarray:
    """The first row of a Toeplitz matrix, without the 1 that dominates it."""
    return ((uniform(rng, n) - 0.5) / numpy.arange(1, n + 1, dtype=numpy.float32) ** 2).astype(numpy.float32)


def strings(rng: Generator, n: int) -> Results:
    return rng.integers(0, 4, n).astype(numpy.int32), rng.integers(0, 4, n).astype(numpy.int32)


def sparse(rng: Generator, n: int) -> Results:
    lengths = rng.integers(8, 48, n)
    starts = [0, *numpy.cumsum(lengths).tolist()]
    return starts, rng.integers(0, n, starts[-1]).astype(numpy.int32), uniform(rng, starts[-1]), uniform(rng, n)


def plane(n: int) -> Results:
    return numpy.linspace(-2.25, 0.75, n, dtype=numpy.float32), numpy.linspace(-1.25, 1.25, n, dtype=numpy.float32)


def blobs(rng: Generator, n: int) -> Results:
    """Points around sixteen corners of a grid, far from each other, and a point of each as its first centre."""
    corners = numpy.stack(numpy.meshgrid(*[numpy.array([0, 8])] * 4), axis=-1).reshape(16, 4)
    points = (corners[numpy.arange(n) % 16] + rng.standard_normal((n, 4)) * 0.5).astype(numpy.float32)
    return points, points[:16].copy()


@dataclass(frozen=True)
class Program:
    """A program and its inputs for a size; `strays` is the share of elements that rounding may move elsewhere."""

    name: str
    run: Callable[..., Any]
    inputs: Callable[[Generator, int], Results]
    size: int
    loop: bool = True
    rtol: float = 1e-4
    strays: float = 0.0


PROGRAMS = [
    Program("stencil 1-D", stencil_1d, lambda rng, n: (uniform(rng, n), 200), 50_000),
    Program("stencil 2-D", stencil_2d, lambda rng, n: (uniform(rng, n, n), 50), 400),
    Program("stencil 3-D", stencil_3d, lambda rng, n: (uniform(rng, n, n, n), 30), 64),
    Program(
        "FDTD 2-D",
        fdtd_2d,
        lambda rng, n: (*(uniform(rng, n, n) for _ in range(3)), numpy.arange(50, dtype=numpy.float32) / 50),
        400,
        rtol=1e-3,
    ),
    Program("ADI", adi, lambda rng, n: (uniform(rng, n, n), 4), 100),
    Program("LU", lu, lambda rng, n: (dominant(rng, n),), 400),
    Program("Cholesky", cholesky, lambda rng, n: (dominant(rng, n),), 800),
    Program("Gram-Schmidt", gram_schmidt, lambda rng, n: (uniform(rng, 2 * n, n),), 200, rtol=1e-3),
    Program("Durbin", durbin, lambda rng, n: (toeplitz(rng, n),), 1200),
    Program(
        "n-body",
        n_body,
        lambda rng, n: (uniform(rng, n) / n, uniform(rng, n, 3) * 2 - 1, uniform(rng, n, 3) - 0.5, 8),
        500,
        rtol=1e-3,
    ),
    Program("Floyd-Warshall", floyd_warshall, lambda rng, n: (uniform(rng, n, n) * 100,), 300),
    Program("convolution", convolution, lambda rng, n: (uniform(rng, n, n), uniform(rng, 7, 7)), 800),
    Program("max pooling", max_pooling, lambda rng, n: (uniform(rng, 16, n, n), 4), 800, rtol=0.0),
    Program("edit distance", edit_distance, strings, 800, rtol=0.0),
    Program("histogram by masks", histogram, lambda rng, n: (uniform(rng, n), 32), 1_000_000, rtol=0.0),
    Program("sparse matrix-vector", sparse_product, sparse, 2000),
    Program("Mandelbrot", mandelbrot, lambda rng, n: (*plane(n), 50), 256, rtol=0.0, strays=0.005),
    Program("softmax", softmax, lambda rng, n: (uniform(rng, n, n) * 10,), 2400, loop=False),
    Program("k-means", k_means, lambda rng, n: (*blobs(rng, n), 4), 10_000),
    Program("power iteration", power_iteration, lambda rng, n: (uniform(rng, n, n), uniform(rng, n), 100), 1500),
]
