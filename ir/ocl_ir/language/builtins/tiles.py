"""Tiles: small arrays of a size that is known, which belong to a whole work-group and lie in its registers.

Each work-item holds a few elements, in a grid that depends on the shape alone (`ocl_ir.language.values.grids`). What is
loaded is read where it is used, or kept in registers once it has a name; where arrays lie in whole units, neighbours
are read and stored together. What others hold is read through local memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ocl_ir.errors import ShapeError
from ocl_ir.language.builtins.tile_products import TileProducts
from ocl_ir.language.values.table import Builtin
from ocl_ir.language.values.values import (
    AnyTile,
    Coordinates,
    LoadedTile,
    Number,
    Tile,
    TileShape,
    Value,
    is_tile,
)
from ocl_ir.layout import broadcast_shapes


class Tiles(TileProducts):
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
                return self._turned(value)
            case "astype":
                return Builtin(name, lambda t, dtype: t.mapped(lambda v: t.cast(v, t.dtype_of(dtype)), value))
            case "sum" | "max" | "min":
                op = {"sum": "add", "max": "maximum", "min": "minimum"}[name]
                return Builtin(name, lambda t, axis: t.reduced(value, op, self._axis(value, axis)))
        raise self.fault(
            f"{name} of {value} has no meaning in a kernel", "tiles have shape, dtype, T, astype, sum, max and min"
        )

    def _turned(self, tile: AnyTile) -> LoadedTile:
        """Rows as columns."""
        own = self.in_memory(tile)
        bits = own.bits
        return replace(
            own,
            shape=own.shape[::-1],
            read=lambda at, count=1: own.read(at[::-1], count),
            axis=1 - own.axis,
            bits=None if bits is None else lambda at, count=1: bits(at[::-1], count),
        )

    def _axis(self, value: AnyTile, axis: Value) -> int:
        if not isinstance(axis, int) or not -len(value.shape) <= axis < len(value.shape):
            raise self.fault(f"axis {self.described(axis)} of {value}", "use one that it has", ShapeError)
        return axis % len(value.shape)

    # ------------------------------------------------------------------ element by element

    def mapped(self, function: Callable[..., Value], *operands: Value) -> Tile:
        """A function of tiles and numbers, element by element, broadcast as NumPy does."""
        shapes = [operand.shape for operand in operands if is_tile(operand)]
        try:
            shape = broadcast_shapes(*shapes)
        except ShapeError as error:
            raise self.fault(f"tiles of shapes {' and '.join(map(str, shapes))}", error.remedy, ShapeError) from None
        coordinates = self.coordinates(shape)
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
        read = self.in_memory(tile).read

        def at_own(number: int, at: Coordinates) -> Number:
            own = self.within(shape, at)[len(at) - len(tile.shape) :]
            return read(
                tuple(0 if length == 1 else coordinate for coordinate, length in zip(own, tile.shape, strict=True))
            )

        return at_own

    def reduced(self, tile: AnyTile, op: str, axis: int) -> Tile:
        """The elements of a tile joined along an axis, in ascending order."""
        read = self.shared(tile).read
        shape = tuple(length for number, length in enumerate(tile.shape) if number != axis) or (1,)
        elements = []
        for at in self.coordinates(shape):
            kept = self.within(shape, at) if len(tile.shape) > 1 else ()
            total = self.k.variable(read((*kept[:axis], 0, *kept[axis:])).ref, hint="total")
            with self.k.for_(1, tile.shape[axis], dtype=self.index_type, hint="k") as k:
                element = (*kept[:axis], self.index_number(k), *kept[axis:])
                self.k.assign(total, self.k.op(op, total, read(element).ref))
            elements.append(self.rounded(total, tile.dtype))
        return Tile(shape, tile.dtype, tuple(elements))
