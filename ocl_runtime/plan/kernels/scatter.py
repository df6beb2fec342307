"""Kernels that write elements at computed places.

A work-item has one place of the index space. It computes the value, whether it is written at all, and the coordinates
to write it at, all of one fused expression. No two places that are written may be the same, unless the greatest value
is to stay, or values are added: these are atomic operations, of integers the same in any order. Many values are joined
in tables of groups first (`scatter_table_kernel.py`). What a mask holds for is packed row by row, by a kernel of
its own (`pack_kernel.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ocl_ir.graph.build import Buffer, ScatterOp, Storage
from ocl_ir.indices import Shape
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.layout import collapse
from ocl_ir.types import U32, DType
from ocl_runtime.plan.fusion.values import Leaf, Lookup, Operation, Value, leaf_layouts, table_layouts
from ocl_runtime.plan.kernels.accesses import accesses
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.form import Access, Parameters, Spec, Term, index_dtype, rounded_up
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.kernels.naming import kernel_name
from ocl_runtime.plan.kernels.pack_kernel import PackForm
from ocl_runtime.plan.kernels.pack_kernel import build as build_pack
from ocl_runtime.plan.kernels.scatter_table_kernel import EACH, NOWHERE, STRIPES, TableForm
from ocl_runtime.plan.kernels.scatter_table_kernel import build as build_table
from ocl_runtime.plan.launch import Launch
from ocl_runtime.plan.target import Target


@dataclass(frozen=True, slots=True)
class ScatterForm:
    """The key of a scattering kernel. `args` are the places of the value, of whether it is written, and of its
    coordinates among the values."""

    values: tuple[Term, ...]
    args: tuple[int, ...]
    result: Access
    op: ScatterOp
    specs: tuple[Spec, ...]
    rank: int
    index: DType
    fp16: bool
    restrict: bool


def scatter_launch(
    values: Sequence[Value],
    op: ScatterOp,
    shape: Shape,
    to: Buffer,
    lowering: Lowering,
) -> Launch:
    """The launch that writes into a buffer for every place of `shape`, which is not empty. The last of the values is
    the operation `scatter`; the others share no memory with the buffer."""
    target, kernels, names, where, _ = lowering
    *operands, landing = values
    assert isinstance(landing, Operation)
    if op == "pack":
        return _pack_launch(operands, landing.args, shape, to, lowering)
    count = math.prod(shape)
    table = _table(op, count, to, lowering.target)
    if table is not None:
        made = _table_launch(operands, landing.args, op, shape, to, table, lowering)
        if made is not None:
            return made
    shape, layouts = collapse(shape, leaf_layouts(operands))
    size = rounded_up(count, target.group_size)
    parameters = Parameters(index_dtype([*layouts, *table_layouts(operands), to.layout], size), count)
    for axis, length in enumerate(shape):
        parameters.size(f"n{axis}", length)
    described = accesses(operands, layouts, parameters, None, 1, names=names)
    result = parameters.memory("y", to.dtype, to.storage, to.layout, None, 1, most=count)
    form = ScatterForm(
        described,
        landing.args,
        result,
        op,
        tuple(parameters.specs),
        len(shape),
        parameters.index,
        target.fp16,
        restrict=True,
    )
    return Launch(kernels.get(form, build), tuple(parameters.args), (size, 1, 1), (target.group_size, 1, 1), where)


_PACKED_TILE = 1024
"""Elements that a work-item of a CPU packs before it writes them: few enough for the nearest cache."""


def _pack_launch(
    operands: Sequence[Value],
    args: tuple[int, ...],
    shape: Shape,
    to: Buffer,
    lowering: Lowering,
) -> Launch:
    """The launch that packs rows."""
    target, kernels, names, where, _ = lowering
    value, kept, begin = args
    (rows, width), layouts = shape, leaf_layouts(operands)
    team, stripes, each = (target.group_size, 4, 4) if target.kind == "gpu" else (1, 1, _PACKED_TILE)
    reach = (rows * team, width + 2 * team * stripes * each, to.size)
    parameters = Parameters(index_dtype([*layouts, *table_layouts(operands), to.layout], *reach), rows * width)
    parameters.size("m", width)
    lanes = each if team > 1 and all(layout.strides[1] in (0, 1) for layout in layouts) else 1
    form = PackForm(
        values=accesses(operands, layouts, parameters, 1, lanes, names=names),
        args=(value, kept, begin),
        result=parameters.memory("y", to.dtype, to.storage, to.layout, None, 1),
        specs=(),
        team=team,
        stripes=stripes,
        each=each,
        lanes=lanes,
        index=parameters.index,
        fp16=target.fp16,
    )
    form = replace(form, specs=tuple(parameters.specs))
    return Launch(kernels.get(form, build_pack), tuple(parameters.args), (rows * team, 1, 1), (team, 1, 1), where)


@dataclass(frozen=True, slots=True)
class _Table:
    """The table of a group: its work-items, slots, and whether each place has one; the tiles that a group takes, and
    the number of groups where that is fixed."""

    team: int
    slots: int
    whole: bool
    groups: int = 0


_TABLE = 4096
"""Slots of a table of all places: 32 KiB of the largest numbers."""
_CACHE = 2048
"""Slots of a cache; with half as many, or twice, it took as long."""
_CACHED_TILES = 4
"""Tiles of a group with a cache: more, and fewer groups share the work; fewer, and the cache is joined more often."""


def _table(op: ScatterOp, count: int, to: Buffer, target: Target) -> _Table | None:
    """The table of a group for so many elements that are written into a buffer, where one is worth it."""
    few = to.size <= _TABLE
    if op == "set" or count < 8 * target.group_size * target.compute_units:
        return None
    if not (to.layout.is_dense and to.size < NOWHERE and (few or target.kind == "gpu")):
        return None  # on a CPU, a cache takes longer than the atomic operations
    if not few:
        return _Table(target.group_size, _CACHE, False)
    if target.kind == "cpu":
        return _Table(1, _TABLE, True, 4 * target.compute_units)
    return _Table(2 * target.group_size, _TABLE, True, 2 * target.compute_units)


def _table_launch(
    operands: Sequence[Value],
    args: tuple[int, ...],
    op: ScatterOp,
    shape: Shape,
    to: Buffer,
    table: _Table,
    lowering: Lowering,
) -> Launch | None:
    """The launch with tables in local memory; None where places have to be counted in 64 bits."""
    target, kernels, names, where, _ = lowering
    count = math.prod(shape)
    shape, layouts = collapse(shape, leaf_layouts(operands))
    tile = table.team * STRIPES
    tiles = -(-count // (tile * EACH))
    per = _CACHED_TILES if not table.groups else -(-tiles // min(tiles, table.groups))
    groups = -(-tiles // per)
    if index_dtype([*layouts, *table_layouts(operands), to.layout], (groups * per + 1) * tile * EACH) != U32:
        return None
    lanes = EACH if len(shape) == 1 and all(layout.strides[0] in (0, 1) for layout in layouts) else 1
    parameters = Parameters(U32, count)
    parameters.size("n", count)
    parameters.size("blocks", -(-count // EACH))
    parameters.size("per", per * tile)
    parameters.size("s", to.size)
    for axis, length in enumerate(shape):
        parameters.size(f"n{axis}", length)
    form = TableForm(
        values=accesses(operands, layouts, parameters, 0 if lanes > 1 else None, lanes, names=names),
        args=args,
        result=parameters.memory("y", to.dtype, to.storage, to.layout, None, 1, most=count),
        op=op,
        dtype=to.dtype,
        specs=(),
        rank=len(shape),
        lanes=lanes,
        team=table.team,
        slots=table.slots,
        whole=table.whole,
        fp16=target.fp16,
    )
    form = replace(form, specs=tuple(parameters.specs))
    kernel = kernels.get(form, build_table)
    return Launch(kernel, tuple(parameters.args), (groups * table.team, 1, 1), (table.team, 1, 1), where)


def build(form: ScatterForm) -> Kernel:
    """The kernel of a form."""
    k = KernelBuilder(kernel_name(form.values, "scatter"), note=f"{form.rank}-D, 1 element a work-item")
    body = Body.start(k, form.specs, form.index, form.fp16, restrict=form.restrict)
    sizes = {axis: body.params[f"n{axis}"] for axis in range(form.rank)}
    i = k.global_id(0, "i", form.index)
    where = body.coordinates(i, range(form.rank - 1, -1, -1), sizes)
    with k.if_(where[0] < sizes[0] if form.rank else i < body.const(1)):
        _write(k, form, body, where)
    return k.build()


def _write(k: KernelBuilder, form: ScatterForm, body: Body, where: Mapping[int, Ref]) -> None:
    def read(access: Access) -> Ref:
        offset = None if access.kind == "scalar" else body.offset(access, where)
        return body.read(access, body.const(0) if offset is None else offset)

    evaluated = body.evaluate(form.values, form.args, read)
    value, kept, *coordinates = (evaluated[index] for index in form.args)
    with k.if_(kept):
        at = body.offset(form.result, dict(enumerate(k.convert(coordinate, form.index) for coordinate in coordinates)))
        at = body.const(0) if at is None else at
        if form.op == "set":
            k.store(body.params["y"], at, value)
        else:
            assert form.op != "pack"
            k.atomic(form.op, body.params["y"], at, value, used=False)


def apart(values: Sequence[Value], storage: Storage, compute: Callable[[tuple[Value, ...]], Leaf]) -> tuple[Value, ...]:
    """The values of a scatter into a storage with those operands computed first that read it."""
    *operands, landing = values
    assert isinstance(landing, Operation)
    indices: list[int] = []
    for index in landing.args:
        below = _below(operands, [index])[0]
        reads = any(_in(value, storage) for value in below)
        if reads:
            operands.append(compute(below))
        indices.append(len(operands) - 1 if reads else index)
    kept, args = _below(operands, indices)
    return (*kept, landing._replace(args=args))


def _below(values: Sequence[Value], indices: Sequence[int]) -> tuple[tuple[Value, ...], tuple[int, ...]]:
    """The values that some of them are computed from, and where these now are."""
    needed = set(indices)
    for index in range(len(values) - 1, -1, -1):
        value = values[index]
        if index in needed:
            needed.update(value.operands)
    moved = {index: number for number, index in enumerate(sorted(needed))}
    kept = []
    for index in moved:
        value = values[index]
        if isinstance(value, Operation | Lookup):
            value = value._replace(args=tuple(moved[arg] for arg in value.args))
        kept.append(value)
    return tuple(kept), tuple(moved[index] for index in indices)


def _in(value: Value, storage: Storage) -> bool:
    leaf = value.leaf if isinstance(value, Lookup) else value
    return isinstance(leaf, Leaf) and isinstance(leaf.source, Buffer) and leaf.source.storage is storage
