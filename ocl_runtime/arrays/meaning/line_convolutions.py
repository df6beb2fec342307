"""Convolutions whose windows are lines in memory, for who multiplies vectors of neighbours.

A window begins at each place of the axes behind the first, even where it reaches over their ends. So the windows are as
many neighbours, and what an element is in all of them is a line. Those that nobody wants are left out of the result by
a view.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node, Step
from ocl_ir.indices import Span
from ocl_ir.layout import Layout
from ocl_ir.source_line import Where
from ocl_runtime.arrays.meaning.convolutions import is_channels_last, padded
from ocl_runtime.arrays.meaning.precision import in_tf32
from ocl_runtime.arrays.meaning.taps import Taps

_MOST_MORE = 2
"""Windows that are computed for each that is wanted, at most."""


def convolution_of_lines(x: Node, weights: Node, taps: Sequence[Taps], groups: int, where: Where) -> Node | None:
    """The convolution, as of `convolutions.convolution`, from one padded copy of `x`; None where its windows are moved
    by more than 1, are lines anyway, or would be too many, and where there is nothing to multiply."""
    (batch, *_), (made, of_group) = x.shape, weights.shape[:2]
    lengths = [each.before + length + each.behind for each, length in zip(taps, x.shape[2:], strict=True)]
    counts = [length - each.reach + 1 for each, length in zip(taps, lengths, strict=True)]
    are_lines = len(taps) == 1 or all(each.length == 1 for each in taps)
    if are_lines or any(each.stride != 1 for each in taps) or is_channels_last(x) or made <= groups:
        return None
    if math.prod(lengths[1:]) > _MOST_MORE * math.prod(counts[1:]):
        return None
    per, taken, wide = made // groups, math.prod(weights.shape[1:]), (counts[0], *lengths[1:])
    around = [taps[0]._replace(behind=taps[0].behind + 1), *taps[1:]]
    seen = graph.reshape(padded(x, around, where), (batch, groups, of_group, lengths[0] + 1, *lengths[1:]))
    columns = graph.reshape(lines(seen, taps, where), (batch, groups, taken, math.prod(wide)))
    rows = graph.expand(graph.reshape(weights, (groups, per, taken)), (batch, groups, per, taken), where)
    product = graph.reshape(graph.contract(rows, columns, where, tf32=in_tf32()), (batch, made, *wide))
    return graph.index(product, tuple(map(_whole, (batch, made, *counts))), where)


def lines(x: Node, taps: Sequence[Taps], where: Where) -> Node:
    """The windows that are moved by 1 over the last axes of a node, which has what is around them, and one more place
    along the first of these: a view with the axes in front, those of the elements of a window, and one of windows."""
    front = len(x.shape) - len(taps)
    steps = Layout.contiguous(x.shape[front:]).strides
    places = (x.shape[front] - taps[0].reach) * steps[0]
    x = graph.reshape(x, (*x.shape[:front], math.prod(x.shape[front:])))
    x = _moved(x, places, where)
    x = graph.permute(x, (*range(front), front + 1, front))  # places, and what is behind them
    for each, step in zip(taps, steps, strict=True):
        x = _moved(x, (each.reach - 1) * step + 1, where)
        x = graph.index(x, (*map(_whole, x.shape[:-1]), Span(0, each.dilation * step, each.length)), where)
        *before, places_axis, behind, element = range(len(x.shape))
        x = graph.permute(x, (*before, element, places_axis, behind))
    return graph.index(x, (*map(_whole, x.shape[:-1]), 0), where)


def _moved(x: Node, length: int, where: Where) -> Node:
    """All windows of a length over the last axis."""
    count = x.shape[-1] - length + 1
    return graph.move(x, Step("windows", (count, length)), (*x.shape[:-1], count, length), where)


def _whole(length: int) -> Span:
    return Span(0, 1, length)
