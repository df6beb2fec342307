"""Writes the kernels of running sums and products; `ocl_runtime.plan.kernels.scan` decides which.

A part of a row is gone through by one work-item, or by a team in rounds. In a round, each work-item of a team joins a
few neighbouring elements, the team scans these totals in local memory (Hillis and Steele, Data parallel algorithms,
1986), and each writes its elements, joined with all that comes before.
"""

from __future__ import annotations

from dataclasses import dataclass

from ocl_ir.graph.build import ScanOp
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import DType
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.form import Access, Spec, Term
from ocl_runtime.plan.kernels.naming import formulas, kernel_name
from ocl_runtime.plan.kernels.reduce_kernel import identity, join

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


def build(form: ScanForm) -> Kernel:
    """The kernel of a form."""
    return _Builder(form).build()


class _Builder:
    def __init__(self, form: ScanForm) -> None:
        what = "totals" if form.result is None else f"cumulative_{form.op}"
        x = formulas(form.values, {"x": len(form.values) - 1})
        self._form = form
        self._k = KernelBuilder(
            kernel_name(form.values, what),
            group_size=(form.team, 1, 1) if form.team > 1 else None,
            note=f"y = {what}(x); {x}    in {form.accumulator}, {form.team} work-items a row",
        )
        self._body = Body.start(self._k, form.specs, form.index, form.fp16)

    def build(self) -> Kernel:
        k, form, body = self._k, self._form, self._body
        row = k.item("group_id", 0, "o", form.index) if form.team > 1 else k.global_id(0, "o", form.index)
        sizes = {axis: body.params[f"n{axis}"] for axis in range(form.kept)}
        where = body.coordinates(row, range(form.kept - 1, -1, -1), sizes)
        if form.team > 1 or not form.kept:
            self._part(row, where)
        else:
            with k.if_(where[0] < sizes[0]):
                self._part(row, where)
        return k.build()

    def _part(self, row: Ref, where: dict[int, Ref]) -> None:
        k, form, body = self._k, self._form, self._body
        part = k.item("group_id", 1, "part", form.index)
        begin = k.let(part * body.params["per"], "begin")
        end = k.op("minimum", begin + body.params["per"], body.params["m"], hint="end")
        number = k.let(row * body.params["s"] + part, "number")
        total = k.variable(self._identity(), hint="total")
        if form.continued:
            with k.if_(part != 0):
                k.assign(total, k.load(body.params["i"], number - 1))
        if form.team > 1:
            (self._rounds if form.result is not None else self._team_total)(where, begin, end, total)
        else:
            with k.for_(begin, end, dtype=form.index, hint="r") as r:
                k.assign(total, self._joined(total, self._value(where, r)))
                self._store(where, r, total)
        if form.result is None:
            first = k.item("local_id", 0, "l", form.index) == 0 if form.team > 1 else None
            if first is None:
                k.store(body.params["y"], number, total)
            else:
                with k.if_(first):
                    k.store(body.params["y"], number, total)

    def _rounds(self, where: dict[int, Ref], begin: Ref, end: Ref, total: Ref) -> None:
        """The elements of a part, a round of the team after the other."""
        k, form, body = self._k, self._form, self._body
        local = k.item("local_id", 0, "l", form.index)
        shared = k.array(form.accumulator, form.team, hint="shared")
        with k.for_(begin, end, form.team * EACH, dtype=form.index, hint="base") as base:
            first = k.let(base + local * EACH, "first")
            own: list[Ref] = []
            for number in range(EACH):
                value = self._inside(where, first + number, end)
                own.append(k.let(self._joined(own[-1], value) if own else value))
            self._scan_team(shared, local, own[-1])
            before = k.variable(k.let(total), hint="before")
            with k.if_(local != 0):
                k.assign(before, self._joined(total, k.load(shared, local - 1)))
            for number, value in enumerate(own):
                with k.if_(first + number < end):
                    self._store(where, first + number, self._joined(before, value))
            k.assign(total, self._joined(total, k.load(shared, body.const(form.team - 1))))
            k.barrier()

    def _team_total(self, where: dict[int, Ref], begin: Ref, end: Ref, total: Ref) -> None:
        """The total of a part: every work-item takes every so-manieth element, then the team joins."""
        k, form, body = self._k, self._form, self._body
        local = k.item("local_id", 0, "l", form.index)
        shared = k.array(form.accumulator, form.team, hint="shared")
        with k.for_(begin + local, end, form.team, dtype=form.index, hint="r") as r:
            k.assign(total, self._joined(total, self._value(where, r)))
        self._scan_team(shared, local, k.let(total))
        k.assign(total, k.load(shared, body.const(form.team - 1)))

    def _scan_team(self, shared: Ref, local: Ref, own: Ref) -> None:
        """Local memory with, for each work-item, the values of all up to it joined."""
        k, form = self._k, self._form
        joined = k.variable(own, hint="joined")
        k.store(shared, local, joined)
        k.barrier()
        distance = 1
        while distance < form.team:
            with k.if_(local >= distance):
                k.assign(joined, self._joined(k.load(shared, local - distance), joined))
            k.barrier()
            k.store(shared, local, joined)
            k.barrier()
            distance *= 2

    def _inside(self, where: dict[int, Ref], r: Ref, end: Ref) -> Ref:
        """The value of an element, or what changes nothing behind the end."""
        k = self._k
        value = k.variable(self._identity(), hint="value")
        with k.if_(r < end):
            k.assign(value, self._value(where, r))
        return k.let(value)

    def _value(self, where: dict[int, Ref], r: Ref) -> Ref:
        form, body = self._form, self._body

        def leaf(access: Access) -> Ref:
            offset = None if access.kind == "scalar" else body.offset(access, where | {form.kept: r})
            return body.read(access, body.const(0) if offset is None else offset)

        last = len(form.values) - 1
        return self._k.convert(body.evaluate(form.values, [last], leaf)[last], form.accumulator)

    def _store(self, where: dict[int, Ref], r: Ref, value: Ref) -> None:
        """Half is stored from float32; nothing else converts by itself."""
        form, body = self._form, self._body
        if form.result is None:
            return
        offset = body.offset(form.result, where | {form.kept: r})
        to = form.result.dtype
        value = value if to.is_float and to.bits == 16 else self._k.convert(value, to)
        self._k.store(body.params["y"], body.const(0) if offset is None else offset, value)

    def _joined(self, left: Ref, right: Ref) -> Ref:
        return self._k.op(join(self._form.op), left, right)

    def _identity(self) -> Ref:
        return self._k.const(identity(self._form.op, self._form.accumulator), self._form.accumulator)
