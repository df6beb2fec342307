"""Attention and its gradients as algorithms of the library.

Queries are (…, heads, n, d), keys and values (…, key heads, m, d); heads in a row share keys where there are fewer of
these. `causal`: query i sees keys up to i + m - n. A mask, the last operand if there is one, is (outer, heads, n, m),
of which each may be 1, in bools. Each is one kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ocl_ir.graph.library_algorithm import LibraryAlgorithm, Typed
from ocl_ir.types import F32

BOX_ALIGNMENT = 16
"""Bytes that divide where a matrix begins of which boxes are copied."""


def log_heads(heads: int, length: int) -> int:
    """How many heads of halves as many float32 take as there are queries."""
    return -(-heads * F32.size // (2 * length))


@dataclass(frozen=True, slots=True)
class Attention(LibraryAlgorithm):
    """softmax(scale q kᵀ) v: (…, heads + log heads, n, d). Behind the results lie, in float32, the binary logarithms of
    what each query's weights are divided by, (heads, n), infinity where it sees no key."""

    causal: bool
    scale: float
    alignment: ClassVar[int] = BOX_ALIGNMENT

    def result(self, *operands: Typed) -> Typed:
        """As the queries, and a little more."""
        dtype, (*front, heads, n, length) = operands[0]
        return Typed(dtype, (*front, heads + log_heads(heads, length), n, length))


QUERIES_OF_A_ROW = 32
"""Queries of which a row of what `AttentionStatistics` gives has a number each."""


@dataclass(frozen=True, slots=True)
class AttentionStatistics(LibraryAlgorithm):
    """What gradients need of each query: of all that `Attention` gives, and the sums of gradient times result,
    (…, heads, n) in float32. The result has two rows for each 32 queries, the negative logarithms and the sums in
    float32, as (…, heads, rows, 64) halves; zeros where there is no query."""

    def result(self, *operands: Typed) -> Typed:
        """Rows for all queries."""
        dtype, (*front, heads, n) = operands[0].dtype, operands[1].shape
        return Typed(dtype, (*front, heads, 2 * -(-n // QUERIES_OF_A_ROW), 2 * QUERIES_OF_A_ROW))


@dataclass(frozen=True, slots=True)
class AttentionGradient(LibraryAlgorithm):
    """The gradient by queries, keys or values: of these, the gradient by the result, and `AttentionStatistics`. By keys
    and values it is the sum over the heads that share them."""

    by: Literal["queries", "keys", "values"]
    causal: bool
    scale: float
    alignment: ClassVar[int] = BOX_ALIGNMENT

    def result(self, *operands: Typed) -> Typed:
        """As what it is by."""
        return operands[("queries", "keys", "values").index(self.by)]
