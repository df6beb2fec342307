"""Roots of unity in memory, which transforms of any length and of real numbers are turned by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ocl_ir.graph.build import Storage
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.layout import Layout
from ocl_ir.types import U64, DType, Pointer
from ocl_runtime.plan.kernels.custom_call import Call
from ocl_runtime.plan.kernels.form import Parameters, rounded_up
from ocl_runtime.plan.kernels.fourier.butterflies import root_of_unity
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.launch import Address, Launch


@dataclass(frozen=True, slots=True)
class _RootsForm:
    dtype: DType
    n: int
    squared: bool


def _build(form: _RootsForm) -> Kernel:
    note = f"roots of unity of {form.n}{', a chirp' if form.squared else ''}    {form.dtype}"
    k = KernelBuilder("roots_of_unity", pointwise=True, note=note)
    count = k.scalar("count", U64)
    y = k.pointer("y", form.dtype, restrict=True)
    i = k.global_id(0, "i", U64)
    with k.if_(i < count):
        number = k.op("urem", i * i if form.squared else i, form.n, hint="number")
        k.store(y, i, k.op("complex", *root_of_unity(k, number, form.n, form.dtype.component, inverse=False)))
    return k.build()


def roots_launches(call: Call, allocate: Callable[[int], Storage], lowering: Lowering) -> list[Launch]:
    """The launch of `RootsOfUnity`."""
    del allocate
    algorithm, count = call.algorithm, int(call.algorithm.count)
    parameters = Parameters(U64, count)
    parameters.size("count", count)
    address = Address(call.result.storage, Layout.contiguous((count,)))
    parameters.pointer("y", Pointer(algorithm.dtype, align=algorithm.dtype.size), address)
    form = _RootsForm(algorithm.dtype, int(algorithm.n), algorithm.squared)
    group = lowering.target.group_size
    size = (rounded_up(count, group), 1, 1)
    return [Launch(lowering.kernels.get(form, _build), tuple(parameters.args), size, (group, 1, 1), lowering.where)]
