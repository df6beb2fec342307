"""Writes the kernel that computes attention without storing scores.

A group has 128 queries of a head, 64 for each of two warpgroups, and goes along the keys in blocks of 128. Of each
block it computes the scores, and from these weights relative to the greatest score so far; what was added up before is
scaled whenever a greater one comes. Weights go through local memory, as the left operand of the product with the
values.

Source: Milakov and Gimelshein, Online normalizer calculation for softmax, 2018; Dao et al., FlashAttention, 2022.
"""

from __future__ import annotations

from dataclasses import dataclass

from ocl_ir.kernel.asynchronous import BOX_COLUMNS, INNER, MAP_WORDS, ROW_BYTES, ROWS, WARPGROUP, Swizzled
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import BF16, F32, I32, U32, U64, DType
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.form import Spec

QUERIES = 128
"""Of a group."""
KEYS = 128
"""Of a block."""
ITEMS = 2 * WARPGROUP
_ROOM = 2
"""Blocks of keys and values in local memory."""
_ROW_WORDS = ROW_BYTES // 4
_LEAST_HALF = 2.0**-14
"""The least normal half."""


@dataclass(frozen=True, slots=True)
class AttentionForm:
    """The key of the kernel: the dtype, the length of queries, keys and values, and whether it is causal."""

    dtype: DType
    length: int
    causal: bool
    specs: tuple[Spec, ...]


def build(form: AttentionForm) -> Kernel:
    """The kernel of a form."""
    return _Builder(form).build()


class _Builder:
    def __init__(self, form: AttentionForm) -> None:
        note = (
            f"y = softmax(scale q kᵀ) v    {form.dtype}, {form.length} long, {QUERIES} queries, {KEYS} keys at a time"
        )
        self._form = form
        self._k = KernelBuilder("attention", group_size=(ITEMS, 1, 1), note=note)
        self._body = Body.start(self._k, form.specs, U32, fp16=False)
        self._sizes = self._body.params
        blocks = form.length // BOX_COLUMNS
        self._blocks = blocks
        self._query_words = QUERIES * blocks * _ROW_WORDS
        self._weight_words = QUERIES * KEYS // BOX_COLUMNS * _ROW_WORDS
        self._side_words = KEYS * blocks * _ROW_WORDS
        self._sides_at = self._query_words + self._weight_words
        self._turned = Swizzled(turned=True, block=0)
        self._down = Swizzled(turned=False, block=KEYS * ROW_BYTES)

    def build(self) -> Kernel:
        k, sizes, const = self._k, self._sizes, self._body.const
        group, item = k.item("group_id", 0, "group"), k.item("local_id", 0, "item")
        words = self._sides_at + 2 * _ROOM * self._side_words
        self._local = k.array(U32, words, align=1024, hint="stage")
        there = k.array(U64, 2 * _ROOM + 1, hint="there")
        # The last queries see the most keys: they begin first.
        tile = sizes["tiles"] - 1 - k.op("urem", group, sizes["tiles"])
        head = k.op("udiv", group, sizes["tiles"], hint="head")
        first = k.let(tile * QUERIES, "first")
        key_head = k.op("udiv", head, sizes["shared"], hint="key_head")
        self._query_map = head * MAP_WORDS
        self._key_map = (sizes["heads"] + key_head) * MAP_WORDS
        self._value_map = (sizes["heads"] + sizes["key_heads"] + key_head) * MAP_WORDS
        self._there, self._is_first = there, k.op("eq", item, 0, hint="is_first")
        warp, group_row, self._thread = (item >> 5) & 3, (item >> 2) & 7, item & 3
        self._warpgroup = k.op("udiv", item, const(WARPGROUP), hint="warpgroup")
        self._lane = item & 31
        self._own_row = k.let(self._warpgroup * ROWS + warp * 16 + group_row, "own_row")
        keys, queries = k.convert(sizes["m"], I32), k.convert(sizes["n"], I32)
        self._behind = k.let(keys - queries, "behind")
        seen = keys
        if self._form.causal:
            seen = k.op("minimum", keys, k.convert(first, I32) + QUERIES + self._behind)
        seen = k.op("maximum", seen, 0, hint="seen")
        self._count = k.convert(k.op("floordiv", seen + (KEYS - 1), KEYS), U32, hint="count")

        with k.if_(self._is_first):
            k.init_boxes(there, 2 * _ROOM + 1, self._blocks)
        k.barrier()
        with k.if_(self._is_first):
            self._copy(self._query_map, first, const(0), const(2 * _ROOM), "q")
            with k.if_(const(0) < self._count):
                self._copy_block(const(0))
        self._sums = k.array(F32, self._form.length // 2, space="private", hint="sums")
        self._scores = k.array(F32, KEYS // 2, space="private", hint="scores")
        self._clear(self._sums, self._form.length // 2)
        greatest = [k.variable(float("-inf"), F32, f"greatest_{half}") for half in range(2)]
        totals = [k.variable(0.0, F32, f"total_{half}") for half in range(2)]
        k.await_boxes(there, 2 * _ROOM, 0)
        with k.for_(0, self._count, hint="block") as block:
            self._step(block, first, greatest, totals)
        self._store(head, first, totals)
        return k.build()

    # ------------------------------------------------------------------ copies

    def _copy(self, map_slot: Ref, row: Ref, at: Ref, barrier: Ref, name: str) -> None:
        """Begins to copy rows of a matrix. One work-item comes here."""
        for number in range(self._blocks):
            place = at + number * KEYS * _ROW_WORDS if number else at
            source, table = self._sizes[name], (self._sizes["maps"], map_slot)
            column = self._body.const(number * BOX_COLUMNS)
            barriers = self._there, barrier
            self._k.copy_box((self._local, place), source, table, column=column, row=row, rows=KEYS, barrier=barriers)

    def _copy_block(self, block: Ref) -> None:
        """Begins to copy a block of keys and one of values; beyond the last key they are zeros."""
        slot = block & (_ROOM - 1)
        for number, (map_slot, name) in enumerate(((self._key_map, "k"), (self._value_map, "v"))):
            at = (slot * 2 + number) * self._side_words + self._sides_at
            self._copy(map_slot, block * KEYS, at, slot * 2 + number, name)

    # ------------------------------------------------------------------ one block of keys

    def _step(self, block: Ref, first: Ref, greatest: list[Ref], totals: list[Ref]) -> None:
        k = self._k
        slot, parity = block & (_ROOM - 1), (block >> 1) & 1
        keys_at, values_at = (
            slot * 2 * self._side_words + self._sides_at,
            (slot * 2 + 1) * self._side_words + self._sides_at,
        )
        for side in range(2):
            k.await_boxes(self._there, slot * 2 + side, parity)
        k.barrier()  # behind which nobody needs the block before this one
        with k.if_(self._is_first & (block + 1 < self._count)):
            self._copy_block(block + 1)
        self._clear(self._scores, KEYS // 2)
        for number in range(self._blocks):
            later = number * KEYS * _ROW_WORDS
            left = self._warpgroup * (ROWS * _ROW_WORDS) + later
            self._multiply(self._scores, KEYS, left, keys_at + later, self._turned)
        k.await_("products")
        self._mask(block, first)
        self._weigh(greatest, totals)
        k.await_("copies")  # shows the weights to the units that multiply
        k.barrier()
        for number in range(KEYS // BOX_COLUMNS):
            left = self._warpgroup * (ROWS * _ROW_WORDS) + (self._query_words + number * QUERIES * _ROW_WORDS)
            right = values_at + number * BOX_COLUMNS * _ROW_WORDS
            self._multiply(self._sums, self._form.length, left, right, self._down)
        k.await_("products")

    def _multiply(self, sums: Ref, columns: int, left: Ref, right: Ref, lies: Swizzled) -> None:
        steps = BOX_COLUMNS // INNER
        sides = (left, self._turned), (right, lies)
        self._k.warpgroup_multiply(sums, self._form.dtype, columns, self._local, *sides, steps)

    def _clear(self, array: Ref, count: int) -> None:
        with self._k.for_(0, count, hint="i", unroll=count) as i:
            self._k.store(array, i, 0.0)

    def _mask(self, block: Ref, first: Ref) -> None:
        """Scores of keys that a query does not see are minus infinity, where a block has some."""
        k, sizes = self._k, self._sizes
        keys = k.convert(sizes["m"], I32)
        limit = keys
        if self._form.causal:
            limit = k.op("minimum", keys, k.convert(first, I32) + self._behind + 1)
        count, has_some = KEYS // 8, k.convert(block * KEYS, I32) + KEYS > limit
        with k.if_(has_some), k.for_(0, count, hint="fragment", unroll=count) as fragment:
            for half in range(2):
                own = keys
                if self._form.causal:
                    row = k.convert(first + self._own_row + 8 * half, I32)
                    own = k.op("minimum", keys, row + self._behind + 1)
                for step in range(2):
                    key = k.convert(block * KEYS + fragment * 8 + self._thread * 2 + step, I32)
                    at = fragment * 4 + (2 * half + step)
                    score = k.load(self._scores, at)
                    k.store(self._scores, at, k.op("select", key < own, score, float("-inf")))

    def _weigh(self, greatest: list[Ref], totals: list[Ref]) -> None:
        """Makes weights of scores, and scales what was added up before."""
        k, count = self._k, KEYS // 8
        factors = []
        for half in range(2):
            most = k.variable(greatest[half], hint="most")
            with k.for_(0, count, hint="fragment", unroll=count) as fragment:
                for step in range(2):
                    k.assign(most, self._greater(most, k.load(self._scores, fragment * 4 + (2 * half + step))))
            for distance in (1, 2):
                k.assign(most, self._greater(most, k.shuffle(k.let(most), self._lane ^ distance, 32)))
            base = k.let(k.op("select", k.op("eq", most, float("-inf")), 0.0, most * self._sizes["scale"]), "base")
            factor = k.op("exp2", greatest[half] * self._sizes["scale"] - base, hint="factor")
            k.assign(greatest[half], most)
            k.assign(totals[half], totals[half] * factor)
            factors.append(factor)
            with k.for_(0, count, hint="fragment", unroll=count) as fragment:
                pair = []
                for step in range(2):
                    score = k.load(self._scores, fragment * 4 + (2 * half + step))
                    weight = k.op("exp2", score * self._sizes["scale"] - base)
                    rounded = k.op(f"round_{self._form.dtype}", weight)
                    k.assign(totals[half], totals[half] + rounded)
                    pair.append(self._bits(rounded))
                self._store_weights(fragment, half, pair[0] | (pair[1] << 16))
        length = self._form.length // 8
        with k.for_(0, length, hint="fragment", unroll=length) as fragment:
            for half in range(2):
                for step in range(2):
                    at = fragment * 4 + (2 * half + step)
                    k.store(self._sums, at, k.load(self._sums, at) * factors[half])

    def _greater(self, left: Ref, right: Ref) -> Ref:
        """The greater one of two numbers; a NaN is none, and comes up again in its weight."""
        return self._k.op("select", right > left, right, left)

    def _bits(self, rounded: Ref) -> Ref:
        """The bits of a weight that its dtype has; it is neither negative nor greater than 1."""
        k, bits = self._k, self._k.bitcast(rounded, U32)
        if self._form.dtype is BF16:
            return bits >> 16
        small = k.convert(rounded * 2.0**24, U32)
        return k.op("select", rounded < _LEAST_HALF, small, (bits >> 13) - (112 << 10))

    def _store_weights(self, fragment: Ref, half: int, word: Ref) -> None:
        """Stores two weights of a row as the left operand of a product lies."""
        k, row = self._k, self._own_row + 8 * half
        unit = (fragment & 7) ^ (row & 7)
        block = k.op("udiv", fragment, 8)
        at = (block * QUERIES + row) * _ROW_WORDS + unit * 4 + self._thread + self._query_words
        k.store(self._local, at, word)

    # ------------------------------------------------------------------ results

    def _store(self, head: Ref, first: Ref, totals: list[Ref]) -> None:
        """Stores the sums over the totals of the weights, which four work-items have together."""
        k, sizes, length = self._k, self._sizes, self._form.length
        for half in range(2):
            total = k.variable(totals[half], hint="whole")
            for distance in (1, 2):
                k.assign(total, total + k.shuffle(k.let(total), self._lane ^ distance, 32))
            inverse = k.op("select", k.op("eq", total, 0.0), 0.0, 1.0 / total, hint="inverse")
            row = k.let(first + self._own_row + 8 * half, "row")
            with k.if_(row < sizes["n"]):
                start = k.let((head * sizes["n"] + row) * length + self._thread * 2, "start")
                with k.for_(0, length // 8, hint="fragment", unroll=length // 8) as fragment:
                    numbers = [k.load(self._sums, fragment * 4 + (2 * half + step)) * inverse for step in range(2)]
                    pair = k.op("vector", *numbers)
                    if self._form.dtype is BF16:
                        pair = k.op("round_bf16", pair)
                    k.store(sizes["y"], start + fragment * 8, pair, align=2 * self._form.dtype.size)
