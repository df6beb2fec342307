"""What convolutions and windows over several axes mean in nodes.

A convolution is a product of matrices: the weights of a group of channels, times what lies in the window around each
place, a column of channels and taps for each. That matrix is a view of the padded operand, whose axes are only grouped;
kernels of products read such operands where they lie, and nobody writes the matrix down (implicit GEMM: Chetlur et al.,
cuDNN: Efficient Primitives for Deep Learning, 2014). Where a group gives one channel only, there is nothing to multiply
the matrix by again, and the products are added up as those of any other reduction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node, Step
from ocl_ir.graph.contiguous import Contiguous
from ocl_ir.graph.order import order_in_memory
from ocl_ir.indices import Shape, Span
from ocl_ir.layout import Layout
from ocl_ir.source_line import Where
from ocl_ir.types import F32, U32
from ocl_runtime.arrays.meaning.phases import in_phases
from ocl_runtime.arrays.meaning.precision import in_tf32
from ocl_runtime.arrays.meaning.semantics import cast
from ocl_runtime.arrays.meaning.taps import Taps

_UNIT_BYTES = 16
"""That are copied to local memory together."""
_WORTH_COPYING = 2**26
"""Products of a convolution above which other launches take less time than they save."""
_LEAST_SIDE = 16
"""Channels and places of a result below which its products are not multiplied in tiles."""
_MOST_FILLED = 2
"""Zeros beside each channel, up to which multiplying them takes less time than reading channels one by one."""
Copies: TypeAlias = Literal["whole", "filled"] | None
"""Which operands of convolutions are copied so that their channels lie together: those that have whole units of them,
also those that are filled up with zeros, or none."""


def padded(x: Node, taps: Sequence[Taps], where: Where) -> Node:
    """The node with zeros around its last axes."""
    front = len(x.shape) - len(taps)
    if not any(each.before or each.behind for each in taps):
        return x
    lengths = [each.before + length + each.behind for each, length in zip(taps, x.shape[front:], strict=True)]
    shape = (*x.shape[:front], *lengths)
    inside = list(map(_whole, x.shape[:front]))
    inside += [Span(each.before, 1, length) for each, length in zip(taps, x.shape[front:], strict=True)]
    region = Layout.contiguous(shape).index(tuple(inside))
    return graph.assign(graph.zeros(x.dtype, shape, where), region, x, where)


def windows(x: Node, taps: Sequence[Taps], where: Where) -> Node:
    """The windows over the last axes of a node, which has no others around it any more: a view with the axes in front,
    those of the elements of a window, and those of the windows."""
    front, rank = len(x.shape) - len(taps), len(taps)
    for each in taps:  # takes the first of the axes away, and puts windows and their elements behind the others
        x = graph.permute(x, (*range(front), *range(front + 1, len(x.shape)), front))
        count = x.shape[-1] - each.reach + 1
        x = graph.move(x, Step("windows", (count, each.reach)), (*x.shape[:-1], count, each.reach), where)
        chosen = Span(0, each.stride, (count - 1) // each.stride + 1), Span(0, each.dilation, each.length)
        x = graph.index(x, (*map(_whole, x.shape[:-2]), *chosen), where)
    behind = range(front, front + 2 * rank)
    return graph.permute(x, (*range(front), *behind[1::2], *behind[::2]))


def convolution(
    x: Node, weights: Node, taps: Sequence[Taps], groups: int, where: Where, *, copies: Copies = None
) -> Node:
    """The sums of products of weights (channels of the result, channels of a group, …) and what they lie over in `x`
    (…, channels, …), both of one dtype. The result lies as `x` does, channels first or last; so it does, and so do the
    products of each sum follow each other, whether `x` has been computed or not. `copies`: channels of a place can be
    read together, so that operands which do not lie so are copied where that pays; "filled": also those of so few
    channels that zeros are put beside them."""
    counts = tuple(each.count(length) for each, length in zip(taps, x.shape[2:], strict=True))
    batch, made, places = x.shape[0], weights.shape[0], math.prod(counts)
    shape: Shape = (batch, made, *counts)
    per, is_last, rank = made // groups, is_channels_last(x), len(taps)
    copied: tuple[Node, Node, Sequence[Taps]] | None = None
    if copies is not None and min(per, places) >= _LEAST_SIDE and batch * places * weights.size >= _WORTH_COPYING:
        unit = _UNIT_BYTES // x.dtype.size
        if copies == "filled" and groups == 1 and weights.shape[1] < unit:
            copied = in_phases(x, weights, taps, unit, where)
        copied = copied or _in_units(x, weights, taps, places, groups, copies, where)
    if copied is not None:
        x, weights, taps = copied
    channels, of_group, taken = x.shape[1], weights.shape[1], math.prod(weights.shape[1:])
    seen = padded(x, taps, where)
    if groups == 1:  # a new axis is a view of anything
        seen = graph.index(seen, (_whole(batch), None, *map(_whole, seen.shape[1:])), where)
    else:
        seen = graph.reshape(seen, (batch, groups, of_group, *seen.shape[2:]))
    seen = windows(seen, taps, where)  # (batch, groups, channels of a group, taps…, places…)
    if per == 1 and channels:
        return graph.reshape(_added_up(seen, weights, rank, where), shape)
    if groups == 1 and is_last:
        seen = graph.index(seen, (_whole(batch), 0, *map(_whole, seen.shape[2:])), where)
        return _channels_last(seen, weights, shape, where)
    if copied is not None:  # of each sum, all channels of one tap come together
        seen = graph.permute(seen, (0, 1, *range(3, 3 + rank), 2, *range(3 + rank, 3 + 2 * rank)))
        weights = _last(weights)
    rows = graph.expand(graph.reshape(weights, (groups, per, taken)), (batch, groups, per, taken), where)
    columns = graph.reshape(seen, (batch, groups, taken, places))
    return graph.reshape(graph.contract(rows, columns, where, tf32=in_tf32()), shape)


def _in_units(
    x: Node, weights: Node, taps: Sequence[Taps], places: int, groups: int, copies: Copies, where: Where
) -> tuple[Node, Node, Sequence[Taps]] | None:
    """Operands and taps, of copies that lie channels last, in whole units; None where they can be read in units as they
    lie, or cannot be copied so. That views begin elsewhere is not looked at: the order of sums follows from shapes."""
    of_group, unit = weights.shape[1], _UNIT_BYTES // x.dtype.size
    missing, one_tap = -of_group % unit, weights.size == weights.shape[0] * of_group
    is_fillable = copies == "filled" and groups == 1 and of_group < unit and missing <= _MOST_FILLED * of_group
    if missing and not is_fillable:
        return None
    in_rows = one_tap and all(each.stride == 1 and not each.before + each.behind for each in taps)
    if not missing and (is_channels_last(x) or unit == 1 or (in_rows and places % unit == 0)):
        return None
    x = _first(graph.custom_call(Contiguous(), _filled(_last(x), missing, where), where=where))
    if missing or not one_tap:
        weights = _first(graph.custom_call(Contiguous(), _filled(_last(weights), missing, where), where=where))
    return x, weights, taps


def _last(x: Node) -> Node:
    """(…, channels, space…) with the channels last."""
    rank = len(x.shape)
    return graph.permute(x, (0, *range(2, rank), 1))


def _first(x: Node) -> Node:
    """The same the other way round."""
    rank = len(x.shape)
    return graph.permute(x, (0, rank - 1, *range(1, rank - 1)))


def _filled(x: Node, missing: int, where: Where) -> Node:
    """With so many zeros behind the few elements of each row, chosen by their place: so one kernel writes whole units,
    where to write rows into zeros would take two."""
    if not missing:
        return x
    *front, channels = x.shape
    shape: Shape = (*front, channels + missing)
    channel = graph.iota(U32, Layout(shape, (*(0,) * len(front), 1)), where)
    made = graph.zeros(x.dtype, shape, where)
    for number in range(channels):
        is_here = graph.elementwise("eq", channel, graph.scalar(number, U32, shape, where), where=where)
        column = graph.index(x, (*map(_whole, front), Span(number, 1, 1)), where)
        made = graph.typed("select", x.dtype, (is_here, graph.expand(column, shape, where), made), where)
    return made


def is_channels_last(x: Node) -> bool:
    """Whether the channels of each place lie next to each other."""
    order = None if x.flat else order_in_memory((x,))
    return order is not None and order[-1] == 1


def _channels_last(seen: Node, weights: Node, shape: Shape, where: Where) -> Node:
    """The convolution of what lies channels last, which the result does, too: windows (batch, channels, taps…, places…)
    times weights. The places of all windows are rows, and of each sum all channels of one tap come together."""
    rank = len(shape) - 2
    batch, made, *counts = shape
    taken, places = math.prod(weights.shape[1:]), math.prod(counts)
    left = graph.permute(seen, (0, *range(2 + rank, 2 + 2 * rank), *range(2, 2 + rank), 1))
    right = graph.permute(weights, (*range(2, 2 + rank), 1, 0))
    rows, columns = graph.reshape(left, (batch * places, taken)), graph.reshape(right, (taken, made))
    product = graph.contract(rows, columns, where, tf32=in_tf32())
    return graph.permute(graph.reshape(product, (batch, *counts, made)), (0, 1 + rank, *range(1, 1 + rank)))


def _whole(length: int) -> Span:
    return Span(0, 1, length)


def _added_up(seen: Node, weights: Node, rank: int, where: Where) -> Node:
    """The sums of products with one row of weights for each group; half is multiplied and added in float32."""
    dtype = weights.dtype
    wide = F32 if dtype.is_inexact and dtype.bits == 16 else dtype
    rows = graph.reshape(cast(weights, wide), (*weights.shape, *(1,) * rank))
    product = graph.pair("mul", wide, cast(seen, wide), graph.expand(rows, seen.shape, where), where)
    total = graph.reduce("sum", product, tuple(range(2, 3 + rank)), wide, where=where)
    return cast(total, dtype)
