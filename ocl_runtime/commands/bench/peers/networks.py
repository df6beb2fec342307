"""What networks compute and NumPy has no function for, written out, head by head and place by place."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

_Head = tuple[tuple[int, ...], tuple[int, ...]]


def attention(q: Any, k: Any, v: Any, *, mask: Any = None, causal: bool = False) -> Any:
    """softmax(q kᵀ / √length + mask) v as `ocl.attention` has it, in the inputs' dtype."""
    result = np.empty((*q.shape[:-1], v.shape[-1]), q.dtype)
    for head, of_keys in _heads(q, k):
        result[head] = _weights(q[head], k[of_keys], mask, causal=causal) @ v[of_keys]
    return result


def attention_gradients(q: Any, k: Any, v: Any, gradient: Any, *, causal: bool = False) -> tuple[Any, Any, Any]:
    """The derivatives by q, k and v (Dao et al., FlashAttention, 2022, appendix B.2)."""
    by_q, by_k, by_v = np.empty_like(q), np.zeros_like(k), np.zeros_like(v)
    scale = 1 / math.sqrt(q.shape[-1])
    for head, of_keys in _heads(q, k):
        weights = _weights(q[head], k[of_keys], None, causal=causal)
        by_scores = gradient[head] @ v[of_keys].T
        by_scores -= np.sum(weights * by_scores, axis=-1, keepdims=True)
        by_scores *= weights
        by_scores *= scale
        by_q[head] = by_scores @ k[of_keys]
        by_k[of_keys] += by_scores.T @ q[head]
        by_v[of_keys] += weights.T @ gradient[head]
    return by_q, by_k, by_v


def conv(x: Any, w: Any, *, stride: int = 1, padding: int = 0) -> Any:
    """`ocl.conv` over two axes: a product of matrices for each image and each place of the kernel."""
    _, _, height, width = w.shape
    padded = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    rows, columns = ((n - m) // stride + 1 for n, m in zip(padded.shape[2:], (height, width), strict=True))
    result = np.zeros((len(x), len(w), rows * columns), x.dtype)
    for row, column in np.ndindex(height, width):
        seen = padded[:, :, row : row + stride * rows : stride, column : column + stride * columns : stride]
        place = np.ascontiguousarray(w[:, :, row, column])  # else the product is not that of BLAS
        result += place @ seen[:, :, :rows, :columns].reshape(*x.shape[:2], -1)
    return result.reshape(len(x), len(w), rows, columns)


def _heads(q: Any, k: Any) -> Iterator[_Head]:
    """Of each head its place among queries, and among keys."""
    shared = q.shape[-3] // k.shape[-3]
    for head in np.ndindex(q.shape[:-2]):
        yield head, (*head[:-1], head[-1] // shared)


def _weights(q: Any, k: Any, mask: Any, *, causal: bool) -> Any:
    scores = q @ k.T
    scores *= 1 / math.sqrt(q.shape[-1])
    if mask is not None:
        scores[~mask] = -np.inf
    if causal:
        scores[np.triu_indices(len(q), 1, len(k))] = -np.inf
    scores -= np.max(scores, axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= np.sum(scores, axis=-1, keepdims=True)
    return scores
