"""Decides how running sums and products are computed: how many work-items share a row, and in how many parts.

Along the last axis a GPU gives each row to a team of work-items; elsewhere, and on a CPU, one work-item goes through a
row. Where rows are too few to keep the device busy each is split into parts: a first launch reduces every part, a
second one scans the totals, and a third one scans the parts, each from the total of those before it (Blelloch, Prefix
sums and their applications, 1990).

The order in which the kernels join elements depends on the target, the shape and the axis alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from ocl_ir.graph.build import Node, ScanOp, Storage, buffer
from ocl_ir.indices import Shape
from ocl_ir.layout import Layout, collapse
from ocl_ir.types import DType, Pointer
from ocl_runtime.plan.fusion.reduction_order import power_of_two
from ocl_runtime.plan.fusion.values import Leaf, Value, leaf_layouts, table_layouts
from ocl_runtime.plan.kernels.accesses import accesses
from ocl_runtime.plan.kernels.cache import KernelCache
from ocl_runtime.plan.kernels.form import Parameters, index_dtype, rounded_up
from ocl_runtime.plan.kernels.scan_kernel import EACH, ScanForm, build
from ocl_runtime.plan.launch import Address, Launch, Sizes
from ocl_runtime.plan.target import Target

_MOST_PARTS = 1024
"""The totals of a row's parts are scanned by one team."""


@dataclass(frozen=True, kw_only=True)
class Scanning:
    """What to scan: the last of the values, over `shape`, along `axis`."""

    values: tuple[Value, ...]
    shape: Shape
    axis: int
    op: ScanOp
    accumulator: DType
    dtype: DType


def scan_launches(
    scanning: Scanning,
    storage: Storage,
    allocate: Callable[[int], Storage],
    *,
    target: Target,
    kernels: KernelCache,
    names: Mapping[Node, str],
    where: str = "",
    split: bool = True,
) -> list[Launch]:
    """One or three launches that scan into a dense storage; `allocate` gives memory for what lies between them.

    There are elements. Leaves among the values are buffers, iotas and scalars.
    """
    length = scanning.shape[scanning.axis]
    rows = math.prod(scanning.shape) // length
    last = math.prod(scanning.shape[scanning.axis + 1 :]) == 1
    team = power_of_two(-(-length // EACH), target.group_size) if target.kind == "gpu" and last else 1
    parts, per = _parts(rows, length, team, target) if split else (1, length)

    def launch(kept_dtype: DType, totals: bool, to: Storage, before: Storage | None) -> Launch:
        made = replace(scanning, dtype=kept_dtype)
        return _launch(made, to, before, team, parts, per, totals, target, kernels, names, where)

    if parts == 1:
        return [launch(scanning.dtype, False, storage, None)]
    nbytes = rows * parts * scanning.accumulator.size
    totals, before = allocate(nbytes), allocate(nbytes)
    layout = Layout.contiguous((rows, parts))
    leaf = Leaf(buffer(totals, scanning.accumulator, layout), layout, False)
    joined = replace(scanning, values=(leaf,), shape=layout.shape, axis=1, dtype=scanning.accumulator)
    return [
        launch(scanning.accumulator, True, totals, None),
        *scan_launches(joined, before, allocate, target=target, kernels=kernels, names=names, where=where, split=False),
        launch(scanning.dtype, False, storage, before),
    ]


def _parts(rows: int, length: int, team: int, target: Target) -> tuple[int, int]:
    """The number of parts of each row, none of them empty, and their length."""
    wanted, least = (4, 4096) if target.kind == "cpu" else (8, 4 * team * EACH) if team > 1 else (2048, 64)
    parts = min(_MOST_PARTS, max(1, min(-(-wanted * target.compute_units // rows), length // least)))
    per = -(-length // parts)
    return -(-length // per), per


def _launch(
    scanning: Scanning,
    storage: Storage,
    before: Storage | None,
    team: int,
    parts: int,
    per: int,
    totals: bool,
    target: Target,
    kernels: KernelCache,
    names: Mapping[Node, str],
    where: str,
) -> Launch:
    shape, axis = scanning.shape, scanning.axis
    order = [*(axis_index for axis_index in range(len(shape)) if axis_index != axis), axis]
    layouts = [layout.permute(order) for layout in (*leaf_layouts(scanning.values), Layout.contiguous(shape))]
    kept, kept_layouts = collapse(
        tuple(shape[axis_index] for axis_index in order[:-1]),
        [Layout(layout.shape[:-1], layout.strides[:-1], layout.offset) for layout in layouts],
    )
    length, rows = shape[axis], math.prod(kept)
    *leaves, result = (
        Layout((*kept, length), (*kept_layout.strides, layout.strides[-1]), kept_layout.offset)
        for kept_layout, layout in zip(kept_layouts, layouts, strict=True)
    )
    group = team if team > 1 else _group(rows, parts, target)
    global_size: Sizes = (rows * team if team > 1 else rounded_up(rows, group), parts, 1)
    reach = (global_size[0], rows * parts, (parts + 1) * per + 2 * team * EACH)
    parameters = Parameters(index_dtype((*leaves, *table_layouts(scanning.values), result), *reach), rows * length)
    for axis_index, size in enumerate(kept):
        parameters.size(f"n{axis_index}", size)
    parameters.size("m", length)
    parameters.size("per", per)
    parameters.size("s", parts)
    values = accesses(scanning.values, leaves, parameters, None, 1, names=names)
    between = Layout.contiguous((rows, parts))
    pointer = Pointer(scanning.accumulator, align=scanning.accumulator.size)
    if before is not None:
        parameters.pointer("i", pointer, Address(before, 0, between))
    if totals:
        access = None
        parameters.pointer("y", pointer, Address(storage, 0, between))
    else:
        access = parameters.memory("y", scanning.dtype, storage, result, None, 1, general=True)
    form = ScanForm(
        values=values,
        result=access,
        specs=tuple(parameters.specs),
        kept=len(kept),
        team=team,
        op=scanning.op,
        accumulator=scanning.accumulator,
        continued=before is not None,
        index=parameters.index,
        fp16=target.fp16,
    )
    return Launch(kernels.get(form, build), tuple(parameters.args), global_size, (group, 1, 1), where)


def _group(rows: int, parts: int, target: Target) -> int:
    """Work-items of a group where they do not work together: on a CPU few enough that all cores have some."""
    most = target.group_size
    while target.kind == "cpu" and most > 1 and most * 4 * target.compute_units > rows * parts:
        most //= 2
    return power_of_two(rows, most)
