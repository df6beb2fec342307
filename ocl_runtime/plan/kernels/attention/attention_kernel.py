"""Writes the kernel that computes attention without storing scores.

A group has 128 queries of a head, 64 for each of two warpgroups, and goes along the keys in blocks of 128. Of each
block it computes the scores, and from these weights relative to the greatest score so far; what was added up before is
scaled whenever a greater one comes. A work-item has the weights that it needs as its part of the left operand of the
product with the values, which goes on, as does that of the next scores, while weights are computed.

Source: Milakov and Gimelshein, Online normalizer calculation for softmax, 2018; Dao et al., FlashAttention, 2022.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ocl_ir.bfloat16 import bits_of
from ocl_ir.kernel.asynchronous import BOX_COLUMNS, INNER, MAP_WORDS, ROW_BYTES, ROWS, WARPGROUP, Swizzled
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.program_ops import InlineC
from ocl_ir.types import BF16, F16, F32, I32, U32, U64, DType
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.form import Spec

WARPGROUPS = {64: 3, 128: 2}
"""Of a group, by the length: as many as have registers enough."""
KEYS = 128
"""Of a block."""
_ROOM = 2
"""Blocks of keys and values in local memory."""
_ROW_WORDS = ROW_BYTES // 4
_GREATER = InlineC("fmax({0}, {1})", F32, np.fmax)
"""The greater one of two numbers; a NaN is none, and comes up again in its weight."""
_LATE = 8.0
"""By how much the logarithm of a weight may exceed 0 before sums are scaled: halves hold such weights as exactly."""
_Side: TypeAlias = tuple[Ref, Ref | int, Swizzled | None]
_Right: TypeAlias = tuple[Ref, Ref | int, Swizzled]


def _instruction(ptx: str, dtype: DType, sources: str, reference: Callable[..., Any]) -> InlineC:
    """An instruction of some float32, the constraints of whose operands are given, as an operation."""
    name, letter = ("uint", "r") if dtype is U32 else ("float", "f")
    return InlineC(f'({{{{ {name} y; asm("{ptx}" : "={letter}"(y) : {sources}); y; }}}})', dtype, reference)


_EXP2 = _instruction("ex2.approx.ftz.f32 %0, %1;", F32, '"f"({0})', np.exp2)
"""Weights are rounded to halves: what the device has for exponentials is exact enough."""


def _packed(dtype: DType) -> InlineC:
    """Two numbers, rounded to the halves of a word."""

    def reference(low: Any, high: Any) -> Any:
        halves = [bits_of(x) if dtype is BF16 else x.astype(np.float16).view(np.uint16) for x in (low, high)]
        return halves[0].astype(np.uint32) | halves[1].astype(np.uint32) << 16

    return _instruction(f"cvt.rn.{dtype}x2.f32 %0, %1, %2;", U32, '"f"({1}), "f"({0})', reference)


_PACK = {dtype: _packed(dtype) for dtype in (F16, BF16)}


@dataclass(frozen=True, slots=True)
class AttentionForm:
    """The key of the kernel: the dtype, the length of queries, keys and values, and whether it is causal."""

    dtype: DType
    length: int
    causal: bool
    specs: tuple[Spec, ...]

    @property
    def items(self) -> int:
        """Of a group."""
        return WARPGROUPS[self.length] * WARPGROUP

    @property
    def queries(self) -> int:
        """Of a group."""
        return queries(self.length)


def queries(length: int) -> int:
    """Of a group."""
    return WARPGROUPS[length] * ROWS


def build(form: AttentionForm) -> Kernel:
    """The kernel of a form."""
    return _Builder(form).build()


class _Builder:
    def __init__(self, form: AttentionForm) -> None:
        sizes = f"{form.dtype}, {form.length} long, {form.queries} queries, {KEYS} keys at a time"
        note = f"y = softmax(scale q kᵀ) v    {sizes}"
        self._form = form
        self._k = KernelBuilder("attention", group_size=(form.items, 1, 1), note=note)
        self._body = Body.start(self._k, form.specs, U32, fp16=False)
        self._sizes = self._body.params
        blocks = form.length // BOX_COLUMNS
        self._blocks = blocks
        self._query_words = form.queries * blocks * _ROW_WORDS
        self._side_words = KEYS * blocks * _ROW_WORDS
        self._sides_at = self._query_words
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
        first = k.let(tile * self._form.queries, "first")
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
            seen = k.op("minimum", keys, k.convert(first, I32) + self._form.queries + self._behind)
        seen = k.op("maximum", seen, 0, hint="seen")
        self._count = k.convert(k.op("floordiv", seen + (KEYS - 1), KEYS), U32, hint="count")

        with k.if_(self._is_first):
            k.init_boxes(there, 2 * _ROOM + 1, self._blocks)
        k.barrier()
        with k.if_(self._is_first):
            self._copy(self._query_map, first, const(0), const(2 * _ROOM), "q", self._form.queries)
            with k.if_(const(0) < self._count):
                self._copy_side(const(0), 0)
                self._copy_side(const(0), 1)
            with k.if_(const(1) < self._count):
                self._copy_side(const(1), 0)
        self._sums = k.array(F32, self._form.length // 2, space="private", hint="sums")
        self._scores = k.array(F32, KEYS // 2, space="private", hint="scores")
        self._weights = k.array(U32, KEYS // 4, space="private", hint="weights")
        self._clear(self._sums, self._form.length // 2)
        greatest = [k.variable(float("-inf"), F32, f"greatest_{half}") for half in range(2)]
        totals = [k.variable(0.0, F32, f"total_{half}") for half in range(2)]
        k.await_boxes(there, 2 * _ROOM, 0)
        with k.if_(const(0) < self._count):
            self._await_side(const(0), 0)
            k.barrier()
            self._begin_scores(const(0))
            k.await_("products")
            self._mask(const(0), first)
            self._weigh(greatest, totals)
            self._pack()
            self._await_next(const(0))
            last = k.let(self._count - 1, "last")
            with k.for_(0, last, hint="block") as block:
                self._step(block, first, greatest, totals)
            k.barrier()
            self._begin_sums(last)
            k.await_("products")
        self._store(head, first, totals)
        return k.build()

    # ------------------------------------------------------------------ copies

    def _copy(self, map_slot: Ref, row: Ref, at: Ref, barrier: Ref, name: str, rows: int) -> None:
        """Begins to copy rows of a matrix. One work-item comes here."""
        for number in range(self._blocks):
            place = at + number * rows * _ROW_WORDS if number else at
            source, table = self._sizes[name], (self._sizes["maps"], map_slot)
            column = self._body.const(number * BOX_COLUMNS)
            barriers = self._there, barrier
            self._k.copy_box((self._local, place), source, table, column=column, row=row, rows=rows, barrier=barriers)

    def _copy_side(self, block: Ref, side: int) -> None:
        """Begins to copy a block of keys (side 0) or values (1); beyond the last key they are zeros."""
        slot = block & (_ROOM - 1)
        map_slot, name = ((self._key_map, "k"), (self._value_map, "v"))[side]
        at = (slot * 2 + side) * self._side_words + self._sides_at
        self._copy(map_slot, block * KEYS, at, slot * 2 + side, name, KEYS)

    def _await_side(self, block: Ref, side: int) -> None:
        slot = block & (_ROOM - 1)
        self._k.await_boxes(self._there, slot * 2 + side, (block >> 1) & 1)

    def _await_next(self, block: Ref) -> None:
        """Waits for the values of a block and the keys of the one behind it."""
        self._await_side(block, 1)
        with self._k.if_(block + 1 < self._count):
            self._await_side(block + 1, 0)

    # ------------------------------------------------------------------ one block of keys

    def _begin_scores(self, block: Ref) -> None:
        slot = block & (_ROOM - 1)
        for number in range(self._blocks):
            row = self._warpgroup * ROWS + number * self._form.queries
            left = self._local, row * _ROW_WORDS, self._turned
            keys_at = slot * 2 * self._side_words + (self._sides_at + number * KEYS * _ROW_WORDS)
            right = self._local, keys_at, self._turned
            self._multiply(self._scores, KEYS, left, right, starts=not number)

    def _begin_sums(self, block: Ref) -> None:
        """Begins to add up the values of a block, whose weights are there."""
        slot = block & (_ROOM - 1)
        at = (slot * 2 + 1) * self._side_words + self._sides_at
        for number in range(KEYS // BOX_COLUMNS):
            left = self._weights, number * (BOX_COLUMNS // 4), None
            right = self._local, at + number * BOX_COLUMNS * _ROW_WORDS, self._down
            self._multiply(self._sums, self._form.length, left, right)

    def _step(self, block: Ref, first: Ref, greatest: list[Ref], totals: list[Ref]) -> None:
        """Adds up the values of a block, and computes the weights of the next one meanwhile."""
        k = self._k
        k.barrier()  # behind which nobody needs the keys of this block, nor the values before
        with k.if_(self._is_first):
            self._copy_side(block + 1, 1)
            with k.if_(block + 2 < self._count):
                self._copy_side(block + 2, 0)
        self._begin_scores(block + 1)
        self._begin_sums(block)
        k.await_("products", pending=KEYS // BOX_COLUMNS)
        self._mask(block + 1, first)
        factors = self._weigh(greatest, totals)
        # What a loop waits for comes between weights and sums: NVIDIA's compiler moves exponentials behind a mere wait
        # for products, where nothing goes on meanwhile.
        self._await_next(block + 1)
        k.await_("products")
        self._scale(factors)
        self._pack()

    def _multiply(self, sums: Ref, columns: int, left: _Side, right: _Right, *, starts: bool = False) -> None:
        self._k.warpgroup_multiply(sums, self._form.dtype, columns, left, right, BOX_COLUMNS // INNER, starts=starts)

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

    def _weigh(self, greatest: list[Ref], totals: list[Ref]) -> list[Ref]:
        """Makes weights of scores; what was added up before is to be scaled by the factors that come back."""
        k, count, scale = self._k, KEYS // 8, self._sizes["scale"]
        factors = []
        for half in range(2):
            most = k.variable(greatest[half], hint="most")
            with k.for_(0, count, hint="fragment", unroll=count) as fragment:
                for step in range(2):
                    k.assign(most, k.op(_GREATER, most, k.load(self._scores, fragment * 4 + (2 * half + step))))
            for distance in (1, 2):
                k.assign(most, k.op(_GREATER, most, k.shuffle(k.let(most), self._lane ^ distance, 32)))
            exceeds = (most - greatest[half]) * scale > _LATE
            k.assign(most, k.op("select", exceeds, most, greatest[half]))
            base = k.let(k.op("select", k.op("eq", most, float("-inf")), 0.0, -most * scale), "base")
            factor = k.op(_EXP2, k.op("fma", greatest[half], scale, base), hint="factor")
            k.assign(greatest[half], most)
            k.assign(totals[half], totals[half] * factor)
            factors.append(factor)
            with k.for_(0, count, hint="fragment", unroll=count) as fragment:
                for step in range(2):
                    at = fragment * 4 + (2 * half + step)
                    weight = k.op(_EXP2, k.op("fma", k.load(self._scores, at), scale, base))
                    k.assign(totals[half], totals[half] + weight)
                    k.store(self._scores, at, weight)
        return factors

    def _scale(self, factors: list[Ref]) -> None:
        k, length = self._k, self._form.length // 8
        changes = k.op("ne", factors[0], 1.0) | k.op("ne", factors[1], 1.0)
        with k.if_(changes), k.for_(0, length, hint="fragment", unroll=length) as fragment:
            for half in range(2):
                for step in range(2):
                    at = fragment * 4 + (2 * half + step)
                    k.store(self._sums, at, k.load(self._sums, at) * factors[half])

    def _pack(self) -> None:
        """Rounds weights, two for each word of the left operand."""
        k, count = self._k, KEYS // 4
        with k.for_(0, count, hint="word", unroll=count) as word:
            pair = [k.load(self._scores, word * 2 + step) for step in range(2)]
            k.store(self._weights, word, k.op(_PACK[self._form.dtype], *pair))

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
                start = k.let((head * sizes["n"] + row) * (length // 2) + self._thread, "start")
                with k.for_(0, length // 8, hint="fragment", unroll=length // 8) as fragment:
                    pair = [k.load(self._sums, fragment * 4 + (2 * half + step)) * inverse for step in range(2)]
                    k.store(sizes["y"], start + fragment * 4, k.op(_PACK[self._form.dtype], *pair))
