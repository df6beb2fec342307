"""Kernels of reductions by rows: a team of work-items, or one, takes the elements of a result vector by vector."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce

from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import with_lanes
from ocl_runtime.plan.fusion.values import Operation
from ocl_runtime.plan.kernels.form import Access
from ocl_runtime.plan.kernels.reduce_kernel import Builder, Phase, ReduceForm, along_lanes

_LARGE_EXPRESSION = 16
"""Operations above which the expression stands in the code once and not for each accumulator."""


class Rows(Builder):
    """Writes one kernel."""

    def __init__(self, form: ReduceForm) -> None:
        super().__init__(form)
        large = sum(isinstance(value, Operation) for value in form.values) > _LARGE_EXPRESSION
        accesses = [value for value in form.values if isinstance(value, Access) and value.kind != "scalar"]
        lane = form.lane
        gathers = form.lanes > 1 and (lane is None or any(access.strides[lane] == "param" for access in accesses))
        self._rolled = form.chains > 1 and (large or gathers)

    def build(self) -> Kernel:
        """The kernel."""
        k, form, body = self.k, self.form, self.body
        if form.team > 1:
            number = k.item("group_id", 0, "o", form.index)
            local = k.item("local_id", 0, "l", form.index)
        else:
            number, local = k.global_id(0, "o", form.index), body.const(0)
        where = body.coordinates(number, range(form.kept - 1, -1, -1), self.sizes)
        if form.team > 1 or not form.kept:
            self._row(where, local)
        else:
            with k.if_(where[0] < self.sizes[0]):
                self._row(where, local)
        return k.build()

    def _row(self, where: dict[int, Ref], local: Ref) -> None:
        k, form, body = self.k, self.form, self.body
        m = body.params["m"]
        vectors = k.op("udiv", m, body.const(form.lanes), hint="vectors") if form.lanes > 1 else m
        part, begin, end = self.part(vectors)
        known: dict[int, Ref] = {}
        totals: dict[int, Ref] = {}
        for phase in self.phases:
            known = self.evaluate(phase.taken, self.read_at(where), known)
            folded = self._phase(phase, where, known, local, part, begin, end)
            totals |= folded
            known |= {index: self.result(index, total) for index, total in folded.items()}
        stored = [output for output in form.outputs if output.row]
        known = self.evaluate([output.value for output in stored], self.read_at(where), known)

        def store() -> None:
            for output in stored:
                self.store_total(output, self.at(output.access, where | {form.kept: part}), known, totals)

        if form.team == 1:
            store()
        elif stored:
            with k.if_(local == 0):
                store()

    def _phase(
        self, phase: Phase, where: dict[int, Ref], known: Mapping[int, Ref], local: Ref, part: Ref, begin: Ref, end: Ref
    ) -> dict[int, Ref]:
        """Goes through the elements once; gives the totals, which every work-item of the team has."""
        k, form = self.k, self.form

        def vectors(numbers: Sequence[Ref], chains: Sequence[Mapping[int, Ref]]) -> None:
            """Vectors are computed before the first is joined, so that their loads are in flight together."""
            evaluated = [self.evaluate(phase.wanted, self._read_vector(where, number), known) for number in numbers]
            for values, accumulators in zip(evaluated, chains, strict=True):
                for index in phase.folds:
                    self.join(index, accumulators[index], values)
            for number, values in zip(numbers, evaluated, strict=True):
                self._store_elements(phase, where, number, values)

        def remaining(begin: Ref, accumulators: Mapping[int, Ref]) -> None:
            with k.for_(begin + local, end, form.team, dtype=form.index, hint="v") as v:
                vectors([v], [accumulators])

        def accumulators() -> dict[int, Ref]:
            return {index: self.accumulator(index, form.lanes) for index in phase.folds}

        if not phase.folds or form.chains == 1:
            joined = accumulators()
            remaining(begin, joined)
        else:
            # In a round every accumulator of every work-item takes a vector.
            each = form.team * form.chains
            rounds = k.op("udiv", end - begin, self.body.const(each), hint="rounds")
            rest = begin + rounds * each
            if self._rolled:
                joined = accumulators()
                with k.for_(0, form.chains, dtype=form.index, hint="chain") as chain:
                    acc = accumulators()
                    with k.for_(0, rounds, dtype=form.index, hint="round") as round_:
                        vectors([begin + round_ * each + chain * form.team + local], [acc])
                    with k.if_(chain == 0):
                        remaining(rest, acc)
                    for index in phase.folds:  # joined to what changes nothing, the first one stays as it is
                        k.assign(joined[index], self.joined(index, joined[index], acc[index]))
            else:
                chains = [accumulators() for _ in range(form.chains)]
                with k.for_(0, rounds, dtype=form.index, hint="round") as round_:
                    at = begin + round_ * each + local
                    numbers = [at + number * form.team if number else at for number in range(form.chains)]
                    vectors(numbers, chains)
                remaining(rest, chains[0])
                joined = {
                    index: reduce(partial(self.joined, index), [sums[index] for sums in chains])
                    for index in phase.folds
                }
        totals = {index: k.variable(self._across(index, value), hint="total") for index, value in joined.items()}
        if form.lanes > 1 and not (form.whole and form.reduced > 1):
            # What is left of the row when it is cut into vectors belongs to the first part.
            rest = k.op("udiv", self.body.params["m"], self.body.const(form.lanes)) * form.lanes + local
            with (
                k.if_(part == 0),
                k.for_(rest, self.body.params["m"], form.team, dtype=form.index, hint="r") as r,
            ):
                self._element(phase, where, r, known, totals)
        return totals if form.team == 1 or not totals else self._joined_by_team(totals, local)

    # ------------------------------------------------------------------ elements

    def _element(
        self, phase: Phase, where: dict[int, Ref], number: Ref, known: Mapping[int, Ref], totals: Mapping[int, Ref]
    ) -> None:
        """One element by itself."""
        form, body = self.form, self.body

        def index(access: Access) -> Ref:
            if access.kind == "scalar" or form.lane is None:
                return self.at(access, where | self.reduced(number))
            return body.element(access, body.offset(access, where, form.lane), number, form.lanes, form.lane)

        values = self.evaluate(phase.wanted, lambda access: body.read(access, index(access)), known)
        for fold in phase.folds:
            self.join(fold, totals[fold], values)
        for output in phase.outputs:
            self.store(output.access, index(output.access), values[output.value])

    def _inner(self, where: dict[int, Ref], number: Ref) -> tuple[dict[int, Ref], Ref]:
        """Where the row of the lane axis begins that has vector `number`, and the vector's number in it."""
        form, k = self.form, self.k
        if form.reduced == 1:
            return where, number
        assert form.lane is not None
        across = k.op("udiv", self.sizes[form.lane], self.body.const(form.lanes))
        outer = self.body.coordinates(k.op("udiv", number, across), range(form.lane - 1, form.kept - 1, -1), self.sizes)
        return where | outer, k.op("urem", number, across)

    def _offsets(self, where: dict[int, Ref], number: Ref) -> Callable[[Access], Ref | list[Ref]]:
        """Where vector `number` lies: its beginning, or where each lane is."""
        form, body = self.form, self.body
        if form.lanes == 1:
            coordinates = where | self.reduced(number)
            return lambda access: self.at(access, coordinates)
        if form.lane is None:
            first = number * form.lanes
            each = [where | self.reduced(first + lane if lane else first) for lane in range(form.lanes)]
            return lambda access: [self.at(access, coordinates) for coordinates in each]
        row, inner, lane = *self._inner(where, number), form.lane
        return lambda access: along_lanes(self, access, body.offset(access, row, lane), inner)

    def _read_vector(self, where: dict[int, Ref], number: Ref) -> Callable[[Access], Ref]:
        form, offsets = self.form, self._offsets(where, number)

        def read(access: Access) -> Ref:
            offset = offsets(access)
            if isinstance(offset, list):
                return self.gathered(access, offset)
            neighbours = form.lane is not None and access.strides[form.lane] == "one"
            return self.body.read(access, offset, form.lanes if neighbours else 1)

        return read

    def _store_elements(self, phase: Phase, where: dict[int, Ref], number: Ref, values: Mapping[int, Ref]) -> None:
        for output in phase.outputs:
            value = self.body.spread(values[output.value], self.form.lanes)
            offset = self._offsets(where, number)(output.access)
            if isinstance(offset, list):
                self.scattered(output.access, offset, value)
            else:
                self.store(output.access, offset, value)

    # ------------------------------------------------------------------ joining

    def _across(self, fold: int, vector: Ref) -> Ref:
        """The lanes joined, half with half."""
        lanes = self.form.lanes
        while lanes > 1:
            lanes //= 2
            type_ = with_lanes(self.fold(fold).accumulator, lanes)
            low, high = (self.k.op(half, vector, result=type_) for half in ("lo", "hi"))
            vector = self.joined(fold, low, high)
        return vector

    def _joined_by_team(self, totals: Mapping[int, Ref], local: Ref) -> dict[int, Ref]:
        """The whole team's totals."""
        k, form = self.k, self.form
        shared = {fold: k.array(self.fold(fold).accumulator, form.team, hint="shared") for fold in totals}
        for fold, total in totals.items():
            k.store(shared[fold], local, total)
        k.barrier()
        half = form.team // 2
        while half:
            with k.if_(local < half):
                for fold, array in shared.items():
                    k.store(array, local, self.joined(fold, k.load(array, local), k.load(array, local + half)))
            k.barrier()
            half //= 2
        return {fold: k.load(array, self.body.const(0), hint="total") for fold, array in shared.items()}
