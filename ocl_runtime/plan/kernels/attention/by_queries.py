"""The gradient of attention by queries."""

from __future__ import annotations

from ocl_ir.graph.attention import QUERIES_OF_A_ROW
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import F32
from ocl_runtime.plan.kernels.attention.gradients import ROWS_OF_A_TILE, Gradients
from ocl_runtime.plan.kernels.attention.parts import ROW_PAIR, Tile
from ocl_runtime.plan.kernels.attention.statistics_kernel import statistics_at
from ocl_runtime.plan.kernels.instructions import EXP2


class ByQueries(Gradients):
    """A tile has queries, and goes along the keys that they see."""

    _last_first = True  # the last queries see the most keys

    def _count(self, tile: Tile) -> Ref:
        return self.blocks_seen(tile.first, ROWS_OF_A_TILE, self._block, causal=self._form.causal)

    def _other(self, tile: Tile, block: Ref) -> tuple[Ref, Ref]:
        return self.k.op("udiv", tile.head, self.sizes["shared"], hint="key_head"), block * self._block

    def _prepare(self, tile: Tile) -> None:
        k, sizes = self.k, self.sizes
        self._bases, self._deltas = [], []
        for half in ROW_PAIR:
            row = k.let(tile.first + self.own_row + 8 * half, "row")
            base, delta = k.variable(0.0, F32, f"base_{half}"), k.variable(0.0, F32, f"delta_{half}")
            with k.if_(row < sizes["n"]):
                at = k.let(statistics_at(k, tile.head * sizes["padded"] + row), "at")
                k.assign(base, k.load(sizes["statistics"], at))
                k.assign(delta, k.load(sizes["statistics"], at + QUERIES_OF_A_ROW))
            self._bases.append(base)
            self._deltas.append(delta)

    def _weigh(self, tile: Tile, block: Ref, number: Ref) -> None:
        k = self.k
        self.hide(self._scores, self._block, tile, block, causal=self._form.causal)
        for half in ROW_PAIR:
            for at, _ in self.each(self._block, half):
                weight = k.op(EXP2, k.op("fma", k.load(self._scores, at), self.sizes["scale"], self._bases[half]))
                k.store(self._scores, at, weight)

    def _differences(self, number: Ref) -> None:
        k = self.k
        for half, delta in zip(ROW_PAIR, self._deltas, strict=True):
            for at, _ in self.each(self._block, half):
                by = k.load(self._by_weights, at) - delta
                k.store(self._by_weights, at, k.load(self._scores, at) * by)

    def _store(self, tile: Tile) -> None:
        k, sizes = self.k, self.sizes
        for half in ROW_PAIR:
            row = k.let(tile.first + self.own_row + 8 * half, "row")
            start, at, is_there = self.body.const(0), tile.head * sizes["n"] + row, k.let(row < sizes["n"], "is_there")
            self.store("y", start, at, half, self._sums, sizes["factor"], where=is_there)
