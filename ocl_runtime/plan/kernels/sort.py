"""Decides how rows are sorted: short ones each at once (`sort_rows_kernel.py`), long ones by radix sort from
the least significant digit on, of 8 bits a pass (`sort_pass_kernel.py`).

A pass takes three steps: each tile is counted by digit, the counts are scanned in the order of digits and then of
tiles, and each tile is written where the scan says. So a narrow dtype takes fewer passes. Between them elements go to
and fro between the result and other memory; a sort for places has these beside the elements.

What is equal stays in its order, so there is one result, whatever the device.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from ocl_ir.graph.build import Storage, buffer
from ocl_ir.indices import Shape
from ocl_ir.layout import Layout, collapse
from ocl_ir.types import I64, U32, DType, Pointer
from ocl_runtime.plan.fusion.reduction_order import power_of_two
from ocl_runtime.plan.fusion.values import Leaf, Value, leaf_layouts, table_layouts
from ocl_runtime.plan.kernels.accesses import accesses
from ocl_runtime.plan.kernels.form import Parameters, index_dtype
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.kernels.scan import Scanning, scan_launches
from ocl_runtime.plan.kernels.sort_elements import bits_of
from ocl_runtime.plan.kernels.sort_pass_kernel import DIGIT_BITS, DIGITS, SortPassForm
from ocl_runtime.plan.kernels.sort_pass_kernel import build as build_pass
from ocl_runtime.plan.kernels.sort_rows_kernel import SortRowsForm
from ocl_runtime.plan.kernels.sort_rows_kernel import build as build_rows
from ocl_runtime.plan.launch import Address, Launch
from ocl_runtime.plan.target import Target

_EACH = 8
"""Elements of a work-item of a GPU in a row that is sorted at once."""
_COUNTED = 256
"""Elements of a row up to which a work-item of a CPU counts those before each; a pass looks at as many counts."""
_TILE_BYTES = 64
"""Of a work-item of a GPU in a tile of a pass, at most 16 elements: with its counters, a group of 256 then takes no
more than the 32 KiB of local memory that every GPU has."""
_LEAST_TILE = 4096
"""Elements of a tile of a CPU, so that counting is worth it."""
_MOST_TEAM = DIGITS
"""Work-items of a team, each of which has some digits."""


@dataclass(frozen=True, kw_only=True)
class Sorting:
    """What to sort: the last of the values, over `shape`, along its last axis, by elements of the dtype `of`, which it
    has, or whose bits it has. `places`: where they were is wanted, in int64, else themselves."""

    values: tuple[Value, ...]
    shape: Shape
    of: DType
    descending: bool
    places: bool


def sort_launches(
    sorting: Sorting,
    storage: Storage,
    allocate: Callable[[int], Storage],
    lowering: Lowering,
) -> list[Launch]:
    """Launches that sort into a dense storage; `allocate` gives memory for what lies between them.

    There are elements, and less than 2^32 in a row. Leaves among the values are buffers, iotas and scalars.
    """
    length, target = sorting.shape[-1], lowering.target
    if length <= (_COUNTED if target.kind == "cpu" else _EACH * target.group_size):
        return [_rows_launch(sorting, storage, lowering)]
    return _passes(sorting, storage, allocate, lowering)


def _collapsed(sorting: Sorting) -> tuple[Shape, list[Layout]]:
    """The axes before the last one, as few as they can be, and the layouts of the leaves over these and the last."""
    layouts = leaf_layouts(sorting.values)
    kept, kept_layouts = collapse(
        sorting.shape[:-1], [Layout(layout.shape[:-1], layout.strides[:-1], layout.offset) for layout in layouts]
    )
    return kept, [
        Layout((*kept, sorting.shape[-1]), (*outer.strides, layout.strides[-1]), outer.offset)
        for outer, layout in zip(kept_layouts, layouts, strict=True)
    ]


def _rows_launch(sorting: Sorting, storage: Storage, lowering: Lowering) -> Launch:
    """The launch that sorts short rows."""
    target, kernels, names, where, _ = lowering
    kept, leaves = _collapsed(sorting)
    length, rows = sorting.shape[-1], math.prod(kept)
    if target.kind == "cpu":
        team, teams, each = 0, 1, power_of_two(length, _COUNTED)
        per = -(-rows // min(rows, 8 * target.compute_units))
        groups = -(-rows // per)
    else:
        each = power_of_two(length, _EACH)
        team = power_of_two(-(-length // each), target.group_size)
        teams = power_of_two(rows, target.group_size // team)
        per, groups = 0, -(-rows // teams)
    group = max(1, team * teams)
    reach = (groups * group, (groups * max(teams, per) + 1) * length)
    parameters = Parameters(index_dtype((*leaves, *table_layouts(sorting.values)), *reach), rows * length)
    for axis, size in enumerate(kept):
        parameters.size(f"n{axis}", size)
    parameters.size("rows", rows)
    parameters.size("m", length)
    if not team:
        parameters.size("per", per)
    values = accesses(sorting.values, leaves, parameters, len(kept), 1, names=names)
    dtype = I64 if sorting.places else bits_of(sorting.of)
    parameters.pointer("y", Pointer(dtype, align=dtype.size), Address(storage, Layout.contiguous((rows * length,))))
    form = SortRowsForm(
        values=values,
        specs=tuple(parameters.specs),
        kept=len(kept),
        of=sorting.of,
        descending=sorting.descending,
        places=sorting.places,
        team=team,
        teams=teams,
        each=each,
        index=parameters.index,
        fp16=target.fp16,
    )
    return Launch(kernels.get(form, build_rows), tuple(parameters.args), (groups * group, 1, 1), (group, 1, 1), where)


# ---------------------------------------------------------------------- long rows


@dataclass(frozen=True, slots=True)
class _Tiling:
    """A row has so many `tiles` of `each` elements for each work-item of a `team`."""

    team: int
    each: int
    tiles: int


@dataclass(frozen=True, slots=True)
class _Written:
    """Where a pass writes bits and places, None where it does not; these are in int64 if they are the result."""

    bits: Storage | None
    places: Storage | None


def _tiling(sorting: Sorting, rows: int, target: Target) -> _Tiling:
    length = sorting.shape[-1]
    if target.kind == "cpu":
        tiles = max(1, min(-(-4 * target.compute_units // rows), length // _LEAST_TILE))
        per = -(-length // tiles)
        return _Tiling(1, per, -(-length // per))
    team = min(_MOST_TEAM, target.group_size)
    each = 1 << min(16, _TILE_BYTES // (sorting.of.size + (U32.size if sorting.places else 0))).bit_length() - 1
    return _Tiling(team, each, -(-length // (team * each)))


def _passes(sorting: Sorting, storage: Storage, allocate: Callable[[int], Storage], lowering: Lowering) -> list[Launch]:
    """The launches of all passes: before the last one, of two, elements are where it does not write."""
    length, bits = sorting.shape[-1], bits_of(sorting.of)
    rows = math.prod(sorting.shape[:-1])
    way = _tiling(sorting, rows, lowering.target)
    layout, nbytes = Layout.contiguous((rows, length)), rows * length * bits.size
    passes = bits.bits // DIGIT_BITS
    counted = Layout.contiguous((rows, DIGITS * way.tiles))
    counts, scanned = (allocate(counted.size * U32.size) for _ in range(2))
    ends = [storage if not sorting.places else None, *(allocate(nbytes) for _ in range(_between(passes, sorting)))]
    places = [
        storage,
        *(allocate(rows * length * U32.size) for _ in range(min(2, passes - 1) if sorting.places else 0)),
    ]
    launches: list[Launch] = []
    current, read_places = sorting, None
    for number in range(passes):
        left = passes - 1 - number
        written = _Written(_turn(ends, left), _turn(places, left) if sorting.places else None)
        launches.append(_pass_launch(current, way, number, counts, None, None, lowering))
        leaf = Leaf(buffer(counts, U32, counted), counted, False)
        scanning = Scanning(values=(leaf,), shape=counted.shape, axis=1, op="sum", accumulator=U32, dtype=U32)
        launches += scan_launches(scanning, scanned, allocate, lowering)
        launches.append(_pass_launch(current, way, number, scanned, written, read_places, lowering))
        if left:
            moved = Leaf(buffer(written.bits, bits, layout), layout, False)
            current, read_places = replace(sorting, values=(moved,), shape=layout.shape), written.places
    return launches


def _between(passes: int, sorting: Sorting) -> int:
    """Memory for elements beside the result: values take turns with that, for places there are two."""
    return min(passes - 1, 2 if sorting.places else 1)


def _turn(memory: list[Storage | None], left: int) -> Storage | None:
    """Where a pass writes, behind which so many are left: the first is the result, and the others take turns, the
    result among them if there is one other."""
    if left == 0:
        return memory[0]
    return memory[left % 2] if len(memory) == 2 else memory[1 + left % 2]  # noqa: PLR2004


def _pass_launch(
    sorting: Sorting,
    way: _Tiling,
    number: int,
    counts: Storage,
    written: _Written | None,
    read_places: Storage | None,
    lowering: Lowering,
) -> Launch:
    """The launch that counts the digits of a pass, or that writes elements by the scanned counts."""
    target, kernels, names, where, _ = lowering
    kept, leaves = _collapsed(sorting)
    length, rows = sorting.shape[-1], math.prod(kept)
    everywhere, counted = Layout.contiguous((rows * length,)), Layout.contiguous((rows * DIGITS * way.tiles,))
    reach = (rows * (way.tiles + 1) * way.team * way.each, counted.size + DIGITS * way.tiles)
    parameters = Parameters(index_dtype((*leaves, *table_layouts(sorting.values)), *reach), rows * length)
    for axis, size in enumerate(kept):
        parameters.size(f"n{axis}", size)
    parameters.size("m", length)
    parameters.size("s", way.tiles)
    if way.team == 1:
        parameters.size("per", way.each)
    parameters.number("shift", U32, number * DIGIT_BITS)
    values = accesses(sorting.values, leaves, parameters, len(kept), 1, names=names)
    parameters.pointer("counts", Pointer(U32, align=U32.size), Address(counts, counted))
    if read_places is not None and written is not None:
        parameters.pointer("places", Pointer(U32, align=U32.size), Address(read_places, everywhere))
    if written is not None and written.bits is not None:
        bits = bits_of(sorting.of)
        parameters.pointer("y", Pointer(bits, align=bits.size), Address(written.bits, everywhere))
    if written is not None and written.places is not None:
        dtype = I64 if written.bits is None else U32
        parameters.pointer("y1", Pointer(dtype, align=dtype.size), Address(written.places, everywhere))
    form = SortPassForm(
        values=values,
        specs=tuple(parameters.specs),
        kept=len(kept),
        of=sorting.of,
        descending=sorting.descending,
        counts=written is None,
        keeps=written is not None and written.bits is not None,
        places=written is not None and written.places is not None,
        first=read_places is None,
        team=way.team,
        each=way.each if way.team > 1 else 0,
        index=parameters.index,
        fp16=target.fp16,
    )
    kernel = kernels.get(form, build_pass)
    size = rows * way.tiles * way.team
    return Launch(kernel, tuple(parameters.args), (size, 1, 1), (way.team, 1, 1), where)
