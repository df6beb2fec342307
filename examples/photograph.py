#!/usr/bin/env python3
"""The main job: denoise a photograph, find its edges and equalise its contrast, on an OpenCL device.

    python examples/photograph.py [PICTURE] [--out FOLDER] [--device WORDS]

Without PICTURE it takes one that comes with scikit-image. The pipeline is written once, for any library with the
array API standard, and runs twice: with ocl_runtime and with NumPy. The results are compared, both are timed, a picture
with before and after is written, and every stage of every kernel lies in FOLDER/kernels.
"""

from __future__ import annotations

import argparse
import importlib.resources
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import ocl_runtime as ocl
from ocl_runtime.errors import Error, InputFileError

RADIUS = 2  # of the neighbourhood that denoising looks at
SPATIAL, TONAL = 1.5, 0.1  # standard deviations of its weights: in pixels, and in brightness from 0 to 1
EDGE = 0.25  # gradient above which a ridge counts as an edge
TIMED_RUNS = 5


def window(image: Any, margin: int, down: int, right: int) -> Any:
    """The image less a margin, moved by some pixels: a view."""
    height, width = image.shape
    return image[margin + down : height - margin + down, margin + right : width - margin + right]


def denoise(xp: Any, image: Any) -> Any:
    """The bilateral filter (Tomasi and Manduchi, 1998): a mean over neighbours near in place and in brightness."""
    middle = window(image, RADIUS, 0, 0)
    total, weights = 0.0 * middle, 0.0 * middle
    for down in range(-RADIUS, RADIUS + 1):
        for right in range(-RADIUS, RADIUS + 1):
            neighbour = window(image, RADIUS, down, right)
            near = (down * down + right * right) / (2 * SPATIAL**2)
            alike = (neighbour - middle) * (1 / TONAL)
            weight = xp.exp(-0.5 * alike * alike - near)
            total, weights = total + weight * neighbour, weights + weight
    return total / weights


def gradient(xp: Any, image: Any) -> tuple[Any, Any, Any]:
    """Sobel's derivatives to the right and down, and the magnitude."""
    at = {(down, right): window(image, 1, down, right) for down in (-1, 0, 1) for right in (-1, 0, 1)}
    dx = at[-1, 1] + 2 * at[0, 1] + at[1, 1] - at[-1, -1] - 2 * at[0, -1] - at[1, -1]
    dy = at[1, -1] + 2 * at[1, 0] + at[1, 1] - at[-1, -1] - 2 * at[-1, 0] - at[-1, 1]
    return dx, dy, xp.sqrt(dx * dx + dy * dy)


def edges(xp: Any, dx: Any, dy: Any, magnitude: Any) -> Any:
    """The ridges of the gradient: pixels not below both neighbours across the edge (Canny, 1986), and strong enough."""
    dx, dy, here = window(dx, 1, 0, 0), window(dy, 1, 0, 0), window(magnitude, 1, 0, 0)
    ridge = here > 1e9  # nowhere yet
    flat, steep = xp.abs(dy) < 0.4142 * xp.abs(dx), xp.abs(dx) < 0.4142 * xp.abs(dy)
    falling = (dx * dy > 0) & ~flat & ~steep
    rising = (dx * dy <= 0) & ~flat & ~steep
    for direction, (down, right) in ((flat, (0, 1)), (steep, (1, 0)), (falling, (1, 1)), (rising, (1, -1))):
        across = xp.maximum(window(magnitude, 1, down, right), window(magnitude, 1, -down, -right))
        ridge = ridge | (direction & (here >= across))
    return ridge & (here > EDGE)


def equalise(xp: Any, image: Any) -> Any:
    """Histogram equalisation: each level becomes the share of pixels that are not brighter."""
    level = computed(xp.astype(xp.round(image * 255), xp.int32))
    levels = xp.arange(256, dtype=xp.int32)
    pixels = xp.reshape(level, (-1,))
    not_brighter = xp.sum(xp.astype(pixels[None, :] <= levels[:, None], xp.int32), axis=1, dtype=xp.int32)
    share = xp.astype(not_brighter, xp.float32) * (1 / level.size)
    # A table look-up as an expression: the only level that equals the pixel's gives its share.
    chosen = xp.where(pixels[:, None] == levels[None, :], share[None, :], xp.zeros((1, 1), dtype=xp.float32))
    return xp.reshape(xp.sum(chosen, axis=1, dtype=xp.float32), level.shape)


def pipeline(xp: Any, picture: Any) -> dict[str, Any]:
    """From a picture (height, width, 3) of bytes to images of floats from 0 to 1, and a mask of edges."""
    colours = xp.astype(picture, xp.float32) * (1 / 255)
    grey = 0.299 * colours[:, :, 0] + 0.587 * colours[:, :, 1] + 0.114 * colours[:, :, 2]  # ITU-R BT.601
    smooth = computed(denoise(xp, grey))
    dx, dy, magnitude = (computed(one) for one in gradient(xp, smooth))
    return {"grey": grey, "denoised": smooth, "edges": edges(xp, dx, dy, magnitude), "equalised": equalise(xp, smooth)}


def computed(image: Any) -> Any:
    """Computes an image that several others are made from, so that it is not computed for each of them."""
    return image.compute() if isinstance(image, ocl.Array) else image


# ---------------------------------------------------------------------- input, output, comparison


def load(path: Path | None) -> np.ndarray:
    """The picture as bytes (height, width, 3)."""
    from PIL import Image, UnidentifiedImageError

    try:
        if path is None:
            with importlib.resources.as_file(importlib.resources.files("skimage") / "data" / "astronaut.png") as file:
                return np.asarray(Image.open(file).convert("RGB"))
        return np.asarray(Image.open(path).convert("RGB"))
    except ModuleNotFoundError as error:
        raise InputFileError("the package with the picture is missing", remedy="pip install scikit-image") from error
    except (OSError, UnidentifiedImageError) as error:
        raise InputFileError(
            f"the picture cannot be read: {error}", place=str(path), remedy="name a PNG, JPEG or other picture file"
        ) from error


def save(path: Path, grey: np.ndarray, results: dict[str, np.ndarray]) -> None:
    """Before and after side by side, cut to the part that every step has."""
    from PIL import Image

    height, width = results["edges"].shape
    panels = [("grey", 4), ("denoised", 2), ("equalised", 2), ("edges", 0)]
    images = {**results, "grey": grey}
    cut = [images[name][margin : margin + height, margin : margin + width] for name, margin in panels]
    stacked = np.concatenate([np.clip(one.astype(np.float32), 0, 1) for one in cut], axis=1)
    unfinished = path.with_suffix(".part")
    try:
        Image.fromarray(np.round(stacked * 255).astype(np.uint8)).save(unfinished, format="PNG")
        unfinished.replace(path)  # a picture is there whole or not at all
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise InputFileError(
            f"the picture cannot be written: {error}", place=str(path), remedy="choose --out"
        ) from error


def compare(ours: dict[str, np.ndarray], numpys: dict[str, np.ndarray]) -> list[str]:
    """A line for each result. Raises `Error` where one differs by more than rounding explains."""
    lines = []
    for name, reference in numpys.items():
        got = ours[name]
        if reference.dtype == np.bool_:
            differing = float(np.mean(got != reference))  # a pixel on the threshold may fall on either side
            fine, text = differing <= 1e-3, f"{differing:.4%} of the pixels differ"
        else:
            # A brightness on the border of two levels may be rounded to the other one: that moves the share of a level
            # by one pixel's, and the pixel itself to the next level.
            difference, small = np.abs(got - reference), 1e-5 + 10 / got.size
            fine = float(np.mean(difference > small)) <= 1e-3 and float(difference.max()) < 0.05
            text = f"largest difference {difference.max():.1e}, {np.mean(difference > small):.4%} above {small:.0e}"
        if not fine:
            raise Error(
                f"{name} differs from NumPy's: {text}", remedy="please report this with the output of ocl-devices"
            )
        lines.append(f"  {name:10} {text}")
    return lines


def seconds(run: Callable[[], object]) -> float:
    """The median of some runs, after one that warms up."""
    run()
    times = []
    for _ in range(TIMED_RUNS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return sorted(times)[TIMED_RUNS // 2]


def main() -> int:
    """Runs the job; 0 if everything agrees, 1 with a message if not."""
    parser = argparse.ArgumentParser(description="Denoise a photograph, find its edges, equalise its contrast.")
    parser.add_argument("picture", nargs="?", type=Path, help="a picture file (default: one from scikit-image)")
    parser.add_argument("--out", type=Path, default=Path("demo-output"), help="folder for the result (demo-output)")
    parser.add_argument("--device", help="words of the device: gpu, cpu, pocl, nvidia, … (default: the best)")
    options = parser.parse_args()
    try:
        return run(options.picture, options.out, options.device)
    except Error as error:
        print(f"photograph: {error}", file=sys.stderr)
        return 1


def run(path: Path | None, out: Path, device: str | None) -> int:
    """The whole job."""
    picture = load(path)
    if min(picture.shape[:2]) < 16:
        raise InputFileError(f"a picture of {picture.shape[:2]} pixels", place=str(path), remedy="at least 16 by 16")
    settings = replace(ocl.Settings.from_environment(), dump_folder=out / "kernels")
    runtime = ocl.Runtime(device, settings)
    with ocl.use(runtime):

        def on_device() -> dict[str, np.ndarray]:
            return {name: image.numpy() for name, image in pipeline(ocl, ocl.asarray(picture)).items()}

        def on_host() -> dict[str, np.ndarray]:
            with np.errstate(under="ignore"):
                return pipeline(np, picture)

        ours, numpys = on_device(), on_host()
        print(f"{picture.shape[1]} × {picture.shape[0]} pixels on {runtime.device}")
        print("compared with NumPy:", *compare(ours, numpys), sep="\n")
        device_seconds, host_seconds = seconds(on_device), seconds(on_host)
    ratio = host_seconds / device_seconds
    print(f"time: {device_seconds * 1e3:.1f} ms, NumPy {host_seconds * 1e3:.1f} ms: {ratio:.1f} times faster")
    counts = runtime.statistics()
    print(f"kernels: {counts['kernel']['kernels']} for {counts['launch']['launches']} launches")
    save(out / "photograph.png", numpys["grey"], ours)
    print(
        f"look at {out / 'photograph.png'} (grey, denoised, equalised, edges), and at the kernels in {out / 'kernels'}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
