"""What the examples of kernels share: a command line, and pictures as PNG with nothing but the standard library."""

from __future__ import annotations

import argparse
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

import ocl_runtime as ocl


def write_png(path: Path, pixels: np.ndarray) -> None:
    """Bytes, or brightness from 0 to 1, of shape (height, width) or (height, width, 3)."""
    if pixels.dtype != np.uint8:
        pixels = np.round(np.clip(pixels, 0, 1) * 255).astype(np.uint8)
    height, width = pixels.shape[:2]
    colour = 2 if pixels.ndim == 3 else 0
    rows = np.zeros((height, 1 + pixels[0].size), np.uint8)  # each row begins with its filter, which is none
    rows[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    chunks = (b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b"")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        for name, content in chunks:
            crc = zlib.crc32(name + content)
            file.write(struct.pack(">I", len(content)) + name + content + struct.pack(">I", crc))
    print(f"look at {path}")


def heat(values: np.ndarray) -> np.ndarray:
    """Numbers from 0 to 1 as colours from black over red and yellow to white."""
    return np.clip(3 * values[..., None] - np.arange(3), 0, 1)


def main(about: str, run: Callable[[int, Path], None], size: int) -> None:
    """Runs an example of a size that the command line may name."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("size", nargs="?", type=int, default=size, help=f"how large ({size})")
    parser.add_argument("--out", type=Path, default=Path("demo-output"), help="folder for pictures (demo-output)")
    parser.add_argument("--device", help="words of the device: gpu, cpu, pocl, nvidia, … (default: the best)")
    options = parser.parse_args()
    with ocl.use(ocl.Runtime(options.device)) as runtime:
        print(runtime.device)
        run(options.size, options.out)
