"""Launches for elementwise expressions some of whose leaves lie along another axis than the results, as `x.T + y`.

There is one axis beside the last along which leaves are turned. What lies along neither is read element by element.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ocl_ir.graph.build import Buffer
from ocl_ir.indices import Shape
from ocl_ir.layout import Layout
from ocl_ir.types import BF16, F16, F32, DType
from ocl_runtime.plan.fusion.reduction_order import power_of_two
from ocl_runtime.plan.fusion.values import Value, laid_out
from ocl_runtime.plan.kernels.accesses import accesses
from ocl_runtime.plan.kernels.elementwise_kernel import size_name
from ocl_runtime.plan.kernels.form import Output, Parameters, aligned, index_dtype, lanes_for, rounded_up
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.kernels.naming import output_names
from ocl_runtime.plan.kernels.transpose_kernel import TransposeForm, build
from ocl_runtime.plan.launch import Launch, Sizes
from ocl_runtime.plan.target import Target

_UNIT = 4
"""Elements of a unit on a GPU at most: of more, a work-item has too many registers (halves in blocks of 8 x 8 reached
86 to 89% of a copy where these reached 93, H200)."""
_FEW_ITEMS = 32
"""Work-items that a group of a GPU should have at least."""
_SHORT = 8
"""Along shorter axes what one access brings is not worth a turn."""
_TILE_BYTES = 2**15
"""Local memory for all tiles of a group: what every GPU has."""
_MOST_GROUPS = 65535
"""Groups in dimensions 1 and 2 that every device takes."""


@dataclass(frozen=True, slots=True)
class Transposition:
    """Which leaves are turned, by their places among the layouts, from along an `axis`; `lanes`, `result_lanes` and
    `tile` are as of `TransposeForm`. `aligned`: whether units of the turned leaves, of the others and of the results
    are, and no row ends within one."""

    axis: int
    turned: tuple[int, ...]
    lanes: int
    result_lanes: int
    tile: tuple[int, int] | None
    aligned: tuple[bool, bool, bool]


def transposition(
    values: Sequence[Value], shape: Shape, layouts: Sequence[Layout], outputs: Sequence[Output], target: Target
) -> Transposition | None:
    """How leaves and outputs with these layouts are turned; None where nothing is, or the results lie along no row."""
    lane, leaves = len(shape) - 1, laid_out(values)
    results = layouts[len(leaves) :]
    if lane == 0 or any(layout.strides[lane] != 1 for layout in results):
        return None
    turned: dict[int, list[int]] = {}
    for index, (leaf, layout) in enumerate(zip(leaves, layouts, strict=False)):
        if isinstance(leaf.source, Buffer) and all(layout.strides[lane] != step for step in (0, 1, -1)):
            for axis in range(lane):
                if layout.strides[axis] in (1, -1):
                    turned.setdefault(axis, []).append(index)
                    break
    if not turned:
        return None
    axis, chosen = max(turned.items(), key=lambda item: len(item[1]))
    if shape[axis] < _SHORT or shape[lane] < _SHORT:
        return None
    lanes = lanes_for(values, [output.dtype for output in outputs], target)
    tile = None
    if target.kind == "gpu":
        lanes = min(lanes, _UNIT)
        dtypes = [leaves[index].source.dtype for index in chosen]
        in_order = _in_units(results, lane, lanes)
        tile, most = _tile(dtypes, shape, axis, lanes, target, stored=in_order)
        chosen = chosen[:most]
    else:
        while lanes > shape[axis] or lanes > shape[lane]:
            lanes //= 2
    if lanes == 1:
        return None
    direct = [layout for index, layout in enumerate(layouts[: len(leaves)]) if index not in chosen]
    direct = [layout for layout in direct if layout.strides[lane] == 1]
    in_columns = _in_units([layouts[index] for index in chosen], axis, lanes)
    in_rows, stored = _in_units(direct, lane, lanes), _in_units(results, lane, lanes)
    result_lanes = lanes if stored or target.kind == "cpu" else 1
    whole = in_columns, in_rows and result_lanes > 1, stored
    return Transposition(axis, tuple(chosen), lanes, result_lanes, tile, whole)


def _in_units(layouts: Sequence[Layout], axis: int, lanes: int) -> bool:
    """Whether layouts along an axis consist of aligned units."""
    return all(layout.shape[axis] % lanes == 0 and layout.strides[axis] == 1 for layout in layouts) and all(
        aligned(layout, axis, lanes) for layout in layouts
    )


def _tile(
    turned: Sequence[DType], shape: Shape, axis: int, lanes: int, target: Target, *, stored: bool
) -> tuple[tuple[int, int], int]:
    """Units of a tile down its columns and along its rows, and of how many leaves there may be one; `stored`: rows of
    results are aligned."""
    sizes = [F32.size if dtype == BF16 or (dtype == F16 and not target.fp16) else dtype.size for dtype in turned]
    units = target.group_size * max(1, F32.size // max(dtype.size for dtype in turned))
    while units > target.group_size and units * lanes**2 * sum(sizes) > _TILE_BYTES:
        units //= 2
    while units >= 4 * _FEW_ITEMS and math.prod(shape) < units * lanes**2 * target.compute_units:
        units //= 4  # so that each compute unit has a tile
    rows, columns, along = shape[axis], shape[-1], 1
    while 4 * along * along <= units:
        along *= 2
    down = units // along
    if not stored and down > 1:  # longer rows have fewer ends
        down, along = down // 2, along * 2

    def covered(shape: tuple[int, int]) -> int:
        """Units of all tiles of a shape, with those beyond the last row and column."""
        return -(-rows // (shape[0] * lanes)) * shape[0] * -(-columns // (shape[1] * lanes)) * shape[1]

    shapes = [shape for shape in ((down, along), (2 * down, along // 2), (down // 2, 2 * along)) if all(shape)]
    least = min(map(covered, shapes))
    down, along = next(shape for shape in shapes if 7 * covered(shape) <= 8 * least)
    while down > 1 and down * lanes // 2 >= rows and along * lanes < columns:
        down, along = down // 2, along * 2
    while along > 1 and along * lanes // 2 >= columns and down * lanes < rows:
        down, along = down * 2, along // 2
    most = max(1, _TILE_BYTES // (units * lanes**2 * max(sizes)))
    while down > 1 and down * along > _FEW_ITEMS and down * lanes // 2 >= rows:
        down //= 2
    while along > 1 and down * along > _FEW_ITEMS and along * lanes // 2 >= columns:
        along //= 2
    return (down, along), most


def transpose_launch(
    how: Transposition,
    values: Sequence[Value],
    shape: Shape,
    layouts: Sequence[Layout],
    outputs: Sequence[Output],
    lowering: Lowering,
    *,
    apart: bool,
) -> Launch:
    """The launch that writes values at every place of `shape`; see `elementwise_launch`."""
    target, kernels, names, where, _ = lowering
    lane, count = len(shape) - 1, len(layouts) - len(outputs)
    down, along = how.tile or (1, 1)
    units = dict(enumerate(shape))
    units[how.axis] = -(-shape[how.axis] // (down * how.lanes))
    units[lane] = -(-shape[lane] // (along * how.lanes))
    rest = tuple(axis for axis in reversed(range(lane)) if axis != how.axis)
    items = target.group_size if how.tile is None else min(target.group_size, down * along)
    grid, global_size, group_size = _index_space((lane, how.axis, *rest), units, items, tiled=how.tile is not None)
    places = units[how.axis] * down * units[lane] * along * how.lanes
    index = index_dtype(layouts, *global_size, *shape, math.prod(global_size), places)
    parameters = Parameters(index, math.prod(shape))
    for axis, length in enumerate(shape):
        parameters.size(size_name(axis, len(shape)), length)
    in_columns, in_rows, stored = (how.lanes if whole else 1 for whole in how.aligned)
    described = accesses(
        values,
        layouts[:count],
        parameters,
        lane,
        in_rows,
        names=names,
        lanes_of=dict.fromkeys(how.turned, (how.axis, in_columns)),
    )
    results = tuple(
        (output.value, parameters.memory(name, output.dtype, output.storage, layout, lane, stored))
        for output, name, layout in zip(outputs, output_names(len(outputs)), layouts[count:], strict=True)
    )
    in_memory = [place for place, value in enumerate(values) if laid_out([value])]
    form = TransposeForm(
        described,
        results,
        tuple(parameters.specs),
        len(shape),
        how.axis,
        tuple(in_memory[number] for number in how.turned),
        how.lanes,
        how.result_lanes,
        how.tile,
        items,
        grid,
        index,
        target.fp16,
        apart,
    )
    return Launch(kernels.get(form, build), tuple(parameters.args), global_size, group_size, where)


def _index_space(
    axes: tuple[int, ...], units: Mapping[int, int], items: int, *, tiled: bool
) -> tuple[tuple[tuple[int, ...], ...], Sizes, Sizes]:
    """The axes of each dimension, the global size and the group: a tile has a group, a block a work-item of a square of
    them. Groups that follow each other go along a row of results, so that these are written as they lie in memory."""
    for grid in ((axes[:1], axes[1:2], *([axes[2:]] if axes[2:] else [])), (axes,)):
        sizes = [math.prod(units[axis] for axis in dimension) for dimension in grid]
        group = [items, 1, 1][: len(sizes)] if tiled else [power_of_two(items, math.isqrt(items))]
        if tiled:
            padded = [sizes[0] * items, *sizes[1:]]
        else:
            group += [items // group[0], 1][: len(sizes) - 1]
            padded = [rounded_up(size, unit) for size, unit in zip(sizes, group, strict=True)]
        if all(size // unit <= _MOST_GROUPS for size, unit in zip(padded[1:], group[1:], strict=True)):
            break
    x, y, z = (*padded, 1, 1)[:3]
    across, deep, high = (*group, 1, 1)[:3]
    return grid, (x, y, z), (across, deep, high)
