"""Products of tiles by matrix instructions, where the program lets products be added in the device's own order.

`ocl_ir.kernel.matrix_words` says how words lie in local memory, and how they are read. What lies along the inner axis
is stored as it lies; what lies along its own axis is packed to words and stored in rows along that axis, and words are
read one by one. An item's sums are where a grid of fragments has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ocl_ir.kernel.matrix_instruction import MatrixInstruction
from ocl_ir.kernel.matrix_instructions import instruction_for
from ocl_ir.kernel.matrix_words import Chunks, WordLayout, wide_address, word_of
from ocl_ir.kernel.operands import Ref
from ocl_ir.language.builtins.tile_accesses import TileAccesses
from ocl_ir.language.builtins.tile_stages import Multiplication, Stage
from ocl_ir.language.parameters import UNIT_BYTES
from ocl_ir.language.values.grids import Grid, patch_of
from ocl_ir.language.values.values import AnyTile, Coordinates, LoadedTile, Tile, TileShape, Value
from ocl_ir.types import F32, F64, U16, U32, U64, DType, ValueType, Vector, with_lanes

_HALF = 0xFFFF


class FragmentsAsked(Exception):  # noqa: N818
    """Tiles of a shape are to be fragments of a matrix instruction: the translation begins anew."""

    def __init__(self, shape: TileShape, instruction: MatrixInstruction) -> None:
        super().__init__(shape, instruction)
        self.shape, self.instruction = shape, instruction


def by_instructions(t: TileAccesses, acc: Tile, left: AnyTile, right: AnyTile) -> Multiplication | None:
    """A product by the device's matrix instructions; None where there are none for its dtypes and shapes. Raises
    `FragmentsAsked` where tiles of the result's shape are not fragments yet."""
    dtype = _stored(left)
    if dtype is None or dtype is not _stored(right):
        return None
    instruction = instruction_for(dtype, t.options.matrix_instructions)
    if instruction is None or instruction.accumulator is not acc.dtype or not _fits(t, acc, left, instruction):
        return None
    known = t.fragments.get(acc.shape)
    if known is None:
        raise FragmentsAsked(acc.shape, instruction)
    if known.sums != instruction.sums:  # another product has these tiles in other places
        return None
    return MatrixMultiplication(t, instruction, acc.shape, t.in_memory(left), t.in_memory(right))


def _fits(t: TileAccesses, acc: Tile, left: AnyTile, instruction: MatrixInstruction) -> bool:
    """Whether shapes and the group are made of whole instructions. Sub-groups of a size that is asked for end where
    dimension 0 does."""
    items = t.group_items
    in_rows = t.options.group_size is None or t.options.group_size[0] % instruction.size == 0
    whole = left.shape[1] % Chunks.of(instruction).elements == 0 and (in_rows or not instruction.asks_size)
    return whole and Grid.of_fragments(acc.shape, items, instruction) is not None


def _stored(tile: AnyTile) -> DType | None:
    """The dtype in which a tile is in memory, or may be put there; None where its bits are not to be had."""
    if isinstance(tile, Tile):
        return tile.dtype
    return tile.stored if tile.bits is not None or tile.stored in {F32, F64} else None


class MatrixStage(Stage):
    """An operand in local memory, in words: the left one (side 0) or the right one (1)."""

    def __init__(
        self, t: TileAccesses, tile: LoadedTile, side: int, start: int, instruction: MatrixInstruction
    ) -> None:
        super().__init__(t, tile, side, start)
        self._word = word_of(instruction.dtype)
        chunks, turned = Chunks.of(instruction), self._along != side
        self.layout = WordLayout(chunks, side, turned, self._length, 2 * UNIT_BYTES // self._word.size)
        self._pack, self._turned = chunks.pack, turned
        self._whole = turned and self._lanes >= self._pack
        self.chunks = self._inner // chunks.elements

    @property
    def step_length(self) -> int:
        """Words of local memory that the operand takes."""
        return self.chunks * self.layout.chunk_length

    @property
    def unit(self) -> tuple[int, int]:
        """How long a unit is, along the axis in which elements lie next to each other, and across."""
        if self._turned:
            return max(self._lanes, self._pack), 1
        return self._lanes, self._pack

    @property
    def held(self) -> tuple[ValueType, ...]:
        """The types of the values of a unit: words of neighbours, where there are several, else elements."""
        dtype, lanes = (
            (U32, self._lanes // 2) if self._in_words else (U16 if self._pack > 1 else self._word, self._lanes)
        )
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
        k_place, row = (self._k.convert(self._t.index(value), U32) for value in (inner, own))
        return self._in_buffer(self.layout.place(self._k, self._k.op("udiv", k_place, self._pack), row), buffer)

    def _in_buffer(self, place: Ref, buffer: Value) -> Ref:
        t = self._t
        return t.index(t.address((t.index_number(place), 1), (buffer, 1), (self._start, 1)))

    # ------------------------------------------------------------------ fragments

    def origins(self, own: Ref, lane: Ref, buffer: Value) -> list[Ref]:
        """Where an item begins to read that has rows or columns from `own` on."""
        hint = f"{self._name}_at"
        return [wide_address(self._k, self._in_buffer(at, buffer), hint) for at in self.layout.origins(own, lane)]

    def words(self, origins: Sequence[Ref], chunk: Ref, steps: Sequence[int]) -> list[list[Ref]]:
        """The words of a chunk that an item has, of rows or columns some steps away."""
        return [self.layout.read(self._k, self.memory, origins, chunk, step, self._name)[0] for step in steps]


class MatrixMultiplication(Multiplication):
    """A product by a matrix instruction."""

    def __init__(
        self, t: TileAccesses, instruction: MatrixInstruction, shape: TileShape, left: LoadedTile, right: LoadedTile
    ) -> None:
        self._t, self._instruction, self._shape, self.operands = t, instruction, shape, (left, right)
        self.dtype = word_of(instruction.dtype)
        self._rows = MatrixStage(t, left, 0, 0, instruction)
        self._columns = MatrixStage(t, right, 1, self._rows.step_length, instruction)
        self.left, self.right = self._rows, self._columns

    def multiply(self, buffer: Value, sums: Sequence[Ref]) -> None:
        """Adds the products of what a buffer holds to the sums of an item, which are variables."""
        k, grid, instruction = self._t.k, self._t.grid(self._shape), self._instruction
        patch, lane = grid.patch(self._t.item_number())
        first_row, row_steps = self._places(grid, 0, patch[0], lane)
        first_column, column_steps = self._places(grid, 1, patch[1], lane)
        rows = self._rows.origins(first_row, lane, buffer)
        columns = self._columns.origins(first_column, lane, buffer)
        across = range(len(column_steps))
        numbers = [[self._numbers(grid, row, column) for column in across] for row in range(len(row_steps))]
        fragments = [
            [k.variable(k.op("vector", *(k.let(sums[number]) for number in own)), hint="sums") for own in row]
            for row in numbers
        ]
        with k.for_(0, self._rows.chunks, dtype=U64, hint="chunk", unroll=self._rows.chunks) as chunk:
            right_words = [self._columns.words(columns, chunk, steps) for steps in column_steps]
            for steps, own in zip(row_steps, fragments, strict=True):
                left_words = self._rows.words(rows, chunk, steps)
                for number in range(self._rows.layout.chunks.instructions):
                    left = self._rows.layout.registers(k, left_words, number, lane)
                    for fragment, words in zip(own, right_words, strict=True):
                        right = self._columns.layout.registers(k, words, number, lane)
                        k.assign(fragment, k.matrix_multiply(instruction, left, right, fragment))
        for row_numbers, row_fragments in zip(numbers, fragments, strict=True):
            for own_numbers, fragment in zip(row_numbers, row_fragments, strict=True):
                made = k.let(fragment)
                for place, number in enumerate(own_numbers):
                    k.assign(sums[number], k.op("extract", made, place))

    def _places(self, grid: Grid, side: int, number: Any, lane: Ref) -> tuple[Ref, list[list[int]]]:
        """Where the rows or columns are that an item of a patch reads: the first one, and how far its places of each
        instruction are from there. Those of an instruction are where the grid has its sums: behind each other, or,
        where an item's sums are no neighbours, behind those of all items."""
        patch = patch_of(self._instruction, "column" if side else "row")
        words = (self._columns if side else self._rows).layout.words
        items, count = (grid.across, grid.columns) if side else (grid.down, grid.rows)
        own = words.own_lane(lane, self._instruction.size)
        fragments, places = range(count // patch.each), range(words.each)
        if patch.lanes == patch.each:
            length = patch.items * patch.each
            steps = [[fragment * items * patch.each + place * words.own for place in places] for fragment in fragments]
            return self._sum(number * length, own), steps
        between = words.own // patch.items
        steps = [[(fragment * patch.each + place * between) * items for place in places] for fragment in fragments]
        within = own & (patch.items - 1) if between > 1 else own
        first = self._sum(number * patch.items, within)
        return (first + (own >> (patch.items.bit_length() - 1)) * items if between > 1 else first), steps

    def _sum(self, first: Any, second: Any) -> Ref:
        """Of numbers, some of which are known to be 0."""
        made = first if isinstance(second, int) and second == 0 else first + second
        return made if isinstance(made, Ref) else self._t.k.const(made, U32)

    def _numbers(self, grid: Grid, row: int, column: int) -> list[int]:
        """The numbers of an item's elements that are the sums of an instruction."""
        sums = self._instruction.sums
        down, across = (sums.element_digit(axis) for axis in ("row", "column"))
        rows = [row * down.length + int(place) // down.step for place in sums.places("row")[0]]
        columns = [column * across.length + int(place) // across.step for place in sums.places("column")[0]]
        return [own_row * grid.columns + own_column for own_row, own_column in zip(rows, columns, strict=True)]
