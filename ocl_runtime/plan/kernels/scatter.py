"""Kernels that write elements at computed places.

A work-item has one place of the index space. It computes the value, whether it is written at all, and the coordinates
to write it at, all of one fused expression. No two places that are written may be the same, unless the greatest value
is to stay, or values are added: these are atomic operations, of integers the same in any order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ocl_ir.graph.build import Buffer, Node, ScatterOp, Storage
from ocl_ir.indices import Shape
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.layout import collapse
from ocl_ir.types import DType
from ocl_runtime.plan.fusion.values import Leaf, Lookup, Operation, Value, leaf_layouts, table_layouts
from ocl_runtime.plan.kernels.accesses import accesses
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.cache import KernelCache
from ocl_runtime.plan.kernels.form import Access, Parameters, Spec, Term, index_dtype, rounded_up
from ocl_runtime.plan.kernels.naming import kernel_name
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
    *,
    target: Target,
    kernels: KernelCache,
    names: Mapping[Node, str],
    where: str = "",
) -> Launch:
    """The launch that writes into a buffer for every place of `shape`, which is not empty. The last of the values is
    the operation `scatter`; the others share no memory with the buffer."""
    *operands, landing = values
    assert isinstance(landing, Operation)
    count = math.prod(shape)
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
