"""Decides how matrices are multiplied, and launches it.

A work-item computes a block of the result: some rows by some vectors of neighbouring columns. It goes through k once,
with a vector of the right matrix and a number of each row of the left one at a time; fused multiply-adds keep the block
in registers. The work-items of a group lie next to each other in both directions, so that they find in the cache what
the others read. Where the result has too few blocks to keep a device busy, or k is too long to be accurate, k is split
into parts, and a reduction joins these.

The order in which products are added depends on the shapes, the dtype and the target only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ocl_ir.graph.build import Buffer, Storage, buffer
from ocl_ir.indices import Shape
from ocl_ir.layout import Layout, collapse
from ocl_ir.types import COMPLEX_LANES, LANES, DType
from ocl_runtime.plan.fusion.reduction_order import order, power_of_two
from ocl_runtime.plan.fusion.values import Fold, Leaf
from ocl_runtime.plan.kernels.contract_kernel import ContractForm, build
from ocl_runtime.plan.kernels.form import Output, Parameters, index_dtype
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.kernels.naming import leaf_names
from ocl_runtime.plan.kernels.reduce import Reduction, reduce_launches, row_layout
from ocl_runtime.plan.launch import Launch
from ocl_runtime.plan.target import Target

_SEQUENTIAL = 4096
"""Products that are added to one number one after the other, for accuracy."""
_MOST_PARTS = 256
_LEAST_PART = 64
"""Products below which a part is not worth the reduction that joins it."""


@dataclass(frozen=True, kw_only=True)
class Contraction:
    """What to multiply: `left` (…, m, k) and `right` (…, k, n), whose columns lie next to each other unless n is 1."""

    left: Leaf
    right: Leaf
    accumulator: DType
    dtype: DType


def in_lanes(layout: Layout) -> bool:
    """Whether the right matrix lies so that neighbouring columns can be read at once."""
    return layout.strides[-1] in (0, 1)


def contract_launches(
    contraction: Contraction,
    storage: Storage,
    allocate: Callable[[int], Storage],
    lowering: Lowering,
) -> list[Launch]:
    """One to three launches that multiply into a dense storage; `allocate` gives memory for what lies between.

    The leaves are buffers; neither the result nor k is empty.
    """
    target = lowering.target
    left, right = contraction.left.layout, contraction.right.layout
    *batch, m, k = left.shape
    n = right.shape[-1]
    most = COMPLEX_LANES[-1] if contraction.accumulator.is_complex else LANES[-1]
    lanes = max(1, min(most, target.vector_bytes // max(contraction.accumulator.size, contraction.dtype.size)))
    lanes = lanes if n >= lanes else 1
    rows, vectors, items = (4, 2, 1) if target.kind == "cpu" else (8, 1, target.group_size)
    vectors = vectors if lanes > 1 and n >= lanes * vectors else 1
    across = power_of_two(-(-n // (lanes * vectors)), max(1, min(16, items)))
    tiles = -(-n // (lanes * vectors * across)), -(-m // (rows * (items // across)))
    blocks = math.prod(batch) * tiles[0] * tiles[1]
    wanted = 4 * target.compute_units if target.kind == "cpu" else 2 * target.compute_units
    parts = max(1, min(-(-wanted // blocks), k // _LEAST_PART, _MOST_PARTS), -(-k // _SEQUENTIAL))
    per = -(-k // parts)
    parts = -(-k // per)

    whole_k = parts == 1
    whole = (*batch, m, n)
    to = storage if whole_k else allocate(parts * math.prod(whole) * contraction.accumulator.size)
    shape, layouts = _collapsed(left, right, whole, parts)
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
    result = parameters.memory(
        "y", dtype, to, layouts[2], layouts[2].ndim - 1 if lanes > 1 else None, lanes, general=True
    )
    form = ContractForm(
        left=accesses[0],
        right=accesses[1],
        result=result,
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
    joined = _sum_of_parts(to, storage, (parts, math.prod(whole)), contraction, target)
    more = reduce_launches(joined, allocate, lowering)
    return [launch, *more]


def _sum_of_parts(
    parts: Storage, storage: Storage, shape: Shape, contraction: Contraction, target: Target
) -> Reduction:
    """The reduction along the first axis of what parts of k gave."""
    layout, accumulator = Layout.contiguous(shape), contraction.accumulator
    return Reduction(
        values=(
            Leaf(buffer(parts, accumulator, layout), layout, False),
            Fold("sum", accumulator, contraction.dtype, 0),
        ),
        shape=shape,
        axes=(0,),
        order=order(layout, (0,), accumulator, accumulator, target),
        outputs=(Output(1, row_layout(shape, (0,)), storage, contraction.dtype, row=True),),
    )


def _collapsed(left: Layout, right: Layout, whole: Shape, parts: int) -> tuple[Shape, tuple[Layout, ...]]:
    """The axes in front, as few as can be, and the layouts of both matrices and the result over these and their own
    two; in front of all, the result has the parts."""
    rank = len(whole) - 2
    result = Layout.contiguous((parts, *whole))
    own = Layout(result.shape[1:], result.strides[1:])
    fronts = [Layout(layout.shape[:rank], layout.strides[:rank], layout.offset) for layout in (left, right, own)]
    shape, layouts = collapse(whole[:rank], fronts)
    joined = [
        Layout(shape + layout.shape[rank:], front.strides + layout.strides[rank:], front.offset)
        for front, layout in zip(layouts, (left, right, own), strict=True)
    ]
    joined[2] = Layout((parts, *joined[2].shape), (result.strides[0], *joined[2].strides))
    return shape, tuple(joined)
