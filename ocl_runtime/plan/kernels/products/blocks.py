"""Launches of the kernels in which each work-item has a block of the result: for CPUs, and for matrices that are
smaller than the tiles of groups.

A block has some rows by some vectors of neighbouring columns. The work-item goes through k once, with a vector of the
right matrix and a number of each row of the left one at a time; fused multiply-adds keep the block in registers. The
work-items of a group lie next to each other in both directions, so that they find in the cache what the others read.
Where the result has too few blocks to keep a device busy, or k is too long to be accurate, k is split into parts, and a
reduction joins these.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from ocl_ir.graph.build import Buffer, Storage
from ocl_ir.types import COMPLEX_LANES, LANES
from ocl_runtime.plan.fusion.reduction_order import power_of_two
from ocl_runtime.plan.kernels.form import Parameters, index_dtype
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.kernels.naming import leaf_names
from ocl_runtime.plan.kernels.products.block_kernel import BlockForm, build
from ocl_runtime.plan.kernels.products.contraction import Contraction, Elements, collapsed, parts_of, sum_of_parts
from ocl_runtime.plan.kernels.reduce import reduce_launches
from ocl_runtime.plan.launch import Launch
from ocl_runtime.plan.target import Target

_LEAST_PART = 64
"""Products below which a part is not worth the reduction that joins it."""


class Block(NamedTuple):
    """The rows and vectors of a work-item, and how many parts of k are wanted."""

    rows: int
    vectors: int
    parts: int


class Grid(NamedTuple):
    """How blocks lie over the result: elements of a vector; rows and vectors of a work-item; work-items of a group, and
    how many of these lie along a row; groups along and down the result; the parts of k, and how long each is."""

    lanes: int
    rows: int
    vectors: int
    items: int
    across: int
    tiles: tuple[int, int]
    parts: int
    per: int


SHAPES = {
    "cpu": ((4, 2), (8, 1), (6, 2), (8, 2), (12, 2), (4, 4), (2, 4)),
    "gpu": ((8, 1), (4, 1), (4, 2), (8, 2)),
}
"""Rows and vectors that are worth being measured, those first that are taken where nothing was."""


def grid(contraction: Contraction, target: Target, block: Block | None = None) -> Grid:
    """How blocks lie: by rows, vectors and parts that are given, or as shapes and target suggest."""
    batch, (m, n, k) = contraction.batch, contraction.sizes
    most = COMPLEX_LANES[-1] if contraction.accumulator.is_complex else LANES[-1]
    lanes = max(1, min(most, target.vector_bytes // max(contraction.accumulator.size, contraction.dtype.size)))
    lanes = lanes if n >= lanes else 1
    rows, vectors = SHAPES[target.kind][0] if block is None else block[:2]
    items = 1 if target.kind == "cpu" else target.group_size
    vectors = vectors if lanes > 1 and n >= lanes * vectors else 1
    across = power_of_two(-(-n // (lanes * vectors)), max(1, min(16, items)))
    tiles = -(-n // (lanes * vectors * across)), -(-m // (rows * (items // across)))
    blocks = math.prod(batch) * tiles[0] * tiles[1]
    busy = 4 * target.compute_units if target.kind == "cpu" else 2 * target.compute_units
    parts, per = parts_of(k, -(-busy // blocks) if block is None else block.parts, _LEAST_PART)
    return Grid(lanes, rows, vectors, items, across, tiles, parts, per)


def block_launches(
    contraction: Contraction,
    elements: Elements,
    allocate: Callable[[int], Storage],
    lowering: Lowering,
    block: Block | None = None,
) -> list[Launch]:
    """One to three launches that multiply, and store the product itself."""
    assert elements.is_bare
    target, (output,) = lowering.target, elements.outputs
    left, right = contraction.left.layout, contraction.right.layout
    batch, (m, n, k) = contraction.batch, contraction.sizes
    lanes, rows, vectors, items, across, tiles, parts, per = grid(contraction, target, block)
    blocks = math.prod(batch) * tiles[0] * tiles[1]

    whole_k = parts == 1
    whole = (*batch, m, n)
    to = output.storage if whole_k else allocate(parts * math.prod(whole) * contraction.accumulator.size)
    shape, sides, (element,) = collapsed(len(batch), (left, right), [output.layout], parts)
    result = replace(element, strides=(math.prod(whole), *element.strides[1:]))
    layouts = (*sides, result)
    groups = blocks * parts
    counts = (groups * items, (k + per) * lanes, (n + lanes * vectors * across), m + rows * items)
    parameters = Parameters(index_dtype(layouts, *counts), groups * items)
    for name, size in zip(("m", "n", "k", "per", "columns", "rows"), (m, n, k, per, *tiles), strict=True):
        parameters.size(name, size)
    for axis, length in enumerate(shape):
        parameters.size(f"n{axis}", length)
    leaves = contraction.left, contraction.right
    names = leaf_names(leaves, lowering.names)
    accesses = []
    for leaf, name, layout, wide in zip(leaves, names, layouts[:2], (1, lanes), strict=True):
        source = leaf.source
        assert isinstance(source, Buffer)
        lane = layout.ndim - 1 if wide > 1 else None
        accesses.append(parameters.memory(name, source.dtype, source.storage, layout, lane, wide, general=True))
    dtype = contraction.dtype if whole_k else contraction.accumulator
    y = parameters.memory("y", dtype, to, result, result.ndim - 1 if lanes > 1 else None, lanes, general=True)
    form = BlockForm(
        left=accesses[0],
        right=accesses[1],
        result=y,
        specs=tuple(parameters.specs),
        batch=len(shape),
        lanes=lanes,
        vectors=vectors,
        rows=rows,
        across=across,
        items=items,
        accumulator=contraction.accumulator,
        index=parameters.index,
        fp16=target.fp16,
    )
    kernel = lowering.kernels.get(form, build)
    launch = Launch(kernel, tuple(parameters.args), (groups * items, 1, 1), (items, 1, 1), lowering.where)
    if whole_k:
        return [launch]
    joined = sum_of_parts(to, elements, parts, contraction, target)
    return [launch, *reduce_launches(joined, allocate, lowering)]
