"""Writes the kernels that join many values at computed places, in any order; `scatter.py` decides when.

Memory takes one change of an element at a time, so values are joined close by first. A work-item joins what comes for
one place in a row. A group has a table in local memory: of all places where these are few, else of those that come
often. That is a cache in which each place has one slot, by multiplicative hashing (Knuth, The art of computer
programming, volume 3, 6.4), which belongs to the first place that comes. What finds the slot of another one goes to
memory. In the end the table is joined with memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ocl_ir.graph.build import ScatterOp
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.language.builtins.registry import BUILTINS
from ocl_ir.language.library import Algorithm
from ocl_ir.types import U32, DType, Vector
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.form import Access, Spec, Term
from ocl_runtime.plan.kernels.naming import kernel_name
from ocl_runtime.plan.kernels.reduce_kernel import identity

(
    atomic_add,
    atomic_compare_exchange,
    atomic_max,
    barrier,
    group_id,
    hint,
    local_array,
    local_id,
    private_array,
    unrolled,
) = (
    BUILTINS[name]
    for name in (
        "atomic_add",
        "atomic_compare_exchange",
        "atomic_max",
        "barrier",
        "group_id",
        "hint",
        "local_array",
        "local_id",
        "private_array",
        "unrolled",
    )
)

EACH = 4
"""Neighbours that a work-item takes at once."""
STRIPES = 4
"""Blocks of neighbours of a work-item in a tile; so many loads are in flight at once."""
NOWHERE = 2**32 - 1
"""The place of what is not written."""
_HASH = 2654435769
"""2^32 divided by the golden ratio."""


@dataclass(frozen=True, slots=True)
class TableForm:
    """The key of such a kernel. `args` are as of `ScatterForm`. Elements are read in vectors of `lanes`. The table of
    the group has `slots`, one for each place if it is `whole`."""

    values: tuple[Term, ...]
    args: tuple[int, ...]
    result: Access
    op: ScatterOp
    dtype: DType
    specs: tuple[Spec, ...]
    rank: int
    lanes: int
    team: int
    slots: int
    whole: bool
    fp16: bool


class Steps(NamedTuple):
    """What the algorithm is made of: functions of elements and places, and constants."""

    element: Any
    elements: Any
    join: Any
    atomic: Any
    put: Any
    neutral: Any
    dtype: DType
    team: int
    slots: int
    shift: int
    whole: bool


def join_in_table(count: Any, blocks: Any, per: Any, size: Any, steps: Steps) -> None:
    """Joins the elements of this group with those of memory, at places below `size`: `per` blocks of neighbours of
    `blocks` in all, which have `count` elements."""
    lane = local_id(0)
    joined = local_array(steps.slots, steps.dtype)
    tags = None if steps.whole else local_array(steps.slots, np.uint32)
    used = size if steps.whole else steps.slots
    for slot in range(lane, used, steps.team):
        joined[slot] = steps.neutral
        if tags is not None:
            tags[slot] = 0
    barrier()
    places = private_array(STRIPES * EACH, np.uint32)
    values = private_array(STRIPES * EACH, steps.dtype)
    place = np.uint32(NOWHERE)
    total = steps.neutral
    begin = group_id(0) * per
    for tile in range(begin, min(begin + per, blocks), steps.team * STRIPES):
        read_tile(places, values, tile + lane, count, steps)
        for number in hint(range(STRIPES * EACH), unroll=STRIPES * EACH):
            if places[number] == place:
                total = steps.join(total, values[number])
            else:
                put(place, total, joined, tags, steps)
                place = places[number]
                total = values[number]
    put(place, total, joined, tags, steps)
    barrier()
    for slot in range(lane, used, steps.team):
        if joined[slot] != steps.neutral:
            steps.put(np.uint32(slot) if tags is None else tags[slot] - np.uint32(1), joined[slot])


def read_tile(places: Any, values: Any, first: Any, count: Any, steps: Steps) -> None:
    """Reads the blocks of a tile that this work-item has."""
    for stripe in hint(range(STRIPES), unroll=STRIPES):
        block = first + stripe * steps.team
        if (block + 1) * EACH <= count:
            found = steps.elements(block)
            for step in unrolled(range(EACH)):
                places[stripe * EACH + step] = found[step][0]
                values[stripe * EACH + step] = found[step][1]
        else:
            for step in hint(range(EACH), unroll=EACH):
                places[stripe * EACH + step] = NOWHERE
                values[stripe * EACH + step] = steps.neutral
                if block * EACH + step < count:
                    one = steps.element(block * EACH + step)
                    places[stripe * EACH + step] = one[0]
                    values[stripe * EACH + step] = one[1]


def put(place: Any, total: Any, joined: Any, tags: Any, steps: Steps) -> None:
    """Joins a value with that of a place in the table, or in memory where the table has another place there."""
    if place != NOWHERE:
        if tags is None:
            if steps.team == 1:
                joined[place] = steps.join(joined[place], total)
            else:
                steps.atomic(joined, place, total)
        else:
            slot = (place * np.uint32(_HASH)) >> steps.shift
            tag = place + np.uint32(1)
            before = atomic_compare_exchange(tags, slot, 0, tag)
            if before == 0 or before == tag:  # noqa: PLR1714  # there are no sets in a kernel
                steps.atomic(joined, slot, total)
            else:
                steps.put(place, total)


def build(form: TableForm) -> Kernel:
    """The kernel of a form."""
    table = f"a table of {form.slots} slots" if form.whole else f"a cache of {form.slots} slots"
    algorithm = Algorithm(
        kernel_name(form.values, f"scatter_{form.op}"),
        join_in_table,
        index=U32,
        group_size=(form.team, 1, 1),
        note=f"{form.rank}-D, {form.dtype}, {STRIPES * EACH} elements a work-item and turn, {table} a group",
    )
    body = Body.start(algorithm.k, form.specs, U32, form.fp16)
    arguments = [body.params[name] for name in ("n", "blocks", "per", "s")]
    algorithm.write(*arguments, _steps(form, algorithm, body))
    return algorithm.build()


def _steps(form: TableForm, algorithm: Algorithm, body: Body) -> Steps:
    k, made = algorithm.k, algorithm.function
    sizes = {axis: body.params[f"n{axis}"] for axis in range(form.rank)}

    def found(evaluated: dict[int, Ref], lane: int | None) -> tuple[Ref, Ref]:
        """The place and the value of an element, one lane of what was evaluated."""

        def of_lane(ref: Ref) -> Ref:
            return k.op("extract", ref, lane) if lane is not None and isinstance(ref.type, Vector) else ref

        value, kept, *coordinates = (of_lane(evaluated[index]) for index in form.args)
        at = body.offset(form.result, dict(enumerate(k.convert(one, U32) for one in coordinates)))
        place = body.const(0) if at is None else at
        return k.op("select", kept, place, body.const(NOWHERE)), k.convert(value, form.dtype)

    def element(number: Ref) -> tuple[Ref, Ref]:
        where = body.coordinates(number, range(form.rank - 1, -1, -1), sizes)

        def read(access: Access) -> Ref:
            if access.kind == "scalar":
                return body.read(access, body.const(0))
            if form.lanes > 1:
                return body.read(access, body.element(access, body.offset(access, {}, 0), number, form.lanes, 0))
            offset = body.offset(access, where)
            return body.read(access, body.const(0) if offset is None else offset)

        return found(body.evaluate(form.values, form.args, read), None)

    def elements(block: Ref) -> tuple[tuple[Ref, Ref], ...]:
        if form.lanes == 1:
            return tuple(element(block * EACH + step) for step in range(EACH))

        def read(access: Access) -> Ref:
            if access.kind == "scalar":
                return body.read(access, body.const(0))
            start = body.vector_start(access, body.offset(access, {}, 0), block, EACH, 0)
            return body.read(access, start, EACH if access.strides[0] == "one" else 1)

        evaluated = body.evaluate(form.values, form.args, read)
        return tuple(found(evaluated, lane) for lane in range(EACH))

    return Steps(
        element=made(element),
        elements=made(elements),
        join=made(lambda left, right: k.op("maximum" if form.op == "max" else "add", left, right)),
        atomic=atomic_max if form.op == "max" else atomic_add,
        put=made(lambda place, value: k.atomic(form.op, body.params["y"], place, value, used=False)),  # type: ignore[arg-type]
        neutral=form.dtype.numpy.type(identity("max" if form.op == "max" else "sum", form.dtype)),
        dtype=form.dtype,
        team=form.team,
        slots=form.slots,
        shift=32 - (form.slots.bit_length() - 1),
        whole=form.whole,
    )
