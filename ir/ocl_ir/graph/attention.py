"""Attention and its gradients as algorithms of the library.

Queries are (…, heads, n, d), keys and values (…, key heads, m, d); heads in a row share keys where there are fewer of
these. `causal`: query i sees keys up to i + m - n. Each is one kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

from ocl_ir.graph.library_algorithm import LibraryAlgorithm, Typed
from ocl_ir.types import F32


def log_heads(heads: int, length: int) -> int:
    """How many heads of halves as many float32 take as there are queries."""
    return -(-heads * F32.size // (2 * length))


@dataclass(frozen=True, slots=True)
class Attention(LibraryAlgorithm):
    """softmax(scale q kᵀ) v: (…, heads + log heads, n, d). Behind the results lie, in float32, the binary logarithms of
    what each query's weights are divided by, (heads, n), infinity where it sees no key."""

    causal: bool
    scale: float

    def result(self, *operands: Typed) -> Typed:
        """As the queries, and a little more."""
        dtype, (*front, heads, n, length) = operands[0]
        return Typed(dtype, (*front, heads + log_heads(heads, length), n, length))


@dataclass(frozen=True, slots=True)
class AttentionByQueries(LibraryAlgorithm):
    """The gradient by queries, of queries, keys, values, the gradient by the result, all that `Attention` gives, and of
    each query the sum of gradient times result, (…, heads, n) in float32."""

    causal: bool
    scale: float

    def result(self, *operands: Typed) -> Typed:
        """As the queries."""
        return operands[0]


@dataclass(frozen=True, slots=True)
class AttentionByKeys(LibraryAlgorithm):
    """The gradients by keys and by values, (…, 2 key heads, m, d), those by all keys first; of the same operands."""

    causal: bool
    scale: float

    def result(self, *operands: Typed) -> Typed:
        """As keys and values."""
        dtype, (*front, key_heads, m, length) = operands[1]
        return Typed(dtype, (*front, 2 * key_heads, m, length))
