"""Products by fused multiply-adds: how operands lie in local memory, and what each work-item adds up.

A part in local memory has a row for each place along the inner axis. So a work-item reads neighbouring rows of the left
matrix and neighbouring columns of the right one as vectors, and elements that lie next to each other along the inner
axis are stored one by one.
"""

from __future__ import annotations

from ocl_ir.kernel.operands import Ref
from ocl_ir.types import U64, with_lanes
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.products.stage import Operand, Part, Stage
from ocl_runtime.plan.kernels.products.tile import ACROSS, WARP, Tile


class FmaStage(Stage):
    """An operand in local memory, in rows along its own axis."""

    def __init__(self, body: Body, operand: Operand, local: Ref, part: Part, tile: Tile) -> None:
        unit = (operand.wide, 1) if operand.turned else (1, operand.wide)
        super().__init__(body, operand, local, part, unit=unit, loads=range(1), dtype=tile.dtype, lanes=operand.wide)
        self._row_length = part.length + tile.pad
        self._tile = tile

    def local_offset(self, inner: Ref, own: Ref) -> Ref:
        """Where a unit lies in the part."""
        return inner * self._row_length + own

    def store(self, at: Ref, held: list[Ref]) -> None:
        """Stores a unit, turned if it lies along the inner axis."""
        (unit,), wide = held, self.operand.wide
        if not self.operand.turned:
            self.k.store(self.local, at, unit, align=self._tile.dtype.size * wide)
            return
        for lane in range(wide):
            value = unit if wide == 1 else self.k.op("extract", unit, lane)
            self.k.store(self.local, at + lane * self._row_length, value)

    def origin(self, step: Ref, own: Ref) -> Ref:
        """Where the first row begins at a place. It is as wide as an address, so that what is read beside it, steps
        that are known away, has the same address, to which loads add the steps themselves."""
        return self.k.convert(
            step * self.part.step_length + (own + self.part.start), U64, hint=f"{self.operand.access.name}_at"
        )

    def read(self, origin: Ref, inner: Ref, steps: int) -> Ref:
        """A fragment, some steps along a row."""
        tile, at = self._tile, origin + (inner * self._row_length + steps)
        hint = f"{self.operand.access.name}_part"
        return self.k.load(self.local, at, count=tile.lanes, align=tile.dtype.size * tile.lanes, hint=hint)


class FmaFragments:
    """What a work-item has of the tile: a vector for each of its rows and fragments across."""

    pending = 0

    def __init__(self, body: Body, tile: Tile, left: FmaStage, right: FmaStage, item: Ref) -> None:
        """Neighbouring work-items go down and across in turns, so that eight of them, which a GPU serves at once, read
        few different vectors."""
        k = body.k
        self._k, self._tile, self._left, self._right = k, tile, left, right
        warp, lane = item >> 5, item & (WARP - 1)
        down, across = (lane >> 4) * 2 + (lane & 1), (lane >> 1) & (ACROSS - 1)
        warp_down = k.op("udiv", warp, body.const(tile.warps[1]))
        warp_across = k.op("urem", warp, body.const(tile.warps[1]))
        self._row = k.let(warp_down * (tile.rows // tile.warps[0]) + down * tile.lanes, "own_row")
        self._column = k.let(warp_across * (tile.columns // tile.warps[1]) + across * tile.lanes, "own_column")
        self._band_row = k.let(warp_down * tile.band + down * tile.lanes, "band_row")
        zero = k.const(0.0 if tile.dtype.is_inexact else 0, with_lanes(tile.dtype, tile.lanes))
        self._sums = [
            [k.variable(zero, hint=f"sum_{row}_{fragment}") for fragment in range(tile.fragments[1])]
            for row in range(tile.fragments[0] * tile.lanes)
        ]

    def multiply(self, step: Ref) -> None:
        """Adds the products of a step, given by where it is in local memory, in ascending order."""
        k, tile, across = self._k, self._tile, ACROSS * self._tile.lanes
        left_at, right_at = self._left.origin(step, self._row), self._right.origin(step, self._column)
        with k.for_(0, tile.inner, dtype=U64, hint="i", unroll=tile.inner) as i:
            rows = [self._left.read(left_at, i, number * tile.band) for number in range(tile.fragments[0])]
            columns = [self._right.read(right_at, i, number * across) for number in range(tile.fragments[1])]
            for row, sums in enumerate(self._sums):
                vector, lane = rows[row // tile.lanes], row % tile.lanes
                factor = vector if tile.lanes == 1 else k.splat(k.op("extract", vector, lane), tile.lanes)
                for sum_, other in zip(sums, columns, strict=True):
                    k.assign(sum_, self._added(factor, other, sum_))

    def _added(self, left: Ref, right: Ref, sum_: Ref) -> Ref:
        return self._k.op("fma", left, right, sum_) if self._tile.dtype.is_inexact else left * right + sum_

    def store_band(self, band: int, local: Ref) -> None:
        """Stores the sums of a band in local memory."""
        k, tile, lanes = self._k, self._tile, self._tile.lanes
        for step in range(lanes):
            at = (self._band_row + step) * tile.row_length + self._column
            for fragment, sum_ in enumerate(self._sums[band * lanes + step]):
                k.store(local, at + fragment * ACROSS * lanes, sum_, align=tile.dtype.size * lanes)
