"""Tiles: small arrays of a size that is known, which belong to a whole work-group and lie in its registers.

Each work-item holds a few elements. Of a matrix of `rows` by `columns`, the items of a group stand in a grid; an item
has `rows / grid rows` neighbouring rows, and of each the columns that are a grid's width apart, so that neighbouring
items touch neighbouring elements. What is loaded is read where it is used, or kept in registers once it has a name. A
product goes through local memory: the group stores both operands there, and each item joins its own elements by `fma`,
in ascending order of the inner axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from ocl_ir.errors import DTypeError, ShapeError
from ocl_ir.kernel.operands import Ref
from ocl_ir.language.statements.calls import Calls
from ocl_ir.language.values.grids import Grid
from ocl_ir.language.values.table import Builtin
from ocl_ir.language.values.values import (
    AnyTile,
    ArrayView,
    Coordinates,
    LoadedTile,
    Number,
    Tile,
    TileShape,
    Value,
    dtype_name,
    is_tile,
)
from ocl_ir.layout import broadcast_shapes
from ocl_ir.types import BOOL, F16, DType


class Tiles(Calls):
    """Computes with tiles."""

    def binary(self, op: str, left: Value, right: Value, *, written: str = "") -> Value:
        """Python's operator; of tiles, element by element."""
        if is_tile(left) or is_tile(right):
            return self.mapped(lambda a, b: super(Tiles, self).binary(op, a, b, written=written), left, right)
        return super().binary(op, left, right, written=written)

    def unary(self, op: str, value: Value) -> Value:
        """The same for one operand."""
        if is_tile(value):
            return self.mapped(lambda a: super(Tiles, self).unary(op, a), value)
        return super().unary(op, value)

    def call(self, function: Value, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        """The result of a call; of builtins that take numbers, element by element."""
        known = self.builtin_of(function)
        if known is not None and known.is_elementwise and any(map(is_tile, arguments)):
            return self.mapped(lambda *values: known.emit(self, *values), *arguments)
        return super().call(function, arguments, keywords)

    def snapshot(self, value: Value) -> Value:
        """What a name holds: what was loaded is read now."""
        if isinstance(value, LoadedTile):
            return self.in_registers(value)
        if isinstance(value, Tile):
            return Tile(value.shape, value.dtype, tuple(map(self.snapshot, value.elements)))
        return super().snapshot(value)

    def matmul(self, left: Value, right: Value, acc: Value = None) -> Value:
        """`a @ b`, and `acc += a @ b`."""
        if not (is_tile(left) and is_tile(right)) or len(left.shape) != 2 or len(right.shape) != 2:
            return super().matmul(left, right)
        if acc is None:
            acc = self.filled((left.shape[0], right.shape[1]), left.dtype, 0)
        return self.dot(self.in_registers(acc), left, right)

    def tile_attribute(self, value: AnyTile, name: str) -> Value:
        """`shape`, `dtype`, `T`, and the methods of a tile."""
        match name:
            case "shape":
                return value.shape
            case "dtype":
                return value.dtype.numpy
            case "T":
                if len(value.shape) != 2:
                    raise self.fault(f"T of {value}", "use a tile with two axes", ShapeError)
                read = value.read if isinstance(value, LoadedTile) else self.shared(value)
                return LoadedTile(value.shape[::-1], value.dtype, lambda at: read(at[::-1]))
            case "astype":
                return Builtin(name, lambda t, dtype: t.mapped(lambda v: t.cast(v, t.dtype_of(dtype)), value))
            case "sum" | "max" | "min":
                op = {"sum": "add", "max": "maximum", "min": "minimum"}[name]
                return Builtin(name, lambda t, axis: t.reduced(value, op, self._axis(value, axis)))
        raise self.fault(
            f"{name} of {value} has no meaning in a kernel", "tiles have shape, dtype, T, astype, sum, max and min"
        )

    def _axis(self, value: AnyTile, axis: Value) -> int:
        if not isinstance(axis, int) or not -len(value.shape) <= axis < len(value.shape):
            raise self.fault(f"axis {self.described(axis)} of {value}", "use one that it has", ShapeError)
        return axis % len(value.shape)

    # ------------------------------------------------------------------ how the group shares tiles

    @property
    def group_items(self) -> int:
        """Work-items of a group."""
        if self.options.group_size is None:
            raise self.fault("a tile needs the size of the groups", "give it: @ocl.kernel(local=256)")
        return math.prod(self.options.group_size)

    def _grid(self, shape: TileShape) -> Grid:
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

    def _coordinates(self, shape: TileShape) -> list[Coordinates]:
        """Where the elements of this work-item are, in order."""
        grid = self._grid(shape)
        item = self.index_number(self.linear_id())
        down, across = self._unraveled(item, (grid.down, grid.across)) if grid.down > 1 else (0, item)
        first = self._times(down, grid.rows) if grid.down > 1 else 0
        rows = [self._plus(first, row) for row in range(grid.rows)]
        columns = [self._plus(across, column * grid.across) for column in range(grid.columns)]
        pairs = [(rows[row], columns[column]) for row, column in grid.own_elements()]
        return pairs if len(shape) == 2 else [pair[1:] for pair in pairs]

    def index_number(self, ref: Ref) -> Number:
        """An index that is never negative."""
        return Number(ref, self.index_type, "index", 0)

    def _is_exact(self, shape: TileShape) -> bool:
        """Whether every element that an item holds is one of the tile."""
        grid = self._grid(shape)
        height, width = shape if len(shape) == 2 else (1, shape[0])
        return grid.rows * grid.down == height and grid.columns * grid.across == width

    def _within(self, shape: TileShape, at: Coordinates) -> Coordinates:
        """Coordinates of an element, some other one where an item has room for more than the tile has elements."""
        if self._is_exact(shape):
            return at
        return tuple(
            self.numeric("minimum", coordinate, length - 1) for coordinate, length in zip(at, shape, strict=True)
        )

    def _inside_tile(self, shape: TileShape, at: Coordinates) -> Ref | None:
        """Whether coordinates are in the tile; None where all are."""
        if self._is_exact(shape):
            return None
        return self._all_below(at, shape)

    def _all_below(self, at: Coordinates, lengths: tuple[Value, ...]) -> Ref:
        inside = self._constant(True, BOOL)
        for coordinate, length in zip(at, lengths, strict=True):
            low = coordinate.low if isinstance(coordinate, Number) else coordinate
            if not isinstance(low, int) or low < 0:
                inside = self.k.op("and", inside, self.k.op("ge", self.index(coordinate), 0))
            test = self.k.op("lt", self.index(coordinate), self.index(length))
            inside = self.k.op("and", inside, test)
        return inside

    # ------------------------------------------------------------------ making tiles

    def in_registers(self, tile: AnyTile) -> Tile:
        """A tile whose elements are values."""
        if isinstance(tile, Tile):
            return tile
        elements = tuple(tile.read(self._within(tile.shape, at)) for at in self._coordinates(tile.shape))
        return Tile(tile.shape, tile.dtype, elements)

    def filled(self, shape: TileShape, dtype: DType, fill: Value) -> Tile:
        """A tile of one value."""
        count = sum(1 for _ in self._grid(shape).own_elements())
        value = Number(self.converted(fill, self.available(dtype)), dtype)
        return Tile(shape, dtype, (value,) * count)

    def loaded(
        self, view: ArrayView, origin: Coordinates, shape: TileShape, fill: Value, *, inside: bool
    ) -> LoadedTile:
        """The elements of an array from an origin on; outside of the array they are `fill`."""
        lengths = tuple(self.size(length) for length in view.shape)
        origin = tuple(self.snapshot(coordinate) for coordinate in origin)

        def read(at: Coordinates) -> Number:
            coordinates = tuple(self._plus(start, step) for start, step in zip(origin, at, strict=True))
            if inside:
                return self.number(self.load(view, coordinates))
            value = Number(self.converted(fill, view.dtype), view.dtype)
            variable = self.k.variable(value.ref)
            with self.k.if_(self._all_below(coordinates, lengths)):
                self.k.assign(variable, self.number(self.load(view, coordinates)).ref)
            return Number(self.k.let(variable), view.dtype)

        return LoadedTile(shape, view.dtype, read)

    def mapped(self, function: Callable[..., Value], *operands: Value) -> Tile:
        """A function of tiles and numbers, element by element, broadcast as NumPy does."""
        shapes = [operand.shape for operand in operands if is_tile(operand)]
        try:
            shape = broadcast_shapes(*shapes)
        except ShapeError as error:
            raise self.fault(f"tiles of shapes {' and '.join(map(str, shapes))}", error.remedy, ShapeError) from None
        coordinates = self._coordinates(shape)
        readers = [self._reader(operand, shape) if is_tile(operand) else None for operand in operands]
        elements = []
        for number, at in enumerate(coordinates):
            values = [
                operand if reader is None else reader(number, at)
                for operand, reader in zip(operands, readers, strict=True)
            ]
            elements.append(self.number(function(*values)))
        return Tile(shape, elements[0].dtype, tuple(elements))

    def _reader(self, tile: AnyTile, shape: TileShape) -> Callable[[int, Coordinates], Number]:
        """How the element of a tile is had at an element of a tile of a shape that it broadcasts to."""
        if isinstance(tile, Tile) and tile.shape == shape:
            return lambda number, at: tile.elements[number]
        read = tile.read if isinstance(tile, LoadedTile) else self.shared(tile)

        def at_own(number: int, at: Coordinates) -> Number:
            own = self._within(shape, at)[len(at) - len(tile.shape) :]
            return read(
                tuple(0 if length == 1 else coordinate for coordinate, length in zip(own, tile.shape, strict=True))
            )

        return at_own

    # ------------------------------------------------------------------ through local memory

    def shared(self, tile: AnyTile) -> Callable[[Coordinates], Number]:
        """The tile in local memory, where any item of the group may read any element."""
        array = self.new_array(tile.shape, tile.dtype, "local", "shared")
        self.k.barrier()
        self._store_shared(tile, array)
        self.k.barrier()
        return lambda at: self.number(self.load(array, at))

    def _store_shared(self, tile: AnyTile, array: ArrayView) -> None:
        """The group stores a tile in local memory: what is read from an array, in the order that it lies there."""
        if isinstance(tile, Tile):
            for at, element in zip(self._coordinates(tile.shape), tile.elements, strict=True):
                self._where(self._inside_tile(tile.shape, at), partial(self.store, array, at, element))
            return
        size, item = math.prod(tile.shape), self.index_number(self.linear_id())
        for first in range(0, size, self.group_items):
            linear = self._plus(item, first)
            at = self._unraveled(linear, tile.shape)
            inside = None
            if first + self.group_items > size:
                inside = self.k.op("lt", self.index(linear), self._constant(size, self.index_type))
            self._where(inside, partial(self._copy_element, tile, array, at))

    def _copy_element(self, tile: LoadedTile, array: ArrayView, at: Coordinates) -> None:
        self.store(array, at, tile.read(at))

    def _unraveled(self, linear: Value, shape: TileShape) -> Coordinates:
        if len(shape) == 1:
            return (linear,)
        return self.binary("floordiv", linear, shape[1]), self.binary("rem", linear, shape[1])

    def _where(self, inside: Ref | None, effect: Callable[[], Any]) -> None:
        if inside is None:
            effect()
        else:
            with self.k.if_(inside):
                effect()

    # ------------------------------------------------------------------ products and reductions

    def dot(self, acc: Tile, left: AnyTile, right: AnyTile) -> Tile:
        """acc + left @ right: `acc = fma(left[i, k], right[k, j], acc)` for ascending k, in the dtype of `acc`."""
        (height, inner), (inner_too, width) = left.shape, right.shape
        if inner != inner_too or acc.shape != (height, width):
            raise self.fault(
                f"a product of shapes {left.shape} and {right.shape} into {acc.shape}",
                "use (m, k) and (k, n) into (m, n)",
                ShapeError,
            )
        if not acc.dtype.is_float:
            raise self.fault(f"a product into {dtype_name(acc.dtype)}", "use a tile of floats", DTypeError)
        pairs = (left, "left"), (right, "right")
        shared = [self.new_array(tile.shape, tile.dtype, "local", name) for tile, name in pairs]
        self.k.barrier()
        for tile, array in zip((left, right), shared, strict=True):
            self._store_shared(tile, array)
        self.k.barrier()
        grid = self._grid(acc.shape)
        coordinates = self._coordinates(acc.shape)
        sums = [self.k.variable(element.ref, hint="acc") for element in acc.elements]
        rows = [coordinates[row * grid.columns][0] for row in range(grid.rows)]
        columns = [coordinates[column][1] for column in range(grid.columns)]
        exact = self._is_exact(acc.shape)
        with self.k.for_(0, inner, dtype=self.index_type, hint="k", unroll=min(inner, 8)) as k:
            at = self.index_number(k)
            a = [self._operand_of(shared[0], (row, at), acc.dtype, height if not exact else None, 0) for row in rows]
            b = [self._operand_of(shared[1], (at, col), acc.dtype, width if not exact else None, 1) for col in columns]
            for number, (row, column) in enumerate(grid.own_elements()):
                self.k.assign(sums[number], self.k.op("fma", a[row], b[column], sums[number]))
        return Tile(acc.shape, acc.dtype, tuple(self._rounded(total, acc.dtype) for total in sums))

    def _rounded(self, total: Ref, dtype: DType) -> Number:
        """What a variable holds now; halves are added up in float32 and rounded once."""
        ref = self.k.let(total)
        return Number(self.k.op("round_f16", ref) if dtype is F16 else ref, dtype)

    def _operand_of(self, array: ArrayView, at: Coordinates, dtype: DType, length: int | None, axis: int) -> Ref:
        """An element of an operand; beyond the tile, some other one, whose products nobody looks at."""
        if length is not None:
            last = self.numeric("minimum", at[axis], length - 1)
            at = (last, at[1]) if axis == 0 else (at[0], last)
        return self.converted(self.load(array, at), dtype)

    def reduced(self, tile: AnyTile, op: str, axis: int) -> Tile:
        """The elements of a tile joined along an axis, in ascending order."""
        read = self.shared(tile)
        shape = tuple(length for number, length in enumerate(tile.shape) if number != axis) or (1,)
        elements = []
        for at in self._coordinates(shape):
            kept = self._within(shape, at) if len(tile.shape) > 1 else ()
            total = self.k.variable(read((*kept[:axis], 0, *kept[axis:])).ref, hint="total")
            with self.k.for_(1, tile.shape[axis], dtype=self.index_type, hint="k") as k:
                element = (*kept[:axis], self.index_number(k), *kept[axis:])
                self.k.assign(total, self.k.op(op, total, read(element).ref))
            elements.append(self._rounded(total, tile.dtype))
        return Tile(shape, tile.dtype, tuple(elements))

    def store_tile(self, view: ArrayView, origin: Coordinates, tile: AnyTile) -> None:
        """Writes a tile from an origin on; what would lie outside of the array is not stored."""
        lengths = tuple(self.size(length) for length in view.shape)
        held = self.in_registers(tile)
        for at, element in zip(self._coordinates(tile.shape), held.elements, strict=True):
            coordinates = tuple(self._plus(start, step) for start, step in zip(origin, at, strict=True))
            inside = self._all_below(coordinates, lengths)
            own = self._inside_tile(tile.shape, at)
            if own is not None:
                inside = self.k.op("and", inside, own)
            with self.k.if_(inside):
                self.store(view, coordinates, element)
