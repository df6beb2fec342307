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
from ocl_runtime.plan.kernels.form import Access, Output, Parameters, aligned, index_dtype, lanes_for, rounded_up
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
from ocl_runtime.plan.kernels.products.tile_kernel import TileForm, build, is_direct
from ocl_runtime.plan.kernels.products.warpgroup import MOST_LANES
from ocl_runtime.plan.kernels.products.windows import windows_of
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
    tile, wanted = tile_and_parts or chosen(contraction, lowering.target)
    parts, per = tile_parts(contraction.sizes[2], wanted, tile)
    if parts == 1:
        return _Multiplication(contraction, elements, tile, parts, per, lowering).launches(allocate)
    between = allocate(parts * math.prod(elements.shape) * contraction.accumulator.size)
    output = Output(0, Layout.contiguous(elements.shape), between, contraction.accumulator)
    stored = Elements((Product(contraction.accumulator),), (output,), elements.shape)
    made = _Multiplication(contraction, stored, tile, parts, per, lowering).launches(allocate)
    added = sum_of_parts(between, elements, parts, contraction, lowering.target)
    return [*made, *reduce_launches(added, allocate, lowering)]


class _Multiplication:
    """A product of which each group has a tile, in so many parts of `per` places of the inner axis."""

    def __init__(
        self, contraction: Contraction, stored: Elements, tile: AnyTile, parts: int, per: int, lowering: Lowering
    ) -> None:
        self._contraction, self._stored, self._lowering = contraction, stored, lowering
        self._tile, self._per, batch, (m, n, k) = tile, per, contraction.batch, contraction.sizes
        operand_layouts = [layout for side in contraction.sides for layout in (side.leaf.layout, *_bounds(side))]
        element_layouts = [*leaf_layouts(stored.values), *(output.layout for output in stored.outputs)]
        self._shape, joined, each = collapsed(len(batch), operand_layouts, element_layouts, parts)
        if parts > 1:
            each[0] = replace(each[0], strides=(math.prod(stored.shape), *each[0].strides[1:]))
        self._elements, self._sides = each, _over(contraction.sides, joined)
        self._down, self._across, self._matrices = -(-m // tile.rows), -(-n // tile.columns), math.prod(batch)
        self._tiles = self._matrices * parts * self._down * self._across
        counts = (self._tiles * max(tile.items, 2 * MAP_WORDS), k + per, n + tile.columns, m + tile.rows)
        self._index = index_dtype((*joined, *each), *counts)
        self._names = leaf_names((*contraction.leaves, *stored.values), lowering.names)
        self._maps: Address | None = None

    def launches(self, allocate: Callable[[int], Storage]) -> list[Launch]:
        """That which multiplies, behind that which describes operands, if boxes of them are copied."""
        tile = self._tile
        if not (isinstance(tile, MatrixTile | WarpgroupTile) and tile.boxes):
            return [self._multiplying()]
        words = self._matrices * _MAP_BYTES // U32.size
        self._maps = Address(allocate(self._matrices * _MAP_BYTES), Layout.contiguous((words,)))
        return [self._describing(tile), self._multiplying()]

    def _describing(self, tile: MatrixTile | WarpgroupTile) -> Launch:
        """The launch that describes the operands of all products to the units that copy boxes of them."""
        parameters, lowering = Parameters(self._index, self._matrices), self._lowering
        operands, fp16 = self._common(parameters), lowering.target.fp16
        for name, side, operand in zip(self._names[:2], self._sides, operands, strict=True):
            if operand.windows is not None:
                windows = windows_of(side)
                assert windows is not None, "it has them where its axes are"
                windows.add_sizes(parameters, name, tile.word.size // side.leaf.source.dtype.size)
        form = MapsForm(*operands, tuple(parameters.specs), len(self._shape), tile, self._index, fp16)
        kernel, items = lowering.kernels.get(form, build_maps), rounded_up(self._matrices * MAP_WORDS, GROUP)
        return Launch(kernel, tuple(parameters.args), (items, 1, 1), (GROUP, 1, 1), lowering.where)

    def _multiplying(self) -> Launch:
        """The launch that multiplies, and computes what there is of each element."""
        tile, stored, lowering = self._tile, self._stored, self._lowering
        parameters = Parameters(self._index, self._tiles * tile.items)
        left, right = self._common(parameters)
        for name, size in (
            ("per", self._per),
            ("tiles_down", self._down),
            ("tiles_across", self._across),
            ("raster", min(_RASTER, _RASTER_ROWS // tile.rows, self._down)),
        ):
            parameters.size(name, size)
        groups = self._tiles
        if tile.boxes:  # a unit has some groups, which go from tile to tile
            parameters.size("tiles", self._tiles)
            length = tile.steps_length if is_direct(tile, stored.values) else tile.local_length
            resident = resident_groups(tile, length * tile.word.size, lowering.target.tile_bytes)
            groups = min(self._tiles, lowering.target.compute_units * resident)
        results = self._elements[-len(stored.outputs) :]
        lanes = _lanes(stored, results, self._contraction.sizes[1], lowering.target)
        packed = _packs(tile, stored, lanes)
        values = reached(stored.values, self._names[2:], self._elements, parameters, lanes)
        form = TileForm(
            left=left,
            right=right,
            values=values,
            outputs=_outputs(parameters, stored, results, lanes, packed=packed),
            specs=tuple(parameters.specs),
            batch=len(self._shape),
            tile=tile,
            lanes=lanes,
            packed=packed,
            index=self._index,
            fp16=lowering.target.fp16,
        )
        kernel, sizes = lowering.kernels.get(form, build), ((groups * tile.items, 1, 1), (tile.items, 1, 1))
        return Launch(kernel, tuple(parameters.args), *sizes, lowering.where)

    def _common(self, parameters: Parameters) -> tuple[Operand, Operand]:
        """What both kernels take: sizes and operands."""
        m, n, k = self._contraction.sizes
        for name, size in (("m", m), ("n", n), ("k", k), ("matrices", self._matrices)):
            parameters.size(name, size)
        for axis, length in enumerate(self._shape):
            parameters.size(f"n{axis}", length)
        sides = zip(self._names[:2], self._sides, strict=True)
        left, right = (_operand(parameters, name, side, self._tile) for name, side in sides)
        if self._maps is not None:
            parameters.pointer("maps", Pointer(U32, align=MAP_WORDS * U32.size), self._maps)
        return left, right


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
    return not more and product.dtype in (F16, BF16) and lanes == MOST_LANES and is_direct(tile, stored.values)


def _outputs(
    parameters: Parameters, stored: Elements, results: Sequence[Layout], lanes: int, *, packed: bool
) -> tuple[tuple[int, Access], ...]:
    """Where results are stored; those that are packed as words of two halves."""
    if not packed:
        return stored_at(parameters, stored.outputs, results, lanes)
    words = [output._replace(dtype=U32) for output in stored.outputs]
    return stored_at(parameters, words, [_in_words(each, each.ndim - 1, 2) for each in results], lanes // 2)


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
    turned, wide, dtype, lies = is_turned(side), box_width(side) if tile.boxes else width(side), source.dtype, layout
    windows = windows_of(side) if tile.boxes and not side.is_matrix else None
    if windows is not None:
        layout = replace(layout, offset=windows.first)
    along, lanes, inside = (side.inner if turned else side.own)[-1], wide, None if padding is None else padding.inside
    if not isinstance(tile, Tile):
        pack = tile.word.size // dtype.size
        dtype = loaded_dtype(tile.dtype, wide=wide > 1) if isinstance(tile, MatrixTile) else tile.word
        if wide > 1:
            lies, lanes = _in_words(layout, along, pack), wide // pack
            if inside is not None:
                inside = Layout((inside.span // pack,), (1,), inside.range()[0] // pack)
    access = parameters.memory(name, dtype, source.storage, lies, along, lanes, general=True, inside=inside)
    if windows is not None:
        windows.add_steps(parameters, name)
    own, inner = (digits_of(parameters, name, layout, axes) for axes in (side.own, side.inner))
    bounds = []
    for number, (bound, length) in enumerate(() if padding is None or tile.boxes else padding.bounds):
        place = parameters.iota(f"{name}_place{number}", parameters.index, bound)
        parameters.size(f"{name}_end{number}", length)
        bounds.append((place, f"{name}_end{number}"))
    return Operand(access, own, inner, turned, wide, tuple(bounds), None if windows is None else windows.axes)


def _in_words(layout: Layout, along: int, pack: int) -> Layout:
    """The layout of words of `pack` elements, which lie next to each other along an axis."""
    shape = tuple(length // pack if axis == along else length for axis, length in enumerate(layout.shape))
    strides = tuple(1 if axis == along else stride // pack for axis, stride in enumerate(layout.strides))
    return Layout(shape, strides, layout.offset // pack)
