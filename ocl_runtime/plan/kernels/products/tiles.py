"""Launches of the kernels in which each work-group has a tile of the result, and which tile that is.

Every choice follows from shapes, dtypes and the target only, so that the same product has the same bits wherever its
operands lie.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from ocl_ir.graph.build import Buffer, Storage
from ocl_ir.kernel.asynchronous import MAP_WORDS
from ocl_ir.layout import Layout
from ocl_ir.types import BF16, F16, U32, Pointer
from ocl_runtime.plan.fusion.values import Product, leaf_layouts
from ocl_runtime.plan.kernels.accesses import reached, stored_at
from ocl_runtime.plan.kernels.form import Output, Parameters, aligned, index_dtype, lanes_for, rounded_up
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.kernels.naming import leaf_names
from ocl_runtime.plan.kernels.products.candidates import (
    box_width,
    chosen,
    is_turned,
    resident_groups,
    tile_parts,
    tiles,
    width,
)
from ocl_runtime.plan.kernels.products.contraction import Contraction, Elements, Side, collapsed, sum_of_parts
from ocl_runtime.plan.kernels.products.maps_kernel import GROUP, MapsForm
from ocl_runtime.plan.kernels.products.maps_kernel import build as build_maps
from ocl_runtime.plan.kernels.products.matrix import loaded_dtype
from ocl_runtime.plan.kernels.products.stage import Operand, digits_of
from ocl_runtime.plan.kernels.products.tile import UNIT_BYTES, AnyTile, MatrixTile, Tile, WarpgroupTile
from ocl_runtime.plan.kernels.products.tile_kernel import TileForm, build, exchanges
from ocl_runtime.plan.kernels.products.warpgroup import MOST_LANES
from ocl_runtime.plan.kernels.reduce import reduce_launches
from ocl_runtime.plan.launch import Address, Launch
from ocl_runtime.plan.target import Target

_LEAST_SIDE = 16
"""Rows and columns below which most of any tile would lie outside, which pays only for a long inner axis."""
_LONG = 256
"""The inner axis for which the memory that is read takes longer than what lies outside."""
_MAP_BYTES = 2 * MAP_WORDS * U32.size
"""Of the descriptions of both matrices of a product."""
_RASTER, _RASTER_ROWS = 16, 2048
"""Rows of tiles, and of results, that groups go down before they go across: what they share of both operands stays in
the cache."""


def uses_tiles(contraction: Contraction, target: Target) -> bool:
    """Whether work-groups have tiles, on a device and for a size for which that is worth it."""
    m, n, k = contraction.sizes
    fills = max(m, n) >= _LEAST_SIDE and (min(m, n) >= _LEAST_SIDE or k >= _LONG)
    return target.kind == "gpu" and fills and any(tiles(contraction, target))


def tile_launches(
    contraction: Contraction,
    elements: Elements,
    allocate: Callable[[int], Storage],
    lowering: Lowering,
    tile_and_parts: tuple[AnyTile, int] | None = None,
) -> list[Launch]:
    """One to four launches that multiply, and compute what there is of each element, by a tile and a number of parts,
    or those `chosen`."""
    target = lowering.target
    batch, (m, n, k) = contraction.batch, contraction.sizes
    tile, wanted = tile_and_parts or chosen(contraction, target)
    parts, per = tile_parts(k, wanted, tile)
    stored = elements
    if parts > 1:
        between = allocate(parts * math.prod(elements.shape) * contraction.accumulator.size)
        output = Output(0, Layout.contiguous(elements.shape), between, contraction.accumulator)
        stored = Elements((Product(contraction.accumulator),), (output,), elements.shape)
    operand_layouts = [layout for side in contraction.sides for layout in (side.leaf.layout, *_bounds(side))]
    shape, joined, each = collapsed(
        len(batch),
        operand_layouts,
        [*leaf_layouts(stored.values), *(output.layout for output in stored.outputs)],
        parts,
    )
    if parts > 1:
        each[0] = replace(each[0], strides=(math.prod(elements.shape), *each[0].strides[1:]))
    sides = _over(contraction.sides, joined)
    down, across, matrices = -(-m // tile.rows), -(-n // tile.columns), math.prod(batch)
    groups = matrices * parts * down * across
    counts = (groups * max(tile.items, 2 * MAP_WORDS), k + per, n + tile.columns, m + tile.rows)
    index = index_dtype((*joined, *each), *counts)
    names = leaf_names((*contraction.leaves, *stored.values), lowering.names)
    made: list[Launch] = []
    boxes = isinstance(tile, WarpgroupTile) and tile.boxes
    maps = (
        Address(allocate(matrices * _MAP_BYTES), Layout.contiguous((matrices * _MAP_BYTES // U32.size,)))
        if boxes
        else None
    )

    def common(parameters: Parameters) -> tuple[Operand, Operand]:
        """What both kernels take: sizes and operands."""
        for name, size in (("m", m), ("n", n), ("k", k), ("matrices", matrices)):
            parameters.size(name, size)
        for axis, length in enumerate(shape):
            parameters.size(f"n{axis}", length)
        first, second = (_operand(parameters, name, side, tile) for name, side in zip(names[:2], sides, strict=True))
        if maps is not None:
            parameters.pointer("maps", Pointer(U32, align=MAP_WORDS * U32.size), maps)
        return first, second

    if isinstance(tile, WarpgroupTile) and tile.boxes:
        describing = Parameters(index, matrices)
        operands = common(describing)
        maps_form = MapsForm(*operands, tuple(describing.specs), len(shape), tile, index, target.fp16)
        made.append(_describing_launch(maps_form, describing, matrices, lowering))

    parameters = Parameters(index, groups * tile.items)
    operands = common(parameters)
    for name, size in (
        ("per", per),
        ("tiles_down", down),
        ("tiles_across", across),
        ("raster", min(_RASTER, _RASTER_ROWS // tile.rows, down)),
    ):
        parameters.size(name, size)
    launched = groups
    if isinstance(tile, WarpgroupTile) and boxes:  # a unit of the device has some groups, which go from tile to tile
        parameters.size("tiles", groups)
        length = tile.steps_length if exchanges(tile, stored.values) else tile.local_length
        resident = resident_groups(tile, length * tile.word.size, target.tile_bytes)
        launched = min(groups, target.compute_units * resident)
    results = each[-len(stored.outputs) :]
    lanes = _lanes(stored, results, n, target)
    packed = _packs(tile, stored, lanes)
    terms = reached(stored.values, names[2:], each, parameters, lanes)
    if packed:
        outputs = stored_at(parameters, *_in_pairs(stored.outputs, results), lanes // 2)
    else:
        outputs = stored_at(parameters, stored.outputs, results, lanes)
    form = TileForm(
        left=operands[0],
        right=operands[1],
        values=terms,
        outputs=outputs,
        specs=tuple(parameters.specs),
        batch=len(shape),
        tile=tile,
        lanes=lanes,
        packed=packed,
        index=index,
        fp16=target.fp16,
    )
    kernel = lowering.kernels.get(form, build)
    sizes = (launched * tile.items, 1, 1), (tile.items, 1, 1)
    made.append(Launch(kernel, tuple(parameters.args), *sizes, lowering.where))
    if parts > 1:
        added = sum_of_parts(between, elements, parts, contraction, target)
        made += reduce_launches(added, allocate, lowering)
    return made


def _describing_launch(form: MapsForm, parameters: Parameters, matrices: int, lowering: Lowering) -> Launch:
    """The launch that describes the operands of all products to the units that copy boxes of them."""
    kernel, items = lowering.kernels.get(form, build_maps), rounded_up(matrices, GROUP)
    return Launch(kernel, tuple(parameters.args), (items, 1, 1), (GROUP, 1, 1), lowering.where)


def _lanes(stored: Elements, results: Sequence[Layout], columns: int, target: Target) -> int:
    """Neighbouring results that are computed and stored together: as many as 16 bytes have, or half as many again and
    again, until all rows are made of whole such units."""
    dtypes = [output.dtype for output in stored.outputs]
    lanes = lanes_for(stored.values, dtypes, replace(target, vector_bytes=UNIT_BYTES))
    while lanes > 1 and not (columns % lanes == 0 and all(aligned(each, each.ndim - 1, lanes) for each in results)):
        lanes //= 2
    return lanes


def _packs(tile: AnyTile, stored: Elements, lanes: int) -> bool:
    """Whether results are stored as words of two halves: those of the product alone, in whole units of 16 bytes."""
    product, *more = stored.values
    assert isinstance(product, Product)
    return not more and product.dtype in (F16, BF16) and lanes == MOST_LANES and exchanges(tile, stored.values)


def _in_pairs(outputs: Sequence[Output], layouts: Sequence[Layout]) -> tuple[list[Output], list[Layout]]:
    """Results in halves as words of two."""
    words = [output._replace(dtype=U32) for output in outputs]
    return words, [_in_words(layout, layout.ndim - 1, 2) for layout in layouts]


def _bounds(side: Side) -> list[Layout]:
    """The places that say whether elements of an operand exist."""
    return [] if side.split.padding is None else [bound for bound, _ in side.split.padding.bounds]


def _over(sides: Iterable[Side], layouts: Iterable[Layout]) -> list[Side]:
    """Operands with other axes in front, by the layouts of each and of its bounds."""
    made, following = [], iter(layouts)
    for side in sides:
        leaf, split = side.leaf._replace(layout=next(following)), side.split
        if split.padding is not None:
            bounds = tuple([(next(following), length) for _, length in split.padding.bounds])
            split = split._replace(padding=split.padding._replace(bounds=bounds))
        made.append(replace(side, leaf=leaf, split=split))
    return made


def _operand(parameters: Parameters, name: str, side: Side, tile: AnyTile) -> Operand:
    """How an operand is read, in accesses as wide as its layout allows."""
    source, layout, padding = side.leaf.source, side.leaf.layout, side.split.padding
    assert isinstance(source, Buffer)
    boxes = isinstance(tile, WarpgroupTile) and tile.boxes
    turned, wide, dtype, lies = is_turned(side), box_width(side) if boxes else width(side), source.dtype, layout
    along, lanes, inside = (side.inner if turned else side.own)[-1], wide, None if padding is None else padding.inside
    if not isinstance(tile, Tile):
        pack = tile.word.size // dtype.size
        dtype = loaded_dtype(tile.dtype, wide=wide > 1) if isinstance(tile, MatrixTile) else tile.word
        if wide > 1:
            lies, lanes = _in_words(layout, along, pack), wide // pack
            if inside is not None:
                inside = Layout((inside.span // pack,), (1,), inside.range()[0] // pack)
    access = parameters.memory(name, dtype, source.storage, lies, along, lanes, general=True, inside=inside)
    own, inner = (digits_of(parameters, name, layout, axes) for axes in (side.own, side.inner))
    bounds = []
    for number, (bound, length) in enumerate(() if padding is None else padding.bounds):
        place = parameters.iota(f"{name}_place{number}", parameters.index, bound)
        parameters.size(f"{name}_end{number}", length)
        bounds.append((place, f"{name}_end{number}"))
    return Operand(access, own, inner, turned, wide, tuple(bounds))


def _in_words(layout: Layout, along: int, pack: int) -> Layout:
    """The layout of words of `pack` elements, which lie next to each other along an axis."""
    shape = tuple(length // pack if axis == along else length for axis, length in enumerate(layout.shape))
    strides = tuple(1 if axis == along else stride // pack for axis, stride in enumerate(layout.strides))
    return Layout(shape, strides, layout.offset // pack)
