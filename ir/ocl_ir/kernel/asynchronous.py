"""Statements whose work goes on while the work-items do.

    CopyAsync local[index] = source[index], inside   16 bytes from global to local memory; zeros where not inside
    Commit                                           ends a batch of copies
    WarpgroupMultiply sums += left @ right           128 work-items add a product of matrices
    Await copies | products, pending                 goes on when all but the last `pending` are done
    DescribeMatrix table[slot] = source[index] …     what boxes are copied of, in a table of the driver's own form
    DescribeWindows table[slot] = source[index] …    the same of windows over a tensor, each a row of a matrix
    InitBoxes barriers, boxes                        each barrier waits for so many boxes in turn
    CopyBox local[index] = table[slot], column, row  128 bytes by some rows of a matrix; zeros where it has none
    CopyWindows local[index] = table[slot], …        128 bytes of what lies at one place of some windows
    AwaitBoxes barriers[number], parity              goes on when the boxes of a turn are there; turns are 0, 1, 0, …
    ReleaseBoxes barriers[number]                    says that work-items need boxes no more; others await that as boxes
    Turn open | await | pass | close                 warpgroups do what is between await and pass one after the other

Each work-item waits for its own copies; a barrier behind that shows them to the others. Whoever has waited for boxes
sees them. Nobody may touch the memory of
what is not done. Operands of products lie in local memory as `Swizzled` says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, ClassVar, Literal, TypeAlias

from ocl_ir.kernel.values import Operand, Statement, Value, as_pointer
from ocl_ir.types import BF16, DType

WARPGROUP = 128
"""Work-items that multiply together."""
ROWS = 64
"""Rows of the product of a warpgroup."""
INNER = 16
"""Halves along the inner axis that one instruction takes."""
STEP_BYTES = 32
"""Bytes along the inner axis that one instruction takes of an operand of any dtype."""
ROW_BYTES = 128
"""Bytes of a row of an operand, in which units of 16 bytes are exchanged by an exclusive or with the row's number."""
COPY_BYTES = 16
"""What one copy moves."""
MAP_WORDS = 32
"""Words of a description."""
MAP_ALIGNMENT = 64
"""Bytes that divide the address of a description."""
BOX_COLUMNS = 64
"""Halves of a row of a box."""
MOST_BOX_ROWS = 256
MOST_STEP, MOST_TAP = 8, 255
"""Places from one window to the next, and from where one begins to what is copied of it."""
LEAST_CORNER, MOST_CORNER = -128, 127
"""Where windows may begin: places behind the first one of a tensor, and behind the last one."""
MOST_STRIDE = (1 << 32) - 1
"""Words from one row, or place of a tensor, to the next."""
ALIGNMENT = 1024
"""Bytes that divide the address of an operand of a product."""
UNIT_REGISTERS = 1 << 16
"""Of a unit of the device, for all groups that it has at once; one, where warps specialise."""


def registers_of(items: int) -> int:
    """Registers of a work-item of a group of so many, before warps specialise."""
    return min(UNIT_REGISTERS // items // 8 * 8, 256)


@dataclass(frozen=True, slots=True)
class CopyAsync(Statement):
    """Copies `count` elements, 16 bytes, from `source[source_index]` to `pointer[index]`, or stores zeros there where
    `inside` does not hold."""

    pointer: Value
    index: Operand
    source: Value
    source_index: Operand
    inside: Operand
    count: int


@dataclass(frozen=True, slots=True)
class Commit(Statement):
    """Ends a batch of copies."""


AwaitWhat = Literal["copies", "products"]


@dataclass(frozen=True, slots=True)
class Await(Statement):
    """Goes on when all batches of copies, or all products, are done but for the last `pending`."""

    what: AwaitWhat
    pending: int


@dataclass(frozen=True, slots=True)
class DescribeMatrix(Statement):
    """Describes a matrix, from word `source[source_index]` on: `rows` of `columns` elements, whose beginnings are
    `row_words` words apart. Boxes of it have `box_rows` rows. The description takes 32 words from `table[slot]` on, in
    global memory, of which a work-item stores one, `word`; another kernel copies boxes by it. Elements are halves of
    either `dtype`, or float32, which boxes round to tf32, in words of 32 bits; or float64, which are words."""

    table: Value
    slot: Operand
    word: Operand
    source: Value
    source_index: Operand
    columns: Operand
    rows: Operand
    row_words: Operand
    box_rows: int
    dtype: DType = BF16


@dataclass(frozen=True, slots=True)
class DescribeWindows(Statement):
    """Describes the windows of a tensor (images, height, width, columns), from word `source[source_index]` on, whose
    columns lie next to each other. `lengths` and `strides`, in words, are those of width, height and
    images, the other numbers those of width and height: windows begin `before` the first place, `steps` apart, and
    there are `counts` of them; what is beyond the tensor is zero. Boxes take `box_rows` windows, those along the width
    first, then those along the height, then of the next image. The rest is as of `DescribeMatrix`."""

    table: Value
    slot: Operand
    word: Operand
    source: Value
    source_index: Operand
    columns: Operand
    lengths: tuple[Operand, ...]
    strides: tuple[Operand, ...]
    steps: tuple[Operand, ...]
    before: tuple[Operand, ...]
    counts: tuple[Operand, ...]
    box_rows: int
    dtype: DType = BF16


@dataclass(frozen=True, slots=True)
class InitBoxes(Statement):
    """Makes `count` barriers in local memory ready, each for `boxes` boxes, or releases, in a turn."""

    barriers: Value
    count: int
    boxes: int


@dataclass(frozen=True, slots=True)
class CopyBox(Statement):
    """Begins to copy 128 bytes of each of `rows` rows of a matrix, which `table[slot]` describes and which lies in
    `source`, to local memory from `pointer[index]` on, as `Swizzled` says of a turned operand: zeros where the matrix
    has no elements. It counts for `barriers[number]`."""

    pointer: Value
    index: Operand
    source: Value
    table: Value
    slot: Operand
    column: Operand
    row: Operand
    rows: int
    barriers: Value
    number: Operand


@dataclass(frozen=True, slots=True)
class CopyWindows(Statement):
    """As `CopyBox`, from `column` on, of so many windows that `table[slot]` describes: of what lies `taps` places along
    width and height behind the beginning of each. The first window begins at a `place` along width, height and images,
    modulo 2^32."""

    pointer: Value
    index: Operand
    source: Value
    table: Value
    slot: Operand
    column: Operand
    place: tuple[Operand, ...]
    taps: tuple[Operand, ...]
    rows: int
    barriers: Value
    number: Operand


@dataclass(frozen=True, slots=True)
class AwaitBoxes(Statement):
    """Goes on when the boxes of a barrier's turn of this parity are there, for all work-items that wait for it, or are
    released."""

    barriers: Value
    number: Operand
    parity: Operand


@dataclass(frozen=True, slots=True)
class ReleaseBoxes(Statement):
    """Says that work-items are done with what they did before, such as reading boxes: each 32 of them, with
    consecutive ids, count as one box in the turn of a barrier. Who awaits that turn comes behind it."""

    barriers: Value
    number: Operand
    size: ClassVar[int] = 32


TurnWhat = Literal["open", "await", "pass", "close"]


@dataclass(frozen=True, slots=True)
class Turn(Statement):
    """Warpgroups, the first so many of a group, do what stands between `await` and `pass` one after the other, again
    and again: each goes on when the one before it has passed the turn on. Turns open before and close behind all of
    that. It orders no memory; it is for speed, where one of them should multiply while another one computes."""

    what: TurnWhat
    warpgroups: int
    size: ClassVar[int] = WARPGROUP


@dataclass(frozen=True, slots=True)
class Swizzled:
    """How an operand, whose elements have `size` bytes, lies in local memory that begins at a multiple of 1024 bytes.

    Rows of 128 bytes follow each other, eight in 1024 bytes; the units of row r are exchanged by an exclusive or with
    r % 8. `turned`: rows go along the inner axis, and the operand's own axis goes down them; otherwise it is the other
    way round, and what has more elements along its own axis than a row lies in blocks `block` bytes apart.
    """

    turned: bool
    block: int
    size: int = 2

    @property
    def row(self) -> int:
        """Elements of a row."""
        return ROW_BYTES // self.size

    def place(self, own: int, inner: int) -> int:
        """The byte where an element is, behind the multiple of 1024 bytes."""
        row, column = (own, inner) if self.turned else (inner, own)
        at = column // self.row * self.block + row * ROW_BYTES + column % self.row * self.size
        return at ^ (row % 8) << 4

    def step(self, number: int) -> int:
        """By how many bytes an instruction's matrix begins later than the first one."""
        return number * STEP_BYTES * (1 if self.turned else ROW_BYTES // self.size)


@dataclass(frozen=True, slots=True)
class WarpgroupMultiply(Statement):
    """Adds to `sums` what a work-item holds of a product of matrices of `dtype`, given by words: one of 64 rows from
    `left[left_index]` on times one of `columns` columns from `right[right_index]` on, over 32 `steps` bytes of each
    along the inner axis. The right one lies in local memory; so does the left one, or `left_lies` is None and
    work-items hold it. Where it `starts`, sums are the product alone. Operands of tf32 in local memory are turned.
    Those in local memory are taken from step `first` on.

    Work-item `32 w + 4 g + t` of 128 has, as number `i`, row `16 w + g + 8 (i // 2 % 2)` and column
    `8 (i // 4) + 2 t + i % 2`, as PTX has it in `wgmma.mma_async`. Of a left matrix it holds, as word `i`, row
    `16 w + g + 8 (i % 2)` and column `4 (i // 2) + t` of words, that is, of tf32, or of pairs of halves.
    """

    sums: Value
    dtype: DType
    columns: int
    left: Value
    left_index: Operand
    left_lies: Swizzled | None
    right: Value
    right_index: Operand
    right_lies: Swizzled
    steps: int
    starts: bool = False
    first: int = 0
    size: ClassVar[int] = WARPGROUP


AsyncStmt: TypeAlias = (
    CopyAsync | Commit | WarpgroupMultiply | Await | DescribeMatrix | DescribeWindows | InitBoxes | CopyBox
    | CopyWindows | AwaitBoxes | ReleaseBoxes | Turn
)  # fmt: skip

ASYNC_OPERANDS: Mapping[type, Callable[[Any], tuple[Operand, ...]]] = {
    CopyAsync: attrgetter("pointer", "index", "source", "source_index", "inside"),
    WarpgroupMultiply: attrgetter("sums", "left", "left_index", "right", "right_index"),
    DescribeMatrix: attrgetter("table", "slot", "word", "source", "source_index", "columns", "rows", "row_words"),
    DescribeWindows: lambda stmt: (
        stmt.table, stmt.slot, stmt.word, stmt.source, stmt.source_index, stmt.columns, *stmt.lengths, *stmt.strides,
        *stmt.steps, *stmt.before, *stmt.counts,
    ),
    InitBoxes: lambda stmt: (stmt.barriers,),
    CopyBox: attrgetter("pointer", "index", "source", "table", "slot", "column", "row", "barriers", "number"),
    CopyWindows: lambda stmt: (
        stmt.pointer, stmt.index, stmt.source, stmt.table, stmt.slot, stmt.column, *stmt.place, *stmt.taps,
        stmt.barriers, stmt.number,
    ),
    AwaitBoxes: attrgetter("barriers", "number", "parity"),
    ReleaseBoxes: attrgetter("barriers", "number"),
}  # fmt: skip
"""What each statement reads; `Commit`, `Await` and `Turn` read nothing."""


def asynchronous_with(stmt: AsyncStmt, new: tuple[Operand, ...]) -> AsyncStmt:
    """The statement with others for what `ASYNC_OPERANDS` gives."""
    match stmt:
        case CopyAsync():
            to, index, source, source_index, inside = new
            pointer, source = as_pointer(to), as_pointer(source)
            return replace(stmt, pointer=pointer, index=index, source=source, source_index=source_index, inside=inside)
        case WarpgroupMultiply():
            sums, left, left_index, right, right_index = new
            stmt = replace(stmt, sums=as_pointer(sums), left=as_pointer(left), left_index=left_index)
            return replace(stmt, right=as_pointer(right), right_index=right_index)
        case DescribeMatrix():
            table, slot, word, source, source_index, columns, rows, row_words = new
            table, source = as_pointer(table), as_pointer(source)
            stmt = replace(stmt, table=table, slot=slot, word=word, source=source, source_index=source_index)
            return replace(stmt, columns=columns, rows=rows, row_words=row_words)
        case DescribeWindows():
            table, slot, word, source, source_index, columns, *numbers = new
            table, source = as_pointer(table), as_pointer(source)
            stmt = replace(stmt, table=table, slot=slot, word=word, source=source, source_index=source_index)
            lengths, strides = tuple(numbers[:3]), tuple(numbers[3:6])
            steps, before, counts = (tuple(numbers[first : first + 2]) for first in (6, 8, 10))
            stmt = replace(stmt, columns=columns, lengths=lengths, strides=strides)
            return replace(stmt, steps=steps, before=before, counts=counts)
        case InitBoxes():
            return replace(stmt, barriers=as_pointer(new[0]))
        case CopyBox():
            to, index, source, table, slot, column, row, barriers, number = new
            stmt = replace(stmt, pointer=as_pointer(to), index=index, source=as_pointer(source))
            stmt = replace(stmt, table=as_pointer(table), slot=slot, column=column, row=row)
            return replace(stmt, barriers=as_pointer(barriers), number=number)
        case CopyWindows():
            to, index, source, table, slot, column, *places, barriers, number = new
            stmt = replace(stmt, pointer=as_pointer(to), index=index, source=as_pointer(source))
            stmt = replace(stmt, table=as_pointer(table), slot=slot, column=column)
            stmt = replace(stmt, place=tuple(places[:3]), taps=tuple(places[3:]))
            return replace(stmt, barriers=as_pointer(barriers), number=number)
        case AwaitBoxes():
            barriers, number, parity = new
            return replace(stmt, barriers=as_pointer(barriers), number=number, parity=parity)
        case ReleaseBoxes():
            return replace(stmt, barriers=as_pointer(new[0]), number=new[1])
        case Commit() | Await() | Turn():
            return stmt
