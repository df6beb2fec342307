"""Which convolutions are computed by Winograd's method: fewer multiplications, for additions and for memory between.

On GPUs a 3 × 3 kernel that moves by one takes 16 multiplications for 2 × 2 results instead of 36. That pays where there
are enough channels on both sides, since tiles are written down, four times as large as the operand and the result.
In float32 only: halves are multiplied by matrix instructions, faster than tiles could be written, and float64 is for
who wants the roundings of plain sums.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.graph.winograd import MADE, MOST_TILES, TAKEN, TAPS, WinogradConvolution
from ocl_ir.source_line import Where
from ocl_ir.types import F32
from ocl_runtime.arrays.meaning.convolutions import is_channels_last
from ocl_runtime.arrays.meaning.precision import in_tf32
from ocl_runtime.arrays.meaning.taps import Taps

_LEAST_CHANNELS = 48
"""Of the operand and of the result."""
_LEAST_TILES = 256
"""Of all images: columns of the matrices that are multiplied."""
_LEAST_SAVED = 1.5
"""How many times fewer multiplications there have to be: tiles at the edge give results that nobody wants."""
_WORTH = 2**29
"""Multiplications of the convolution as it is written."""


def convolution_by_winograd(x: Node, weights: Node, taps: Sequence[Taps], groups: int, where: Where) -> Node | None:
    """The convolution of what lies channels first, if it is of those that are faster so; None for others. Which ones
    these are follows from shapes, the dtype and the precision."""
    if groups != 1 or x.dtype is not F32 or in_tf32() or len(taps) != 2 or is_channels_last(x):
        return None
    if any((each.length, each.stride, each.dilation) != (TAPS, 1, 1) for each in taps):
        return None
    counts = [each.count(length) for each, length in zip(taps, x.shape[2:], strict=True)]
    (batch, channels), made = x.shape[:2], weights.shape[0]
    of_image, results = math.prod(-(-count // MADE) for count in counts), batch * math.prod(counts)
    tiles = batch * of_image
    if min(channels, made) < _LEAST_CHANNELS or tiles < _LEAST_TILES or results * weights.size < _WORTH:
        return None
    if tiles * TAKEN**2 * _LEAST_SAVED > results * TAPS**2 or max(channels, made) * of_image > MOST_TILES:
        return None
    down, across = taps
    algorithm = WinogradConvolution((down.before, across.before), (down.behind, across.behind))
    return graph.custom_call(algorithm, x, weights, where=where)
