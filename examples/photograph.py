#!/usr/bin/env python3
"""The main job: denoise a photograph, find its edges and equalise its contrast, on an OpenCL device.

    python examples/photograph.py [PICTURE] [--out FOLDER] [--device WORDS]

Without PICTURE it takes one that comes with scikit-image. The pipeline is written once, for any library with the
array API standard, and runs twice: with ocl_runtime and with NumPy. The results are compared, both are timed, a picture
with before and after is written, and every stage of every kernel lies in FOLDER/kernels.

What depends on near pixels only then runs once more, in tiles over several streams, as one program that is captured and
replayed: FOLDER has pictures of its streams and its memory, and a timeline of when it did what.
"""

from __future__ import annotations

import argparse
import importlib.resources
import io
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from tiles import STREAMS, in_tiles, timeline

import ocl_runtime as ocl
from ocl_runtime.errors import Error, InputFileError

RADIUS = 2  # of the neighbourhood that denoising looks at
SPATIAL, TONAL = 1.5, 0.1  # standard deviations of its weights: in pixels, and in brightness from 0 to 1
EDGE = 0.25  # gradient above which a ridge counts as an edge
TIMED_RUNS = 5
SEEN = (
    "photograph.png   grey, denoised, equalised, edges",
    "streams.svg      the tiles on their streams, and what waits for what",
    "memory.svg       where their scratch memory lies, and when",
    "timeline.html    when each kernel ran; trace.json is the same for ui.perfetto.dev",
    "kernels          every stage of every kernel",
)


def window(image: Any, margin: int, down: int, right: int) -> Any:
    """The image less a margin, moved by some pixels: a view."""
    height, width = image.shape
    return image[margin + down : height - margin + down, margin + right : width - margin + right]


def grey(xp: Any, picture: Any) -> Any:
    """The brightness of bytes in colour, from 0 to 1 (ITU-R BT.601)."""
    colours = xp.astype(picture, xp.float32) * (1 / 255)
    return 0.299 * colours[:, :, 0] + 0.587 * colours[:, :, 1] + 0.114 * colours[:, :, 2]


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


def edges(xp: Any, image: Any) -> Any:
    """The ridges of the gradient: pixels not below both neighbours across the edge (Canny, 1986), and strong enough."""
    dx, dy, magnitude = (computed(one) for one in gradient(xp, image))
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


def local(xp: Any, picture: Any) -> tuple[Any, Any]:
    """What depends on near pixels only: the denoised image and its edges."""
    smooth = computed(denoise(xp, grey(xp, picture)))
    return smooth, computed(edges(xp, smooth))


def pipeline(xp: Any, picture: Any) -> dict[str, Any]:
    """From a picture (height, width, 3) of bytes to images of floats from 0 to 1, and a mask of edges."""
    smooth, mask = local(xp, picture)
    return {"grey": grey(xp, picture), "denoised": smooth, "edges": mask, "equalised": equalise(xp, smooth)}


@ocl.capture
def whole(picture: ocl.Array) -> tuple[ocl.Array, ocl.Array]:
    """`local` as a program that the first call captures and later ones replay."""
    return local(ocl, picture)


@ocl.capture
def tiled(picture: ocl.Array, smooth: ocl.Array, mask: ocl.Array) -> None:
    """The same in tiles over streams, into memory that is there."""
    in_tiles(lambda rows: denoise(ocl, grey(ocl, rows)), picture, RADIUS, smooth)
    in_tiles(lambda rows: edges(ocl, rows), smooth, 2, mask)


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
    png = io.BytesIO()
    Image.fromarray(np.round(stacked * 255).astype(np.uint8)).save(png, format="PNG")
    write(path, png.getvalue())


def write(path: Path, content: bytes) -> None:
    """Writes a file, which is there whole or not at all."""
    unfinished = path.with_suffix(".part")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise InputFileError(
            f"{path.name} cannot be written: {error}", place=str(path), remedy="choose --out"
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
    save(out / "photograph.png", numpys["grey"], ours)
    with ocl.use(runtime):
        compare_tiled(runtime, picture, ours)
    profiled = ocl.Runtime(runtime.device, replace(settings, dump_folder=None, profile=True))
    with ocl.use(profiled):
        draw_tiled(profiled, picture, out)
    counts = runtime.statistics()
    print(f"kernels: {counts['kernel']['kernels']} for {counts['launch']['launches']} launches")
    print(f"look in {out} at", *SEEN, sep="\n  ")
    return 0


def allocated(picture: np.ndarray) -> tuple[ocl.Array, ocl.Array, ocl.Array]:
    """What `tiled` takes: the picture on the device, and memory for the denoised image and the edges."""
    height, width = picture.shape[:2]
    smooth = ocl.allocate((height - 4, width - 4), dtype=ocl.float32)
    return ocl.asarray(picture), smooth, ocl.allocate((height - 8, width - 8), dtype=ocl.bool)


def compare_tiled(runtime: ocl.Runtime, picture: np.ndarray, untiled: dict[str, np.ndarray]) -> None:
    """Computes the local part in tiles, compares it with the untiled one bit for bit, and times it beside that."""
    image, smooth, mask = allocated(picture)
    tiled(image, smooth, mask)
    for name, found in (("denoised", smooth), ("edges", mask)):
        if found.numpy().tobytes() != untiled[name].tobytes():
            raise Error(f"{name} differs in tiles", remedy="please report this with the output of ocl-devices")

    def finished(run: Callable[..., object], *given: Any) -> float:
        return seconds(lambda: (run(*given), runtime.finish())) * 1e3

    with np.errstate(under="ignore"):
        numpys = finished(local, np, picture)
    replayed, planned = finished(whole, image), finished(local, ocl, image)
    streams = min(STREAMS, runtime.executor.engine.streams.count)
    print(f"denoised and edges in tiles over {streams} streams: the same, bit for bit")
    print(f"time of these two: {finished(tiled, image, smooth, mask):.1f} ms, NumPy {numpys:.1f} ms; ", end="")
    print(f"in one piece {replayed:.1f} ms replayed, {planned:.1f} ms planned anew each time")


def draw_tiled(runtime: ocl.Runtime, picture: np.ndarray, out: Path) -> None:
    """Writes when the tiles were computed, and the pictures of their program that the dump has made."""
    given = allocated(picture)
    words, page, trace = timeline(runtime, lambda: tiled(*given), f"tiles of a photograph on {runtime.device}")
    print(words)
    write(out / "timeline.html", page.encode())
    write(out / "trace.json", trace.encode())
    dumped = max((out / "kernels").glob("*_tiled"), key=lambda folder: int(folder.name.partition("_")[0]))
    for name in ("streams.svg", "memory.svg"):
        write(out / name, (dumped / name).read_bytes())


if __name__ == "__main__":
    sys.exit(main())
