"""Launches of attention in one kernel: one describes the matrices, one computes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ocl_ir.graph.attention import Attention
from ocl_ir.graph.build import Buffer, Storage
from ocl_ir.kernel.asynchronous import MAP_WORDS
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.layout import Layout
from ocl_ir.types import F32, U32, Pointer
from ocl_runtime.plan.kernels.attention.attention_kernel import KEYS, AttentionForm, build, queries
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.custom_call import Call
from ocl_runtime.plan.kernels.form import Parameters, Spec, rounded_up
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.launch import Address, Launch

_GROUP = 32


@dataclass(frozen=True, slots=True)
class _MapsForm:
    length: int
    specs: tuple[Spec, ...]


def attention_launches(call: Call, allocate: Callable[[int], Storage], lowering: Lowering) -> list[Launch]:
    """Two launches."""
    algorithm, (q, k, v) = call.algorithm, call.operands
    assert isinstance(algorithm, Attention)
    *front, heads, n, d = q.shape
    key_heads, m, length = k.shape[-3], k.shape[-2], int(d)
    outer = math.prod(front)
    all_heads, all_key_heads = outer * heads, outer * key_heads
    words = (all_heads + 2 * all_key_heads) * MAP_WORDS
    maps = Address(allocate(words * U32.size), Layout.contiguous((words,)))

    def common(parameters: Parameters) -> None:
        for name, operand in (("q", q), ("k", k), ("v", v)):
            parameters.pointer(name, Pointer(U32, align=16), _words(operand))
        parameters.pointer("maps", Pointer(U32, align=128), maps)
        for name, size in (("heads", all_heads), ("key_heads", all_key_heads), ("n", n), ("m", m)):
            parameters.size(name, size)

    describing = Parameters(U32, all_heads)
    common(describing)
    describing.size("d", d)
    described = lowering.kernels.get(_MapsForm(length, tuple(describing.specs)), _describe)
    items = rounded_up(all_heads, _GROUP)
    first = Launch(described, tuple(describing.args), (items, 1, 1), (_GROUP, 1, 1), lowering.where)

    parameters = Parameters(U32, all_heads * n * length)
    common(parameters)
    tiles = -(-n // queries(length))
    parameters.size("tiles", tiles)
    parameters.size("shared", heads // key_heads)
    parameters.number("scale", F32, algorithm.scale * math.log2(math.e))
    dtype = q.dtype
    parameters.pointer("y", Pointer(U32, align=16), _words(call.result))
    form = AttentionForm(dtype, length, algorithm.causal, tuple(parameters.specs))
    kernel = lowering.kernels.get(form, build)
    items = all_heads * tiles * form.items
    return [first, Launch(kernel, tuple(parameters.args), (items, 1, 1), (form.items, 1, 1), lowering.where)]


def _words(operand: Buffer) -> Address:
    """An operand in row-major order, as words of two elements."""
    layout = Layout.contiguous((operand.size // 2,))
    return Address(operand.storage, Layout(layout.shape, layout.strides, operand.layout.offset // 2))


def _describe(form: _MapsForm) -> Kernel:
    """The kernel that describes queries, keys and values of each head."""
    k = KernelBuilder("describe", group_size=(_GROUP, 1, 1), note="tensor maps of queries, keys and values")
    sizes = Body.start(k, form.specs, U32, fp16=False).params
    number, columns = k.global_id(0, "number"), sizes["d"]
    row_words = columns >> 1

    def describe(name: str, slot: Ref, rows: Ref, box_rows: int) -> None:
        k.describe_matrix(
            sizes["maps"],
            slot * MAP_WORDS,
            sizes[name],
            number * (rows * row_words),
            columns=columns,
            rows=rows,
            row_words=row_words,
            box_rows=box_rows,
        )

    with k.if_(number < sizes["heads"]):
        describe("q", number, sizes["n"], queries(form.length))
    with k.if_(number < sizes["key_heads"]):
        describe("k", sizes["heads"] + number, sizes["m"], KEYS)
        describe("v", sizes["heads"] + sizes["key_heads"] + number, sizes["m"], KEYS)
    return k.build()
