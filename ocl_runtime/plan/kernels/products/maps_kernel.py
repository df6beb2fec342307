"""Writes the kernel that describes matrices to the units that copy boxes of them.

Of both matrices of a product, each work-item stores a word of the description. The kernel that multiplies comes after
it: to describe them there, each group for itself, took longer than to multiply 1024 × 1024 of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from ocl_ir.kernel.asynchronous import MAP_WORDS
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.types import DType
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.form import Spec
from ocl_runtime.plan.kernels.products.box_copies import box_rows
from ocl_runtime.plan.kernels.products.stage import Operand
from ocl_runtime.plan.kernels.products.tile import MatrixTile, WarpgroupTile

GROUP = 64
"""Work-items of a group."""


@dataclass(frozen=True, slots=True)
class MapsForm:
    """The key of the kernel: both operands, the axes in front, and the tile whose boxes are copied."""

    left: Operand
    right: Operand
    specs: tuple[Spec, ...]
    batch: int
    tile: MatrixTile | WarpgroupTile
    index: DType
    fp16: bool


def build(form: MapsForm) -> Kernel:
    """The kernel of a form."""
    k = KernelBuilder("describe", group_size=(GROUP, 1, 1), note="tensor maps of the operands of products")
    body = Body.start(k, form.specs, form.index, form.fp16)
    sizes, tile = body.params, form.tile
    item = k.global_id(0, "item", form.index)
    number, word = k.op("udiv", item, body.const(MAP_WORDS), hint="number"), item & (MAP_WORDS - 1)
    with k.if_(number < sizes["matrices"]):
        axes = list(range(form.batch - 1, -1, -1))
        where = body.coordinates(number, axes, {axis: sizes[f"n{axis}"] for axis in range(form.batch)})
        sides = ((form.left, "m", tile.rows), (form.right, "n", tile.columns))
        for side, (operand, own, length) in enumerate(sides):
            access, words = operand.access, tile.words
            offset = body.offset(access, where)
            (across,) = (operand.own if operand.turned else operand.inner).axes
            columns, rows = (sizes["k"], sizes[own]) if operand.turned else (sizes[own], sizes["k"])
            k.describe_matrix(
                (sizes["maps"], (number * 2 + side) * MAP_WORDS, word),
                (sizes[access.name], body.const(0) if offset is None else offset * words),
                columns=columns,
                rows=rows,
                row_words=sizes[access.stride_name(across)] * words,
                box_rows=box_rows(operand, length, tile.inner),
                dtype=tile.dtype,
            )
    return k.build()
