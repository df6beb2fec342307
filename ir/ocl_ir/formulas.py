"""Many sizes as one table, made once and filled in for each binding of their names.

    table = Formulas(["n"])
    groups = table.add(parts(Symbol("n"), 256))
    table.values([1000])[groups]        # 4

A term that several sizes have in common is one row, and a row is one operation on two others: filling in takes a
fraction of a microsecond a row, however the sizes were written. What is asked again and again of a table is written out
as a Python function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ocl_ir.errors import IRError, ShapeError
from ocl_ir.sizes import OPERATIONS, Size, Symbol, Term, operator_of, with_operands

WORTH = 16
"""Times that a table is filled in before that is written out, which takes about 10 µs for each operation."""
_MOST_WRITTEN = 1000
"""Rows of a table that is written out."""
_LONGEST = 60
"""Characters of an operation that is written inside of another one."""
_OPERATIONS = [operator_of(op) for op in OPERATIONS]


class Formulas:
    """A table of sizes over some names."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._rows: list[int | None] = [None] * len(self.names)
        """Numbers that are known; None for what `values` fills in."""
        self._number: dict[Size, int] = {Symbol(name): number for number, name in enumerate(self.names)}
        self._steps: list[int] = []
        """Four numbers for each: row, number of the operation, rows of its operands; operands first. Python's collector
        does not look at them one by one."""
        self._filled = 0
        self._fill: Callable[..., list[int]] | None = None

    def let_go(self) -> None:
        """Forgets the sizes that it was made of: it can be filled in, and nothing can be added."""
        self._number = {}

    def __getstate__(self) -> tuple[tuple[str, ...], list[int | None], list[int]]:
        """The table without the sizes that it was made of: it can be filled in, and nothing can be added."""
        return self.names, self._rows, self._steps

    def __setstate__(self, state: tuple[tuple[str, ...], list[int | None], list[int]]) -> None:
        self.names, self._rows, self._steps = state
        self._number, self._filled, self._fill = {}, 0, None

    def add(self, size: Size) -> int:
        """The row of a size. Raises `IRError` for a name that the table does not have."""
        number = self._number.get(size)
        if number is not None:
            return number
        if isinstance(size, Symbol):
            raise IRError(f"the size {size.name!r} is not bound", remedy="give it when the program is called")
        if not isinstance(size, Term):
            return self._new(size, size)
        left = [size]
        while left:  # no depth is too much
            last = left[-1]
            missing = [part for part in (last.left, last.right) if isinstance(part, Term) and part not in self._number]
            if missing:
                left += missing
                continue
            left.pop()
            if last not in self._number:
                sides = self.add(last.left), self.add(last.right)
                self._steps += (self._new(last, None), OPERATIONS.index(last.op), *sides)
        return self._number[size]

    def _new(self, size: Size, known: int | None) -> int:
        number = self._number[size] = len(self._rows)
        self._rows.append(known)
        self._fill, self._filled = None, 0
        return number

    @property
    def is_short(self) -> bool:
        """Whether it is written out at all."""
        return len(self._rows) <= _MOST_WRITTEN

    @property
    def known(self) -> Sequence[int | None]:
        """Of each row the number that it is for all sizes; None where these decide."""
        return self._rows

    def values(self, sizes: Sequence[int]) -> list[int]:
        """The number of each row. Raises `ShapeError` for a division by 0."""
        try:
            if self._fill is not None:
                return self._fill(*sizes)
            self._filled += 1
            if self._filled >= WORTH and self.is_short:
                self._fill = self.written()
            rows: list[int] = self._rows.copy()  # type: ignore[assignment]  # none is None in the end
            rows[: len(sizes)] = sizes
            for row, operation, left, right in _each(self._steps):
                rows[row] = _OPERATIONS[operation](rows[left], rows[right])
        except ZeroDivisionError:
            raise ShapeError("a division by a size that is 0", remedy="call the program with other sizes") from None
        return rows

    def wrong(self, sizes: Sequence[int], conditions: Mapping[int, bool]) -> int | None:
        """The first row that is not true or not false, as `conditions` say by row, in the order in which rows were
        added; what comes behind it is not filled in. Raises `ZeroDivisionError`."""
        rows: list[int] = self._rows.copy()  # type: ignore[assignment]  # none that is asked for is None
        rows[: len(sizes)] = sizes
        for row, operation, left, right in _each(self._steps):
            number = rows[row] = _OPERATIONS[operation](rows[left], rows[right])
            if row in conditions and bool(number) is not conditions[row]:
                return row
        return None

    def written(self, conditions: Sequence[tuple[int, bool]] | None = None) -> Callable[..., Any]:
        """A function of the sizes that gives all rows; or whether all of some rows are true or false, as is said with
        each: it computes no more than it needs to find out, in their order. It raises `ZeroDivisionError` for a
        division by 0."""
        text = [f"r{row}" if known is None else f"({known:d})" for row, known in enumerate(self._rows)]
        lines = [f"def function({', '.join(text[: len(self.names)])}):"]
        steps = {row: (OPERATIONS[operation], left, right) for row, operation, left, right in _each(self._steps)}
        if conditions is None:
            lines += [
                f" r{row} = {with_operands(op, text[left], text[right])}" for row, (op, left, right) in steps.items()
            ]
            lines.append(f" return [{', '.join(text)}]")
        else:
            uses = Counter(side for _, *sides in steps.values() for side in sides)
            uses.update(row for row, _ in conditions)
            for row, truth in conditions:
                for step in _needed(row, steps):
                    op, left, right = steps.pop(step)
                    expression = with_operands(op, text[left], text[right])
                    if uses[step] > 1 or len(expression) > _LONGEST:
                        lines.append(f" r{step} = {expression}")
                    else:
                        text[step] = f"({expression})"
                lines.append(f" if {'not ' if truth else ''}{text[row]}: return False")
            lines.append(" return True")
        scope: dict[str, Any] = {}
        exec("\n".join(lines), scope)
        function: Callable[..., Any] = scope["function"]
        return function


def _each(steps: Sequence[int]) -> Iterator[tuple[int, int, int, int]]:
    """The steps that are listed one after the other."""
    return zip(*[iter(steps)] * 4, strict=True)


def _needed(row: int, steps: Mapping[int, tuple[str, int, int]]) -> list[int]:
    """The rows of the steps that a row is made of, operands first."""
    needed, left = set[int](), [row]
    while left:
        step = left.pop()
        if step in steps and step not in needed:
            needed.add(step)
            left += steps[step][1:]
    return sorted(needed)
