"""Kernels for elementwise expressions.

The axes are collapsed first. One axis that all leaves walk in steps of 0 or 1 gives the flat kernel: a work-item
computes W neighbours as lanes, and the one at the end the rest one by one. More axes give an index space of up to three
dimensions, the innermost first, in lanes again if all inner steps allow it; what is beyond, or beyond the number of
groups that devices take in the outer dimensions, shares a dimension and is taken apart by division.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ir.builder import KernelBuilder
from ir.graph import Node
from ir.kernel import Kernel
from ir.layout import Layout, Shape, collapse
from ir.reference import Ref
from ir.types import DType
from ocl_runtime.plan.body import Body
from ocl_runtime.plan.cache import KernelCache
from ocl_runtime.plan.form import (
    Access,
    Fetch,
    Output,
    Parameters,
    Spec,
    Term,
    accesses,
    aligned,
    formulas,
    index_dtype,
    kernel_name,
    lanes_for,
    leaf_layouts,
    output_names,
    power_of_two,
    rounded_up,
    table_layouts,
)
from ocl_runtime.plan.fuse import Value
from ocl_runtime.plan.launch import Launch, Sizes
from ocl_runtime.plan.target import Target

_Index: TypeAlias = Callable[[Access], Ref]

_ROW = 32
"""Work-items of a group that lie next to each other at least, so that their accesses are wide together."""
_MOST_GROUPS = 65535
"""Groups in dimensions 1 and 2 that every device takes."""


@dataclass(frozen=True, slots=True)
class ElementwiseForm:
    """The key of an elementwise kernel. `grid` has the axes of each dimension, the fastest first."""

    values: tuple[Term, ...]
    outputs: tuple[tuple[int, Access], ...]
    specs: tuple[Spec, ...]
    rank: int
    lanes: int
    grid: tuple[tuple[int, ...], ...]
    index: DType
    fp16: bool
    restrict: bool


def elementwise_launch(
    values: Sequence[Value],
    shape: Shape,
    outputs: Sequence[Output],
    *,
    target: Target,
    kernels: KernelCache,
    names: Mapping[Node, str],
    where: str = "",
    apart: bool = True,
) -> Launch:
    """The launch that writes values at every place of `shape` (which is not empty).

    A leaf that shares an element with an output (then they are not `apart`) has it at the same place.

    Leaves among the values are buffers, iotas and scalars.
    """
    shape, layouts = _collapsed(shape, [*leaf_layouts(values), *(output.layout for output in outputs)])
    lane = len(shape) - 1
    lanes = lanes_for(values, [output.dtype for output in outputs], target)
    few = len(shape) > 1 and shape[lane] < lanes
    if few or any(layout.strides[lane] not in (0, 1) for layout in layouts):
        lanes = 1
    if target.kind == "gpu" and lanes > 1 and not all(aligned(x, lane, lanes) for x in layouts if x.strides[lane] == 1):
        lanes = 1  # reads of neighbours are then one access of the work-items together, and not one for each lane
    grid, global_size, group_size = _index_space(
        (*shape[:-1], -(-shape[lane] // lanes)), target.group_size, wide=target.kind == "gpu"
    )
    index = index_dtype([*layouts, *table_layouts(values)], *(size * lanes for size in global_size))
    parameters = Parameters(index, math.prod(shape))
    for axis, length in enumerate(shape):
        parameters.size(_size_name(axis, len(shape)), length)
    flat = "n" if len(shape) == 1 else ""
    leaves = len(layouts) - len(outputs)
    described = accesses(values, layouts[:leaves], parameters, lane, lanes, names=names, length=flat)
    stored = []
    for output, name, layout in zip(outputs, output_names(len(outputs)), layouts[leaves:], strict=True):
        whole = flat if layout.is_dense else ""
        access = parameters.memory(name, output.dtype, output.storage, layout, lane, lanes, length=whole)
        stored.append((output.value, access))
    specs, fp16 = tuple(parameters.specs), target.fp16
    form = ElementwiseForm(described, tuple(stored), specs, len(shape), lanes, grid, parameters.index, fp16, apart)
    return Launch(kernels.get(form, build), tuple(parameters.args), global_size, group_size, where)


def _collapsed(shape: Shape, layouts: Sequence[Layout]) -> tuple[Shape, tuple[Layout, ...]]:
    """Collapsed to at least one axis."""
    shape, layouts = collapse(shape, layouts)
    if shape:
        return shape, tuple(layouts)
    return (1,), tuple(Layout((1,), (1,), layout.offset) for layout in layouts)


def _index_space(shape: Shape, items: int, *, wide: bool) -> tuple[tuple[tuple[int, ...], ...], Sizes, Sizes]:
    """The axes of each dimension, the padded global size, and a group of at most `items` work-items, of several rows if
    it is `wide`."""
    axes = tuple(reversed(range(len(shape))))
    for grid in (tuple((axis,) for axis in axes[:2]) + ((axes[2:],) if axes[2:] else ()), (axes,)):
        sizes = []
        for dimension in grid:
            size = 1
            for axis in dimension:
                size *= shape[axis]
            sizes.append(size)
        # What reads neighbours in several directions finds them in the cache if a group is not only one row.
        rows = power_of_two(sizes[1], items // _ROW) if wide and len(sizes) > 1 else 1
        group = [power_of_two(sizes[0], items // rows)]
        left = items // group[0]
        for size in sizes[1:]:
            group.append(power_of_two(size, left))
            left //= group[-1]
        if len(sizes) == 1:
            group[0] = items
        padded = [rounded_up(size, unit) for size, unit in zip(sizes, group, strict=True)]
        if all(size // unit <= _MOST_GROUPS for size, unit in zip(padded[1:], group[1:], strict=True)):
            break
    return grid, _three(padded), _three(group)


def _three(sizes: Sequence[int]) -> Sizes:
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def _size_name(axis: int, rank: int) -> str:
    return "n" if rank == 1 else f"n{axis}"


def build(form: ElementwiseForm) -> Kernel:
    """The kernel of a form."""
    each = f"{form.lanes} elements" if form.lanes > 1 else "1 element"
    stored = {access.name: value for value, access in form.outputs}
    dtypes = ", ".join(dict.fromkeys(str(access.dtype) for _, access in form.outputs))
    k = KernelBuilder(
        kernel_name(form.values),
        pointwise=not any(isinstance(value, Fetch) for value in form.values),
        note=f"{formulas(form.values, stored)}    {dtypes}, {form.rank}-D, {each} a work-item",
    )
    return _Builder(k, form).build()


class _Builder:
    def __init__(self, k: KernelBuilder, form: ElementwiseForm) -> None:
        self._k = k
        self._form = form
        self._body = Body.start(k, form.specs, form.index, form.fp16, restrict=form.restrict)
        self._sizes = {axis: self._body.params[_size_name(axis, form.rank)] for axis in range(form.rank)}
        self._lane = form.rank - 1

    def build(self) -> Kernel:
        k, form, lane = self._k, self._form, self._lane
        steps = dict(self._sizes)
        if form.lanes > 1 and len(form.grid[0]) > 1:
            steps[lane] = k.op("udiv", self._sizes[lane] + (form.lanes - 1), self._body.const(form.lanes))
        where: dict[int, Ref] = {}
        guard: Ref | None = None
        for dimension, axes in enumerate(form.grid):
            hint = "i" if form.rank == 1 else f"i{axes[0]}"
            where |= self._body.coordinates(k.global_id(dimension, hint, form.index), axes, steps)
            outermost = axes[-1]
            if outermost != lane or form.lanes == 1:
                inside = where[outermost] < self._sizes[outermost]
                guard = inside if guard is None else guard & inside
        if guard is None:
            self._row(where)
        else:
            with k.if_(guard):
                self._row(where)
        return k.build()

    def _row(self, where: dict[int, Ref]) -> None:
        k, form, lane, body = self._k, self._form, self._lane, self._body
        if form.lanes == 1:
            self._at(lambda access: _or_zero(body, body.place(access, where)))
            return
        width, number = form.lanes, where[lane]
        places = {
            access: body.place(access, where, lane)
            for access in (*form.values, *(access for _, access in form.outputs))
            if isinstance(access, Access) and access.kind != "scalar"
        }
        base = k.let(number * width, "base")
        with k.if_(base + (width - 1) < self._sizes[lane]):
            starts = {access: body.vector_start(access, place, number, width, lane) for access, place in places.items()}
            with k.for_(0, width, dtype=form.index, vectorize=True) as j:
                self._at(lambda access: starts[access] + j if access.strides[lane] != "none" else starts[access])
        with k.else_(), k.for_(base, self._sizes[lane], dtype=form.index) as j:
            self._at(lambda access: body.element(access, places[access], j, width, lane))

    def _at(self, index: _Index) -> None:
        """One element: reads the leaves where `index` says and stores the results, once all is read."""
        form, body = self._form, self._body
        zero = body.const(0)
        found = body.evaluate(
            form.values,
            [value for value, _ in form.outputs],
            lambda access: body.read(access, zero if access.kind == "scalar" else index(access)),
        )
        for value, access in form.outputs:
            self._k.store(body.params[access.name], index(access), found[value])


def _or_zero(body: Body, place: Ref | None) -> Ref:
    return body.const(0) if place is None else place
