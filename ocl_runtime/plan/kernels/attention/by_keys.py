"""The gradients of attention by keys and by values."""

from __future__ import annotations

from collections.abc import Iterator

from ocl_ir.graph.attention import QUERIES_OF_A_ROW
from ocl_ir.kernel.asynchronous import MAP_WORDS
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import F32, I32, U32, U64
from ocl_runtime.plan.kernels.attention.gradients import ROWS_OF_A_GROUP, STATISTICS_WORDS, Gradients
from ocl_runtime.plan.kernels.attention.parts import ROW_PAIR, ROW_WORDS
from ocl_runtime.plan.kernels.instructions import EXP2


class ByKeys(Gradients):
    """By keys, or by values: a group goes along the queries that see them, of all heads that share them."""

    def _start(self) -> Ref:
        k, sizes = self.k, self.sizes
        tile = k.op("urem", self.group, sizes["tiles"])
        self._own_head = k.op("udiv", self.group, sizes["tiles"], hint="key_head")
        self._first = k.let(tile * ROWS_OF_A_GROUP, "first")
        self._kept = k.array(U64, 2, hint="kept")
        with k.if_(self.is_first):
            k.init_boxes(self._kept, 2, 1)
        k.barrier()
        first = self.body.const(0)
        if self._form.causal:  # queries before see none of the keys
            seeing = k.op("maximum", k.convert(self._first, I32) - self.behind, 0)
            first = k.op("udiv", k.convert(seeing, U32), self.body.const(self._block), hint="first_block")
        self._first_block = first
        blocks = k.op("udiv", sizes["n"] + (self._block - 1), self.body.const(self._block), hint="blocks")
        self._blocks = k.op("select", first < blocks, blocks - first, self.body.const(0), hint="own_blocks")
        return k.let(self._blocks * sizes["shared"], "count")

    def _other(self, number: Ref) -> tuple[Ref, Ref]:
        shared = self.k.op("udiv", number, self._blocks)
        head = self._own_head * self.sizes["shared"] + shared
        return head, (number - shared * self._blocks + self._first_block) * self._block

    def _copy_block(self, number: Ref) -> None:
        super()._copy_block(number)
        head, first = self._other(number)
        slot = number & 1
        self.k.copy_box(
            (self.local, slot * STATISTICS_WORDS + self._statistics_at),
            self.sizes["s"],
            (self.sizes["maps"], (self.sizes["s_map"] + head) * MAP_WORDS),
            column=self.body.const(0),
            row=self.k.op("udiv", first, self.body.const(QUERIES_OF_A_ROW)) * 2,
            rows=2 * self._block // QUERIES_OF_A_ROW,
            barrier=(self._kept, slot),
        )

    def _await_block(self, number: Ref) -> None:
        super()._await_block(number)
        with self.k.if_(number < self._count):
            self.k.await_boxes(self._kept, number & 1, (number >> 1) & 1)

    def _statistics(self, number: Ref, which: int) -> Iterator[tuple[Ref, list[Ref]]]:
        """The fragments of a block, with the logarithms (0) or deltas (1) of both queries that a work-item has there,
        from where a box has them."""
        k, count = self.k, self._block // 8
        start = k.let((number & 1) * STATISTICS_WORDS + self._statistics_at, "statistics_at")
        with k.for_(0, count, hint="fragment", unroll=count) as fragment:
            row = (fragment >> 2) * 2 + which
            unit = ((fragment & 3) * 2 + (self.thread >> 1)) ^ row
            at = start + row * ROW_WORDS + unit * 4 + (self.thread & 1) * 2
            words = k.load(self.local, at, count=2, align=8, hint="statistics")
            yield fragment, [k.bitcast(k.op("extract", words, word), F32) for word in range(2)]

    def _weigh(self, number: Ref) -> None:
        k = self.k
        head, start = self._other(number)
        query, own_row = k.let(start + self.thread * 2, "query"), self._first + self.own_row
        self.mask(self._scores, self._block, head, lambda half, column: (query + column, own_row + 8 * half))
        with k.if_(start + self._block > self.sizes["n"]):  # zeros times a key that is infinite would be no numbers
            for half in ROW_PAIR:
                for at, column in self.each(self._block, half):
                    is_there = query + column < self.sizes["n"]
                    k.store(self._scores, at, k.op("select", is_there, k.load(self._scores, at), float("-inf")))
        if self._form.causal:
            last = k.convert(start, I32) + self.behind
            with k.if_(k.convert(self._first, I32) + (ROWS_OF_A_GROUP - 1) > last):
                for half in ROW_PAIR:
                    key = k.convert(self._first + self.own_row + 8 * half, I32)
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

    def _store(self) -> None:
        k, sizes = self.k, self.sizes
        factor = sizes["factor"] if self._needs_differences else k.const(1.0, F32)
        for half in ROW_PAIR:
            row = k.let(self._first + self.own_row + 8 * half, "row")
            with k.if_(row < sizes["m"]):
                start = self.body.const(0)
                self.store("y", start, self._own_head * sizes["m"] + row, half, self._sums, factor)
