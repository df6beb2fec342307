"""In which order the elements of a reduction are joined.

It depends on what is reduced and on the device, and not on how that is computed: on lengths, dtypes, and which axes lie
next to each other in the canonical layout of the reduced node (see `canonical.py`). So a reduction gives the same bits
whether its operand is fused into it or was computed before, and whatever else its kernel computes. The elements of one
result are counted in their canonical order. There are two ways:

- rows: the elements lie next to each other. A team of work-items strides over the vectors of one result, each with some
  accumulators, and joins its partial results in local memory.
- columns: the results lie next to each other, or each has few elements. A team strides over the elements of its result,
  each of the team with one accumulator, while its neighbours do the same for the results beside it.

On a CPU, and where a result has few elements, the team is one work-item.

Where that leaves the device idle, or adds too many elements to one number to be accurate, the elements of each result
are split into parts, and a second kernel, which is a reduction like any other, joins the parts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ocl_ir.graph.nodes import Elementwise, Movement, Node
from ocl_ir.layout import Layout
from ocl_ir.types import BF16, COMPLEX_LANES, F16, F32, LANES, DType
from ocl_runtime.plan.fusion.canonical import axes_in_memory
from ocl_runtime.plan.target import Target

Way: TypeAlias = Literal["rows", "columns"]

_FEW_ELEMENTS = 32
"""Elements of a result up to which one work-item takes them all."""
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
_LEAST_TEAM = 8
"""Vectors of 16 bytes that are as long as a line of a GPU's cache."""
_LEAST_OF_A_COLUMN = 8
"""Elements of a column that one of its team has at least."""
_BESIDE = 128, 512
"""Bytes of neighbouring results that a group reads of each row, where rows begin at a line of a GPU's cache: a line of
it, if all elements of a result are then added up in one launch, else more at once, which memory gives faster."""
_OF_ELEMENTS = 2
"""Of a group, the part of its work-items that lie beside each other where rows begin anywhere: the longer its part of a
row, the less of it is read by its neighbours, too."""
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
    number i of a part belongs to work-item i % team.
    """

    way: Way
    kept: tuple[int, ...]
    reduced: tuple[int, ...]
    lanes: int
    team: int
    chains: int
    parts: int
    per: int


def order(
    canonical: Layout,
    axes: tuple[int, ...],
    dtype: DType,
    accumulator: DType,
    target: Target,
    *,
    in_memory: DType | None = None,
    split: bool = True,
) -> Order:
    """How elements of `dtype` in a canonical layout are joined along axes; in one part unless `split`. In columns, as
    many lie beside each other as dtype `in_memory` has in a vector, since these are read at once."""
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
        read = in_memory or dtype
        lanes = row_lanes(read, accumulator, target)
        for beside in _BESIDE:
            vectors = beside // (lanes * read.size)
            team = _team_of_column(results, elements, width, lanes, vectors, target) if enough else 1
            parts, per = (
                _columns(results, elements, width, lanes, team, accumulator, target) if split else (1, elements)
            )
            if parts == 1:
                break
        return Order("columns", kept, reduced, 1, team, 1, parts, per)
    in_rows = bool(in_order) and in_order[-1] in axes and elements >= lanes
    return _rows(kept, reduced, results, elements, lanes if in_rows else 1, accumulator, target, split)


def dtype_in_memory(node: Node) -> DType:
    """The dtype in which elements that are reduced lie in memory: that of halves which are float32 only to be
    multiplied and added up, as in products of vectors, else the dtype of the node."""
    node = _unmoved(node)
    factors = node.args if isinstance(node, Elementwise) and node.op == "mul" else (node,)
    dtypes = [_before_conversion(_unmoved(factor)) for factor in factors]
    return max(dtypes, key=lambda dtype: dtype.size) if node.dtype is F32 else node.dtype


def _unmoved(node: Node) -> Node:
    """What is moved, if anything is."""
    while isinstance(node, Movement):
        node = node.arg
    return node


def _before_conversion(node: Node) -> DType:
    """The dtype of halves that are converted, else that of the node."""
    is_conversion = isinstance(node, Elementwise) and node.op == "convert"
    return node.args[0].dtype if is_conversion and node.args[0].dtype in {F16, BF16} else node.dtype


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


def _team_of_column(results: int, elements: int, width: int, lanes: int, vectors: int, target: Target) -> int:
    """Work-items that share a column: those that a group has left beside so many vectors, if rows have them. A few
    elements are for one work-item, if that keeps the device busy."""
    is_busy = results // lanes >= target.compute_units * target.group_size
    if target.kind == "cpu" or (elements <= _FEW_ELEMENTS and (is_busy or elements < 2 * _LEAST_OF_A_COLUMN)):
        return 1
    most = target.group_size // _OF_ELEMENTS if width % lanes else min(target.group_size, vectors)
    columns = power_of_two(width if width % lanes else width // lanes, most)
    return min(target.group_size // columns, power_of_two(elements // _LEAST_OF_A_COLUMN, target.group_size))


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
        team = max(team, min(_LEAST_TEAM, target.group_size))
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
