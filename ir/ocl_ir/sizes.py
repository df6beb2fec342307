"""Sizes that are known when a program is called: integers, names for integers, and arithmetic on both.

A host program is written once for many shapes: its sizes, offsets, strides and loop bounds are `Size`s, and `value`
gives their numbers once the names are bound. Arithmetic with known numbers is done at once, so that a program without
names has plain integers in it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias, Union

from ocl_ir.errors import IRError, ShapeError

_INFIX: dict[str, tuple[str, int, Callable[[int, int], int]]] = {
    "lt": ("<", 1, operator.lt),
    "le": ("<=", 1, operator.le),
    "eq": ("==", 1, operator.eq),
    "add": ("+", 2, operator.add),
    "sub": ("-", 2, operator.sub),
    "mul": ("*", 3, operator.mul),
    "floordiv": ("//", 3, operator.floordiv),
    "mod": ("%", 3, operator.mod),
}
_CALLS: dict[str, Callable[[int, int], int]] = {"min": min, "max": max}
_TIGHTEST = 9


class _Arithmetic:
    """Python's operators on sizes. Division is floor division, as Python's."""

    __slots__ = ()

    def __add__(self, other: Size) -> Size:
        return term("add", self, other)

    def __radd__(self, other: Size) -> Size:
        return term("add", other, self)

    def __sub__(self, other: Size) -> Size:
        return term("sub", self, other)

    def __rsub__(self, other: Size) -> Size:
        return term("sub", other, self)

    def __mul__(self, other: Size) -> Size:
        return term("mul", self, other)

    def __rmul__(self, other: Size) -> Size:
        return term("mul", other, self)

    def __floordiv__(self, other: Size) -> Size:
        return term("floordiv", self, other)

    def __rfloordiv__(self, other: Size) -> Size:
        return term("floordiv", other, self)

    def __mod__(self, other: Size) -> Size:
        return term("mod", self, other)

    def __rmod__(self, other: Size) -> Size:
        return term("mod", other, self)

    def __neg__(self) -> Size:
        return term("sub", 0, self)

    def __lt__(self, other: Size) -> Size:
        return term("lt", self, other)

    def __le__(self, other: Size) -> Size:
        return term("le", self, other)

    def __gt__(self, other: Size) -> Size:
        return term("lt", other, self)

    def __ge__(self, other: Size) -> Size:
        return term("le", other, self)

    def __bool__(self) -> bool:
        raise IRError(
            f"whether {self} holds is not known before the program is called",
            remedy="use the builder's if_(…), or sizes.smaller and sizes.larger",
        )


@dataclass(frozen=True, slots=True)
class Symbol(_Arithmetic):
    """A name for an integer: a size that a call binds, or the index of a loop."""

    name: str

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Term(_Arithmetic):
    """An operation on two sizes; comparisons give 0 or 1."""

    op: str
    left: Size
    right: Size
    symbols: frozenset[str] = field(init=False, compare=False, repr=False)
    """The names in it."""
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        # Known from the parts' own: to walk through a term takes as long as it is when it is written out.
        object.__setattr__(self, "symbols", symbols(self.left) | symbols(self.right))
        object.__setattr__(self, "_hash", hash((self.op, self.left, self.right)))

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return text(self)


Size: TypeAlias = Union[int, Symbol, Term]  # noqa: UP007  # the classes above are not known yet where they use it


def term(op: str, left: object, right: object) -> Size:
    """An operation on two sizes, done at once where both are known. Raises `IRError` for what is no size."""
    return known_term(op, checked(left), checked(right))


@lru_cache(maxsize=2**14)  # plans work out the same formulas again and again
def known_term(op: str, left: Size, right: Size) -> Size:
    """The same for what are sizes."""
    if isinstance(left, int) and isinstance(right, int):
        return _apply(op, left, right)
    if op in {"add", "mul"} and isinstance(left, int):
        left, right = right, left
    if op in {"eq", "le"} and left == right:
        return 1
    if op == "lt" and left == right:
        return 0
    if op in {"add", "sub"} and isinstance(right, int):
        if right == 0:
            return left
        if isinstance(left, Term) and left.op in {"add", "sub"} and isinstance(left.right, int):
            inner = left.right if left.op == "add" else -left.right
            return _plus(left.left, inner + (right if op == "add" else -right))
    if op == "sub" and left == 0 and isinstance(right, Term):
        return _negated(right)
    if op in {"mul", "floordiv"} and isinstance(right, int) and right == 1:
        return left
    if isinstance(right, int) and ((op == "mul" and right == 0) or (op == "mod" and right == 1)):
        return 0
    return Term(op, left, right)


def _negated(size: Term) -> Size:
    """Minus a size; -(-x) is x, and -(-x // 8) is the division that rounds up."""
    above, below = size.left, size.right
    if size.op == "sub" and above == 0:
        return below
    rounds_up = size.op == "floordiv" and isinstance(above, Term) and above.op == "sub" and above.left == 0
    if rounds_up and isinstance(above, Term) and isinstance(below, int) and below > 0:
        return parts(above.right, below)
    return Term("sub", 0, size)


def checked(size: object) -> Size:
    """The size itself. Raises `IRError` for what is none."""
    if isinstance(size, bool) or not isinstance(size, int | Symbol | Term):
        raise IRError(f"{size!r} is no size", remedy="use integers and the program's sizes")
    return size


def _plus(left: Size, number: int) -> Size:
    return term("add", left, number) if number >= 0 else Term("sub", left, -number)


def equal(left: Size, right: Size) -> Size:
    """1 where two sizes are the same number, else 0; `==` says whether they are written the same."""
    return term("eq", left, right)


def smaller(left: Size, right: Size) -> Size:
    """The smaller of two sizes."""
    return term("min", left, right)


def larger(left: Size, right: Size) -> Size:
    """The larger of two sizes."""
    return term("max", left, right)


def parts(length: Size, size: Size) -> Size:
    """How many parts of a size a length has, the last one perhaps smaller."""
    return (length + size - 1) // size


def product(sizes: tuple[Size, ...]) -> Size:
    """Of all; 1 for none."""
    whole: Size = 1
    for size in sizes:
        whole = whole * size
    return whole


OPERATIONS = (*_INFIX, *_CALLS)
"""All operations on sizes."""


def operator_of(op: str) -> Callable[[int, int], int]:
    """What an operation on sizes does with numbers; comparisons give a truth value."""
    return _CALLS[op] if op in _CALLS else _INFIX[op][2]


def with_operands(op: str, left: str, right: str) -> str:
    """An operation on two numbers as Python writes it."""
    return f"{op}({left}, {right})" if op in _CALLS else f"{left} {_INFIX[op][0]} {right}"


def _apply(op: str, left: int, right: int) -> int:
    if op in {"floordiv", "mod"} and right == 0:
        raise ShapeError(f"{left} divided by a size that is 0", remedy="call the program with other sizes")
    return int(operator_of(op)(left, right))


def value(size: Size, bound: Mapping[str, int]) -> int:
    """The number of a size. Raises `IRError` for a name that is not bound, `ShapeError` for a division by 0."""
    if isinstance(size, int):
        return size
    if isinstance(size, Symbol):
        try:
            return bound[size.name]
        except KeyError:
            raise IRError(f"the size {size.name!r} is not bound", remedy="give it when the program is called") from None
    if isinstance(size.left, int | Symbol) and isinstance(size.right, int | Symbol):
        return _apply(size.op, value(size.left, bound), value(size.right, bound))
    return _value(size, bound)


def _value(size: Term, bound: Mapping[str, int]) -> int:
    """The number of a term of terms. A term that is in it many times is computed once, and no depth is too much."""
    values: dict[int, int] = {}
    left = [size]
    while left:
        top = left[-1]
        missing = [part for part in (top.left, top.right) if isinstance(part, Term) and id(part) not in values]
        if missing:
            left += missing
            continue
        sides = (values[id(part)] if isinstance(part, Term) else value(part, bound) for part in (top.left, top.right))
        values[id(top)] = _apply(top.op, *sides)
        left.pop()
    return values[id(size)]


def symbols(size: Size) -> frozenset[str]:
    """The names in a size."""
    if isinstance(size, Symbol):
        return frozenset({size.name})
    return size.symbols if isinstance(size, Term) else frozenset()


def text(size: Size) -> str:
    """As Python writes it."""
    return _text(size)[0]


def _text(size: Size) -> tuple[str, int]:
    if not isinstance(size, Term):
        return str(size), _TIGHTEST
    (left, left_binds), (right, right_binds) = _text(size.left), _text(size.right)
    if size.op in _CALLS:
        return f"{size.op}({left}, {right})", _TIGHTEST
    sign, binds, _ = _INFIX[size.op]
    left = left if left_binds >= binds else f"({left})"
    right = right if right_binds > binds else f"({right})"
    return f"{left} {sign} {right}" if binds < 3 else f"{left}{sign}{right}", binds
