"""How the work-items of a group share the elements of a tile, and how many of them are a sub-group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_LARGEST_SUBGROUP = 32


def subgroup_size(items: int) -> int:
    """How many work-items the sub-groups of a group have."""
    return min(_LARGEST_SUBGROUP, items & -items)


@dataclass(frozen=True, slots=True)
class Grid:
    """How the work-items of a group share a tile: `down` by `across` items, each with `rows` by `columns` elements."""

    down: int
    across: int
    rows: int
    columns: int

    @classmethod
    def of(cls, shape: tuple[int, ...], items: int) -> Grid:
        """The grid for a tile: of one axis, all items in a row; else as square as the elements of an item can be."""
        if len(shape) == 1:
            return cls(1, items, 1, -(-shape[0] // items))
        height, width = shape
        across = 1
        while across * 2 <= min(items, width) and (items // (across * 2)) * across * 2 == items:
            taller = items // (across * 2)
            if across >= 16 and height / max(1, taller) >= width / across:
                break
            across *= 2
        down = items // across
        return cls(down, across, -(-height // down), -(-width // across))

    def own_elements(self) -> Iterator[tuple[int, int]]:
        """The number of row and column of each of an item's elements."""
        return ((row, column) for row in range(self.rows) for column in range(self.columns))
