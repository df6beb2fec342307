"""Decides how running sums and products are computed: how many work-items share a row, and in how many parts.

Along the last axis a row is scanned in tiles, by a team of work-items on a GPU and by one work-item on a CPU. Along
other axes, and where rows are short, one work-item goes through a row. Where rows are too few to keep the device busy
each is split into parts: a first launch reduces every part, a second one scans the totals, and a third one scans the
parts, each from the total of those before it (Blelloch, Prefix sums and their applications, 1990). Where work-groups
may wait for each other, one long row takes a single pass instead (`scan_one_pass.py`).

The order in which the kernels join elements depends on the target, the shape, the axis and the dtype alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ocl_ir.graph.build import ScanOp, Storage, buffer, scalar
from ocl_ir.indices import Shape
from ocl_ir.layout import Layout, collapse
from ocl_ir.types import U64, DType, Pointer
from ocl_runtime.plan.fusion.reduction_order import power_of_two
from ocl_runtime.plan.fusion.values import Leaf, Value, leaf_layouts, table_layouts
from ocl_runtime.plan.kernels.accesses import accesses
from ocl_runtime.plan.kernels.elementwise import elementwise_launch
from ocl_runtime.plan.kernels.form import Output, Parameters, index_dtype, lanes_for, rounded_up
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.kernels.scan_kernel import ScanForm, build
from ocl_runtime.plan.kernels.scan_one_pass import word_count
from ocl_runtime.plan.launch import Address, Launch, Sizes
from ocl_runtime.plan.target import Target

_SHORT = 32
"""Elements of a row up to which one work-item of a CPU takes them one by one."""
_ELEMENTS = 16
"""Elements of a work-item in a tile."""
_LANES = 4
"""Neighbours that a work-item of a GPU reads and writes at once."""
_BLOCK_BYTES = 16
"""Of a block on a GPU: with more, what neighbouring work-items write at once has gaps."""
_WARP = 32
"""Work-items of a team that may as well be there: what a GPU runs together."""
_SPLIT_TILES = 8
"""Tiles of a row from which on three launches take less time than one team that goes through them."""
_MOST_PARTS = 32768
"""Parts of a row without tiles. Their totals are scanned along rows."""


@dataclass(frozen=True, kw_only=True)
class Scanning:
    """What to scan: the last of the values, over `shape`, along `axis`."""

    values: tuple[Value, ...]
    shape: Shape
    axis: int
    op: ScanOp
    accumulator: DType
    dtype: DType


@dataclass(frozen=True, slots=True)
class Tiling:
    """How a row is gone through: a tile has `stripes` blocks of `each` elements for each work-item of a `team`. An
    `each` of 1 stands for a work-item that goes from element to element. Each row has `parts` parts of `per` blocks. A
    group has so many `teams`, where rows have one tile that takes only a part of a group."""

    team: int
    stripes: int
    each: int
    parts: int
    per: int
    teams: int = 1


def tiling(rows: int, length: int, last: bool, accumulator: DType, target: Target) -> Tiling:
    """How rows of a length are gone through, along the last axis or another one."""
    each = _ELEMENTS if target.kind == "cpu" else min(_LANES, _BLOCK_BYTES // accumulator.size)
    if not last or length <= (_SHORT if target.kind == "cpu" else each):
        wanted, least = (4, 4096) if target.kind == "cpu" else (2048, 64)
        parts = min(_MOST_PARTS, max(1, min(-(-wanted * target.compute_units // rows), length // least)))
        per = -(-length // parts)
        return Tiling(1, 1, 1, -(-length // per), per)
    blocks = -(-length // each)
    if target.kind == "cpu":
        parts = max(1, min(-(-4 * target.compute_units // rows), length // 4096))
        per = -(-blocks // parts)
        return Tiling(1, 1, each, -(-blocks // per), per)
    most = _ELEMENTS // each
    team = max(power_of_two(-(-blocks // most), target.group_size), power_of_two(blocks, min(_WARP, target.group_size)))
    stripes = power_of_two(-(-blocks // team), most) if team > 1 else 1
    tiles = -(-blocks // (team * stripes))
    if tiles < _SPLIT_TILES or rows >= 4 * target.compute_units:
        # Of few rows each keeps a group for itself, so that all units have some: two kernels for a length, not more.
        teams = target.group_size // team if team > 1 and rows >= 4 * target.compute_units else 1
        return Tiling(team, stripes, each, 1, blocks, teams)
    return Tiling(team, stripes, each, tiles, team * stripes)


def scan_launches(
    scanning: Scanning,
    storage: Storage,
    allocate: Callable[[int], Storage],
    lowering: Lowering,
) -> list[Launch]:
    """One launch that scans into a dense storage, or several; `allocate` gives memory for what lies between them.

    There are elements. Leaves among the values are buffers, iotas and scalars.
    """
    length = scanning.shape[scanning.axis]
    rows = math.prod(scanning.shape) // length
    last = math.prod(scanning.shape[scanning.axis + 1 :]) == 1
    way = tiling(rows, length, last, scanning.accumulator, lowering.target)

    def launch(kept_dtype: DType, totals: bool, to: Storage, before: Storage | None) -> Launch:
        made = replace(scanning, dtype=kept_dtype)
        return _launch(made, to, before, way, totals, lowering)

    if way.parts == 1:
        return [launch(scanning.dtype, False, storage, None)]
    has_words = scanning.accumulator.size in {4, 8}
    if rows == 1 and way.team > 1 and has_words and lowering.target.group_progress and lowering.target.atomics64:
        return _one_pass(scanning, storage, way, allocate, lowering)
    nbytes = rows * way.parts * scanning.accumulator.size
    totals, before = allocate(nbytes), allocate(nbytes)
    layout = Layout.contiguous((rows, way.parts))
    leaf = Leaf(buffer(totals, scanning.accumulator, layout), layout, False)
    joined = replace(scanning, values=(leaf,), shape=layout.shape, axis=1, dtype=scanning.accumulator)
    return [
        launch(scanning.accumulator, True, totals, None),
        *scan_launches(joined, before, allocate, lowering),
        launch(scanning.dtype, False, storage, before),
    ]


def _one_pass(
    scanning: Scanning,
    storage: Storage,
    way: Tiling,
    allocate: Callable[[int], Storage],
    lowering: Lowering,
) -> list[Launch]:
    """Two launches: one clears the words in which totals are published, the other scans."""
    count = word_count(way.parts, way.team, scanning.accumulator)
    words, layout = allocate(count * U64.size), Layout.contiguous((count,))
    zero = Leaf(scalar(0, U64, (count,)), layout, False)
    output = Output(0, layout, words, U64)
    made = _launch(scanning, storage, None, way, False, lowering, words)
    cleared = elementwise_launch((zero,), (count,), [output], lowering)
    return [cleared, made]


def _launch(
    scanning: Scanning,
    storage: Storage,
    before: Storage | None,
    way: Tiling,
    totals: bool,
    lowering: Lowering,
    words: Storage | None = None,
) -> Launch:
    target, kernels, names, where, _ = lowering
    shape, axis = scanning.shape, scanning.axis
    order = [*(axis_index for axis_index in range(len(shape)) if axis_index != axis), axis]
    layouts = [layout.permute(order) for layout in (*leaf_layouts(scanning.values), Layout.contiguous(shape))]
    kept, kept_layouts = collapse(
        tuple(shape[axis_index] for axis_index in order[:-1]),
        [Layout(layout.shape[:-1], layout.strides[:-1], layout.offset) for layout in layouts],
    )
    length, rows = shape[axis], math.prod(kept)
    *leaves, result = (
        Layout((*kept, length), (*kept_layout.strides, layout.strides[-1]), kept_layout.offset)
        for kept_layout, layout in zip(kept_layouts, layouts, strict=True)
    )
    tiles = way.each > 1
    group: Sizes = (way.team * way.teams, 1, 1) if tiles else _group(rows, way.parts, target)
    global_size: Sizes = (
        rounded_up(rows * way.team if tiles else rows, group[0]),
        rounded_up(way.parts, group[1]),
        1,
    )
    if words is not None:
        global_size = (way.team * way.parts, 1, 1)
    # The ends of a part and of a tile are computed before they are cut to the length of the row.
    reach = (global_size[0], rows * way.parts, ((way.parts + 1) * way.per + way.team * way.stripes) * way.each)
    parameters = Parameters(index_dtype((*leaves, *table_layouts(scanning.values), result), *reach), rows * length)
    for axis_index, size in enumerate(kept):
        parameters.size(f"n{axis_index}", size)
    parameters.size("m", length)
    if tiles:
        parameters.size("blocks", -(-length // way.each))
    parameters.size("per", way.per)
    parameters.size("s", way.parts)
    lanes = _lanes(scanning, [*leaves, result], way, target)
    values = accesses(scanning.values, leaves, parameters, len(kept), lanes, names=names)
    between = Layout.contiguous((rows, way.parts))
    pointer = Pointer(scanning.accumulator, align=scanning.accumulator.size)
    if before is not None:
        parameters.pointer("i", pointer, Address(before, between))
    if words is not None:
        count = word_count(way.parts, way.team, scanning.accumulator)
        parameters.pointer("words", Pointer(U64, align=U64.size), Address(words, Layout.contiguous((count,))))
    if totals:
        access = None
        parameters.pointer("y", pointer, Address(storage, between))
    else:
        access = parameters.memory("y", scanning.dtype, storage, result, len(kept), lanes, general=True)
    form = ScanForm(
        values=values,
        result=access,
        specs=tuple(parameters.specs),
        kept=len(kept),
        team=way.team,
        teams=way.teams,
        stripes=way.stripes,
        each=way.each,
        lanes=lanes,
        op=scanning.op,
        accumulator=scanning.accumulator,
        continued=before is not None,
        one_pass=words is not None,
        index=parameters.index,
        fp16=target.fp16,
    )
    return Launch(kernels.get(form, build), tuple(parameters.args), global_size, group, where)


def _lanes(scanning: Scanning, layouts: Sequence[Layout], way: Tiling, target: Target) -> int:
    """Elements of a block that are read and written at once."""
    if any(layout.strides[-1] not in (0, 1) for layout in layouts):
        return 1
    return min(way.each, max(_LANES, lanes_for(scanning.values, [scanning.dtype], target)))


def _group(rows: int, parts: int, target: Target) -> Sizes:
    """Work-items of a group where they do not work together: of neighbouring rows and, on a GPU where these are few,
    of several parts; on a CPU few enough that all cores have some."""
    most = target.group_size
    while target.kind == "cpu" and most > 1 and most * 4 * target.compute_units > rows * parts:
        most //= 2
    beside = power_of_two(rows, most)
    return beside, power_of_two(parts, most // beside) if target.kind == "gpu" else 1, 1
