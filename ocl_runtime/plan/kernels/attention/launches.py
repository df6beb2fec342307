"""Launches of attention and of its gradients: one that describes the operands, and one that computes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Self

from ocl_ir.graph.attention import Attention, AttentionByKeys, AttentionByQueries
from ocl_ir.graph.build import Buffer, Storage
from ocl_ir.kernel.asynchronous import WARPGROUP
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.layout import Layout
from ocl_ir.types import F32, U32, Pointer
from ocl_runtime.plan.kernels.attention import attention_kernel, gradients_kernel
from ocl_runtime.plan.kernels.attention.attention_kernel import KEYS, AttentionForm, queries
from ocl_runtime.plan.kernels.attention.gradients_kernel import OWN, GradientForm, Own, box_rows
from ocl_runtime.plan.kernels.attention.maps import Boxed, describe, in_words
from ocl_runtime.plan.kernels.custom_call import Call
from ocl_runtime.plan.kernels.form import Parameters
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.launch import Address, Launch


class _Sizes(NamedTuple):
    """Of attention: axes in front, heads, key heads, queries, keys, and their length."""

    outer: int
    heads: int
    key_heads: int
    n: int
    m: int
    length: int

    @classmethod
    def of(cls, q: Buffer, k: Buffer) -> Self:
        *front, heads, n, length = map(int, q.shape)
        return cls(math.prod(front), heads, int(k.shape[-3]), n, int(k.shape[-2]), length)

    def give(self, parameters: Parameters, tiles: int, scale: float, attended: Buffer) -> None:
        """What all kernels ask for; `attended` is what `Attention` gives."""
        for name, size in (
            ("n", self.n),
            ("m", self.m),
            ("tiles", tiles),
            ("shared", self.heads // self.key_heads),
            ("own_heads", self.heads),
            ("outer_words", attended.size // 2 // self.outer),
        ):
            parameters.size(name, size)
        parameters.number("scale", F32, scale * math.log2(math.e))
        logs = Layout.contiguous((attended.size // 2 - self.heads * self.n * self.length // 2,))
        start = (attended.layout.offset + self.heads * self.n * self.length) // 2
        address = Address(attended.storage, Layout(logs.shape, logs.strides, start))
        parameters.pointer("logs", Pointer(F32, align=4), address)


def attention_launches(call: Call, allocate: Callable[[int], Storage], lowering: Lowering) -> list[Launch]:
    """Two launches."""
    algorithm, (q, k, v) = call.algorithm, call.operands
    assert isinstance(algorithm, Attention)
    sizes = _Sizes.of(q, k)
    own, heads = queries(sizes.length), sizes.outer * sizes.heads
    parameters = Parameters(U32, call.result.size)
    described = describe([Boxed("q", q, own), Boxed("k", k, KEYS), Boxed("v", v, KEYS)], parameters, allocate, lowering)
    tiles = -(-sizes.n // own)
    sizes.give(parameters, tiles, algorithm.scale, call.result)
    parameters.pointer("y", Pointer(U32, align=16), in_words(call.result))
    form = AttentionForm(q.dtype, sizes.length, algorithm.causal, tuple(parameters.specs))
    kernel = lowering.kernels.get(form, attention_kernel.build)
    return [described, _launch(kernel, parameters, heads * tiles, attention_kernel.WARPGROUPS[sizes.length], lowering)]


def _gradient_launches(own: Own, call: Call, allocate: Callable[[int], Storage], lowering: Lowering) -> list[Launch]:
    """Two launches, for the gradients by what a group has of its own."""
    algorithm, (*matrices, attended, delta) = call.algorithm, call.operands
    assert isinstance(algorithm, AttentionByKeys | AttentionByQueries)
    q, k = matrices[:2]
    sizes = _Sizes.of(q, k)
    parameters = Parameters(U32, max(call.result.size, attended.size))
    boxed = [Boxed(name, each, box_rows(name)) for name, each in zip("qkvg", matrices, strict=True)]
    described = describe(boxed, parameters, allocate, lowering)
    heads, rows = (sizes.key_heads, sizes.m) if own == "keys" else (sizes.heads, sizes.n)
    tiles = -(-rows // OWN)
    sizes.give(parameters, tiles, algorithm.scale, attended)
    parameters.number("factor", F32, algorithm.scale)
    if own == "keys":
        parameters.size("own_key_heads", sizes.key_heads)
    parameters.pointer("delta", Pointer(F32, align=4), Address(delta.storage, delta.layout))
    parameters.pointer("y", Pointer(U32, align=16), in_words(call.result))
    form = GradientForm(own, q.dtype, sizes.length, algorithm.causal, tuple(parameters.specs))
    kernel = lowering.kernels.get(form, gradients_kernel.build)
    return [described, _launch(kernel, parameters, sizes.outer * heads * tiles, gradients_kernel.WARPGROUPS, lowering)]


by_keys_launches = partial(_gradient_launches, "keys")
by_queries_launches = partial(_gradient_launches, "queries")


def _launch(kernel: Kernel, parameters: Parameters, groups: int, warpgroups: int, lowering: Lowering) -> Launch:
    items = warpgroups * WARPGROUP
    return Launch(kernel, tuple(parameters.args), (groups * items, 1, 1), (items, 1, 1), lowering.where)
