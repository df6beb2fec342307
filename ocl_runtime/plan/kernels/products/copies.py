"""Copies of operands that warpgroups can read, where they cannot read these as they lie, and it takes less time.

Boxes need rows that begin at multiples of 16 bytes, and of tf32 one operand at least has to be turned. Copies have such
rows, and where neither operand was, one is turned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ocl_ir.graph.build import Buffer, Storage, buffer
from ocl_ir.layout import Layout
from ocl_runtime.plan.fusion.values import Leaf
from ocl_runtime.plan.kernels.elementwise import elementwise_launch
from ocl_runtime.plan.kernels.form import Output
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.kernels.products.candidates import box_width, is_of_warpgroups, is_turned, is_worth_copying
from ocl_runtime.plan.kernels.products.contraction import Contraction, Side
from ocl_runtime.plan.kernels.products.tile import UNIT_BYTES
from ocl_runtime.plan.kernels.products.tiles import uses_tiles
from ocl_runtime.plan.launch import Launch


def copied(
    contraction: Contraction, allocate: Callable[[int], Storage], lowering: Lowering
) -> tuple[Contraction, list[Launch]]:
    """A product of operands that can be read fast, and the launches that copy what cannot be; mostly the product itself
    and none."""
    target = lowering.target
    may_be = contraction.tf32 and target.warpgroups and contraction.is_plain and uses_tiles(contraction, target)
    if not may_be or is_of_warpgroups(contraction, target):
        return contraction, []
    turned = [is_turned(side) for side in contraction.sides]
    copied = {side.number for side in contraction.sides if box_width(side) == 1}
    if not any(turned):
        sizes = [side.size for side in contraction.sides]
        turn = min(copied or (0, 1), key=sizes.__getitem__)
        turned[turn] = True
        copied.add(turn)
    sides = [side for side in contraction.sides if side.number in copied]
    layouts = {side.number: _in_rows(side, turned[side.number]) for side in sides}
    storages = [side.leaf.source.storage for side in contraction.sides if isinstance(side.leaf.source, Buffer)]
    if not is_worth_copying(contraction, _of_copies(contraction, layouts, storages), target):
        return contraction, []
    launches = []
    for side in sides:
        layout, dtype = layouts[side.number], side.leaf.source.dtype
        storages[side.number] = allocate(layout.range()[1] * dtype.size)
        output = Output(0, layout, storages[side.number], dtype)
        launches.append(elementwise_launch((side.leaf,), layout.shape, [output], lowering))
    return _of_copies(contraction, layouts, storages), launches


def _in_rows(side: Side, turned: bool) -> Layout:
    """The layout of a copy: rows along the inner axis (`turned`) or along the operand's own, each of which begins at a
    multiple of 16 bytes."""
    shape, unit = side.leaf.layout.shape, UNIT_BYTES // side.leaf.source.dtype.size
    (along,), (across,) = (side.inner, side.own) if turned else (side.own, side.inner)
    strides = [0] * len(shape)
    pitch = -(-shape[along] // unit) * unit
    strides[along], strides[across] = 1, pitch
    step = shape[across] * pitch
    for axis in reversed(range(side.front)):
        strides[axis], step = step, step * shape[axis]
    return Layout(shape, tuple(strides), 0)


def _of_copies(contraction: Contraction, layouts: dict[int, Layout], storages: list[Storage]) -> Contraction:
    """The product of operands of which some lie in another way, in other memory."""
    leaves = list(contraction.leaves)
    for number, layout in layouts.items():
        leaf = leaves[number]
        leaves[number] = Leaf(buffer(storages[number], leaf.source.dtype, layout), layout, False)
    return replace(contraction, left=leaves[0], right=leaves[1])
