"""How the work-items of a group have tiles: who holds which elements, how they are read and stored, and how items read
what others hold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from math import gcd
from typing import Any, NamedTuple

from ocl_ir.kernel.operands import Ref
from ocl_ir.language.parameters import UNIT_BYTES
from ocl_ir.language.statements.calls import Calls
from ocl_ir.language.values.grids import Grid
from ocl_ir.language.values.values import (
    AnyTile,
    ArrayView,
    Coordinates,
    LoadedTile,
    Number,
    ReadsTile,
    Tile,
    TileShape,
    Value,
    low_of,
)
from ocl_ir.types import BF16, BOOL, F32, U32, DType


class Run(NamedTuple):
    """Elements of an item that are neighbours along an axis: their numbers, and where the first one is."""

    numbers: range
    at: Coordinates


class TileAccesses(Calls):
    """Reads and stores tiles."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.asks_units = False
        """Whether anything depends on which arrays lie in whole units."""

    # ------------------------------------------------------------------ who holds what

    @property
    def group_items(self) -> int:
        """Work-items of a group."""
        if self.options.group_size is None:
            raise self.fault("a tile needs the size of the groups", "give it: @ocl.kernel(local=256)")
        return math.prod(self.options.group_size)

    def grid(self, shape: TileShape) -> Grid:
        """How items share tiles of a shape."""
        return Grid.of(shape, self.group_items)

    def linear_id(self) -> Ref:
        """The number of a work-item in its group, dimension 0 fastest."""
        size = self.options.group_size or (1, 1, 1)
        self.dimensions_asked.update(dimension for dimension in range(3) if size[dimension] > 1)
        linear = self.k.item("local_id", 2, "", self.index_type) if size[2] > 1 else None
        for dimension in (1, 0):
            if linear is not None:
                linear = self.k.op("mul", linear, size[dimension])
            if size[dimension] > 1 or dimension == 0:
                own = self.k.item("local_id", dimension, "", self.index_type)
                linear = own if linear is None else self.k.op("add", linear, own)
        assert linear is not None
        return linear

    def own_first(self, grid: Grid) -> Coordinates:
        """The row and the column of an item's first element."""
        places = grid.place(self.item_number())
        return tuple(
            self._times(place if isinstance(place, int) else self.index_number(place), lanes)
            for place, lanes in zip(places, grid.lanes, strict=True)
        )

    def item_number(self) -> Ref:
        """The number of a work-item in its group, to count with."""
        return self.k.convert(self.linear_id(), U32)

    def coordinates(self, shape: TileShape) -> list[Coordinates]:
        """Where the elements of this work-item are, in order."""
        grid = self.grid(shape)
        rows, columns = (
            [self._plus(first, step) for step in grid.steps(axis)] for axis, first in enumerate(self.own_first(grid))
        )
        pairs = [(rows[row], columns[column]) for row, column in grid.own_elements()]
        return pairs if len(shape) == 2 else [pair[1:] for pair in pairs]

    def runs(self, shape: TileShape, axis: int, lanes: int) -> Iterator[Run]:
        """The elements of this work-item in runs of neighbours along an axis, of `lanes` where the grid has them."""
        grid, coordinates, axis = self.grid(shape), self.coordinates(shape), axis + 2 - len(shape)
        count = gcd(lanes, grid.lanes[axis])
        step = grid.columns if axis == 0 else 1
        for number, (row, column) in enumerate(grid.own_elements()):
            if (row, column)[axis] % count == 0:
                yield Run(range(number, number + count * step, step), coordinates[number])

    def index_number(self, ref: Ref) -> Number:
        """An index that is never negative."""
        return Number(self.k.convert(ref, self.index_type), self.index_type, "index", 0)

    def _uncovered(self, shape: TileShape) -> list[int]:
        """The axes along which an item may have room for more than the tile has elements."""
        grid, before = self.grid(shape), 2 - len(shape)
        return [axis for axis, length in enumerate(shape) if not grid.covers(axis + before, length)]

    def within(self, shape: TileShape, at: Coordinates) -> Coordinates:
        """Coordinates of an element, some other one where an item has room for more than the tile has elements."""
        uncovered = self._uncovered(shape)
        return tuple(
            self.numeric("minimum", coordinate, length - 1) if axis in uncovered else coordinate
            for axis, (coordinate, length) in enumerate(zip(at, shape, strict=True))
        )

    def inside_tile(self, shape: TileShape, at: Coordinates) -> Ref | None:
        """Whether coordinates are in the tile; None where all are."""
        axes = self._uncovered(shape)
        return self._all_below([at[axis] for axis in axes], [shape[axis] for axis in axes]) if axes else None

    def _all_below(self, at: Coordinates | list[Value], lengths: tuple[Value, ...] | list[Value]) -> Ref:
        inside: Ref | None = None
        for coordinate, length in zip(at, lengths, strict=True):
            tests = [self.k.op("lt", self.index(coordinate), self.index(length))]
            low = low_of(coordinate)
            if low is None or low < 0:
                tests.insert(0, self.k.op("ge", self.index(coordinate), self._constant(0, self.index_type)))
            for test in tests:
                inside = test if inside is None else self.k.op("and", inside, test)
        return self._constant(True, BOOL) if inside is None else inside

    def where(self, inside: Ref | None) -> AbstractContextManager[None]:
        """A block that is run where something holds; None: always."""
        return nullcontext() if inside is None else self.k.if_(inside)

    def address(self, *terms: tuple[Value, int]) -> Number | int:
        """A sum of indices that are multiplied by known numbers."""
        total: Number | int = 0
        for index, factor in terms:
            total = self._plus(total, self._times(index, factor))
        return total

    # ------------------------------------------------------------------ arrays

    def loaded(
        self, view: ArrayView, origin: Coordinates, shape: TileShape, fill: Value, *, inside: bool
    ) -> LoadedTile:
        """The elements of an array from an origin on; outside of the array they are `fill`."""
        lengths = tuple(self.size(length) for length in view.shape)
        origin = tuple(self.snapshot(coordinate) for coordinate in origin)
        dtype = F32 if view.dtype is BF16 else view.dtype

        def read(at: Coordinates, count: int = 1) -> Number:
            coordinates = tuple(self._plus(start, step) for start, step in zip(origin, at, strict=True))
            if inside:
                return self._neighbours(view, coordinates, count)
            value = self.converted(fill, dtype)
            variable = self.k.variable(value if count == 1 else self.k.splat(value, count))
            with self.k.if_(self._all_below(coordinates, lengths)):
                self.k.assign(variable, self._neighbours(view, coordinates, count).ref)
            return Number(self.k.let(variable), dtype)

        lanes = 1 if inside and self.options.checked else self._lanes(view, origin, shape)
        return LoadedTile(shape, dtype, read, lanes, len(shape) - 1)

    def _neighbours(self, view: ArrayView, at: Coordinates, count: int) -> Number:
        return self.number(self.load(view, at)) if count == 1 else self.load_vector(view, at, count, aligned=True)

    def _lanes(self, view: ArrayView, origin: Coordinates, shape: TileShape) -> int:
        """How many neighbours along the last axis one access moves: all of them in the array or none, and aligned."""
        self.asks_units = True
        memory, strides = view.memory, view.strides or (1,)
        scalars = memory.dtype.is_float or memory.dtype.is_integer
        if not memory.align or not scalars or strides[-1] != 1:
            return 1
        numbers = (view.offset, *strides[:-1], view.shape[-1], origin[-1])
        known = self.k.multiples.of(*(self.index(self.size(number)).operand for number in numbers))
        return gcd(UNIT_BYTES // memory.dtype.size, shape[-1], known)

    def store_tile(self, view: ArrayView, origin: Coordinates, tile: AnyTile) -> None:
        """Writes a tile from an origin on; what would lie outside of the array is not stored."""
        lengths = tuple(self.size(length) for length in view.shape)
        held = self.in_registers(tile)
        for numbers, at in self.runs(tile.shape, len(tile.shape) - 1, self._lanes(view, origin, tile.shape)):
            coordinates = tuple(self._plus(start, step) for start, step in zip(origin, at, strict=True))
            inside = self._all_below(coordinates, lengths)
            own = self.inside_tile(tile.shape, at)
            if own is not None:
                inside = self.k.op("and", inside, own)
            elements = [held.elements[number] for number in numbers]
            with self.k.if_(inside):
                if len(elements) == 1:
                    self.store(view, coordinates, elements[0])
                else:
                    vector = self.k.op("vector", *(element.ref for element in elements))
                    self.store_vector(view, coordinates, replace(elements[0], ref=vector), aligned=True)

    # ------------------------------------------------------------------ registers

    def in_registers(self, tile: AnyTile) -> Tile:
        """A tile whose elements are values."""
        if isinstance(tile, Tile):
            return tile
        elements: dict[int, Number] = {}
        for numbers, at in self.runs(tile.shape, tile.axis, tile.lanes):
            value = tile.read(self.within(tile.shape, at), len(numbers))
            for lane, number in enumerate(numbers):
                ref = value.ref if len(numbers) == 1 else self.k.op("extract", value.ref, lane)
                elements[number] = Number(ref, value.dtype, value.kind, value.low)
        return Tile(tile.shape, tile.dtype, tuple(elements[number] for number in range(len(elements))))

    def filled(self, shape: TileShape, dtype: DType, fill: Value) -> Tile:
        """A tile of one value."""
        count = sum(1 for _ in self.grid(shape).own_elements())
        value = Number(self.converted(fill, self.available(dtype)), dtype)
        return Tile(shape, dtype, (value,) * count)

    # ------------------------------------------------------------------ local memory

    def shared(self, tile: AnyTile) -> ReadsTile:
        """The tile in local memory, where any item of the group may read any element."""
        array = self.new_array(tile.shape, tile.dtype, "local", "shared")
        self.k.barrier()
        self._store_shared(tile, array)
        self.k.barrier()

        def read(at: Coordinates, count: int = 1) -> Number:
            assert count == 1
            return self.number(self.load(array, at))

        return read

    def _store_shared(self, tile: AnyTile, array: ArrayView) -> None:
        """The group stores a tile in local memory: what is read from an array, in the order that it lies there."""
        if isinstance(tile, Tile):
            for at, element in zip(self.coordinates(tile.shape), tile.elements, strict=True):
                with self.where(self.inside_tile(tile.shape, at)):
                    self.store(array, at, element)
            return
        size, item = math.prod(tile.shape), self.index_number(self.linear_id())
        for first in range(0, size, self.group_items):
            linear = self._plus(item, first)
            at = (linear,)
            if len(tile.shape) == 2:
                at = self.binary("floordiv", linear, tile.shape[1]), self.binary("rem", linear, tile.shape[1])
            inside = None
            if first + self.group_items > size:
                inside = self.k.op("lt", self.index(linear), self._constant(size, self.index_type))
            with self.where(inside):
                self.store(array, at, tile.read(at))
