"""Products of tiles by matrix instructions, where the program lets products be added in the device's own order.

Local memory has *words*, registers of the instruction (`ocl_ir.kernel.matrix_instruction`): two halves that are
neighbours along the inner axis, or a float64. Words of a *chunk* along that axis, 64 bytes, are read together.

- What lies along the inner axis is stored as it lies, chunk by chunk, with a row or column beside the next one. Of
  halves an item reads 4 words at once, which are those of two instructions.
- What lies along its own axis is packed to words and stored in rows along that axis, and words are read one by one.

Which word is which place of an instruction is the same for both operands; otherwise it does not matter. An item's sums
are where a grid of fragments has them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ocl_ir.kernel.matrix_instruction import COLUMNS, OPERANDS, SUMS
from ocl_ir.kernel.operands import Ref
from ocl_ir.language.builtins.tile_accesses import TileAccesses
from ocl_ir.language.builtins.tile_stages import Multiplication, Stage
from ocl_ir.language.parameters import UNIT_BYTES
from ocl_ir.language.values.grids import Grid
from ocl_ir.language.values.values import AnyTile, Coordinates, LoadedTile, Tile, TileShape, Value
from ocl_ir.types import F64, U16, U32, U64, DType, ValueType, Vector, with_lanes

_CHUNK_BYTES = 64
_HALF = 0xFFFF
_Reader: TypeAlias = Callable[[Ref, int], list[tuple[Ref, Ref]]]
"""Gives what an item reads of a chunk, of a row or column some steps away: two registers for each instruction."""


class FragmentsAsked(Exception):  # noqa: N818
    """Tiles of a shape are to be fragments of matrix instructions: the translation begins anew."""

    def __init__(self, shape: TileShape) -> None:
        super().__init__(shape)
        self.shape = shape


def by_instructions(t: TileAccesses, acc: Tile, left: AnyTile, right: AnyTile) -> Multiplication | None:
    """A product by the device's matrix instructions; None where there are none for its dtypes and shapes. Raises
    `FragmentsAsked` where tiles of the result's shape are not fragments yet."""
    dtype = _stored(left)
    if (
        dtype is None
        or dtype is not _stored(right)
        or dtype not in OPERANDS
        or dtype.name not in t.options.matrix_dtypes
    ):
        return None
    word, pack = OPERANDS[dtype]
    fits = left.shape[1] % (_CHUNK_BYTES // word.size * pack) == 0
    if SUMS[dtype] is not acc.dtype or not fits or Grid.of_fragments(acc.shape, t.group_items) is None:
        return None
    if acc.shape not in t.fragments:
        raise FragmentsAsked(acc.shape)
    return MatrixMultiplication(t, dtype, acc.shape, t.in_memory(left), t.in_memory(right))


def _stored(tile: AnyTile) -> DType | None:
    """The dtype in which a tile is in memory, or may be put there; None where its bits are not to be had."""
    if isinstance(tile, Tile):
        return tile.dtype
    return tile.stored if tile.bits is not None or tile.stored is F64 else None


class MatrixStage(Stage):
    """An operand in local memory, in words."""

    def __init__(self, t: TileAccesses, tile: LoadedTile, own: int, start: int, dtype: DType) -> None:
        super().__init__(t, tile, own, start)
        self._dtype = dtype
        self._word, self._pack = OPERANDS[dtype]
        self._chunk = _CHUNK_BYTES // self._word.size
        self._turned = self._along != own
        """Whether elements lie along the inner axis."""
        self._whole = self._turned and self._lanes >= self._pack
        pad = 2 * UNIT_BYTES // self._word.size
        self._row_length = self._length + pad
        self.chunks = self._inner // (self._pack * self._chunk)

    @property
    def step_length(self) -> int:
        """Words of local memory that the operand takes."""
        return self._inner // self._pack * (self._length if self._turned else self._row_length)

    @property
    def unit(self) -> tuple[int, int]:
        """How long a unit is, along the axis in which elements lie next to each other, and across."""
        if self._turned:
            return max(self._lanes, self._pack), 1
        return self._lanes, self._pack

    @property
    def held(self) -> tuple[ValueType, ...]:
        """The types of the values of a unit: words of neighbours, where there are several, else elements."""
        dtype, lanes = (U32, self._lanes // 2) if self._in_words else (U16 if self._pack > 1 else F64, self._lanes)
        return (with_lanes(dtype, lanes),) * (1 if self._whole else self._pack)

    @property
    def _in_words(self) -> bool:
        """Whether a value of a unit has several words of halves."""
        return self._pack > 1 and self._lanes > self._pack

    def read(self, tile: LoadedTile, at: Coordinates) -> list[Ref]:
        """The values of a unit: neighbours, at places of the inner axis that follow each other."""
        t, values = self._t, list[Ref]()
        for step, type_ in enumerate(self.held):
            place = tuple(t.address((x, 1), (step * (axis != self._own), 1)) for axis, x in enumerate(at))
            value = tile.bits(place, self._lanes) if tile.bits else tile.read(place, self._lanes).ref
            values.append(self._k.op("bitcast", value, result=type_) if self._in_words else value)
        return values

    def store(self, at: Coordinates, values: Sequence[Ref], buffer: Value) -> None:
        """Stores a unit in a buffer of local memory."""
        k, words = self._k, self._words(values)
        place = self._place(at[1 - self._own], at[self._own], buffer)
        most = UNIT_BYTES // self._word.size
        for first in range(0, len(words), most):
            part = words[first : first + most]
            value = part[0] if len(part) == 1 else k.op("vector", *part)
            k.store(self.memory, place + first if first else place, value, align=self._word.size * len(part))

    def store_registers(self, tile: Tile, buffer: Value) -> None:
        """Operands are in memory."""
        raise NotImplementedError

    def _words(self, values: Sequence[Ref]) -> list[Ref]:
        """The words that the values of a unit are."""
        if self._in_words and not self._whole:
            low, high = values
            even, odd = (low & _HALF) | (high << 16), (low >> 16) | (high & (_HALF << 16))
            return [word for pair in zip(self._lanes_of(even), self._lanes_of(odd), strict=True) for word in pair]
        elements = [self._lanes_of(value) for value in values]
        if self._in_words or self._pack == 1:
            return elements[0]
        pairs = [elements[0]] if self._whole else zip(*elements, strict=True)
        return [self._k.convert(low, U32) | (self._k.convert(high, U32) << 16) for low, high in pairs]

    def _lanes_of(self, value: Ref) -> list[Ref]:
        lanes = value.type.lanes if isinstance(value.type, Vector) else 1
        return [value] if lanes == 1 else [self._k.op("extract", value, lane) for lane in range(lanes)]

    def _place(self, inner: Value, own: Value, buffer: Value) -> Ref:
        """The word of a buffer in which a unit begins."""
        t, chunk = self._t, self._chunk
        k_place, row = (self._k.convert(t.index(value), U32) for value in (inner, own))
        word = k_place // self._pack
        within = word % chunk
        if not self._turned:
            if self._pack > 1:  # the words that four items read together follow each other
                within = within % 4 * 4 + within // 4
            place = (word // chunk * chunk + within) * self._row_length + row
        else:
            if self._pack == 1:  # halves of chunks are exchanged, so that rows lie in other banks
                within = within ^ ((row & 2) * 2)
            place = (word // chunk * self._length + row) * chunk + within
        return t.index(t.address((t.index_number(place), 1), (buffer, 1), (self._start, 1)))

    # ------------------------------------------------------------------ fragments

    def reader(self, first: Ref, lane: Ref, buffer: Value) -> _Reader:
        """What reads an item's registers, from its first row or column on. It begins at an address, so that loads add
        steps that are known by themselves."""
        k, chunk, length = self._k, self._chunk, self._row_length
        thread = lane & 3
        if not self._turned:
            origin = self._origin(thread * length + first, buffer)

            def rows(number: Ref, step: int) -> list[tuple[Ref, Ref]]:
                at = origin + (number * (chunk * length) + step)
                words = [self._load(at + 4 * word * length) for word in range(chunk // 4)]
                return list(zip(words[::2], words[1::2], strict=True))

            return rows
        if self._pack == 1:
            both = [first * chunk + (thread ^ ((lane >> 2 & 2) * 2 ^ 4 * word)) for word in range(2)]
            origins = [self._origin(each, buffer) for each in both]

            def exchanged(number: Ref, step: int) -> list[tuple[Ref, Ref]]:
                steps = number * (self._length * chunk) + step * chunk
                low, high = (self._load(each + steps) for each in origins)
                return [(low, high)]

            return exchanged
        origin = self._origin(first * chunk + thread * 4, buffer)

        def vectors(number: Ref, step: int) -> list[tuple[Ref, Ref]]:
            vector = self._load(origin + (number * (self._length * chunk) + step * chunk), 4)
            words = [k.op("extract", vector, word) for word in range(4)]
            return list(zip(words[::2], words[1::2], strict=True))

        return vectors

    def _origin(self, place: Ref, buffer: Value) -> Ref:
        t = self._t
        at = t.index(t.address((t.index_number(place), 1), (buffer, 1), (self._start, 1)))
        return self._k.convert(at, U64, hint=f"{self._name}_at")

    def _load(self, at: Ref, count: int = 1) -> Ref:
        return self._k.load(self.memory, at, count=count, align=self._word.size * count, hint=self._name)


class MatrixMultiplication(Multiplication):
    """A product by matrix instructions of operands of a dtype."""

    def __init__(self, t: TileAccesses, dtype: DType, shape: TileShape, left: LoadedTile, right: LoadedTile) -> None:
        self._t, self._of, self._shape, self.operands = t, dtype, shape, (left, right)
        self.dtype, _ = OPERANDS[dtype]
        self._rows = MatrixStage(t, left, 0, 0, dtype)
        self._columns = MatrixStage(t, right, 1, self._rows.step_length, dtype)
        self.left, self.right = self._rows, self._columns

    def multiply(self, buffer: Value, sums: Sequence[Ref]) -> None:
        """Adds the products of what a buffer holds to the sums of an item, which are variables."""
        k, grid = self._t.k, self._t.grid(self._shape)
        item = self._t.item_number()
        lane = item & 31
        down, across = grid.place(item)
        rows = self._rows.reader(down, lane, buffer)
        columns = self._columns.reader((across >> 2) * COLUMNS + (lane >> 2), lane, buffer)
        numbers = [
            [self._numbers(grid, row, column) for column in range(0, grid.columns, 2)] for row in range(0, grid.rows, 2)
        ]
        fragments = [
            [k.variable(k.op("vector", *(k.let(sums[number]) for number in own)), hint="sums") for own in row]
            for row in numbers
        ]
        down_steps, across_steps = grid.steps(0), grid.steps(1)[::2]
        with k.for_(0, self._rows.chunks, dtype=U64, hint="chunk", unroll=self._rows.chunks) as chunk:
            right = [columns(chunk, step) for step in across_steps]
            for row, own in enumerate(fragments):
                upper, lower = (rows(chunk, step) for step in down_steps[2 * row : 2 * row + 2])
                for number, ((a, c), (b, d)) in enumerate(zip(upper, lower, strict=True)):
                    left = k.op("vector", a, b, c, d)
                    for fragment, registers in zip(own, right, strict=True):
                        pair = k.op("vector", *registers[number])
                        k.assign(fragment, k.matrix_multiply(self._of, left, pair, fragment))
        for row_numbers, row_fragments in zip(numbers, fragments, strict=True):
            for four, fragment in zip(row_numbers, row_fragments, strict=True):
                made = k.let(fragment)
                for place, number in enumerate(four):
                    k.assign(sums[number], k.op("extract", made, place))

    @staticmethod
    def _numbers(grid: Grid, row: int, column: int) -> list[int]:
        """The numbers of an item's elements that are the sums of an instruction."""
        return [(row + number // 2) * grid.columns + column + number % 2 for number in range(4)]
