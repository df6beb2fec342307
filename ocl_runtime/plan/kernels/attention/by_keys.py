"""The gradients of attention by keys and by values."""

from __future__ import annotations

from collections.abc import Iterator

from ocl_ir.kernel.operands import Ref
from ocl_ir.types import F32, I32, U32
from ocl_runtime.plan.kernels.attention.gradients import ROWS_OF_A_TILE, GradientForm, Gradients, box_rows
from ocl_runtime.plan.kernels.attention.parts import ROW_PAIR, ROW_WORDS, Tile
from ocl_runtime.plan.kernels.instructions import EXP2


class ByKeys(Gradients):
    """By keys, or by values: a tile goes along the queries that see them, of all heads that share them."""

    _last_first = False  # the first keys are seen by the most queries

    def __init__(self, form: GradientForm) -> None:
        super().__init__(form)
        self._of_queries = self.ring("s", 2, box_rows(form.by, form.length, "s"), boxes=1)

    def _first_block(self, tile: Tile) -> Ref:
        """The first block of queries that see any of a tile's keys."""
        k, first = self.k, self.body.const(0)
        if self._form.causal:
            seeing = k.op("maximum", k.convert(tile.first, I32) - self.behind, 0)
            first = k.op("udiv", k.convert(seeing, U32), self.body.const(self._block), hint="first_block")
        return first

    def _blocks_of_a_head(self, tile: Tile) -> Ref:
        k, first = self.k, self._first_block(tile)
        blocks = k.op("udiv", self.sizes["n"] + (self._block - 1), self.body.const(self._block), hint="blocks")
        return k.op("select", first < blocks, blocks - first, self.body.const(0), hint="own_blocks")

    def _count(self, tile: Tile) -> Ref:
        return self.k.let(self._blocks_of_a_head(tile) * self.sizes["shared"], "count")

    def _other(self, tile: Tile, block: Ref) -> tuple[Ref, Ref]:
        blocks = self._blocks_of_a_head(tile)
        shared = self.k.op("udiv", block, blocks)
        head = tile.head * self.sizes["shared"] + shared
        return head, (block - shared * blocks + self._first_block(tile)) * self._block

    def _fill(self, number: Ref, head: Ref, row: Ref) -> None:
        super()._fill(number, head, row)
        first_row = self.k.op("udiv", row, self.body.const(self._block)) * self._of_queries.rows
        self._of_queries.fill(number, head, first_row)

    def _await(self, number: Ref) -> None:
        super()._await(number)
        self._of_queries.await_(number)

    def _factor(self, number: Ref) -> None:
        super()._factor(number)
        self._of_queries.release(number)

    def _statistics(self, number: Ref, which: int) -> Iterator[tuple[Ref, list[Ref]]]:
        """The fragments of a block, with the logarithms (0) or deltas (1) of both queries that a work-item has there,
        from where a box has them."""
        k, count = self.k, self._block // 8
        start = k.let(self._of_queries.at(number), "statistics_at")
        with k.for_(0, count, hint="fragment", unroll=count) as fragment:
            row = (fragment >> 2) * 2 + which
            unit = ((fragment & 3) * 2 + (self.thread >> 1)) ^ row
            at = start + row * ROW_WORDS + unit * 4 + (self.thread & 1) * 2
            words = k.load(self.local, at, count=2, align=8, hint="statistics")
            yield fragment, [k.bitcast(k.op("extract", words, word), F32) for word in range(2)]

    def _weigh(self, tile: Tile, block: Ref, number: Ref) -> None:
        k = self.k
        head, start = self._other(tile, block)
        query, own_row = k.let(start + self.thread * 2, "query"), tile.first + self.own_row
        self.mask(self._scores, self._block, head, lambda half, column: (query + column, own_row + 8 * half))
        with k.if_(start + self._block > self.sizes["n"]):  # zeros times a key that is infinite would be no numbers
            for half in ROW_PAIR:
                for at, column in self.each(self._block, half):
                    is_there = query + column < self.sizes["n"]
                    k.store(self._scores, at, k.op("select", is_there, k.load(self._scores, at), float("-inf")))
        if self._form.causal:
            last = k.convert(start, I32) + self.behind
            with k.if_(k.convert(tile.first, I32) + (ROWS_OF_A_TILE - 1) > last):
                for half in ROW_PAIR:
                    key = k.convert(tile.first + self.own_row + 8 * half, I32)
                    for at, column in self.each(self._block, half):
                        seen = last + k.convert(self.thread * 2 + column, I32)
                        score = k.load(self._scores, at)
                        k.store(self._scores, at, k.op("select", key > seen, float("-inf"), score))
        for fragment, bases in self._statistics(number, 0):
            for half in ROW_PAIR:
                for step, base in enumerate(bases):
                    at = fragment * 4 + (2 * half + step)
                    weight = k.op(EXP2, k.op("fma", k.load(self._scores, at), self.sizes["scale"], base))
                    k.store(self._scores, at, weight)

    def _differences(self, number: Ref) -> None:
        k = self.k
        for fragment, deltas in self._statistics(number, 1):
            for half in ROW_PAIR:
                for step, delta in enumerate(deltas):
                    at = fragment * 4 + (2 * half + step)
                    by = k.load(self._by_weights, at) - delta
                    k.store(self._by_weights, at, k.load(self._scores, at) * by)

    def _store(self, tile: Tile) -> None:
        k, sizes = self.k, self.sizes
        factor = sizes["factor"] if self._needs_differences else k.const(1.0, F32)
        for half in ROW_PAIR:
            row = k.let(tile.first + self.own_row + 8 * half, "row")
            start, at, is_there = self.body.const(0), tile.head * sizes["m"] + row, k.let(row < sizes["m"], "is_there")
            self.store("y", start, at, half, self._sums, factor, where=is_there)
