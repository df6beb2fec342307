"""What the kernels of attention have in common: rows of matrices that come to local memory in boxes, products of
warpgroups, and what is computed of scores in registers.

A warpgroup has 64 rows of a product. Of these a work-item holds two halves, eight rows apart: number `4 f + 2 h + s` is
in row half `h` and column `8 f + s` behind its first one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ocl_ir.kernel.asynchronous import BOX_COLUMNS, INNER, MAP_WORDS, ROW_BYTES, ROWS, WARPGROUP, ReleaseBoxes, Swizzled
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import F32, I32, U32, U64, DType
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.form import Spec
from ocl_runtime.plan.kernels.instructions import PACK

ROW_WORDS = ROW_BYTES // 4
ROW_PAIR = range(2)
"""The two rows, 8 apart, in which a work-item holds sums."""


class Parts:
    """A kernel in the making, for rows of `length` elements of a `dtype`, whose groups have some warpgroups."""

    def __init__(self, name: str, note: str, specs: Sequence[Spec], dtype: DType, length: int, warpgroups: int) -> None:
        self.k = KernelBuilder(name, group_size=(warpgroups * WARPGROUP, 1, 1), note=note)
        self.body = Body.start(self.k, specs, U32, fp16=False)
        self.sizes = self.body.params
        self.dtype, self.length, self.warpgroups = dtype, length, warpgroups
        self.boxes = length // BOX_COLUMNS

    def begin(self, words: int, barriers: int) -> None:
        """Declares local memory, of so many words and barriers, and says where a work-item is."""
        k, const = self.k, self.body.const
        self.group, self.item = k.item("group_id", 0, "group"), k.item("local_id", 0, "item")
        self.local = k.array(U32, words, align=1024, hint="stage")
        self.there = k.array(U64, barriers, hint="there")
        self.is_first = k.op("eq", self.item, 0, hint="is_first")
        self.warpgroup = k.op("udiv", self.item, const(WARPGROUP), hint="warpgroup")
        self.thread, self.lane = self.item & 3, self.item & 31
        row = self.warpgroup * ROWS + ((self.item >> 5) & 3) * 16 + ((self.item >> 2) & 7)
        self.own_row = k.let(row, "own_row")
        self.behind = k.let(self.signed("m") - self.signed("n"), "behind")
        self._released = k.array(U64, 2, hint="released")
        with k.if_(self.is_first):
            k.init_boxes(self.there, barriers, self.boxes)
            k.init_boxes(self._released, 2, self.warpgroups * WARPGROUP // ReleaseBoxes.size)
        k.barrier()

    def release(self, turn: Ref) -> None:
        """Says that this warpgroup needs no block that it has computed with so far. Turns are 0, 1, 2, …; nobody is
        two turns ahead of others."""
        self.k.release_boxes(self._released, turn & 1)

    def await_released(self, turn: Ref) -> None:
        """Waits until all warpgroups have said so."""
        self.k.await_boxes(self._released, turn & 1, (turn >> 1) & 1)

    def signed(self, name: str) -> Ref:
        """A size as a number from which larger ones can be taken."""
        return self.k.convert(self.sizes[name], I32)

    # ------------------------------------------------------------------ copies

    def copy(self, name: str, head: Ref, row: Ref, at: Ref, rows: int, barrier: Ref) -> None:
        """Begins to copy rows of a head of a matrix to words from `at` on. One work-item comes here."""
        for number in range(self.boxes):
            to = at + number * rows * ROW_WORDS if number else at
            table = self.sizes["maps"], (self.sizes[f"{name}_map"] + head) * MAP_WORDS
            column, barriers = self.body.const(number * BOX_COLUMNS), (self.there, barrier)
            self.k.copy_box(
                (self.local, to), self.sizes[name], table, column=column, row=row, rows=rows, barrier=barriers
            )

    # ------------------------------------------------------------------ products

    def multiply_rows(self, sums: Ref, left: tuple[int, int], right: tuple[Ref, int]) -> int:
        """Begins the products of a warpgroup's rows and of all rows of a block, both given by where they begin and how
        many rows lie there; says as how many products they go on."""
        (left_at, left_rows), (right_at, right_rows) = left, right
        turned = Swizzled(turned=True, block=0)
        own = self.warpgroup * (ROWS * ROW_WORDS)
        for number in range(self.boxes):
            ours = self.local, own + (left_at + number * left_rows * ROW_WORDS), turned
            theirs = self.local, right_at + number * right_rows * ROW_WORDS, turned
            steps = BOX_COLUMNS // INNER
            self.k.warpgroup_multiply(sums, self.dtype, right_rows, ours, theirs, steps, starts=not number)
        return self.boxes

    def add_rows(self, sums: Ref, weights: Ref, right: tuple[Ref, int]) -> int:
        """Begins to add the rows of a block, times weights that work-items hold; says as how many products."""
        at, rows = right
        down = self.local, at, Swizzled(turned=False, block=rows * ROW_BYTES)
        self.k.warpgroup_multiply(sums, self.dtype, self.length, (weights, 0, None), down, rows // INNER)
        return 1

    # ------------------------------------------------------------------ what work-items hold

    def numbers(self, columns: int, hint: str) -> Ref:
        """Room for what a work-item holds of a product with some columns."""
        return self.k.array(F32, columns // 2, space="private", hint=hint)

    def words(self, columns: int, hint: str) -> Ref:
        """Room for the same, rounded to halves."""
        return self.k.array(U32, columns // 4, space="private", hint=hint)

    def clear(self, sums: Ref) -> None:
        """Sets all to zero."""
        count = self.length // 2
        with self.k.for_(0, count, hint="i", unroll=count) as i:
            self.k.store(sums, i, 0.0)

    def each(self, columns: int, half: int) -> Iterator[tuple[Ref, Ref]]:
        """Of a half of what a work-item holds, the number of each and its column behind the first one."""
        count = columns // 8
        with self.k.for_(0, count, hint="fragment", unroll=count) as fragment:
            for step in range(2):
                yield fragment * 4 + (2 * half + step), fragment * 8 + step

    def mask(self, scores: Ref, columns: int, head: Ref, place: Callable[[int, Ref], tuple[Ref, Ref]]) -> None:
        """Applies a mask to scores, if the kernel has one: where it is false they are minus infinity. `place` gives the
        query and the key of a half and a column behind a work-item's first one; those that are not there may have any
        score."""
        k, sizes = self.k, self.sizes
        if "mask" not in sizes:
            return
        number = k.op("urem", k.op("udiv", head, sizes["mask_shared"]), sizes["masks"])
        start = k.let(number * sizes["mask_size"], "mask_at")
        for half in ROW_PAIR:
            for at, column in self.each(columns, half):
                query, key = place(half, column)
                row = k.op("minimum", query, sizes["n"] - 1) * sizes["mask_row"]
                value = k.load(sizes["mask"], start + row + k.op("minimum", key, sizes["m"] - 1) * sizes["mask_key"])
                score = k.load(scores, at)
                k.store(scores, at, k.op("select", k.op("ne", value, 0), score, float("-inf")))

    def blocks_seen(self, first: Ref, rows: int, columns: int, *, causal: bool) -> Ref:
        """How many blocks of keys some queries see, from the first one on."""
        k, seen = self.k, self.signed("m")
        if causal:
            seen = k.op("minimum", seen, k.convert(first, I32) + rows + self.behind)
        seen = k.op("maximum", seen, 0, hint="seen")
        return k.convert(k.op("floordiv", seen + (columns - 1), columns), U32, hint="count")

    def hide(self, scores: Ref, columns: int, head: Ref, first: Ref, block: Ref, *, causal: bool) -> None:
        """Makes scores of a block of keys minus infinity where a query, of those from the `first` one on, does not see
        the key, or there is none."""
        k, keys = self.k, self.signed("m")
        key, own_row = k.let(block * columns + self.thread * 2, "key"), first + self.own_row
        self.mask(scores, columns, head, lambda half, column: (own_row + 8 * half, key + column))
        limit = keys
        if causal:
            limit = k.op("minimum", keys, k.convert(first, I32) + self.behind + 1)
        with k.if_(k.convert(block * columns, I32) + columns > limit):
            for half in ROW_PAIR:
                own = keys
                if causal:
                    own = k.op("minimum", keys, k.convert(own_row + 8 * half, I32) + self.behind + 1)
                for at, column in self.each(columns, half):
                    is_seen = k.convert(key + column, I32) < own
                    k.store(scores, at, k.op("select", is_seen, k.load(scores, at), float("-inf")))

    def pack(self, numbers: Ref, words: Ref, columns: int) -> None:
        """Rounds numbers, two for each word of a left operand."""
        k, count = self.k, columns // 4
        with k.for_(0, count, hint="word", unroll=count) as word:
            pair = [k.load(numbers, word * 2 + step) for step in range(2)]
            k.store(words, word, k.op(PACK[self.dtype], *pair))

    def store(self, name: str, start: Ref, row: Ref, half: int, sums: Ref, factor: Ref) -> None:
        """Stores a row of sums, times a factor, in a matrix that begins at a word."""
        k, count = self.k, self.length // 8
        at = k.let(start + row * (self.length // 2) + self.thread, "at")
        with k.for_(0, count, hint="fragment", unroll=count) as fragment:
            pair = [k.load(sums, fragment * 4 + (2 * half + step)) * factor for step in range(2)]
            k.store(self.sizes[name], at + fragment * 4, k.op(PACK[self.dtype], *pair))
