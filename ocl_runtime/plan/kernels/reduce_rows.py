"""Kernels of reductions by rows: a team of work-items, or one, takes the elements of a result vector by vector."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce

from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import with_lanes
from ocl_runtime.plan.kernels.form import Access
from ocl_runtime.plan.kernels.reduce_kernel import Builder, Phase, ReduceForm, along_lanes, is_crowded, is_large


class Rows(Builder):
    """Writes one kernel whose teams stride over their rows, once for each phase."""

    def __init__(self, form: ReduceForm) -> None:
        super().__init__(form)
        self._rolled = form.chains > 1 and (is_large(form) or gathers(form) or is_crowded(form))

    def build(self) -> Kernel:
        """The kernel."""
        k, form, body = self.k, self.form, self.body
        where = body.coordinates(self.team.number, range(form.kept - 1, -1, -1), self.sizes)
        if form.team == 1 and form.kept:
            with k.if_(where[0] < self.sizes[0]):
                self._row(where, None)
        else:
            self._row(*self.bounded(where, self.sizes))
        return k.build()

    def _row(self, where: dict[int, Ref], inside: Ref | None) -> None:
        """One row, of which a team stores something where it is `inside`."""
        form = self.form
        self.start(where, inside)
        known: dict[int, Ref] = {}
        totals: dict[int, Ref] = {}
        for phase in self.phases:
            known = self.evaluate(phase.taken, self.read_at(where), known)
            folded = self.team.joined(self.phase(phase, known), self.joined)
            totals |= folded
            known |= {index: self.result(index, total) for index, total in folded.items()}
        stored = [output for output in form.outputs if output.row]
        if stored:
            known = self.evaluate([output.value for output in stored], self.read_at(where), known)
            with self.once(inside):
                for output in stored:
                    self.store_total(output, self.at(output.access, where | self.part), known, totals)

    def start(self, where: dict[int, Ref], inside: Ref | None) -> None:
        """Takes note of a row before its first phase."""
        k, form, m = self.k, self.form, self.body.params["m"]
        self._where, self._inside = where, inside
        vectors = k.op("udiv", m, self.body.const(form.lanes), hint="vectors") if form.lanes > 1 else m
        self._begin, self._end = self.range(vectors)

    def phase(self, phase: Phase, known: Mapping[int, Ref]) -> dict[int, Ref]:
        """Goes through the elements once; gives the totals of this work-item."""
        k, form, begin, end, member = self.k, self.form, self._begin, self._end, self.team.member

        def vectors(numbers: Sequence[Ref], chains: Sequence[Mapping[int, Ref]]) -> None:
            """Vectors are computed before the first is joined."""
            readers = [self.reader(self._where, number) for number in numbers]
            evaluated = self.evaluate_each(phase.wanted, readers, known)
            for values, accumulators in zip(evaluated, chains, strict=True):
                for index in phase.folds:
                    self.join(index, accumulators[index], values)
            for number, values in zip(numbers, evaluated, strict=True):
                with self.guarded(self._inside if phase.outputs else None):
                    self.store_elements(phase, self._where, number, values)

        def remaining(begin: Ref, accumulators: Mapping[int, Ref]) -> None:
            with k.for_(begin + member, end, form.team, dtype=form.index, hint="v") as v:
                vectors([v], [accumulators])

        if not phase.folds or form.chains == 1:
            joined = self.accumulators(phase)
            remaining(begin, joined)
        else:
            # In a round every accumulator of every work-item takes a vector.
            each = form.team * form.chains
            rounds = k.op("udiv", end - begin, self.body.const(each), hint="rounds")
            rest = begin + rounds * each
            if self._rolled:
                joined = self.accumulators(phase)
                with k.for_(0, form.chains, dtype=form.index, hint="chain") as chain:
                    acc = self.accumulators(phase)
                    with k.for_(0, rounds, dtype=form.index, hint="round") as round_:
                        vectors([begin + round_ * each + chain * form.team + member], [acc])
                    with k.if_(chain == 0):
                        remaining(rest, acc)
                    for index in phase.folds:  # joined to what changes nothing, the first one stays as it is
                        k.assign(joined[index], self.joined(index, joined[index], acc[index]))
            else:
                chains = [self.accumulators(phase) for _ in range(form.chains)]
                with k.for_(0, rounds, dtype=form.index, hint="round") as round_:
                    at = begin + round_ * each + member
                    numbers = [at + number * form.team if number else at for number in range(form.chains)]
                    vectors(numbers, chains)
                remaining(rest, chains[0])
                joined = self.chained(chains)
        totals = self.across(joined)
        if form.lanes > 1 and not (form.whole and form.reduced > 1):
            # What is left of the row when it is cut into vectors belongs to the first part.
            m = self.body.params["m"]
            rest = k.op("udiv", m, self.body.const(form.lanes)) * form.lanes + member
            first = None if self.part_number is None else self.part_number == 0
            with self.guarded(first), k.for_(rest, m, form.team, dtype=form.index, hint="r") as r:
                values = self.evaluate(phase.wanted, self.element_reader(self._where, r), known)
                for fold in phase.folds:
                    self.join(fold, totals[fold], values)
                with self.guarded(self._inside if phase.outputs else None):
                    self.store_element(phase, self._where, r, values)
        return totals

    # ------------------------------------------------------------------ accumulators

    def accumulators(self, phase: Phase) -> dict[int, Ref]:
        """Variables for the folds of a phase."""
        return {index: self.accumulator(index, self.form.lanes) for index in phase.folds}

    def chained(self, chains: Sequence[Mapping[int, Ref]]) -> dict[int, Ref]:
        """The accumulators of a work-item joined, in order."""
        return {index: reduce(partial(self.joined, index), [sums[index] for sums in chains]) for index in chains[0]}

    def across(self, joined: Mapping[int, Ref]) -> dict[int, Ref]:
        """Their lanes joined, half with half, in variables."""
        return {index: self.k.variable(self._across(index, value), hint="total") for index, value in joined.items()}

    def _across(self, fold: int, vector: Ref) -> Ref:
        lanes = self.form.lanes
        while lanes > 1:
            lanes //= 2
            type_ = with_lanes(self.fold(fold).accumulator, lanes)
            low, high = (self.k.op(half, vector, result=type_) for half in ("lo", "hi"))
            vector = self.joined(fold, low, high)
        return vector

    # ------------------------------------------------------------------ elements

    def element_reader(self, where: dict[int, Ref], number: Ref) -> Callable[[Access], Ref]:
        """Reads leaves at one element of a row."""
        return lambda access: self.body.read(access, self._element(access, where, number))

    def store_element(self, phase: Phase, where: dict[int, Ref], number: Ref, values: Mapping[int, Ref]) -> None:
        """Stores what a phase gives for one element."""
        for output in phase.outputs:
            self.store(output.access, self._element(output.access, where, number), values[output.value])

    def _element(self, access: Access, where: dict[int, Ref], number: Ref) -> Ref:
        form, body = self.form, self.body
        if access.kind == "scalar" or form.lane is None:
            return self.at(access, where | self.reduced(number))
        return body.element(access, body.offset(access, where, form.lane), number, form.lanes, form.lane)

    def reader(self, where: dict[int, Ref], number: Ref) -> Callable[[Access], Ref]:
        """Reads leaves at one vector of a row."""
        form, offsets = self.form, self._offsets(where, number)

        def read(access: Access) -> Ref:
            offset = offsets(access)
            if isinstance(offset, list):
                return self.gathered(access, offset)
            neighbours = form.lane is not None and access.strides[form.lane] == "one"
            return self.body.read(access, offset, form.lanes if neighbours else 1)

        return read

    def store_elements(self, phase: Phase, where: dict[int, Ref], number: Ref, values: Mapping[int, Ref]) -> None:
        """Stores what a phase gives for one vector."""
        for output in phase.outputs:
            value = self.body.spread(values[output.value], self.form.lanes)
            offset = self._offsets(where, number)(output.access)
            if isinstance(offset, list):
                self.scattered(output.access, offset, value)
            else:
                self.store(output.access, offset, value)

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

    def _inner(self, where: dict[int, Ref], number: Ref) -> tuple[dict[int, Ref], Ref]:
        """Where the row of the lane axis begins that has vector `number`, and the vector's number in it."""
        form, k = self.form, self.k
        if form.reduced == 1:
            return where, number
        assert form.lane is not None
        across = k.op("udiv", self.sizes[form.lane], self.body.const(form.lanes))
        outer = self.body.coordinates(k.op("udiv", number, across), range(form.lane - 1, form.kept - 1, -1), self.sizes)
        return where | outer, k.op("urem", number, across)


def gathers(form: ReduceForm) -> bool:
    """Whether some vectors are put together from elements that are no neighbours."""
    accesses = [value for value in form.values if isinstance(value, Access) and value.kind != "scalar"]
    lane = form.lane
    return form.lanes > 1 and (lane is None or any(access.strides[lane] == "param" for access in accesses))
