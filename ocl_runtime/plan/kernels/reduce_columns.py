"""Kernels of reductions by columns: a work-item goes through the elements of one result, or of some vectors of
neighbouring results, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_runtime.plan.kernels.form import Access
from ocl_runtime.plan.kernels.reduce_kernel import Builder, along_lanes

_UNROLL = 4


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
        if form.lane:  # the last of several kept axes is counted in slabs
            steps[form.lane] = k.op("udiv", self.sizes[form.lane] + (self._slab - 1), body.const(self._slab))
        where = body.coordinates(k.global_id(0, "o", form.index), range(form.kept - 1, -1, -1), steps)
        if form.kept > 1 or (form.kept and form.lane is None):
            with k.if_(where[0] < self.sizes[0]):
                self._columns(where)
        else:
            self._columns(where)
        return k.build()

    @property
    def _slab(self) -> int:
        """Neighbouring results of one work-item."""
        return self.form.lanes * self.form.chains

    def _columns(self, where: dict[int, Ref]) -> None:
        k, form, body, lane = self.k, self.form, self.body, self.form.lane
        part, begin, end = self.part(body.params["m"])
        if lane is None:
            column = _Column(lambda access, at: self.at(access, where | at), 1)
            self._through(part, begin, end, [column])
            return
        base = k.let(where[lane] * self._slab, "base")
        with k.if_(base + (self._slab - 1) < self.sizes[lane]):
            first = where[lane] if form.chains == 1 else k.let(where[lane] * form.chains, "first")
            numbers = [first + chain if chain else first for chain in range(form.chains)]
            self._through(part, begin, end, [self._vector(where, number) for number in numbers])
        with k.else_(), k.for_(base, self.sizes[lane], dtype=form.index) as j:
            self._through(part, begin, end, [self._single(where, j)])

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

    def _through(self, part: Ref, begin: Ref, end: Ref, columns: Sequence[_Column]) -> None:
        """Joins the elements of a part one after the other, those of all columns side by side."""
        k, form = self.k, self.form
        known: list[dict[int, Ref]] = [{} for _ in columns]
        totals: list[dict[int, Ref]] = [{} for _ in columns]
        # Of one element a turn, unrolling gained nothing on CPUs.
        unroll = _UNROLL if len(columns) == 1 and columns[0].lanes > 1 else 0
        for phase in self.phases:
            known = [
                self.evaluate(phase.taken, self._reader(column, {}), values)
                for column, values in zip(columns, known, strict=True)
            ]
            accumulated = [{fold: self.accumulator(fold, column.lanes) for fold in phase.folds} for column in columns]
            with k.for_(begin, end, dtype=form.index, hint="r", unroll=unroll) as r:
                at = self.reduced(r)
                for column, accumulators, values in zip(columns, accumulated, known, strict=True):
                    each = self.evaluate(phase.wanted, self._reader(column, at), values)
                    for fold in phase.folds:
                        self.join(fold, accumulators[fold], each)
                    for output in phase.outputs:
                        value = self.body.spread(each[output.value], column.lanes)
                        self.store(output.access, column.offset(output.access, at), value)
            for number, accumulators in enumerate(accumulated):
                totals[number] |= accumulators
                known[number] |= {fold: self.result(fold, total) for fold, total in accumulators.items()}
        stored = [output for output in form.outputs if output.row]
        for column, values, all_totals in zip(columns, known, totals, strict=True):
            row = self.evaluate([output.value for output in stored], self._reader(column, {}), values)
            for output in stored:
                self.store_total(output, column.offset(output.access, {form.kept: part}), row, all_totals)

    def _reader(self, column: _Column, at: dict[int, Ref]) -> Callable[[Access], Ref]:
        lane = self.form.lane

        def read(access: Access) -> Ref:
            neighbours = lane is not None and access.kind != "scalar" and access.strides[lane] == "one"
            return self.body.read(access, column.offset(access, at), column.lanes if neighbours else 1)

        return read
