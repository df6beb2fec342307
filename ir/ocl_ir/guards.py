"""Sizes that stand for others like them.

A `Backed` size computes as the integer that it is in one call, and keeps the formula by which it follows from the sizes
that the call bound. So code that plans with integers also makes the plan for other sizes, without being written twice:

    guards = Guards()
    n = guards.size("n", 1000)
    groups = -(-n // 256)          # 4, and the formula
    wide = n % 8 == 0              # True, and a guard: other sizes must agree

Where the code decides something by a size, what it found goes to the `Guards`; where it needs a plain integer (for
NumPy, `range`, a dictionary), the guard is that the size equals it. The result then holds for all sizes that pass the
guards, and `Guards.hold` tells. Nothing is lost silently, because `Backed` is no `int`.

This is how just-in-time compilers specialise traces: Ansel et al., PyTorch 2 (ASPLOS 2024), section 3.3, calls them
backed symbolic integers.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np

from ocl_ir.formulas import WORTH, Formulas
from ocl_ir.sizes import Size, Symbol, known_term, symbols, term

_Table: TypeAlias = tuple[int, Formulas, dict[int, bool]]
"""How many conditions there were, and whether each was true, by its row."""


class Guards:
    """What code found out about the sizes of one call."""

    def __init__(self) -> None:
        self.conditions: dict[Size, bool] = {}
        """Conditions, with whether they were true."""
        self._first: dict[int, Symbol] = {}
        self._apart: list[str] = []
        self._table: _Table | None = None
        self._asked = 0
        self._wrong: Counter[int | None] = Counter()
        """How often each condition told other sizes apart, by its row."""
        self._written: Callable[..., object] | None = None
        self.closed = False

    def close(self) -> None:
        """The code has run. Where it kept sizes, they are the integers that they were, and find nothing out any more:
        under their names, programs that are written later have sizes of their own."""
        self.closed = True

    def size(self, name: str, number: int) -> int:
        """A size that a call binds, for code that takes integers. Sizes that are equal here are one, and 0 and 1 are
        known: both are guards, since most programs treat such sizes in another way."""
        if number in (0, 1):
            self.conditions[term("eq", Symbol(name), number)] = True
            return number
        first = self._first.setdefault(number, Symbol(name))
        if first.name != name:
            self.conditions[term("eq", Symbol(name), first)] = True
        return cast("int", Backed(number, first, self))

    def apart(self, name: str, number: int) -> int:
        """A size of which nothing is found out by that, not even that it is 0 or equal to another one: for what may be
        any number, as a place in memory."""
        self._apart.append(name)
        return cast("int", Backed(number, Symbol(name), self))

    def names(self) -> list[str]:
        """The sizes that formulas are made of."""
        return [*(symbol.name for symbol in self._first.values()), *self._apart]

    def let_go(self) -> None:
        """Forgets all but what `hold` needs."""
        state = self.__getstate__()
        state[1].let_go()
        self.__setstate__(state)

    def __getstate__(self) -> _Table:
        """What `hold` needs."""
        return self._as_table()

    def __setstate__(self, state: _Table) -> None:
        self.conditions, self._first, self._apart, self.closed = {}, {}, [], True
        self._table = 0, *state[1:]
        self._asked, self._wrong, self._written = 0, Counter(), None

    def hold(self, bound: Mapping[str, int]) -> bool:
        """Whether other sizes, by name, agree in everything that was found."""
        _, formulas, conditions = self._as_table()
        sizes = [*map(bound.__getitem__, formulas.names)]
        try:
            if self._written is not None:
                return bool(self._written(*sizes))
            wrong = formulas.wrong(sizes, conditions)
        except ZeroDivisionError:
            return False
        self._asked += 1
        self._wrong[wrong] += 1
        if self._asked == WORTH and formulas.is_short:  # what has told most sizes apart comes first
            ordered = sorted(conditions.items(), key=lambda condition: -self._wrong[condition[0]])
            self._written = formulas.written(ordered)
        return wrong is None

    def _as_table(self) -> _Table:
        table = self._table
        if table is None or table[0] != len(self.conditions):
            names = sorted(frozenset().union(*map(symbols, self.conditions)))
            formulas = Formulas(names)
            conditions = {formulas.add(condition): truth for condition, truth in self.conditions.items()}
            table = self._table = len(self.conditions), formulas, conditions
            self._asked, self._wrong, self._written = 0, Counter(), None
        return table

    def __repr__(self) -> str:
        return (
            " and ".join(
                str(condition) if truth else f"not ({condition})" for condition, truth in self.conditions.items()
            )
            or "none"
        )


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    op: getattr(operator, op) for op in ("add", "sub", "mul", "floordiv", "mod", "eq", "lt", "le")
}


def _as_integers(op: Callable[[Any, Any], Any], *, turned: bool = False) -> Callable[[Backed, Any], Any]:
    """An operator that sizes do not have."""

    def apply(left: Backed, right: Any) -> Any:
        sides = int(left), plain(right)
        return op(*reversed(sides)) if turned else op(*sides)

    return apply


class Backed:
    """An integer of one call, with its formula."""

    __slots__ = ("guards", "number", "size")

    def __init__(self, number: int, size: Size, guards: Guards) -> None:
        self.number = number
        self.size = size
        self.guards = guards

    # ------------------------------------------------------------------ arithmetic

    def _with(self, op: str, left: Any, right: Any) -> Any:
        """A formula; beside a float, a plain number."""
        other = right if left is self else left
        if type(other) is not int and type(other) is not Backed:
            if isinstance(other, float | np.number):
                return _OPERATORS[op](plain(left), plain(right))
            if not isinstance(other, int):
                return NotImplemented
            left, right = +left, +right  # bools are integers
        size, other_size, number, other_number = _sides(left, right)
        size, number = known_term(op, size, other_size), _OPERATORS[op](number, other_number)
        return number if type(size) is int else Backed(number, size, self._open(other))

    def __add__(self, other: object) -> Any:
        return self._with("add", self, other)

    def __radd__(self, other: object) -> Any:
        return self._with("add", other, self)

    def __sub__(self, other: object) -> Any:
        return self._with("sub", self, other)

    def __rsub__(self, other: object) -> Any:
        return self._with("sub", other, self)

    def __mul__(self, other: object) -> Any:
        return self._with("mul", self, other)

    def __rmul__(self, other: object) -> Any:
        return self._with("mul", other, self)

    def __floordiv__(self, other: object) -> Any:
        return self._with("floordiv", self, other)

    def __rfloordiv__(self, other: object) -> Any:
        return self._with("floordiv", other, self)

    def __mod__(self, other: object) -> Any:
        return self._with("mod", self, other)

    def __rmod__(self, other: object) -> Any:
        return self._with("mod", other, self)

    def __neg__(self) -> Any:
        return self._with("sub", 0, self)

    def __pos__(self) -> Backed:
        return self

    def __invert__(self) -> Any:
        return -self - 1

    def __round__(self, digits: int | None = None) -> Any:
        return self if digits is None else round(int(self), digits)

    def _itself(self) -> Backed:
        return self

    __ceil__ = __floor__ = __trunc__ = _itself

    def __abs__(self) -> Any:
        return -self if self < 0 else self

    __truediv__ = _as_integers(operator.truediv)
    __rtruediv__ = _as_integers(operator.truediv, turned=True)
    __pow__ = _as_integers(operator.pow)
    __rpow__ = _as_integers(operator.pow, turned=True)
    __divmod__ = _as_integers(divmod)
    __rdivmod__ = _as_integers(divmod, turned=True)
    __lshift__ = _as_integers(operator.lshift)
    __rlshift__ = _as_integers(operator.lshift, turned=True)
    __rshift__ = _as_integers(operator.rshift)
    __rrshift__ = _as_integers(operator.rshift, turned=True)
    __and__ = __rand__ = _as_integers(operator.and_)
    __or__ = __ror__ = _as_integers(operator.or_)
    __xor__ = __rxor__ = _as_integers(operator.xor)

    # ------------------------------------------------------------------ decisions

    def _compare(self, op: str, left: Any, right: Any) -> Any:
        other = right if left is self else left
        if type(other) is not int and type(other) is not Backed:
            if isinstance(other, float | np.number):
                return _OPERATORS[op](plain(left), plain(right))
            if not isinstance(other, int):
                return NotImplemented
            left, right = +left, +right
        size, other_size, number, other_number = _sides(left, right)
        condition, truth = known_term(op, size, other_size), _OPERATORS[op](number, other_number)
        if type(condition) is not int:
            self._open(other).conditions[condition] = truth
        return truth

    def _open(self, other: Any) -> Guards:
        """Whose sizes are in a formula of two numbers: those that are closed are integers in it."""
        return other.guards if self.guards.closed else self.guards

    def __eq__(self, other: object) -> Any:
        return self._compare("eq", self, other)

    def __ne__(self, other: object) -> Any:
        equal = self._compare("eq", self, other)
        return equal if equal is NotImplemented else not equal

    def __lt__(self, other: object) -> Any:
        return self._compare("lt", self, other)

    def __le__(self, other: object) -> Any:
        return self._compare("le", self, other)

    def __gt__(self, other: object) -> Any:
        return self._compare("lt", other, self)

    def __ge__(self, other: object) -> Any:
        return self._compare("le", other, self)

    def __bool__(self) -> bool:
        return bool(self != 0)

    # ------------------------------------------------------------------ as a plain number

    def __index__(self) -> int:
        if not self.guards.closed:
            self.guards.conditions[term("eq", self.size, self.number)] = True
        return self.number

    __int__ = __index__

    def __float__(self) -> float:
        return float(int(self))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(int(self), dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **how: Any) -> Any:
        # NumPy would put sizes into arrays of objects, and answer with a size where it has a number of some dtype.
        return getattr(ufunc, method)(*map(plain, inputs), **how)

    def __getattr__(self, name: str) -> Any:
        if hasattr(int, name):
            return getattr(int(self), name)
        raise AttributeError(f"an integer has no attribute {name!r}")

    def __hash__(self) -> int:
        return hash(int(self))

    def __repr__(self) -> str:
        return repr(int(self))

    def __format__(self, spec: str) -> str:
        return format(int(self), spec)


def _sides(left: Any, right: Any) -> tuple[Size, Size, int, int]:
    """The formulas of two sizes, and the integers that they are in this call."""
    size: Size = left
    other_size: Size = right
    if type(left) is Backed:
        size, left = left.number if left.guards.closed else left.size, left.number
    if type(right) is Backed:
        other_size, right = right.number if right.guards.closed else right.size, right.number
    return size, other_size, left, right


Number: TypeAlias = bool | int | float | Backed
"""A number that stands in an expression."""
PythonNumber: TypeAlias = Number | complex
"""The same as programs say it: a complex one is joined from its parts."""
NUMBERS = (bool, int, float, complex, Backed)
"""The latter for `isinstance`, which takes twice as long for a union."""


@dataclass(frozen=True, slots=True)
class Given:
    """A number that is not known while a plan is made, not even by example: number `index` of those that it gets."""

    index: int


def formula(number: Any) -> Size:
    """The formula of a size; an integer is its own."""
    size: Size = number
    if type(number) is Backed:
        size = number.number if number.guards.closed else number.size
    return size


def formulas(numbers: tuple[Any, ...]) -> tuple[Any, ...]:
    """The numbers with formulas in place of sizes: to be told apart by, which asks nothing of the sizes."""
    for number in numbers:
        if type(number) is Backed:
            return tuple(map(formula, numbers))
    return numbers


def identity(numbers: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same for who keeps it beyond the call that bound the sizes: those of different calls are different."""
    written = formulas(numbers)
    if written is numbers:
        return numbers
    guards = next(number.guards for number in numbers if type(number) is Backed)
    return written if guards.closed else (*written, id(guards))  # which every such size keeps alive


def integer(number: Any) -> Any:
    """`operator.index`, but for sizes, which are integers as they are."""
    return number if isinstance(number, Backed) and not number.guards.closed else operator.index(number)


def plain(number: Any) -> Any:
    """A plain integer in place of a size, which is then guarded; other values as they are."""
    return int(number) if isinstance(number, Backed) else number


def example(number: Any) -> Any:
    """The integer that a size is in this call, for a guess that is checked by comparing sizes."""
    return number.number if type(number) is Backed else number
