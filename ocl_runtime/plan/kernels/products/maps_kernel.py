"""Writes the kernel that describes matrices, and windows of tensors, to the units that copy boxes of them.

Of both matrices of a product, each work-item stores a word of the description. The kernel that multiplies comes after
it: to describe them there, each group for itself, took longer than to multiply 1024 × 1024 of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ocl_ir.kernel.asynchronous import MAP_WORDS
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import DType
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.form import Spec
from ocl_runtime.plan.kernels.products.box_copies import box_rows
from ocl_runtime.plan.kernels.products.stage import Operand
from ocl_runtime.plan.kernels.products.tile import MatrixTile, WarpgroupTile
from ocl_runtime.plan.kernels.products.windows import MOVING, SPACE

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
            slot = (number * 2 + side) * MAP_WORDS
            _describe(body, operand, where, (sizes["maps"], slot, word), sizes[own], length, tile)
    return k.build()


def _describe(
    body: Body,
    operand: Operand,
    where: Mapping[int, Ref],
    table: tuple[Ref, Ref, Ref],
    own_length: Ref,
    length: int,
    tile: MatrixTile | WarpgroupTile,
) -> None:
    """Describes an operand, of whose own elements a tile has so many."""
    k, sizes, access, words = body.k, body.params, operand.access, tile.words
    offset, rows_of_box = body.offset(access, where), box_rows(operand, length, tile.inner)
    source = sizes[access.name], body.const(0) if offset is None else offset * words
    if operand.windows is not None:
        space, moving = ([f"{access.name}_{each}" for each in names] for names in (SPACE, MOVING))
        k.describe_windows(
            table,
            source,
            columns=sizes[f"{access.name}_columns"],
            lengths=[sizes[each] for each in space],
            strides=[sizes[f"{each}_words"] for each in space],
            steps=[sizes[f"{each}_step"] for each in moving],
            before=[sizes[f"{each}_before"] for each in moving],
            counts=[sizes[f"{each}_count"] for each in moving],
            box_rows=rows_of_box,
            dtype=tile.dtype,
        )
        return
    (across,) = (operand.own if operand.turned else operand.inner).axes
    columns, rows = (sizes["k"], own_length) if operand.turned else (own_length, sizes["k"])
    lengths = {"columns": columns, "rows": rows, "row_words": sizes[access.stride_name(across)] * words}
    k.describe_matrix(table, source, **lengths, box_rows=rows_of_box, dtype=tile.dtype)
