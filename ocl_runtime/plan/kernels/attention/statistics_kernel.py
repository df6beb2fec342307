"""Writes the kernel that lays out what the gradients of attention need of each query, so that it comes in boxes: the
negative logarithm of what its weights are divided by, and the sum of gradient times result."""

from __future__ import annotations

from dataclasses import dataclass

from ocl_ir.graph.attention import QUERIES_OF_A_ROW
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import F32, U32
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.form import Spec

GROUP = 64
"""Work-items of a group."""


@dataclass(frozen=True, slots=True)
class StatisticsForm:
    """The key of the kernel."""

    specs: tuple[Spec, ...]


def build(form: StatisticsForm) -> Kernel:
    """The kernel of a form: each work-item has a query, or stores zeros where there is none."""
    k = KernelBuilder("attention_statistics", group_size=(GROUP, 1, 1), note="y = -log, delta    of each query")
    sizes = Body.start(k, form.specs, U32, fp16=False).params
    number = k.global_id(0, "number")
    with k.if_(number < sizes["count"]):
        head = k.op("udiv", number, sizes["padded"], hint="head")
        query = k.let(number - head * sizes["padded"], "query")
        base, delta = k.variable(0.0, F32, "base"), k.variable(0.0, F32, "own_delta")
        with k.if_(query < sizes["n"]):
            outer = k.op("udiv", head, sizes["own_heads"], hint="outer")
            within = head - outer * sizes["own_heads"]
            k.assign(base, -k.load(sizes["logs"], outer * sizes["outer_words"] + within * sizes["n"] + query))
            k.assign(delta, k.load(sizes["delta"], head * sizes["n"] + query))
        at = k.let(statistics_at(k, number), "at")
        k.store(sizes["y"], at, base)
        k.store(sizes["y"], at + QUERIES_OF_A_ROW, delta)
    return k.build()


def statistics_at(k: KernelBuilder, number: Ref) -> Ref:
    """Where the logarithm of a query lies, by its number among those of all heads; a row further on lies its delta."""
    within = number & (QUERIES_OF_A_ROW - 1)
    return number * 2 - within
