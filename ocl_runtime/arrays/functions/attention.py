"""Attention over keys and values, and its gradients."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from ocl_ir.graph import build as graph
from ocl_ir.graph.attention import Attention, AttentionGradient, AttentionStatistics
from ocl_ir.indices import parse_index
from ocl_ir.source_line import caller, calling_line
from ocl_ir.types import BF16, BOOL, F16, F32, DType
from ocl_runtime.arrays.array import Array, arrays_of
from ocl_runtime.arrays.functions.attention_blocks import Scores, attended, gradients
from ocl_runtime.arrays.functions.elementwise import multiply
from ocl_runtime.arrays.functions.joining import pad
from ocl_runtime.arrays.functions.manipulation import broadcast_to, reshape
from ocl_runtime.arrays.functions.statistics import sum as sum_of
from ocl_runtime.arrays.meaning.semantics import cast, common_dtype
from ocl_runtime.arrays.operands import ArrayLike
from ocl_runtime.errors import DTypeError, ShapeError

if TYPE_CHECKING:
    from ocl_ir.graph.build import Node
    from ocl_runtime.plan.executor import Executor

_MOST = 2**31
"""Elements of an array that kernels count."""
_MOST_HEADS = 2**22
"""Of all axes in front, whose descriptions a kernel counts."""
_LENGTHS = (64, 128)
"""Of queries, keys and values in kernels that store no scores; shorter ones are padded."""


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
    capability 9.0) halves of up to 128 elements are one kernel, which stores no scores (fewer than 64 or 128 are padded
    before). All else is a product, a softmax and a product, of long sequences in blocks of queries: then scores of one
    block are stored, the work is started at once (`explain` finds it computed), and a causal block leaves out the keys
    that it does not see.

    Raises `DTypeError` for integers and complex numbers, `ShapeError` for shapes that do not fit.

    >>> ocl.attention(q, k, v, causal=True)

    Source: Vaswani et al., Attention is all you need, 2017; Ainslie et al., GQA, 2023; Dao et al., FlashAttention,
    2022.
    """
    q, k, v = arrays_of("attention", q, k, v)
    dtype = _dtype("attention", q, k, v)
    _check("attention", q, k, v)
    factor = _scale(q, scale)
    masks = _optional_mask("attention", q, k, mask)
    length = _kernel_length(dtype, factor, q, k, v, *masks)
    if length:
        nodes = [_padded(x, dtype, length) for x in (q, k, v)]
        _, result = _attended(Attention(causal, factor), *nodes, *_masks_in_kernels(masks, q, k))
        return _without_padding(result, v, q._executor)
    return attended(Scores(q, k, masks, dtype, causal, factor), v)


def attention_gradients(
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    gradient: ArrayLike,
    /,
    *,
    mask: ArrayLike | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> tuple[Array, Array, Array]:
    """The gradients by `q`, `k` and `v` of a number whose gradient by `attention(q, k, v, …)` is given.

    Shapes and the other arguments are those of `attention`; `gradient` is (…, heads, n, e), and each result has the
    shape of its array. Those by `k` and `v` are sums over the heads that share them. A query that sees no key adds
    nothing. The mask gets no gradient.

    The dtype is that to which all four are promoted, a float. For halves and bfloat16 the scores, the weights and the
    gradients by them are float32; both are rounded to the dtype before they are multiplied, and the products are added
    in float32. A program with `attention` of the same arrays computes that once. Where `attention` is one kernel, these
    are three, which store no scores; elsewhere they are computed in blocks of queries, too.

    Raises `DTypeError` for integers and complex numbers, `ShapeError` for shapes that do not fit.

    >>> dq, dk, dv = ocl.attention_gradients(q, k, v, gradient, causal=True)

    Source: Dao et al., FlashAttention, 2022, appendix B.2.
    """
    q, k, v, gradient = arrays_of("attention_gradients", q, k, v, gradient)
    dtype = _dtype("attention_gradients", q, k, v, gradient)
    _check("attention_gradients", q, k, v)
    if gradient.shape != (*q.shape[:-1], v.shape[-1]):
        raise ShapeError(
            f"attention_gradients of a gradient of shape {gradient.shape}",
            place=calling_line(),
            remedy=f"give it the shape of what attention returns: {(*q.shape[:-1], v.shape[-1])}",
        )
    factor = _scale(q, scale)
    masks = _optional_mask("attention_gradients", q, k, mask)
    length = _kernel_length(dtype, factor, q, k, v, *masks)
    if length:
        nodes = [_padded(x, dtype, length) for x in (q, k, v, gradient)]
        by = _gradients_in_kernels(q._executor, *nodes, *_masks_in_kernels(masks, q, k), causal=causal, scale=factor)
        first, second, third = (_without_padding(x, of, q._executor) for x, of in zip(by, (q, k, v), strict=True))
        return first, second, third
    return gradients(Scores(q, k, masks, dtype, causal, factor), v, gradient)


def _optional_mask(name: str, q: Array, k: Array, mask: ArrayLike | None) -> list[Array]:
    """The mask, if there is one. Raises `ShapeError` where it does not broadcast."""
    masks = [] if mask is None else list(arrays_of(name, mask))
    for each in masks:
        broadcast_to(each, (*q.shape[:-1], k.shape[-2]))
    return masks


def _scale(q: Array, scale: float | None) -> float:
    """What scores are multiplied by."""
    return 1 / math.sqrt(q.shape[-1]) if scale is None else float(scale)


def _dtype(name: str, *arrays: Array) -> DType:
    """The float to which all are promoted."""
    dtype = common_dtype(tuple(x._node for x in arrays), arrays[0]._executor)
    if not dtype.is_float:
        raise DTypeError(f"{name} of {dtype.public}", place=calling_line(), remedy="convert to floats: astype")
    return dtype


def _kernel_length(dtype: DType, scale: float, q: Array, k: Array, v: Array, *masks: Array) -> int:
    """How long queries, keys and values are in kernels that store no scores, 0 where there are none: these are for
    halves, where warpgroups multiply, and masks of bools. Numbers that are added may be so large that what is left of
    scores does not fit into one float32."""
    is_fit = scale > 0 and dtype in {F16, BF16} and 0 not in q.shape and all(mask._dtype is BOOL for mask in masks)
    is_fit = is_fit and q._executor.target.warpgroups and max(x.size for x in (q, k, v, *masks)) < _MOST
    is_fit = is_fit and math.prod(q.shape[:-2]) < _MOST_HEADS
    longest = max(q.shape[-1], v.shape[-1])
    return next((length for length in _LENGTHS if is_fit and longest <= length), 0)


def _padded(x: Array, dtype: DType, length: int) -> Node:
    """Rows of a dtype with zeros behind, which change no product."""
    missing = length - x.shape[-1]
    return cast((pad(x, [*([(0, 0)] * (x.ndim - 1)), (0, missing)]) if missing else x)._node, dtype)


def _without_padding(padded: Node, of: Array, executor: Executor) -> Array:
    """Rows as long as those of an array."""
    return Array(graph.index(padded, parse_index(padded.shape, (..., slice(of.shape[-1]))), caller()), executor)


def _masks_in_kernels(masks: list[Array], q: Array, k: Array) -> list[Node]:
    """A mask, if there is one, as kernels take it, (outer, heads, n, m), of which what is the same is there once."""
    *front, heads, n, _ = q.shape
    whole, nodes = (*front, heads, n, k.shape[-2]), []
    for mask in masks:
        shape = (*([1] * (len(whole) - mask.ndim)), *mask.shape)
        if any(length != 1 for length in shape[:-3]):
            shape = (*front, *shape[-3:])
        nodes.append(reshape(broadcast_to(mask, shape), (math.prod(shape[:-3]), *shape[-3:]))._node)
    return nodes


def _attended(algorithm: Attention, q: Node, k: Node, v: Node, *masks: Node) -> tuple[Node, Node]:
    """All that a kernel of attention gives, and the result alone."""
    whole = graph.custom_call(algorithm, q, k, v, *masks, where=caller())
    heads = parse_index(whole.shape, (..., slice(q.shape[-3]), slice(None), slice(None)))
    return whole, graph.index(whole, heads, caller())


def _gradients_in_kernels(
    executor: Executor, q: Node, k: Node, v: Node, gradient: Node, *masks: Node, causal: bool, scale: float
) -> list[Node]:
    """By queries, keys and values. Attention itself is computed, too, since results and logarithms are needed."""
    whole, result = _attended(Attention(causal, scale), q, k, v, *masks)
    wide = (Array(cast(x, F32), executor) for x in (gradient, result))
    delta = sum_of(multiply(*wide), axis=-1)._node
    operands = (q, k, v, gradient, graph.custom_call(AttentionStatistics(), whole, delta, where=caller()), *masks)
    by: tuple[Literal["queries", "keys", "values"], ...] = ("queries", "keys", "values")
    return [graph.custom_call(AttentionGradient(each, causal, scale), *operands, where=caller()) for each in by]


def _check(name: str, q: Array, k: Array, v: Array) -> None:
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
        f"{name} of shapes {q.shape}, {k.shape} and {v.shape}: {problem}", place=calling_line(), remedy=remedy
    )
