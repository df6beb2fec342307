"""Launches that pack the operands of a product into chunks (`products.panel`), as its accumulator's dtype.

An operand that is the same along an axis in front is packed once for all places of that axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from ocl_ir.graph.build import Buffer, Storage
from ocl_ir.layout import Layout
from ocl_ir.types import DType
from ocl_runtime.plan.fusion.values import Leaf
from ocl_runtime.plan.kernels.form import Parameters, index_dtype
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.kernels.products.packing_kernel import PackingForm, build
from ocl_runtime.plan.kernels.products.panel import Panel
from ocl_runtime.plan.launch import Launch

_LEAST_BYTES = 32 << 10
"""What a work-item packs at least, where there is so much."""
_ITEMS_PER_UNIT = 8


class Packed(NamedTuple):
    """A packed operand. The axes of the layout are those in front, slices, tiles or panels, and a chunk's elements."""

    storage: Storage
    layout: Layout


def pack(
    leaf: Leaf,
    name: str,
    layout: Layout,
    panel: Panel,
    accumulator: DType,
    allocate: Callable[[int], Storage],
    lowering: Lowering,
    *,
    left: bool,
) -> tuple[Launch, Packed]:
    """Packs the left matrix (…, m, k) or the right one (…, k, n), which lies as `layout` says, into new memory."""
    target, source = lowering.target, leaf.source
    assert isinstance(source, Buffer)
    rank = layout.ndim - 2
    axis, inner = (rank, rank + 1) if left else (rank + 1, rank)
    own, k = layout.shape[axis], layout.shape[inner]
    width, chunk = (panel.rows, panel.left_chunk) if left else (panel.columns, panel.right_chunk)
    slices, panels = -(-k // panel.depth), -(-own // width)
    varied = tuple(
        length if stride else 1 for length, stride in zip(layout.shape[:rank], layout.strides[:rank], strict=True)
    )
    dense = Layout.contiguous((*varied, slices, panels, chunk))
    storage = allocate(math.prod(dense.shape) * accumulator.size)

    items = _ITEMS_PER_UNIT * target.compute_units
    rows = math.prod(varied) * slices
    per = max(-(-_LEAST_BYTES // (chunk * accumulator.size)), panels * rows // items)
    runs = -(-panels // per)
    groups = rows * runs
    counts = (groups, k + panel.depth, own + width, panels + per)
    parameters = Parameters(index_dtype((layout, dense), *counts), groups)
    sizes = {"k": k, "own": own, "slices": slices, "panels": panels, "per": per, "runs": runs}
    for size_name, size in sizes.items():
        parameters.size(size_name, size)
    for number, length in enumerate(varied):
        parameters.size(f"n{number}", length)
    lane = inner if left else axis
    access = parameters.memory(name, source.dtype, source.storage, layout, lane, 1, general=True)
    packed = parameters.memory("y", accumulator, storage, dense, dense.ndim - 1, panel.lanes, general=True)
    form = PackingForm(
        source=access,
        packed=packed,
        specs=tuple(parameters.specs),
        batch=rank,
        axis=axis,
        inner=inner,
        left=left,
        width=width,
        depth=panel.depth,
        lanes=panel.lanes if layout.strides[lane] == 1 else 1,
        unit=panel.lanes if packed.wide else 1,
        accumulator=accumulator,
        index=parameters.index,
        fp16=target.fp16,
    )
    kernel = lowering.kernels.get(form, build)
    launch = Launch(kernel, tuple(parameters.args), (groups, 1, 1), (1, 1, 1), lowering.where)
    whole = Layout(
        (*layout.shape[:rank], *dense.shape[rank:]),
        tuple(
            packed_stride if stride else 0
            for packed_stride, stride in zip(dense.strides[:rank], layout.strides[:rank], strict=True)
        )
        + dense.strides[rank:],
    )
    return launch, Packed(storage, whole)
