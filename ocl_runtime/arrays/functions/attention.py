"""Attention over keys and values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ocl_ir.graph import build as graph
from ocl_ir.graph.attention import Attention
from ocl_ir.layout import broadcast_shapes
from ocl_ir.source_line import caller, calling_line
from ocl_ir.types import BF16, BOOL, F16, DType
from ocl_runtime.arrays.array import Array, arrays_of
from ocl_runtime.arrays.functions.creation import arange
from ocl_runtime.arrays.functions.elementwise import astype, exp, where
from ocl_runtime.arrays.functions.manipulation import broadcast_to, expand_dims, matrix_transpose, reshape
from ocl_runtime.arrays.functions.statistics import max as max_of
from ocl_runtime.arrays.functions.statistics import sum as sum_of
from ocl_runtime.arrays.meaning.semantics import cast, common_dtype
from ocl_runtime.arrays.operands import ArrayLike
from ocl_runtime.errors import DTypeError, ShapeError

if TYPE_CHECKING:
    from ocl_runtime.plan.executor import Executor

_LENGTHS = (64, 128)
"""Of queries, keys and values for which there is one kernel."""


def attention(
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    /,
    *,
    mask: ArrayLike | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> Array:
    """softmax(scale q kᵀ + mask) v, for each head.

    `q` is (…, heads, n, d), `k` (…, key heads, m, d), `v` (…, key heads, m, e), and the result (…, heads, n, e). Where
    there are fewer key heads, as many heads in a row share one (grouped queries). The axes in front are the same.
    `mask` broadcasts to (…, heads, n, m): where bools are false, a key is not seen; numbers are added. `causal`: query
    i sees keys up to i + m - n. `scale` is 1 / sqrt(d) unless given. A query that sees no key gets 0.

    The dtype is that to which all three are promoted, a float. Scores and their exponentials are float32 for halves and
    bfloat16; the weights are rounded to the dtype before they multiply `v`. Where warpgroups multiply (NVIDIA, compute
    capability 9.0) halves without a mask, 64 or 128 long, are one kernel, which stores no scores; all else is a
    product, a softmax and a product.

    Raises `DTypeError` for integers and complex numbers, `ShapeError` for shapes that do not fit.

    >>> ocl.attention(q, k, v, causal=True)

    Source: Vaswani et al., Attention is all you need, 2017; Ainslie et al., GQA, 2023; Dao et al., FlashAttention,
    2022.
    """
    q, k, v = arrays_of("attention", q, k, v)
    executor = q._executor
    dtype = common_dtype((q._node, k._node, v._node), executor)
    if not dtype.is_float:
        raise DTypeError(f"attention of {dtype.public}", place=calling_line(), remedy="convert to floats: astype")
    _check(q, k, v)
    *front, heads, n, d = q.shape
    key_heads, m, e = k.shape[-3], k.shape[-2], v.shape[-1]
    factor = 1 / math.sqrt(d) if scale is None else float(scale)
    if mask is None and factor > 0 and _is_one_kernel(dtype, d, e, executor):
        algorithm = Attention(causal, factor)
        nodes = (cast(x._node, dtype) for x in (q, k, v))
        return Array(graph.custom_call(algorithm, *nodes, where=caller()), executor)
    shared = heads // key_heads
    # The heads that share keys are an axis of their own, along which keys and values are the same.
    queries = reshape(q, (*front, key_heads, shared, n, d))
    keys, values = expand_dims(k, axis=-3), expand_dims(v, axis=-3)
    scores = _product(queries, matrix_transpose(keys), dtype)
    scores = scores * factor
    if mask is not None:
        (given,) = arrays_of("attention", mask)
        seen = reshape(broadcast_to(given, (*front, heads, n, m)), scores.shape)
        scores = where(seen, scores, -math.inf) if given._dtype is BOOL else scores + astype(seen, scores.dtype)
    if causal:
        row, column = arange(n)[:, None], arange(m)[None, :]
        scores = where(column <= row + (m - n), scores, -math.inf)
    largest = max_of(scores, axis=-1, keepdims=True)
    weights = exp(scores - where(largest == -math.inf, 0, largest))
    total = sum_of(weights, axis=-1, keepdims=True)
    weights = weights / where(total == 0, 1, total)
    result = _product(weights, values, dtype)
    return Array(cast(reshape(result, (*front, heads, n, e))._node, dtype), executor)


def _is_one_kernel(dtype: DType, d: int, e: int, executor: Executor) -> bool:
    """Whether there is a kernel that stores no scores: of halves, where warpgroups multiply."""
    return executor.target.warpgroups and dtype in {F16, BF16} and d in _LENGTHS and d == e


def _check(q: Array, k: Array, v: Array) -> None:
    """Raises `ShapeError` for shapes that do not fit."""
    remedy = "q is (…, heads, n, d), k (…, key heads, m, d), v (…, key heads, m, e)"
    if min(q.ndim, k.ndim, v.ndim) < 3:
        problem = "all three need axes for heads, places and elements"
    elif q.shape[:-3] != k.shape[:-3] or k.shape[:-1] != v.shape[:-1]:
        problem = "the axes in front, and the keys and values, have to be as many"
    elif q.shape[-1] != k.shape[-1]:
        problem = "queries and keys have to be as long"
    elif not k.shape[-3] or q.shape[-3] % k.shape[-3]:
        problem = "the key heads have to divide the heads"
    elif not k.shape[-2] or not q.shape[-1]:
        problem = "there have to be keys, with elements"
    else:
        return
    raise ShapeError(
        f"attention of shapes {q.shape}, {k.shape} and {v.shape}: {problem}", place=calling_line(), remedy=remedy
    )


def _product(left: Array, right: Array, dtype: DType) -> Array:
    """Matrices of a dtype multiplied, in the dtype of the sums; the axes in front broadcast."""
    front = broadcast_shapes(left.shape[:-2], right.shape[:-2])
    first, second = (graph.expand(cast(side._node, dtype), (*front, *side.shape[-2:])) for side in (left, right))
    return Array(graph.contract(first, second, caller(), wide=True), left._executor)
