"""Floats that stand for others like them, as `ocl_ir.guards` has it for sizes.

A `Real` computes as the float that it is in one call, and keeps the formula by which it follows from those that the
call gave. Where code decides something by it, that becomes a guard; where code needs the plain float (for `math`,
NumPy, a dictionary), the guard is that it is this very one. Nothing is lost silently, because a `Real` is no `float`,
though `isinstance` takes it for one.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ocl_ir.guards import Given, plain


class Input(NamedTuple):
    """Float number `place` of a call."""

    place: int


class Applied(NamedTuple):
    """An operation on formulas."""

    op: str
    operands: tuple[Formula, ...]


Formula: TypeAlias = "Input | Applied | float | int"


def _same(left: float, right: float) -> bool:
    """Whether two floats are one: 0.0 is not -0.0, and what is not a number is itself."""
    if math.isnan(left):
        return math.isnan(right)
    return left == right and math.copysign(1, left) == math.copysign(1, right)


def _operation(op: str) -> Callable[..., Any]:
    return _same if op == "same" else getattr(operator, op)


def evaluated(formula: Formula, given: Sequence[float]) -> Any:
    """The value of a formula for the floats of a call. Raises what Python raises for the operations in it."""
    if isinstance(formula, Input):
        return given[formula.place]
    if isinstance(formula, Applied):
        return _operation(formula.op)(*[evaluated(one, given) for one in formula.operands])
    return formula


class Reals:
    """The floats of one call: what code found out about them, and those that kernels take, by number."""

    def __init__(self) -> None:
        self.found: dict[Formula, bool] = {}
        """Conditions, with whether they were true."""
        self.taken: list[Formula] = []
        self.closed = False

    def real(self, place: int, number: float) -> Real:
        """A float that a call gives."""
        return Real(number, Input(place), self)

    def given(self, formula: Formula) -> Given:
        """The number of a formula whose value kernels take."""
        if formula not in self.taken:
            self.taken.append(formula)
        return Given(self.taken.index(formula))

    def hold(self, given: Sequence[float]) -> bool:
        """Whether other floats agree in everything that was found."""
        try:
            return all(bool(evaluated(condition, given)) == truth for condition, truth in self.found.items())
        except ArithmeticError:
            return False


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

    __slots__ = ("formula", "number", "reals")

    def __init__(self, number: float, formula: Formula, reals: Reals) -> None:
        self.number = number
        self.formula = formula
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
        return Real(number, Applied(op, (_formula(left), _formula(right))), self.reals)

    def _decided(self, op: str, other: Any) -> Any:
        if not isinstance(other, int | float):
            return NotImplemented
        if isinstance(other, np.generic) or self.reals.closed:
            return _operation(op)(plain_real(self), plain_real(other))
        truth = bool(_operation(op)(self.number, _example(other)))
        self.reals.found[Applied(op, (self.formula, _formula(other)))] = truth
        return truth

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
        return number if self.reals.closed else Real(number, Applied(op, (self.formula,)), self.reals)

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
            self.reals.found[Applied("same", (self.formula, self.number))] = True
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
    return number.reals.given(number.formula)


def plain_real(number: Any) -> Any:
    """A plain number in place of a `Real` or a size, which is then guarded; other values as they are."""
    return float(number) if type(number) is Real else plain(number)


def _example(number: Any) -> Any:
    return number.number if type(number) is Real else plain(number)


def _formula(number: Any) -> Formula:
    formula: Formula = number.formula if type(number) is Real else plain(number)
    return formula
