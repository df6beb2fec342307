"""The order of a line of a prime length in which its Fourier transform is a convolution: powers of a primitive root."""

from __future__ import annotations

from collections.abc import Callable

from ocl_ir.graph.build import Storage
from ocl_ir.graph.fourier import ModularPowers
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.layout import Layout
from ocl_ir.types import I32, U64, Pointer
from ocl_runtime.plan.kernels.custom_call import Call
from ocl_runtime.plan.kernels.form import Parameters, rounded_up
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.launch import Address, Launch


def _build(form: ModularPowers) -> Kernel:
    what = "logarithms" if form.logarithms else "powers"
    k = KernelBuilder(f"modular_{what}", pointwise=True, note=f"{what} of {form.base} modulo {form.modulus}")
    y = k.pointer("y", I32, restrict=True)
    i = k.global_id(0, "i", U64)
    with k.if_(i < form.modulus - 1):
        power = k.const(1, U64)
        for bit in range((form.modulus - 2).bit_length()):
            factor = k.const(pow(form.base, 1 << bit, form.modulus), U64)
            power = k.op("select", (i >> bit) & 1 != 0, k.op("urem", power * factor, form.modulus), power)
        place, value = (power - 1, i) if form.logarithms else (i, power)
        k.store(y, place, k.convert(value, I32))
    return k.build()


def modular_powers_launches(call: Call, allocate: Callable[[int], Storage], lowering: Lowering) -> list[Launch]:
    """The launch of `ModularPowers`."""
    del allocate
    count = call.algorithm.modulus - 1
    parameters = Parameters(U64, count)
    address = Address(call.result.storage, Layout.contiguous((count,)))
    parameters.pointer("y", Pointer(I32, align=I32.size), address)
    group = lowering.target.group_size
    size = (rounded_up(count, group), 1, 1)
    kernel = lowering.kernels.get(call.algorithm, _build)
    return [Launch(kernel, tuple(parameters.args), size, (group, 1, 1), lowering.where)]
