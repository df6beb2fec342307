"""Which integers a value can be: an interval for each binding, from constants, sizes, promises and loop bounds.

Sizes and counts of the index space are at least 1, and ids below the largest size: whoever asks for one in a type that
does not hold it has no promise.

An operation whose exact result may leave its type's range can wrap, and so may be anything. Variables, loaded
values and atomics' results may be anything as well: only bindings are followed, and those are defined before their
uses, so that one walk is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ocl_ir.kernel.grammar import Const, For, Kernel, Let, Operand, Value, walk
from ocl_ir.ops import WORK_ITEM
from ocl_ir.types import Pointer, Type, element, limits


class Interval(NamedTuple):
    """The integers from `low` to `high`, both included."""

    low: int
    high: int


class Intervals:
    """The intervals of a kernel that passed the checks of scopes and types."""

    def __init__(self, kernel: Kernel) -> None:
        self._group_size = kernel.group_size
        self._known: dict[int, Interval] = {
            param.value.id: Interval(param.low, _range(param.value.type).high)
            for param in kernel.params
            if param.low is not None
        }
        for stmt in walk(kernel.body):
            match stmt:
                case Let():
                    self._let(stmt)
                case For():
                    self._known[stmt.index.id] = self._index(stmt)

    def of(self, operand: Operand) -> Interval:
        """What an integer operand can be."""
        if isinstance(operand, Const):
            return Interval(int(operand.value), int(operand.value))
        return self._known.get(operand.id) or _range(operand.type)

    def is_exact(self, value: Value) -> bool:
        """Whether an operation is known to give what it gives on integers without bounds: it does not wrap."""
        return value.id in self._known

    def _let(self, stmt: Let) -> None:
        type_ = stmt.result.type
        if not element(type_).is_integer:
            return
        interval = self._answer(stmt, _range(type_).high) if stmt.op in WORK_ITEM else self._computed(stmt)
        if interval is not None and _inside(interval, _range(type_)):
            self._known[stmt.result.id] = interval

    def _answer(self, stmt: Let, most: int) -> Interval:
        """What a question about the index space can give: sizes up to `most`, ids below that."""
        sizes, dimension = Interval(1, most), stmt.args[0]
        if stmt.op in {"local_id", "local_size"} and self._group_size is not None and isinstance(dimension, Const):
            size = self._group_size[int(dimension.value)]
            sizes = Interval(size, size)
        return Interval(0, sizes.high - 1) if stmt.op.endswith("_id") else sizes

    def _computed(self, stmt: Let) -> Interval | None:
        rule = _RULES.get(stmt.op)
        if rule is None or not all(element(arg.type).is_integer for arg in stmt.args):
            return None
        return rule(*(self.of(arg) for arg in stmt.args))

    def _index(self, loop: For) -> Interval:
        start, stop = self.of(loop.start), self.of(loop.stop)
        if isinstance(loop.step, Const) and loop.step.value < 0:  # only constants count down
            interval = Interval(stop.low + 1, start.high)
        else:
            interval = Interval(start.low, stop.high - 1)
        # A loop that never runs has no index: say nothing about what it would be.
        return interval if interval.low <= interval.high else _range(loop.index.type)


def _range(type_: Type) -> Interval:
    assert not isinstance(type_, Pointer)
    return Interval(*limits(element(type_)))


def _inside(inner: Interval, outer: Interval) -> bool:
    return outer.low <= inner.low and inner.high <= outer.high


def _product(a: Interval, b: Interval) -> Interval:
    corners = [x * y for x in a for y in b]
    return Interval(min(corners), max(corners))


def _quotient(a: Interval, b: Interval) -> Interval | None:
    return Interval(a.low // b.high, a.high // b.low) if a.low >= 0 and b.low > 0 else None


def _remainder(a: Interval, b: Interval) -> Interval | None:
    if b.low <= 0:
        return None
    return a if a.low >= 0 and a.high < b.low else Interval(0, b.high - 1)


def _masked(a: Interval, b: Interval) -> Interval | None:
    masks = [mask.high for mask in (a, b) if mask.low >= 0]  # no bit that one of them lacks, and so no sign
    return Interval(0, min(masks)) if masks else None


_RULES: Mapping[str, Callable[..., Interval | None]] = {
    "add": lambda a, b: Interval(a.low + b.low, a.high + b.high),
    "sub": lambda a, b: Interval(a.low - b.high, a.high - b.low),
    "mul": _product,
    "minimum": lambda a, b: Interval(min(a.low, b.low), min(a.high, b.high)),
    "maximum": lambda a, b: Interval(max(a.low, b.low), max(a.high, b.high)),
    "nearest": lambda _, b: Interval(0, max(b.high - 1, 0)),
    "udiv": _quotient,
    "urem": _remainder,
    "sdiv": _quotient,
    "srem": lambda a, b: _remainder(a, b) if a.low >= 0 else None,
    "floordiv": _quotient,
    "rem": _remainder,
    "and": _masked,
    "copy": lambda a: a,
    "uniform": lambda a: a,
    "convert": lambda a: a,
}
