"""How matrix instructions read their operands from local memory.

Local memory has *words*: two halves that are neighbours along the inner axis, or a number of 32 or 64 bits. Words along
that axis are read in *chunks*, of which one instruction or several take all. Which word is which place of an
instruction's inner axis is the same for both operands; otherwise it does not matter. So each work-item has words of a
chunk that follow each other, and reads them as vectors.

- An operand that is *turned* lies along the inner axis. Words of a chunk follow each other where neighbouring lanes
  have neighbouring words. Where lanes have neighbouring rows or columns, their vectors follow each other instead: what
  lanes read together lies together.
- Any other operand lies along its own axis, in a row for each word of a chunk. The rows that are read together follow
  each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.matrix_instruction import Axis, Digit, MatrixInstruction
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import TF32, U16, U32, U64, DType

_VECTOR_BYTES = 16
"""Of one access to local memory."""
_BANK_WORDS = 16
"""Of 64 bits, that lie in different banks."""
_ONE_BY_ONE = {"mma_f64"}
"""Instructions whose words are read alone: registers of float64 follow each other, and NVIDIA's compiler takes vectors
of two apart, which took a quarter of the time."""


def word_of(dtype: DType) -> DType:
    """The dtype of words of local memory, by that of the operands."""
    return U32 if dtype.size == U16.size or dtype is TF32 else dtype


@dataclass(frozen=True, slots=True)
class OperandWords:
    """How lanes hold an operand of an instruction, counted in words. Of its own axis a work-item has `each` places,
    `own` apart: lanes have a digit of length `own` along it, from bit `own_bit` on. Along the inner axis lanes have a
    digit of length `inner` from `inner_bit` on, and each work-item has `words`. `order`: which of its places and of its
    words each register is. `is_half`: a register is one half of a word, by the lowest bit of the lane."""

    own: int
    own_bit: int
    each: int
    inner: int
    inner_bit: int
    words: int
    order: tuple[tuple[int, int], ...]
    is_half: bool

    def own_lane(self, lane: Ref, size: int) -> Ref | int:
        """A lane's digit along the own axis, in sub-groups of a size."""
        return _digit(lane, self.own_bit, self.own, size)

    def inner_lane(self, lane: Ref, size: int) -> Ref | int:
        """A lane's digit along the inner axis."""
        return _digit(lane, self.inner_bit, self.inner, size)


def _digit(lane: Ref, bit: int, length: int, size: int) -> Ref | int:
    if length == 1:
        return 0
    above = lane >> bit if bit else lane
    return above if length << bit == size else above & (length - 1)


@lru_cache(maxsize=64)
def operand_words(instruction: MatrixInstruction, side: int) -> OperandWords:
    """How lanes hold the left operand (side 0) or the right one (1)."""
    layout = instruction.right if side else instruction.left
    axis: Axis = "column" if side else "row"
    (digit, own_bit), (along, inner_bit) = layout.lane_digit(axis), layout.lane_digit("inner")
    own, inner = digit.length, along.length
    pack = word_of(instruction.dtype).size // instruction.dtype.size
    is_half = layout.pack < pack
    if is_half:
        assert along.step == 1, "halves of a word are those of neighbours"
        inner, inner_bit = inner // pack, inner_bit + pack.bit_length() - 1
    registers = range(0, layout.count * layout.pack, layout.pack)
    places = [(layout.places(axis)[0, i] // own, layout.places("inner")[0, i] // pack) for i in registers]
    words = sorted({word for _, word in places})
    order = tuple((int(place), words.index(word)) for place, word in places)
    return OperandWords(own, own_bit, layout.length(axis) // own, inner, inner_bit, len(words), order, is_half)


@dataclass(frozen=True, slots=True)
class Chunks:
    """How the words of both operands are shared out: `chunk` words along the inner axis, in `instructions`, read in
    vectors of up to `vector`."""

    instruction: MatrixInstruction
    chunk: int
    vector: int

    @classmethod
    @lru_cache(maxsize=64)
    def of(cls, instruction: MatrixInstruction) -> Chunks:
        """Those of an instruction: as long as lets each work-item read whole vectors."""
        word = word_of(instruction.dtype)
        vector = 1 if instruction.name in _ONE_BY_ONE else _VECTOR_BYTES // word.size
        left, right = (operand_words(instruction, side) for side in range(2))
        whole = left.inner * left.words
        if (left.inner, left.words) == (right.inner, right.words):
            whole = left.inner * max(left.words, vector)
        return cls(instruction, whole, vector)

    @property
    def pack(self) -> int:
        """Elements of a word."""
        return word_of(self.instruction.dtype).size // self.instruction.dtype.size

    @property
    def instructions(self) -> int:
        """How many instructions take a chunk."""
        return self.chunk * self.pack // self.instruction.inner

    @property
    def elements(self) -> int:
        """Elements along the inner axis."""
        return self.chunk * self.pack


@dataclass(frozen=True, slots=True)
class WordLayout:
    """How an operand of `length` rows or columns lies in local memory, and how it is read. Rows of what is not turned
    have `pad` words behind them. A work-item may read `neighbours` of these at once, which are then its places of one
    instruction or of several *together*; if it is 1, it reads each place where the instruction has it."""

    chunks: Chunks
    side: int
    turned: bool
    length: int
    pad: int
    neighbours: int = 1

    @property
    def words(self) -> OperandWords:
        """How lanes hold it."""
        return operand_words(self.chunks.instruction, self.side)

    @property
    def each(self) -> int:
        """Words of a chunk that a work-item has, for each place of its own axis."""
        return self.chunks.chunk // self.words.inner

    @property
    def together(self) -> int:
        """How many instructions have a work-item's neighbours."""
        return max(1, self.neighbours // self.words.each)

    def start(self, fragment: int) -> int:
        """Where the rows or columns of an instruction begin, of several that lie one behind the other."""
        group, within = divmod(fragment, self.together)
        length = self.words.own * self.words.each
        return group * self.together * length + (within * self.words.each if self.neighbours > 1 else 0)

    def moved(self, place: int) -> int:
        """Where a row or column of an instruction lies behind its start."""
        if self.neighbours == 1:
            return place
        return place % self.words.own * self.neighbours + place // self.words.own

    def lane_moved(self, value: Ref, digit: Digit) -> Ref:
        """Where the row or column of an instruction lies that the value of a lane's digit says."""
        return value * self.moved(digit.step)

    @property
    def in_vectors(self) -> bool:
        """Whether vectors of a turned operand follow each other along its own axis, as lanes do."""
        words = self.words
        return self.turned and words.own > 1 and (words.inner == 1 or words.own_bit < words.inner_bit)

    @property
    def _exchanges(self) -> bool:
        """Whether halves of chunks are exchanged, so that rows lie in other banks: what is read one by one."""
        return self.turned and self.chunks.vector == 1

    def _exchange(self, own: Ref) -> Ref:
        """What places of a chunk are exchanged by, in a row of an operand: by as many words as lanes have next to each
        other, so often that the rows that a half of the lanes read together lie in all banks."""
        lanes, chunk = self.words.inner, self.chunks.chunk
        step = max(1, _BANK_WORDS // chunk)
        return (own & (chunk // lanes - 1) * step) * (lanes // step)

    @property
    def _row(self) -> int:
        """Words from one row of what is not turned, or of vectors, to the next."""
        if self.in_vectors:
            return (self.length + 1) * self.chunks.vector
        return self.length + self.pad

    @property
    def chunk_length(self) -> int:
        """Words of local memory that a chunk takes."""
        if self.in_vectors:
            return self.chunks.chunk // self.chunks.vector * self._row
        return self.chunks.chunk * (self.length if self.turned else self._row)

    def place(self, k: KernelBuilder, word: Ref, own: Ref) -> Ref:
        """Where a word lies, by its place along the inner axis and the own one."""
        chunk, vector = self.chunks.chunk, self.chunks.vector
        number, within = k.op("udiv", word, chunk), k.op("urem", word, chunk)
        if self.in_vectors:
            row, rest = k.op("udiv", within, vector), k.op("urem", within, vector)
            return (number * (chunk // vector) + row) * self._row + own * vector + rest
        if self.turned:
            if self._exchanges:
                within = within ^ self._exchange(own)
            return (number * self.length + own) * chunk + within
        if vector > 1 and self.each > 1 and self.words.inner > 1:
            within = k.op("urem", within, self.each) * self.words.inner + k.op("udiv", within, self.each)
        return (number * chunk + within) * self._row + own

    # ------------------------------------------------------------------ what work-items read

    def own_place(self, own: Ref, lane: Ref) -> Ref:
        """A work-item's first place along the own axis, of a part that begins at `own`."""
        return _plus(own, self.words.own_lane(lane, self.chunks.instruction.size), self.neighbours)

    def origins(self, own: Ref, lane: Ref) -> list[Ref]:
        """Where a work-item begins to read that has places from `own` on; one for each word where they are
        exchanged."""
        inner_lane = self.words.inner_lane(lane, self.chunks.instruction.size)
        if self.in_vectors:
            return [_plus(own * self.chunks.vector, inner_lane, self.each // self.chunks.vector * self._row)]
        if self._exchanges:
            row = _plus(own * self.chunks.chunk, inner_lane, 1)
            return [row + (self._exchange(own) ^ self.words.inner * word) for word in range(self.each)]
        if self.turned:
            return [_plus(own * self.chunks.chunk, inner_lane, self.each)]
        return [_plus(own, inner_lane, self._row)]

    def read(
        self, k: KernelBuilder, memory: Ref, origins: Sequence[Ref], chunk: Ref, first: int, hint: str = ""
    ) -> list[list[Ref]]:
        """The words of a chunk that a work-item has, of each of its neighbours, `first` places further on. Origins are
        as wide as an address, so that loads add steps that are known themselves."""
        vector, size = self.chunks.vector, word_of(self.chunks.instruction.dtype).size
        base = chunk * self.chunk_length
        if self._exchanges:
            at = base + first * self.chunks.chunk
            return [[k.load(memory, origin + at, hint=hint) for origin in origins]]
        (origin,) = origins

        def load(steps: Ref, count: int) -> list[Ref]:
            value = k.load(memory, origin + steps, count=count, align=size * count, hint=hint)
            return [value] if count == 1 else [k.op("extract", value, lane) for lane in range(count)]

        if self.turned:
            count = min(vector, self.each)
            step, own = (self._row, vector) if self.in_vectors else (vector, self.chunks.chunk)
            return [[word for i in range(self.each // count) for word in load(base + (first * own + i * step), count)]]
        count = min(vector, self.neighbours)
        rows = [
            [
                word
                for i in range(0, self.neighbours, count)
                for word in load(base + (first + i + number * self.words.inner * self._row), count)
            ]
            for number in range(self.each)
        ]
        return [list(column) for column in zip(*rows, strict=True)]

    def registers(self, k: KernelBuilder, words: Sequence[Sequence[Ref]], number: int, lane: Ref) -> Ref:
        """What a work-item gives to instruction `number` of a chunk, of the words of each of its places."""
        held = self.words
        registers = [words[place][number * held.words + word] for place, word in held.order]
        if held.is_half:
            shift = (lane & 1) * 16
            registers = [k.convert(register >> shift, U16) for register in registers]
        return registers[0] if len(registers) == 1 else k.op("vector", *registers)


def _plus(base: Ref, number: Ref | int, factor: int) -> Ref:
    if isinstance(number, int):
        return base + number * factor if number else base
    return base + (number * factor if factor != 1 else number)


def wide_address(k: KernelBuilder, place: Ref, hint: str) -> Ref:
    """A place as wide as an address, so that what is read beside it, steps that are known away, has the same one."""
    return k.convert(place, U64, hint=hint)
