"""What `range`, `unrolled` and `hint` give: the numbers that a loop counts."""

from __future__ import annotations

from dataclasses import dataclass

from ocl_ir.language.values.values import Value, low_of
from ocl_ir.types import DType


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers from `start` to below `stop` in steps. `dtype`: that of typed bounds; None counts with an index."""

    start: Value
    stop: Value
    step: Value = 1
    dtype: DType | None = None
    unroll: int = 0

    @property
    def low(self) -> int | None:
        """A bound that no number is below."""
        if isinstance(self.step, int) and self.step < 0:
            last = low_of(self.stop)
            return None if last is None else last + 1
        return low_of(self.start)


class Unrolled(tuple):  # type: ignore[type-arg]
    """Values of which each gets a turn of its own, where it is known."""

    __slots__ = ()
