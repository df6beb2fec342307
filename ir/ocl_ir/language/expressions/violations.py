"""Checked mode: each access is tested, and one outside of its array is reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ocl_ir.kernel.operands import Ref
from ocl_ir.language.expressions.reports import AccessSite, ConversionSite
from ocl_ir.language.expressions.views import Views
from ocl_ir.language.values.values import ArrayView, Number, Value
from ocl_ir.types import BOOL, DType


class Violations(Views):
    """Tests accesses."""

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
        axes = self._axes(view, index, lanes)
        for _, at, _ in axes:
            if isinstance(at, Number):  # a typed one may be longer than an index, and is tested as that
                self.check_range(at, self.index_type, ConversionSite(self.span, at.dtype, self.index_type))
        tests = [test for _, at, length in axes for test in self._test(at, length)]
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
        self.report(AccessSite(self.span, view.memory.name), axis, at, length)
