"""Between transforms of real numbers and those of half as many complex ones, which have them as their parts.

With Z the transform of z[j] = x[2j] + i x[2j+1], and F = Z[k], B = conj(Z[n/2 - k]): E = (F + B) / 2 and
O = (F - B) / 2i are the transforms of the even and the odd numbers, and X[k] = E + w^k O, X[n/2 - k] = conj(E - w^k O).
Backwards it is the same with conj(w).

Source: W. Press et al., Numerical Recipes (2007), section 12.3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ocl_ir.graph.build import Storage
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.layout import Layout
from ocl_ir.types import U32, U64, DType, Pointer
from ocl_runtime.plan.kernels.custom_call import Call
from ocl_runtime.plan.kernels.form import Parameters, rounded_up
from ocl_runtime.plan.kernels.fourier.butterflies import Pair, added, multiplied, root_of_unity, rotated, subtracted
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.launch import Address, Launch

_MOST_NARROW = 2**28


@dataclass(frozen=True, slots=True)
class _Form:
    dtype: DType
    half: int
    inverse: bool
    index: DType


def _build(form: _Form) -> Kernel:
    way = "from" if form.inverse else "of"
    note = f"the first half of the spectrum {way} {2 * form.half} real numbers    {form.dtype}"
    k, part, half = KernelBuilder("half_spectrum", pointwise=True, note=note), form.dtype.component, form.half
    rows, scale = k.scalar("rows", form.index), k.scalar("scale", part)
    x, y = k.pointer("x", form.dtype, restrict=True), k.pointer("y", form.dtype, restrict=True)
    of_row = half // 2 + 1
    i = k.global_id(0, "i", form.index)
    row, number = k.op("udiv", i, of_row, hint="row"), k.op("urem", i, of_row, hint="number")
    with k.if_(row < rows):
        opposite = k.let(half - number, "opposite")
        begin_in, begin_out = row * (half + form.inverse), row * (half + (not form.inverse))
        wrapped = opposite if form.inverse else k.op("select", number == 0, number, opposite)
        first, last = _pair(k, x, begin_in + number), _pair(k, x, begin_in + wrapped)
        if form.inverse:  # of the first and the last element, the imaginary part does not count
            zero = k.const(0.0, part)
            first = Pair(first.re, k.op("select", number == 0, zero, first.im))
            last = Pair(last.re, k.op("select", number == 0, zero, last.im))
        last = Pair(last.re, -last.im)
        turn = root_of_unity(k, number, 2 * half, part, inverse=form.inverse)
        even = added(first, last)
        odd = multiplied(k, rotated(subtracted(first, last), inverse=form.inverse), turn)
        near, far = added(even, odd), subtracted(even, odd)
        k.store(y, begin_out + number, k.op("complex", near.re * scale, near.im * scale))
        exists = opposite != number
        with k.if_(exists & (number != 0) if form.inverse else exists):
            k.store(y, begin_out + opposite, k.op("complex", far.re * scale, far.im * -scale))
    return k.build()


def _pair(k: KernelBuilder, pointer: Ref, index: Ref) -> Pair:
    value = k.load(pointer, index)
    return Pair(k.op("real", value), k.op("imag", value))


def half_spectrum_launches(call: Call, allocate: Callable[[int], Storage], lowering: Lowering) -> list[Launch]:
    """The launch of `HalfSpectrum`."""
    del allocate
    algorithm, operand = call.algorithm, call.operands[0]
    half = int(operand.shape[-1]) - algorithm.inverse
    rows = operand.size // (half + algorithm.inverse)
    items = rows * (half // 2 + 1)
    index = U32 if operand.size + 2 * rows + items < _MOST_NARROW else U64
    parameters = Parameters(index, items)
    parameters.size("rows", rows)
    scale = float(2 * half) ** (-algorithm.power / 2) * (1.0 if algorithm.inverse else 0.5)
    parameters.number("scale", operand.dtype.component, scale)
    pointer = Pointer(operand.dtype, align=operand.dtype.size)
    for name, array in (("x", operand), ("y", call.result)):
        layout = Layout((array.size,), (1,), array.layout.offset)
        parameters.pointer(name, pointer, Address(array.storage, layout))
    form = _Form(operand.dtype, half, algorithm.inverse, index)
    group = lowering.target.group_size
    size = (rounded_up(items, group), 1, 1)
    return [Launch(lowering.kernels.get(form, _build), tuple(parameters.args), size, (group, 1, 1), lowering.where)]
