"""Products by matrix instructions: how operands lie in local memory, and what each warp adds up.

Local memory has *words*, registers of the instruction, each of which holds the neighbours along the inner axis that the
instruction takes together: two halves, a float32 that is rounded to tf32, or a float64. Eight or sixteen of them along
that axis are a *chunk*, of which an instruction, or two, take all. Which word is which place of the instruction's inner
axis is the same for both operands; otherwise it does not matter.

- An operand whose elements lie next to each other along the inner axis is stored as it lies, chunk by chunk.
- Of any other operand, words are packed where elements have half of one, and stored in rows along the operand's own
  axis.

Words of 32 bits are read in vectors: four of a row or column, or one each of four neighbours, which are rows or columns
of several instructions. Those of float64 are read one by one: the registers of an instruction follow each other, and
vectors of two would have to be taken apart, which took a quarter of the time.
"""

from __future__ import annotations

from ocl_ir import tf32
from ocl_ir.kernel.matrix_instruction import COLUMNS, OPERANDS, ROWS, SUMS, WARP
from ocl_ir.kernel.operands import Ref
from ocl_ir.program_ops import InlineC
from ocl_ir.types import F32, F64, TF32, U16, U32, U64, DType, Vector
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.products.stage import Operand, Part, Stage
from ocl_runtime.plan.kernels.products.tile import UNIT_BYTES, MatrixTile

_HALF = 0xFFFF


_ROUNDED = InlineC('({{ uint y; asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"({0})); y; }})', U32, tf32.away)
"""The tf32 that is nearest to a float32, as the word of it."""


def loaded_dtype(dtype: DType, *, wide: bool) -> DType:
    """As what operands are loaded, several at once or a single one: halves as words or as their bits."""
    if dtype is TF32:
        return F32
    return OPERANDS[dtype][0] if wide or dtype is F64 else U16


class MatrixStage(Stage):
    """An operand in local memory, in words."""

    def __init__(self, body: Body, operand: Operand, local: Ref, part: Part, tile: MatrixTile) -> None:
        pack, words, wide = tile.pack, tile.words, operand.wide > 1
        if wide and operand.turned:
            unit, loads = (operand.wide, 1), range(1)
        else:
            unit, loads = (pack, operand.wide), range(pack)
        dtype = loaded_dtype(tile.dtype, wide=wide)
        super().__init__(body, operand, local, part, unit=unit, loads=loads, dtype=dtype, lanes=words if wide else 1)
        self._tile, self._wide = tile, wide
        self._row_length = part.length + tile.pad

    @property
    def is_natural(self) -> bool:
        """Whether neighbouring rows or columns are those of one instruction."""
        return self.operand.turned or not self._tile.reads_vectors

    @property
    def is_copied(self) -> bool:
        """Whether units lie in local memory as they do in global memory, so that they can be copied."""
        return self._wide and (self.operand.turned or self._tile.pack == 1) and self._tile.dtype is not TF32

    def place(self, inner: Ref, own: Ref) -> Ref:
        """Where a unit lies in the part."""
        k, tile, body = self.k, self._tile, self.body
        word = k.op("udiv", inner, body.const(tile.pack)) if tile.pack > 1 else inner
        chunk, within = k.op("udiv", word, body.const(tile.chunk)), k.op("urem", word, body.const(tile.chunk))
        if self.operand.turned:
            if not tile.reads_vectors:  # halves of chunks are exchanged, so that rows lie in other banks
                within = within ^ ((own & 2) * 2)
            return (chunk * self.part.length + own) * tile.chunk + within
        if tile.reads_vectors:
            within = self._row_of(within)
        return (chunk * tile.chunk + within) * self._row_length + own

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

    def _row_of(self, within: Ref) -> Ref:
        """In which row of its chunk a word lies: those that four work-items read together follow each other."""
        k, words = self.k, self.body.const(self._tile.words)
        return k.op("urem", within, words) * 4 + k.op("udiv", within, words)

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
        """Where a work-item begins to read, of rows or columns from `own` on; one for each word of an instruction where
        they are read one by one. They are as wide as an address, so that loads add steps that are known themselves."""
        tile, group, thread = self._tile, lane >> 2, lane & 3
        if tile.reads_vectors:
            if self.operand.turned:
                places = [(own + group) * tile.chunk + thread * tile.words]
            else:
                places = [thread * self._row_length + own + group * tile.words]
        elif self.operand.turned:
            row = (own + group) * tile.chunk + thread
            places = [row + ((group & 2) * 2 ^ 4 * word) for word in range(2)]
        else:
            places = [(thread + 4 * word) * self._row_length + own + group for word in range(2)]
        base, hint = step * self.part.step_length + self.part.start, f"{self.operand.access.name}_at"
        return [self.k.convert(base + place, U64, hint=hint) for place in places]

    def registers(self, origins: list[Ref], chunk: Ref, first: int) -> list[list[Ref]]:
        """What a work-item reads of a chunk, as registers for each of several rows or columns: of one, `first` steps
        away, or of as many neighbours as a vector has words."""
        k, tile, words = self.k, self._tile, self._tile.words
        hint = f"{self.operand.access.name}_part"
        if self.operand.turned:
            step = chunk * (self.part.length * tile.chunk) + first * tile.chunk
        else:
            step = chunk * (tile.chunk * self._row_length) + first
        if not tile.reads_vectors:
            return [[k.load(self.local, origin + step, hint=hint) for origin in origins]]
        at = origins[0] + step
        if self.operand.turned:
            vector = k.load(self.local, at, count=words, align=UNIT_BYTES, hint=hint)
            return [[k.op("extract", vector, word) for word in range(words)]]
        vectors = [
            k.load(self.local, at + word * 4 * self._row_length, count=words, align=UNIT_BYTES, hint=hint)
            for word in range(words)
        ]
        return [[k.op("extract", vector, own) for vector in vectors] for own in range(words)]


class MatrixFragments:
    """What a work-item has of the tile: four sums of each instruction."""

    pending = 0

    def __init__(self, body: Body, tile: MatrixTile, left: MatrixStage, right: MatrixStage, item: Ref) -> None:
        k = body.k
        self._k, self._tile, self._left, self._right = k, tile, left, right
        warp, self._lane = item >> 5, item & (WARP - 1)
        self._warp_down = k.op("udiv", warp, body.const(tile.warps[1]))
        warp_across = k.op("urem", warp, body.const(tile.warps[1]))
        self._row = k.let(self._warp_down * (tile.rows // tile.warps[0]), "own_row")
        self._column = k.let(warp_across * (tile.columns // tile.warps[1]), "own_column")
        zero = k.const(0.0, Vector(SUMS[tile.dtype], 4))
        self._sums = [
            [k.variable(zero, hint=f"sum_{row}_{column}") for column in range(tile.fragments[1])]
            for row in range(tile.fragments[0])
        ]

    def multiply(self, step: Ref) -> None:
        """Adds the products of a step, given by where it is in local memory."""
        k, tile = self._k, self._tile
        left_at = self._left.origins(step, self._row, self._lane)
        right_at = self._right.origins(step, self._column, self._lane)
        instructions = tile.instructions
        with k.for_(0, tile.chunks, dtype=U64, hint="chunk", unroll=tile.chunks) as chunk:
            columns = self._columns(right_at, chunk)
            for first in range(0, tile.fragments[0], instructions):
                for number, (upper, lower) in enumerate(self._rows(left_at, chunk, first)):
                    for instruction in range(instructions):
                        two = 2 * instruction, 2 * instruction + 1
                        left = k.op("vector", *(registers[word] for word in two for registers in (upper, lower)))
                        for sum_, registers in zip(self._sums[first + number], columns, strict=True):
                            right = k.op("vector", *(registers[word] for word in two))
                            k.assign(sum_, k.matrix_multiply(tile.dtype, left, right, sum_))

    def _columns(self, origin: list[Ref], chunk: Ref) -> list[list[Ref]]:
        """The registers of each fragment across."""
        tile, stage = self._tile, self._right
        if stage.is_natural:
            return [stage.registers(origin, chunk, number * COLUMNS)[0] for number in range(tile.fragments[1])]
        step = tile.words
        return [
            registers
            for number in range(0, tile.fragments[1], step)
            for registers in stage.registers(origin, chunk, number * COLUMNS)
        ]

    def _rows(self, origin: list[Ref], chunk: Ref, first: int) -> list[tuple[list[Ref], list[Ref]]]:
        """The registers of the upper and the lower rows of the fragments of a band."""
        tile, stage = self._tile, self._left
        if stage.is_natural:
            return [
                (stage.registers(origin, chunk, number * ROWS)[0], stage.registers(origin, chunk, number * ROWS + 8)[0])
                for number in range(first, first + tile.instructions)
            ]
        rows = stage.registers(origin, chunk, first * ROWS)
        return list(zip(rows[::2], rows[1::2], strict=True))

    # ------------------------------------------------------------------ results

    def store_band(self, band: int, local: Ref) -> None:
        """Stores the sums of a band in local memory."""
        tile, group = self._tile, self._lane >> 2
        for number in range(tile.instructions):
            sums = self._sums[band * tile.instructions + number]
            for lower in range(2):
                if self._left.is_natural:
                    row = group + (number * ROWS + 8 * lower)
                else:
                    row = group * tile.words + (2 * number + lower)
                at = (self._warp_down * tile.band + row) * tile.row_length + self._column
                self._store_row(local, at, [(sum_, 2 * lower) for sum_ in sums])

    def _store_row(self, local: Ref, at: Ref, sums: list[tuple[Ref, int]]) -> None:
        """Stores two numbers of each instruction's sums, in one row."""
        k, tile, thread = self._k, self._tile, self._lane & 3
        if self._right.is_natural:
            for number, (sum_, first) in enumerate(sums):
                pair = [k.op("extract", sum_, first + step) for step in range(2)]
                self._store(local, at + thread * 2 + number * COLUMNS, pair)
            return
        for number in range(0, len(sums), tile.words):
            for step in range(2):
                own = [k.op("extract", sum_, first + step) for sum_, first in sums[number : number + tile.words]]
                self._store(local, at + (thread * 2 + step) * tile.words + number * COLUMNS, own)

    def _store(self, local: Ref, at: Ref, numbers: list[Ref]) -> None:
        k, word, vector = self._k, self._tile.word, self._k.op("vector", *numbers)
        if self._tile.accumulator is not word:
            vector = k.bitcast(vector, word)
        k.store(local, at, vector, align=word.size * len(numbers))
