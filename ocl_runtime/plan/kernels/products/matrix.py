"""Products by matrix instructions: how operands come to local memory, and what each warp adds up.

`ocl_ir.kernel.matrix_words` says how words lie in local memory, and how they are read. An operand whose elements lie
next to each other along the inner axis is stored as it lies. Of any other one, words are packed where elements have
half of one, and stored in rows along the operand's own axis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ocl_ir import tf32
from ocl_ir.kernel.matrix_instruction import Axis
from ocl_ir.kernel.matrix_words import wide_address, word_of
from ocl_ir.kernel.operands import Ref
from ocl_ir.program_ops import InlineC
from ocl_ir.types import F32, TF32, U16, U32, U64, DType
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.products.stage import Operand, Part, Stage, nothing
from ocl_runtime.plan.kernels.products.tile import UNIT_BYTES, MatrixTile

_HALF = 0xFFFF


_ROUNDED = InlineC('({{ uint y; asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"({0})); y; }})', U32, tf32.away)
"""The tf32 that is nearest to a float32, as the word of it."""


def loaded_dtype(dtype: DType, *, wide: bool) -> DType:
    """As what operands are loaded, several at once or a single one: halves as words or as their bits."""
    if dtype is TF32:
        return F32
    return U16 if dtype.size == U16.size and not wide else word_of(dtype)


class MatrixStage(Stage):
    """An operand in local memory, in words: the left one (side 0) or the right one (1)."""

    def __init__(self, body: Body, operand: Operand, local: Ref, part: Part, tile: MatrixTile, side: int) -> None:
        pack, words, wide = tile.chunks.pack, tile.words, operand.wide > 1
        if wide and operand.turned:
            unit, loads = (operand.wide, 1), range(1)
        else:
            unit, loads = (pack, operand.wide), range(pack)
        dtype = loaded_dtype(tile.dtype, wide=wide)
        super().__init__(body, operand, local, part, unit=unit, loads=loads, dtype=dtype, lanes=words if wide else 1)
        self._tile, self._wide = tile, wide
        self.layout = tile.layouts[side]

    @property
    def is_copied(self) -> bool:
        """Whether units lie in local memory as they do in global memory, so that they can be copied."""
        whole = self.operand.turned or self._tile.chunks.pack == 1
        return self._wide and whole and self._tile.dtype is not TF32

    def local_offset(self, inner: Ref, own: Ref) -> Ref:
        """Where a unit lies in the part."""
        pack = self._tile.chunks.pack
        word = self.k.op("udiv", inner, self.body.const(pack)) if pack > 1 else inner
        return self.layout.place(self.k, word, own)

    def store(self, at: Ref, held: list[Ref]) -> None:
        """Stores a unit, packed in words."""
        tile = self._tile
        if tile.dtype is TF32:
            held = [self._rounded(value) for value in held]
        if not self._wide:
            self.k.store(self.local, at, self._packed(held))
            return
        for number, value in enumerate(held if self.operand.turned else self._interleaved(held)):
            self.k.store(self.local, at + number * tile.words if number else at, value, align=UNIT_BYTES)

    def _rounded(self, held: Ref) -> Ref:
        """The words of float32."""
        if not self._wide:
            return self.k.op(_ROUNDED, held)
        lanes = (self.k.op("extract", held, lane) for lane in range(self._tile.words))
        return self.k.op("vector", *(self.k.op(_ROUNDED, lane) for lane in lanes))

    def _packed(self, held: list[Ref]) -> Ref:
        """A word of its elements."""
        if len(held) == 1:
            return held[0]
        low, high = (self.k.convert(half, U32) for half in held)
        return low | (high << 16)

    def _interleaved(self, held: list[Ref]) -> list[Ref]:
        """The words of rows of elements that lie next to each other along the operand's own axis."""
        if len(held) == 1:
            return held
        k, words = self.k, self._tile.words
        low, high = held
        even = (low & _HALF) | (high << 16)
        odd = (low >> 16) | (high & (_HALF << 16))
        lanes = [k.op("extract", vector, lane) for lane in range(words) for vector in (even, odd)]
        return [k.op("vector", *lanes[first : first + words]) for first in range(0, len(lanes), words)]

    # ------------------------------------------------------------------ fragments

    def origins(self, step: Ref, own: Ref, lane: Ref) -> list[Ref]:
        """Where a work-item begins to read, of rows or columns from `own` on."""
        base, hint = step * self.part.step_length + self.part.start, f"{self.operand.access.name}_at"
        return [
            wide_address(self.k, base + place, hint)
            for place in self.layout.origins(self.layout.own_place(own, lane), lane)
        ]

    def fragments(self, origins: list[Ref], chunk: Ref, first: int, count: int) -> list[list[list[Ref]]]:
        """What a work-item reads of a chunk for `count` fragments from the `first` one on: the words of each of its
        places in each of them."""
        layout, words = self.layout, self.layout.words

        def read(own: int) -> list[list[Ref]]:
            return layout.read(self.k, self.local, origins, chunk, own, f"{self.operand.access.name}_part")

        if layout.neighbours == 1:
            starts = [layout.start(number) for number in range(first, first + count)]
            places = [layout.moved(place * words.own) for place in range(words.each)]
            return [[read(start + place)[0] for place in places] for start in starts]
        groups = [read(layout.start(number)) for number in range(first, first + count, layout.together)]
        return [group[at : at + words.each] for group in groups for at in range(0, len(group), words.each)]


class _Held(NamedTuple):
    """A number of a work-item's sums: those of which fragment across, the number among them, and how many columns it is
    behind the first one of the work-item."""

    fragment: int
    number: int
    column: int


class MatrixFragments:
    """What a work-item has of the tile: the sums of each instruction."""

    pending = 0

    def __init__(self, body: Body, tile: MatrixTile, left: MatrixStage, right: MatrixStage, item: Ref) -> None:
        k, size = body.k, tile.instruction.size
        self._k, self._tile, self._left, self._right = k, tile, left, right
        warp, self._lane = item >> (size.bit_length() - 1), item & (size - 1)
        self._warp_down = k.op("udiv", warp, body.const(tile.warps[1]))
        warp_across = k.op("urem", warp, body.const(tile.warps[1]))
        self._row = k.let(self._warp_down * (tile.rows // tile.warps[0]), "own_row")
        self._column = k.let(warp_across * (tile.columns // tile.warps[1]), "own_column")
        self._zero = k.const(0.0, tile.instruction.sums.type)
        self._sums = [
            [k.variable(self._zero, hint=f"sum_{row}_{column}") for column in range(tile.fragments[1])]
            for row in range(tile.fragments[0])
        ]

    def clear(self) -> None:
        """Begins a tile."""
        for row in self._sums:
            for sums in row:
                self._k.assign(sums, self._zero)

    def multiply(self, step: Ref, meanwhile: Callable[[], None] = nothing) -> None:
        """Adds the products of a step, given by where it is in local memory. What is to be done `meanwhile` comes
        first."""
        meanwhile()
        k, tile, lane = self._k, self._tile, self._lane
        left_at = self._left.origins(step, self._row, lane)
        right_at = self._right.origins(step, self._column, lane)
        chunks, together = tile.chunks, tile.band_fragments
        with k.for_(
            0, tile.inner // chunks.elements, dtype=U64, hint="chunk", unroll=tile.inner // chunks.elements
        ) as i:
            columns = self._right.fragments(right_at, i, 0, tile.fragments[1])
            for first in range(0, tile.fragments[0], together):
                for number, rows in enumerate(self._left.fragments(left_at, i, first, together)):
                    for instruction in range(chunks.instructions):
                        left = self._left.layout.registers(k, rows, instruction, lane)
                        for sum_, words in zip(self._sums[first + number], columns, strict=True):
                            right = self._right.layout.registers(k, words, instruction, lane)
                            k.assign(sum_, k.matrix_multiply(tile.instruction, left, right, sum_))

    # ------------------------------------------------------------------ results

    def store_band(self, band: int, local: Ref) -> None:
        """Stores the sums of a band in local memory."""
        tile = self._tile
        lane_row, rows = self._places("row", tile.band_fragments)
        lane_column, columns = self._places("column", tile.fragments[1])
        base = self._warp_down * (tile.band * tile.row_length) + self._column
        base = base if lane_row is None else base + lane_row * tile.row_length
        base = base if lane_column is None else base + lane_column
        base = self._k.let(base + tile.band_start if tile.band_start else base, "sums_at")
        for number in range(tile.band_fragments):
            own = self._sums[band * tile.band_fragments + number]
            for row, column, values in self._in_runs(own, rows[number], columns, tile.words):
                self._store(local, base + (row * tile.row_length + column), values)

    def vectors(self, lanes: int, pack: InlineC | None = None) -> Iterator[tuple[Ref, Ref, Ref]]:
        """Vectors of `lanes` sums, each with its row and its number in the tile's row."""
        assert pack is None, "halves are multiplied by warpgroups"
        k, tile = self._k, self._tile
        lane_row, rows = self._places("row", tile.fragments[0])
        lane_column, columns = self._places("column", tile.fragments[1])
        row = self._row if lane_row is None else self._row + lane_row
        column = self._column if lane_column is None else self._column + lane_column
        first_row = k.let(row, "first_row")
        first = k.let(column >> lanes.bit_length() - 1 if lanes > 1 else column, "first")
        for number, own in enumerate(self._sums):
            for below, along, values in self._in_runs(own, rows[number], columns, lanes):
                value = values[0] if lanes == 1 else k.op("vector", *values)
                yield first_row + below, first + along // lanes, value

    def _in_runs(
        self, sums: Sequence[Ref], rows: Sequence[int], columns: Sequence[Sequence[int]], most: int
    ) -> Iterator[tuple[int, int, list[Ref]]]:
        """Neighbours of a row of fragments, as many as `most`, by the row and the column of the first of them."""
        for row in sorted(set(rows)):
            held = [
                _Held(fragment, number, places[number])
                for fragment, places in enumerate(columns)
                for number, own in enumerate(rows)
                if own == row
            ]
            for run in _runs(sorted(held, key=lambda each: each.column), most):
                values = [self._k.op("extract", sums[each.fragment], each.number) for each in run]
                yield row, run[0].column, values

    def _places(self, axis: Axis, fragments: int) -> tuple[Ref | None, list[list[int]]]:
        """Where a work-item's sums are in the rows of a band or the columns of its warp: what its lane says, and what
        each number of each fragment adds. Where neighbours are places of several instructions, so are these."""
        layout, sums = (self._right if axis == "column" else self._left).layout, self._tile.instruction.sums
        digit, bit = sums.lane_digit(axis)
        lane = None
        if digit.length > 1:  # whose places are below the number of lanes, and move by the same step
            above = self._lane >> bit if bit else self._lane
            lane = layout.lane_moved(above & (digit.length - 1), digit)
        places = [layout.moved(int(place)) for place in sums.places(axis)[0]]
        return lane, [[layout.start(fragment) + place for place in places] for fragment in range(fragments)]

    def _store(self, local: Ref, at: Ref, numbers: list[Ref]) -> None:
        k, word = self._k, self._tile.word
        value = numbers[0] if len(numbers) == 1 else k.op("vector", *numbers)
        if self._tile.accumulator is not word:
            value = k.bitcast(value, word)
        k.store(local, at, value, align=word.size * len(numbers))


def _runs(held: list[_Held], most: int) -> Iterator[list[_Held]]:
    """Neighbours that are stored together."""
    run: list[_Held] = []
    for each in held:
        if run and (each.column != run[-1].column + 1 or len(run) == most):
            yield run
            run = []
        run.append(each)
    yield run
