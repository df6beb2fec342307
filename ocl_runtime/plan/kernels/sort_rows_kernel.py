"""Writes the kernels that sort short rows, each at once; `sort.py` launches them.

On a GPU a row belongs to a team of work-items. Each of them sorts some neighbours in its registers, by a network of
comparisons of neighbours, then runs of them are merged in local memory: a work-item finds where its part of a merged
run begins by a binary search (Green, McColl and Bader, GPU merge path, 2012). On a CPU a work-item counts for each
element those that come before it, in vectors and without branches. What is equal stays in its order either way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.language.builtins.registry import BUILTINS
from ocl_ir.language.library import Algorithm
from ocl_ir.types import I64, DType
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.form import Spec, Term
from ocl_runtime.plan.kernels.naming import kernel_name
from ocl_runtime.plan.kernels.sort_elements import Elements, bits_of

barrier, group_id, hint, local_array, local_id, private_array = (
    BUILTINS[name] for name in ("barrier", "group_id", "hint", "local_array", "local_id", "private_array")
)


@dataclass(frozen=True, slots=True)
class SortRowsForm:
    """The key of such a kernel: of rows of at most `team * each` elements, of which a group sorts so many `teams`; with
    a `team` of 0, of rows of at most `each` that work-items sort alone. The elements are of the dtype `of`, or its
    bits. `places`: it stores where they were."""

    values: tuple[Term, ...]
    specs: tuple[Spec, ...]
    kept: int
    of: DType
    descending: bool
    places: bool
    team: int
    teams: int
    each: int
    index: DType
    fp16: bool


class Steps(NamedTuple):
    """What sorting rows is made of."""

    bits: Any
    key: Any
    store: Any
    last: Any
    dtype: DType
    places: bool
    team: int
    teams: int
    each: int
    turns: int


def sort_rows_by_one(rows: Any, length: Any, per: Any, steps: Steps) -> None:
    """Sorts `per` rows by one work-item."""
    bits = private_array(steps.each, steps.dtype)
    keys = private_array(steps.each, steps.dtype)
    begin = group_id(0) * per
    for row in range(begin, min(begin + per, rows)):
        for r in range(length):
            bits[r] = steps.bits(row, r)
            keys[r] = steps.key(bits[r])
        for r in range(length):
            key = keys[r]
            rank = np.uint32(0)
            for other in range(r):
                rank = rank + (np.uint32(1) if keys[other] <= key else np.uint32(0))
            for other in range(r + 1, length):
                rank = rank + (np.uint32(1) if keys[other] < key else np.uint32(0))
            steps.store(row, rank, r if steps.places else bits[r])


def sort_rows_by_teams(rows: Any, length: Any, steps: Steps) -> None:
    """Sorts a row by each team. Behind a row stands what comes last in any order."""
    item = local_id(0)
    lane = item if steps.teams == 1 else item % steps.team
    team = 0 if steps.teams == 1 else item // steps.team
    row = group_id(0) * steps.teams + team
    count = length if row < rows else 0
    staged = local_array(steps.teams * steps.team * steps.each, steps.dtype)
    staged_places = local_array(steps.teams * steps.team * steps.each, np.uint32) if steps.places else None
    first = team * (steps.team * steps.each)
    for step in hint(range(steps.each), unroll=steps.each):
        r = step * steps.team + lane
        staged[first + r] = steps.bits(row, r) if r < count else steps.last
    barrier()
    own = private_array(steps.each, steps.dtype)
    places = private_array(steps.each, np.uint32) if steps.places else None
    for step in hint(range(steps.each), unroll=steps.each):
        own[step] = staged[first + lane * steps.each + step]
        if places is not None:
            places[step] = lane * steps.each + step
    sort_own(own, places, steps)
    width = steps.each
    for _ in range(steps.turns):
        stage(own, places, staged, staged_places, first + lane * steps.each, steps)
        merge_part(own, places, staged, staged_places, first, lane, width, steps)
        width = width * 2
    stage(own, places, staged, staged_places, first + lane * steps.each, steps)
    for step in hint(range(steps.each), unroll=steps.each):
        r = step * steps.team + lane
        if r < count:
            steps.store(row, r, staged[first + r] if staged_places is None else staged_places[first + r])


def sort_own(own: Any, places: Any, steps: Steps) -> None:
    """Sorts what a work-item has: neighbours change places, in turns those that begin at even and at odd places."""
    for turn in hint(range(steps.each), unroll=steps.each):
        for step in hint(range(turn & 1, steps.each - 1, 2), unroll=steps.each // 2):
            if steps.key(own[step + 1]) < steps.key(own[step]):
                lower = own[step + 1]
                own[step + 1] = own[step]
                own[step] = lower
                if places is not None:
                    place = places[step + 1]
                    places[step + 1] = places[step]
                    places[step] = place


def stage(own: Any, places: Any, staged: Any, staged_places: Any, begin: Any, steps: Steps) -> None:
    """Puts what a work-item has into local memory, once all have read what was there."""
    barrier()
    for step in hint(range(steps.each), unroll=steps.each):
        staged[begin + step] = own[step]
        if places is not None:
            staged_places[begin + step] = places[step]
    barrier()


def merge_part(
    own: Any, places: Any, staged: Any, staged_places: Any, first: Any, lane: Any, width: Any, steps: Steps
) -> None:
    """The part that a work-item has of two merged runs of `width` elements of a row that begins at `first`."""
    distance = lane * steps.each & (2 * width - 1)
    left_run = first + lane * steps.each - distance
    right_run = left_run + width
    low = distance - width if distance > width else 0
    high = min(distance, width)
    while low < high:  # how many of the left run come before the part
        middle = (low + high) >> 1
        if steps.key(staged[right_run + (distance - 1 - middle)]) < steps.key(staged[left_run + middle]):
            high = middle
        else:
            low = middle + 1
    left = low
    right = distance - low
    for step in hint(range(steps.each), unroll=steps.each):
        at_left = left_run + min(left, width - 1)
        at_right = right_run + min(right, width - 1)
        at = at_left
        if left == width or (right < width and steps.key(staged[at_right]) < steps.key(staged[at_left])):
            at = at_right
            right = right + 1
        else:
            left = left + 1
        own[step] = staged[at]
        if places is not None:
            places[step] = staged_places[at]


def build(form: SortRowsForm) -> Kernel:
    """The kernel of a form."""
    alone = form.team == 0
    who = "1 work-item a row" if alone else f"{form.team} work-items a row, {form.each} elements each"
    algorithm = Algorithm(
        kernel_name(form.values, "argsort_rows" if form.places else "sort_rows"),
        sort_rows_by_one if alone else sort_rows_by_teams,
        index=form.index,
        group_size=(max(1, form.team * form.teams), 1, 1),
        note=f"{form.of}{' descending' if form.descending else ''}, {who}",
    )
    k, made = algorithm.k, algorithm.function
    body = Body.start(k, form.specs, form.index, form.fp16)
    elements = Elements(k, body, form.values, form.kept, form.of, form.descending)

    def store(row: Ref, r: Ref, sorted_: Ref) -> None:
        k.store(body.params["y"], elements.place(row, r), k.convert(sorted_, I64) if form.places else sorted_)

    steps = Steps(
        bits=made(elements.bits),
        key=made(elements.key),
        store=made(store),
        last=elements.last(),
        dtype=bits_of(form.of),
        places=form.places,
        team=form.team,
        teams=form.teams,
        each=form.each,
        turns=max(0, form.team.bit_length() - 1),
    )
    arguments = [body.params[name] for name in ("rows", "m", *(["per"] if alone else []))]
    algorithm.write(*arguments, steps)
    return algorithm.build()
