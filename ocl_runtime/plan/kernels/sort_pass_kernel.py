"""Writes the kernels of a pass of the radix sort, which puts elements in the order of one digit of their keys;
`sort.py` launches them.

A tile is counted by digit. Behind a scan of the counts of all tiles, each element of a tile goes behind those of lesser
digits, those of the tiles before, and those before it in its tile (Satish, Harris and Garland, Designing efficient
sorting algorithms for manycore GPUs, 2009). For the last, the work-items of a GPU put their bits into a mask for each
digit and count those below their own, as Adinets and Merrill do (Onesweep, 2022). A tile is put in order in local
memory first, so that neighbours are written together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.language.builtins.registry import BUILTINS
from ocl_ir.language.library import Algorithm
from ocl_ir.types import I64, U32, DType
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.form import Spec, Term
from ocl_runtime.plan.kernels.naming import kernel_name
from ocl_runtime.plan.kernels.scan_tile import scanned_by_team
from ocl_runtime.plan.kernels.sort_elements import Elements, bits_of

atomic_add, atomic_or, barrier, group_id, hint, local_array, local_id, popcount, private_array, unrolled = (
    BUILTINS[name]
    for name in (
        "atomic_add",
        "atomic_or",
        "barrier",
        "group_id",
        "hint",
        "local_array",
        "local_id",
        "popcount",
        "private_array",
        "unrolled",
    )
)

DIGIT_BITS = 8
DIGITS = 1 << DIGIT_BITS
_MASK_BITS = 32


@dataclass(frozen=True, slots=True)
class SortPassForm:
    """The key of such a kernel. It `counts` digits, or writes elements: their bits if it `keeps` them, and where they
    were if it has `places`: of the first pass their own, else those that were read, of the last one in int64. The
    elements are of the dtype `of`, or its bits. A tile has `each` elements for each work-item of a `team`; with a team
    of 1, as many as a parameter says."""

    values: tuple[Term, ...]
    specs: tuple[Spec, ...]
    kept: int
    of: DType
    descending: bool
    counts: bool
    keeps: bool
    places: bool
    first: bool
    team: int
    each: int
    index: DType
    fp16: bool


class Steps(NamedTuple):
    """What a pass is made of; those of the scan of a tile's counts are among them."""

    bits: Any
    digit: Any
    count: Any
    before: Any
    place: Any
    store: Any
    store_place: Any
    join: Any
    element: DType
    index_dtype: DType
    dtype: DType
    team: int
    teams: int
    stripes: int
    each: int
    items: int
    lanes: int
    turns: int


def count_by_one(tiles: Any, length: Any, per: Any, steps: Steps) -> None:
    """Counts the digits of a tile by one work-item."""
    row, tile = group_id(0) // tiles, group_id(0) % tiles
    counts = private_array(DIGITS, np.uint32)
    for digit in range(DIGITS):
        counts[digit] = 0
    for r in range(tile * per, min(tile * per + per, length)):
        digit = steps.digit(steps.bits(row, r))
        counts[digit] = counts[digit] + np.uint32(1)
    for digit in range(DIGITS):
        steps.count((row * DIGITS + digit) * tiles + tile, counts[digit])


def write_by_one(tiles: Any, length: Any, per: Any, steps: Steps) -> None:
    """Writes the elements of a tile by one work-item."""
    row, tile = group_id(0) // tiles, group_id(0) % tiles
    ends = private_array(DIGITS, steps.index_dtype)
    for digit in range(DIGITS):
        ends[digit] = before_tile(row, digit, tile, tiles, steps)
    for r in range(tile * per, min(tile * per + per, length)):
        bits = steps.bits(row, r)
        digit = steps.digit(bits)
        if steps.store is not None:
            steps.store(row, ends[digit], bits)
        if steps.place is not None:
            steps.store_place(row, ends[digit], steps.place(row, r))
        ends[digit] = ends[digit] + 1


def before_tile(row: Any, digit: Any, tile: Any, tiles: Any, steps: Steps) -> Any:
    """Where in its row the first element of a tile with a digit goes: how many come before it."""
    before = 0
    if digit != 0 or tile != 0:
        before = steps.before((row * DIGITS + digit) * tiles + tile - 1)
    return before


def count_by_team(tiles: Any, length: Any, steps: Steps) -> None:
    """Counts the digits of a tile by a team."""
    lane = local_id(0)
    row, tile = group_id(0) // tiles, group_id(0) % tiles
    counts = local_array(DIGITS, np.uint32)
    for digit in range(lane, DIGITS, steps.team):
        counts[digit] = 0
    barrier()
    first = tile * (steps.team * steps.items) + lane
    for step in hint(range(steps.items), unroll=steps.items):
        r = first + step * steps.team
        if r < length:
            atomic_add(counts, steps.digit(steps.bits(row, r)), 1)
    barrier()
    for digit in range(lane, DIGITS, steps.team):
        steps.count((row * DIGITS + digit) * tiles + tile, counts[digit])


def write_by_team(tiles: Any, length: Any, steps: Steps) -> None:
    """Writes the elements of a tile by a team. Each part of it that shares masks has neighbouring elements."""
    lane = local_id(0)
    row, tile = group_id(0) // tiles, group_id(0) % tiles
    begin = tile * (steps.team * steps.items)
    first = begin + lane // steps.lanes * (steps.lanes * steps.items) + lane % steps.lanes
    own = private_array(steps.items, steps.element)
    for step in hint(range(steps.items), unroll=steps.items):
        r = first + step * steps.lanes
        own[step] = steps.bits(row, r) if r < length else 0
    counts = local_array((steps.team // steps.lanes) * DIGITS, np.uint32)
    ranks = private_array(steps.items, np.uint32)
    rank(own, ranks, counts, first, lane, length, steps)
    starts = local_array(DIGITS, np.uint32)
    offsets = local_array(DIGITS, steps.index_dtype)
    begin_digits(counts, starts, lane, steps)
    for digit in range(lane, DIGITS, steps.team):
        offsets[digit] = before_tile(row, digit, tile, tiles, steps) - starts[digit]
    staged = local_array(steps.team * steps.items, steps.element)
    staged_places = None if steps.place is None else local_array(steps.team * steps.items, np.uint32)
    for step in hint(range(steps.items), unroll=steps.items):
        r = first + step * steps.lanes
        if r < length:
            digit = steps.digit(own[step])
            at = starts[digit] + counts[lane // steps.lanes * DIGITS + digit] + ranks[step]
            staged[at] = own[step]
            if staged_places is not None:
                staged_places[at] = steps.place(row, r)
    barrier()
    count = min(length - begin, steps.team * steps.items)
    for number in range(lane, count, steps.team):
        bits = staged[number]
        at = offsets[steps.digit(bits)] + number
        if steps.store is not None:
            steps.store(row, at, bits)
        if staged_places is not None:
            steps.store_place(row, at, staged_places[number])


def rank(own: Any, ranks: Any, counts: Any, first: Any, lane: Any, length: Any, steps: Steps) -> None:
    """How many elements of the same digit come before each in its part of the tile; and how many the part has."""
    masks = local_array((steps.team // steps.lanes) * DIGITS, np.uint32)
    for slot in range(lane, (steps.team // steps.lanes) * DIGITS, steps.team):
        counts[slot] = 0
        masks[slot] = 0
    barrier()
    bit = np.uint32(1) << np.uint32(lane % steps.lanes)
    for step in hint(range(steps.items), unroll=steps.items):
        is_there = first + step * steps.lanes < length
        slot = lane // steps.lanes * DIGITS + steps.digit(own[step])
        if is_there:
            atomic_or(masks, slot, bit)
        barrier()
        mask = masks[slot]
        lower = popcount(mask & (bit - np.uint32(1)))
        ranks[step] = counts[slot] + lower
        barrier()
        if is_there and lower == 0:
            counts[slot] = counts[slot] + popcount(mask)
            masks[slot] = 0
        barrier()


def begin_digits(counts: Any, starts: Any, lane: Any, steps: Steps) -> None:
    """Where the first element of each digit goes in the tile; and how many come before those of each part."""
    totals = private_array(steps.each, np.uint32)
    for step in unrolled(range(steps.each)):
        total = np.uint32(0)
        for part in hint(range(steps.team // steps.lanes), unroll=steps.team // steps.lanes):
            slot = part * DIGITS + lane * steps.each + step
            count = counts[slot]
            counts[slot] = total
            total = total + count
        totals[step] = total if step == 0 else totals[step - 1] + total
    before, _ = scanned_by_team(totals, np.uint32(0), lane, steps)
    for step in unrolled(range(steps.each)):
        starts[lane * steps.each + step] = before[lane] if step == 0 else before[lane] + totals[step - 1]
    barrier()


def build(form: SortPassForm) -> Kernel:
    """The kernel of a form."""
    alone = form.team == 1
    what = "count_digits" if form.counts else "argsort_by_digit" if form.places else "sort_by_digit"
    if form.counts:
        function = count_by_one if alone else count_by_team
    else:
        function = write_by_one if alone else write_by_team
    tile = "1 work-item a tile" if alone else f"{form.team} work-items a tile of {form.team * form.each}"
    algorithm = Algorithm(
        kernel_name(form.values, what),
        function,
        index=form.index,
        group_size=(form.team, 1, 1),
        note=f"{form.of}{' descending' if form.descending else ''}, {tile}",
    )
    body = Body.start(algorithm.k, form.specs, form.index, form.fp16)
    arguments = [body.params[name] for name in ("s", "m", *(["per"] if alone else []))]
    algorithm.write(*arguments, _steps(form, algorithm, body))
    return algorithm.build()


def _steps(form: SortPassForm, algorithm: Algorithm, body: Body) -> Steps:
    k, made, params = algorithm.k, algorithm.function, body.params
    elements = Elements(k, body, form.values, form.kept, form.of, form.descending)

    def digit(bits: Ref) -> Ref:
        key = elements.key(bits)
        shifted = key >> k.convert(params["shift"], bits_of(form.of)) if form.of.size > 1 else key
        return k.convert(shifted, form.index) & (DIGITS - 1)

    def place(row: Ref, r: Ref) -> Ref:
        if form.first:
            return k.convert(r, U32)
        return k.load(params["places"], elements.place(row, r))

    def store(row: Ref, at: Ref, bits: Ref) -> None:
        k.store(params["y"], elements.place(row, at), bits)

    def store_place(row: Ref, at: Ref, place: Ref) -> None:
        k.store(params["y1"], elements.place(row, at), place if form.keeps else k.convert(place, I64))

    return Steps(
        bits=made(elements.bits),
        digit=made(digit),
        count=made(lambda number, count: k.store(params["counts"], number, count)),
        before=made(lambda number: k.convert(k.load(params["counts"], number), form.index)),
        place=made(place) if form.places else None,
        store=made(store) if form.keeps else None,
        store_place=made(store_place) if form.places else None,
        join=made(lambda left, right: left + right),
        element=bits_of(form.of),
        index_dtype=form.index,
        dtype=U32,
        team=form.team,
        teams=1,
        stripes=1,
        each=max(1, DIGITS // form.team),
        items=form.each,
        lanes=min(_MASK_BITS, form.team),
        turns=form.team.bit_length() - 1,
    )
