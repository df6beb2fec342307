"""In which order the elements of a reduction are joined.

It depends on what is reduced and on the device, and not on how that is computed: on lengths, dtypes (of products of
vectors, on that of these, too), and which axes lie next to each other in the canonical layout of the reduced node (see
`canonical.py`). So a reduction gives the same bits whether its operand is fused into it or was computed before, and
whatever else its kernel computes. The elements of one result are counted in their canonical order. There are two ways:

- rows: the elements lie next to each other. A team of work-items strides over the vectors of one result, each with some
  accumulators, and joins its partial results in local memory.
- columns: the results lie next to each other, or each has few elements. A team strides over the elements of its result,
  each of the team with one accumulator, while its neighbours do the same for the results beside it.

On a CPU, and where a result has few elements, the team is one work-item; of few parts, where that fills the device.

Where that leaves the device idle, or adds too many elements to one number to be accurate, the elements of each result
are split into parts, and a second kernel, which is a reduction like any other, joins the parts. Columns stay whole
where a GPU's largest groups come out even among its units.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ocl_ir.layout import Layout
from ocl_ir.types import COMPLEX_LANES, F32, LANES, DType
from ocl_runtime.plan.fusion.canonical import axes_in_memory
from ocl_runtime.plan.target import Target

Way: TypeAlias = Literal["rows", "columns"]

_FEW_ELEMENTS = 32
"""Elements of a result up to which one work-item takes them all."""
_FEW_PARTS = 15
"""Parts of a result up to which one work-item joins them all, where there are few results."""
_FEW_COLUMNS = 16
"""Neighbouring results below which a CPU takes the results one by one."""
_MANY_RESULTS = 1024
"""Results that keep a device busy without splitting."""
_MANY_ROUNDS = 4
"""Rounds of a part of a row above which it has whole ones."""
_BUSY_PARTS = 8192
"""Parts that are made to keep a device busy; more would keep the second launch too long."""
_GROUPS_OF_ROWS, _GROUPS_OF_COLUMNS = 16, 6
"""Work-groups of a compute unit of a GPU, where results are split."""
_FEW_GROUPS = 3
"""Groups of a compute unit below which they are, for each four bytes of an accumulator: with so many, of wide accesses,
a unit waits for its memory alone (2^27 float32 on an H100, two launches and one: 256 groups 96 and 88% of what can be
read, 512 groups 95 and 98%). Elements of 64 bits may be made of narrower ones, which are accessed less wide (keys of
2^26 float32 on an H200, 512 groups: 92 and 57%)."""
_EACH = 4
"""Vectors of a row that one of its team has at least, so that as many loads are under way."""
_MOST_EACH = 16
"""Vectors of a row that one of its team can hold in registers."""
_OF_LARGE_GROUPS = 4
"""Bytes of an accumulator at most."""
_LINE_VECTORS = 8
"""Vectors of 16 bytes that are as long as a line of a GPU's cache."""
_LEAST_OF_A_COLUMN, _MOST_OF_A_COLUMN = 8, 128
"""Elements of a column that one of its team has at least, and at most in the largest groups: these read a bit slower
than many small ones, and of longer columns that takes more time than the launch that joins parts."""
_GROUPS_OF_A_UNIT, _ALMOST_ALL = 2, 0.9
"""Largest groups that a unit has at most, and the share of the units that has to have as many: they wait for those.
With 128 or 256 groups for 132 units, a row times 4096 x 4096 or 8192 float32 took 27.0 and 44.0 us on an H200, in parts
29.7 and 46.1; with 144 or 160 groups 36.4 and 37.3, in parts 32.4 and 34.0."""
_LINE, _WIDE, _ELEMENTS = 32, 8, 2
"""What the work-items of a group are divided by for those beside each other in columns: of 256, 8 or 32 vectors, or 128
elements. A line of a GPU's cache does where one launch is enough; where there are parts anyway, memory gives more to
groups that read wider. Rows of single elements begin anywhere, and the longer a group's part of one is, the less of it
is read by its neighbours, too."""
_SEQUENTIAL = 4096
"""Elements that are added to one number one after the other, for accuracy."""
_MOST_PARTS = 65535
_ACCUMULATOR_BYTES = 256
"""Registers that the accumulators of one work-item may take."""


@dataclass(frozen=True, slots=True)
class Order:
    """How the elements of each result are joined.

    `kept` and `reduced` are the axes longer than 1 in canonical order. In rows each of `team` work-items has `chains`
    accumulators of `lanes` lanes, in columns one number. A result has `parts` parts of `per` elements or vectors, and
    number i of a part belongs to work-item i % team. `largest`: in the largest groups of a GPU.
    """

    way: Way
    kept: tuple[int, ...]
    reduced: tuple[int, ...]
    lanes: int
    team: int
    chains: int
    parts: int
    per: int
    largest: bool = False


def order(
    canonical: Layout,
    axes: tuple[int, ...],
    dtype: DType,
    accumulator: DType,
    target: Target,
    *,
    factor: DType | None = None,
    split: bool = True,
) -> Order:
    """How elements of `dtype` in a canonical layout are joined along axes. Columns of products are counted in vectors
    of a `factor`, since these are read. Parts are joined in one part: who does that says not to `split`."""
    in_order = axes_in_memory(canonical)
    kept = tuple(axis for axis in in_order if axis not in axes)
    reduced = tuple(axis for axis in in_order if axis in axes)
    results, elements = (math.prod(canonical.shape[axis] for axis in some) for some in (kept, reduced))
    lanes = row_lanes(dtype, accumulator, target)
    width = 1
    for axis in reversed(in_order):  # neighbouring results
        if axis in axes:
            break
        width *= canonical.shape[axis]
    # Where there are neither teams nor parts, columns keep only as many work-items busy as there are results.
    few = 2 if target.kind == "gpu" else max(lanes, _FEW_COLUMNS)
    enough = width >= few and (split or target.kind == "gpu" or results >= _MANY_RESULTS)
    if enough or elements <= _FEW_ELEMENTS:
        wide = row_lanes(factor or dtype, accumulator, target)
        lanes = wide if width % wide == 0 else lanes
        least = _FEW_ELEMENTS if split or _is_busy(results, width, lanes, target) else _FEW_PARTS
        team, parts, per = 1, 1, elements
        for part in _LINE, _WIDE:
            if enough and elements > least:
                team = _team_of_column(elements, width, lanes, part, target)
            if split:
                parts, per = _columns(results, elements, width, lanes, team, accumulator, target)
            if parts == 1:
                break
        # Halves and float64 took longer; sums of integers, which accumulate wider, go on sharing kernels with maxima.
        single = accumulator == F32 and (factor or dtype).size == F32.size
        if largest := parts > 1 and single and _fill_units(results, elements, width, lanes, target):
            team, parts, per = target.largest_group_size // _LINE_VECTORS, 1, elements
        return Order("columns", kept, reduced, 1, team, 1, parts, per, largest)
    in_rows = bool(in_order) and in_order[-1] in axes and elements >= lanes
    return _rows(kept, reduced, results, elements, lanes if in_rows else 1, accumulator, target, split)


def row_lanes(dtype: DType, accumulator: DType, target: Target) -> int:
    """Lanes in which rows of a dtype are joined."""
    most = COMPLEX_LANES[-1] if dtype.is_complex or accumulator.is_complex else LANES[-1]
    return max(1, min(most, target.vector_bytes // max(dtype.size, accumulator.size // 4)))


def slab(width: int, elements: int, lanes: int, target: Target) -> int:
    """Vectors of neighbouring results of one work-item that goes through columns."""
    if target.kind != "cpu" or lanes == 1 or elements <= _FEW_ELEMENTS:
        return 1
    # Rows far apart cost a page each: take as much of each as the registers hold, if few columns are left over.
    return next(
        count for count in (8, 4, 2, 1) if width % (lanes * count) == 0 or width >= 16 * lanes * count or count == 1
    )


def _is_busy(results: int, width: int, lanes: int, target: Target) -> bool:
    """Whether a work-item for each result, or vector of them, fills the device."""
    return results // (1 if width % lanes else lanes) >= target.compute_units * target.group_size


def _team_of_column(elements: int, width: int, lanes: int, part: int, target: Target) -> int:
    """Work-items that share a column: those that a group has left beside a part of it, if rows have so many vectors."""
    if target.kind == "cpu":
        return 1
    most = max(1, target.group_size // (_ELEMENTS if width % lanes else part))
    columns = power_of_two(width if width % lanes else width // lanes, most)
    return min(target.group_size // columns, power_of_two(elements // _LEAST_OF_A_COLUMN, target.group_size))


def _fill_units(results: int, elements: int, width: int, lanes: int, target: Target) -> bool:
    """Whether almost each unit of a GPU has one of its largest groups, or two, if columns stay whole."""
    team, beside = target.largest_group_size // _LINE_VECTORS, _LINE_VECTORS * lanes
    if width % beside or not team * _LEAST_OF_A_COLUMN <= elements <= team * _MOST_OF_A_COLUMN:
        return False
    groups = results // beside
    each = -(-groups // target.compute_units)
    return each <= _GROUPS_OF_A_UNIT and groups >= _ALMOST_ALL * each * target.compute_units


def _columns(
    results: int, elements: int, width: int, lanes: int, team: int, accumulator: DType, target: Target
) -> tuple[int, int]:
    if team > 1:
        beside = lanes if width % lanes == 0 else 1
        groups = -(-results * team // (beside * target.group_size))
        # Single elements keep as many bytes under way only in more groups.
        wanted = _wanted(groups * beside // lanes, _GROUPS_OF_COLUMNS, accumulator, target) * lanes // beside
        if wanted > 2 * groups:  # a few groups more than the device has at once would take a turn of their own
            wanted -= wanted % groups
        return _even(_parts(groups, wanted, elements // (team * _LEAST_OF_A_COLUMN), elements // team), elements)
    if width < lanes:
        lanes = 1
    each = lanes * slab(width, elements, lanes, target)
    items = results // width * -(-width // each)
    wanted, least = (2048, 64) if target.kind == "gpu" else (4, 1024)
    return _even(_parts(items, wanted * target.compute_units, elements // least, elements), elements)


def _rows(
    kept: tuple[int, ...],
    reduced: tuple[int, ...],
    results: int,
    elements: int,
    lanes: int,
    accumulator: DType,
    target: Target,
    split: bool,
) -> Order:
    vectors = elements // lanes
    chains = max(1, min(4, _ACCUMULATOR_BYTES // (lanes * accumulator.size)))
    team = 1
    if target.kind == "gpu":
        team = power_of_two(-(-vectors // _EACH), target.group_size)
        team = max(team, min(_LINE_VECTORS, target.group_size))
        # Of larger accumulators, several folds would take more local memory than there may be.
        if 2 * _EACH * team < vectors <= _MOST_EACH * target.large_group_size and accumulator.size <= _OF_LARGE_GROUPS:
            team = max(team, power_of_two(-(-vectors // (2 * _EACH)), target.large_group_size))
    groups, most, wanted = results, vectors // (1024 * chains), 4 * target.compute_units
    if target.kind == "gpu":
        groups, most = -(-results * team // target.group_size), vectors // (2 * team * chains)
        wanted = _wanted(groups, _GROUPS_OF_ROWS, accumulator, target)
    parts = _parts(groups, wanted, most, -(-vectors // (team * chains))) if split else 1
    return Order("rows", kept, reduced, lanes, team, chains, *_even(parts, vectors, team * chains))


def _wanted(groups: int, most: int, accumulator: DType, target: Target) -> int:
    """Groups that a GPU is given to be busy. Where there are enough, they stay as many: that spares the launch that
    joins parts."""
    few = _FEW_GROUPS * max(1, accumulator.size // 4)
    return groups if groups >= few * target.compute_units else most * target.compute_units


def _parts(have: int, wanted: int, most: int, in_sequence: int) -> int:
    """Parts of each of `have` pieces of work, so that there are `wanted` if `most` allows it, and none is too long."""
    return min(_MOST_PARTS, max(1, min(-(-wanted // have), most, _BUSY_PARTS), -(-in_sequence // _SEQUENTIAL)))


def _even(parts: int, length: int, round_: int = 1) -> tuple[int, int]:
    """The number of parts, none of them empty, and their length: of long ones, a multiple of what a team takes in one
    round, since what is left over is read with fewer loads under way."""
    per = max(1, -(-length // parts))
    if per >= _MANY_ROUNDS * round_:
        per = -(-per // round_) * round_
    return max(1, -(-length // per)), per


def power_of_two(size: int, most: int) -> int:
    """The least power of two that is not below `size`, or below `most`, another one."""
    power = 1
    while power < most and power < size:
        power *= 2
    return power
