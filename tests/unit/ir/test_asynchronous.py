"""Copies and products that go on while work-items do: what they give when they are awaited, and every way to touch what
they need too early."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from ocl_ir.errors import DataRaceError, Error, IRError, MemoryAccessError
from ocl_ir.interpret.kernel import run
from ocl_ir.kernel.asynchronous import WARPGROUP, Swizzled
from ocl_ir.kernel.builder import KernelBuilder, Ref
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.verify import verify
from ocl_ir.types import BF16, BOOL, F16, F32, TF32, U32, DType
from tests.support.warpgroups import laid, sums_of

ITEMS = 8
SOURCE = np.arange(1, 4 * ITEMS + 1, dtype=np.uint32)


def fails(kernel: Kernel, arguments: dict[str, object], items: int, kind: type[Error], said: str) -> None:
    """The interpreter reports a kernel that the verifier takes."""
    verify(kernel)
    with pytest.raises(kind) as caught:
        run(kernel, arguments, (items,), (items,))  # type: ignore[arg-type]
    assert said in str(caught.value)
    assert "-->" in caught.value.place
    assert caught.value.remedy


# ---------------------------------------------------------------------- copies


class Copies:
    """A kernel whose work-items each copy four words and, in the end, store what is in local memory."""

    def __init__(self) -> None:
        self.k = KernelBuilder("copies", group_size=(ITEMS, 1, 1))
        self.source, self.out = self.k.pointer("source", U32, align=16), self.k.pointer("out", U32, align=16)
        self.local = self.k.array(U32, 4 * ITEMS, align=16, hint="stage")
        self.item = self.k.item("local_id", hint="item")
        self.at = self.k.let(self.item * 4, "at")

    def fill(self, value: int) -> None:
        """Gives own words of local memory a value."""
        self.k.store(self.local, self.at, self.k.splat(self.k.const(value, U32), 4), align=16)

    def copy(self, inside: Ref | bool = True) -> None:
        self.k.copy_async(self.local, self.at, self.source, self.at, inside)

    def wait(self, pending: int = 0) -> None:
        self.k.commit()
        self.k.await_("copies", pending)

    def store(self, item: Ref | None = None) -> None:
        at = self.at if item is None else item * 4
        self.k.store(self.out, self.at, self.k.load(self.local, at, count=4, align=16), align=16)

    def build(self) -> Kernel:
        return self.k.build()

    def result(self) -> np.ndarray:
        kernel = self.build()
        verify(kernel)
        arguments = {"source": SOURCE.copy(), "out": np.zeros(4 * ITEMS, "u4")}
        run(kernel, arguments, (ITEMS,), (ITEMS,))
        return arguments["out"]

    def fails(self, kind: type[Error], said: str) -> None:
        fails(self.build(), {"source": SOURCE.copy(), "out": np.zeros(4 * ITEMS, "u4")}, ITEMS, kind, said)


def test_what_is_awaited_is_there() -> None:
    c = Copies()
    c.copy()
    c.wait()
    c.store()
    np.testing.assert_array_equal(c.result(), SOURCE)


def test_zeros_are_stored_where_the_source_is_not_inside() -> None:
    """Nothing is read there, wherever the index leads."""
    c = Copies()
    far = c.k.op("select", c.item < 5, c.at, c.k.const(10_000, U32))
    c.k.copy_async(c.local, c.at, c.source, far, c.item < 5)
    c.wait()
    c.store()
    np.testing.assert_array_equal(c.result(), np.where(np.arange(4 * ITEMS) < 20, SOURCE, 0))


def test_nobody_may_be_inside() -> None:
    c = Copies()
    c.copy(c.item > 100)
    c.wait()
    c.store()
    assert not c.result().any()


def test_elements_of_bfloat16_are_copied_as_they_are() -> None:
    k = KernelBuilder("halves", group_size=(1, 1, 1))
    source, out = k.pointer("source", BF16, align=16), k.pointer("out", BF16, align=16)
    local = k.array(BF16, 8, align=16)
    k.copy_async(local, 0, source, 0, k.const(True, BOOL))
    k.commit()
    k.await_("copies")
    for place in range(8):
        k.store(out, place, k.load_as(local, place, F32))
    given = np.array([0x3F80, 0xFF80, 0x8000, 1, 2, 3, 4, 5], "u2")
    arguments = {"source": given, "out": np.zeros(8, "u2")}
    run(k.build(), arguments, (1,))
    np.testing.assert_array_equal(arguments["out"], given)


def test_what_is_read_outside_of_the_source_is_reported() -> None:
    c = Copies()
    c.k.copy_async(c.local, c.at, c.source, c.at + 4, True)
    c.wait()
    c.fails(MemoryAccessError, "accesses source[32 to 35], whose length is 32")


@pytest.mark.parametrize("side", ["source", "stage"])
def test_a_copy_takes_whole_units(side: str) -> None:
    c = Copies()
    off = c.k.let(c.at + 2)
    with c.k.if_(c.item < 4):
        pair = (c.at, off) if side == "source" else (off, c.at)
        c.k.copy_async(c.local, pair[0], c.source, pair[1], True)
    c.wait()
    c.fails(MemoryAccessError, f"accesses {side}[2], an address that 16 does not divide")


def test_a_copy_is_done_as_late_as_it_may() -> None:
    """So who changes the source too early sees what comes of it."""
    c = Copies()
    c.copy()
    c.k.store(c.source, c.at, 99)
    c.wait()
    c.store()
    np.testing.assert_array_equal(c.result()[::4], 99)


def test_who_does_not_wait_is_reported() -> None:
    c = Copies()
    c.fill(7)
    c.copy()
    c.store()
    c.wait()
    c.fails(MemoryAccessError, "accesses stage[0], which a copy or product that goes on still needs")


def test_a_copy_without_commit_is_not_awaited() -> None:
    c = Copies()
    c.copy()
    c.k.await_("copies")
    c.store()
    c.fails(MemoryAccessError, "which a copy or product that goes on still needs")


@pytest.mark.parametrize("commits", [False, True])
def test_a_group_does_not_end_before_its_copies(commits: bool) -> None:
    c = Copies()
    c.copy()
    if commits:
        c.k.commit()
    else:
        c.k.await_("copies")
    c.fails(IRError, "while copies go on" if commits else "a copy that no commit follows")


@pytest.mark.parametrize("pending", [0, 1])
def test_the_last_batches_may_be_pending(pending: int) -> None:
    c = Copies()
    other = c.k.array(U32, 4 * ITEMS, align=16, hint="other")
    c.copy()
    c.k.commit()
    c.k.copy_async(other, c.at, c.source, c.at, True)
    c.wait(pending)
    c.store()
    c.k.load(other, c.at)
    c.k.await_("copies")
    if pending:
        c.fails(MemoryAccessError, "accesses other[0], which a copy")
    else:
        np.testing.assert_array_equal(c.result(), SOURCE)


def test_batches_without_copies_count() -> None:
    c = Copies()
    c.copy()
    c.k.commit()
    c.wait(1)
    c.store()
    np.testing.assert_array_equal(c.result(), SOURCE)


@pytest.mark.parametrize("again", ["a store", "a copy"])
def test_what_is_copied_to_is_left_alone(again: str) -> None:
    c = Copies()
    c.copy()
    c.fill(7) if again == "a store" else c.copy()
    c.wait()
    c.fails(MemoryAccessError, "which a copy or product that goes on still needs")


@pytest.mark.parametrize("ordered", [False, True])
def test_others_see_a_copy_behind_a_barrier(ordered: bool) -> None:
    c = Copies()
    c.copy()
    c.wait()
    if ordered:
        c.k.barrier()
    c.store((c.item + 1) & (ITEMS - 1))
    if ordered:
        np.testing.assert_array_equal(c.result(), np.roll(SOURCE, -4))
    else:
        c.fails(DataRaceError, "data race on stage[")


def test_a_barrier_before_the_wait_does_not_order() -> None:
    """The copy may be done behind it."""
    c = Copies()
    c.copy()
    c.k.commit()
    c.k.barrier()
    c.k.await_("copies")
    c.store((c.item + 1) & (ITEMS - 1))
    c.fails(DataRaceError, "data race on stage[")


@pytest.mark.parametrize("ordered", [False, True])
def test_a_copy_begins_behind_who_reads_what_was_there(ordered: bool) -> None:
    """It may be done at once."""
    c = Copies()
    c.fill(7)
    c.k.barrier()
    c.store((c.item + 1) & (ITEMS - 1))
    if ordered:
        c.k.barrier()
    c.copy()
    c.k.barrier()
    c.wait()
    if ordered:
        np.testing.assert_array_equal(c.result(), 7)
    else:
        c.fails(DataRaceError, "data race on stage[")


def test_the_source_is_watched_for_races() -> None:
    c = Copies()
    c.k.store(c.source, (c.at + 4) & (4 * ITEMS - 1), 99)
    c.copy()
    c.wait()
    c.fails(DataRaceError, "data race on source[")


# ---------------------------------------------------------------------- products of warpgroups

STAGE_WORDS = 8192
RIGHT = 4096
"""The word where the right operand begins."""


class Products:
    """A kernel of one or more warpgroups that multiply what is in memory, laid out as local memory has it."""

    def __init__(self, columns: int, items: int = WARPGROUP) -> None:
        self.items, self.columns = items, columns
        self.k = k = KernelBuilder("products", group_size=(items, 1, 1))
        self.words, self.out = k.pointer("words", U32), k.pointer("out", F32)
        self.stage = k.array(U32, STAGE_WORDS, align=1024, hint="stage")
        self.item = k.item("local_id", hint="item")
        self.sums = k.array(F32, columns // 2, space="private", hint="sums")
        with k.for_(0, columns // 2) as j:
            k.store(self.sums, j, 0.0)

    def load(self) -> None:
        with self.k.for_(self.item, STAGE_WORDS, self.items) as j:
            self.k.store(self.stage, j, self.k.load(self.words, j))
        self.k.barrier()

    def multiply(
        self,
        lies: tuple[Swizzled, Swizzled] | None = None,
        dtype: DType = F16,
        steps: int = 1,
        left: Ref | None = None,
    ) -> None:
        left_lies, right_lies = lies or (Swizzled(turned=True, block=0), Swizzled(turned=True, block=0))
        begin = 0 if left is None else left
        sides = (self.stage, begin, left_lies), (self.stage, RIGHT, right_lies)
        self.k.warpgroup_multiply(self.sums, dtype, self.columns, *sides, steps)

    def store(self) -> None:
        with self.k.for_(0, self.columns // 2) as j:
            self.k.store(self.out, self.item * (self.columns // 2) + j, self.k.load(self.sums, j))

    def result(self, words: np.ndarray) -> np.ndarray:
        """The products of all warpgroups."""
        kernel = self.k.build()
        verify(kernel)
        out = np.zeros(self.items * self.columns // 2, "f4")
        run(kernel, {"words": words, "out": out}, (self.items,), (self.items,))
        products = np.full((self.items // WARPGROUP, 64, self.columns), 99.0)
        for number, held in enumerate(out.reshape(-1, WARPGROUP, self.columns // 2)):
            for item, i, row, column in sums_of(self.columns):
                products[number, row, column] = held[item, i]
        return products

    def fails(self, kind: type[Error], said: str) -> None:
        arguments = {"words": np.zeros(STAGE_WORDS, "u4"), "out": np.zeros(self.items * self.columns // 2, "f4")}
        fails(self.k.build(), arguments, self.items, kind, said)


def operands(columns: int, steps: int, rows: int = 64, size: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """A left matrix, and a right one that is transposed: the inner axis comes last. Elements have `size` bytes."""
    rng = np.random.default_rng(5)
    return tuple(rng.integers(-9, 10, (own, 32 // size * steps)).astype("f8") for own in (rows, columns))  # type: ignore[return-value]


def words_of(left: np.ndarray, right: np.ndarray, lies: tuple[Swizzled, Swizzled], dtype: DType) -> np.ndarray:
    return np.concatenate([laid(each, how, dtype, RIGHT) for each, how in zip((left, right), lies, strict=True)])


@pytest.mark.parametrize(("left_turned", "right_turned"), [*itertools.product((True, False), repeat=2)])
@pytest.mark.parametrize(("dtype", "columns", "steps"), [(F16, 8, 1), (BF16, 64, 4), (F16, 128, 3)], ids=str)
def test_products_of_every_layout(
    dtype: DType, columns: int, steps: int, left_turned: bool, right_turned: bool
) -> None:
    lies = Swizzled(left_turned, 0), Swizzled(right_turned, 8192)
    left, right = operands(columns, steps)
    p = Products(columns)
    p.load()
    p.multiply(lies, dtype, steps)
    p.k.await_("products")
    p.store()
    np.testing.assert_array_equal(p.result(words_of(left, right, lies, dtype)), [left @ right.T])


@pytest.mark.parametrize(("columns", "steps", "first"), [(8, 4, 0), (128, 2, 0), (64, 2, 2), (16, 1, 3)])
def test_products_of_tf32(columns: int, steps: int, first: int) -> None:
    """Those of rows in local memory begin at any step."""
    lies = Swizzled(turned=True, block=0, size=4), Swizzled(turned=True, block=0, size=4)
    left, right = operands(columns, 4, size=4)
    p = Products(columns)
    p.load()
    sides = (p.stage, 0, lies[0]), (p.stage, RIGHT, lies[1])
    p.k.warpgroup_multiply(p.sums, TF32, columns, *sides, steps, first=first)
    p.k.await_("products")
    p.store()
    part = slice(8 * first, 8 * (first + steps))
    np.testing.assert_array_equal(p.result(words_of(left, right, lies, TF32)), [left[:, part] @ right[:, part].T])


def test_of_words_of_tf32_the_upper_bits_are_taken() -> None:
    lies = Swizzled(turned=True, block=0, size=4), Swizzled(turned=True, block=0, size=4)
    left, right = np.zeros((64, 32)), np.ones((8, 32))
    left[:, 0] = 1 + 2.0**-10 + 2.0**-11 + 2.0**-20
    p = Products(8)
    p.load()
    p.multiply(lies, TF32, 4)
    p.k.await_("products")
    p.store()
    assert (p.result(words_of(left, right, lies, TF32)) == 1 + 2.0**-10).all()


def test_nan_and_infinities_stay_in_their_rows() -> None:
    lies = Swizzled(turned=True, block=0), Swizzled(turned=False, block=0)
    left, right = operands(16, 2)
    left[3, 7], left[20, 31], right[5, 31] = np.nan, np.inf, 0.0
    p = Products(16)
    p.load()
    p.multiply(lies, steps=2)
    p.k.await_("products")
    p.store()
    with np.errstate(invalid="ignore"):
        want = left @ right.T
    assert np.isnan(want[20, 5])
    np.testing.assert_array_equal(p.result(words_of(left, right, lies, F16)), [want])


def test_each_warpgroup_has_its_own_product() -> None:
    lies = Swizzled(turned=True, block=0), Swizzled(turned=True, block=0)
    left, right = operands(16, 1, rows=128)
    p = Products(16, 2 * WARPGROUP)
    p.load()
    p.multiply(lies, left=p.k.op("udiv", p.item, WARPGROUP) * (64 * 32))
    p.k.await_("products")
    p.store()
    got = p.result(words_of(left, right, lies, F16))
    np.testing.assert_array_equal(got.reshape(128, 16), left @ right.T)


@pytest.mark.parametrize(("dtype", "steps"), [(F16, 1), (BF16, 4)], ids=str)
def test_left_operands_that_work_items_hold(dtype: DType, steps: int) -> None:
    lies = Swizzled(turned=True, block=0), Swizzled(turned=False, block=0)
    left, right = operands(64, steps)
    p = Products(64)
    p.load()
    held = p.k.array(U32, 4 * steps, space="private", hint="held")
    row, pair = p.k.op("udiv", p.item, 32) * 16 + (p.item >> 2 & 7), p.item & 3
    for word in range(4 * steps):  # as Swizzled has it: the units of 16 bytes of a row, exchanged
        own, unit = p.k.let(row + 8 * (word % 2)), word // 2
        p.k.store(held, word, p.k.load(p.stage, own * 32 + ((own & 7) ^ unit) * 4 + pair))
    sides = (held, 0, None), (p.stage, RIGHT, lies[1])
    p.k.warpgroup_multiply(p.sums, dtype, 64, *sides, steps)
    p.k.await_("products")
    p.store()
    np.testing.assert_array_equal(p.result(words_of(left, right, lies, dtype)), [left @ right.T])


def test_left_operands_of_tf32_that_work_items_hold() -> None:
    lies, steps = Swizzled(turned=True, block=0, size=4), 3
    left, right = operands(64, steps, size=4)
    p = Products(64)
    p.load()
    held = p.k.array(U32, 4 * steps, space="private", hint="held")
    row, column = p.k.op("udiv", p.item, 32) * 16 + (p.item >> 2 & 7), p.item & 3
    for word in range(4 * steps):  # a unit is four columns
        own, unit = p.k.let(row + 8 * (word % 2)), word // 2
        p.k.store(held, word, p.k.load(p.stage, own * 32 + ((own & 7) ^ unit) * 4 + column))
    p.k.warpgroup_multiply(p.sums, TF32, 64, (held, 0, None), (p.stage, RIGHT, lies), steps)
    p.k.await_("products")
    p.store()
    np.testing.assert_array_equal(p.result(words_of(left, right, (lies, lies), TF32)), [left @ right.T])


def test_held_operands_are_left_alone_while_products_go_on() -> None:
    p = Products(8)
    p.load()
    held = p.k.array(U32, 4, space="private", hint="held")
    with p.k.for_(0, 4) as word:
        p.k.store(held, word, 0)
    p.k.warpgroup_multiply(p.sums, F16, 8, (held, 0, None), (p.stage, RIGHT, Swizzled(turned=True, block=0)), 1)
    p.k.store(held, 2, 1)
    p.k.await_("products")
    p.fails(MemoryAccessError, "accesses held[2], which a copy or product that goes on still needs")


@pytest.mark.parametrize("starts", [False, True])
def test_products_that_start_sums_forget_what_these_were(starts: bool) -> None:
    lies = Swizzled(turned=True, block=0), Swizzled(turned=True, block=0)
    left, right = operands(16, 1)
    p = Products(16)
    p.load()
    sides = (p.stage, 0, lies[0]), (p.stage, RIGHT, lies[1])
    for number in range(3):
        p.k.warpgroup_multiply(p.sums, F16, 16, *sides, 1, starts=starts and number == 1)
    p.k.await_("products")
    p.store()
    times = 2 if starts else 3
    np.testing.assert_array_equal(p.result(words_of(left, right, lies, F16)), [times * left @ right.T])


def test_products_that_start_sums_need_none() -> None:
    k = KernelBuilder("products", group_size=(WARPGROUP, 1, 1))
    out, stage = k.pointer("out", F32), k.array(U32, 8192, align=1024)
    item, sums = k.item("local_id"), k.array(F32, 4, space="private")
    with k.for_(item, 8192, WARPGROUP) as j:
        k.store(stage, j, 0)
    k.barrier()
    side = stage, 0, Swizzled(turned=True, block=0)
    k.warpgroup_multiply(sums, F16, 8, side, side, 1, starts=True)
    k.await_("products")
    k.store(out, item, k.load(sums, 3))
    verify(kernel := k.build())
    got = np.ones(WARPGROUP, "f4")
    run(kernel, {"out": got}, (WARPGROUP,), (WARPGROUP,))
    assert not got.any()


def test_products_that_go_on_add_up() -> None:
    lies = Swizzled(turned=True, block=0), Swizzled(turned=True, block=0)
    left, right = operands(16, 1)
    p = Products(16)
    p.load()
    for _ in range(3):
        p.multiply(lies)
        p.k.await_("products", 1)
    p.k.await_("products")
    p.store()
    np.testing.assert_array_equal(p.result(words_of(left, right, lies, F16)), [3 * left @ right.T])


Step = Callable[[Products], None]


def overwrite(p: Products) -> None:
    p.k.barrier()
    p.k.store(p.stage, p.item, 0)


def overwrite_by_a_copy(p: Products) -> None:
    p.k.barrier()
    p.k.copy_async(p.stage, p.item * 4, p.words, p.item * 4, True)
    p.k.commit()
    p.k.await_("copies")


@pytest.mark.parametrize(
    ("early", "said"),
    [
        (Products.store, "accesses sums[0], which a copy or product"),
        (lambda p: p.k.store(p.sums, 0, 0.0), "accesses sums[0], which a copy or product"),
        (overwrite, "accesses stage[0], which a copy or product"),
        (overwrite_by_a_copy, "accesses stage[0], which a copy or product"),
    ],
)
def test_what_a_product_needs_is_left_alone(early: Step, said: str) -> None:
    for first in (True, False):
        p = Products(8)
        p.load()
        p.multiply()
        if first:
            early(p)
        p.k.await_("products")
        if not first:
            early(p)
        if first:
            p.fails(MemoryAccessError, said)
        else:
            p.result(np.zeros(STAGE_WORDS, "u4"))


def test_operands_may_be_read_while_a_product_goes_on() -> None:
    p = Products(8)
    p.load()
    p.multiply()
    p.k.store(p.out, p.item, p.k.bitcast(p.k.load(p.stage, p.item), F32))
    p.k.await_("products")
    p.result(np.zeros(STAGE_WORDS, "u4"))


def test_a_product_that_was_awaited_is_read_behind_a_barrier() -> None:
    """Another warpgroup's may go on."""
    for ordered in (True, False):
        p = Products(8, 2 * WARPGROUP)
        p.load()
        p.multiply()
        p.k.barrier()
        p.k.await_("products")
        if ordered:
            p.k.barrier()
        p.k.store(p.stage, p.item, 0)
        if ordered:
            p.result(np.zeros(STAGE_WORDS, "u4"))
        else:
            p.fails(DataRaceError, "data race on stage[")


def test_operands_are_stored_behind_a_barrier() -> None:
    p = Products(8)
    p.load()
    p.k.store(p.stage, p.item, 0)
    p.multiply()
    p.k.await_("products")
    p.fails(DataRaceError, "data race on stage[")


def test_operands_that_nobody_stored_are_reported() -> None:
    p = Products(8)
    p.multiply()
    p.k.await_("products")
    p.fails(MemoryAccessError, "reads stage[0], which nothing has been stored to")


def test_operands_whose_copies_go_on_are_reported() -> None:
    p = Products(8)
    p.load()
    p.k.copy_async(p.stage, p.item * 4, p.words, p.item * 4, True)
    p.k.commit()
    p.k.barrier()
    p.multiply()
    p.k.await_("copies")
    p.k.await_("products")
    p.fails(MemoryAccessError, "accesses stage[0], which a copy or product that goes on still needs")


def test_sums_begin_with_a_value() -> None:
    p = Products(8)
    p.load()
    p.sums = p.k.array(F32, 4, space="private", hint="others")
    p.multiply()
    p.k.await_("products")
    p.fails(MemoryAccessError, "reads others[0], which nothing has been stored to")


def test_a_group_does_not_end_before_its_products() -> None:
    p = Products(8)
    p.load()
    p.multiply()
    p.fails(IRError, "a group ends while products go on")


def test_operands_begin_where_rows_of_units_do() -> None:
    p = Products(8)
    p.load()
    p.multiply(left=p.k.const(128, U32))
    p.k.await_("products")
    p.fails(MemoryAccessError, "accesses stage[128], an address that 1024 does not divide")


def test_operands_begin_at_one_place_for_the_warpgroup() -> None:
    p = Products(8)
    p.load()
    p.multiply(left=p.item * 256 & 1023)
    p.k.await_("products")
    p.fails(IRError, "does not begin at one place for the whole warpgroup")


def test_operands_end_in_their_memory() -> None:
    p = Products(8)
    p.load()
    p.multiply(left=p.k.const(STAGE_WORDS - 256, U32))
    p.k.await_("products")
    p.fails(MemoryAccessError, "whose length is 8192")


def test_a_group_is_whole_warpgroups() -> None:
    k = KernelBuilder("products")
    stage, sums = k.array(U32, 8192, align=1024), k.array(F32, 4, space="private")
    side = stage, 0, Swizzled(turned=True, block=0)
    k.warpgroup_multiply(sums, F16, 8, side, side, 1)
    fails(k.build(), {}, 64, IRError, "has 64 work-items, which are no whole sub-groups of 128")
