"""How the work-items of a group share the elements of a tile, and how many of them are a sub-group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from ocl_ir.kernel.matrix_instruction import Axis, MatrixInstruction

_LARGEST_SUBGROUP = 32
_WARP = 32
"""Work-items that a GPU runs together."""
_MOST_LANES = 4

Order = Literal["rows", "turns", "fragments"]
"""Row by row; in patches of 4 rows by 8 columns, in which neighbours go down and across in turns; or in those of a
matrix instruction's sums."""


def subgroup_size(items: int) -> int:
    """How many work-items the sub-groups of a group have."""
    return min(_LARGEST_SUBGROUP, items & -items)


class Patch(NamedTuple):
    """What a matrix instruction's sums are along an axis: `items` in a row from bit `bit` of the lane on, each with
    `each` places, of which `lanes` are neighbours: all or one."""

    items: int
    bit: int
    each: int
    lanes: int

    def place(self, lane: Any, size: int) -> Any:
        """Where a lane is, in sub-groups of a size."""
        if self.items == 1:
            return 0
        above = lane >> self.bit if self.bit else lane
        return above if self.items << self.bit == size else above & (self.items - 1)


@lru_cache(maxsize=64)
def patch_of(instruction: MatrixInstruction, axis: Axis) -> Patch:
    """The sums of an instruction along an axis."""
    (digit, bit), element = instruction.sums.lane_digit(axis), instruction.sums.element_digit(axis)
    return Patch(digit.length, bit, element.length, element.length if element.step == 1 else 1)


@dataclass(frozen=True, slots=True)
class Grid:
    """How the work-items of a group share a tile: `down` by `across` items, each with `rows` by `columns` elements.

    `lanes` neighbouring rows and columns are one item's, and its next ones begin behind those of all items: so what an
    item reads are vectors, and neighbours read neighbouring ones. Patches in "fragments" are those of the
    `instruction`.
    """

    down: int
    across: int
    rows: int
    columns: int
    lanes: tuple[int, int] = (1, 1)
    order: Order = "rows"
    instruction: MatrixInstruction | None = None

    @classmethod
    def of(cls, shape: tuple[int, ...], items: int) -> Grid:
        """The grid for a tile: the one in which items have as few elements as possible, and in which a product reads
        the fewest vectors of its operands; then the one with the longest vectors along rows."""
        height, width = shape if len(shape) == 2 else (1, shape[0])
        return _chosen(height, width, items)

    @classmethod
    def in_rows(cls, shape: tuple[int, ...], down: int, across: int) -> Grid | None:
        """The grid in which neighbouring items have neighbouring columns, one by one, of which a CPU's compiler makes
        vectors. None where they do not divide the tile's columns."""
        if len(shape) != 2 or shape[1] % across:
            return None
        return cls(down, across, -(-shape[0] // down), shape[1] // across)

    @classmethod
    def of_fragments(cls, shape: tuple[int, ...], items: int, instruction: MatrixInstruction) -> Grid | None:
        """The grid in which an item has what a matrix instruction adds up: some rows and columns of each of its
        matrices of sums. None where these do not divide the tile, or sub-groups are not whole."""
        if len(shape) != 2 or items % instruction.size:
            return None
        (height, width), warps = shape, items // instruction.size
        rows, columns = instruction.rows, instruction.columns
        sides = [(warps // across, across) for across in range(1, warps + 1) if warps % across == 0]
        fitting = [
            (down, across) for down, across in sides if height % (rows * down) == width % (columns * across) == 0
        ]
        if not fitting:
            return None
        down, across = min(fitting, key=lambda side: (height // side[0] + width // side[1], side[0]))
        patch = [patch_of(instruction, axis) for axis in ("row", "column")]
        items_down, items_across = down * patch[0].items, across * patch[1].items
        lanes = patch[0].lanes, patch[1].lanes
        each = height // items_down, width // items_across
        return cls(items_down, items_across, *each, lanes, "fragments", instruction)

    def place(self, item: Any) -> tuple[Any, Any]:
        """Where an item, given by its number, is in the grid: down and across. Eight items that a GPU serves at once
        read few different vectors, when neighbours go down and across in turns."""
        if self.order == "rows":
            return (0, item) if self.down == 1 else _split(item, self.across)
        (patch_down, patch_across), lane = self.patch(item)
        if self.instruction is None:
            return patch_down * 4 + (lane >> 4) * 2 + (lane & 1), patch_across * 8 + ((lane >> 1) & 7)
        rows, columns = (patch_of(self.instruction, axis) for axis in ("row", "column"))
        size = self.instruction.size
        down, across = rows.place(lane, size), columns.place(lane, size)
        return patch_down * rows.items + down, patch_across * columns.items + across

    def patch(self, item: Any) -> tuple[tuple[Any, Any], Any]:
        """The patch that an item is in, down and across, and its number there."""
        size, width = _WARP, 8
        if self.instruction is not None:
            size, width = self.instruction.size, patch_of(self.instruction, "column").items
        warp, lane = item >> (size.bit_length() - 1), item & (size - 1)
        patches = self.across // width
        return ((warp, 0) if patches == 1 else _split(warp, patches)), lane

    def steps(self, axis: int) -> list[int]:
        """How far an item's rows or columns are from its first one, which is `lanes` times its place."""
        count, lanes, items = (
            (self.rows, self.lanes[0], self.down) if axis == 0 else (self.columns, self.lanes[1], self.across)
        )
        return [number // lanes * items * lanes + number % lanes for number in range(count)]

    def covers(self, axis: int, length: int) -> bool:
        """Whether every element that an item has along an axis is one of a tile of that length."""
        return length == (self.rows * self.down if axis == 0 else self.columns * self.across)

    def own_elements(self) -> Iterator[tuple[int, int]]:
        """The number of row and column of each of an item's elements."""
        return ((row, column) for row in range(self.rows) for column in range(self.columns))


def _split(number: Any, length: int) -> tuple[Any, Any]:
    """The quotient and the rest."""
    if length & (length - 1):
        return number // length, number % length
    return number >> length.bit_length() - 1, number & length - 1


@lru_cache(maxsize=1024)
def _chosen(height: int, width: int, items: int) -> Grid:
    grids = [_grid(height, width, items // across, across) for across in range(1, items + 1) if items % across == 0]
    return min(
        grids,
        key=lambda grid: (
            grid.rows * grid.columns,
            grid.rows // grid.lanes[0] + grid.columns // grid.lanes[1],
            -grid.lanes[1],
            -grid.across,
        ),
    )


def _grid(height: int, width: int, down: int, across: int) -> Grid:
    in_turns = down % 4 == 0 and across % 8 == 0
    return Grid(
        down,
        across,
        -(-height // down),
        -(-width // across),
        (_lanes(height, down), _lanes(width, across)),
        "turns" if in_turns else "rows",
    )


def _lanes(length: int, items: int) -> int:
    """How many neighbours are one item's, where all have equally many."""
    return next(lanes for lanes in (_MOST_LANES, 2, 1) if lanes == 1 or length % (items * lanes) == 0)
