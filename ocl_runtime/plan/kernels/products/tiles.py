"""Launches of the kernels in which each work-group has a tile of the result, and which tile that is.

Every choice follows from shapes, dtypes and the target only, so that the same product has the same bits wherever its
operands lie.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ocl_ir.graph.build import Buffer, Storage
from ocl_ir.layout import Layout
from ocl_ir.types import BF16, F16, F64, DType
from ocl_runtime.plan.fusion.values import Leaf, Product
from ocl_runtime.plan.kernels.form import Parameters, aligned, index_dtype
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.kernels.naming import leaf_names
from ocl_runtime.plan.kernels.products.contraction import Contraction, collapsed, parts_of, sum_of_parts
from ocl_runtime.plan.kernels.products.matrix import element_dtype
from ocl_runtime.plan.kernels.products.stage import Operand
from ocl_runtime.plan.kernels.products.tile import UNIT_BYTES, AnyTile, MatrixTile, Tile, WarpgroupTile
from ocl_runtime.plan.kernels.products.tile_kernel import TileForm, build
from ocl_runtime.plan.kernels.reduce import reduce_launches
from ocl_runtime.plan.launch import Launch
from ocl_runtime.plan.target import Target

_LEAST_PART = 256
"""Products below which a part is not worth the reduction that joins it."""
_LEAST_SIDE = 16
"""Rows and columns below which most of any tile would lie outside."""


class Candidate(NamedTuple):
    """Warps and fragments of a tile, and places of a step, for 4-byte elements; `speed`: how fast a unit of the device
    is with it, beside the fastest."""

    warps: tuple[int, int]
    fragments: tuple[int, int]
    inner: int
    speed: float


_FMA = (
    Candidate((2, 2), (4, 2), 8, 1.0),
    Candidate((2, 2), (2, 2), 8, 0.93),
    Candidate((2, 1), (2, 2), 16, 0.9),
    Candidate((2, 2), (2, 1), 16, 0.9),
    Candidate((1, 2), (2, 1), 16, 0.8),
    Candidate((4, 1), (2, 1), 16, 0.7),
    Candidate((1, 4), (1, 2), 16, 0.7),
    Candidate((2, 2), (1, 1), 16, 0.7),
)
_WARPGROUP = (
    Candidate((2, 1), (1, 32), 64, 1.0),
    Candidate((2, 1), (1, 16), 64, 0.9),
    Candidate((1, 1), (1, 16), 64, 0.7),
    Candidate((1, 1), (1, 8), 64, 0.5),
)
_MATRIX = {
    F16: (
        Candidate((2, 4), (4, 4), 64, 1.0),
        Candidate((2, 2), (4, 4), 64, 0.9),
        Candidate((2, 2), (2, 4), 64, 0.8),
        Candidate((2, 1), (2, 4), 64, 0.6),
    ),
    F64: (
        Candidate((2, 2), (4, 4), 16, 1.0),
        Candidate((2, 2), (2, 4), 16, 0.9),
        Candidate((2, 1), (2, 4), 16, 0.8),
    ),
}
_MATRIX[BF16] = _MATRIX[F16]


def uses_tiles(contraction: Contraction, target: Target) -> bool:
    """Whether work-groups have tiles, on a device and for a size for which that is worth it."""
    m, n, _ = contraction.sizes
    return target.kind == "gpu" and min(m, n) >= _LEAST_SIDE and bool(list(_tiles(contraction, target)))


def tile_launches(
    contraction: Contraction, storage: Storage, allocate: Callable[[int], Storage], lowering: Lowering
) -> list[Launch]:
    """One to three launches that multiply into a dense storage."""
    target = lowering.target
    batch, (m, n, k) = contraction.batch, contraction.sizes
    tile, wanted = chosen(contraction, target)
    parts, per = parts_of(k, wanted, _LEAST_PART)
    per = -(-per // tile.inner) * tile.inner
    parts = -(-k // per)
    whole = (*batch, m, n)
    dtype = contraction.dtype if parts == 1 else contraction.accumulator
    to = storage if parts == 1 else allocate(parts * math.prod(whole) * dtype.size)
    shape, (left, right, result) = collapsed(contraction.left.layout, contraction.right.layout, whole, parts)
    tiles = -(-m // tile.rows), -(-n // tile.columns)
    groups = math.prod(batch) * parts * tiles[0] * tiles[1]
    counts = (groups * tile.items, k + per, n + tile.columns, m + tile.rows)
    parameters = Parameters(index_dtype((left, right, result), *counts), groups * tile.items)
    sizes = {"m": m, "n": n, "k": k, "per": per, "tiles_down": tiles[0], "tiles_across": tiles[1]}
    for name, size in sizes.items():
        parameters.size(name, size)
    for axis, length in enumerate(shape):
        parameters.size(f"n{axis}", length)
    rank = len(shape)
    names = leaf_names(contraction.leaves, lowering.names)
    operands = [
        _operand(parameters, name, leaf, layout, side, tile)
        for name, leaf, layout, side in zip(names, contraction.leaves, (left, right), (0, 1), strict=True)
    ]
    lanes = max(1, UNIT_BYTES // max(dtype.size, contraction.accumulator.size))
    if n % lanes or not aligned(result, result.ndim - 1, lanes):
        lanes = 1
    output = parameters.memory("y", dtype, to, result, result.ndim - 1, lanes, general=True)
    form = TileForm(
        left=operands[0],
        right=operands[1],
        values=(Product(dtype),),
        outputs=((0, output),),
        specs=tuple(parameters.specs),
        batch=rank,
        tile=tile,
        lanes=lanes,
        index=parameters.index,
        fp16=target.fp16,
    )
    kernel = lowering.kernels.get(form, build)
    sizes_of_launch = (groups * tile.items, 1, 1), (tile.items, 1, 1)
    launch = Launch(kernel, tuple(parameters.args), *sizes_of_launch, lowering.where)
    if parts == 1:
        return [launch]
    joined = sum_of_parts(to, storage, (parts, math.prod(whole)), contraction, target)
    return [launch, *reduce_launches(joined, allocate, lowering)]


def _is_wide(leaf: Leaf, side: int) -> bool:
    """Whether an operand can be read in whole units."""
    return _width(leaf.layout, side, leaf.source.dtype) > 1


def _width(layout: Layout, side: int, dtype: DType) -> int:
    """Elements of an access to an operand: as many as 16 bytes have where its layout allows that."""
    along = layout.ndim - 1 - side if operand_is_turned(layout, side) else layout.ndim - 2 + side
    wide = UNIT_BYTES // dtype.size
    whole = layout.strides[along] == 1 and layout.shape[along] % wide == 0 and aligned(layout, along, wide)
    return wide if whole else 1


def operand_is_turned(layout: Layout, side: int) -> bool:
    """Whether elements of an operand lie next to each other along the inner axis; `side` 0 is the left one."""
    own, inner = layout.strides[side - 2], layout.strides[-1 - side]
    return inner in (0, 1) and own != 1


def _operand(
    parameters: Parameters, name: str, leaf: Leaf, layout: Layout, side: int, tile: AnyTile
) -> Operand:
    """How an operand is read, in accesses as wide as its layout allows."""
    source = leaf.source
    assert isinstance(source, Buffer)
    axis, inner = layout.ndim - 2 + side, layout.ndim - 1 - side
    turned = operand_is_turned(layout, side)
    along, wide, dtype = inner if turned else axis, _width(layout, side, source.dtype), source.dtype
    lanes = wide
    if not isinstance(tile, Tile):
        pack = tile.word.size // dtype.size
        dtype = tile.word if wide > 1 else element_dtype(dtype)
        if wide > 1:
            layout, lanes = _in_words(layout, along, pack), wide // pack
    access = parameters.memory(name, dtype, source.storage, layout, along, lanes, general=True)
    return Operand(access, axis, inner, turned, wide)


def _in_words(layout: Layout, along: int, pack: int) -> Layout:
    """The layout of words of `pack` elements, which lie next to each other along an axis."""
    shape = tuple(length // pack if axis == along else length for axis, length in enumerate(layout.shape))
    strides = tuple(1 if axis == along else stride // pack for axis, stride in enumerate(layout.strides))
    return Layout(shape, strides, layout.offset // pack)


def _tiles(contraction: Contraction, target: Target) -> Iterator[tuple[AnyTile, float]]:
    """The tiles that the target has room for, with their speeds."""
    dtype = contraction.dtype
    if dtype.name in target.matrix_dtypes:
        left, right = (operand_is_turned(leaf.layout, side) for side, leaf in enumerate(contraction.leaves))
        turned = left, right
        if target.warpgroups and dtype in {F16, BF16} and all(map(_is_wide, contraction.leaves, (0, 1))):
            for warps, fragments, inner, speed in _WARPGROUP:
                for stages in (4, 3):
                    tile = WarpgroupTile(warps, fragments, inner, dtype, turned, stages)
                    if tile.local_bytes <= target.tile_bytes:
                        yield tile, speed
                        break
            return
        for warps, fragments, inner, speed in _MATRIX[dtype]:
            matrix_tile = MatrixTile(warps, fragments, inner, dtype, turned)
            if matrix_tile.local_bytes <= target.tile_bytes:
                yield matrix_tile, speed
        return
    accumulator = contraction.accumulator
    pad = max(1, UNIT_BYTES // min(dtype.size, accumulator.size))
    for warps, fragments, inner, speed in _FMA:
        tile = Tile(warps, fragments, max(4, inner * 4 // max(4, accumulator.size)), accumulator, pad)
        if tile.items <= target.group_size and tile.local_bytes <= target.local_bytes:
            yield tile, speed


def chosen(contraction: Contraction, target: Target) -> tuple[AnyTile, int]:
    """The tile, and how many parts of k are wanted: those that take the least time, if every unit of the device works
    on one group, and all groups of one turn take equally long."""
    batch, (m, n, k) = contraction.batch, contraction.sizes
    best: tuple[float, AnyTile, int] | None = None
    for tile, speed in _tiles(contraction, target):
        groups = math.prod(batch) * -(-m // tile.rows) * -(-n // tile.columns)
        for parts in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32):
            if parts > 1 and k // parts < _LEAST_PART:
                break
            turns = -(-groups * parts // target.compute_units)
            time = turns * tile.rows * tile.columns * -(-k // parts) / speed
            if parts > 1:
                time *= 1.1
            if best is None or time < best[0]:
                best = time, tile, parts
    assert best is not None
    return best[1], best[2]
