"""Launches of attention and of its gradients: one that describes the operands, and one that computes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Self

from ocl_ir.graph.attention import QUERIES_OF_A_ROW, Attention, AttentionGradient
from ocl_ir.graph.build import Buffer, Storage
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.layout import Layout
from ocl_ir.types import F32, U8, U16, U32, Pointer
from ocl_runtime.plan.kernels.attention import attention_kernel, gradients_kernel, statistics_kernel
from ocl_runtime.plan.kernels.attention.attention_kernel import KEYS, AttentionForm
from ocl_runtime.plan.kernels.attention.gradients import ROWS_OF_A_TILE, WARPGROUPS, GradientForm, box_rows
from ocl_runtime.plan.kernels.attention.maps import Boxed, describe, in_words
from ocl_runtime.plan.kernels.attention.parts import items
from ocl_runtime.plan.kernels.attention.statistics_kernel import StatisticsForm
from ocl_runtime.plan.kernels.custom_call import Call
from ocl_runtime.plan.kernels.form import Parameters, rounded_up
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.launch import Address, Launch

_HEADS = 16
"""Of which tiles are computed at once where these take different times, those that take the most first. Each head has
then several tiles at work at once, which read the same keys and values."""


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

    def give(self, parameters: Parameters, algorithm: Attention | AttentionGradient, tiles: int, heads: int) -> None:
        """What attention and its gradients ask for; a group computes tiles, so many for each of some heads."""
        heads *= self.outer
        for name, size in (("n", self.n), ("m", self.m), ("shared", self.heads // self.key_heads)):
            parameters.size(name, size)
        for name, size in (("tiles", tiles), ("all_heads", heads), ("all_tiles", heads * tiles)):
            parameters.size(name, size)
        parameters.size("heads_at_once", min(heads, _HEADS) if algorithm.causal else 1)
        parameters.number("scale", F32, algorithm.scale * math.log2(math.e))


def _give_mask(parameters: Parameters, mask: Buffer, sizes: _Sizes, *, along_keys: bool) -> None:
    """A mask of (outer, heads, n, m), each of them or 1. A kernel that goes along keys reads two at once, where all
    rows have whole pairs."""
    outer, heads, n, m = map(int, mask.shape)
    pair = 2 if along_keys and m % 2 == 0 and mask.layout.offset % 2 == 0 else 1
    parameters.size("masks", outer * heads)
    parameters.size("mask_shared", sizes.heads if heads == 1 else 1)
    parameters.size("mask_size", n * m // pair)
    parameters.size("mask_row", m // pair if n > 1 else 0)
    parameters.size("mask_key", 1 if m > 1 else 0)
    layout = mask.layout
    if pair > 1:
        layout = Layout((layout.span // pair,), (1,), layout.offset // pair)
    parameters.pointer("mask", Pointer(U16 if pair > 1 else U8, align=pair), Address(mask.storage, layout))


def _give_logs(parameters: Parameters, attended: Buffer, heads: int, n: int) -> None:
    """Where logarithms lie in what `Attention` gives, and how far those of axes in front are apart."""
    outer, length = math.prod(map(int, attended.shape[:-3])), int(attended.shape[-1])
    parameters.size("own_heads", heads)
    parameters.size("outer_words", attended.size // 2 // outer)
    start = heads * n * length // 2
    logs = Layout.contiguous((attended.size // 2 - start,))
    address = Address(attended.storage, Layout(logs.shape, logs.strides, attended.layout.offset // 2 + start))
    parameters.pointer("logs", Pointer(F32, align=4), address)


def attention_launches(call: Call, allocate: Callable[[int], Storage], lowering: Lowering) -> list[Launch]:
    """Two launches."""
    algorithm, (q, k, v, *masks) = call.algorithm, call.operands
    assert isinstance(algorithm, Attention)
    sizes = _Sizes.of(q, k)
    masked = bool(masks)
    rows = attention_kernel.queries(sizes.length, masked=masked)
    parameters = Parameters(U32, call.result.size)
    described = describe(
        [Boxed("q", q, rows), Boxed("k", k, KEYS), Boxed("v", v, KEYS)], parameters, allocate, lowering
    )
    tiles = -(-sizes.n // rows)
    sizes.give(parameters, algorithm, tiles, sizes.heads)
    for mask in masks:
        _give_mask(parameters, mask, sizes, along_keys=True)
    _give_logs(parameters, call.result, sizes.heads, sizes.n)
    parameters.pointer("y", Pointer(U32, align=16), in_words(call.result))
    form = AttentionForm(q.dtype, sizes.length, algorithm.causal, tuple(parameters.specs))
    kernel = lowering.kernels.get(form, attention_kernel.build)
    groups = _groups(algorithm, sizes.outer * sizes.heads * tiles, lowering)
    warpgroups = attention_kernel.warpgroups(sizes.length, masked=masked)
    return [described, _launch(kernel, parameters, groups, warpgroups, lowering)]


def statistics_launches(call: Call, _: Callable[[int], Storage], lowering: Lowering) -> list[Launch]:
    """One launch."""
    attended, delta = call.operands
    *front, heads, n = map(int, delta.shape)
    padded = int(call.result.shape[-2]) // 2 * QUERIES_OF_A_ROW
    count = math.prod(front) * heads * padded
    parameters = Parameters(U32, max(2 * count, attended.size))
    for name, size in (("count", count), ("padded", padded), ("n", n)):
        parameters.size(name, size)
    _give_logs(parameters, attended, heads, n)
    parameters.pointer("delta", Pointer(F32, align=4), Address(delta.storage, delta.layout))
    parameters.pointer("y", Pointer(F32, align=16), in_words(call.result))
    kernel = lowering.kernels.get(StatisticsForm(tuple(parameters.specs)), statistics_kernel.build)
    items = rounded_up(count, statistics_kernel.GROUP)
    return [Launch(kernel, tuple(parameters.args), (items, 1, 1), (statistics_kernel.GROUP, 1, 1), lowering.where)]


def gradient_launches(call: Call, allocate: Callable[[int], Storage], lowering: Lowering) -> list[Launch]:
    """Two launches."""
    algorithm, (q, k, v, g, statistics, *masks) = call.algorithm, call.operands
    assert isinstance(algorithm, AttentionGradient)
    sizes, by = _Sizes.of(q, k), algorithm.by
    heads, rows = (sizes.heads, sizes.n) if by == "queries" else (sizes.key_heads, sizes.m)
    parameters = Parameters(U32, max(call.result.size, statistics.size, q.size))
    named = {"q": q, "k": k, "g": g} if by == "values" else {"q": q, "k": k, "v": v, "g": g}
    boxed = [Boxed(name, each, box_rows(by, sizes.length, name)) for name, each in named.items()]
    if by != "queries":
        boxed.append(Boxed("s", statistics, box_rows(by, sizes.length, "s")))
    described = describe(boxed, parameters, allocate, lowering)
    tiles = -(-rows // ROWS_OF_A_TILE)
    sizes.give(parameters, algorithm, tiles, heads)
    for mask in masks:
        _give_mask(parameters, mask, sizes, along_keys=by == "queries")
    if by != "values":
        parameters.number("factor", F32, algorithm.scale)
    if by == "queries":
        parameters.size("padded", int(statistics.shape[-2]) // 2 * QUERIES_OF_A_ROW)
        parameters.pointer("statistics", Pointer(F32, align=16), in_words(statistics))
    parameters.pointer("y", Pointer(U32, align=16), in_words(call.result))
    form = GradientForm(by, q.dtype, sizes.length, algorithm.causal, tuple(parameters.specs))
    kernel = lowering.kernels.get(form, gradients_kernel.build)
    groups = _groups(algorithm, sizes.outer * heads * tiles, lowering)
    return [described, _launch(kernel, parameters, groups, WARPGROUPS, lowering)]


def _groups(algorithm: Attention | AttentionGradient, tiles: int, lowering: Lowering) -> int:
    """Groups for so many tiles: one for each unit, which goes from tile to tile, unless tiles take different times, so
    that a unit had better get the next one when it has done one."""
    return tiles if algorithm.causal else min(tiles, lowering.target.compute_units)


def _launch(kernel: Kernel, parameters: Parameters, groups: int, warpgroups: int, lowering: Lowering) -> Launch:
    size = items(warpgroups)
    return Launch(kernel, tuple(parameters.args), (groups * size, 1, 1), (size, 1, 1), lowering.where)
