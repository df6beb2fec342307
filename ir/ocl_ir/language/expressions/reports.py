"""What checked mode reports: the first violation of a launch goes into a record that the host reads.

A work-item that has violated a rule stores nothing more, but still comes to the barriers of its group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ocl_ir.kernel.grammar import Variable
from ocl_ir.kernel.operands import Ref
from ocl_ir.language.context import Context, Status
from ocl_ir.language.errors import Span
from ocl_ir.language.values.values import Number
from ocl_ir.types import BOOL, I32, I64, DType, Vector, element, from_numpy

STATUS_WORDS = 11
"""Of the record of the first violation: whether there is one, its site, three numbers as two words each, and the global
ids of the work-item."""
INTEGER_LIMITS = {
    dtype: np.iinfo(dtype.numpy) for dtype in map(from_numpy, ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"))
}


@dataclass(frozen=True, slots=True)
class Site:
    """Where a violation may happen."""

    span: Span


@dataclass(frozen=True, slots=True)
class AccessSite(Site):
    """An access that may be outside of an array; the numbers are the axis, the index there, and the length."""

    array: str


@dataclass(frozen=True, slots=True)
class AssertionSite(Site):
    """An assertion that may not hold."""

    text: str


@dataclass(frozen=True, slots=True)
class DivisionSite(Site):
    """A division of integers whose divisor may be 0; `operation` as the program writes it."""

    operation: str


@dataclass(frozen=True, slots=True)
class StepSite(Site):
    """A `range` whose step may be 0."""


@dataclass(frozen=True, slots=True)
class ConversionSite(Site):
    """A number of a dtype that an index may not hold; it is the first number of the record."""

    dtype: DType
    index: DType


@dataclass(frozen=True, slots=True)
class StoreSite(Site):
    """An index that the dtype of an array may not hold; it is the first number of the record."""

    array: str
    dtype: DType


class Reports(Context):
    """Records violations."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.sites: list[Site] = []
        self._status: Ref | None = None
        self._failed: Variable | None = None

    def marked(self) -> tuple[Any, ...]:
        """The state to come `back_to`."""
        return super().marked(), len(self.sites), self._status, self._failed

    def back_to(self, mark: tuple[Any, ...]) -> None:
        """Forgets what was made since a mark."""
        inner, sites, self._status, self._failed = mark
        super().back_to(inner)
        del self.sites[sites:]

    def report_where(self, violated: Ref, site: Site, *numbers: Ref) -> None:
        """Records a violation, and at most three numbers of it, where a condition holds, in any lane of a vector."""
        first, *others = self.scalars(violated)
        for other in others:
            first = self.k.op("or", first, other)
        with self.k.if_(first):
            self.report(site, *numbers)

    def report(self, site: Site, *numbers: Ref) -> None:
        """Records a violation, unless there is one, and lets the work-item store nothing more."""
        number = self.k.const(len(self.sites), I32)
        self.sites.append(site)
        status = self._status_pointer()
        none, some = (self.k.const(value, I32) for value in (0, 1))
        before = self.k.atomic("compare_exchange", status, none, none, some)
        assert before is not None
        with self.k.if_(self.k.op("eq", before, none)):
            words = [number, *[word for each in numbers for word in self._halves(each)]]
            words += [none] * (1 + 6 - len(words))
            words += [self.k.item("global_id", dimension, "", I32) for dimension in range(3)]
            for position, word in enumerate(words, start=1):
                self.k.store(status, self.k.const(position, I32), word)
        self.k.assign(Ref(self.k, self._failed_variable()), self.k.const(True, BOOL))

    def check_range(self, number: Number, dtype: DType, site: Site) -> None:
        """In checked mode, reports a number that integers of a dtype do not hold, without its fraction."""
        if not self.options.checked:
            return
        for scalar in self.scalars(number.ref):
            outside = self._outside(scalar, number.low, dtype)
            if outside is not None:
                self.report_where(outside, site, scalar)

    def _outside(self, number: Ref, low: int | None, dtype: DType) -> Ref | None:
        """Whether integers of a dtype do not hold a number, without its fraction; None where they hold all such."""
        least, most = int(INTEGER_LIMITS[dtype].min), int(INTEGER_LIMITS[dtype].max)
        type_ = element(number.type)
        if type_.is_float:
            below = float(type_.numpy.type(least - 1))
            # Where floats have no place for what is one too low, the next one is lower by more.
            from_below = ("gt", below) if below == least - 1 else ("ge", float(least))
            tests = self.k.op(from_below[0], number, from_below[1]), self.k.op("lt", number, float(most + 1))
            return self.k.op("not", self.k.op("and", *tests))  # so that NaN is outside
        limits = INTEGER_LIMITS[type_]
        outside = None
        if limits.min < least and (low is None or low < least):
            outside = self.k.op("lt", number, least)
        if limits.max > most:
            above = self.k.op("gt", number, most)
            outside = above if outside is None else self.k.op("or", outside, above)
        return outside

    def scalars(self, ref: Ref) -> list[Ref]:
        """The lanes of a vector; a scalar alone."""
        if not isinstance(ref.type, Vector):
            return [ref]
        return [self.k.op("extract", ref, lane) for lane in range(ref.type.lanes)]

    def _halves(self, number: Ref) -> list[Ref]:
        """The bits of a number as two words, of which the upper one repeats the sign of 32 bits."""
        type_ = element(number.type)
        signed = I64 if type_.bits == 64 else I32
        if type_.bits < 32:
            number = self.k.convert(number, I32)
        elif type_ is not signed:
            number = self.k.bitcast(number, signed)
        number = self.k.let(number)
        if signed is I32:
            return [number, self.k.op("shr", number, self.k.const(31, I32))]
        high = self.k.op("shr", number, self.k.const(32, I64))
        return [self.k.convert(number, I32), self.k.convert(high, I32)]

    def _status_pointer(self) -> Ref:
        if self._status is None:
            self._status = self.pointer(Status(), "status", I32)
        return self._status

    def _failed_variable(self) -> Variable:
        if self._failed is None:
            self._failed = Variable(self.k.take_id(), BOOL, "failed")
        return self._failed
