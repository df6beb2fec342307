"""A convolution of few channels that moves by more than 1, as one that moves by 1 over more channels.

Along each axis, places whose numbers leave the same rest when divided by the stride are a *phase*. All phases of a
block of places, as long as the stride, become channels of one place ("space to depth"), of the weights, too: there are
fewer places, taps and zeros beside few channels, and whole rows of taps lie next to each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.graph.contiguous import Contiguous
from ocl_ir.layout import Layout
from ocl_ir.source_line import Where
from ocl_ir.types import BOOL, U32
from ocl_runtime.arrays.meaning.taps import Taps


def in_phases(
    x: Node, weights: Node, taps: Sequence[Taps], unit: int, where: Where
) -> tuple[Node, Node, tuple[Taps, ...]] | None:
    """Operands and taps of a convolution with the same values of finite numbers, in phases: x (batch, phases and
    channels, …) with its zeros around, weights (channels of the result, phases and channels, …); both lie channels
    last, in units of so many elements, filled up with zeros. None where that would not multiply less than channels that
    are filled up.

    Where strides do not divide lengths, elements beside a window are multiplied by zero, so that infinities and NaN
    there make its result NaN."""
    channels, strides = weights.shape[1], [each.stride for each in taps]
    if 0 in x.shape or any(each.dilation != 1 for each in taps):
        return None
    made = tuple(Taps(-(-each.length // each.stride)) for each in taps)
    together = -(-channels * math.prod(strides) // unit) * unit
    filled = -(-channels // unit) * unit
    if math.prod(each.length for each in made) * together >= math.prod(each.length for each in taps) * filled:
        return None
    counts = [each.count(length) for each, length in zip(taps, x.shape[2:], strict=True)]
    places = [count + each.length - 1 for count, each in zip(counts, made, strict=True)]
    x = _phases(x, places, strides, [each.before for each in taps], together, where)
    weights = _phases(weights, [each.length for each in made], strides, [0] * len(taps), together, where)
    return x, weights, made


def _phases(
    x: Node, places: Sequence[int], strides: Sequence[int], before: Sequence[int], together: int, where: Where
) -> Node:
    """(front, channels, space…) as (front, `together`, places…) in memory with the channels last: each element chooses
    where it comes from, so that one kernel writes zeros, too."""
    front, channels, *space = x.shape
    shape = (front, *places, together)

    def along(axis: int, step: int = 1) -> Node:
        return graph.iota(
            U32, Layout(shape, tuple(step if number == axis else 0 for number in range(len(shape)))), where
        )

    def by(op: str, left: Node, number: int) -> Node:
        return graph.with_number(op, BOOL if op == "lt" else U32, left, number, where)

    phase = along(len(places) + 1)
    channel, phase = by("urem", phase, channels), by("udiv", phase, channels)
    coordinates = list[Node]()
    for axis, (stride, ahead) in reversed([*enumerate(zip(strides, before, strict=True))]):
        within, phase = by("urem", phase, stride), by("udiv", phase, stride)
        place = graph.pair("add", U32, along(axis + 1, stride), within, where)
        coordinates.insert(0, by("sub", place, ahead))  # what is before the first place is far beyond the last one
    exists = by("lt", phase, 1)
    for coordinate, length in zip(coordinates, space, strict=True):
        exists = graph.pair("and", BOOL, exists, by("lt", coordinate, length), where)
    zero = graph.zeros(U32, shape, where)
    chosen = [graph.typed("select", U32, (exists, each, zero), where) for each in (channel, *coordinates)]
    taken = graph.gather(x, (along(0), *chosen), where)
    made = graph.typed("select", x.dtype, (exists, taken, graph.zeros(x.dtype, shape, where)), where)
    rank = len(shape)
    return graph.permute(graph.custom_call(Contiguous(), made, where=where), (0, rank - 1, *range(1, rank - 1)))
