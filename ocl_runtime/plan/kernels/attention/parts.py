"""What the kernels of attention have in common: rows of matrices that come to local memory in boxes, products of
warpgroups, and what is computed of scores in registers.

Warps specialise. The last warpgroup copies all that a group needs, as soon as there is room for it; the others compute,
have the more registers for that, and begin no copies.

A warpgroup has 64 rows of a product. Of these a work-item holds two halves, eight rows apart: number `4 f + 2 h + s` is
in row half `h` and column `8 f + s` behind its first one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from ocl_ir.kernel.asynchronous import (
    ALIGNMENT,
    BOX_COLUMNS,
    INNER,
    MAP_WORDS,
    ROW_BYTES,
    ROWS,
    WARPGROUP,
    ReleaseBoxes,
    Swizzled,
)
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import F32, I32, U16, U32, U64, DType, element
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.form import Spec, rounded_up
from ocl_runtime.plan.kernels.fragments import exchanged
from ocl_runtime.plan.kernels.instructions import PACK

ROW_WORDS = ROW_BYTES // 4
ROW_PAIR = range(2)
"""The two rows, 8 apart, in which a work-item holds sums."""
_REGISTERS = {2: (240, 24), 3: (160, 32)}
"""Of a work-item that computes and of one that copies, by how many warpgroups compute."""


class Tile(NamedTuple):
    """Rows of a head for which a group computes, from the `first` one on; `turn` counts the tiles of the group."""

    turn: Ref
    head: Ref
    first: Ref


class Ring:
    """Blocks of a matrix in local memory, of so many rows: `room` of them, filled and read one after the other. Blocks
    have numbers 0, 1, 2, …"""

    def __init__(self, parts: Parts, name: str, room: int, rows: int, boxes: int, start: int) -> None:
        self._parts, self._name = parts, name
        self._room, self.rows, self._boxes, self._start = room, rows, boxes, start
        self.words = rounded_up(rows * boxes * ROW_WORDS, ALIGNMENT // 4)
        """Of a block."""
        self.end = start + room * self.words
        """The word of local memory behind all of them."""

    def declare(self) -> None:
        """Declares the barriers."""
        k = self._parts.k
        self._there = k.array(U64, self._room, hint=f"{self._name}_there")
        self._free = k.array(U64, self._room, hint=f"{self._name}_free")

    def init(self) -> None:
        """Makes the barriers ready. One work-item comes here."""
        k, warps = self._parts.k, self._parts.warpgroups * WARPGROUP // ReleaseBoxes.size
        k.init_boxes(self._there, self._room, self._boxes)
        k.init_boxes(self._free, self._room, warps)

    def at(self, number: Ref) -> Ref:
        """The word where a block begins."""
        return self._slot(number) * self.words + self._start

    def fill(self, number: Ref, head: Ref, row: Ref) -> None:
        """Begins to copy a block, of rows of a head from `row` on, when its room is free. One work-item comes here."""
        k, sizes, slot = self._parts.k, self._parts.sizes, self._slot(number)
        k.await_boxes(self._free, slot, self._turn(number) + 1 & 1)  # of the first turn, all room is free
        table = sizes["maps"], (sizes[f"{self._name}_map"] + head) * MAP_WORDS
        for box in range(self._boxes):
            k.copy_box(
                (self._parts.local, slot * self.words + (self._start + box * self.rows * ROW_WORDS)),
                sizes[self._name],
                table,
                column=self._parts.body.const(box * BOX_COLUMNS),
                row=row,
                rows=self.rows,
                barrier=(self._there, slot),
            )

    def await_(self, number: Ref) -> None:
        """Waits for a block."""
        self._parts.k.await_boxes(self._there, self._slot(number), self._turn(number) & 1)

    def release(self, number: Ref) -> None:
        """Says that a warpgroup needs a block no more."""
        self._parts.k.release_boxes(self._free, self._slot(number))

    def _slot(self, number: Ref) -> Ref:
        return self._parts.k.op("urem", number, self._parts.body.const(self._room))

    def _turn(self, number: Ref) -> Ref:
        return self._parts.k.op("udiv", number, self._parts.body.const(self._room))


class Parts:
    """A kernel in the making, for rows of `length` elements of a `dtype`, in whose groups some warpgroups compute."""

    def __init__(self, name: str, note: str, specs: Sequence[Spec], dtype: DType, length: int, warpgroups: int) -> None:
        self.k = KernelBuilder(name, group_size=(items(warpgroups), 1, 1), note=note)
        self.body = Body.start(self.k, specs, U32, fp16=False)
        self.sizes = self.body.params
        self.dtype, self.length, self.warpgroups = dtype, length, warpgroups
        self.boxes = length // BOX_COLUMNS
        self._rings: list[Ring] = []

    def ring(self, name: str, room: int, rows: int, boxes: int = 0) -> Ring:
        """Room for blocks of a matrix; rows have as many boxes as those of queries unless it says otherwise."""
        start = self._rings[-1].end if self._rings else 0
        self._rings.append(Ring(self, name, room, rows, boxes or self.boxes, start))
        return self._rings[-1]

    def begin(self) -> None:
        """Declares local memory for all rings, and says where a work-item is."""
        k, const = self.k, self.body.const
        self.group, self.item = k.item("group_id", 0, "group"), k.item("local_id", 0, "item")
        self.groups = k.item("num_groups", 0, "groups")
        self.local = k.array(U32, self._rings[-1].end, align=1024, hint="stage")
        for ring in self._rings:
            ring.declare()
        self.warpgroup = k.op("udiv", self.item, const(WARPGROUP), hint="warpgroup")
        self.thread, self.lane = self.item & 3, self.item & 31
        row = self.warpgroup * ROWS + ((self.item >> 5) & 3) * 16 + ((self.item >> 2) & 7)
        self.own_row = k.let(row, "own_row")
        self.behind = k.let(self.signed("m") - self.signed("n"), "behind")
        with k.if_(k.op("eq", self.item, 0)):
            for ring in self._rings:
                ring.init()
        k.barrier()

    def specialise(self, compute: Callable[[], None], copy: Callable[[], None]) -> None:
        """Lets all warpgroups compute but the last one, of which one work-item copies."""
        k = self.k
        with k.if_(self.warpgroup < self.warpgroups, _REGISTERS[self.warpgroups]):
            compute()
        with k.else_(), k.if_(k.op("eq", self.item, self.warpgroups * WARPGROUP)):
            copy()

    @contextmanager
    def tiles(self, rows: int, *, last_first: bool) -> Iterator[Tile]:
        """Goes through the tiles of a group. Those of some heads come before those of others; among these, the first
        tiles of all heads come first, or the last ones."""
        k, sizes = self.k, self.sizes
        with k.for_(self.group, sizes["all_tiles"], self.groups, hint="number") as number:
            heads, tiles = sizes["heads_at_once"], sizes["tiles"]
            first_head = k.let(k.op("udiv", number, tiles * heads) * heads, "first_head")
            within = k.let(number - first_head * tiles, "within")
            together = k.op("minimum", heads, sizes["all_heads"] - first_head, hint="together")
            tile = k.op("udiv", within, together, hint="tile")
            head = k.let(first_head + within - tile * together, "head")
            at = tiles - 1 - tile if last_first else tile
            yield Tile(k.op("udiv", number, self.groups, hint="turn"), head, k.let(at * rows, "first"))

    def signed(self, name: str) -> Ref:
        """A size as a number from which larger ones can be taken."""
        return self.k.convert(self.sizes[name], I32)

    # ------------------------------------------------------------------ products

    def multiply_rows(self, sums: Ref, own: tuple[Ring, Ref], others: tuple[Ring, Ref]) -> int:
        """Begins the products of a warpgroup's rows of a block and of all rows of another one, both given by their
        rings and numbers; says as how many products they go on."""
        (ring, number), (other, other_number) = own, others
        turned = Swizzled(turned=True, block=0)
        own_at, other_at = ring.at(number) + self.warpgroup * (ROWS * ROW_WORDS), other.at(other_number)
        for box in range(self.boxes):
            ours = self.local, own_at + box * ring.rows * ROW_WORDS, turned
            theirs = self.local, other_at + box * other.rows * ROW_WORDS, turned
            steps = BOX_COLUMNS // INNER
            self.k.warpgroup_multiply(sums, self.dtype, other.rows, ours, theirs, steps, starts=not box)
        return self.boxes

    def add_rows(self, sums: Ref, weights: Ref, others: tuple[Ring, Ref]) -> int:
        """Begins to add the rows of a block, times weights that work-items hold; says as how many products."""
        ring, number = others
        down = self.local, ring.at(number), Swizzled(turned=False, block=ring.rows * ROW_BYTES)
        self.k.warpgroup_multiply(sums, self.dtype, self.length, (weights, 0, None), down, ring.rows // INNER)
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
        is_paired = element(sizes["mask"].type) is U16
        for half in ROW_PAIR:
            pair: Ref | None = None
            for at, column in self.each(columns, half):
                query, key = place(half, column)
                row = start + k.op("minimum", query, sizes["n"] - 1) * sizes["mask_row"]
                if not is_paired:
                    value = k.load(sizes["mask"], row + k.op("minimum", key, sizes["m"] - 1) * sizes["mask_key"])
                elif pair is None:
                    pair = k.load(sizes["mask"], row + k.op("minimum", key >> 1, (sizes["m"] >> 1) - 1))
                    value = pair & 0xFF
                else:
                    value = pair >> 8
                score = k.load(scores, at)
                k.store(scores, at, k.op("select", k.op("ne", value, 0), score, float("-inf")))

    def blocks_seen(self, first: Ref, rows: int, columns: int, *, causal: bool) -> Ref:
        """How many blocks of keys some queries see, from the first one on."""
        k, seen = self.k, self.signed("m")
        if causal:
            seen = k.op("minimum", seen, k.convert(first, I32) + rows + self.behind)
        seen = k.op("maximum", seen, 0, hint="seen")
        return k.convert(k.op("floordiv", seen + (columns - 1), columns), U32, hint="count")

    def hide(self, scores: Ref, columns: int, tile: Tile, block: Ref, *, causal: bool) -> None:
        """Makes scores of a block of keys minus infinity where a query of a tile does not see the key, or there is
        none."""
        k, keys = self.k, self.signed("m")
        key, own_row = k.let(block * columns + self.thread * 2, "key"), tile.first + self.own_row
        self.mask(scores, columns, tile.head, lambda half, column: (own_row + 8 * half, key + column))
        limit = keys
        if causal:
            limit = k.op("minimum", keys, k.convert(tile.first, I32) + self.behind + 1)
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

    def store(self, name: str, start: Ref, row: Ref, half: int, sums: Ref, factor: Ref, *, where: Ref) -> None:
        """Stores a row of sums, times a factor, in a matrix that begins at a word; where there is such a row. The whole
        warpgroup comes here."""
        k, count = self.k, self.length // 8
        at = k.let(start + row * (self.length // 2) + self.thread * 4, "at")
        with k.for_(0, count, 4, hint="fragment", unroll=count // 4) as fragment:
            held = []
            for number in range(4):
                pair = [k.load(sums, (fragment + number) * 4 + (2 * half + step)) * factor for step in range(2)]
                held.append([k.op(PACK[self.dtype], *pair)])
            words = exchanged(k, self.item, held)
            with k.if_(where):
                k.store(self.sizes[name], at + fragment * 4, k.op("vector", *words), align=16)


def items(warpgroups: int) -> int:
    """Work-items of a group in which some warpgroups compute."""
    return (warpgroups + 1) * WARPGROUP
