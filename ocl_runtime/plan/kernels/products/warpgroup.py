"""Products by instructions of warpgroups, which read both operands from local memory while the work-items go on.

Local memory has several steps of the operands, in rows of 128 bytes whose units of 16 bytes are exchanged by an
exclusive or with the row's number. Work-items begin the copies of a step some turns before they begin its product, and
the product of one step is still at work when that of the next one begins: so a step's memory is free again two turns
later.

In the end four neighbours, who hold pairs of results each, exchange them until each has a vector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext

from ocl_ir.kernel.asynchronous import ROW_BYTES, ROWS, STEP_BYTES, WARPGROUP, Swizzled
from ocl_ir.kernel.operands import Ref
from ocl_ir.program_ops import InlineC
from ocl_ir.types import F32, U32, DType
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.fragments import exchanged
from ocl_runtime.plan.kernels.products.stage import Operand, Part, Stage, nothing
from ocl_runtime.plan.kernels.products.tile import UNIT_BYTES, WarpgroupTile

_ROW_WORDS = ROW_BYTES // 4
_UNIT_WORDS = UNIT_BYTES // 4
WARP_ROWS = 16
"""Of the sums of a warpgroup that one of its warps has."""
_UNITS = ROW_BYTES // UNIT_BYTES
"""Units of a row."""
MOST_LANES = 8
"""Of a vector that neighbours exchange sums for: four of them have two each."""


class WarpgroupStage(Stage):
    """An operand in local memory, in rows of 128 bytes along the axis in which its elements lie next to each other."""

    def __init__(self, body: Body, operand: Operand, local: Ref, part: Part, dtype: DType) -> None:
        unit = (operand.wide, 1) if operand.turned else (1, operand.wide)
        super().__init__(body, operand, local, part, unit=unit, loads=range(1), dtype=U32, lanes=_UNIT_WORDS)
        self.lies = Swizzled(operand.turned, 0 if operand.turned else part.inner * ROW_BYTES, dtype.size)

    @property
    def is_copied(self) -> bool:
        """Whether units lie in local memory as they do in global memory, so that they can be copied."""
        return True

    def local_offset(self, inner: Ref, own: Ref) -> Ref:
        """Where a unit lies in the part."""
        k, const, wide = self.k, self.body.const, self.operand.wide
        row, along = (own, inner) if self.operand.turned else (inner, own)
        unit = k.op("udiv", along, const(wide))
        place = row * _ROW_WORDS + ((unit & (_UNITS - 1)) ^ (row & (_UNITS - 1))) * _UNIT_WORDS
        if self.operand.turned:
            return place
        return place + k.op("udiv", unit, const(_UNITS)) * (self.part.inner * _ROW_WORDS)

    def store(self, at: Ref, held: list[Ref]) -> None:
        """Stores a unit."""
        self.k.store(self.local, at, held[0], align=UNIT_BYTES)

    def begin(self, step: Ref, own: Ref) -> Ref:
        """The word where a warpgroup's part begins, `own` elements along the operand's own axis."""
        return self.k.convert(step * self.part.step_length + (own * _ROW_WORDS + self.part.start), U32)


class WarpgroupFragments:
    """What a work-item has of the tile: the sums of the product of its warpgroup."""

    pending = 1

    def __init__(self, body: Body, tile: WarpgroupTile, left: WarpgroupStage, right: WarpgroupStage, item: Ref) -> None:
        k = body.k
        self._k, self._tile, self._left, self._right, self._item = k, tile, left, right, item
        self._index, self._const = body.index, body.const
        group = k.op("udiv", item, body.const(WARPGROUP))
        self._down = k.let(k.op("udiv", group, body.const(tile.warps[1])), "down")
        self._across = k.let(k.op("urem", group, body.const(tile.warps[1])), "across")
        self._sums = k.array(F32, tile.width // 2, space="private", hint="sums")
        self.clear()

    def clear(self) -> None:
        """Begins a tile."""
        count = self._tile.width // 2
        with self._k.for_(0, count, hint="i", unroll=count) as i:
            self._k.store(self._sums, i, 0.0)

    def multiply(self, step: Ref, meanwhile: Callable[[], None] = nothing) -> None:
        """Begins the products of a step, given by where it is in local memory. What is to be done `meanwhile` comes
        first, since products of the step before go on."""
        meanwhile()
        tile = self._tile
        left = self._left.begin(step, self._down * ROWS)
        right = self._right.begin(step, self._across * tile.width)
        self._k.warpgroup_multiply(
            self._sums,
            tile.dtype,
            tile.width,
            (self._left.local, left, self._left.lies),
            (self._right.local, right, self._right.lies),
            tile.inner * tile.dtype.size // STEP_BYTES,
        )

    def vectors(self, lanes: int, pack: InlineC | None = None) -> Iterator[tuple[Ref, Ref, Ref]]:
        """Vectors of `lanes` sums, up to 8, each with its row and its number in the tile's row. With `pack`, which
        makes a word of two, they are words of 8 sums."""
        k, tile, thread = self._k, self._tile, self._item & 3
        first_row = k.let(self._down * ROWS + ((self._item >> 5) & 3) * WARP_ROWS + ((self._item >> 2) & 7), "own_row")
        fragments = max(1, lanes // 2)
        own = (thread & (fragments - 1)) * 8 + k.op("udiv", thread, self._const(fragments)) * (2 * fragments)
        first = k.op("udiv", own, self._const(lanes)) + self._across * (tile.width // lanes)
        for half in range(2):
            count = tile.width // 8
            with k.for_(0, count, fragments, dtype=self._index, hint="fragment", unroll=count // fragments) as fragment:
                held = []
                for number in range(fragments):
                    pair = [k.load(self._sums, (fragment + number) * 4 + (2 * half + step)) for step in range(2)]
                    held.append(pair if pack is None else [k.op(pack, *pair)])
                values = exchanged(k, self._item, held)
                vector = first + fragment * (8 // lanes)
                if lanes == 1:
                    yield from ((first_row + 8 * half, vector + step, value) for step, value in enumerate(values))
                else:
                    yield first_row + 8 * half, vector, k.op("vector", *values)

    def store_band(self, band: int, local: Ref) -> None:
        """Stores the sums of a band in local memory: those of some warps of each warpgroup."""
        k, tile = self._k, self._tile
        warp, group, warps = (self._item >> 5) & 3, (self._item >> 2) & 7, tile.band // WARP_ROWS
        with nullcontext() if tile.bands == 1 else k.if_(k.op("eq", k.op("udiv", warp, warps), band)):
            within = warp & (warps - 1)
            self._store_rows(local, self._down * tile.band + within * WARP_ROWS + group)

    def _store_rows(self, local: Ref, row: Ref) -> None:
        """Stores a work-item's part of two rows, the second of which is eight behind."""
        k, tile, thread, count = self._k, self._tile, self._item & 3, self._tile.width // 8
        at = k.let(row * tile.row_length + self._across * tile.width + thread * 2 + tile.band_start, "sums_at")
        with k.for_(0, count, dtype=self._index, hint="fragment", unroll=count) as fragment:
            for lower in range(2):
                pair = [k.load(self._sums, fragment * 4 + (2 * lower + step)) for step in range(2)]
                place = at + lower * 8 * tile.row_length + fragment * 8
                k.store(local, place, k.bitcast(k.op("vector", *pair), U32), align=8)
