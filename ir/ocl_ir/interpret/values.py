"""What values and variables are for the work-items of a group: an array with an entry for each of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ocl_ir.interpret.operation import Data, filled, fixed, spread
from ocl_ir.kernel.grammar import Const, Operand
from ocl_ir.types import Pointer, Type


class Values:
    """The values of a group of so many work-items."""

    def __init__(self, items: int, scalars: Mapping[int, Data]) -> None:
        self.items = items
        self._scalars = scalars
        self._values: dict[int, Data] = {}
        """One may be shared by several values and by who computes with it: nobody writes into it."""
        self._constants: dict[tuple[int, int], Data] = {}
        """By the literal's identity, and for so many work-items."""

    def start_group(self) -> None:
        """Only the numbers among the arguments are known."""
        self._values = {id_: np.repeat(value, self.items) for id_, value in self._scalars.items()}

    def at(self, operand: Operand, items: Data) -> Data:
        """The operand's values of the given work-items."""
        if isinstance(operand, Const):
            key = id(operand), items.size
            if key not in self._constants:
                self._constants[key] = fixed(filled(operand.value, operand.type, items.size))
            return self._constants[key]
        whole = self._values[operand.id]
        return whole if items.size == len(whole) else whole[items]

    def spread(self, operand: Operand, active: Data) -> Data:
        """The operand's values of the active work-items, for the whole group."""
        assert not isinstance(operand.type, Pointer)
        items = np.flatnonzero(active)
        return spread(self.at(operand, items), items, operand.type, active.size)

    def define(self, id_: int, type_: Type, items: Data, values: Data) -> None:
        """Gives some work-items a value, by its id."""
        assert not isinstance(type_, Pointer)
        self._values[id_] = spread(values, items, type_, self.items)

    def define_all(self, id_: int, values: Data) -> None:
        """Gives every work-item a value."""
        self._values[id_] = values

    def assign(self, id_: int, items: Data, values: Data) -> None:
        """Gives some work-items a new value of a variable; the others keep theirs."""
        held = self._values[id_].copy()
        held[items] = values
        self._values[id_] = fixed(held)
