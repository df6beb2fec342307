"""Launches of the kernels in which packed panels are multiplied: for CPUs, and matrices that are worth packing (Goto
and van de Geijn, Anatomy of high-performance matrix multiplication, 2008; Van Zee and van de Geijn, BLIS, 2015).

Both operands are packed by a launch of its own (`products.packing`), whatever their strides; a second one multiplies.
How sums are added up follows from the shapes, the dtype and the target; how many tiles and panels a work-item has does
not matter for that. Where k is too long to be accurate, or the result has too few blocks to keep all cores busy, k is
split into parts of whole slices, and a reduction joins these.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from ocl_ir.graph.build import Buffer, Storage
from ocl_ir.types import LANES
from ocl_runtime.plan.fusion.values import Split, leaf_layouts
from ocl_runtime.plan.kernels.form import Parameters, index_dtype
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.kernels.naming import leaf_names
from ocl_runtime.plan.kernels.products.contraction import Contraction, Elements, Side, collapsed, parts_of, sum_of_parts
from ocl_runtime.plan.kernels.products.packing import pack, sources_of
from ocl_runtime.plan.kernels.products.panel import Panel
from ocl_runtime.plan.kernels.products.panel_kernel import PanelForm, build
from ocl_runtime.plan.kernels.products.stage import digits_of
from ocl_runtime.plan.kernels.reduce import reduce_launches
from ocl_runtime.plan.launch import Launch
from ocl_runtime.plan.target import Target

_SLICE_BYTES = 1536
"""Of a row of a slice: a chunk of a panel is 96 kB then, a tile's fits the first cache, and rows are no power of two
apart. Half of it took 3 to 20% longer (1024 of each, float32 and float64, Intel's driver and PoCL)."""
_LOCAL_BYTES = 96 << 10
"""Of sums between two slices; half a core's cache is left to chunks."""
_LEAST_PART = 512
"""Products below which a part is not worth the reduction that joins it."""
_LEAST_REUSE = 64
"""Multiplications for each element that is packed, below which blocks that read operands where they lie take less time:
64 by 100,000 by 64 took half as long in blocks (2 cores, Intel's driver and PoCL), 256 of each twice as long."""
_LEAST_REUSE_OF_ONE = 192
"""The same where the left matrix alone is packed: 32 by 50,000 by 128 took 0.8 to 1.2 times as long, 100 by 100 by
10,000 0.9 times."""
_LEAST_REUSE_OF_LINES = 16
"""And where blocks would multiply a copy of the right one."""
_MOST_ROWS_IN_PLACE = 256
"""Of the left matrix, up to which the right one is read where it lies: 16 to 64 rows took 0.35 to 0.7 times as long as
packed, 256 0.9 to 1 times, 1000, where columns do not begin at multiples of a cache line, up to 1.4 times (2 cores,
Intel's driver and PoCL)."""
_LEAST_WORK = 1 << 22
"""Multiplications below which a second launch takes longer than packing saves."""
_BLOCKS_PER_UNIT = 4
"""Blocks of the result for each core, so that all of them end about the same time."""


class _Shape(NamedTuple):
    """A register block; `speed`: how fast a core is with it, beside the fastest."""

    rows: int
    vectors: int
    speed: float


SHAPES = (_Shape(6, 4, 1.0), _Shape(8, 2, 0.97))


def uses_panels(contraction: Contraction, target: Target) -> bool:
    """Whether operands are packed, on a device and for a size for which that is worth it."""
    m, n, k = contraction.sizes
    if target.kind != "cpu" or contraction.accumulator.is_complex:
        return False  # complex numbers leave too few registers
    lanes = _lanes(contraction, target)
    block = SHAPES[0].rows * SHAPES[0].vectors * lanes * contraction.accumulator.size
    if lanes == 1 or n < SHAPES[-1].vectors * lanes or block > target.local_bytes:
        return False
    left, right = (_elements(side) for side in contraction.sides)
    work = math.prod(contraction.batch) * m * n * k
    if is_lines(contraction):
        least = _LEAST_REUSE_OF_LINES * left
    else:
        least = _LEAST_REUSE_OF_ONE * left if is_flat(contraction) else _LEAST_REUSE * (left + right)
    return work >= max(_LEAST_WORK, least)


def reads_in_place(contraction: Contraction, target: Target) -> bool:
    """Whether the right matrix is read where it lies: it has the dtype of the sums, its columns lie next to each other,
    and there are at least as many as a panel has; and packing would take longer, for few rows or since it would have to
    be copied before. Sums are the same either way."""
    (_, n, _), (left, right) = contraction.sizes, contraction.sides
    is_line = right.split.columns == 1 and right.split.padding is None and right.leaf.layout.strides[-1] == 1
    fits = left.split == Split() and not right.computed and n >= SHAPES[-1].vectors * _lanes(contraction, target)
    return is_line and fits and is_flat(contraction)


def is_flat(contraction: Contraction) -> bool:
    """Whether there are so few rows for each element of the right matrix that it is not worth packing, or it is no
    matrix in memory: whatever its strides are, so that these change no sum."""
    few = contraction.sizes[0] <= _MOST_ROWS_IN_PLACE or is_lines(contraction)
    return few and contraction.right.source.dtype is contraction.accumulator


def is_lines(contraction: Contraction) -> bool:
    """Whether rows of the right matrix are several axes in memory, as those of the windows of a convolution are: other
    kernels than this would have to copy it."""
    return contraction.splits[1].rows > 1


def _elements(side: Side) -> int:
    """How many elements an operand has that differ: it is packed once for all places of an axis in front along which it
    is the same."""
    lies = zip(side.leaf.layout.shape, side.leaf.layout.strides, strict=True)
    return math.prod(length for axis, (length, stride) in enumerate(lies) if stride or axis >= side.front)


def panel_launches(
    contraction: Contraction,
    elements: Elements,
    allocate: Callable[[int], Storage],
    lowering: Lowering,
    shape: tuple[int, int] | None = None,
) -> list[Launch]:
    """Two or more launches that multiply, and store the product itself; by a register block of so many rows and
    vectors, if one is given."""
    assert elements.is_bare
    target, accumulator = lowering.target, contraction.accumulator
    batch, (m, n, k) = contraction.batch, contraction.sizes
    (output,), panel = elements.outputs, chosen(contraction, target, shape)
    tiles, panels, slices = -(-m // panel.rows), -(-n // panel.columns), -(-k // panel.depth)
    tiles_each, panels_each = _block(tiles, panels, math.prod(batch), panel, target)
    blocks = -(-tiles // tiles_each), -(-panels // panels_each)
    wanted = -(-target.compute_units // (math.prod(batch) * blocks[0] * blocks[1]))
    _, per = parts_of(k, wanted, _LEAST_PART)
    slices_each = -(-per // panel.depth)
    parts = -(-slices // slices_each)

    whole, in_place = (*batch, m, n), reads_in_place(contraction, target)
    dtype = contraction.dtype if parts == 1 else accumulator
    to = output.storage if parts == 1 else allocate(parts * math.prod(whole) * dtype.size)
    layouts = [leaf_layouts(side.values) for side in contraction.sides]
    front, read, (element,) = collapsed(len(batch), [*layouts[0], *layouts[1]], [output.layout], parts)
    sources = sources_of(contraction, read, lowering)
    packing, packed = pack(sources[:1] if in_place else sources, panel, accumulator, allocate, lowering)
    names, right = leaf_names(contraction.leaves, lowering.names), read[-1]
    result = replace(element, strides=(math.prod(whole), *element.strides[1:]))
    groups = math.prod(batch) * parts * blocks[0] * blocks[1]
    counts = (groups, k + panel.depth, n + panel.columns * panels_each, m + panel.rows * tiles_each)
    multiplied = [operand.layout for operand in packed] + ([right] if in_place else [])
    parameters = Parameters(index_dtype((result, *multiplied), *counts), groups)
    sizes = {
        "m": m, "n": n, "k": k, "slices": slices, "slices_each": slices_each, "tiles": tiles, "tiles_each": tiles_each,
        "panels": panels, "panels_each": panels_each, "blocks_down": blocks[0], "blocks_across": blocks[1],
    }  # fmt: skip
    for name, size in sizes.items():
        parameters.size(name, size)
    for axis, length in enumerate(front):
        parameters.size(f"n{axis}", length)
    accesses = [
        parameters.memory(
            name, accumulator, operand.storage, operand.layout, operand.layout.ndim - 1, panel.lanes, general=True
        )
        for name, operand in zip(names, packed, strict=False)
    ]
    lines = None
    if in_place:
        source = contraction.right.source
        assert isinstance(source, Buffer)
        lane = right.ndim - 1
        accesses.append(parameters.memory(names[1], accumulator, source.storage, right, lane, 1, general=True))
        lines = digits_of(parameters, names[1], right, range(len(front), lane))
    form = PanelForm(
        left=accesses[0],
        right=accesses[1],
        result=parameters.memory("y", dtype, to, result, result.ndim - 1, 1, general=True),
        specs=tuple(parameters.specs),
        batch=len(front),
        panel=panel,
        accumulator=accumulator,
        index=parameters.index,
        fp16=target.fp16,
        lines=lines,
    )
    kernel = lowering.kernels.get(form, build)
    launch = Launch(kernel, tuple(parameters.args), (groups, 1, 1), (1, 1, 1), lowering.where)
    launches = [packing, launch]
    if parts == 1:
        return launches
    joined = sum_of_parts(to, elements, parts, contraction, target)
    return [*launches, *reduce_launches(joined, allocate, lowering)]


def chosen(contraction: Contraction, target: Target, only: tuple[int, int] | None = None) -> Panel:
    """The register block that takes the least time for a size, or the only one, and the slices."""
    m, n, k = contraction.sizes
    lanes, size = _lanes(contraction, target), contraction.accumulator.size
    deepest = max(lanes, _SLICE_BYTES // size // lanes * lanes)
    depth = next((depth for depth in (deepest // 3, deepest * 2 // 3) if k <= depth and depth % lanes == 0), deepest)
    best, least = SHAPES[0], 0.0
    for shape in SHAPES:
        if only not in (None, (shape.rows, shape.vectors)):
            continue
        columns = shape.vectors * lanes
        if columns > n and is_flat(contraction):
            continue
        time = -(-m // shape.rows) * shape.rows * -(-n // columns) * columns / shape.speed
        if not least or time < least:
            best, least = shape, time
    room = min(_LOCAL_BYTES, target.local_bytes)
    slots = max(1, room // (best.rows * best.vectors * lanes * size))
    return Panel(best.rows, best.vectors, lanes, depth, slots)


def _block(tiles: int, panels: int, batch: int, panel: Panel, target: Target) -> tuple[int, int]:
    """Tiles and panels of a work-item: as many as have room, and about as many rows as columns, unless cores would have
    nothing to do."""
    wanted = _BLOCKS_PER_UNIT * target.compute_units
    across = max(1, min(4, panel.slots, panels))
    down = max(1, min(panel.slots // across, tiles))
    while batch * -(-tiles // down) * -(-panels // across) < wanted and down * across > 1:
        if across == 1 or (down > 1 and down * panel.rows >= across * panel.columns):
            down = -(-down // 2)
        else:
            across = -(-across // 2)
    # Blocks of equal size, so that none is left with a rest.
    return -(-tiles // -(-tiles // down)), -(-panels // -(-panels // across))


def _lanes(contraction: Contraction, target: Target) -> int:
    return max(1, min(LANES[-1], target.vector_bytes // contraction.accumulator.size))
