"""Floats that stand for others like them, as `ocl_ir.guards` has it for sizes.

A `Real` computes as the float that it is in one call, and keeps the formula by which it follows from those that the
call gave. Where code decides something by it, that becomes a guard; where code needs the plain float (for `math`,
NumPy, a dictionary), the guard is that it is this very one. A `Real` is no `float`, so that no code in C takes its
value unseen, though `isinstance` takes it for one; whoever asks for `type(x) is float` hears that it is none. One that
outlives its call, as in a cache of the function's, is a plain float there.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ocl_ir.guards import Given, plain


class Slot(NamedTuple):
    """A number in the table of a call: the floats that it gives come first, then what was computed from them."""

    number: int


class Row(NamedTuple):
    """An operation on numbers of the table and constants."""

    op: str
    operands: tuple[Slot | float | int, ...]


def _same(left: float, right: float) -> bool:
    """Whether two floats are one: 0.0 is not -0.0, and what is not a number is itself."""
    if math.isnan(left):
        return math.isnan(right)
    return left == right and math.copysign(1, left) == math.copysign(1, right)


def _operation(op: str) -> Callable[..., Any]:
    return _same if op == "same" else getattr(operator, op)


class Reals:
    """The floats of one call, `count` of them, and a table of all that code computed from them, each once.

    `taken` are the numbers that kernels take.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.rows: list[Row] = []
        self.taken: list[Slot] = []
        self.closed = False
        self._slots: dict[str, Slot] = {}
        self._truths: dict[int, bool] = {}
        """By row, for those that are conditions: whether they were true."""

    def real(self, index: int, number: float) -> Real:
        """A float that a call gives."""
        return Real(number, Slot(index), self)

    def row(self, op: str, *operands: Slot | float | int) -> Slot:
        """The number of an operation."""
        row = Row(op, operands)
        told = repr(row)  # 0.0 == -0.0, and they are not the same
        slot = self._slots.get(told)
        if slot is None:
            slot = self._slots[told] = Slot(self.count + len(self.rows))
            self.rows.append(row)
        return slot

    def decide(self, op: str, *operands: Slot | float | int, truth: bool = True) -> None:
        """Takes note of a condition that code went by."""
        self._truths[self.row(op, *operands).number - self.count] = truth

    def placeholder(self, slot: Slot) -> Given:
        """What stands for a number that kernels take."""
        if slot not in self.taken:
            self.taken.append(slot)
        return Given(self.taken.index(slot))

    def values(self, floats: Sequence[float]) -> list[Any] | None:
        """All numbers of the table for the floats of a call; None where they do not agree in everything that was
        decided, or an operation gives no float for them."""
        values: list[Any] = list(floats)
        for row, (op, operands) in enumerate(self.rows):
            try:
                value = _operation(op)(
                    *[values[operand.number] if type(operand) is Slot else operand for operand in operands]
                )
            except ArithmeticError:
                return None
            truth = self._truths.get(row)
            if (type(value) is not float) if truth is None else (bool(value) != truth):
                return None
            values.append(value)
        return values

    def hold(self, floats: Sequence[float]) -> bool:
        """Whether other floats agree in everything that was decided."""
        return not self.rows or self.values(floats) is not None


def _traced(op: str, *, turned: bool = False) -> Callable[..., Any]:
    def apply(real: Real, other: Any) -> Any:
        return real._applied(op, other, real) if turned else real._applied(op, real, other)

    return apply


def _condition(op: str) -> Callable[..., Any]:
    def decide(real: Real, other: Any) -> Any:
        return real._decided(op, other)

    return decide


class Real:
    """A float of one call, with its formula."""

    __slots__ = ("number", "reals", "slot")

    def __init__(self, number: float, slot: Slot, reals: Reals) -> None:
        self.number = number
        self.slot = slot
        self.reals = reals

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What it passes for: code that asks whether it has a float goes the way of floats."""
        return float

    # ------------------------------------------------------------------ arithmetic and decisions

    def _applied(self, op: str, left: Any, right: Any) -> Any:
        other = right if left is self else left
        if not isinstance(other, int | float) or isinstance(other, np.generic) or self.reals.closed:
            if isinstance(other, int | float | np.generic):
                return _operation(op)(plain_real(left), plain_real(right))
            return NotImplemented
        number = _operation(op)(_example(left), _example(right))
        if type(number) is not float:
            return _operation(op)(plain_real(left), plain_real(right))
        return Real(number, self.reals.row(op, self._operand(left), self._operand(right)), self.reals)

    def _decided(self, op: str, other: Any) -> Any:
        if not isinstance(other, int | float):
            return NotImplemented
        if isinstance(other, np.generic) or self.reals.closed:
            return _operation(op)(plain_real(self), plain_real(other))
        truth = bool(_operation(op)(self.number, _example(other)))
        self.reals.decide(op, self.slot, self._operand(other), truth=truth)
        return truth

    def _operand(self, number: Any) -> Slot | float | int:
        """A number as a part of this call's table; that of another call is the plain float."""
        if type(number) is not Real:
            return plain(number)  # type: ignore[no-any-return]
        return number.slot if number.reals is self.reals else float(number)

    __add__, __radd__ = _traced("add"), _traced("add", turned=True)
    __sub__, __rsub__ = _traced("sub"), _traced("sub", turned=True)
    __mul__, __rmul__ = _traced("mul"), _traced("mul", turned=True)
    __truediv__, __rtruediv__ = _traced("truediv"), _traced("truediv", turned=True)
    __floordiv__, __rfloordiv__ = _traced("floordiv"), _traced("floordiv", turned=True)
    __mod__, __rmod__ = _traced("mod"), _traced("mod", turned=True)
    __pow__, __rpow__ = _traced("pow"), _traced("pow", turned=True)
    __eq__, __ne__ = _condition("eq"), _condition("ne")
    __lt__, __le__, __gt__, __ge__ = _condition("lt"), _condition("le"), _condition("gt"), _condition("ge")

    def _alone(self, op: str) -> Any:
        number = _operation(op)(self.number)
        return number if self.reals.closed else Real(number, self.reals.row(op, self.slot), self.reals)

    def __neg__(self) -> Any:
        return self._alone("neg")

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self._alone("abs")

    def __bool__(self) -> bool:
        return bool(self != 0)

    # ------------------------------------------------------------------ as a plain float

    def __float__(self) -> float:
        if not self.reals.closed:
            self.reals.decide("same", self.slot, self.number)
        return self.number

    def __int__(self) -> int:
        return int(float(self))

    def __round__(self, digits: int | None = None) -> Any:
        return round(float(self), digits)

    def __trunc__(self) -> int:
        return math.trunc(float(self))

    def __floor__(self) -> int:
        return math.floor(float(self))

    def __ceil__(self) -> int:
        return math.ceil(float(self))

    def __divmod__(self, other: Any) -> Any:
        return divmod(float(self), plain_real(other))

    def __rdivmod__(self, other: Any) -> Any:
        return divmod(plain_real(other), float(self))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(float(self), dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **how: Any) -> Any:
        return getattr(ufunc, method)(*map(plain_real, inputs), **how)

    def __getattr__(self, name: str) -> Any:
        if hasattr(float, name):
            return getattr(float(self), name)
        raise AttributeError(f"a float has no attribute {name!r}")

    def __hash__(self) -> int:
        return hash(float(self))

    def __repr__(self) -> str:
        return repr(float(self))

    def __format__(self, spec: str) -> str:
        return format(float(self), spec)

    def __reduce__(self) -> Any:
        return float, (float(self),)


def given_of(number: object) -> Given | None:
    """What stands for a `Real` in an expression; None for other numbers, and once the call is over."""
    if type(number) is not Real or number.reals.closed:
        return None
    return number.reals.placeholder(number.slot)


def plain_real(number: Any) -> Any:
    """A plain number in place of a `Real` or a size, which is then guarded; other values as they are."""
    return float(number) if type(number) is Real else plain(number)


def _example(number: Any) -> Any:
    return number.number if type(number) is Real else plain(number)
