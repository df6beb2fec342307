#!/usr/bin/env python3
"""A layer of a network: a product of matrices in tiles, with the bias and the activation in the same kernel.

    python examples/matrix_product.py [ROWS] [--device WORDS]

Tiles belong to a whole group of work-items. They are loaded with zeros behind the edges, and stored without what lies
there, so any size is right.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from pictures import main

import ocl_runtime as ocl
from ocl_runtime.language import (
    Array1,
    Array2,
    Constant,
    cdiv,
    dot,
    float32,
    group_id,
    load_tile,
    maximum,
    store_tile,
    tile,
)

ROWS, COLUMNS, DEPTH = 64, 64, 16


@ocl.kernel(local=(16, 8))
def layer(x: Array2, weights: Array2, bias: Array1, y: Array2, activation, depth: Constant[int] = DEPTH):
    """A group computes a tile of the result."""
    top, left = group_id(1) * ROWS, group_id(0) * COLUMNS
    acc = tile((ROWS, COLUMNS), float32)
    for k in range(0, x.shape[1], depth):
        acc = dot(acc, load_tile(x, (top, k), (ROWS, depth)), load_tile(weights, (k, left), (depth, COLUMNS)))
    store_tile(y, (top, left), activation(acc + load_tile(bias, (left,), (COLUMNS,))))


def relu(t):
    """The activation, of a tile."""
    return maximum(t, 0)


def run(rows: int, _: Path) -> None:
    """Computes a layer, and compares."""
    inner, columns = rows * 3 // 4 + 1, rows // 2 + 3
    rng = np.random.default_rng(4)
    x, weights = (rng.standard_normal(shape).astype(np.float32) for shape in ((rows, inner), (inner, columns)))
    bias = rng.standard_normal(columns).astype(np.float32)
    on_device, y = [ocl.asarray(each) for each in (x, weights, bias)], ocl.empty((rows, columns))
    launch = layer.groups[cdiv(columns, COLUMNS), cdiv(rows, ROWS)].prepare(*on_device, y, relu)
    launch()
    y.numpy()
    start = time.perf_counter()
    launch()
    found = y.numpy()
    seconds = time.perf_counter() - start

    wanted = np.maximum(x.astype(np.float64) @ weights + bias, 0)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=inner * 2**-23 * np.abs(wanted).max())
    print(f"{rows} x {inner} by {inner} x {columns}: {2 * rows * inner * columns / seconds * 1e-9:.1f} GFLOP/s")


if __name__ == "__main__":
    main(__doc__ or "", run, 1001)
