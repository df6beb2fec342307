"""A filter over an image in tiles of rows, each on a stream of its own turn, and what came of it to look at.

Captured (`ocl.capture`), the tiles become one host program: planned once, replayed from then on.
Nothing here says what waits for what. A tile that reads rows which other streams wrote waits for just those tiles.
"""

from __future__ import annotations

from collections.abc import Callable

import ocl_runtime as ocl
from ocl_runtime.observe.timeline import overlap, timeline_html, trace_json

TILES, STREAMS = 8, 4


def in_tiles(filtered: Callable[[ocl.Array], ocl.Array], image: ocl.Array, halo: int, out: ocl.Array) -> None:
    """Computes `out = filtered(image)` into the memory of `out`; the filter takes `halo` rows off on either side."""
    height = out.shape[0]
    rows = -(-height // TILES)
    for number, top in enumerate(range(0, height, rows)):
        bottom = min(top + rows, height)
        with ocl.stream(number % STREAMS):
            ocl.compute_into(out[top:bottom], filtered(image[top : bottom + 2 * halo]))


def timeline(runtime: ocl.Runtime, run: Callable[[], object], title: str) -> tuple[str, str, str]:
    """When each command of a run was at work on a runtime with `Settings(profile=True)`: in words, HTML and JSON."""
    run()  # builds, and takes memory
    runtime.finish()
    before = len(runtime.profile())
    run()
    runtime.finish()
    commands, count = runtime.profile()[before:], runtime.executor.engine.streams.count
    page, trace = timeline_html(commands, title, count), trace_json(commands, title, count)
    return str(overlap(commands)), page, trace
