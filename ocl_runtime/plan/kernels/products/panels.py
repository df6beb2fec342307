"""Launches of the kernels in which packed panels are multiplied: for CPUs, and matrices that are worth packing (Goto
and van de Geijn, Anatomy of high-performance matrix multiplication, 2008; Van Zee and van de Geijn, BLIS, 2015).

Operands are packed by a launch of its own (`products.packing`), whatever their strides; a second one multiplies. A
right matrix that few rows meet, or that is no matrix in memory, is read where it lies.
How sums are added up follows from the shapes, the dtype and the target; how many tiles and panels a work-item has does
not matter for that. Where k is too long to be accurate, or the result has too few blocks to keep all cores busy, k is
split into parts of whole slices, and a reduction joins these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple, Self

from ocl_ir.graph.build import Buffer, Storage
from ocl_ir.layout import Layout
from ocl_ir.types import LANES
from ocl_runtime.plan.fusion.values import Product, Split, Value, dtype_of, leaf_layouts
from ocl_runtime.plan.kernels.accesses import reached, stored_at
from ocl_runtime.plan.kernels.form import Output, Parameters, index_dtype
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
_MOST_ROWS_OF_OTHERS = 64
"""The same where elements are converted as they are read, which each tile of rows does again: 16 to 64 rows of halves
took 0.25 to 0.75 times as long as in blocks, 128 0.95 to 1.1 times as long as packed."""
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
    """Whether the right matrix is read where it lies: its columns lie next to each other, there are at least as many as
    a panel has, and packing would take longer, for few rows or since it would have to be copied before. Sums are the
    same either way."""
    (_, n, _), (left, right) = contraction.sizes, contraction.sides
    is_line = right.split.columns == 1 and right.split.padding is None and right.leaf.layout.strides[-1] == 1
    fits = left.split == Split() and not right.computed and n >= SHAPES[-1].vectors * _lanes(contraction, target)
    return is_line and fits and is_flat(contraction)


def is_flat(contraction: Contraction) -> bool:
    """Whether there are so few rows for each element of the right matrix that it is not worth packing, or it is no
    matrix in memory: whatever its strides are, so that these change no sum."""
    same = contraction.right.source.dtype is contraction.accumulator
    most = _MOST_ROWS_IN_PLACE if same else _MOST_ROWS_OF_OTHERS
    return contraction.sizes[0] <= most or is_lines(contraction)


def shape_fits(vectors: int, contraction: Contraction, target: Target) -> bool:
    """Whether panels of so many vectors are no wider than a right matrix that may be read where it lies."""
    return not is_flat(contraction) or vectors * _lanes(contraction, target) <= contraction.sizes[1]


def is_lines(contraction: Contraction) -> bool:
    """Whether rows of the right matrix are several axes in memory, as those of the windows of a convolution are: other
    kernels than this would have to copy it."""
    return contraction.splits[1].rows > 1


def _elements(side: Side) -> int:
    """How many elements an operand has that differ: it is packed once for all places of an axis in front along which it
    is the same."""
    axes = zip(side.leaf.layout.shape, side.leaf.layout.strides, strict=True)
    return math.prod(length for axis, (length, stride) in enumerate(axes) if stride or axis >= side.front)


def panel_launches(
    contraction: Contraction,
    elements: Elements,
    allocate: Callable[[int], Storage],
    lowering: Lowering,
    shape: tuple[int, int] | None = None,
) -> list[Launch]:
    """Two or more launches that multiply, and compute what there is of each element; by a register block of so many
    rows and vectors, if one is given."""
    target, accumulator, batch = lowering.target, contraction.accumulator, contraction.batch
    panel = chosen(contraction, target, shape)
    grid = _Grid.of(contraction, panel, target)
    stored = elements
    if grid.parts > 1:
        between = allocate(grid.parts * math.prod(elements.shape) * accumulator.size)
        output = Output(0, Layout.contiguous(elements.shape), between, accumulator)
        stored = Elements((Product(accumulator),), (output,), elements.shape)
    layouts = [layout for side in contraction.sides for layout in leaf_layouts(side.values)]
    results = [*leaf_layouts(stored.values), *(output.layout for output in stored.outputs)]
    front, read, each = collapsed(len(batch), layouts, results, grid.parts)
    if grid.parts > 1:
        each[0] = replace(each[0], strides=(math.prod(elements.shape), *each[0].strides[1:]))
    sources = sources_of(contraction, read, lowering)
    right = read[-1] if reads_in_place(contraction, target) else None
    packing, packed = pack(sources if right is None else sources[:1], panel, accumulator, allocate, lowering)

    multiplied = [operand.layout for operand in packed] + ([] if right is None else [right])
    parameters = Parameters(index_dtype((*each, *multiplied), *grid.ends(panel)), math.prod(elements.shape))
    for name, size in grid.sizes().items():
        parameters.size(name, size)
    for axis, length in enumerate(front):
        parameters.size(f"n{axis}", length)
    names = leaf_names((*contraction.leaves, *stored.values), lowering.names)
    accesses = [
        parameters.memory(name, accumulator, storage, layout, layout.ndim - 1, panel.lanes, general=True)
        for name, (storage, layout) in zip(names[:2], packed, strict=False)
    ]
    lines = None
    if right is not None:
        source, lane = contraction.right.source, right.ndim - 1
        assert isinstance(source, Buffer)
        accesses.append(parameters.memory(names[1], source.dtype, source.storage, right, lane, 1, general=True))
        lines = digits_of(parameters, names[1], right, range(len(front), lane))
    form = PanelForm(
        left=accesses[0],
        right=accesses[1],
        values=reached(stored.values, names[2:], each, parameters, 1, general=True),
        outputs=stored_at(parameters, stored.outputs, each[-len(stored.outputs) :]),
        lanes=panel.lanes if _in_vectors(stored.values, each) else 1,
        specs=tuple(parameters.specs),
        batch=len(front),
        panel=panel,
        accumulator=accumulator,
        index=parameters.index,
        fp16=target.fp16,
        lines=lines,
    )
    kernel = lowering.kernels.get(form, build)
    launch = Launch(kernel, tuple(parameters.args), (grid.groups, 1, 1), (1, 1, 1), lowering.where)
    if grid.parts == 1:
        return [packing, launch]
    joined = sum_of_parts(between, elements, grid.parts, contraction, target)
    return [packing, launch, *reduce_launches(joined, allocate, lowering)]


class _Grid(NamedTuple):
    """The work-items of a product: `matrices` of `m` rows and `n` columns, each in blocks of tiles and panels, and the
    inner axis of length `k` in slices, of which a part has several."""

    matrices: int
    m: int
    n: int
    k: int
    slices: int
    slices_each: int
    tiles: int
    tiles_each: int
    panels: int
    panels_each: int

    @classmethod
    def of(cls, contraction: Contraction, panel: Panel, target: Target) -> Self:
        """Blocks and parts for a size."""
        matrices, (m, n, k) = math.prod(contraction.batch), contraction.sizes
        tiles, panels, slices = -(-m // panel.rows), -(-n // panel.columns), -(-k // panel.depth)
        down, across = _block(tiles, panels, matrices, panel, target)
        wanted = -(-target.compute_units // (matrices * -(-tiles // down) * -(-panels // across)))
        _, per = parts_of(k, wanted, _LEAST_PART)
        return cls(matrices, m, n, k, slices, -(-per // panel.depth), tiles, down, panels, across)

    @property
    def parts(self) -> int:
        """Of the inner axis."""
        return -(-self.slices // self.slices_each)

    @property
    def blocks(self) -> tuple[int, int]:
        """Of tiles down and of panels across."""
        return -(-self.tiles // self.tiles_each), -(-self.panels // self.panels_each)

    @property
    def groups(self) -> int:
        """All work-items, which are alone in their groups."""
        return self.matrices * self.parts * math.prod(self.blocks)

    def ends(self, panel: Panel) -> tuple[int, ...]:
        """What indices of the kernel stay below."""
        columns, rows = panel.columns * self.panels_each, panel.rows * self.tiles_each
        return self.groups, self.k + panel.depth, self.n + columns, self.m + rows

    def sizes(self) -> dict[str, int]:
        """What the kernel is told, by name."""
        down, across = self.blocks
        told = self._asdict() | {"blocks_down": down, "blocks_across": across}
        del told["matrices"]
        return told


def _in_vectors(values: Sequence[Value], layouts: Sequence[Layout]) -> bool:
    """Whether what is computed of the product can be in vectors of neighbouring columns."""
    is_real = not any(dtype_of(value).is_complex for value in values)
    return is_real and all(layout.strides[-1] in (0, 1) for layout in layouts)


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
        if not shape_fits(shape.vectors, contraction, target):
            assert only is None, "it is none of the variants"
            continue
        columns = shape.vectors * lanes
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
