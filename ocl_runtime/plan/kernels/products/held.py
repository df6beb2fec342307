"""Products of tf32 by instructions of warpgroups, where an operand is not turned: work-items hold it.

Instructions read tf32 from local memory only in rows along the inner axis. An operand whose elements lie next to each
other along its own axis is therefore read by the work-items, and is the left one of the instruction; where it is the
right one of the product, the instruction computes the transposed tile. What a step needs of it is read in two parts:
while one is multiplied, the other one is read.

Which of its rows are rows of the instruction does not matter. Rows `g` and `g + 8`, of which a work-item has elements,
are neighbours in memory, and the others lie so that the words that work-items read together are all in other banks.
"""

from __future__ import annotations

from collections.abc import Callable

from ocl_ir.kernel.asynchronous import ROW_BYTES, ROWS, STEP_BYTES
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import U32, U64
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.products.stage import nothing
from ocl_runtime.plan.kernels.products.tile import WarpgroupTile
from ocl_runtime.plan.kernels.products.warpgroup import WarpgroupFragments, WarpgroupStage

_PARTS = 2
"""Of a step, that are read one after the other."""
_WORDS = 4
"""That a work-item holds for an instruction."""
_ROW_WORDS = ROW_BYTES // U32.size


class HeldFragments(WarpgroupFragments):
    """What a work-item has of the tile, and of an operand."""

    def __init__(self, body: Body, tile: WarpgroupTile, left: WarpgroupStage, right: WarpgroupStage, item: Ref) -> None:
        super().__init__(body, tile, left, right, item)
        k = self._k
        self._side, self._other = (right, left) if tile.transposed else (left, right)
        self._steps = tile.inner * tile.dtype.size // STEP_BYTES // _PARTS
        warp, group = (item >> 5) & 3, (item >> 2) & 7
        self._thread, self._warp, self._group = item & 3, warp, group
        self._unit = k.let((warp & 1) * 2 + (group >> 2) + ((group >> 1) & 1) * 4, "unit")
        self._held = k.array(U32, _PARTS * self._steps * _WORDS, space="private", hint="held")

    def multiply(self, step: Ref, meanwhile: Callable[[], None] = nothing) -> None:
        """Begins the products of a step, given by where it is in local memory. What is to be done `meanwhile` comes
        behind those of its first part."""
        k, tile, other = self._k, self._tile, self._other
        origins, right = self._origins(step), other.begin(step, self._across * tile.width)
        for part in range(_PARTS):
            if part:
                k.await_("products", _PARTS - 1)  # which have read what is overwritten now
            first = part * self._steps
            self._hold(origins, first)
            left_side = self._held, k.const(first * _WORDS, U32), None
            right_side = other.local, right, other.lies
            k.warpgroup_multiply(self._sums, tile.dtype, tile.width, left_side, right_side, self._steps, first=first)
            if part == 0:
                meanwhile()

    def _origins(self, step: Ref) -> list[Ref]:
        """Where a work-item begins to read, in either half of the places of an instruction."""
        k, side = self._k, self._side
        block = (self._down * 2 + (self._warp >> 1)) * (side.part.inner * _ROW_WORDS)
        base = step * side.part.step_length + side.part.start + block + self._thread * _ROW_WORDS
        unit, within = self._unit ^ self._thread, (self._group & 1) * 2
        places = [base + (unit * 4 + within), base + ((unit ^ 4) * 4 + within + 4 * _ROW_WORDS)]
        return [k.convert(place, U64, hint="held_at") for place in places]

    def _hold(self, origins: list[Ref], first: int) -> None:
        """Reads what some instructions from the `first` one of a step on take."""
        k = self._k
        for step in range(first, first + self._steps):
            for half, origin in enumerate(origins):
                pair = k.load(self._side.local, origin + step * 8 * _ROW_WORDS, count=2, align=8, hint="pair")
                for row in range(2):
                    k.store(self._held, step * _WORDS + half * 2 + row, k.op("extract", pair, row))

    def store_band(self, band: int, local: Ref) -> None:
        """Stores the sums of a band in local memory: those of one warp of each warpgroup, or, where the tile is
        transposed, of two fragments."""
        k, tile = self._k, self._tile
        if not tile.transposed:
            super().store_band(band, local)
            return
        column = self._down * ROWS + (self._warp >> 1) * 32 + self._unit * 4 + (self._group & 1) * 2
        row = self._across * tile.band + self._thread
        at = k.let(row * tile.row_length + column + tile.band_start, "sums_at")
        for fragment in range(tile.band // 8):
            for step in range(2):
                first = (band * (tile.band // 8) + fragment) * 4 + step
                pair = [k.load(self._sums, first + 2 * lower) for lower in range(2)]
                place = at + (8 * fragment + 4 * step) * tile.row_length
                k.store(local, place, k.bitcast(k.op("vector", *pair), U32), align=8)
