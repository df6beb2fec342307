"""Operations beside those of the table: what a program defines or writes in C, and what it promises of a row.

Each is a text, the operation of a statement or a node, that carries what belongs to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ocl_ir.types import DType


class DefinedOp(str):
    """An operation that a program defines; its text is its name, which says all that it does.

    `dtypes` are those of its operands, `result` that of its value; halves are computed as float32. `definition` is what
    kernel IR has for it (`ocl_ir.kernel.function`). Where it joins values of a reduction, `neutral` changes nothing.
    """

    __slots__ = ("definition", "dtypes", "neutral", "result")
    definition: Any
    dtypes: tuple[DType, ...]
    result: DType
    neutral: bool | int | float | None

    def __new__(
        cls,
        name: str,
        definition: Any,
        dtypes: tuple[DType, ...],
        result: DType,
        neutral: bool | int | float | None = None,
    ) -> DefinedOp:
        """An operation of a name that no other operation has."""
        made = super().__new__(cls, name)
        made.definition, made.dtypes, made.result, made.neutral = definition, dtypes, result, neutral
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return DefinedOp, (str(self), self.definition, self.dtypes, self.result, self.neutral)


class InlineC(str):
    """An operation that a program writes in OpenCL C: its text is the expression, with `{0}`, `{1}` … for operands.

    `result` is its dtype; `reference` is the same on NumPy arrays, None where nobody has given that.
    """

    __slots__ = ("reference", "result")
    result: DType
    reference: Callable[..., Any] | None

    def __new__(cls, expression: str, result: DType, reference: Callable[..., Any] | None = None) -> InlineC:
        """An operation of an expression."""
        made = super().__new__(cls, expression)
        made.result, made.reference = result, reference
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InlineC) and str(self) == str(other) and self.result is other.result

    def __hash__(self) -> int:
        return hash((str(self), self.result))


class ExactOp(str):
    """A row of the table whose exact result is promised to be in range, as that of an address is: it is spelled without
    wrapping, and the interpreter reports where the promise is broken. It is equal to the row's name."""

    __slots__ = ()
