"""Writes the kernel that computes attention without storing scores.

A group has 64 queries of a head for each warpgroup that computes, and goes along the keys in blocks of 128. Of each
block it computes the scores, and from these weights relative to the greatest score so far; what was added up before is
scaled whenever a greater one comes. A work-item has the weights that it needs as its part of the left operand of the
product with the values, which goes on, as does that of the next scores, while weights are computed. Warpgroups begin
their products in turns, so that one multiplies while another computes weights. The logarithm of the sum of a query's
weights is stored, too: gradients need it.

Source: Milakov and Gimelshein, Online normalizer calculation for softmax, 2018; Dao et al., FlashAttention, 2022; Shah
et al., FlashAttention-3, 2024.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ocl_ir.kernel.asynchronous import ROWS
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.program_ops import InlineC
from ocl_ir.types import F32, DType
from ocl_runtime.plan.kernels.attention.parts import ROW_PAIR, Parts, Tile
from ocl_runtime.plan.kernels.form import Spec
from ocl_runtime.plan.kernels.instructions import EXP2

KEYS = 128
"""Of a block."""
_ROOM = 3
"""Blocks of keys and of values in local memory."""
_GREATER = InlineC("fmax({0}, {1})", F32, np.fmax)
"""The greater one of two numbers; a NaN is none, and comes up again in its weight."""
_LATE = 8.0
"""By how much the logarithm of a weight may exceed 0 before sums are scaled: halves hold such weights as exactly."""


def warpgroups(length: int, *, masked: bool) -> int:
    """How many of a group compute: three, where there are enough registers for what they add up, and for a mask."""
    return 2 if masked or length > 64 else 3


def queries(length: int, *, masked: bool) -> int:
    """Queries of a tile."""
    return warpgroups(length, masked=masked) * ROWS


@dataclass(frozen=True, slots=True)
class AttentionForm:
    """The key of the kernel: the dtype, the length of queries, keys and values, and whether it is causal."""

    dtype: DType
    length: int
    causal: bool
    specs: tuple[Spec, ...]

    @property
    def masked(self) -> bool:
        """Whether there is a mask."""
        return any(spec.name == "mask" for spec in self.specs)


def build(form: AttentionForm) -> Kernel:
    """The kernel of a form."""
    return _Builder(form).build()


class _Builder(Parts):
    def __init__(self, form: AttentionForm) -> None:
        computing = warpgroups(form.length, masked=form.masked)
        self._causal, self._queries = form.causal, queries(form.length, masked=form.masked)
        sizes = f"{form.dtype}, {form.length} long, {self._queries} queries, {KEYS} keys at a time"
        note = f"y = softmax(scale q kᵀ) v    {sizes}"
        super().__init__("attention", note, form.specs, form.dtype, form.length, computing)
        self._q = self.ring("q", 1, self._queries)
        self._keys, self._values = self.ring("k", _ROOM, KEYS), self.ring("v", _ROOM, KEYS)

    def build(self) -> Kernel:
        self.begin()
        self.specialise(self._compute, self._copy)
        return self.k.build()

    def _copy(self) -> None:
        k = self.k
        blocks = k.variable(self.body.const(0), hint="copied")
        with self.tiles(self._queries, last_first=True) as tile:
            key_head, count, start = self._key_head(tile), self._count(tile), k.let(blocks, "start")
            self._q.fill(tile.turn, tile.head, tile.first)
            with k.for_(0, count, hint="block") as block:
                for ring in (self._keys, self._values):
                    ring.fill(start + block, key_head, block * KEYS)
            k.assign(blocks, start + count)

    def _compute(self) -> None:
        k, const = self.k, self.body.const
        self._sums, self._scores = self.numbers(self.length, "sums"), self.numbers(KEYS, "scores")
        self._weights = self.words(KEYS, "weights")
        blocks = k.variable(const(0), hint="blocks")
        k.turn("open", self.warpgroups)
        with self.tiles(self._queries, last_first=True) as tile:
            count, start = self._count(tile), k.let(blocks, "start")
            self.clear(self._sums)
            self._greatest = [k.variable(float("-inf"), F32, f"greatest_{half}") for half in ROW_PAIR]
            self._totals = [k.variable(0.0, F32, f"total_{half}") for half in ROW_PAIR]
            self._q.await_(tile.turn)
            with k.if_(const(0) < count):
                self._begin(tile, start)
                with k.for_(1, count, hint="block") as block:
                    self._step(tile, block, start + block)
            self._q.release(tile.turn)
            with k.if_(const(0) < count):
                last = k.let(start + count - 1, "last")
                self._begin_sums(last)
                k.await_("products")
                self._values.release(last)
            k.assign(blocks, start + count)
            self._store(tile)
        k.turn("close", self.warpgroups)

    def _key_head(self, tile: Tile) -> Ref:
        return self.k.op("udiv", tile.head, self.sizes["shared"], hint="key_head")

    def _count(self, tile: Tile) -> Ref:
        """How many blocks of keys a tile's queries see."""
        return self.blocks_seen(tile.first, self._queries, KEYS, causal=self._causal)

    # ------------------------------------------------------------------ blocks of keys and values

    def _begin_scores(self, number: Ref) -> None:
        self.multiply_rows(self._scores, (self._q, self.body.const(0)), (self._keys, number))

    def _begin_sums(self, number: Ref) -> None:
        """Begins to add up the values of a block, whose weights are there."""
        self.add_rows(self._sums, self._weights, (self._values, number))

    def _begin(self, tile: Tile, number: Ref) -> None:
        """Computes the weights of the first block of a tile, which has a number among those of all tiles."""
        k = self.k
        self._keys.await_(number)
        k.turn("await", self.warpgroups)
        self._begin_scores(number)
        k.turn("pass", self.warpgroups)
        k.await_("products")
        self._keys.release(number)
        self._hide(tile, self.body.const(0))
        self._weigh()
        self.pack(self._scores, self._weights, KEYS)
        self._values.await_(number)

    def _step(self, tile: Tile, block: Ref, number: Ref) -> None:
        """Adds up the values of the block before, and computes the weights of a block meanwhile."""
        k = self.k
        number, before = k.let(number, "number"), k.let(number - 1, "before")
        self._keys.await_(number)
        k.turn("await", self.warpgroups)
        self._begin_scores(number)
        self._begin_sums(before)
        k.turn("pass", self.warpgroups)
        # No branch comes between products and the wait for them: the assembler then lets nothing overlap.
        k.await_("products", pending=1)
        self._keys.release(number)
        self._hide(tile, block)
        factors = self._weigh()
        # What a loop waits for comes between weights and sums: NVIDIA's compiler moves exponentials behind a mere wait
        # for products, where nothing goes on meanwhile.
        self._values.await_(number)
        k.await_("products")
        self._values.release(before)
        self._scale(factors)
        self.pack(self._scores, self._weights, KEYS)

    # ------------------------------------------------------------------ weights

    def _hide(self, tile: Tile, block: Ref) -> None:
        self.hide(self._scores, KEYS, tile, block, causal=self._causal)

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

    def _store(self, tile: Tile) -> None:
        """Stores the sums over the totals of the weights, which four work-items have together, and the logarithms of
        these; infinity where a query sees nothing, so that its weights are zeros."""
        k, sizes = self.k, self.sizes
        outer = k.op("udiv", tile.head, sizes["own_heads"], hint="outer")
        start = k.let(outer * sizes["outer_words"], "outer_start")
        rows = k.let((tile.head - outer * sizes["own_heads"]) * sizes["n"], "rows")
        for half in ROW_PAIR:
            total = k.variable(self._totals[half], hint="whole")
            for distance in (1, 2):
                k.assign(total, total + k.shuffle(k.let(total), self.lane ^ distance, 32))
            is_none = k.op("eq", total, 0.0, hint="is_none")
            inverse = k.op("select", is_none, 0.0, 1.0 / total, hint="inverse")
            row = k.let(tile.first + self.own_row + 8 * half, "row")
            is_there = k.let(row < sizes["n"], "is_there")
            self.store("y", start, rows + row, half, self._sums, inverse, where=is_there)
            with k.if_(is_there & k.op("eq", self.thread, 0)):
                log = k.op("fma", self._greatest[half], sizes["scale"], k.op("log2", total))
                k.store(sizes["logs"], start + rows + row, k.op("select", is_none, float("inf"), log))
