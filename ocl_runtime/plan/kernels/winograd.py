"""Convolutions of 3 × 3 by Winograd's method F(2 × 2, 3 × 3): tiles of 2 × 2 results for 16 multiplications each, where
36 are written down.

Tiles of 4 × 4 elements, which overlap, are transformed by additions, kernels by a few multiplications; then there are
16 products of matrices, one for each place of a tile: (channels of the result, channels) times (channels, tiles). Their
results are transformed back. In one dimension, with d the elements and g the kernel:

    d0 - d2, d1 + d2, d2 - d1, d1 - d3        times        g0, (g0 + g1 + g2) / 2, (g0 - g1 + g2) / 2, g2

are m0 … m3, and the results are m0 + m1 + m2 and m1 - m2 - m3. Of a large batch some images come after the others, so
that their tiles are in the same memory.

Source: Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, CVPR 2016.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ocl_ir.graph.build import Buffer, Storage, buffer
from ocl_ir.graph.winograd import MADE, MOST_TILES, TAKEN, TAPS, WinogradConvolution
from ocl_ir.language.builtins.registry import BUILTINS
from ocl_ir.layout import Layout
from ocl_runtime.plan.kernels.custom_call import Call
from ocl_runtime.plan.kernels.library_kernel import Launches
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.launch import Launch

global_id, private_array, unrolled = (BUILTINS[name] for name in ("global_id", "private_array", "unrolled"))

_PLACES = TAKEN * TAKEN


def transform_weights(w: Any, u: Any, dtype: Any) -> None:
    """Transforms kernels of 3 x 3 for tiles of 4 x 4, one by each work-item."""
    channels = u.shape[2]
    item = global_id(0)
    if item < u.shape[1] * channels:
        made = item // channels
        channel = item % channels
        half = private_array(12, dtype)
        for j in unrolled(range(3)):
            g0 = w[made, channel, 0, j]
            g1 = w[made, channel, 1, j]
            g2 = w[made, channel, 2, j]
            half[j] = g0
            half[3 + j] = (g0 + g1 + g2) * 0.5
            half[6 + j] = (g0 - g1 + g2) * 0.5
            half[9 + j] = g2
        for i in unrolled(range(4)):
            g0 = half[3 * i]
            g1 = half[3 * i + 1]
            g2 = half[3 * i + 2]
            u[4 * i, made, channel] = g0
            u[4 * i + 1, made, channel] = (g0 + g1 + g2) * 0.5
            u[4 * i + 2, made, channel] = (g0 - g1 + g2) * 0.5
            u[4 * i + 3, made, channel] = g2


def transform_tiles(x: Any, v: Any, down: Any, across: Any, top: Any, left: Any, dtype: Any) -> None:
    """Transforms tiles of 4 x 4 elements, two further each, one by each work-item."""
    tiles = v.shape[2]
    item = global_id(0)
    if item < v.shape[1] * tiles:
        channel = item // tiles
        tile = item % tiles
        image = tile // (down * across)
        first_row = tile // across % down * 2 - top
        first_column = tile % across * 2 - left
        d = private_array(16, dtype)
        for i in unrolled(range(4)):
            row = first_row + i
            for j in unrolled(range(4)):
                column = first_column + j
                d[4 * i + j] = 0
                if 0 <= row < x.shape[2] and 0 <= column < x.shape[3]:
                    d[4 * i + j] = x[image, channel, row, column]
        for j in unrolled(range(4)):
            d0 = d[j]
            d1 = d[4 + j]
            d2 = d[8 + j]
            d3 = d[12 + j]
            d[j] = d0 - d2
            d[4 + j] = d1 + d2
            d[8 + j] = d2 - d1
            d[12 + j] = d1 - d3
        for i in unrolled(range(4)):
            d0 = d[4 * i]
            d1 = d[4 * i + 1]
            d2 = d[4 * i + 2]
            d3 = d[4 * i + 3]
            v[4 * i, channel, tile] = d0 - d2
            v[4 * i + 1, channel, tile] = d1 + d2
            v[4 * i + 2, channel, tile] = d2 - d1
            v[4 * i + 3, channel, tile] = d1 - d3


def transform_results(m: Any, y: Any, down: Any, across: Any, dtype: Any) -> None:
    """Makes tiles of 2 x 2 results of products for 4 x 4 places, one by each work-item."""
    tiles = m.shape[2]
    item = global_id(0)
    if item < m.shape[1] * tiles:
        made = item // tiles
        tile = item % tiles
        image = tile // (down * across)
        first_row = tile // across % down * 2
        first_column = tile % across * 2
        half = private_array(8, dtype)
        for j in unrolled(range(4)):
            m0 = m[j, made, tile]
            m1 = m[4 + j, made, tile]
            m2 = m[8 + j, made, tile]
            m3 = m[12 + j, made, tile]
            half[j] = m0 + m1 + m2
            half[4 + j] = m1 - m2 - m3
        for i in unrolled(range(2)):
            row = first_row + i
            m0 = half[4 * i]
            m1 = half[4 * i + 1]
            m2 = half[4 * i + 2]
            m3 = half[4 * i + 3]
            if row < y.shape[2]:
                y[image, made, row, first_column] = m0 + m1 + m2
                if first_column + 1 < y.shape[3]:
                    y[image, made, row, first_column + 1] = m1 - m2 - m3


def winograd_launches(call: Call, allocate: Callable[[int], Storage], lowering: Lowering) -> list[Launch]:
    """The launches of `WinogradConvolution`."""
    launches, algorithm = Launches(allocate, lowering), call.algorithm
    assert isinstance(algorithm, WinogradConvolution)
    x, w, y = map(_plain, (*call.operands, call.result))
    dtype, (batch, channels), made = x.dtype, x.shape[:2], w.shape[0]
    assert w.shape[2:] == (TAPS, TAPS)
    down, across = (-(-length // MADE) for length in y.shape[2:])
    u = launches.scratch(dtype, (_PLACES, made, channels))
    items = min(256, lowering.target.group_size)
    sizes = {"down": down, "across": across}
    around = {"top": algorithm.before[0], "left": algorithm.before[1]}

    def launch(function: Callable[..., None], count: int, arrays: dict[str, Buffer], sizes: dict[str, int]) -> None:
        launches.kernel(function, -(-count // items), items, arrays, sizes=sizes, exchanges=False, dtype=dtype)

    launch(transform_weights, made * channels, {"w": w, "u": u}, {})
    parts = -(-batch // max(1, MOST_TILES // (max(channels, made) * down * across)))
    images = -(-batch // parts)
    memory = launches.scratch(dtype, (_PLACES * channels * images * down * across,))
    for first in range(0, batch, images):
        last = min(first + images, batch)
        tiles = (last - first) * down * across
        v = buffer(memory.storage, dtype, Layout.contiguous((_PLACES, channels, tiles)))
        launch(transform_tiles, channels * tiles, {"x": _images(x, first, last), "v": v}, sizes | around)
        m = launches.product(u, v)
        launch(transform_results, made * tiles, {"m": m, "y": _images(y, first, last)}, sizes)
    return launches.made


def _images(array: Buffer, first: int, last: int) -> Buffer:
    """Some images of a batch."""
    layout = array.layout
    shape, offset = (last - first, *layout.shape[1:]), layout.offset + first * layout.strides[0]
    return buffer(array.storage, array.dtype, Layout(shape, layout.strides, offset))


def _plain(array: Buffer) -> Buffer:
    """An array whose sizes are numbers."""
    shape = tuple(map(int, array.shape))
    return buffer(array.storage, array.dtype, Layout(shape, Layout.contiguous(shape).strides, array.layout.offset))
