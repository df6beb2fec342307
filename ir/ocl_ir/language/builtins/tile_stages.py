"""The operands of a product of tiles on their way to local memory, in *units*.

What is read from an array moves in neighbours along the axis in which they lie next to each other, as many as one
access takes; a group reads the units of an operand in the order in which they lie. How units lie in local memory is the
business of who multiplies.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from ocl_ir.kernel.operands import Ref
from ocl_ir.language.builtins.tile_accesses import TileAccesses
from ocl_ir.language.values.values import AnyTile, Coordinates, LoadedTile, Tile, Value
from ocl_ir.types import DType, ValueType, element


class Unit(NamedTuple):
    """Where a unit begins in an operand, and whether there is one; None: certainly."""

    at: Coordinates
    exists: Ref | None


class Stage(ABC):
    """An operand in local memory, whose part of a buffer begins at `start`. `own` is its axis that the result has, too,
    and `loads` says how many values of a type each unit is read in."""

    def __init__(self, t: TileAccesses, tile: AnyTile, own: int, start: int) -> None:
        self._t, self._k, self._own, self._start = t, t.k, own, start
        self._length, self._inner = tile.shape[own], tile.shape[1 - own]
        self._along, self._lanes = (tile.axis, tile.lanes) if isinstance(tile, LoadedTile) else (own, 1)
        self._name = "right" if own else "left"
        self.local: Ref | None = None
        """The local memory of the product, once it is there."""

    @property
    def memory(self) -> Ref:
        """The local memory of the product."""
        assert self.local is not None
        return self.local

    @property
    @abstractmethod
    def step_length(self) -> int:
        """Elements of local memory that the operand takes."""

    @property
    @abstractmethod
    def unit(self) -> tuple[int, int]:
        """How long a unit is, along the axis in which elements lie next to each other, and across."""

    @property
    @abstractmethod
    def held(self) -> tuple[ValueType, ...]:
        """The types of the values of a unit."""

    @abstractmethod
    def read(self, tile: LoadedTile, at: Coordinates) -> list[Ref]:
        """The values of a unit."""

    @abstractmethod
    def store(self, at: Coordinates, values: Sequence[Ref], buffer: Value) -> None:
        """Stores a unit in a buffer of local memory."""

    @abstractmethod
    def store_registers(self, tile: Tile, buffer: Value) -> None:
        """Stores what an item has of a tile in a buffer of local memory."""

    # ------------------------------------------------------------------ moving

    def units(self, tile: LoadedTile) -> list[Unit]:
        """The units that a work-item moves."""
        t, items, item = self._t, self._t.group_items, self._t.item_number()
        in_row, rows = (tile.shape[axis] // length for axis, length in zip(self._axes, self.unit, strict=True))
        units = list[Unit]()
        for first in range(0, rows * in_row, items):
            exists = item + first < rows * in_row if first + items > rows * in_row else None
            if items % in_row:
                along, across = (item + first) % in_row, (item + first) // in_row
            else:
                along, across = item % in_row, item // in_row + first // in_row
            at = along * self.unit[0], across * self.unit[1]
            row, column = (at[axis] for axis in self._axes)
            where = t.index_number(row, f"{self._name}_row"), t.index_number(column, f"{self._name}_column")
            units.append(Unit(where, exists))
        return units

    @property
    def _axes(self) -> tuple[int, int]:
        """The axis in which elements lie next to each other, and the other one; turning coordinates is its own
        reverse."""
        return (0, 1) if self._along == 0 else (1, 0)

    def room(self, units: Sequence[Unit]) -> list[list[Ref]]:
        """Variables for units."""
        zeros = [self._k.const(0.0 if element(type_).is_inexact else 0, type_) for type_ in self.held]
        return [[self._k.variable(zero, hint="held") for zero in zeros] for _ in units]

    def fetch(self, tile: LoadedTile, units: Sequence[Unit], room: Sequence[Sequence[Ref]]) -> None:
        """Reads units into variables."""
        for unit, variables in zip(units, room, strict=True):
            with self._t.where(unit.exists):
                for variable, value in zip(variables, self.read(tile, unit.at), strict=True):
                    self._k.assign(variable, value)

    def deposit(self, units: Sequence[Unit], room: Sequence[Sequence[Ref]], buffer: Value) -> None:
        """Stores units from variables in a buffer of local memory."""
        for unit, variables in zip(units, room, strict=True):
            with self._t.where(unit.exists):
                self.store(unit.at, [self._k.let(variable) for variable in variables], buffer)

    def bring(self, tile: AnyTile, buffer: Value) -> None:
        """Reads an operand, and stores it in a buffer of local memory."""
        if isinstance(tile, Tile):
            self.store_registers(tile, buffer)
            return
        for unit in self.units(tile):
            with self._t.where(unit.exists):
                self.store(unit.at, self.read(tile, unit.at), buffer)


class Multiplication(ABC):
    """A product of tiles of some shapes: its operands in local memory of a `dtype`, and what an item adds up."""

    dtype: DType
    operands: tuple[AnyTile, AnyTile]
    left: Stage
    right: Stage

    @property
    def length(self) -> int:
        """Elements of a buffer."""
        return self.left.step_length + self.right.step_length

    @abstractmethod
    def multiply(self, buffer: Value, sums: Sequence[Ref]) -> None:
        """Adds the products of what a buffer holds to the sums of an item, which are variables."""
