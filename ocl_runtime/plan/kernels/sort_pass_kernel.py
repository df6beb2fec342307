"""Writes the kernels of a pass of the radix sort, which puts elements in the order of one digit of their keys;
`sort.py` launches them.

A tile is counted by digit. Behind a scan of the counts of all tiles, each element of a tile goes behind those of lesser
digits, those of the tiles before, and those before it in its tile (Satish, Harris and Garland, Designing efficient
sorting algorithms for manycore GPUs, 2009). On a GPU a tile is put in order in local memory first, so that neighbours
are written together: twice by half a digit, each work-item counting its own elements in columns of counters, two a
word (Merrill and Grimshaw, High performance and scalable radix sorting, 2011). That takes as many barriers for many
elements as for one.
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
from ocl_runtime.plan.kernels.sort_elements import Elements, bits_of

atomic_add, barrier, group, group_id, hint, local_array, local_id, private_array, unrolled = (
    BUILTINS[name]
    for name in (
        *("atomic_add", "barrier", "group", "group_id", "hint", "local_array", "local_id", "private_array"),
        "unrolled",
    )
)

DIGIT_BITS = 8
DIGITS = 1 << DIGIT_BITS
_HALF_BITS = DIGIT_BITS // 2
_WORDS = (1 << _HALF_BITS) // 2
"""Words of counters of a work-item, one for two halves of digits."""
_COUNTER_BITS = 16
_COUNTER_MASK = (1 << _COUNTER_BITS) - 1
_SHIFT_BITS = 5
_BANKS = 32


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
    """What a pass is made of."""

    bits: Any
    digit: Any
    count: Any
    before: Any
    place: Any
    store: Any
    store_place: Any
    element: DType
    index_dtype: DType
    team: int
    items: int


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
    first = tile * (steps.team * steps.items) + lane
    own = private_array(steps.items, steps.element)
    for step in hint(range(steps.items), unroll=steps.items):
        r = first + step * steps.team
        own[step] = steps.bits(row, r) if r < length else 0
    counts = local_array(DIGITS, np.uint32)
    for digit in range(lane, DIGITS, steps.team):
        counts[digit] = 0
    barrier()
    for step in hint(range(steps.items), unroll=steps.items):
        if first + step * steps.team < length:
            atomic_add(counts, steps.digit(own[step]), 1)
    barrier()
    for digit in range(lane, DIGITS, steps.team):
        steps.count((row * DIGITS + digit) * tiles + tile, counts[digit])


def write_by_team(tiles: Any, length: Any, steps: Steps) -> None:
    """Writes the elements of a tile by a team, which puts them in the order of their digits in local memory first: of
    the lower half of the digit, then of the upper one. A work-item has neighbours, so that equal ones stay in order."""
    lane = local_id(0)
    row, tile = group_id(0) // tiles, group_id(0) % tiles
    begin = tile * (steps.team * steps.items)
    count = min(length - begin, steps.team * steps.items)
    starts = local_array(DIGITS, np.uint32)
    offsets = local_array(DIGITS, steps.index_dtype)
    for digit in range(lane, DIGITS, steps.team):
        offsets[digit] = before_tile(row, digit, tile, tiles, steps)
    staged = local_array(spread(steps.team * steps.items), steps.element)
    staged_places: Any = None if steps.place is None else local_array(spread(steps.team * steps.items), np.uint32)
    for step in hint(range(steps.items), unroll=steps.items):
        number = lane + step * steps.team
        at = turn(lane, step, steps)
        staged[at] = steps.bits(row, begin + number) if number < count else 0
        if staged_places is not None:
            staged_places[at] = steps.place(row, begin + number) if number < count else 0
    barrier()
    own = private_array(steps.items, steps.element)
    places: Any = None if steps.place is None else private_array(steps.items, np.uint32)
    ranks = private_array(steps.items, np.uint32)
    counters = local_array(spread(_WORDS * steps.team), np.uint32)
    total = local_array(1, np.uint32)
    first = spread(lane * steps.items)  # as many neighbours as a work-item has are within one row of banks
    for shift in unrolled((0, _HALF_BITS)):
        for step in hint(range(steps.items), unroll=steps.items):
            own[step] = staged[first + step]
            if places is not None:
                places[step] = staged_places[first + step]
        rank(own, ranks, shift, counters, total, lane, count, steps)
        for step in hint(range(steps.items), unroll=steps.items):
            at = spread(ranks[step])
            staged[at] = own[step]
            if places is not None:
                staged_places[at] = places[step]
        barrier()
    digits = private_array(steps.items, np.uint32)
    for step in hint(range(steps.items), unroll=steps.items):
        number = lane + step * steps.team
        own[step] = staged[turn(lane, step, steps)]
        digits[step] = np.uint32(steps.digit(own[step]))
        before = steps.digit(staged[spread(max(number, 1) - 1)])
        if number < count and (number == 0 or np.uint32(before) != digits[step]):
            starts[digits[step]] = np.uint32(number)
    barrier()
    for step in hint(range(steps.items), unroll=steps.items):
        number = lane + step * steps.team
        if number < count:
            at = offsets[digits[step]] + (number - starts[digits[step]])
            if steps.store is not None:
                steps.store(row, at, own[step])
            if staged_places is not None:
                steps.store_place(row, at, staged_places[turn(lane, step, steps)])


def rank(own: Any, ranks: Any, shift: Any, counters: Any, total: Any, lane: Any, count: Any, steps: Steps) -> None:
    """Where elements go in their tile by half a digit. Each work-item counts its own, in columns of local memory that
    nobody else touches: two counters of 16 bits in a word. Those that are not there go behind all others."""
    column = spread(lane)
    for word in unrolled(range(_WORDS)):
        counters[turn(lane, word, steps)] = 0
    slots = private_array(steps.items, np.uint32)
    for step in hint(range(steps.items), unroll=steps.items):
        half = steps.digit(own[step]) >> shift & (2 * _WORDS - 1)
        if lane * steps.items + step >= count:
            half = 2 * _WORDS - 1
        word = half & (_WORDS - 1)
        slot = column + word * spread(steps.team) if steps.team % _BANKS == 0 else spread(word * steps.team + lane)
        upper = np.uint32(half // _WORDS * _COUNTER_BITS)
        slots[step] = np.uint32(slot) << np.uint32(_SHIFT_BITS) | upper
        packed = counters[slot]
        ranks[step] = packed >> upper & np.uint32(_COUNTER_MASK)
        counters[slot] = packed + (np.uint32(1) << upper)
    barrier()
    before = private_array(_WORDS, np.uint32)
    sum_ = np.uint32(0)
    first = spread(lane * _WORDS)
    for word in unrolled(range(_WORDS)):
        before[word] = sum_
        sum_ = sum_ + counters[first + word]
    lower = group.exclusive_scan(sum_)
    if lane == steps.team - 1:
        total[0] = (lower + sum_) << np.uint32(_COUNTER_BITS)  # those of the lower counters come before the upper ones
    barrier()
    for word in unrolled(range(_WORDS)):
        counters[first + word] = lower + total[0] + before[word]
    barrier()
    for step in hint(range(steps.items), unroll=steps.items):
        packed = counters[slots[step] >> np.uint32(_SHIFT_BITS)]
        upper = slots[step] & np.uint32((1 << _SHIFT_BITS) - 1)
        ranks[step] = ranks[step] + (packed >> upper & np.uint32(_COUNTER_MASK))


def turn(lane: Any, step: Any, steps: Steps) -> Any:
    """The place in local memory of what a work-item has in a turn of its team."""
    return spread(lane) + step * spread(steps.team) if steps.team % _BANKS == 0 else spread(lane + step * steps.team)


def spread(number: Any) -> Any:
    """A place in local memory such that strides of powers of two meet all banks."""
    return number + number // _BANKS


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
        element=bits_of(form.of),
        index_dtype=form.index,
        team=form.team,
        items=form.each,
    )
