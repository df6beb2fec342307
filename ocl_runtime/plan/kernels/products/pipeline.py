"""The steps of a product: how the next ones come while a group multiplies one.

Through registers: while a group multiplies what is in one half of its local memory, the next step is on its way from
global memory to registers, from which it is stored in the other half; one barrier a step is enough.

By copies that go on while work-items do: local memory has room for several steps, whose copies begin some turns before
their products. Where products go on, too, that of one step is still at work when that of the next one begins, so a
step's memory is free one turn later.

By boxes: one work-item begins the copies of a whole step, and all wait for them at a barrier of that step's memory.

The first step is the one that may be shorter; of boxes, whose copies fill up with zeros, the last one.
"""

from __future__ import annotations

from typing import Protocol

from ocl_ir.kernel.operands import Ref
from ocl_ir.types import U64
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.products.stage import Stage
from ocl_runtime.plan.kernels.products.warpgroup import BoxStage


class Fragments(Protocol):
    """What a work-item has of the tile. `pending`: products of so many steps go on while the next ones begin."""

    pending: int

    def multiply(self, step: Ref) -> None:
        """Adds the products of a step, given by where it is in local memory."""

    def store_band(self, band: int, local: Ref) -> None:
        """Stores the sums of a band in local memory."""


def through_registers(
    body: Body, inner: int, stages: tuple[Stage, Stage], fragments: Fragments, begin: Ref, count: Ref
) -> None:
    """Adds up the products of `count` places of the inner axis, `inner` in a step."""
    k = body.k
    steps = k.op("udiv", count + (inner - 1), body.const(inner), hint="steps")
    ragged = k.let(count - (steps - 1) * inner, "ragged")
    for stage in stages:
        stage.hold()
    for stage in stages:
        stage.fetch(begin, ragged)
    for stage in stages:
        stage.deposit(0)
    k.barrier()
    with k.for_(0, steps, dtype=body.index, hint="step") as step:
        more = step + 1 < steps
        with k.if_(more):
            following = k.let(begin + ragged + step * inner, "next")
            for stage in stages:
                stage.fetch(following)
        fragments.multiply(step & 1)
        with k.if_(more):
            for stage in stages:
                stage.deposit((step + 1) & 1)
        k.barrier()


def by_copies(
    body: Body, inner: int, room: int, stages: tuple[Stage, Stage], fragments: Fragments, begin: Ref, count: Ref
) -> None:
    """The same, where local memory has room for so many steps."""
    k, ahead = body.k, room - 1 - fragments.pending
    steps = k.op("udiv", count + (inner - 1), body.const(inner), hint="steps")
    missing = k.let(steps * inner - count, "missing")

    def copy(step: Ref, step_begin: Ref, limit: Ref) -> None:
        buffer = k.op("urem", step, body.const(room)) * stages[0].part.step_length
        for stage in stages:
            stage.copy(step_begin, limit, buffer)

    for number in range(ahead):
        with k.if_(body.const(number) < steps):
            if number:
                copy(body.const(number), begin + number * inner - missing, body.const(inner))
            else:
                copy(body.const(0), begin, body.const(inner) - missing)
        k.commit()
    with k.for_(0, steps, dtype=body.index, hint="step") as step:
        k.await_("copies", ahead - 1)
        k.barrier()
        later = k.let(step + ahead, "later")
        with k.if_(later < steps):
            copy(later, k.let(begin + later * inner - missing, "next"), body.const(inner))
        k.commit()
        fragments.multiply(k.op("urem", step, body.const(room)))
        if fragments.pending:
            k.await_("products", fragments.pending)
    if fragments.pending:
        k.await_("products")
    k.barrier()


def by_boxes(
    body: Body,
    inner: int,
    room: int,
    stages: tuple[BoxStage, BoxStage],
    fragments: Fragments,
    item: Ref,
    begin: Ref,
    count: Ref,
) -> None:
    """The same, where one work-item begins the copies."""
    k, ahead = body.k, room - 1 - fragments.pending
    steps = k.op("udiv", count + (inner - 1), body.const(inner), hint="steps")
    there = k.array(U64, room, hint="there")
    is_first = k.op("eq", item, 0)

    def copy(step: Ref) -> None:
        number = k.op("urem", step, body.const(room))
        for stage in stages:
            stage.copy_boxes(begin + step * inner, number * stage.part.step_length, (there, number))

    with k.if_(is_first):
        k.init_boxes(there, room, sum(stage.boxes for stage in stages))
    k.barrier()
    with k.if_(is_first):
        for number in range(ahead):
            with k.if_(body.const(number) < steps):
                copy(body.const(number))
    with k.for_(0, steps, dtype=body.index, hint="step") as step:
        k.await_boxes(there, k.op("urem", step, body.const(room)), k.op("udiv", step, body.const(room)) & 1)
        k.barrier()
        later = k.let(step + ahead, "later")
        with k.if_(is_first & (later < steps)):
            copy(later)
        fragments.multiply(k.op("urem", step, body.const(room)))
        if fragments.pending:
            k.await_("products", fragments.pending)
    if fragments.pending:
        k.await_("products")
    k.barrier()
