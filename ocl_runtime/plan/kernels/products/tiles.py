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
from ocl_runtime.plan.fusion.values import Leaf, Product
from ocl_runtime.plan.kernels.form import Parameters, aligned, index_dtype
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.kernels.naming import leaf_names
from ocl_runtime.plan.kernels.products.contraction import Contraction, collapsed, parts_of, sum_of_parts
from ocl_runtime.plan.kernels.products.stage import Operand
from ocl_runtime.plan.kernels.products.tile import Tile
from ocl_runtime.plan.kernels.products.tile_kernel import TileForm, build
from ocl_runtime.plan.kernels.reduce import reduce_launches
from ocl_runtime.plan.launch import Launch
from ocl_runtime.plan.target import Target

_UNIT_BYTES = 16
"""Of one access to memory, local or global."""
_LEAST_PART = 256
"""Products below which a part is not worth the reduction that joins it."""
_LEAST_SIDE = 16
"""Rows and columns below which most of any tile would lie outside."""


class Shape4(NamedTuple):
    """Warps and fragments of a tile; see `Tile`. `speed`: how fast a unit is with it, beside the fastest."""

    warps: tuple[int, int]
    fragments: tuple[int, int]
    speed: float


_SHAPES = (
    Shape4((2, 2), (4, 2), 1.0),
    Shape4((2, 1), (2, 2), 0.9),
    Shape4((1, 2), (2, 1), 0.7),
    Shape4((4, 1), (2, 1), 0.7),
    Shape4((1, 4), (1, 2), 0.7),
)


def uses_tiles(contraction: Contraction, target: Target) -> bool:
    """Whether work-groups have tiles, on a device and for a size for which that is worth it."""
    m, n, _ = contraction.sizes
    return target.kind == "gpu" and min(m, n) >= _LEAST_SIDE and bool(list(possible_tiles(contraction, target)))


def tile_launches(
    contraction: Contraction,
    storage: Storage,
    allocate: Callable[[int], Storage],
    lowering: Lowering,
    tile_and_parts: tuple[Tile, int] | None = None,
) -> list[Launch]:
    """One to three launches that multiply into a dense storage, by a tile and a number of parts, or those `chosen`."""
    target = lowering.target
    batch, (m, n, k) = contraction.batch, contraction.sizes
    tile, wanted = tile_and_parts or chosen(contraction, target)
    parts, per = tile_parts(k, wanted, tile)
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
    names = leaf_names((contraction.left, contraction.right), lowering.names)
    operands = [
        _operand(parameters, name, leaf, layout, rank + axis, rank + 1 - axis)
        for name, leaf, layout, axis in zip(
            names, (contraction.left, contraction.right), (left, right), (0, 1), strict=True
        )
    ]
    pad = max(tile.lanes, *(operand.wide for operand in operands))
    lanes = _UNIT_BYTES // max(dtype.size, contraction.accumulator.size)
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
        tile=Tile(tile.warps, tile.fragments, tile.lanes, tile.inner, pad),
        lanes=lanes,
        accumulator=contraction.accumulator,
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


def _operand(parameters: Parameters, name: str, leaf: Leaf, layout: Layout, axis: int, inner: int) -> Operand:
    """How an operand is read, along that of its own two axes in which its elements lie next to each other."""
    source = leaf.source
    assert isinstance(source, Buffer)
    turned = layout.strides[inner] in (0, 1) and layout.strides[axis] != 1
    along = inner if turned else axis
    wide = _UNIT_BYTES // source.dtype.size
    if layout.strides[along] != 1 or layout.shape[along] % wide or not aligned(layout, along, wide):
        wide = 1
    access = parameters.memory(name, source.dtype, source.storage, layout, along, wide, general=True)
    return Operand(access, axis, inner, turned, wide)


def possible_tiles(contraction: Contraction, target: Target) -> Iterator[tuple[Tile, float]]:
    """The tiles that the target has room for, with their speeds."""
    size = contraction.accumulator.size
    lanes = max(1, _UNIT_BYTES // size)
    for warps, fragments, speed in _SHAPES:
        inner = max(4, 16 * 4 // max(4, size))
        tile = Tile(warps, fragments, lanes, inner, max(lanes, _UNIT_BYTES // contraction.dtype.size))
        if tile.items <= target.group_size and tile.local_length * size <= target.local_bytes:
            yield tile, speed


def tile_parts(k: int, wanted: int, tile: Tile) -> tuple[int, int]:
    """How many parts of k there are where about `wanted` are, and how long each is: whole steps of a tile."""
    _, per = parts_of(k, wanted, _LEAST_PART)
    per = -(-per // tile.inner) * tile.inner
    return -(-k // per), per


def chosen(contraction: Contraction, target: Target) -> tuple[Tile, int]:
    """The tile, and how many parts of k are wanted: those that take the least time, if every unit of the device works on
    one group, and all groups of one turn take equally long."""
    batch, (m, n, k) = contraction.batch, contraction.sizes
    best: tuple[float, Tile, int] | None = None
    for tile, speed in possible_tiles(contraction, target):
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
