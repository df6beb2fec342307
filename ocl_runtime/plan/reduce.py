"""Decides how a reduction is computed: which axis becomes lanes, how many work-items share a result, in how many parts.

Kept and reduced axes are collapsed separately. Then there are two ways:

- rows: the reduced elements lie next to each other. A team of work-items strides over the elements of one result in
  wide loads, and joins its partial results in local memory. On a CPU the team is one work-item.
- columns: the results lie next to each other, or each has few elements. One work-item goes through all elements of one
  result, or of W neighbouring results in lanes.

Where that leaves the device idle, or adds too many elements to one number to be accurate, the elements of each result
are split into parts, and a second launch, which is a reduction like any other, joins the parts.

The order in which elements are joined depends on the target, the sizes, and the dtypes and strides of the leaves: the
same expression over the same layouts gives the same bits on one device in every run. The sum of a fused expression over
a strided view may differ in its last bits from that of the computed one, whose leaf is dense. Integers, minima and
maxima do not depend on the order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from ir.graph import Node, ReduceOp, Storage, buffer
from ir.layout import Layout, Shape, collapse
from ir.types import DType
from ocl_runtime.plan.cache import KernelCache
from ocl_runtime.plan.form import (
    Parameters,
    accesses,
    index_dtype,
    lanes_for,
    leaf_layouts,
    power_of_two,
    rounded_up,
    table_layouts,
)
from ocl_runtime.plan.fuse import Leaf, Operation, Value
from ocl_runtime.plan.launch import Launch, Sizes
from ocl_runtime.plan.reduce_kernel import ReduceForm, Way, build
from ocl_runtime.plan.target import Target

_FEW_ELEMENTS = 32
"""Elements of a result up to which one work-item takes them all."""
_FEW_COLUMNS = 16
"""Neighbouring results below which teams take the results one by one."""
_MANY_RESULTS = 1024
"""Results that keep a device busy without splitting."""
_BUSY_PARTS = 512
"""Parts that are made to keep a device busy; more would keep the second launch too long."""
_SEQUENTIAL = 4096
"""Elements that are added to one number one after the other, for accuracy."""
_MOST_PARTS = 65535
_LARGE_EXPRESSION = 16
"""Operations above which a row kernel holds the expression once and not for each accumulator."""
_ACCUMULATOR_BYTES = 256
"""Registers that the accumulators of one work-item may take."""


@dataclass(frozen=True, kw_only=True)
class Reduction:
    """What to reduce: the last of the values, over the index space `shape`, along `axes`."""

    values: tuple[Value, ...]
    shape: Shape
    axes: tuple[int, ...]
    op: ReduceOp
    accumulator: DType
    dtype: DType


@dataclass(frozen=True)
class _Space:
    """The collapsed axes: layouts are over the kept axes and then the reduced ones, the result's over the kept ones."""

    kept: Shape
    reduced: Shape
    layouts: tuple[Layout, ...]
    result: Layout

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

    def in_lanes(self, axis: int) -> bool:
        """Whether all leaves have neighbours along an axis, or the same element everywhere."""
        return all(layout.strides[axis] in (0, 1) for layout in self.layouts)


@dataclass(frozen=True)
class _Plan:
    """The way to compute it. `team`: work-items of a result; `chains`: accumulators of each; `parts`: of each result,
    of `per` elements or vectors.
    """

    way: Way
    lanes: int
    team: int
    chains: int
    parts: int
    per: int


def reduce_launches(
    reduction: Reduction,
    storage: Storage,
    allocate: Callable[[int], Storage],
    *,
    target: Target,
    kernels: KernelCache,
    names: Mapping[Node, str],
    where: str = "",
) -> list[Launch]:
    """One or two launches that reduce into a dense storage; `allocate` gives memory for what lies between two.

    Neither the result nor the reduced range is empty. Leaves among the values are buffers, iotas and scalars.
    """

    def launch(reduction: Reduction, space: _Space, plan: _Plan, to: Storage) -> Launch:
        return _launch(reduction, space, plan, to, target, kernels, names, where)

    space = _collapsed(reduction)
    plan = _choose(space, reduction, target)
    if plan.parts == 1:
        return [launch(reduction, space, plan, storage)]
    between = allocate(space.results * plan.parts * reduction.accumulator.size)
    first = launch(replace(reduction, dtype=reduction.accumulator), space, plan, between)
    # Parts lie next to each other after rows, results after columns: the second launch reads them in that order.
    lengths, axis = ((space.results, plan.parts), 1) if plan.way == "rows" else ((plan.parts, space.results), 0)
    layout = Layout.contiguous(lengths)
    leaf = Leaf(buffer(between, reduction.accumulator, layout), layout, False)
    joined = replace(reduction, values=(leaf,), shape=lengths, axes=(axis,))
    space = _collapsed(joined)
    return [first, launch(joined, space, _choose(space, joined, target, split=False), storage)]


def _collapsed(reduction: Reduction) -> _Space:
    kept_axes = [axis for axis in range(len(reduction.shape)) if axis not in reduction.axes]
    layouts = leaf_layouts(reduction.values)
    kept = tuple(reduction.shape[axis] for axis in kept_axes)
    kept, (*kept_layouts, result) = collapse(kept, [*(x.permute(kept_axes) for x in layouts), Layout.contiguous(kept)])
    reduced = tuple(reduction.shape[axis] for axis in reduction.axes)
    reduced, reduced_layouts = collapse(reduced, [layout.permute(reduction.axes) for layout in layouts])
    both = zip(kept_layouts, reduced_layouts, strict=True)
    joined = tuple(Layout(kept + reduced, x.strides + r.strides, x.offset) for x, r in both)
    return _Space(kept, reduced, joined, result)


def _choose(space: _Space, reduction: Reduction, target: Target, *, split: bool = True) -> _Plan:
    lanes = lanes_for([value for value in reduction.values if isinstance(value, Leaf)], [], target)
    rank = len(space.kept)
    in_rows = len(space.reduced) == 1 and space.in_lanes(rank)
    in_columns = rank > 0 and space.in_lanes(rank - 1) and space.kept[-1] >= lanes
    in_columns = in_columns and any(layout.strides[rank - 1] == 1 for layout in space.layouts)
    # Where there is no splitting, columns keep only as many work-items busy as there are results.
    enough = space.kept[-1] >= _FEW_COLUMNS and (split or space.results >= _MANY_RESULTS) if in_columns else False
    if (enough and not in_rows) or space.elements <= _FEW_ELEMENTS:
        return _columns(space, lanes if in_columns else 1, target, split)
    return _rows(space, lanes if in_rows and space.elements >= lanes else 1, reduction, target, split)


def _columns(space: _Space, lanes: int, target: Target, split: bool) -> _Plan:
    chains = 1
    if target.kind == "cpu" and lanes > 1 and space.elements > _FEW_ELEMENTS:
        # Rows far apart cost a page each: take as much of each as the registers hold, if few columns are left over.
        width = space.kept[-1]
        chains = next(
            one for one in (8, 4, 2, 1) if width % (lanes * one) == 0 or width >= 16 * lanes * one or one == 1
        )
    items = space.vectors(lanes * chains)
    wanted, least = (2048, 64) if target.kind == "gpu" else (4, 1024)
    parts = _parts(items, wanted * target.compute_units, space.elements // least, space.elements) if split else 1
    return _Plan("columns", lanes, 1, chains, *_even(parts, space.elements))


def _rows(space: _Space, lanes: int, reduction: Reduction, target: Target, split: bool) -> _Plan:
    vectors = space.elements // lanes
    operations = sum(isinstance(value, Operation) for value in reduction.values)
    registers = _ACCUMULATOR_BYTES // (lanes * reduction.accumulator.size)
    chains = 1 if operations > _LARGE_EXPRESSION else max(1, min(4, registers))
    team, wanted, least = 1, 4, 1024 * chains
    if target.kind == "gpu":
        team = max(32, power_of_two(-(-vectors // chains), target.group_size))
        wanted, least = 8, 2 * team * chains
    in_sequence = -(-vectors // (team * chains))
    parts = _parts(space.results, wanted * target.compute_units, vectors // least, in_sequence) if split else 1
    return _Plan("rows", lanes, team, chains, *_even(parts, vectors))


def _parts(have: int, wanted: int, most: int, in_sequence: int) -> int:
    """Parts of each of `have` pieces of work, so that there are `wanted` if `most` allows it, and none is too long."""
    return min(_MOST_PARTS, max(1, min(-(-wanted // have), most, _BUSY_PARTS), -(-in_sequence // _SEQUENTIAL)))


def _even(parts: int, length: int) -> tuple[int, int]:
    """The number of parts, none of them empty, and their length."""
    per = max(1, -(-length // parts))
    return max(1, -(-length // per)), per


def _launch(
    reduction: Reduction,
    space: _Space,
    plan: _Plan,
    storage: Storage,
    target: Target,
    kernels: KernelCache,
    names: Mapping[Node, str],
    where: str,
) -> Launch:
    rank, rows = len(space.kept), plan.way == "rows"
    strides = tuple(stride * plan.parts if rows else stride for stride in space.result.strides)
    part_stride = (1 if rows else space.results) if plan.parts > 1 else 0
    result = Layout((*space.kept, plan.parts), (*strides, part_stride))
    items = space.results * plan.team if rows else space.vectors(plan.lanes * plan.chains)
    group = plan.team if plan.team > 1 else _group(items, plan.parts, target)
    global_size: Sizes = (rounded_up(items, group), plan.parts, 1)
    # The end of a part is computed before it is cut to the length of the range.
    reach = (
        global_size[0] * plan.lanes * plan.chains,
        (space.elements + plan.per + 2 * plan.team * plan.chains) * plan.lanes,
    )
    parameters = Parameters(
        index_dtype((*space.layouts, *table_layouts(reduction.values), result), *reach), space.results * space.elements
    )
    for axis, length in enumerate(space.kept):
        parameters.size(f"n{axis}", length)
    parameters.size("m", space.elements)
    if len(space.reduced) > 1:
        for axis, length in enumerate(space.reduced):
            parameters.size(f"m{axis}", length)
    parameters.size("per", plan.per)
    lane = None if plan.lanes == 1 else rank if rows else rank - 1
    values = accesses(reduction.values, space.layouts, parameters, lane, plan.lanes, names=names)
    result_lane = None if rows else lane
    access = parameters.memory("y", reduction.dtype, storage, result, result_lane, plan.lanes, general=True)
    form = ReduceForm(
        way=plan.way,
        values=values,
        result=access,
        specs=tuple(parameters.specs),
        kept=rank,
        reduced=len(space.reduced),
        lanes=plan.lanes,
        team=plan.team,
        chains=plan.chains,
        op=reduction.op,
        accumulator=reduction.accumulator,
        index=parameters.index,
        fp16=target.fp16,
    )
    return Launch(kernels.get(form, build), tuple(parameters.args), global_size, (group, 1, 1), where)


def _group(items: int, parts: int, target: Target) -> int:
    """Work-items of a group where they do not work together: on a CPU few enough that all cores have some."""
    most = target.group_size
    while target.kind == "cpu" and most > 1 and most * 4 * target.compute_units > items * parts:
        most //= 2
    return power_of_two(items, most)
