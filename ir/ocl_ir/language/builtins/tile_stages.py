"""An operand of a product of tiles on its way to local memory, from where a work-item reads what it multiplies.

What is read from an array moves in *units*: neighbours along the axis in which they lie next to each other, as many as
one access takes. A group reads the units of an operand in the order in which they lie. What items have in registers is
stored in the runs that they have.

Local memory has a row for each place of the inner axis, in the dtype of the sums. So an item reads its neighbouring
rows of the left operand and its neighbouring columns of the right one as vectors, and units that lie along the inner
axis are stored element by element. Rows are a vector longer than the tile: so neighbours store to other banks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ocl_ir.kernel.operands import Ref
from ocl_ir.language.builtins.tile_accesses import TileAccesses
from ocl_ir.language.values.values import AnyTile, Coordinates, LoadedTile, Tile, Value
from ocl_ir.types import U64, DType, Vector, with_lanes

LANES = 4
"""Elements of a vector of local memory."""


class Unit(NamedTuple):
    """Where neighbours are in an operand, and whether there are any; None: certainly."""

    at: Coordinates
    exists: Ref | None


class Stage:
    """An operand in local memory. `own` is its axis that the result has, too; its part of a step begins at `start`."""

    def __init__(self, t: TileAccesses, tile: AnyTile, own: int, start: int, dtype: DType) -> None:
        self._t, self._k, self._own, self._start, self._dtype = t, t.k, own, start, dtype
        self._length, self._inner = tile.shape[own], tile.shape[1 - own]
        self._row_length = -(-self._length // LANES) * LANES + LANES
        self._along, self._lanes = (tile.axis, tile.lanes) if isinstance(tile, LoadedTile) else (own, 1)
        self._name = "right" if own else "left"
        self.local: Ref | None = None
        """The local memory of the product, once it is there."""

    @property
    def step_length(self) -> int:
        """Elements of local memory that a step takes."""
        return self._inner * self._row_length

    # ------------------------------------------------------------------ what is read from an array

    def units(self, tile: LoadedTile) -> list[Unit]:
        """The units that a work-item moves."""
        t, items, item = self._t, self._t.group_items, self._t.item_number()
        in_row = tile.shape[self._along] // self._lanes
        count, units = tile.shape[1 - self._along] * in_row, list[Unit]()
        for first in range(0, count, items):
            exists = item + first < count if first + items > count else None
            if items % in_row:
                number = item + first
                along, across = number % in_row, number // in_row
            else:
                along, across = item % in_row, item // in_row + first // in_row
            at = along * self._lanes, across
            units.append(Unit(tuple(map(t.index_number, at[:: -1 if self._along else 1])), exists))
        return units

    def hold(self, units: Sequence[Unit]) -> list[Ref]:
        """Room for units in registers."""
        zero = self._k.const(0.0, with_lanes(self._dtype, self._lanes))
        return [self._k.variable(zero, hint="held") for _ in units]

    def fetch(self, tile: LoadedTile, units: Sequence[Unit], held: Sequence[Ref]) -> None:
        """Reads units into registers."""
        for unit, variable in zip(units, held, strict=True):
            with self._t.where(unit.exists):
                self._k.assign(variable, self._read(tile, unit))

    def deposit(self, units: Sequence[Unit], held: Sequence[Ref], buffer: Value) -> None:
        """Stores units from registers in a buffer of local memory."""
        for unit, variable in zip(units, held, strict=True):
            with self._t.where(unit.exists):
                self._store(unit.at, self._k.let(variable), self._along, buffer)

    def bring(self, tile: AnyTile, buffer: Value) -> None:
        """Reads an operand, and stores it in a buffer of local memory."""
        if isinstance(tile, Tile):
            self._store_registers(tile, buffer)
            return
        for unit in self.units(tile):
            with self._t.where(unit.exists):
                self._store(unit.at, self._read(tile, unit), self._along, buffer)

    def _read(self, tile: LoadedTile, unit: Unit) -> Ref:
        return self._t.converted(tile.read(unit.at, self._lanes), self._dtype)

    # ------------------------------------------------------------------ local memory

    def _store_registers(self, tile: Tile, buffer: Value) -> None:
        for numbers, at in self._t.runs(tile.shape, self._own, LANES):
            values = [self._t.converted(tile.elements[number], self._dtype) for number in numbers]
            value = values[0] if len(values) == 1 else self._k.op("vector", *values)
            with self._t.where(self._t.inside_tile(tile.shape, at)):
                self._store(at, value, self._own, buffer)

    def _store(self, at: Coordinates, value: Ref, axis: int, buffer: Value) -> None:
        """Stores neighbours along an axis, as vectors where they lie along a row of local memory."""
        k, type_ = self._k, value.type
        count = type_.lanes if isinstance(type_, Vector) else 1
        elements = [value] if count == 1 else [k.op("extract", value, lane) for lane in range(count)]
        width, step = (min(count, LANES), 1) if axis == self._own else (1, self._row_length)
        for first in range(0, count, width):
            part = elements[first] if width == 1 else k.op("vector", *elements[first : first + width])
            place = self._place(at[1 - self._own], at[self._own], buffer, first * step)
            k.store(self.memory, place, value if width == count else part, align=self._dtype.size * width)

    def _place(self, inner: Value, own: Value, buffer: Value, steps: int = 0) -> Ref:
        t = self._t
        return t.index(t.address((inner, self._row_length), (own, 1), (buffer, 1), (self._start + steps, 1)))

    @property
    def memory(self) -> Ref:
        """The local memory of the product."""
        assert self.local is not None
        return self.local

    # ------------------------------------------------------------------ what an item multiplies

    def origin(self, own: Value, buffer: Value) -> Ref:
        """Where a work-item reads from in the first row of a buffer. It is as wide as an address, so that loads add
        what is known to it by themselves."""
        return self._k.convert(self._place(0, own, buffer), U64, hint=f"{self._name}_at")

    def read(self, origin: Ref, inner: Ref, step: int, count: int) -> list[Ref]:
        """Neighbouring elements of a row, some steps along it."""
        at = origin + (inner * self._row_length + step)
        value = self._k.load(self.memory, at, count=count, align=self._dtype.size * count, hint=self._name)
        return [value] if count == 1 else [self._k.op("extract", value, lane) for lane in range(count)]
