"""Statements whose work goes on while the work-items do.

    CopyAsync local[index] = source[index], inside   16 bytes from global to local memory; zeros where not inside
    Commit                                           ends a batch of copies
    WarpgroupMultiply sums += left @ right           128 work-items add a product of matrices in local memory
    Await copies | products, pending                 goes on when all but the last `pending` are done
    DescribeMatrix table[slot] = source[index] …     what boxes are copied of, in a table of the driver's own form
    InitBoxes barriers, boxes                        each barrier waits for so many boxes in turn
    CopyBox local[index] = table[slot], column, row  64 columns by some rows of a matrix; zeros where it has none
    AwaitBoxes barriers[number], parity              goes on when the boxes of a turn are there; turns are 0, 1, 0, …

Each work-item waits for its own copies; a barrier behind that shows them to the others. Nobody may touch the memory of
what is not done. Operands of products lie in local memory as `Swizzled` says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ocl_ir.kernel.values import Operand, Statement, Value
from ocl_ir.types import DType

WARPGROUP = 128
ROWS = 64
"""Rows of the product of a warpgroup."""
INNER = 16
"""Halves along the inner axis that one instruction takes."""
ROW_BYTES = 128
"""Bytes of a row of an operand, in which units of 16 bytes are exchanged by an exclusive or with the row's number."""
COPY_BYTES = 16
MAP_WORDS = 32
"""Words of a description."""
BOX_COLUMNS = 64
"""Elements of a row of a box."""
ALIGNMENT = 1024
"""Bytes that divide the address of an operand of a product."""


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


@dataclass(frozen=True, slots=True)
class Await(Statement):
    """Goes on when all batches of copies, or all products, are done but for the last `pending`."""

    what: Literal["copies", "products"]
    pending: int


@dataclass(frozen=True, slots=True)
class DescribeMatrix(Statement):
    """Describes a matrix of 16-bit elements, from word `source[source_index]` on: `rows` of `columns` elements, whose
    beginnings are `row_words` words apart. Boxes of it have `box_rows` rows. The description takes 32 words from
    `table[slot]` on, in global memory; another kernel copies boxes by it."""

    table: Value
    slot: Operand
    source: Value
    source_index: Operand
    columns: Operand
    rows: Operand
    row_words: Operand
    box_rows: int


@dataclass(frozen=True, slots=True)
class InitBoxes(Statement):
    """Makes `count` barriers in local memory ready, each for `boxes` boxes in a turn."""

    barriers: Value
    count: int
    boxes: int


@dataclass(frozen=True, slots=True)
class CopyBox(Statement):
    """Begins to copy 64 columns and `rows` rows of a matrix, which `table[slot]` describes and which lies in `source`,
    to words of local memory from `pointer[index]` on, as `Swizzled` says of a turned operand: zeros where the matrix
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
class AwaitBoxes(Statement):
    """Goes on when the boxes of a barrier's turn of this parity are there."""

    barriers: Value
    number: Operand
    parity: Operand


@dataclass(frozen=True, slots=True)
class Swizzled:
    """How an operand of 16-bit elements lies in local memory that begins at a multiple of 1024 bytes.

    Rows of 64 elements are 128 bytes long and follow each other, eight in 1024 bytes; the units of row r are exchanged
    by an exclusive or with r % 8. `turned`: rows go along the inner axis, and the operand's own axis goes down them;
    otherwise it is the other way round, and what has more than 64 elements along its own axis lies in blocks `block`
    bytes apart.
    """

    turned: bool
    block: int

    def place(self, own: int, inner: int) -> int:
        """The byte where an element is, behind the multiple of 1024 bytes."""
        row, column = (own, inner) if self.turned else (inner, own)
        at = column // 64 * self.block + row * ROW_BYTES + column % 64 * 2
        return at ^ (row % 8) << 4

    def step(self, number: int) -> int:
        """By how many bytes an instruction's matrix begins later than the first one."""
        return number * INNER * (2 if self.turned else ROW_BYTES)


@dataclass(frozen=True, slots=True)
class WarpgroupMultiply(Statement):
    """Adds to `sums` what a work-item holds of a product of matrices of `dtype` in local memory, given by words: one of
    64 rows from `left[left_index]` on times one of `columns` columns from `left[right_index]` on, over 16 `steps`
    places of the inner axis.

    Work-item `32 w + 4 g + t` of 128 has, as number `i`, row `16 w + g + 8 (i // 2 % 2)` and column
    `8 (i // 4) + 2 t + i % 2`, as PTX has it in `wgmma.mma_async`.
    """

    sums: Value
    dtype: DType
    columns: int
    left: Value
    left_index: Operand
    left_lies: Swizzled
    right_index: Operand
    right_lies: Swizzled
    steps: int
    size: ClassVar[int] = WARPGROUP
