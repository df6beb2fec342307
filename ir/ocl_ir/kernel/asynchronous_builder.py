"""Typed construction of what goes on while work-items do; see `ocl_ir.kernel.asynchronous`."""

from __future__ import annotations

from collections.abc import Sequence

from ocl_ir.kernel.asynchronous import (
    COPY_BYTES,
    Await,
    AwaitBoxes,
    AwaitWhat,
    Commit,
    CopyAsync,
    CopyBox,
    CopyWindows,
    DescribeMatrix,
    DescribeWindows,
    InitBoxes,
    ReleaseBoxes,
    Swizzled,
    Turn,
    TurnWhat,
    WarpgroupMultiply,
)
from ocl_ir.kernel.blocks import Blocks, memory_of
from ocl_ir.kernel.operands import Like, Ref
from ocl_ir.kernel.values import Operand
from ocl_ir.source_line import calling_line
from ocl_ir.types import BF16, BOOL, U32, DType, element


class AsynchronousBuilder(Blocks):
    """Adds asynchronous statements to the blocks of a kernel."""

    _describes = False
    """Whether matrices are described: no other kernel has to be looked through for what it describes."""

    def copy_async(self, pointer: Ref, index: Like, source: Ref, source_index: Like, inside: Like) -> None:
        """Begins to copy 16 bytes from global to local memory, zeros where not `inside`."""
        to, of = memory_of(pointer), memory_of(source)
        at, source_at = self._operand(index, U32), self._operand(source_index, U32)
        count = COPY_BYTES // element(to.type).size
        self.emit(CopyAsync(to, at, of, source_at, self._operand(inside, BOOL), count, where=calling_line()))

    def commit(self) -> None:
        """Ends a batch of copies."""
        self.emit(Commit(where=calling_line()))

    def await_(self, what: AwaitWhat, pending: int = 0) -> None:
        """Waits for all batches of copies, or all products, but for the last `pending`."""
        self.emit(Await(what, pending, where=calling_line()))

    def warpgroup_multiply(
        self,
        sums: Ref,
        dtype: DType,
        columns: int,
        left: tuple[Ref, Like, Swizzled | None],
        right: tuple[Ref, Like, Swizzled],
        steps: int,
        *,
        starts: bool = False,
        first: int = 0,
    ) -> None:
        """Begins a product of matrices, each given by its memory, where it begins there and how it lies, in local
        memory from step `first` on; where it `starts`, it is not added to what the sums are."""
        (left_memory, left_index, left_lies), (right_memory, right_index, right_lies) = left, right
        stmt = WarpgroupMultiply(
            sums=memory_of(sums),
            dtype=dtype,
            columns=columns,
            left=memory_of(left_memory),
            left_index=self._operand(left_index, U32),
            left_lies=left_lies,
            right=memory_of(right_memory),
            right_index=self._operand(right_index, U32),
            right_lies=right_lies,
            steps=steps,
            starts=starts,
            first=first,
            where=calling_line(),
        )
        self.emit(stmt)

    def describe_matrix(
        self,
        table: tuple[Ref, Like, Like],
        source: tuple[Ref, Like],
        *,
        columns: Like,
        rows: Like,
        row_words: Like,
        box_rows: int,
        dtype: DType = BF16,
    ) -> None:
        """Stores a word of the description, in a table from a slot on, of a matrix of which boxes are copied, given by
        its memory and where it begins there. Lengths are in elements, the distance of rows in words."""
        self._describes = True
        (to, slot, word), (of, index) = table, source
        stmt = DescribeMatrix(
            table=memory_of(to),
            slot=self._operand(slot, U32),
            word=self._operand(word, U32),
            source=memory_of(of),
            source_index=self._operand(index, U32),
            columns=self._operand(columns, U32),
            rows=self._operand(rows, U32),
            row_words=self._operand(row_words, U32),
            box_rows=box_rows,
            dtype=dtype,
            where=calling_line(),
        )
        self.emit(stmt)

    def describe_windows(
        self,
        table: tuple[Ref, Like, Like],
        source: tuple[Ref, Like],
        *,
        columns: Like,
        lengths: Sequence[Like],
        strides: Sequence[Like],
        steps: Sequence[Like],
        before: Sequence[Like],
        counts: Sequence[Like],
        box_rows: int,
        dtype: DType = BF16,
    ) -> None:
        """The same of windows of a tensor: lengths and strides of width, height and images, the others of width and
        height."""
        self._describes = True
        (to, slot, word), (of, index) = table, source
        stmt = DescribeWindows(
            table=memory_of(to),
            slot=self._operand(slot, U32),
            word=self._operand(word, U32),
            source=memory_of(of),
            source_index=self._operand(index, U32),
            columns=self._operand(columns, U32),
            lengths=self._numbers(lengths),
            strides=self._numbers(strides),
            steps=self._numbers(steps),
            before=self._numbers(before),
            counts=self._numbers(counts),
            box_rows=box_rows,
            dtype=dtype,
            where=calling_line(),
        )
        self.emit(stmt)

    def init_boxes(self, barriers: Ref, count: int, boxes: int) -> None:
        """Makes barriers ready for so many boxes in each turn."""
        self.emit(InitBoxes(memory_of(barriers), count, boxes, where=calling_line()))

    def copy_box(
        self,
        local: tuple[Ref, Like],
        source: Ref,
        table: tuple[Ref, Like],
        *,
        column: Like,
        row: Like,
        rows: int,
        barrier: tuple[Ref, Like],
    ) -> None:
        """Begins to copy a box of a described matrix in a source; memory is given by pointer and index."""
        (to, index), (of, slot), (barriers, number) = local, table, barrier
        stmt = CopyBox(
            pointer=memory_of(to),
            index=self._operand(index, U32),
            source=memory_of(source),
            table=memory_of(of),
            slot=self._operand(slot, U32),
            column=self._operand(column, U32),
            row=self._operand(row, U32),
            rows=rows,
            barriers=memory_of(barriers),
            number=self._operand(number, U32),
            where=calling_line(),
        )
        self.emit(stmt)

    def copy_windows(
        self,
        local: tuple[Ref, Like],
        source: Ref,
        table: tuple[Ref, Like],
        *,
        column: Like,
        place: Sequence[Like],
        taps: Sequence[Like],
        rows: int,
        barrier: tuple[Ref, Like],
    ) -> None:
        """Begins to copy what lies at the same place of so many windows: from where the first one begins along width,
        height and images, so many places behind that along width and height."""
        (to, index), (of, slot), (barriers, number) = local, table, barrier
        stmt = CopyWindows(
            pointer=memory_of(to),
            index=self._operand(index, U32),
            source=memory_of(source),
            table=memory_of(of),
            slot=self._operand(slot, U32),
            column=self._operand(column, U32),
            place=self._numbers(place),
            taps=self._numbers(taps),
            rows=rows,
            barriers=memory_of(barriers),
            number=self._operand(number, U32),
            where=calling_line(),
        )
        self.emit(stmt)

    def await_boxes(self, barriers: Ref, number: Like, parity: Like) -> None:
        """Waits for the boxes of a barrier's turn."""
        at, turn = self._operand(number, U32), self._operand(parity, U32)
        self.emit(AwaitBoxes(memory_of(barriers), at, turn, where=calling_line()))

    def release_boxes(self, barriers: Ref, number: Like) -> None:
        """Says that work-items, whole 32 of them, are done with what they did before."""
        self.emit(ReleaseBoxes(memory_of(barriers), self._operand(number, U32), where=calling_line()))

    def turn(self, what: TurnWhat, warpgroups: int) -> None:
        """Opens or closes the turns that warpgroups take, awaits one's own or passes it on."""
        self.emit(Turn(what, warpgroups, where=calling_line()))

    def _numbers(self, numbers: Sequence[Like]) -> tuple[Operand, ...]:
        return tuple(self._operand(number, U32) for number in numbers)
