"""The tile of a product that a work-group has, and how its work-items share it.

Work-items with consecutive ids, a *warp*, have a patch of the tile: 32 of them, or those of a matrix instruction. At
the end results go through local memory in *bands*: some rows of every warp's patch at a time; or, of warpgroups, from
registers to memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import lru_cache

from ocl_ir.kernel.asynchronous import ROW_BYTES, WARPGROUP
from ocl_ir.kernel.asynchronous import ROWS as GROUP_ROWS
from ocl_ir.kernel.box_words import BoxLayout
from ocl_ir.kernel.matrix_instruction import MatrixInstruction
from ocl_ir.kernel.matrix_words import Chunks, WordLayout, operand_words, word_of
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import F32, F64, TF32, U32, DType

DOWN, ACROSS = 4, 8
"""Work-items of a warp down its patch, and across, that multiply by themselves."""
WARP = 32
"""Work-items of a warp that multiply by themselves."""
UNIT_BYTES = 16
"""Of one access to memory, local or global."""
_BAND_BYTES = 128
"""Of one column of a warp's rows in a band."""
_BANDS = (128, 64, 32, 16, 8)
_WARPGROUP_COLUMNS = 8
"""Of a fragment of a warpgroup."""
_BAND_LENGTH = 8192
"""Numbers of a band beside steps that boxes are copied for, at most."""
_MOST_BYTES = 225 << 10
"""Of steps and a band together: what a group has on devices that copy boxes, less what the driver takes."""


@dataclass(frozen=True, slots=True)
class AnyTile(ABC):
    """`warps` down and across the tile, and `fragments` of each down and across; a step of the product takes `inner`
    columns of the left matrix and rows of the right one. Local memory has `room` for so many steps of operands that are
    copied there; 0: they go through registers, and there is room for two. They are copied by all work-items, or in
    `boxes`: then a group goes from tile to tile, and the steps of the next one come while results of the last one are
    stored."""

    warps: tuple[int, int]
    fragments: tuple[int, int]
    inner: int
    room: int
    boxes: bool = field(default=False, kw_only=True)

    @property
    def items(self) -> int:
        """Work-items of a group."""
        return WARP * self.warps[0] * self.warps[1]

    @property
    @abstractmethod
    def rows(self) -> int:
        """Rows of the tile."""

    @property
    @abstractmethod
    def columns(self) -> int:
        """Columns of the tile."""

    @property
    @abstractmethod
    def band(self) -> int:
        """Rows of a warp in a band."""

    @property
    @abstractmethod
    def word(self) -> DType:
        """The dtype of local memory."""

    @property
    @abstractmethod
    def stage_lengths(self) -> tuple[int, int]:
        """Words of local memory that the left and the right operand take in one step."""

    @property
    @abstractmethod
    def accumulator(self) -> DType:
        """The dtype in which products are added."""

    @property
    def patches(self) -> int:
        """How many warps, or warpgroups, have rows of their own."""
        return self.warps[0]

    @property
    def bands(self) -> int:
        """How many bands there are."""
        return self.rows // (self.patches * self.band)

    def row_of(self, patch: Ref, band: Ref, within: Ref) -> Ref:
        """The row that a row of a band is, of a patch that begins at one."""
        return patch + band * self.band + within

    @property
    def row_length(self) -> int:
        """Numbers of local memory from one row of a band to the next."""
        return self.columns + 2 * UNIT_BYTES // self.accumulator.size

    @property
    def band_start(self) -> int:
        """The word of local memory where a band begins: with boxes, behind the steps."""
        return self.steps_length if self.boxes else 0

    @property
    def steps_length(self) -> int:
        """Words of local memory for steps."""
        return (self.room or 2) * sum(self.stage_lengths)

    @property
    def local_length(self) -> int:
        """Words of local memory: some steps, over which a band is laid at the end, or behind which."""
        return max(self.steps_length, self.band_start + self.patches * self.band * self.row_length)

    @property
    def local_bytes(self) -> int:
        """The same in bytes."""
        return self.local_length * self.word.size


@dataclass(frozen=True, slots=True)
class Tile(AnyTile):
    """A tile whose work-items multiply by fused multiply-adds.

    Four of a warp lie down its patch and eight across. A fragment is `lanes` neighbouring rows or columns; a
    work-item's next one begins behind those of the whole warp, so that neighbours read neighbouring vectors. Rows of a
    stage are `pad` elements longer than the tile.
    """

    dtype: DType
    pad: int

    @property
    def lanes(self) -> int:
        """Elements of a vector."""
        return max(1, UNIT_BYTES // self.dtype.size)

    @property
    def rows(self) -> int:
        """Rows of the tile."""
        return self.warps[0] * self.fragments[0] * self.band

    @property
    def columns(self) -> int:
        """Columns of the tile."""
        return self.warps[1] * self.fragments[1] * ACROSS * self.lanes

    @property
    def band(self) -> int:
        """Rows of a warp in a band."""
        return DOWN * self.lanes

    @property
    def word(self) -> DType:
        """The dtype of local memory."""
        return self.dtype

    @property
    def accumulator(self) -> DType:
        """The dtype in which products are added."""
        return self.dtype

    @property
    def stage_lengths(self) -> tuple[int, int]:
        """Words of local memory that the left and the right operand take in one step."""
        return self.inner * (self.rows + self.pad), self.inner * (self.columns + self.pad)


@dataclass(frozen=True, slots=True)
class MatrixTile(AnyTile):
    """A tile whose sub-groups multiply by a matrix instruction; they are what other tiles have warps for, and fragments
    are the rows or the columns of one instruction. `turned` says of either operand whether its elements lie next to
    each other along the inner axis."""

    instruction: MatrixInstruction
    turned: tuple[bool, bool]

    @property
    def dtype(self) -> DType:
        """The dtype of operands."""
        return self.instruction.dtype

    @property
    def items(self) -> int:
        """Work-items of a group."""
        return self.instruction.size * self.warps[0] * self.warps[1]

    @property
    def rows(self) -> int:
        """Rows of the tile."""
        return self.warps[0] * self.fragments[0] * self.instruction.rows

    @property
    def columns(self) -> int:
        """Columns of the tile."""
        return self.warps[1] * self.fragments[1] * self.instruction.columns

    @property
    def band_fragments(self) -> int:
        """Fragments down of a warp in a band."""
        rows = _BAND_BYTES // self.accumulator.size
        return max(1, min(self.fragments[0], rows // self.instruction.rows))

    @property
    def band(self) -> int:
        """Rows of a warp in a band."""
        return self.instruction.rows * self.band_fragments

    @property
    def word(self) -> DType:
        """The dtype of local memory."""
        return word_of(self.dtype)

    @property
    def accumulator(self) -> DType:
        """The dtype in which products are added."""
        return self.instruction.accumulator

    @property
    def chunks(self) -> Chunks:
        """How instructions share words along the inner axis."""
        return Chunks.of(self.instruction)

    @property
    def words(self) -> int:
        """Words of one access to memory."""
        return UNIT_BYTES // self.word.size

    @property
    def layouts(self) -> tuple[WordLayout, WordLayout]:
        """How both operands lie in local memory. Of what is not turned, a work-item reads neighbours as vectors: places
        of several instructions, as many as a band has of rows, and the tile of columns."""
        return _layouts(self)

    @property
    def stage_lengths(self) -> tuple[int, int]:
        """Words of local memory that the left and the right operand take in one step."""
        return _stage_lengths(self)


@lru_cache(maxsize=256)
def _layouts(tile: MatrixTile) -> tuple[WordLayout, WordLayout]:
    if tile.boxes:
        assert tile.word is F64, "boxes bring words of 64 bits"
        assert tile.chunks.elements == tile.inner == ROW_BYTES // F64.size, "and rows of one chunk"
        lengths = enumerate((tile.rows, tile.columns))
        left, right = (BoxLayout(tile.chunks, side, tile.turned[side], length, 0) for side, length in lengths)
        return left, right

    def layout(side: int, length: int, most: int) -> WordLayout:
        each, turned, vector = operand_words(tile.instruction, side).each, tile.turned[side], tile.chunks.vector
        neighbours = 1 if turned or vector == 1 else each * max(1, min(most, vector // each))
        return WordLayout(tile.chunks, side, turned, length, 2 * tile.words, neighbours)

    return layout(0, tile.rows, tile.band_fragments), layout(1, tile.columns, tile.fragments[1])


@lru_cache(maxsize=256)
def _stage_lengths(tile: MatrixTile) -> tuple[int, int]:
    """The same for every product that is planned."""
    count, (left, right) = tile.inner // tile.chunks.elements, tile.layouts
    return count * left.chunk_length, count * right.chunk_length


@dataclass(frozen=True, slots=True)
class WarpgroupTile(AnyTile):
    """A tile whose warpgroups, 128 work-items each, multiply by instructions that read operands of `dtype` from local
    memory. `warps` counts warpgroups; each has 64 rows and `width` columns.

    Instructions read tf32 from local memory only where it is turned. An operand that is not is the left one of an
    instruction, which work-items `hold`; if that is the right one of the product, the tile is `transposed`: its
    warpgroups have 64 columns and `width` rows.
    """

    dtype: DType
    turned: tuple[bool, bool]

    @property
    def holds(self) -> bool:
        """Whether work-items hold an operand."""
        return self.dtype is TF32 and not all(self.turned)

    @property
    def transposed(self) -> bool:
        """Whether the instruction's columns are rows of the tile."""
        return self.holds and not self.turned[1]

    @property
    def width(self) -> int:
        """Columns of a warpgroup."""
        return self.fragments[1] * _WARPGROUP_COLUMNS

    @property
    def items(self) -> int:
        """Work-items of a group."""
        return WARPGROUP * self.warps[0] * self.warps[1]

    @property
    def rows(self) -> int:
        """Rows of the tile."""
        return self.warps[1] * self.width if self.transposed else self.warps[0] * GROUP_ROWS

    @property
    def columns(self) -> int:
        """Columns of the tile."""
        return self.warps[0] * GROUP_ROWS if self.transposed else self.warps[1] * self.width

    @property
    def patches(self) -> int:
        """How many warpgroups have rows of their own."""
        return self.warps[self.transposed]

    @property
    def band(self) -> int:
        """Rows of a warpgroup in a band: those of some of its warps, or, where the tile is transposed, of some
        fragments; with boxes, so many that there is room beside the steps."""
        own = self.width if self.transposed else GROUP_ROWS
        if not self.boxes:
            return own
        beside = (_MOST_BYTES - self.steps_length * self.word.size) // self.accumulator.size
        least = _WARPGROUP_COLUMNS if self.transposed else GROUP_ROWS // 4
        fits = [rows for rows in _BANDS if own % rows == 0 and rows * self.patches * self.columns <= _BAND_LENGTH]
        return next((rows for rows in fits if rows * self.patches * self.row_length <= beside), least)

    def row_of(self, patch: Ref, band: Ref, within: Ref) -> Ref:
        """The row that a row of a band is, of a patch that begins at one. Where work-items hold an operand, rows lie as
        they have them; those of a transposed tile so that the ones that are stored together lie in other banks."""
        if self.transposed:
            return patch + band * self.band + ((within >> 3) * 8 + (within & 3) * 2 + ((within >> 2) & 1))
        if self.holds:
            warp, row = band * (self.band // 16) + (within >> 4), within & 15
            of_warp = ((row >> 2) & 1) * 4 + ((row >> 1) & 1) * 16 + (row & 1) * 2 + (row >> 3)
            return patch + (warp >> 1) * 32 + (warp & 1) * 8 + of_warp
        return AnyTile.row_of(self, patch, band, within)

    @property
    def row_length(self) -> int:
        """Numbers of local memory from one row of a band to the next."""
        return self.columns + (4 if self.transposed else 8)

    @property
    def word(self) -> DType:
        """The dtype of local memory."""
        return U32

    @property
    def words(self) -> int:
        """Words of one access to memory."""
        return UNIT_BYTES // U32.size

    @property
    def accumulator(self) -> DType:
        """The dtype in which products are added."""
        return F32

    @property
    def stage_lengths(self) -> tuple[int, int]:
        """Words of local memory that the left and the right operand take in one step."""
        pack = U32.size // self.dtype.size
        return self.rows * self.inner // pack, self.columns * self.inner // pack
