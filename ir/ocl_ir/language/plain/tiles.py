"""What tiles are for a work-item that is a thread: the elements that it holds, and those of the others by a barrier."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ocl_ir.errors import DTypeError, ShapeError
from ocl_ir.language.plain.arrays import PlainArray
from ocl_ir.language.plain.names import dtype_of
from ocl_ir.language.plain.numbers import Operators, apply, binary, cast, class_of, give_operators, plain, unary
from ocl_ir.language.plain.work_item import running
from ocl_ir.language.syntax.products import adds_a_product
from ocl_ir.language.values.grids import Grid
from ocl_ir.language.values.table import Elements
from ocl_ir.layout import broadcast_shapes
from ocl_ir.numpy_functions import maximum, minimum
from ocl_ir.ops import OPS
from ocl_ir.types import BF16, F16, F32, DType, from_numpy

Coordinates = tuple[int, ...]


class PlainTile(Elements, Operators):
    """The elements of a tile that a work-item holds."""

    __slots__ = ("elements", "shape", "type")

    def __init__(self, shape: Coordinates, type_: DType, elements: list[Any]) -> None:
        self.shape, self.type, self.elements = shape, type_, elements

    def __repr__(self) -> str:
        return f"a tile of {self.shape} elements of {self.type}, of which this work-item holds {self.elements}"

    @classmethod
    def mapped(cls, function: Callable[..., Any], *operands: Any) -> PlainTile:
        """A function of tiles and numbers, element by element, broadcast as NumPy does."""
        shape = broadcast_shapes(*[operand.shape for operand in operands if isinstance(operand, PlainTile)])
        readers = [operand._reader(shape) if isinstance(operand, PlainTile) else None for operand in operands]
        elements = [
            function(*[x if read is None else read(number, at) for x, read in zip(operands, readers, strict=True)])
            for number, at in enumerate(_own_coordinates(shape))
        ]
        class_ = class_of(elements[0])
        assert class_ is not None
        return cls(shape, class_.dtype or from_numpy("i4"), elements)

    def _reader(self, shape: Coordinates) -> Callable[[int, Coordinates], Any]:
        if shape == self.shape:
            return lambda number, at: self.elements[number]
        whole = self.whole()

        def read(number: int, at: Coordinates) -> Any:
            own = _within(shape, at)[len(at) - len(self.shape) :]
            return whole[
                tuple(0 if length == 1 else coordinate for coordinate, length in zip(own, self.shape, strict=True))
            ]

        return read

    def whole(self) -> Mapping[Coordinates, Any]:
        """All elements, by coordinates."""
        posted = running("a tile").meet("a tile", self.elements)
        return {
            at: element
            for item, elements in enumerate(posted)
            for at, element in zip(_coordinates(self.shape, item), elements, strict=True)
        }

    def _read_anew(self, shape: Coordinates, read: Callable[[Coordinates], Any]) -> PlainTile:
        return PlainTile(shape, self.type, [read(_within(shape, at)) for at in _own_coordinates(shape)])

    # ------------------------------------------------------------------ operators

    def __bool__(self) -> bool:
        raise DTypeError("a tile is no condition", remedy="test its elements: where(tile > 0, …)")

    def __neg__(self) -> PlainTile:
        return self.mapped(lambda v: unary("neg", v), self)

    def __invert__(self) -> PlainTile:
        return self.mapped(lambda v: unary("not", v), self)

    def __abs__(self) -> PlainTile:
        return self.mapped(abs, self)

    def __matmul__(self, other: PlainTile) -> Product:
        return Product(self, other)

    def __iadd__(self, other: Any) -> PlainTile:
        if isinstance(other, Product) and adds_a_product(sys._getframe(1)):
            return dot(self, other.left, other.right)
        return self.mapped(lambda a, b: binary("add", a, b), self, other)

    # ------------------------------------------------------------------ what kernels ask of tiles

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self.type.numpy

    @property
    def T(self) -> PlainTile:  # noqa: N802
        """Rows as columns."""
        whole = self.whole()
        return self._read_anew(self.shape[::-1], lambda at: whole[at[::-1]])

    def astype(self, dtype: Any) -> PlainTile:
        """The elements in a dtype."""
        return self.mapped(lambda v: cast(v, dtype_of(dtype)), self)

    def sum(self, axis: int) -> PlainTile:
        """The sums along an axis, in ascending order."""
        return self._reduced(np.add, axis)

    def max(self, axis: int) -> PlainTile:
        """The largest along an axis."""
        return self._reduced(maximum, axis)

    def min(self, axis: int) -> PlainTile:
        """The least along an axis."""
        return self._reduced(minimum, axis)

    def _reduced(self, join: Callable[..., Any], axis: int) -> PlainTile:
        axis %= len(self.shape)
        whole, computed = self.whole(), _computed_in(self.type)
        shape = tuple(length for number, length in enumerate(self.shape) if number != axis) or (1,)

        def read(at: Coordinates) -> Any:
            kept = at if len(self.shape) > 1 else ()
            total = whole[*kept[:axis], 0, *kept[axis:]]
            for index in range(1, self.shape[axis]):
                total = apply(join, computed, total, whole[*kept[:axis], index, *kept[axis:]])
            return cast(total, self.type)

        return self._read_anew(shape, read)


class Product(PlainTile):
    """`a @ b`, of which `acc += a @ b`, written out, adds each product to `acc`."""

    __slots__ = ("left", "right")

    def __init__(self, left: PlainTile, right: PlainTile) -> None:
        self.left, self.right = left, right
        made = dot(tile((left.shape[0], right.shape[1]), left.type), left, right)
        super().__init__(made.shape, made.type, made.elements)


def _mapped(op: str) -> Callable[[PlainTile, Any], PlainTile]:
    return lambda self, other: PlainTile.mapped(lambda a, b: binary(op, a, b), self, other)


def _mapped_reflected(op: str) -> Callable[[PlainTile, Any], PlainTile]:
    return lambda self, other: PlainTile.mapped(lambda a, b: binary(op, b, a), self, other)


give_operators(PlainTile, _mapped, _mapped_reflected)


# ---------------------------------------------------------------------- builtins


def tile(shape: Any, dtype: Any, fill: Any = 0) -> PlainTile:
    """A tile of one value."""
    lengths, type_ = _lengths(shape), dtype_of(dtype)
    return PlainTile(lengths, type_, [cast(fill, type_) for _ in _own_coordinates(lengths)])


def load_tile(x: PlainArray, origin: Any, shape: Any, fill: Any = 0, *, inside: Any = False) -> PlainTile:
    """The elements of an array from an origin on; those outside of the array are `fill`."""
    lengths, first = _lengths(shape), _lengths(origin)
    type_ = F32 if x.type is BF16 else x.type

    def read(at: Coordinates) -> Any:
        coordinates = tuple(start + step for start, step in zip(first, at, strict=True))
        return x[coordinates] if inside or _is_below(coordinates, x.data.shape) else cast(fill, type_)

    return PlainTile(lengths, type_, [read(_within(lengths, at)) for at in _own_coordinates(lengths)])


def store_tile(x: PlainArray, origin: Any, value: PlainTile) -> None:
    """Writes a tile from an origin on; what would lie outside is not stored."""
    first = _lengths(origin)
    for at, element in zip(_own_coordinates(value.shape), value.elements, strict=True):
        coordinates = tuple(start + step for start, step in zip(first, at, strict=True))
        if _is_below(at, value.shape) and _is_below(coordinates, x.data.shape):
            x[coordinates] = element


def dot(acc: PlainTile, a: PlainTile, b: PlainTile, *, matrix: bool = False) -> PlainTile:
    """`acc + a @ b` by `fma`, in ascending order of the inner axis, which is one of those that `matrix` allows."""
    if a.shape[1] != b.shape[0] or acc.shape != (a.shape[0], b.shape[1]):
        raise ShapeError(f"a product of shapes {a.shape} and {b.shape} into {acc.shape}")
    left, right, computed = a.whole(), b.whole(), _computed_in(acc.type)
    elements = []
    for at, total in zip(_own_coordinates(acc.shape), acc.elements, strict=True):
        row, column = _within(acc.shape, at)
        for k in range(a.shape[1]):
            total = apply(OPS["fma"].reference, computed, left[row, k], right[k, column], total)  # noqa: PLW2901
        elements.append(cast(total, acc.type))
    return PlainTile(acc.shape, acc.type, elements)


# ---------------------------------------------------------------------- who holds what


def _computed_in(dtype: DType) -> DType:
    """Halves are added up in float32."""
    return F32 if dtype is F16 else dtype


def _lengths(numbers: Any) -> Coordinates:
    return tuple(int(plain(number)) for number in (numbers if isinstance(numbers, tuple) else (numbers,)))


def _own_coordinates(shape: Coordinates) -> list[Coordinates]:
    return _coordinates(shape, running("a tile").number)


def _coordinates(shape: Coordinates, item: int) -> list[Coordinates]:
    """Where the elements of a work-item are, as on some GPU; coordinates beyond the tile are nobody's."""
    grid = Grid.of(shape, math.prod(running("a tile").launch.group))
    rows, columns = (
        [place * lanes + step for step in grid.steps(axis)]
        for axis, (place, lanes) in enumerate(zip(grid.place(item), grid.lanes, strict=True))
    )
    pairs = [(rows[row], columns[column]) for row, column in grid.own_elements()]
    return [pair if len(shape) == 2 else pair[1:] for pair in pairs]


def _within(shape: Coordinates, at: Coordinates) -> Coordinates:
    return tuple(min(coordinate, length - 1) for coordinate, length in zip(at, shape, strict=True))


def _is_below(at: Coordinates, lengths: Coordinates) -> bool:
    return all(0 <= coordinate < length for coordinate, length in zip(at, lengths, strict=True))
