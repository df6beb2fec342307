"""The tile of a product that a work-group has, and how its work-items share it.

32 work-items with consecutive ids, a *warp*, have a patch of the tile: four lie down it and eight across. A work-item
has fragments of `lanes` neighbouring rows and as many columns; its next fragment begins behind those of the whole warp,
so that neighbours read neighbouring vectors of local memory.
"""

from __future__ import annotations

from dataclasses import dataclass

WARP = 32
DOWN, ACROSS = 4, 8
"""Work-items of a warp down its patch, and across."""


@dataclass(frozen=True, slots=True)
class Tile:
    """`warps` down and across the tile, and `fragments` of each work-item down and across; a step of the product takes
    `inner` columns of the left matrix and rows of the right one. Rows of local memory are `pad` elements longer."""

    warps: tuple[int, int]
    fragments: tuple[int, int]
    lanes: int
    inner: int
    pad: int

    @property
    def items(self) -> int:
        """Work-items of a group."""
        return WARP * self.warps[0] * self.warps[1]

    @property
    def band(self) -> int:
        """Rows that a warp has of one fragment of each work-item."""
        return DOWN * self.lanes

    @property
    def rows(self) -> int:
        """Rows of the tile."""
        return self.warps[0] * self.fragments[0] * self.band

    @property
    def columns(self) -> int:
        """Columns of the tile."""
        return self.warps[1] * self.fragments[1] * ACROSS * self.lanes

    @property
    def stage_length(self) -> int:
        """Elements of local memory that both operands take in one step."""
        return self.inner * (self.rows + self.columns + 2 * self.pad)

    @property
    def local_length(self) -> int:
        """Elements of local memory: two stages, over which a band of results is laid at the end."""
        return max(2 * self.stage_length, self.warps[0] * self.band * (self.columns + self.pad))
