"""Launches for elementwise expressions.

The axes are collapsed first. One axis that all leaves walk in steps of 0 or 1 gives the flat kernel: a work-item
computes W neighbours as lanes, and the one at the end the rest one by one. More axes give an index space of up to three
dimensions, the innermost first, in lanes again if all inner steps allow it; what is beyond, or beyond the number of
groups that devices take in the outer dimensions, shares a dimension and is taken apart by division.

On a GPU lanes pay only where each store of them is one of the device's, aligned; reads of neighbours one by one are
joined by its cache. So where rows of the results are not aligned, but follow each other, vectors go over their ends.
Terms of a stencil share what they read: in lanes where the rows of their windows are aligned. Everything else is
computed in no lanes, with a few results one above the other, since one read of an element at a time does not keep the
memory busy. What lies along another axis than the results is turned (`transpose.py`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ocl_ir.indices import Shape
from ocl_ir.kernel.work import length as code_length
from ocl_ir.layout import Layout, collapse
from ocl_runtime.plan.fusion.cost import operation
from ocl_runtime.plan.fusion.growing import MAX_OPERATIONS, fits
from ocl_runtime.plan.fusion.reduction_order import power_of_two
from ocl_runtime.plan.fusion.values import Leaf, Operation, Value, dtype_of, laid_out, leaf_layouts, table_layouts
from ocl_runtime.plan.kernels.accesses import accesses
from ocl_runtime.plan.kernels.elementwise_kernel import ElementwiseForm, build, size_name
from ocl_runtime.plan.kernels.form import Output, Parameters, aligned, all_aligned, index_dtype, lanes_for, rounded_up
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.kernels.naming import output_names
from ocl_runtime.plan.kernels.transpose import transpose_launch, transposition
from ocl_runtime.plan.kernels.windows import Window, best_axis, steps_apart, wide_windows, windows
from ocl_runtime.plan.launch import Launch, Sizes
from ocl_runtime.plan.target import Target

_ROW = 64
"""Work-items of a group that lie next to each other at least, so that their accesses are wide together."""
_ABOVE = 4
"""Results that a work-item of a GPU computes one above the other: a copy of single elements reached 60% of the memory's
speed with 1, 86% with 2, 95% with 4 and 89% with 8, a 9-point stencil without lanes 51, 72, 80 and 82% (H200)."""
_LONG_ROW = 256
"""Elements of a row whose ends are rare enough for vectors to go over them."""
_MOST_OPERATIONS = 256
"""Operations of the code for several results; who computes more for each is not kept waiting by memory."""
_LONG = 2
"""Times as long as memory takes to move what is read and written."""
_ITEMS_OF_A_UNIT = 2048
"""Work-items that a compute unit of a GPU has under way."""
_MOST_GROUPS = 65535
"""Groups in dimensions 1 and 2 that every device takes."""


def elementwise_launch(
    values: Sequence[Value],
    shape: Shape,
    outputs: Sequence[Output],
    lowering: Lowering,
    *,
    apart: bool = True,
) -> Launch:
    """The launch that writes values at every place of `shape` (which is not empty).

    A leaf that shares an element with an output (then they are not `apart`) has it at the same place.

    Leaves among the values are buffers, iotas and scalars.
    """
    target, kernels, names, where, _ = lowering
    laid_out_leaves = leaf_layouts(values)
    pointers = len(laid_out_leaves) + len(table_layouts(values)) + len(outputs)
    numbers = sum(isinstance(value, Leaf) for value in values) - len(laid_out_leaves)
    crowded = not fits(pointers, len(shape), target, scalars=numbers)
    kept = steps_apart(values, laid_out_leaves) if crowded else set()
    shape, layouts = _collapsed(shape, [*laid_out_leaves, *(output.layout for output in outputs)], kept)
    leaves, lane = layouts[: len(layouts) - len(outputs)], len(shape) - 1
    turned = None if crowded else transposition(values, shape, layouts, outputs, target)
    if turned is not None:
        return transpose_launch(
            turned,
            values,
            shape,
            layouts,
            outputs,
            lowering,
            apart=apart,
        )
    way = _way(values, shape, layouts, outputs, target, crowded=crowded)
    lanes, rows = way.lanes, way.rows
    if way.flat:
        layouts = tuple([_flat(layout) for layout in layouts])
        leaves, items = layouts[: len(leaves)], [-(-math.prod(shape) // lanes)]
    else:
        items = [*shape[:-1], -(-shape[lane] // lanes)]
        items[rows[0]] = -(-items[rows[0]] // rows[1])
    grid, global_size, group_size = _index_space(tuple(items), target.group_size, wide=target.kind == "gpu")
    reached = [*layouts, *table_layouts(values), *(window.layout for window in way.windows)]
    index = index_dtype(reached, *(size * lanes * rows[1] for size in global_size))
    parameters = Parameters(index, math.prod(shape), way.aligned, backwards=not way.shared)
    for axis, length in enumerate(shape):
        parameters.size(size_name(axis, len(shape)), length)
    flat = "n" if len(shape) == 1 else ""
    described = accesses(
        values,
        leaves,
        parameters,
        lane,
        1 if way.flat else lanes,
        names=names,
        length=flat,
        windows=way.windows,
        lanes_of={number: (0, lanes) for number, layout in enumerate(leaves) if layout.ndim == 1},
    )
    parameters.aligned, stored = way.stored_aligned, []
    for output, name, layout in zip(outputs, output_names(len(outputs)), layouts[len(leaves) :], strict=True):
        whole = flat if layout.is_dense else ""
        width = _store_width(layout, lanes) if way.shared else lanes
        access = parameters.memory(name, output.dtype, output.storage, layout, layout.ndim - 1, width, length=whole)
        stored.append((output.value, access, width))
    form = ElementwiseForm(
        described,
        tuple(stored),
        tuple(parameters.specs),
        len(shape),
        lanes,
        way.shared,
        way.flat,
        rows,
        grid,
        index,
        target.fp16,
        apart,
    )
    return Launch(kernels.get(form, build), tuple(parameters.args), global_size, group_size, where)


@dataclass(frozen=True, slots=True)
class _Way:
    """How a work-item computes several results: `lanes` beside each other, which may be `shared`, that is share what
    they read, or go over the ends of rows (`flat`), or `rows` of them along an axis. `aligned` is as of `Parameters`
    for what is read, `stored_aligned` for the results."""

    lanes: int = 1
    windows: Sequence[Window] = ()
    shared: bool = False
    flat: bool = False
    rows: tuple[int, int] = (0, 1)
    aligned: bool | None = None
    stored_aligned: bool | None = None


def _way(
    values: Sequence[Value],
    shape: Shape,
    layouts: Sequence[Layout],
    outputs: Sequence[Output],
    target: Target,
    *,
    crowded: bool,
) -> _Way:
    """The way for leaves and outputs with these layouts; where they are `crowded`, pointers have to be shared."""
    leaves, lane = layouts[: len(layouts) - len(outputs)], len(shape) - 1
    if target.kind == "gpu" and not crowded and _computes(values, outputs, target):
        return _Way()
    lanes = lanes_for(values, [output.dtype for output in outputs], target)
    few = len(shape) > 1 and shape[lane] < lanes
    ends = layouts[len(leaves) :]
    if (
        few
        or any(layout.strides[lane] not in (0, 1, -1) for layout in layouts)
        or any(layout.strides[lane] == -1 for layout in ends)
    ):
        lanes = 1
    in_lanes = lanes > 1 and all_aligned(layouts, lane, lanes)
    if target.kind == "cpu":
        return _Way(lanes, windows(values, leaves) if crowded else (), aligned=in_lanes, stored_aligned=in_lanes)
    if in_lanes and not crowded:
        return _Way(lanes, aligned=True, stored_aligned=True)
    operations = sum(isinstance(value, Operation) for value in values)
    wide = wide_windows(values, leaves, lanes) if 1 < lanes <= _MOST_OPERATIONS // max(1, operations) else []
    if wide:
        return _Way(lanes, wide, shared=True, aligned=False)
    possible = windows(values, leaves)
    if lanes > 1 and not possible:
        if all_aligned(ends, lane, lanes):
            return _Way(lanes, aligned=False, stored_aligned=True)
        if shape[lane] >= _LONG_ROW and all(layout.is_dense and layout.offset % lanes == 0 for layout in ends):
            return _Way(lanes, flat=True, aligned=False, stored_aligned=True)
    short = _ABOVE * operations <= _MOST_OPERATIONS
    return _Way(1, possible, rows=_rows(possible, len(leaves), shape, target) if short else (0, 1))


def _computes(values: Sequence[Value], outputs: Sequence[Output], target: Target) -> bool:
    """Whether an element takes so long to compute that nothing waits for memory, or so much code: in lanes it would be
    five times as long, and as long to build."""
    each = [value for value in values if isinstance(value, Operation)]
    worth = sum(operation(value.op, [dtype_of(values[arg]) for arg in value.args]) for value in each)
    moved = sum(leaf.source.dtype.size for leaf in laid_out(values)) + sum(output.dtype.size for output in outputs)
    long = sum(code_length(value.op) for value in each) > MAX_OPERATIONS
    # Lanes that are one block of random words are computed together.
    blocks = any(value.op == "philox" for value in each)
    return long or (worth > _LONG * moved * target.operations_per_byte and not blocks)


def _flat(layout: Layout) -> Layout:
    """A dense layout with one axis, and any other one as it is."""
    return Layout((layout.size,), (1,), layout.offset) if layout.is_dense else layout


def _in_lanes(layout: Layout, lanes: int) -> bool:
    """Whether the last axis of a layout is accessed in lanes with one access of a GPU."""
    lane = layout.ndim - 1
    return layout.strides[lane] != 1 or aligned(layout, lane, lanes)


def _store_width(layout: Layout, lanes: int) -> int:
    """Lanes that are stored together, aligned."""
    while lanes > 1 and not _in_lanes(layout, lanes):
        lanes //= 2
    return lanes


def _rows(windows: Sequence[Window], leaves: int, shape: Shape, target: Target) -> tuple[int, int]:
    """The axis along which a work-item of a GPU computes several results, and how many."""
    axes = [axis for axis in range(len(shape) - 1) if shape[axis] >= _ABOVE]
    if not axes or math.prod(shape) < _ABOVE * target.compute_units * _ITEMS_OF_A_UNIT:
        return 0, 1
    alone = leaves - sum(len(window.shifts) for window in windows)
    return best_axis(windows, alone, axes, _ABOVE), _ABOVE


def _collapsed(shape: Shape, layouts: Sequence[Layout], kept: Collection[int]) -> tuple[Shape, tuple[Layout, ...]]:
    """Collapsed to at least one axis."""
    shape, layouts = collapse(shape, layouts, kept)
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
        if len(sizes) == 1:
            group = [items]
        else:
            # What reads neighbours in several directions finds them in the cache if a group is not only one row.
            rows = power_of_two(sizes[1], items // _ROW) if wide else 1
            group = [power_of_two(sizes[0], items // rows)]
            left = items // group[0]
            for size in sizes[1:]:
                group.append(power_of_two(size, left))
                left //= group[-1]
        padded = [rounded_up(size, unit) for size, unit in zip(sizes, group, strict=True)]
        if all(size // unit <= _MOST_GROUPS for size, unit in zip(padded[1:], group[1:], strict=True)):
            break
    return grid, _three(padded), _three(group)


def _three(sizes: Sequence[int]) -> Sizes:
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z
