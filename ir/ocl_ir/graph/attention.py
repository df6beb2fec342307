"""Attention as an algorithm of the library."""

from __future__ import annotations

from dataclasses import dataclass

from ocl_ir.graph.library_algorithm import LibraryAlgorithm, Typed


@dataclass(frozen=True, slots=True)
class Attention(LibraryAlgorithm):
    """softmax(scale q kᵀ) v of queries (…, heads, n, d), keys and values (…, key heads, m, d), in one kernel. Heads in
    a row share keys where there are fewer of these. `causal`: query i sees keys up to i + m - n."""

    causal: bool
    scale: float

    def result(self, *operands: Typed) -> Typed:
        """As the queries."""
        return operands[0]
