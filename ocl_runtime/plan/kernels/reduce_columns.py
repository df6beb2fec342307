"""Kernels of reductions by columns: a work-item, or a team by turns, goes through the elements of one result, or of
some vectors of neighbouring results, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_runtime.plan.kernels.form import Access
from ocl_runtime.plan.kernels.reduce_kernel import Builder, Phase, along_lanes, is_large

_UNROLL = 4
_AHEAD = 32
"""Elements that one of a team reads before it joins the first: 8 vectors of four, and not too many single ones."""
_FEW_REGISTERS = 1024
"""Work-items of a group that have few registers: 64 on NVIDIA's GPUs. With as many loads as in small groups, a layer
that is normalised along its first axis took 122 us, with half of them 91 (4096 x 4096, H200)."""


@dataclass(frozen=True)
class _Column:
    """One result, or a vector of them: where an element lies, by the coordinates along the reduced axes or the part,
    and how many lanes it has."""

    offset: Callable[[Access, dict[int, Ref]], Ref]
    lanes: int


class Columns(Builder):
    """Writes one kernel."""

    def build(self) -> Kernel:
        """The kernel."""
        k, form, body = self.k, self.form, self.body
        steps = dict(self.sizes)
        # The last of several kept axes is counted in slabs; teams have no part of one.
        if form.lane is not None and (form.lane or form.team > 1):
            steps[form.lane] = k.op("udiv", self.sizes[form.lane] + (self._slab - 1), body.const(self._slab))
        where = body.coordinates(self.team.number, range(form.kept - 1, -1, -1), steps)
        if form.team > 1:
            self._column(*self.bounded(where, steps))
        elif form.kept > 1 or (form.kept and form.lane is None):
            with k.if_(where[0] < self.sizes[0]):
                self._columns(where)
        else:
            self._columns(where)
        return k.build()

    def _column(self, where: dict[int, Ref], inside: Ref | None) -> None:
        """The only result at a place, or the only vector of them."""
        begin, end = self.range(self.body.params["m"])
        lane = self.form.lane
        if lane is None:
            column = _Column(lambda access, at: self.at(access, where | at), 1)
        else:
            column = self._vector(where, where[lane])
        self._through(begin, end, [column], inside)

    @property
    def _slab(self) -> int:
        """Neighbouring results of one work-item."""
        return self.form.lanes * self.form.chains

    def _columns(self, where: dict[int, Ref]) -> None:
        k, form, body, lane = self.k, self.form, self.body, self.form.lane
        if lane is None:
            self._column(where, None)
            return
        begin, end = self.range(body.params["m"])
        base = k.let(where[lane] * self._slab, "base")
        with k.if_(base + (self._slab - 1) < self.sizes[lane]):
            first = where[lane] if form.chains == 1 else k.let(where[lane] * form.chains, "first")
            numbers = [first + chain if chain else first for chain in range(form.chains)]
            self._through(begin, end, [self._vector(where, number) for number in numbers])
        with k.else_(), k.for_(base, self.sizes[lane], dtype=form.index) as j:
            self._through(begin, end, [self._single(where, j)])

    def _vector(self, where: dict[int, Ref], number: Ref) -> _Column:
        lane = self.form.lane
        assert lane is not None

        def offset(access: Access, at: dict[int, Ref]) -> Ref:
            if access.kind == "scalar":
                return self.body.const(0)
            start = along_lanes(self, access, self.body.offset(access, where | at, lane), number)
            assert isinstance(start, Ref), "in columns, lanes are neighbours"
            return start

        return _Column(offset, self.form.lanes)

    def _single(self, where: dict[int, Ref], number: Ref) -> _Column:
        lane, body = self.form.lane, self.body
        assert lane is not None

        def offset(access: Access, at: dict[int, Ref]) -> Ref:
            if access.kind == "scalar":
                return body.const(0)
            return body.element(access, body.offset(access, where | at, lane), number, self.form.lanes, lane)

        return _Column(offset, 1)

    def _through(self, begin: Ref, end: Ref, columns: Sequence[_Column], inside: Ref | None = None) -> None:
        """Joins the elements of a part one after the other, those of all columns side by side; a team takes them by
        turns, and stores something where that is `inside`."""
        form = self.form
        known: list[dict[int, Ref]] = [{} for _ in columns]
        totals: list[dict[int, Ref]] = [{} for _ in columns]
        for phase in self.phases:
            known = [
                self.evaluate(phase.taken, self._reader(column, {}), values)
                for column, values in zip(columns, known, strict=True)
            ]
            accumulated = [{fold: self.accumulator(fold, column.lanes) for fold in phase.folds} for column in columns]
            self._phase(phase, begin, end, columns, known, accumulated, inside)
            for number, accumulators in enumerate(accumulated):
                joined = self.team.joined(accumulators, self.joined)
                totals[number] |= joined
                known[number] |= {fold: self.result(fold, total) for fold, total in joined.items()}
        stored = [output for output in form.outputs if output.row]
        for column, values, all_totals in zip(columns, known, totals, strict=True):
            row = self.evaluate([output.value for output in stored], self._reader(column, {}), values)
            with self.once(inside) if stored else nullcontext():
                for output in stored:
                    self.store_total(output, column.offset(output.access, self.part), row, all_totals)

    def _phase(
        self,
        phase: Phase,
        begin: Ref,
        end: Ref,
        columns: Sequence[_Column],
        known: Sequence[Mapping[int, Ref]],
        accumulated: Sequence[Mapping[int, Ref]],
        inside: Ref | None,
    ) -> None:
        k, form, team = self.k, self.form, self.form.team

        def elements(numbers: Sequence[Ref]) -> None:
            """Elements are computed before the first is joined."""
            for column, accumulators, values in zip(columns, accumulated, known, strict=True):
                places = [self.reduced(number) for number in numbers]
                evaluated = self.evaluate_each(phase.wanted, [self._reader(column, at) for at in places], values)
                for each in evaluated:
                    for fold in phase.folds:
                        self.join(fold, accumulators[fold], each)
                with self.guarded(inside if phase.outputs else None):
                    for at, each in zip(places, evaluated, strict=True):
                        for output in phase.outputs:
                            value = self.body.spread(each[output.value], column.lanes)
                            self.store(output.access, column.offset(output.access, at), value)

        # Of one element a turn, unrolling gained nothing on CPUs.
        unroll = _UNROLL if team == 1 and len(columns) == 1 and columns[0].lanes > 1 else 0
        ahead = self._ahead(columns[0].lanes)
        if ahead > 1:
            rounds = k.op("udiv", end - begin, self.body.const(team * ahead), hint="rounds")
            with k.for_(0, rounds, dtype=form.index, hint="round") as round_:
                at = k.op("add", begin + round_ * (team * ahead), self.team.member, hint="~row")
                elements([k.op("add", at, number * team, hint="~row") if number else at for number in range(ahead)])
            begin = begin + rounds * (team * ahead)
        first = begin + self.team.member if team > 1 else begin
        with k.for_(first, end, team, dtype=form.index, hint="r", unroll=unroll) as r:
            elements([r])

    def _ahead(self, lanes: int) -> int:
        """Elements that one of a team reads before it joins the first."""
        form = self.form
        if form.team == 1 or is_large(form):
            return 1
        if form.team * form.teams < _FEW_REGISTERS:
            return max(1, min(16, _AHEAD // lanes))
        stores = any(phase.outputs for phase in self.phases)  # for which more is in registers
        return max(1, min(8, (_AHEAD // 2 if stores else _AHEAD) // lanes))

    def _reader(self, column: _Column, at: dict[int, Ref]) -> Callable[[Access], Ref]:
        lane = self.form.lane

        def read(access: Access) -> Ref:
            neighbours = lane is not None and access.kind != "scalar" and access.strides[lane] == "one"
            return self.body.read(access, column.offset(access, at), column.lanes if neighbours else 1)

        return read
