"""Writes the kernel that computes attention without storing scores.

A group has 128 queries of a head, 64 for each of two warpgroups, and goes along the keys in blocks of 128. Of each
block it computes the scores, and from these weights relative to the greatest score so far; what was added up before is
scaled whenever a greater one comes. A work-item has the weights that it needs as its part of the left operand of the
product with the values, which goes on, as does that of the next scores, while weights are computed. The logarithm of
the sum of a query's weights is stored, too: gradients need it.

Source: Milakov and Gimelshein, Online normalizer calculation for softmax, 2018; Dao et al., FlashAttention, 2022.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ocl_ir.kernel.asynchronous import ROWS
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.program_ops import InlineC
from ocl_ir.types import F32, DType
from ocl_runtime.plan.kernels.attention.parts import ROW_PAIR, ROW_WORDS, Parts
from ocl_runtime.plan.kernels.form import Spec
from ocl_runtime.plan.kernels.instructions import EXP2

WARPGROUPS = 2
"""Of a group. A third one leaves too few registers where rows are 128 long, and where they are 64 takes longer, too."""
QUERIES = WARPGROUPS * ROWS
"""Of a group."""
KEYS = 128
"""Of a block."""
_ROOM = 3
"""Blocks of keys and values in local memory: one warpgroup may be a block ahead of the other."""
_GREATER = InlineC("fmax({0}, {1})", F32, np.fmax)
"""The greater one of two numbers; a NaN is none, and comes up again in its weight."""
_LATE = 8.0
"""By how much the logarithm of a weight may exceed 0 before sums are scaled: halves hold such weights as exactly."""


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


class _Builder(Parts):
    def __init__(self, form: AttentionForm) -> None:
        self._causal = form.causal
        sizes = f"{form.dtype}, {form.length} long, {QUERIES} queries, {KEYS} keys at a time"
        note = f"y = softmax(scale q kᵀ) v    {sizes}"
        super().__init__("attention", note, form.specs, form.dtype, form.length, WARPGROUPS)
        self._blocks_at = QUERIES * self.boxes * ROW_WORDS
        self._block_words = KEYS * self.boxes * ROW_WORDS

    def build(self) -> Kernel:
        self.begin(self._blocks_at + 2 * _ROOM * self._block_words, 2 * _ROOM + 1)
        k, sizes, const = self.k, self.sizes, self.body.const
        # The last queries see the most keys: they begin first.
        tile = sizes["tiles"] - 1 - k.op("urem", self.group, sizes["tiles"])
        self._head = k.op("udiv", self.group, sizes["tiles"], hint="head")
        self._first = k.let(tile * QUERIES, "first")
        self._key_head = k.op("udiv", self._head, sizes["shared"], hint="key_head")
        count = self.blocks_seen(self._first, QUERIES, KEYS, causal=self._causal)
        self._count = count
        self._sums, self._scores = self.numbers(self.length, "sums"), self.numbers(KEYS, "scores")
        self._weights = self.words(KEYS, "weights")
        self.clear(self._sums)
        self._greatest = [k.variable(float("-inf"), F32, f"greatest_{half}") for half in ROW_PAIR]
        self._totals = [k.variable(0.0, F32, f"total_{half}") for half in ROW_PAIR]
        with k.if_(self.is_first):
            self.copy("q", self._head, self._first, const(0), QUERIES, const(2 * _ROOM))
            with k.if_(const(0) < count):
                self._copy_keys(const(0))
                self._copy_values(const(0))
            with k.if_(const(1) < count):
                self._copy_keys(const(1))
        k.await_boxes(self.there, 2 * _ROOM, 0)
        with k.if_(const(0) < count):
            self._begin()
            last = k.let(count - 1, "last")
            with k.for_(0, last, hint="block") as block:
                self._step(block)
            self._begin_sums(last)
            k.await_("products")
        self._store()
        return k.build()

    # ------------------------------------------------------------------ blocks of keys and values

    def _slot(self, block: Ref, side: int) -> Ref:
        """The slot of a block of keys (side 0) or values (1)."""
        return self.k.op("urem", block, self.body.const(_ROOM)) * 2 + side

    def _at(self, block: Ref, side: int) -> Ref:
        """Where a block begins."""
        return self._slot(block, side) * self._block_words + self._blocks_at

    def _copy_keys(self, block: Ref) -> None:
        self.copy("k", self._key_head, block * KEYS, self._at(block, 0), KEYS, self._slot(block, 0))

    def _copy_values(self, block: Ref) -> None:
        self.copy("v", self._key_head, block * KEYS, self._at(block, 1), KEYS, self._slot(block, 1))

    def _await(self, block: Ref, side: int) -> None:
        turn = self.k.op("udiv", block, self.body.const(_ROOM))
        self.k.await_boxes(self.there, self._slot(block, side), turn & 1)

    def _await_next(self, block: Ref) -> None:
        """Waits for the values of a block and the keys of the one behind it."""
        self._await(block, 1)
        with self.k.if_(block + 1 < self._count):
            self._await(block + 1, 0)

    def _begin_scores(self, block: Ref) -> None:
        self.multiply_rows(self._scores, (0, QUERIES), (self._at(block, 0), KEYS))

    def _begin_sums(self, block: Ref) -> int:
        """Begins to add up the values of a block, whose weights are there."""
        return self.add_rows(self._sums, self._weights, (self._at(block, 1), KEYS))

    def _begin(self) -> None:
        """Computes the weights of the first block."""
        k, const = self.k, self.body.const
        self._await(const(0), 0)
        self._begin_scores(const(0))
        k.await_("products")
        self.release(const(0))
        self._hide(const(0))
        self._weigh()
        self.pack(self._scores, self._weights, KEYS)
        self._await_next(const(0))

    def _step(self, block: Ref) -> None:
        """Adds up the values of a block, and computes the weights of the next one meanwhile."""
        k = self.k
        with k.if_(self.is_first):
            # Nobody needs the keys of the block before, nor the values before that.
            with k.if_(block > 0):
                self.await_released(block - 1)
            self._copy_values(block + 1)
            with k.if_(block + 2 < self._count):
                self._copy_keys(block + 2)
        self._begin_scores(block + 1)
        # No branch comes between products and the wait for them: the assembler then lets nothing overlap.
        k.await_("products", pending=self._begin_sums(block))
        self._hide(block + 1)
        factors = self._weigh()
        # What a loop waits for comes between weights and sums: NVIDIA's compiler moves exponentials behind a mere wait
        # for products, where nothing goes on meanwhile.
        self._await_next(block + 1)
        k.await_("products")
        self.release(block + 1)
        self._scale(factors)
        self.pack(self._scores, self._weights, KEYS)

    # ------------------------------------------------------------------ weights

    def _hide(self, block: Ref) -> None:
        self.hide(self._scores, KEYS, self._head, self._first, block, causal=self._causal)

    def _weigh(self) -> list[Ref]:
        """Makes weights of scores; what was added up before is to be scaled by the factors that come back."""
        k, scale = self.k, self.sizes["scale"]
        factors = []
        for half, greatest, whole in zip(ROW_PAIR, self._greatest, self._totals, strict=True):
            most = k.variable(greatest, hint="most")
            for number, _ in self.each(KEYS, half):
                k.assign(most, k.op(_GREATER, most, k.load(self._scores, number)))
            for distance in (1, 2):
                k.assign(most, k.op(_GREATER, most, k.shuffle(k.let(most), self.lane ^ distance, 32)))
            exceeds = (most - greatest) * scale > _LATE
            k.assign(most, k.op("select", exceeds, most, greatest))
            base = k.let(k.op("select", k.op("eq", most, float("-inf")), 0.0, -most * scale), "base")
            factor = k.op(EXP2, k.op("fma", greatest, scale, base), hint="factor")
            k.assign(greatest, most)
            k.assign(whole, whole * factor)
            factors.append(factor)
            for number, _ in self.each(KEYS, half):
                weight = k.op(EXP2, k.op("fma", k.load(self._scores, number), scale, base))
                k.assign(whole, whole + weight)
                k.store(self._scores, number, weight)
        return factors

    def _scale(self, factors: list[Ref]) -> None:
        k = self.k
        changes = k.op("ne", factors[0], 1.0) | k.op("ne", factors[1], 1.0)
        with k.if_(changes):
            for half, factor in zip(ROW_PAIR, factors, strict=True):
                for number, _ in self.each(self.length, half):
                    k.store(self._sums, number, k.load(self._sums, number) * factor)

    # ------------------------------------------------------------------ results

    def _store(self) -> None:
        """Stores the sums over the totals of the weights, which four work-items have together, and the logarithms of
        these; infinity where a query sees nothing, so that its weights are zeros."""
        k, sizes = self.k, self.sizes
        outer = k.op("udiv", self._head, sizes["own_heads"], hint="outer")
        start = k.let(outer * sizes["outer_words"], "start")
        rows = k.let((self._head - outer * sizes["own_heads"]) * sizes["n"], "rows")
        for half in ROW_PAIR:
            total = k.variable(self._totals[half], hint="whole")
            for distance in (1, 2):
                k.assign(total, total + k.shuffle(k.let(total), self.lane ^ distance, 32))
            is_none = k.op("eq", total, 0.0, hint="is_none")
            inverse = k.op("select", is_none, 0.0, 1.0 / total, hint="inverse")
            row = k.let(self._first + self.own_row + 8 * half, "row")
            with k.if_(row < sizes["n"]):
                self.store("y", start, rows + row, half, self._sums, inverse)
                with k.if_(k.op("eq", self.thread, 0)):
                    log = k.op("fma", self._greatest[half], sizes["scale"], k.op("log2", total))
                    k.store(sizes["logs"], start + rows + row, k.op("select", is_none, float("inf"), log))
