"""Kernels of reductions by rows whose teams hold their rows in registers: however often a row is gone through, it is
read once, and all of it that a work-item has is read together.

The elements are joined in the same order as where teams stride over rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ocl_ir.kernel.grammar import If
from ocl_ir.kernel.operands import Ref
from ocl_ir.kernel.work import length
from ocl_ir.types import BOOL, DType, Vector, element
from ocl_runtime.plan.fusion.growing import MAX_OPERATIONS
from ocl_runtime.plan.fusion.values import Operation, below
from ocl_runtime.plan.kernels.form import Access
from ocl_runtime.plan.kernels.reduce_kernel import Held, Phase, ReduceForm, is_crowded, of_rows, phases
from ocl_runtime.plan.kernels.reduce_rows import Rows, gathers

_MOST_BYTES = 320
"""Of a row in the registers of a work-item; 16 vectors of 16 bytes and a bit of what else is kept."""


def held(form: ReduceForm, elements: int) -> Held | None:
    """How the team of a kernel, which may be another one in all else, holds a row of so many elements; None if that
    takes too many registers, or too much code."""
    if not form.restrict and any(isinstance(value, Access) and value.dtype == BOOL for value in form.values):
        return None  # there are no variables of vectors of bools, in which what is there could be read
    of_row = of_rows(form)
    each = [value for index, value in enumerate(form.values) if index not in of_row]
    operations = sum(length(value.op) for value in each if isinstance(value, Operation))
    most = min(MAX_OPERATIONS // max(1, operations), _MOST_BYTES // max(1, _bytes(form)))
    vectors = -(-(elements // form.lanes) // form.team)
    again = len(phases(form)) > 1  # else the registers hold what is read once
    if gathers(form) or not 1 <= vectors <= most or (is_crowded(form) and not again):
        return None
    full = elements // form.lanes % form.team == 0
    # From here on they are plain numbers: the kernel is for rows that have as many.
    return Held(int(vectors), bool(full), int(-(-(elements % form.lanes) // form.team)))


def _bytes(form: ReduceForm) -> int:
    """Bytes of a vector that the first phase reads, or that are kept from one phase to another, if that is more."""
    of_row, in_order = of_rows(form), phases(form)

    def size(indices: Iterable[int]) -> int:
        values = (form.values[index] for index in indices if index not in of_row)
        return form.lanes * sum(max(4, value.dtype.size) for value in values if isinstance(value, Access | Operation))

    known = of_row.union(below(form.values, in_order[0].wanted))
    most = size(index for index in known if isinstance(form.values[index], Access))
    for number, phase in enumerate(in_order[1:], 1):
        later = [value for other in in_order[number:] for value in other.wanted]
        most = max(most, size(known.intersection(below(form.values, later, known))))
        known.update(below(form.values, phase.wanted, known))
    return most


Reader: TypeAlias = Callable[[dict[int, Ref], Ref], Callable[[Access], Ref]]
"""Gives, for a row and the number of a vector or element, how its leaves are read."""


@dataclass
class _Slot:
    """A vector or an element of a row that a work-item has: its number, whether it is there, where that is a question,
    and what has been computed of it so far."""

    number: Ref
    there: Ref | None
    read: Callable[[Access], Ref]
    values: dict[int, Ref] = field(default_factory=dict)


class HeldRows(Rows):
    """Writes one kernel."""

    def __init__(self, form: ReduceForm) -> None:
        super().__init__(form)
        assert form.held is not None
        self._held: Held = form.held

    def start(self, where: dict[int, Ref], inside: Ref | None) -> None:
        """Takes note of a row, and of what this work-item has of it."""
        form, member, m = self.form, self.team.member, self.body.params["m"]
        self._where, self._inside = where, inside
        vectors, full, single = self._held
        count = self.k.op("udiv", m, self.body.const(form.lanes), hint="vectors") if form.lanes > 1 else m
        self._vectors = [
            self._slot(member, number, count, self.reader, full or number < vectors - 1) for number in range(vectors)
        ]
        first = count * form.lanes + member if single else member
        self._single = [self._slot(first, number, m, self.element_reader, False) for number in range(single)]

    def _slot(self, first: Ref, number: int, count: Ref, reader: Reader, is_there: bool) -> _Slot:
        """What lies so many teams behind the first of `count` vectors or elements. What is not there is not joined, but
        something is read for it, so that all loads are under way together."""
        at = self.k.op("add", first, number * self.form.team, hint="~v") if number else first
        if is_there:
            return _Slot(at, None, reader(self._where, at))
        there = self.k.let(at < count, "there")
        if not self.form.restrict:
            return _Slot(at, there, self._guarded(there, reader(self._where, at)))
        at = self.k.op("minimum", at, self.k.op("sub", count, 1, hint="~last"), hint="~v")
        return _Slot(at, there, reader(self._where, at))

    def _guarded(self, there: Ref, read: Callable[[Access], Ref]) -> Callable[[Access], Ref]:
        """Reads what is there, and of memory nothing else, which some other work-item may be writing."""

        def guarded(access: Access) -> Ref:
            if access.kind != "memory":
                return read(access)
            k = self.k
            with k.block() as reading:
                value = read(access)
            assert isinstance(value.type, DType | Vector)
            variable = k.variable(k.const(0.0 if element(value.type).is_float else 0, value.type))
            with k.block() as assigning:
                k.assign(variable, value)
            k.emit(If(there.operand, (*reading, *assigning)))
            return variable

        return guarded

    def phase(self, phase: Phase, known: Mapping[int, Ref]) -> dict[int, Ref]:
        """Goes through the elements once; gives the totals of this work-item."""
        for slot in (*self._vectors, *self._single):
            slot.values = self.evaluate(phase.wanted, slot.read, {**slot.values, **known})
        totals: dict[int, Ref] = {}
        if phase.folds:
            chains = [self.accumulators(phase) for _ in range(1 + max(map(self._chain, range(self._held.vectors))))]
            for number, slot in enumerate(self._vectors):
                self._join(phase, slot, chains[self._chain(number)])
            totals = self.across(self.chained(chains))
        for slot in self._single:
            self._join(phase, slot, totals)
        with self.guarded(self._inside if phase.outputs else None):
            for slots, store in ((self._vectors, self.store_elements), (self._single, self.store_element)):
                for slot in slots if phase.outputs else []:
                    with self.guarded(slot.there):
                        store(phase, self._where, slot.number, slot.values)
        return totals

    def _join(self, phase: Phase, slot: _Slot, accumulators: Mapping[int, Ref]) -> None:
        for index in phase.folds:
            with self.guarded(slot.there):
                self.join(index, accumulators[index], slot.values)

    def _chain(self, number: int) -> int:
        """The accumulator that a vector is joined to: one after the other in rounds that every work-item takes part in,
        then the first."""
        chains, (vectors, full, _) = self.form.chains, self._held
        in_rounds = (vectors if full else vectors - 1) // chains * chains
        return number % chains if number < in_rounds else 0
