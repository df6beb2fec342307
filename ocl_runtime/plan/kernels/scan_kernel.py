"""Writes the kernels of running sums and products; `ocl_runtime.plan.kernels.scan` decides which.

A part of a row is gone through by one work-item, or by a team in rounds. In a round, each work-item of a team joins a
few neighbouring elements, the team scans these totals in local memory (Hillis and Steele, Data parallel algorithms,
1986), and each writes its elements, joined with all that comes before.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

from ocl_ir.graph.build import ScanOp
from ocl_ir.kernel.collectives import distances
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.language.builtins.registry import BUILTINS
from ocl_ir.language.library import Algorithm
from ocl_ir.types import DType
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.form import Access, Spec, Term
from ocl_runtime.plan.kernels.naming import formulas, kernel_name
from ocl_runtime.plan.kernels.reduce_kernel import identity, join

barrier, group_id, local_id, local_array, unrolled = (
    BUILTINS[name] for name in ("barrier", "group_id", "local_id", "local_array", "unrolled")
)

EACH = 4
"""Elements that a work-item of a team takes in a round."""


@dataclass(frozen=True, slots=True)
class ScanForm:
    """The key of a scan's kernel. Without a `result` it gives the total of each part; `continued`: it begins with the
    total of the parts before."""

    values: tuple[Term, ...]
    result: Access | None
    specs: tuple[Spec, ...]
    kept: int
    team: int
    op: ScanOp
    accumulator: DType
    continued: bool
    index: DType
    fp16: bool


class Steps(NamedTuple):
    """What a scan is made of: functions of elements and parts, None where there is nothing to do, and constants."""

    value: Any
    join: Any
    store: Any
    before: Any
    keep: Any
    neutral: Any
    dtype: DType
    team: int
    distances: tuple[int, ...]


def scan_part(row: Any, length: Any, per: Any, parts: Any, steps: Steps) -> None:
    """Scans the part of a row that this work-item or its team has."""
    part, lane = group_id(1), local_id(0)
    begin = part * per
    end = min(begin + per, length)
    number = row * parts + part
    total = steps.neutral
    if steps.before is not None and part != 0:
        total = steps.before(number - 1)
    if steps.team == 1:
        for r in range(begin, end):
            total = steps.join(total, steps.value(r))
            if steps.store is not None:
                steps.store(r, total)
    elif steps.store is None:
        for r in range(begin + lane, end, steps.team):
            total = steps.join(total, steps.value(r))
        total = scanned_by_team(total, lane, steps)[steps.team - 1]
    else:
        for base in range(begin, end, steps.team * EACH):
            first = base + lane * EACH
            own: Any = ()
            for step in unrolled(range(EACH)):
                value = steps.value(first + step) if first + step < end else steps.neutral
                own = (*own, steps.join(own[step - 1], value) if step > 0 else value)
            shared = scanned_by_team(own[EACH - 1], lane, steps)
            before = steps.join(total, shared[lane - 1]) if lane != 0 else total
            for step in unrolled(range(EACH)):
                if first + step < end:
                    steps.store(first + step, steps.join(before, own[step]))
            total = steps.join(total, shared[steps.team - 1])
            barrier()
    if steps.keep is not None and (steps.team == 1 or lane == 0):
        steps.keep(number, total)


def scanned_by_team(own: Any, lane: Any, steps: Steps) -> Any:
    """Local memory with, for each work-item, the values of all up to it joined."""
    shared = local_array(steps.team, steps.dtype)
    shared[lane] = own
    barrier()
    for distance in unrolled(steps.distances):
        if lane >= distance:
            own = steps.join(shared[lane - distance], own)
        barrier()
        shared[lane] = own
        barrier()
    return shared


def build(form: ScanForm) -> Kernel:
    """The kernel of a form."""
    what = "totals" if form.result is None else f"cumulative_{form.op}"
    x = formulas(form.values, {"x": len(form.values) - 1})
    algorithm = Algorithm(
        kernel_name(form.values, what),
        scan_part,
        index=form.index,
        group_size=(form.team, 1, 1) if form.team > 1 else None,
        note=f"y = {what}(x); {x}    in {form.accumulator}, {form.team} work-items a row",
    )
    k = algorithm.k
    body = Body.start(k, form.specs, form.index, form.fp16)
    row = k.item("group_id", 0, "o", form.index) if form.team > 1 else k.global_id(0, "o", form.index)
    sizes = {axis: body.params[f"n{axis}"] for axis in range(form.kept)}
    where = body.coordinates(row, range(form.kept - 1, -1, -1), sizes)
    m, per, parts = (body.params[name] for name in ("m", "per", "s"))
    with k.if_(where[0] < sizes[0]) if form.team == 1 and form.kept else nullcontext():
        algorithm.write(row, m, per, parts, _steps(form, algorithm, body, where))
    return algorithm.build()


def _steps(form: ScanForm, algorithm: Algorithm, body: Body, where: dict[int, Ref]) -> Steps:
    k, result = algorithm.k, form.result

    def value(r: Ref) -> Ref:
        def leaf(access: Access) -> Ref:
            offset = None if access.kind == "scalar" else body.offset(access, where | {form.kept: r})
            return body.read(access, body.const(0) if offset is None else offset)

        last = len(form.values) - 1
        return k.convert(body.evaluate(form.values, [last], leaf)[last], form.accumulator)

    def store(r: Ref, joined: Ref) -> None:
        assert result is not None
        offset, to = body.offset(result, where | {form.kept: r}), result.dtype
        stored = joined if to.is_float and to.bits == 16 else k.convert(joined, to)  # half is stored from float32
        k.store(body.params["y"], body.const(0) if offset is None else offset, stored)

    made = algorithm.function
    return Steps(
        value=made(value),
        join=made(lambda left, right: k.op(join(form.op), left, right)),
        store=None if result is None else made(store),
        before=made(lambda number: k.load(body.params["i"], number)) if form.continued else None,
        keep=made(lambda number, total: k.store(body.params["y"], number, total)) if result is None else None,
        neutral=form.accumulator.numpy.type(identity(form.op, form.accumulator)),
        dtype=form.accumulator,
        team=form.team,
        distances=tuple(distances(form.team)),
    )
