#!/usr/bin/env python3
"""Contrast by a histogram: groups count in local memory by atomics, and a map through the running sum levels it.

python examples/equalise.py [HEIGHT] [--out FOLDER] [--device WORDS]
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pictures import main, write_png

import ocl_runtime as ocl
from ocl_runtime.language import (
    Array1,
    Constant,
    atomic_add,
    barrier,
    global_id,
    global_size,
    local_array,
    local_id,
    local_size,
    uint32,
)

LEVELS = 256


@ocl.kernel(local=128)
def histogram(pixels: Array1[np.uint8], counts: Array1[np.uint32], levels: Constant[int] = LEVELS):
    """Adds to each level how many pixels have it."""
    part = local_array(levels, uint32)
    for level in range(local_id(0), levels, local_size(0)):
        part[level] = 0
    barrier()
    for i in range(global_id(0), pixels.size, global_size(0)):
        atomic_add(part, pixels[i], 1)
    barrier()
    for level in range(local_id(0), levels, local_size(0)):
        if part[level] > 0:
            atomic_add(counts, level, part[level])


def dim_scene(height: int) -> np.ndarray:
    """Hills in fog: bytes that lie close together."""
    down, right = np.mgrid[:height, : height * 3 // 2] / height
    hills = [0.35 + 0.12 * k + 0.08 * np.sin((3 + k) * right + 2.1 * k) for k in range(4)]
    depth = np.sum([down > hill for hill in hills], axis=0)
    grain = np.random.default_rng(2).standard_normal(depth.shape)
    return np.clip(150 - 14 * depth + 6 * down + 1.5 * grain, 0, 255).astype(np.uint8)


def run(height: int, out: Path) -> None:
    """Levels a dim image, and compares."""
    host = dim_scene(height)
    pixels = ocl.asarray(host)
    counts = ocl.zeros(LEVELS, dtype=np.uint32)
    histogram.groups[32](ocl.reshape(pixels, -1), counts)
    share = ocl.cumulative_sum(ocl.astype(counts, ocl.float32)) / host.size
    levelled = share[pixels]

    wanted = np.bincount(host.ravel(), minlength=LEVELS)
    np.testing.assert_array_equal(counts.numpy(), wanted)
    np.testing.assert_allclose(levelled.numpy(), (np.cumsum(wanted) / host.size)[host], atol=1e-6)
    print(
        f"{host.shape[1]} x {height} pixels: brightness from {host.std():.0f} to {255 * levelled.numpy().std():.0f} sd"
    )
    write_png(out / "equalise.png", np.concatenate([host / 255, levelled.numpy()], axis=1))


if __name__ == "__main__":
    main(__doc__ or "", run, 512)
