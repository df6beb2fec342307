"""Checked mode: each access is tested, and the first one outside goes into a record that the host reads.

A work-item that has accessed something outside stores nothing more, but still comes to the barriers of its group.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ocl_ir.kernel.grammar import Variable
from ocl_ir.kernel.operands import Ref
from ocl_ir.language.context import Status
from ocl_ir.language.errors import Span
from ocl_ir.language.values import ArrayView, Value
from ocl_ir.language.views import Views
from ocl_ir.types import BOOL, I32, DType

STATUS_WORDS = 10
"""Of the record of the first violation: whether there is one, its site, the axis, index and length as two words each,
the global ids."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where a violation may happen: `array` is what is accessed, None where the program asserts something."""

    span: Span
    array: str | None
    text: str = ""


class Violations(Views):
    """Tests accesses and records violations."""

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

    def guarded(self, view: ArrayView, index: Value, access: Callable[[], Any], lanes: int = 1) -> None:
        """An effect on an element, or so many neighbours, which is left out in checked mode where one is outside."""
        if not self.options.checked:
            access()
            return
        inside = self._inside(view, index, lanes)
        failed = self._failed_variable()
        with self.k.if_(inside), self.k.if_(self.k.op("not", Ref(self.k, failed))):
            access()
        with self.k.else_():
            self._report(view, index, lanes)

    def _tested(self, view: ArrayView, index: Value, dtype: DType, read: Callable[[], Ref], lanes: int = 1) -> Ref:
        inside = self._inside(view, index, lanes)
        value = self.k.variable(self._constant(False if dtype is BOOL else 0, dtype, lanes))
        with self.k.if_(inside):
            self.k.assign(value, read())
        with self.k.else_():
            self._report(view, index, lanes)
        return self.k.let(value)

    def _inside(self, view: ArrayView, index: Value, lanes: int) -> Ref:
        tests = [test for _, at, length in self._axes(view, index, lanes) for test in self._test(at, length)]
        inside = self._constant(True, BOOL)
        for test in tests:
            inside = self.k.op("and", inside, test)
        return inside

    def _test(self, at: Value, length: Value) -> list[Ref]:
        tests = [self.k.op("lt", self.index(at), self.index(length))]
        if not isinstance(at, int) and (at.low is None or at.low < 0):
            tests.insert(0, self.k.op("ge", self.index(at), self._constant(0, self.index_type)))
        return tests

    def _axes(self, view: ArrayView, index: Value, lanes: int) -> list[tuple[int, Value, Value]]:
        """For each axis its number, what it is indexed with, and its length; of several lanes the last one, too."""
        items = self._without_ellipsis(view, index if isinstance(index, tuple) else (index,))
        axes = [(axis, self._element(view, axis, item), self.size(view.shape[axis])) for axis, item in enumerate(items)]
        if lanes > 1:
            axis, first, length = axes[-1]
            axes.append((axis, self._plus(first, lanes - 1), length))
        return axes

    def _report(self, view: ArrayView, index: Value, lanes: int) -> None:
        site = len(self.sites)
        self.sites.append(Site(self.span, view.memory.name))
        axes = self._axes(view, index, lanes)
        axis, at, length = (self.k.variable(self._constant(0, self.index_type)) for _ in range(3))
        for number, position, extent in reversed(axes):
            outside = self._constant(False, BOOL)
            for test in self._test(position, extent):
                outside = self.k.op("or", outside, self.k.op("not", test))
            with self.k.if_(outside):
                self.k.assign(axis, self._constant(number, self.index_type))
                self.k.assign(at, self.index(position))
                self.k.assign(length, self.index(extent))
        self.violation(site, axis, at, length)

    def violation(self, site: int, axis: Ref | None = None, at: Ref | None = None, length: Ref | None = None) -> None:
        """Records a violation, unless there is one, and lets the work-item store nothing more."""
        status = self._status_pointer()
        first = self.k.atomic("compare_exchange", status, self._word(0), self._constant(0, I32), self._constant(1, I32))
        assert first is not None
        with self.k.if_(self.k.op("eq", first, self._constant(0, I32))):
            words = [self._constant(site, I32), *self._halves(axis)[:1], *self._halves(at), *self._halves(length)]
            words += [self.k.item("global_id", dimension, "", I32) for dimension in range(3)]
            for number, word in enumerate(words, start=1):
                self.k.store(status, self._word(number), word)
        self.k.assign(Ref(self.k, self._failed_variable()), self._constant(True, BOOL))

    def _word(self, number: int) -> Ref:
        return self._constant(number, I32)

    def _halves(self, value: Ref | None) -> list[Ref]:
        if value is None:
            return [self._constant(0, I32)] * 2
        value = self.k.let(value)
        if not self.options.wide:
            sign = self.k.op("shr", value, self._constant(31, I32))
            return [value, sign]
        high = self.k.op("shr", value, self._constant(32, self.index_type))
        return [self.k.convert(value, I32), self.k.convert(high, I32)]

    def _status_pointer(self) -> Ref:
        if self._status is None:
            self._status = self.pointer(Status(), "status", I32)
        return self._status

    def _failed_variable(self) -> Variable:
        if self._failed is None:
            self._failed = Variable(self.k.take_id(), BOOL, "failed")
        return self._failed
