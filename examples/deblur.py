#!/usr/bin/env python3
"""A photograph that was shaken while it was taken, sharpened by Wiener's filter.

    python examples/deblur.py [LENGTH] [--out FOLDER] [--device WORDS]

A blur of LENGTH pixels is a convolution, and so a product of Fourier transforms. To divide by the transform of the blur
would blow up the noise where that is small; the filter takes as much as noise and picture leave (N. Wiener, 1949).
"""

from __future__ import annotations

import importlib.resources
import io
from pathlib import Path

import numpy as np
from pictures import main, write_png

import ocl_runtime as ocl

NOISE = 0.003  # standard deviation, of a brightness from 0 to 1
ANGLE = 0.5  # of the shake, in radians


def photograph() -> np.ndarray:
    """Scikit-image's picture of a coffee cup, in grey; without the package, rings and bars."""
    try:
        from PIL import Image

        data = importlib.resources.files("skimage").joinpath("data", "coffee.png").read_bytes()
        return np.asarray(Image.open(io.BytesIO(data)).convert("L"), np.float32) / 255
    except (ImportError, FileNotFoundError):
        y, x = np.mgrid[0:400, 0:600].astype(np.float32)
        rings = 0.5 + 0.5 * np.sin(np.hypot(x - 250, y - 190) ** 1.4 / 25)
        return np.where(x > 420, (x // 12 + y // 40) % 2 * 0.8 + 0.1, rings).astype(np.float32)


def shake(shape: tuple[int, int], length: int) -> np.ndarray:
    """The blur: a line of so many pixels through the corner, around which the transform closes."""
    kernel = np.zeros(shape, np.float32)
    steps = np.linspace(-length / 2, length / 2, 8 * length)
    rows, columns = np.round(steps * np.sin(ANGLE)).astype(int), np.round(steps * np.cos(ANGLE)).astype(int)
    np.add.at(kernel, (rows % shape[0], columns % shape[1]), 1)
    return kernel / kernel.sum()


def convolved(xp, picture, transfer):
    """A picture through a filter, given by its transform."""
    return xp.fft.irfftn(xp.fft.rfftn(picture) * transfer, s=picture.shape)


def sharpened(xp, picture, transfer):
    """What was most likely there before a blur with this transform and white noise."""
    power = xp.real(transfer) ** 2 + xp.imag(transfer) ** 2
    return convolved(xp, picture, xp.conj(transfer) / (power + 100 * NOISE**2))


def run(length: int, out: Path) -> None:
    """Shakes the picture, sharpens it, compares, and draws all three."""
    picture = photograph()
    noise = NOISE * np.random.default_rng(0).standard_normal(picture.shape).astype(np.float32)
    transfer = ocl.fft.rfftn(ocl.asarray(shake(picture.shape, length)))
    blurred = convolved(ocl, ocl.asarray(picture), transfer) + ocl.asarray(noise)
    restored = sharpened(ocl, blurred, transfer)

    host_transfer = np.fft.rfftn(shake(picture.shape, length).astype(np.float64), axes=(0, 1))
    expected = np.fft.rfftn(blurred.numpy().astype(np.float64)) * np.conj(host_transfer)
    expected = np.fft.irfftn(expected / (np.abs(host_transfer) ** 2 + 100 * NOISE**2), s=picture.shape, axes=(0, 1))
    apart = np.abs(restored.numpy() - expected).max()
    before, after = (np.sqrt(np.mean((x.numpy() - picture) ** 2)) for x in (blurred, restored))
    print(f"{picture.shape[1]} x {picture.shape[0]} pixels: within {apart:.1e} of NumPy's in float64;", end=" ")
    print(f"the error goes from {before:.3f} to {after:.3f}")
    assert apart < 1e-4
    assert after < before
    write_png(out / "deblur.png", np.concatenate([picture, blurred.numpy(), restored.numpy()], axis=1))


if __name__ == "__main__":
    main(__doc__ or "", run, 15)
