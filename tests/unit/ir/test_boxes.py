"""Boxes of matrices that one work-item copies: where elements lie, and every way to count or await them wrongly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ocl_ir.errors import DataRaceError, Error, IRError, MemoryAccessError
from ocl_ir.interpret.kernel import run
from ocl_ir.kernel.asynchronous import BOX_COLUMNS, MAP_WORDS, WARPGROUP, Swizzled
from ocl_ir.kernel.builder import KernelBuilder, Ref
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.verify import verify
from ocl_ir.types import F16, F32, F64, TF32, U32, U64, DType
from tests.support.warpgroups import laid

GROUP = 8
ROWS = 16
"""Of a box."""
BOX_WORDS = ROWS * BOX_COLUMNS // 2


def describing(box_rows: int = ROWS, dtype: DType = F16) -> Kernel:
    k = KernelBuilder("describe")
    source, table = k.pointer("source", F64 if dtype is F64 else U32, align=16), k.pointer("table", U32, align=128)
    begin, columns, rows, row_words = (k.scalar(name, U32) for name in ("begin", "columns", "rows", "row_words"))
    sizes = {"columns": columns, "rows": rows, "row_words": row_words}
    k.describe_matrix((table, MAP_WORDS, k.global_id()), (source, begin), **sizes, box_rows=box_rows, dtype=dtype)
    verify(k.build())
    return k.build()


def described(
    matrix: np.ndarray,
    columns: int,
    begin: int = 0,
    box_rows: int = ROWS,
    row_words: int | None = None,
    dtype: DType = F16,
) -> dict[str, np.ndarray]:
    """The arguments of a kernel that copies boxes: a matrix of elements, of which so many columns count."""
    table, source = np.zeros(2 * MAP_WORDS, "u4"), np.concatenate([np.full(begin, 99, "u4"), matrix.view("u4").ravel()])
    sizes = {"columns": columns, "rows": len(matrix), "row_words": row_words or matrix.shape[1] * matrix.itemsize // 4}
    run(describing(box_rows, dtype), {"source": source, "table": table, "begin": begin, **sizes}, (MAP_WORDS,))
    return {"source": source, "table": table, "out": np.zeros(2 * BOX_WORDS, "u4")}


class Boxes:
    """A kernel whose first work-item copies boxes; all of them store local memory in the end."""

    def __init__(self, barriers: int = 1, boxes: int = 1) -> None:
        self.k = k = KernelBuilder("boxes", group_size=(GROUP, 1, 1))
        self.source, self.table = k.pointer("source", U32, align=16), k.pointer("table", U32, align=128)
        self.out = k.pointer("out", U32)
        self.stage = k.array(U32, 2 * BOX_WORDS, align=1024, hint="stage")
        self.there = k.array(U64, barriers, hint="there")
        self.item = k.item("local_id", hint="item")
        self.is_first = self.item == 0
        self.barriers, self.boxes = barriers, boxes

    def init(self) -> None:
        with self.k.if_(self.is_first):
            self.k.init_boxes(self.there, self.barriers, self.boxes)
        self.k.barrier()

    def copy(
        self, row: int = 0, column: int = 0, number: int = 0, at: int = 0, *, rows: int = ROWS, by: Ref | None = None
    ) -> None:
        with self.k.if_(self.is_first if by is None else by):
            table, barrier = (self.table, MAP_WORDS), (self.there, number)
            self.k.copy_box((self.stage, at), self.source, table, column=column, row=row, rows=rows, barrier=barrier)

    def wait(self, parity: int = 0, number: int = 0) -> None:
        self.k.await_boxes(self.there, number, parity)
        self.k.barrier()

    def store(self, words: int = BOX_WORDS, first: int = 0) -> None:
        with self.k.for_(self.item, words, GROUP) as j:
            self.k.store(self.out, first + j, self.k.load(self.stage, first + j))

    def result(self, arguments: dict[str, np.ndarray]) -> np.ndarray:
        verify(self.k.build())
        run(self.k.build(), arguments, (GROUP,))
        return arguments["out"]

    def fails(self, kind: type[Error], said: str, arguments: dict[str, np.ndarray] | None = None) -> None:
        verify(self.k.build())
        with pytest.raises(kind) as caught:
            run(self.k.build(), arguments or described(MATRIX, 128), (GROUP,))
        assert said in str(caught.value)
        assert "-->" in caught.value.place
        assert caught.value.remedy


MATRIX = np.random.default_rng(2).integers(-99, 99, (40, 128)).astype("f2")


def box(row: int, column: int, columns: int) -> np.ndarray:
    """What a box has: zeros outside of the matrix."""
    whole = np.zeros((len(MATRIX) + ROWS, 128 + BOX_COLUMNS), "f2")
    whole[: len(MATRIX), :columns] = MATRIX[:, :columns]
    part = whole[row : row + ROWS, column : column + BOX_COLUMNS]
    return laid(part, Swizzled(turned=True, block=0), F16, BOX_WORDS)


@pytest.mark.parametrize("begin", [0, 12])
@pytest.mark.parametrize(
    ("row", "column", "columns"),
    [(0, 0, 128), (8, 64, 128), (30, 0, 128), (40, 0, 128), (0, 96, 128), (5, 64, 71), (0, 128, 128), (3, 5, 66)],
)
def test_a_box_is_a_part_of_the_matrix_and_zeros_outside(row: int, column: int, columns: int, begin: int) -> None:
    b = Boxes()
    b.init()
    b.copy(row, column)
    b.wait()
    b.store()
    got = b.result(described(MATRIX, columns, begin))
    np.testing.assert_array_equal(got[:BOX_WORDS], box(row, column, columns))


@pytest.mark.parametrize(("row", "column"), [(0, 0), (8, 32), (3, 56)])
def test_boxes_of_float32_are_rounded_to_tf32(row: int, column: int) -> None:
    """To the nearest, ties to even; beyond the matrix are zeros."""
    rng = np.random.default_rng(4)
    numbers = rng.standard_normal((20, 64)).astype("f4")
    ties = numbers.view("u4")
    ties[::2] = ties[::2] & 0xFFFFE000 | 0x1000
    numbers[9, 40:43] = np.inf, np.nan, 3.4028235e38
    arguments = described(numbers, 64, dtype=TF32)
    b = Boxes()
    b.init()
    b.copy(row, column)
    b.wait()
    b.store()
    whole = np.zeros((20 + ROWS, 128), "f4")
    bits = ties.astype("u8")
    even = (bits + 0xFFF + (bits >> 13 & 1) & 0xFFFFE000).astype("u4").view("f4")
    whole[:20, :64] = np.where(np.isnan(numbers), np.nan, even)
    want = laid(whole[row : row + ROWS, column : column + 32], Swizzled(turned=True, block=0, size=4), TF32, BOX_WORDS)
    np.testing.assert_array_equal(b.result(arguments)[:BOX_WORDS].view("f4"), want.view("f4"))


@pytest.mark.parametrize(("row", "column"), [(0, 0), (8, 16), (30, 3), (0, 60)])
def test_boxes_of_float64_are_copied_as_they_are(row: int, column: int) -> None:
    numbers = np.random.default_rng(4).standard_normal((40, 64))
    table, sizes = np.zeros(2 * MAP_WORDS, "u4"), {"begin": 2, "columns": 62, "rows": 40, "row_words": 64}
    source = np.concatenate([np.full(2, 9.0), numbers.ravel()])
    run(describing(dtype=F64), {"source": source, "table": table, **sizes}, (MAP_WORDS,))
    k = KernelBuilder("boxes", group_size=(GROUP, 1, 1))
    memory, maps, out = k.pointer("source", F64, align=16), k.pointer("table", U32, align=128), k.pointer("out", F64)
    stage, there = k.array(F64, 2 * 16 * ROWS, align=1024, hint="stage"), k.array(U64, 1, hint="there")
    item = k.item("local_id", hint="item")
    with k.if_(item == 0):
        k.init_boxes(there, 1, 1)
    k.barrier()
    with k.if_(item == 0):
        box_at = {"column": column, "row": row, "rows": ROWS}
        k.copy_box((stage, 16 * ROWS), memory, (maps, MAP_WORDS), **box_at, barrier=(there, 0))
    k.await_boxes(there, 0, 0)
    with k.for_(item, 16 * ROWS, GROUP) as j:
        k.store(out, j, k.load(stage, 16 * ROWS + j))
    verify(k.build())
    got = np.zeros(16 * ROWS)
    run(k.build(), {"source": source, "table": table, "out": got}, (GROUP,))
    whole = np.zeros((40 + ROWS, 64 + 16))
    whole[:40, :62] = numbers[:, :62]
    lies = Swizzled(turned=True, block=0, size=8)
    for y, x in np.ndindex(ROWS, 16):
        assert got[lies.place(y, x) // 8] == whole[row + y, column + x]


def test_several_boxes_of_one_turn() -> None:
    b = Boxes(boxes=2)
    b.init()
    b.copy(0, 0)
    b.copy(16, 64, at=BOX_WORDS)
    b.wait()
    b.store(2 * BOX_WORDS)
    want = np.concatenate([box(0, 0, 128), box(16, 64, 128)])
    np.testing.assert_array_equal(b.result(described(MATRIX, 128)), want)


def test_turns_follow_each_other() -> None:
    b = Boxes()
    b.init()
    for turn in range(3):
        b.copy(8 * turn)
        b.wait(turn % 2)
        b.store()
        b.k.barrier()
    np.testing.assert_array_equal(b.result(described(MATRIX, 128))[:BOX_WORDS], box(16, 0, 128))


def test_each_barrier_has_its_own_boxes() -> None:
    b = Boxes(barriers=2)
    b.init()
    b.copy(0, 0, 1, BOX_WORDS)
    b.copy(8, 0, 0)
    b.wait(number=1)
    b.store(BOX_WORDS, BOX_WORDS)
    b.wait(number=0)
    np.testing.assert_array_equal(b.result(described(MATRIX, 128))[BOX_WORDS:], box(0, 0, 128))


def test_work_items_may_wait_for_different_barriers() -> None:
    b = Boxes(barriers=2)
    b.init()
    b.copy(0, 0, 0)
    b.copy(0, 64, 1, BOX_WORDS)
    b.k.await_boxes(b.there, b.item & 1, 0)
    b.k.barrier()
    b.store(2 * BOX_WORDS)
    want = np.concatenate([box(0, 0, 128), box(0, 64, 128)])
    np.testing.assert_array_equal(b.result(described(MATRIX, 128)), want)


def early(b: Boxes) -> None:
    b.init()
    b.copy()
    b.store()


def other_turn(b: Boxes) -> None:
    """A wait for the turn before is over at once."""
    b.init()
    b.copy()
    b.wait(1)
    b.store()


def spoil(b: Boxes) -> None:
    b.init()
    b.copy()
    b.k.barrier()
    b.k.store(b.stage, b.item, 7)
    b.wait()


def not_awaited(b: Boxes) -> None:
    b.init()
    b.copy()


def too_few(b: Boxes) -> None:
    b.boxes = 2
    b.init()
    b.copy()
    b.wait()


def too_many(b: Boxes) -> None:
    b.init()
    b.copy()
    b.copy(8, at=BOX_WORDS)
    b.wait()


def by_nobody(b: Boxes) -> None:
    b.init()
    b.wait()


def not_ready(b: Boxes) -> None:
    b.copy()
    b.wait()


def awaited_without_being_ready(b: Boxes) -> None:
    b.wait()


def ready_by_all(b: Boxes) -> None:
    b.k.init_boxes(b.there, 1, 1)
    b.k.barrier()


def copied_by_two(b: Boxes) -> None:
    b.init()
    b.copy(by=b.item < 2)
    b.wait()


def parity_2(b: Boxes) -> None:
    b.init()
    b.copy()
    b.wait(2)


def other_rows(b: Boxes) -> None:
    b.init()
    b.copy(rows=8)
    b.wait()


def no_such_barrier(b: Boxes) -> None:
    b.init()
    b.copy(number=1)


def too_many_barriers(b: Boxes) -> None:
    b.barriers = 2
    b.init()


def misplaced(b: Boxes) -> None:
    b.init()
    b.copy(at=128)
    b.wait()


def beyond_local_memory(b: Boxes) -> None:
    b.init()
    b.copy(at=BOX_WORDS + 256)
    b.wait()


@pytest.mark.parametrize(
    ("wrong", "kind", "said"),
    [
        (early, MemoryAccessError, "accesses stage[0], which a copy or product that goes on still needs"),
        (other_turn, MemoryAccessError, "accesses stage[0], which a copy or product that goes on still needs"),
        (spoil, MemoryAccessError, "accesses stage[0], which a copy or product that goes on still needs"),
        (not_awaited, IRError, "a group ends while boxes are copied"),
        (too_few, IRError, "1 boxes for barrier 0, which waits for 2"),
        (too_many, IRError, "2 boxes for barrier 0, which waits for 1"),
        (by_nobody, IRError, "0 boxes for barrier 0, which waits for 1"),
        (not_ready, MemoryAccessError, "reads there[0], which nothing has been stored to"),
        (awaited_without_being_ready, MemoryAccessError, "reads there[0], which nothing has been stored to"),
        (ready_by_all, IRError, "8 work-items come to initboxes, each for itself"),
        (copied_by_two, IRError, "2 work-items come to copybox, each for itself"),
        (parity_2, IRError, "a wait for parity 2"),
        (other_rows, IRError, "a box of 8 rows of what is described for boxes of 16"),
        (no_such_barrier, MemoryAccessError, "accesses there[1], whose length is 1"),
        (too_many_barriers, MemoryAccessError, "accesses there[0 to 1], whose length is 1"),
        (misplaced, MemoryAccessError, "accesses stage[128], an address that 1024 does not divide"),
        (beyond_local_memory, MemoryAccessError, "whose length is 1024"),
    ],
)
def test_what_goes_wrong_is_reported(wrong: Callable[[Boxes], None], kind: type[Error], said: str) -> None:
    b = Boxes()
    wrong(b)
    b.fails(kind, said)


def test_barriers_are_ready_behind_a_barrier() -> None:
    b = Boxes()
    with b.k.if_(b.is_first):
        b.k.init_boxes(b.there, 1, 1)
    b.copy()
    b.wait()
    b.fails(DataRaceError, "data race on there[0]")


def test_who_has_waited_sees_boxes_without_a_barrier() -> None:
    b = Boxes()
    b.init()
    b.copy()
    b.k.await_boxes(b.there, 0, 0)
    b.store()
    np.testing.assert_array_equal(b.result(described(MATRIX, 128))[:BOX_WORDS], box(0, 0, 128))


@pytest.mark.parametrize("before", [False, True])
def test_others_see_boxes_behind_a_barrier(before: bool) -> None:
    """One before the wait does not order; nor does it if somebody waits too late."""
    for late in (False, True):
        b = Boxes()
        b.init()
        b.copy()
        if before:
            b.k.barrier()
        with b.k.if_(b.item < 4):
            b.k.await_boxes(b.there, 0, 0)
        b.store()
        if late:
            b.k.await_boxes(b.there, 0, 0)
        b.fails(DataRaceError, "data race on stage[")


def test_who_waits_later_sees_boxes_too() -> None:
    b = Boxes()
    b.init()
    b.copy()
    for own in (b.item < 4, b.item >= 4):
        with b.k.if_(own):
            b.k.await_boxes(b.there, 0, 0)
    b.store()
    np.testing.assert_array_equal(b.result(described(MATRIX, 128))[:BOX_WORDS], box(0, 0, 128))


def test_a_box_comes_behind_who_reads_what_was_there() -> None:
    """It may be there at once."""
    for ordered in (True, False):
        b = Boxes()
        b.init()
        with b.k.for_(b.item, BOX_WORDS, GROUP) as j:
            b.k.store(b.stage, j, 7)
        b.k.barrier()
        b.store()
        if ordered:
            b.k.barrier()
        b.copy()
        b.wait()
        if ordered:
            assert (b.result(described(MATRIX, 128))[:BOX_WORDS] == 7).all()
        else:
            b.fails(DataRaceError, "data race on stage[")


def test_a_box_leaves_alone_what_a_product_reads() -> None:
    def kernel(early: bool) -> Kernel:
        k = KernelBuilder("both", group_size=(WARPGROUP, 1, 1))
        source, table = k.pointer("source", U32, align=16), k.pointer("table", U32, align=128)
        stage, there = k.array(U32, 4096, align=1024, hint="stage"), k.array(U64, 1)
        sums, item = k.array(F32, 4, space="private", hint="sums"), k.item("local_id")
        with k.for_(0, 4) as j:
            k.store(sums, j, 0.0)
        with k.for_(item, 4096, WARPGROUP) as j:
            k.store(stage, j, 0)
        with k.if_(item == 0):
            k.init_boxes(there, 1, 1)
        k.barrier()
        side = stage, 0, Swizzled(turned=True, block=0)
        k.warpgroup_multiply(sums, F16, 8, side, side, 1)
        if not early:
            k.await_("products")
        k.barrier()
        with k.if_(item == 0):
            place = {"column": 0, "row": 0, "rows": ROWS}
            k.copy_box((stage, 0), source, (table, MAP_WORDS), **place, barrier=(there, 0))
        k.await_("products")
        k.await_boxes(there, 0, 0)
        return k.build()

    arguments = {name: array for name, array in described(MATRIX, 128).items() if name != "out"}
    run(kernel(early=False), arguments, (WARPGROUP,))
    with pytest.raises(MemoryAccessError, match="which a copy or product that goes on still needs"):
        run(kernel(early=True), arguments, (WARPGROUP,))


@pytest.mark.parametrize(("begin", "row_words"), [(2, 64), (0, 62)])
def test_rows_of_a_matrix_begin_at_units(begin: int, row_words: int) -> None:
    with pytest.raises(IRError, match="do not begin at multiples of 16 bytes"):
        described(MATRIX, 64, begin, row_words=row_words)


def test_a_description_lies_at_a_multiple_of_64_bytes() -> None:
    k = KernelBuilder("describe")
    source, table = k.pointer("source", U32), k.pointer("table", U32)
    k.describe_matrix((table, 8, 0), (source, 0), columns=8, rows=8, row_words=4, box_rows=8)
    with pytest.raises(IRError, match="a description that does not begin at a multiple of 64 bytes"):
        run(k.build(), {"source": np.zeros(64, "u4"), "table": np.zeros(64, "u4")}, (1,))


def test_a_kernel_says_whether_it_only_describes() -> None:
    assert describing().describes
    assert not Boxes().k.build().describes
    k = KernelBuilder("describe_and_store")
    source, table, out = (k.pointer(name, U32) for name in ("source", "table", "out"))
    k.describe_matrix((table, 0, k.global_id()), (source, 0), columns=8, rows=8, row_words=4, box_rows=8)
    k.store(out, 0, 1)
    assert not k.build().describes
    k = KernelBuilder("describe_as_it_says")
    source, table, sizes = (k.pointer(name, U32) for name in ("source", "table", "sizes"))
    rows = k.load(sizes, 0)
    k.describe_matrix((table, 0, k.global_id()), (source, 0), columns=8, rows=rows, row_words=4, box_rows=8)
    assert not k.build().describes, "what it reads may change"


def test_a_box_has_the_words_of_its_matrix() -> None:
    k = KernelBuilder("describe")
    source, table = k.pointer("source", F64, align=16), k.pointer("table", U32, align=128)
    sizes = {"columns": 64, "rows": 40, "row_words": 64}
    k.describe_matrix((table, MAP_WORDS, k.global_id()), (source, 0), **sizes, box_rows=ROWS, dtype=F64)
    words = np.zeros(2 * MAP_WORDS, "u4")
    run(k.build(), {"source": np.zeros(64 * 40), "table": words}, (MAP_WORDS,))
    b = Boxes()
    b.init()
    b.copy()
    b.wait()
    arguments = {**described(MATRIX, 128), "table": words}
    b.fails(IRError, "a box in words of 4 bytes of a matrix whose elements have 8", arguments)


def test_a_description_has_32_words() -> None:
    k = KernelBuilder("describe")
    source, table = k.pointer("source", U32), k.pointer("table", U32)
    k.describe_matrix((table, 0, k.global_id()), (source, 0), columns=8, rows=8, row_words=4, box_rows=8)
    with pytest.raises(IRError, match="word 32 of a description, which has 32"):
        run(k.build(), {"source": np.zeros(64, "u4"), "table": np.zeros(64, "u4")}, (33,))


def test_each_work_item_stores_its_own_word() -> None:
    """Or that of another matrix; else it is a race."""
    for own in (True, False):
        k = KernelBuilder("describe")
        source, table = k.pointer("source", U32), k.pointer("table", U32)
        slot = k.global_id() * MAP_WORDS if own else k.const(0, U32)
        k.describe_matrix((table, slot, 3), (source, 0), columns=8, rows=8, row_words=4, box_rows=8)
        arguments = {"source": np.zeros(64, "u4"), "table": np.zeros(2 * MAP_WORDS, "u4")}
        if own:
            run(k.build(), arguments, (2,), (2,))
        else:
            with pytest.raises(DataRaceError, match=r"data race on table\["):
                run(k.build(), arguments, (2,), (2,))


def test_a_matrix_lies_in_its_memory() -> None:
    b = Boxes()
    b.init()
    b.copy(32)
    b.wait()
    arguments = described(MATRIX, 128)
    arguments["source"] = arguments["source"][:2100].copy()
    b.fails(MemoryAccessError, "accesses source[2112], whose length is 2100", arguments)


class Ring:
    """A kernel of two teams of 32 work-items, which read what the first one copies, block by block, into two slots."""

    def __init__(self, turns: int = 2) -> None:
        self.k = k = KernelBuilder("ring", group_size=(64, 1, 1))
        self.source, self.table = k.pointer("source", U32, align=16), k.pointer("table", U32, align=128)
        self.out = k.pointer("out", U32)
        self.stage = k.array(U32, 2 * BOX_WORDS, align=1024, hint="stage")
        self.there, self.released = k.array(U64, 2, hint="there"), k.array(U64, turns, hint="released")
        self.item = k.item("local_id", hint="item")
        with k.if_(self.item == 0):
            k.init_boxes(self.there, 2, 1)
            k.init_boxes(self.released, turns, 2)
        k.barrier()

    def copy(self, block: Ref) -> None:
        k, slot = self.k, block & 1
        place = {"column": 0, "row": block * 2, "rows": ROWS}
        k.copy_box(
            (self.stage, slot * BOX_WORDS), self.source, (self.table, MAP_WORDS), **place, barrier=(self.there, slot)
        )

    def build(self, *, waits: bool = True, releases: bool = True, blocks: int = 5) -> Kernel:
        k, const = self.k, self.k.const
        with k.if_(self.item == 0):
            self.copy(const(0, U32))
        with k.for_(0, blocks, hint="block") as block:
            with k.if_((self.item == 0) & (block + 1 < blocks)):
                if waits:
                    with k.if_(block > 0):
                        k.await_boxes(self.released, (block - 1) & 1, ((block - 1) >> 1) & 1)
                self.copy(block + 1)
            k.await_boxes(self.there, block & 1, (block >> 1) & 1)
            with k.for_(self.item, BOX_WORDS, 64) as j:
                k.store(self.out, j, k.load(self.stage, (block & 1) * BOX_WORDS + (BOX_WORDS - 1 - j)))
            if releases:
                k.release_boxes(self.released, block & 1)
        verify(k.build())
        return k.build()


def test_memory_is_used_again_behind_a_release() -> None:
    arguments = described(MATRIX, 128)
    run(Ring().build(), arguments, (64,))
    last = described(MATRIX, 128)
    np.testing.assert_array_equal(arguments["out"][:BOX_WORDS], box(8, 0, 128)[::-1])
    assert not last["out"].any()


def test_memory_that_is_not_awaited_is_a_race() -> None:
    with pytest.raises(DataRaceError, match=r"data race on stage\["):
        run(Ring().build(waits=False), described(MATRIX, 128), (64,))


def test_a_release_that_does_not_come_is_awaited_in_vain() -> None:
    with pytest.raises(IRError, match="0 boxes for barrier 0, which waits for 2"):
        run(Ring().build(releases=False), described(MATRIX, 128), (64,))


def test_teams_release_as_a_whole() -> None:
    ring = Ring()
    with ring.k.if_(ring.item < 40):
        ring.k.release_boxes(ring.released, 0)
    with pytest.raises(IRError, match="40 work-items come to a release, in 2 parts of 32"):
        run(ring.build(), described(MATRIX, 128), (64,))


@pytest.mark.parametrize("waits", [False, True])
def test_only_who_waits_for_a_release_comes_behind_it(waits: bool) -> None:
    k = KernelBuilder("late", group_size=(64, 1, 1))
    cell, released, y = k.array(U32, 1, hint="cell"), k.array(U64, 1, hint="released"), k.pointer("y", U32)
    item = k.item("local_id", hint="item")
    with k.if_(item == 0):
        k.init_boxes(released, 1, 2)
    k.barrier()
    with k.if_(item == 32):
        k.store(cell, 0, 1)
    k.release_boxes(released, 0)
    with k.if_(item == 1):
        if waits:
            k.await_boxes(released, 0, 0)
        k.store(cell, 0, 2)
        k.store(y, 0, k.load(cell, 0))
    verify(k.build())
    arguments = {"y": np.zeros(1, "u4")}
    if waits:
        run(k.build(), arguments, (64,))
        assert arguments["y"][0] == 2
    else:
        with pytest.raises(DataRaceError, match=r"data race on cell\["):
            run(k.build(), arguments, (64,))


def test_a_release_orders_only_what_who_releases_has_done() -> None:
    k = KernelBuilder("part", group_size=(64, 1, 1))
    cell, released = k.array(U32, 1, hint="cell"), k.array(U64, 1, hint="released")
    item = k.item("local_id", hint="item")
    with k.if_(item == 0):
        k.init_boxes(released, 1, 1)
    k.barrier()
    with k.if_(item == 40):
        k.store(cell, 0, 1)
    with k.if_(item < 32):
        k.release_boxes(released, 0)
    with k.if_(item == 1):
        k.await_boxes(released, 0, 0)
        k.store(cell, 0, 2)
    verify(k.build())
    with pytest.raises(DataRaceError, match=r"data race on cell\["):
        run(k.build(), {}, (64,))
