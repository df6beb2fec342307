"""Launches for kernels that reduce: the order of `reduction_order.py`, put to work over the leaves that there are.

Kept and reduced axes are collapsed separately, both in canonical order. In rows, lanes run along the reduced axes; a
leaf that has no neighbours there is read lane by lane. In columns, lanes run along the results where all leaves allow
that, which no result depends on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ocl_ir.graph.build import Storage, buffer
from ocl_ir.indices import Shape
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.layout import Layout, collapse
from ocl_ir.types import F32
from ocl_runtime.plan.fusion.reduction_order import Order, order, power_of_two, slab
from ocl_runtime.plan.fusion.values import (
    Fold,
    Leaf,
    Lookup,
    Operation,
    Value,
    below,
    dtype_of,
    leaf_layouts,
    table_layouts,
)
from ocl_runtime.plan.kernels.accesses import accesses
from ocl_runtime.plan.kernels.form import Output, Parameters, index_dtype, lanes_for, rounded_up
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.kernels.naming import output_names
from ocl_runtime.plan.kernels.reduce_columns import Columns
from ocl_runtime.plan.kernels.reduce_held import HeldRows, held
from ocl_runtime.plan.kernels.reduce_kernel import ReduceForm, Stored
from ocl_runtime.plan.kernels.reduce_rows import Rows
from ocl_runtime.plan.launch import Launch, Sizes
from ocl_runtime.plan.target import Target

_MOST_SHARED = 64
"""Bytes of local memory that a work-item of a team has for its columns."""


@dataclass(frozen=True, kw_only=True)
class Reduction:
    """What to compute over the index space `shape`: values, among them folds, all of which join elements along `axes`
    in one order. Layouts of outputs are over `shape` too: those of results of folds have stride 0 along `axes`."""

    values: tuple[Value, ...]
    shape: Shape
    axes: tuple[int, ...]
    order: Order
    outputs: tuple[Output, ...]
    apart: bool = True
    """Otherwise a leaf that shares an element with an output has it at the same place."""


def row_layout(shape: Shape, axes: Sequence[int], offset: int = 0) -> Layout:
    """The layout over `shape` of what lies in row-major order of the axes that are not among `axes`."""
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    dense = Layout.contiguous(tuple(shape[axis] for axis in kept))
    strides = dict(zip(kept, dense.strides, strict=True))
    return Layout(shape, tuple(strides.get(axis, 0) for axis in range(len(shape))), offset)


def reduce_launches(
    reduction: Reduction,
    allocate: Callable[[int], Storage],
    lowering: Lowering,
) -> list[Launch]:
    """One or two launches that compute the outputs; `allocate` gives memory for what lies between two.

    Neither the index space nor an output is empty. Leaves among the values are buffers, iotas and scalars. Where
    results are split in parts, no fold depends on another and no output on the reduced axes.
    """
    if reduction.order.parts == 1:
        return [_launch(reduction, lowering)]
    first, second = _in_parts(reduction, allocate, lowering.target)
    return [_launch(reduction, lowering) for reduction in (first, second)]


def _in_parts(reduction: Reduction, allocate: Callable[[int], Storage], target: Target) -> tuple[Reduction, Reduction]:
    """The reduction that stores what each part joins, and the one that joins the parts."""
    values, shape, axes, parts = reduction.values, reduction.shape, reduction.axes, reduction.order.parts
    rows = reduction.order.way == "rows"
    kept = tuple(length for axis, length in enumerate(shape) if axis not in axes)
    results = math.prod(kept)
    # Parts lie next to each other after rows, results after columns: the second launch reads them in that order.
    joined, axis = ((*kept, parts), len(kept)) if rows else ((parts, *kept), 0)
    canonical = Layout.contiguous(joined)
    folds = {index for index, value in enumerate(values) if isinstance(value, Fold)}
    needed = below(values, [output.value for output in reduction.outputs], folds)
    outputs: list[Output] = []
    again: list[Value] = []
    indices: dict[int, int] = {}
    for index in needed:
        value = values[index]
        if isinstance(value, Fold):
            between = allocate(results * parts * value.accumulator.size)
            each = row_layout(shape, axes)
            strides = tuple(stride * parts for stride in each.strides) if rows else each.strides
            part = 1 if rows else results
            outputs.append(Output(index, replace(each, strides=strides), between, value.accumulator, True, part))
            again.append(Leaf(buffer(between, value.accumulator, canonical), canonical, False))
            value = value._replace(arg=len(again) - 1)
        elif isinstance(value, Operation | Lookup):
            value = value._replace(args=tuple(indices[arg] for arg in value.args))
        elif isinstance(value, Leaf):
            value = value._replace(layout=_along(value.layout, axes, joined, axis))
        indices[index] = len(again)
        again.append(value)
    first = _unrounded(reduction, outputs)
    accumulator = next(value.accumulator for value in values if isinstance(value, Fold))
    second = Reduction(
        values=tuple(again),
        shape=joined,
        axes=(axis,),
        order=order(canonical, (axis,), accumulator, accumulator, target, split=False),
        outputs=tuple(
            output._replace(value=indices[output.value], layout=_along(output.layout, axes, joined, axis))
            for output in reduction.outputs
        ),
    )
    return first, second


def _unrounded(reduction: Reduction, outputs: Sequence[Output]) -> Reduction:
    """The reduction that stores some of its folds as they are accumulated, and computes nothing else."""
    values = reduction.values
    needed = below(values, [output.value for output in outputs])
    indices = {index: number for number, index in enumerate(needed)}
    kept: list[Value] = []
    for index in needed:
        value = values[index]
        if isinstance(value, Fold):
            value = value._replace(dtype=value.accumulator, arg=indices[value.arg])
        elif isinstance(value, Operation):
            value = value._replace(args=tuple(indices[arg] for arg in value.args))
        kept.append(value)
    stored = tuple(output._replace(value=indices[output.value]) for output in outputs)
    return replace(reduction, values=tuple(kept), outputs=stored)


def _along(layout: Layout, axes: Sequence[int], shape: Shape, axis: int) -> Layout:
    """A layout of what is the same along the reduced axes, over the kept ones and one new axis."""
    strides = [stride for at, stride in enumerate(layout.strides) if at not in axes]
    strides.insert(axis, 0)
    return Layout(shape, tuple(strides), layout.offset)


@dataclass(frozen=True)
class _Space:
    """The collapsed axes: layouts are over the kept axes and then the reduced ones; those of outputs come last."""

    kept: Shape
    reduced: Shape
    layouts: tuple[Layout, ...]

    @property
    def results(self) -> int:
        return math.prod(self.kept)

    @property
    def elements(self) -> int:
        """Elements of one result."""
        return math.prod(self.reduced)

    def vectors(self, lanes: int) -> int:
        """Vectors of neighbouring results."""
        return math.prod(self.kept[:-1]) * -(-self.kept[-1] // lanes) if self.kept else 1


def _collapsed(reduction: Reduction) -> _Space:
    layouts = [*leaf_layouts(reduction.values), *(output.layout for output in reduction.outputs)]

    def along(axes: Sequence[int]) -> tuple[Shape, tuple[Layout, ...]]:
        return collapse(tuple(reduction.shape[axis] for axis in axes), [layout.permute(axes) for layout in layouts])

    kept, kept_layouts = along(reduction.order.kept)
    reduced, reduced_layouts = along(reduction.order.reduced)
    both = zip(kept_layouts, reduced_layouts, strict=True)
    return _Space(kept, reduced, tuple(Layout(kept + reduced, x.strides + r.strides, x.offset) for x, r in both))


def _lanes(space: _Space, reduction: Reduction, target: Target) -> tuple[int, int, bool]:
    """Lanes, accumulators of a work-item, and whether lanes run along one axis, so that no vector goes over its end."""
    plan = reduction.order
    if plan.way == "rows":
        whole = plan.lanes > 1 and (len(space.reduced) == 1 or space.reduced[-1] % plan.lanes == 0)
        return plan.lanes, plan.chains, whole
    complex_ = [value for value in reduction.values if dtype_of(value).is_complex]
    lanes = lanes_for([*complex_, *(value for value in reduction.values if isinstance(value, Leaf))], [], target)
    steps = [layout.strides[len(space.kept) - 1] for layout in space.layouts] if space.kept else []
    if not space.kept or space.kept[-1] < lanes or any(step not in (0, 1) for step in steps) or 1 not in steps:
        return 1, 1, False
    folds = [value.accumulator.size for value in reduction.values if isinstance(value, Fold)]
    if plan.team > 1:
        if plan.largest:  # which are counted in vectors of float32: wider ones would leave units without a group
            lanes = min(lanes, target.vector_bytes // F32.size)
        while lanes > 1 and (space.kept[-1] % lanes or lanes * sum(folds) > _MOST_SHARED):
            lanes //= 2
        return lanes, 1, lanes > 1
    chains = slab(space.kept[-1], space.elements, lanes, target)
    while chains > 1 and chains * len(folds) > 8:
        chains //= 2
    return lanes, chains, lanes > 1


def _most_in_group(reduction: Reduction, lanes: int, target: Target) -> int:
    """Work-items of the largest group that has room for what its teams exchange."""
    if not reduction.order.largest:
        return target.group_size
    folds = sum(value.accumulator.size for value in reduction.values if isinstance(value, Fold))
    most = target.largest_group_size
    while most > target.group_size and most * lanes * folds > target.local_bytes:
        most //= 2
    return most


def _launch(reduction: Reduction, lowering: Lowering) -> Launch:
    target, kernels, names, where, _ = lowering
    space, plan = _collapsed(reduction), reduction.order
    lanes, chains, whole = _lanes(space, reduction, target)
    rank, rows, split = len(space.kept), plan.way == "rows", plan.parts > 1
    items = (space.results if rows else space.vectors(lanes * chains)) * plan.team
    group = _group(items, plan.parts, target)
    if plan.team > 1:
        # As many teams as there may be, so that few results take no kernel of their own; those left over have nothing.
        full = reduction.apart and bool(space.kept)
        most = _most_in_group(reduction, lanes, target)
        group = max(plan.team, most if full else power_of_two(items, most))
        while not reduction.apart and items % group:  # nobody may read again what somebody else writes over
            group //= 2
    global_size: Sizes = (rounded_up(items, group), plan.parts, 1)
    # The end of a part is computed before it is cut to the length of the range.
    reach = (
        global_size[0] * lanes * chains,
        (space.elements + plan.per + 2 * plan.team * chains) * lanes,
        *(plan.parts * output.part for output in reduction.outputs),
    )
    index = index_dtype((*space.layouts, *table_layouts(reduction.values)), *reach)
    parameters = Parameters(index, space.results * space.elements)
    for axis, length in enumerate(space.kept):
        parameters.size(f"n{axis}", length)
    parameters.size("m", space.elements)
    if len(space.reduced) > 1:
        for axis, length in enumerate(space.reduced):
            parameters.size(f"m{axis}", length)
    if split:
        parameters.size("per", plan.per)
    lane = None if not whole else rank + len(space.reduced) - 1 if rows else rank - 1
    leaves = len(space.layouts) - len(reduction.outputs)
    values = accesses(reduction.values, space.layouts[:leaves], parameters, lane, lanes, names=names)
    stored = []
    named = zip(reduction.outputs, output_names(len(reduction.outputs)), space.layouts[leaves:], strict=True)
    for output, name, layout in named:
        to, along = (_of_results(layout, rank, output, plan), None if rows else lane) if output.row else (layout, lane)
        access = parameters.memory(name, output.dtype, output.storage, to, along, lanes, general=output.row)
        stored.append(Stored(output.value, access, output.row))
    form = ReduceForm(
        way=plan.way,
        values=values,
        outputs=tuple(stored),
        specs=tuple(parameters.specs),
        kept=rank,
        reduced=len(space.reduced),
        lanes=lanes,
        team=plan.team,
        teams=group // plan.team if plan.team > 1 else 1,
        chains=chains,
        split=split,
        whole=whole,
        held=None,
        index=parameters.index,
        fp16=target.fp16,
        restrict=reduction.apart,
    )
    if rows and plan.team > 1 and not split:
        form = replace(form, held=held(form, space.elements))
    return Launch(kernels.get(form, build), tuple(parameters.args), global_size, (group, 1, 1), where)


def _of_results(layout: Layout, rank: int, output: Output, plan: Order) -> Layout:
    """The layout of an output that there is one of for each result, or for each part of one."""
    if plan.parts == 1:
        return Layout(layout.shape[:rank], layout.strides[:rank], layout.offset)
    return Layout((*layout.shape[:rank], plan.parts), (*layout.strides[:rank], output.part), layout.offset)


def build(form: ReduceForm) -> Kernel:
    """The kernel of a form."""
    if form.way == "columns":
        return Columns(form).build()
    return Rows(form).build() if form.held is None else HeldRows(form).build()


def _group(items: int, parts: int, target: Target) -> int:
    """Work-items of a group where they do not work together: on a CPU few enough that all cores have some."""
    most = target.group_size
    while target.kind == "cpu" and most > 1 and most * 4 * target.compute_units > items * parts:
        most //= 2
    return power_of_two(items, most)
