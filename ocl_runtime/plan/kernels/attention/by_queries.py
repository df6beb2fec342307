"""The gradient of attention by queries."""

from __future__ import annotations

from ocl_ir.graph.attention import QUERIES_OF_A_ROW
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import F32
from ocl_runtime.plan.kernels.attention.gradients import ROWS_OF_A_GROUP, Gradients
from ocl_runtime.plan.kernels.attention.parts import ROW_PAIR
from ocl_runtime.plan.kernels.attention.statistics_kernel import statistics_at
from ocl_runtime.plan.kernels.instructions import EXP2


class ByQueries(Gradients):
    """A group has queries, and goes along the keys that they see."""

    def _start(self) -> Ref:
        k, sizes = self.k, self.sizes
        # The last queries see the most keys: they begin first.
        tile = sizes["tiles"] - 1 - k.op("urem", self.group, sizes["tiles"])
        self._own_head = k.op("udiv", self.group, sizes["tiles"], hint="head")
        self._first = k.let(tile * ROWS_OF_A_GROUP, "first")
        self._key_head = k.op("udiv", self._own_head, sizes["shared"], hint="key_head")
        self._bases, self._deltas = [], []
        for half in ROW_PAIR:
            row = k.let(self._first + self.own_row + 8 * half, "row")
            base, delta = k.variable(0.0, F32, f"base_{half}"), k.variable(0.0, F32, f"delta_{half}")
            with k.if_(row < sizes["n"]):
                at = k.let(statistics_at(k, self._own_head * sizes["padded"] + row), "at")
                k.assign(base, k.load(sizes["statistics"], at))
                k.assign(delta, k.load(sizes["statistics"], at + QUERIES_OF_A_ROW))
            self._bases.append(base)
            self._deltas.append(delta)
        return self.blocks_seen(self._first, ROWS_OF_A_GROUP, self._block, causal=self._form.causal)

    def _other(self, number: Ref) -> tuple[Ref, Ref]:
        return self._key_head, number * self._block

    def _weigh(self, number: Ref) -> None:
        k = self.k
        self.hide(self._scores, self._block, self._own_head, self._first, number, causal=self._form.causal)
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

    def _store(self) -> None:
        k, sizes = self.k, self.sizes
        for half in ROW_PAIR:
            row = k.let(self._first + self.own_row + 8 * half, "row")
            with k.if_(row < sizes["n"]):
                start = self.body.const(0)
                self.store("y", start, self._own_head * sizes["n"] + row, half, self._sums, sizes["factor"])
