"""The panels of a product on a CPU, and how they lie in memory.

The left matrix is packed in *tiles* of some rows, the right one in *panels* of some columns, both cut along the inner
axis in *slices*: what one slice of a tile or a panel has lies in one piece of memory, a *chunk*. In a chunk of the left
matrix each row is contiguous, in one of the right matrix each place along the inner axis is. So both are packed by
vectors where rows of the matrices are contiguous, and a step of the product reads one line of a panel and a number of
each row of a tile, at distances that the code knows.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Panel:
    """A register block has `rows` rows by `vectors` vectors of `lanes` columns; a slice has up to `depth` places along
    the inner axis. Sums between two slices stay in local memory, which has room for `slots` register blocks."""

    rows: int
    vectors: int
    lanes: int
    depth: int
    slots: int

    @property
    def columns(self) -> int:
        """Columns of a panel."""
        return self.vectors * self.lanes

    @property
    def left_chunk(self) -> int:
        """Elements of a slice of a tile."""
        return self.rows * self.depth

    @property
    def right_chunk(self) -> int:
        """Elements of a slice of a panel."""
        return self.depth * self.columns

    @property
    def block(self) -> int:
        """Elements of a register block."""
        return self.rows * self.columns
