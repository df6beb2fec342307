"""Attention and its gradients as products and a softmax, one block of queries after the other: scores are stored of a
block only. A causal block leaves out the keys that none of its queries sees.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ocl_ir.graph import build as graph
from ocl_ir.guards import plain
from ocl_ir.layout import Layout, broadcast_shapes
from ocl_ir.source_line import caller
from ocl_ir.types import BOOL, F64, I32, DType
from ocl_runtime.arrays.array import Array
from ocl_runtime.arrays.core import compute_together
from ocl_runtime.arrays.functions.elementwise import astype, exp, where
from ocl_runtime.arrays.functions.manipulation import broadcast_to, expand_dims, matrix_transpose, reshape
from ocl_runtime.arrays.functions.statistics import max as max_of
from ocl_runtime.arrays.functions.statistics import sum as sum_of
from ocl_runtime.arrays.meaning.precision import in_tf32
from ocl_runtime.arrays.meaning.semantics import cast

_SCORE_BYTES = {"cpu": 1 << 25, "gpu": 1 << 28}
"""Of a block, at most, as long as it has no fewer queries of each head than `_LEAST_QUERIES`."""
_LEAST_QUERIES = {"cpu": 128, "gpu": 256}
_CAUSAL_BLOCKS = 8
"""Of what is causal: 9/16 of all scores are computed then, where queries see half."""
_CAUSAL_BYTES = {"cpu": 1 << 20, "gpu": 1 << 26}
"""Of scores of such a block, at least: else it costs more to begin it than it saves."""


class Block(NamedTuple):
    """Queries from `begin` to `end`, which see no more than the first `keys`."""

    begin: int
    end: int
    keys: int


class Scores(NamedTuple):
    """What queries (…, heads, n, d) see of keys (…, key heads, m, d): softmax(scale q kᵀ + mask). A mask, if there is
    one, broadcasts to (…, heads, n, m)."""

    q: Array
    k: Array
    masks: Sequence[Array]
    dtype: DType
    causal: bool
    scale: float

    def blocks(self) -> list[Block]:
        """All queries, in blocks of about the same size."""
        n, m, kind = self.q.shape[-2], self.k.shape[-2], self.q._executor.target.kind
        bytes_of_all = math.prod(self.q.shape[:-1]) * m * (8 if self.dtype is F64 else 4)
        count = -(-bytes_of_all // _SCORE_BYTES[kind])
        if self.causal:
            count = max(count, min(_CAUSAL_BLOCKS, bytes_of_all // _CAUSAL_BYTES[kind]))
        rows = -(-n // max(1, min(plain(count), plain(n // _LEAST_QUERIES[kind]))))
        blocks = []
        for number in range(plain(-(-n // max(rows, 1)))):
            begin = number * rows
            end = min(begin + rows, n)
            # One key at least: of no scores there is no greatest one.
            blocks.append(Block(begin, end, max(1, min(m, end + m - n)) if self.causal else m))
        return blocks or [Block(0, 0, m)]

    def weights(self, block: Block) -> Array:
        """How much each query of a block takes of each key: (…, key heads, heads that share them, queries, keys), in
        the dtype of sums."""
        (begin, end, keys), (*front, heads, _, d) = block, self.q.shape
        key_heads, n, m = self.k.shape[-3], self.q.shape[-2], self.k.shape[-2]
        # The heads that share keys are an axis of their own, along which the keys are the same.
        shape = (*front, key_heads, heads // key_heads, end - begin)
        queries = reshape(self.q[..., begin:end, :], (*shape, d))
        seen = expand_dims(self.k[..., :keys, :], axis=-3)
        scores = _product(queries, matrix_transpose(seen), self.dtype) * self.scale
        for mask in self.masks:
            of_all = broadcast_to(mask, (*front, heads, n, m))
            of_block = reshape(of_all[..., begin:end, :keys], (*shape, keys))
            if mask._dtype is BOOL:
                scores = where(of_block, scores, -math.inf)
            else:
                scores = scores + astype(of_block, scores.dtype)
        if self.causal:
            row, column = self._counted(begin, end)[:, None], self._counted(0, keys)[None, :]
            scores = where(column <= row + (m - n), scores, -math.inf)
        largest = max_of(scores, axis=-1, keepdims=True)
        weights = exp(scores - where(largest == -math.inf, 0, largest))
        total = sum_of(weights, axis=-1, keepdims=True)
        return weights / where(total == 0, 1, total)

    def _counted(self, begin: int, end: int) -> Array:
        """Numbers of queries or keys, in the runtime of both."""
        return Array(graph.iota(I32, Layout((end - begin,), (1,), begin), caller()), self.q._executor)

    def empty(self, length: int) -> Array:
        """Memory for a row of such a length for each query."""
        return Array(graph.undefined(self.dtype, (*self.q.shape[:-1], length), caller()), self.q._executor)


def attended(scores: Scores, v: Array) -> Array:
    """The values, weighed: (…, heads, n, e)."""
    q, dtype, blocks = scores.q, scores.dtype, scores.blocks()

    def of(block: Block) -> Array:
        values = expand_dims(v[..., : block.keys, :], axis=-3)
        shape = (*q.shape[:-2], block.end - block.begin, v.shape[-1])
        return _result(_product(scores.weights(block), values, dtype), shape, dtype)

    if len(blocks) == 1:
        return of(blocks[0])
    compute_together([q, scores.k, v, *scores.masks])
    result = scores.empty(v.shape[-1])
    for block in blocks:
        result[..., block.begin : block.end, :] = of(block)
        compute_together([result])
    return result


def gradients(scores: Scores, v: Array, gradient: Array) -> tuple[Array, Array, Array]:
    """Those by queries, keys and values, of the gradient by what `attended` gives."""
    q, k, dtype, blocks = scores.q, scores.k, scores.dtype, scores.blocks()

    def of(block: Block) -> tuple[Array, Array, Array]:
        # The rows of the heads that share keys are one matrix, so that a product adds them up.
        rows = q.shape[-3] // k.shape[-3] * (block.end - block.begin)
        weights, queries, above = (
            reshape(x, (*k.shape[:-2], rows, x.shape[-1]))
            for x in (scores.weights(block), *(x[..., block.begin : block.end, :] for x in (q, gradient)))
        )
        keys, values = (x[..., : block.keys, :] for x in (k, v))
        by_weights = _product(above, matrix_transpose(values), dtype)
        by_scores = weights * (by_weights - sum_of(weights * by_weights, axis=-1, keepdims=True))
        shape = (*q.shape[:-2], block.end - block.begin, q.shape[-1])
        return (
            _result(_product(by_scores, keys, dtype) * scores.scale, shape, dtype),
            _product(matrix_transpose(by_scores), queries, dtype) * scores.scale,
            _product(matrix_transpose(weights), above, dtype),
        )

    *others, last = blocks
    if others:
        compute_together([q, k, v, gradient, *scores.masks])
    by_queries, by_keys, by_values = of(last)  # which sees all keys
    if others:
        part, by_queries = by_queries, scores.empty(q.shape[-1])
        by_queries[..., last.begin :, :] = part
        compute_together([by_queries, by_keys, by_values])
    for block in others:
        parts = of(block)
        by_queries[..., block.begin : block.end, :] = parts[0]
        by_keys[..., : block.keys, :] += parts[1]
        by_values[..., : block.keys, :] += parts[2]
        compute_together([by_queries, by_keys, by_values])
    return by_queries, _result(by_keys, k.shape, dtype), _result(by_values, v.shape, dtype)


def _result(x: Array, shape: tuple[int, ...], dtype: DType) -> Array:
    """An array as users get it, from the dtype of sums."""
    return Array(cast(reshape(x, shape)._node, dtype), x._executor)


def _product(left: Array, right: Array, dtype: DType) -> Array:
    """Matrices of a dtype multiplied, in the dtype of the sums; the axes in front broadcast."""
    front = broadcast_shapes(left.shape[:-2], right.shape[:-2])
    first, second = (graph.expand(cast(side._node, dtype), (*front, *side.shape[-2:])) for side in (left, right))
    return Array(graph.contract(first, second, caller(), wide=True, tf32=in_tf32()), left._executor)
