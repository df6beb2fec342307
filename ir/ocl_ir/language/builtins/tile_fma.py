"""Products of tiles by fused multiply-adds, one after the other along the inner axis.

Local memory has a row for each place of the inner axis, in the dtype of the sums. So an item reads its neighbouring
rows of the left operand and its neighbouring columns of the right one as vectors, and units that lie along the inner
axis are stored element by element. Rows are a vector longer than the tile: so neighbours store to other banks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ocl_ir.kernel.operands import Ref
from ocl_ir.language.builtins.tile_accesses import TileAccesses
from ocl_ir.language.builtins.tile_stages import Multiplication, Stage
from ocl_ir.language.values.values import AnyTile, Coordinates, LoadedTile, Tile, TileShape, Value
from ocl_ir.types import U64, DType, ValueType, Vector, with_lanes

LANES = 4
"""Elements of a vector of local memory."""


class FmaStage(Stage):
    """An operand in local memory, in rows along its own axis."""

    def __init__(self, t: TileAccesses, tile: AnyTile, own: int, start: int, dtype: DType) -> None:
        super().__init__(t, tile, own, start)
        self._dtype = dtype
        self._row_length = -(-self._length // LANES) * LANES + LANES

    @property
    def step_length(self) -> int:
        """Elements of local memory that the operand takes."""
        return self._inner * self._row_length

    @property
    def unit(self) -> tuple[int, int]:
        """How long a unit is, along the axis in which elements lie next to each other, and across."""
        return self._lanes, 1

    @property
    def held(self) -> tuple[ValueType, ...]:
        """The types of the values of a unit."""
        return (with_lanes(self._dtype, self._lanes),)

    def read(self, tile: LoadedTile, at: Coordinates) -> list[Ref]:
        """The values of a unit."""
        return [self._t.converted(tile.read(at, self._lanes), self._dtype)]

    def store(self, at: Coordinates, values: Sequence[Ref], buffer: Value) -> None:
        """Stores a unit in a buffer of local memory."""
        self._store(at, values[0], self._along, buffer)

    def store_registers(self, tile: Tile, buffer: Value) -> None:
        """Stores what an item has of a tile in a buffer of local memory."""
        for numbers, at in self._t.runs(tile.shape, self._own, LANES):
            values = [self._t.converted(tile.elements[number], self._dtype) for number in numbers]
            with self._t.where(self._t.inside_tile(tile.shape, at)):
                value = values[0] if len(values) == 1 else self._k.op("vector", *values)
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

    # ------------------------------------------------------------------ what an item multiplies

    def readers(self, shape: TileShape, buffer: Value) -> list[Callable[[Ref], list[Ref]]]:
        """What reads a work-item's rows or columns at a place of the inner axis: vector by vector, or one by one where
        there are some beyond the tile, in whose place others are read: nobody looks at their products."""
        t, axis = self._t, self._own
        grid = t.grid(shape)
        first, steps, lanes = t.own_first(grid)[axis], grid.steps(axis), grid.lanes[axis]
        if grid.covers(axis, shape[axis]):
            origin = self._origin(first, buffer)
            return [
                lambda inner, step=step: self._vector(origin, inner, step, lanes)  # type: ignore[misc]
                for step in steps[::lanes]
            ]
        places = [t.numeric("minimum", t.address((first, 1), (step, 1)), shape[axis] - 1) for step in steps]
        origins = [self._origin(place, buffer) for place in places]
        return [lambda inner, at=at: self._vector(at, inner, 0, 1) for at in origins]  # type: ignore[misc]

    def _origin(self, own: Value, buffer: Value) -> Ref:
        """Where a work-item reads from in the first row of a buffer. It is as wide as an address, so that loads add
        what is known to it by themselves."""
        return self._k.convert(self._place(0, own, buffer), U64, hint=f"{self._name}_at")

    def _vector(self, origin: Ref, inner: Ref, step: int, count: int) -> list[Ref]:
        """Neighbouring elements of a row, some steps along it."""
        at = origin + (inner * self._row_length + step)
        value = self._k.load(self.memory, at, count=count, align=self._dtype.size * count, hint=self._name)
        return [value] if count == 1 else [self._k.op("extract", value, lane) for lane in range(count)]


class FmaMultiplication(Multiplication):
    """`acc = fma(left[i, k], right[k, j], acc)` for ascending k, in the dtype in which `acc` is computed."""

    def __init__(self, t: TileAccesses, acc: Tile, left: AnyTile, right: AnyTile) -> None:
        self._t, self._shape, self._inner, self.operands = t, acc.shape, left.shape[1], (left, right)
        self.dtype = t.computed_as(acc.dtype)
        self._rows = FmaStage(t, left, 0, 0, self.dtype)
        self._columns = FmaStage(t, right, 1, self._rows.step_length, self.dtype)
        self.left, self.right = self._rows, self._columns

    def multiply(self, buffer: Value, sums: Sequence[Ref]) -> None:
        """Adds the products of what a buffer holds to the sums of an item, which are variables."""
        k, grid = self._t.k, self._t.grid(self._shape)
        reads = [stage.readers(self._shape, buffer) for stage in (self._rows, self._columns)]
        with k.for_(0, self._inner, dtype=U64, hint="k", unroll=min(self._inner, 8)) as inner:
            rows, columns = ([number for read in own for number in read(inner)] for own in reads)
            for number, (row, column) in enumerate(grid.own_elements()):
                k.assign(sums[number], k.op("fma", rows[row], columns[column], sums[number]))
