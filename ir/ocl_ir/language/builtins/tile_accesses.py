"""How the work-items of a group have tiles: who holds which elements, how they are read and stored, and how items read
what others hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from math import gcd
from typing import Any, NamedTuple

import numpy as np

from ocl_ir.bfloat16 import bits_of
from ocl_ir.kernel.matrix_instruction import MatrixInstruction
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
    Tile,
    TileShape,
    Value,
    low_of,
)
from ocl_ir.types import BF16, BOOL, F16, F32, U16, U32, DType


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
        self.fragments: Mapping[TileShape, MatrixInstruction] = {}
        """Shapes of tiles that are fragments of matrix instructions, and whose."""

    # ------------------------------------------------------------------ who holds what

    @property
    def group_items(self) -> int:
        """Work-items of a group."""
        if self.options.group_size is None:
            raise self.fault("a tile needs the size of the groups", "give it: @ocl.kernel(local=256)")
        return math.prod(self.options.group_size)

    def grid(self, shape: TileShape) -> Grid:
        """How items share tiles of a shape."""
        items, grid = self.group_items, None
        if shape in self.fragments:
            grid = Grid.of_fragments(shape, items, self.fragments[shape])
        elif self.options.kind == "cpu":
            grid = Grid.in_rows(shape, items // self._size[0], self._size[0])
        return grid or Grid.of(shape, items)

    @property
    def _size(self) -> tuple[int, int, int]:
        return self.options.group_size or (1, 1, 1)

    def linear_id(self) -> Ref:
        """The number of a work-item in its group, dimension 0 fastest."""
        return self._linear(0)

    def _linear(self, first: int) -> Ref:
        """The number of a work-item along the dimensions from a first one on, that one fastest."""
        size = self._size
        self.dimensions_asked.update(dimension for dimension in range(first, 3) if size[dimension] > 1)
        linear: Ref | None = None
        for dimension in range(2, first - 1, -1):
            if linear is not None:
                linear = self.k.op("mul", linear, size[dimension])
            if size[dimension] > 1 or dimension == first:
                own = self.k.item("local_id", dimension, "", self.index_type)
                linear = own if linear is None else self.k.op("add", linear, own)
        assert linear is not None
        return linear

    def own_first(self, grid: Grid) -> Coordinates:
        """The row and the column of an item's first element."""
        places: tuple[Any, Any] = grid.place(self.item_number())
        if grid.order == "rows" and grid.down > 1 and grid.across == self._size[0]:  # by what compilers know neighbours
            places = self._linear(1), self.k.item("local_id", 0, "", self.index_type)
        return tuple(
            self._times(place if isinstance(place, int) else self.index_number(place, name), lanes)
            for place, lanes, name in zip(places, grid.lanes, ("down", "across"), strict=True)
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

    def index_number(self, ref: Ref, hint: str = "") -> Number:
        """An index that is never negative."""
        return Number(self.k.convert(ref, self.index_type, hint=hint), self.index_type, "index", 0)

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
        self,
        view: ArrayView,
        origin: Coordinates,
        shape: TileShape,
        fill: Value,
        *,
        inside: bool,
        is_certain: bool = False,
    ) -> LoadedTile:
        """The elements of an array from an origin on; outside of the array they are `fill`. That all are `inside` is a
        promise, which checked mode tests, unless it `is_certain`."""
        lengths = tuple(self.size(length) for length in view.shape)
        origin = tuple(self.snapshot(coordinate) for coordinate in origin)
        dtype = F32 if view.dtype is BF16 else view.dtype
        is_tested = inside and not is_certain and self.options.checked
        has_bits = view.dtype in {F16, BF16} and isinstance(fill, bool | int | float) and not is_tested

        def guarded(at: Coordinates, count: int, otherwise: Ref, load: Callable[[Coordinates], Ref]) -> Ref:
            coordinates = tuple(self._plus(start, step) for start, step in zip(origin, at, strict=True))
            if inside:
                return load(coordinates)
            variable = self.k.variable(otherwise if count == 1 else self.k.splat(otherwise, count))
            with self.k.if_(self._all_below(coordinates, lengths)):
                self.k.assign(variable, load(coordinates))
            return self.k.let(variable)

        def read(at: Coordinates, count: int = 1) -> Number:
            otherwise = self.converted(fill, dtype)
            return Number(guarded(at, count, otherwise, lambda where: self._neighbours(view, where, count)), dtype)

        def bits(at: Coordinates, count: int = 1) -> Ref:
            otherwise = self.k.const(_bits_of(fill, view.dtype), U16)
            return guarded(at, count, otherwise, lambda where: self._bits(view, where, count))

        lanes = 1 if is_tested else self._lanes(view, origin, shape)
        axis, stored = len(shape) - 1, view.dtype
        return LoadedTile(shape, dtype, read, lanes, axis, stored, bits if has_bits else None)

    def _neighbours(self, view: ArrayView, at: Coordinates, count: int) -> Ref:
        if count == 1:
            return self.number(self.load(view, at)).ref
        return self.load_vector(view, at, count, aligned=True).ref

    def _bits(self, view: ArrayView, at: Coordinates, count: int) -> Ref:
        offset = self.index(self.size(self.view(view, at).offset))
        return self.k.load_as(view.memory.pointer, offset, U16, count=count, align=U16.size * count)

    def _lanes(self, view: ArrayView, origin: Coordinates, shape: TileShape) -> int:
        """How many neighbours along the last axis one access moves: all of them in the array or none, and aligned. On a
        CPU neighbouring work-items move neighbours."""
        memory, strides = view.memory, view.strides or (1,)
        if self.options.kind == "cpu":
            return 1
        self.asks_units = self.asks_units or memory.space == "global"
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

    def shared(self, tile: AnyTile) -> LoadedTile:
        """The tile in local memory, where any item of the group may read any element."""
        array = self.new_array(tile.shape, tile.dtype, "local", "shared", align=UNIT_BYTES)
        self.k.barrier()
        self._store_shared(tile, array)
        self.k.barrier()
        return self.loaded(array, (0,) * len(tile.shape), tile.shape, 0, inside=True, is_certain=True)

    def in_memory(self, tile: AnyTile) -> LoadedTile:
        """A tile as it lies in memory: what was computed, in local memory."""
        return tile if isinstance(tile, LoadedTile) else self.shared(tile)

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


def _bits_of(number: float, dtype: DType) -> int:
    """The bits of a number that is rounded to a dtype of 16 bits."""
    return int(bits_of(np.float32(number)) if dtype is BF16 else np.float16(number).view(np.uint16))
