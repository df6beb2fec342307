"""Which powers of two certainly divide integers of a kernel, as it is translated: from constants, sizes of arrays that
lie in whole units, and sums and products of these. So an address is known to be aligned."""

from __future__ import annotations

from math import gcd, prod

from ocl_ir.kernel.grammar import Const, Let, Operand, Value
from ocl_ir.types import DType

_ANY = 1 << 16
"""What is 0 is a multiple of anything."""
_COMMON = frozenset({"add", "sub", "minimum", "maximum", "copy", "convert", "uniform"})


class Multiples:
    """Powers of two that divide what has been bound so far, by id."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}

    def of(self, *operands: Operand) -> int:
        """One that divides all of some integers."""
        return gcd(*map(self._of, operands))

    def _of(self, operand: Operand) -> int:
        if isinstance(operand, Const):
            number = int(operand.value) or _ANY
            return number & -number
        return self._known.get(operand.id, 1) if isinstance(operand, Value) else 1

    def note(self, value: Value, divisor: int) -> None:
        """Takes note of a value that is a multiple of a number."""
        self._known[value.id] = divisor & -divisor

    def bind(self, let: Let) -> None:
        """Takes note of what an operation gives."""
        if let.op in _COMMON:
            self._known[let.result.id] = self.of(*let.args) if _are_integers(let) else 1
        elif let.op == "mul" and _are_integers(let):
            self._known[let.result.id] = min(_ANY, prod(map(self._of, let.args)))

    def forget(self, first: int) -> None:
        """Forgets all ids from a first one on."""
        for id_ in [id_ for id_ in self._known if id_ >= first]:
            del self._known[id_]


def _are_integers(let: Let) -> bool:
    return all(isinstance(arg.type, DType) and arg.type.is_integer for arg in (let.result, *let.args))
