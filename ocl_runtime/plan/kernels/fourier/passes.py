"""Decides which passes over memory a Fourier transform takes.

A length that fits into a group, or into the caches of a core, is one pass. A longer one is n = a b c …: transforms of
a points, b c … apart, each result turned by a root of unity; then those of b points within each, and so on. The last
pass puts results in order.

Source: D. Bailey, FFTs in external or hierarchical memory, J. Supercomputing 4 (1990).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from ocl_ir.graph.build import Buffer, Storage, buffer
from ocl_ir.layout import Layout
from ocl_ir.types import U32, U64, DType, Pointer
from ocl_runtime.plan.fusion.reduction_order import power_of_two
from ocl_runtime.plan.fusion.values import Leaf
from ocl_runtime.plan.kernels.custom_call import Call
from ocl_runtime.plan.kernels.elementwise import elementwise_launch
from ocl_runtime.plan.kernels.form import Output, Parameters
from ocl_runtime.plan.kernels.fourier import group_kernel, lanes_kernel
from ocl_runtime.plan.kernels.fourier.form import FourierForm
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.launch import Address, Launch
from ocl_runtime.plan.target import Target

_LARGEST_RADIX = 16
"""Points of a butterfly: with their turns, 64 registers of float32."""
_CPU_BYTES = 256 << 10
"""What a work-item of a CPU goes to and fro between, within the second cache of a core."""
_FEW = 8
"""Neighbours that make a line of memory."""
_MOST_NARROW = 2**28
"""Of numbers below, an eighth turn counts in 32 bits."""


@dataclass(frozen=True, slots=True)
class _Axis:
    """An axis of transforms: how many there are, and how far apart in what is read and written. `turns`: its number
    says by how much results are turned."""

    size: int
    read: int
    written: int
    turns: bool = False


@dataclass(frozen=True, slots=True)
class _Pass:
    """Transforms of `n` points over axes; results are turned by one of n `times`."""

    n: int
    read: int
    written: int
    axes: tuple[_Axis, ...]
    times: int = 1


@lru_cache(maxsize=1024)
def factors(n: int, most: int) -> tuple[int, ...] | None:
    """As few factors as there can be, none above `most`, the largest of which is as small as it can be, largest first;
    None where there are none."""
    if n <= most:
        return (n,)
    best: tuple[int, ...] | None = None
    for first in range(min(most, n), 1, -1):
        if n % first:
            continue
        rest = factors(n // first, first)
        if rest is not None and (best is None or (len(rest) + 1, first) <= (len(best), best[0])):
            best = (first, *rest)
    return best


def _most_points(dtype: DType, target: Target, *, apart: bool) -> int:
    """Points of a transform that is one pass; of neighbouring transforms, whose points are `apart`, several have to fit
    into a group."""
    if target.kind == "cpu":
        return _CPU_BYTES // (2 * dtype.size * _lanes(dtype, target))
    most = target.local_bytes // dtype.size * 16 // 17  # of 17 numbers of local memory, one is left out
    return min(most, target.group_size * _LARGEST_RADIX) if not apart else most // 6


def _lanes(dtype: DType, target: Target) -> int:
    return max(1, min(8, target.vector_bytes // dtype.component.size))


def transform_launches(call: Call, allocate: Callable[[int], Storage], lowering: Lowering) -> list[Launch]:
    """The launches of a Fourier transform."""
    algorithm, operand = call.algorithm, call.operands[0]
    numbers = operand if operand.dtype.is_complex else call.result
    shape, dtype = tuple(map(int, numbers.shape)), numbers.dtype
    n, inner = shape[algorithm.axis], math.prod(shape[algorithm.axis + 1 :])
    passes = _passes(n, math.prod(shape[: algorithm.axis]), inner, dtype, lowering.target)
    nbytes, layout = numbers.size * dtype.size, Layout.contiguous((numbers.size,))
    launches = list[Launch]()
    offset = operand.layout.offset
    if not operand.dtype.is_complex:
        launches, operand = _even(operand, allocate, lowering)
        offset = operand.layout.offset // 2
    read = Address(operand.storage, Layout((numbers.size,), (1,), offset))
    places = [read, *(Address(allocate(nbytes), layout) for _ in range(min(2, len(passes) - 1)))]
    for number, pass_ in enumerate(passes):
        is_last = number == len(passes) - 1
        written = Address(call.result.storage, layout) if is_last else places[1 + number % 2]
        scale = float(n) ** (-algorithm.power / 2) if is_last and algorithm.power else None
        launches.append(_launch(pass_, read, written, scale, dtype, algorithm.inverse, lowering))
        read = written
    return launches


def _even(operand: Buffer, allocate: Callable[[int], Storage], lowering: Lowering) -> tuple[list[Launch], Buffer]:
    """Real numbers where pairs of them are complex ones: a copy, if they begin with the second of a pair."""
    if operand.layout.offset % 2 == 0:
        return [], operand
    layout = Layout.contiguous(operand.shape)
    copy = buffer(allocate(operand.size * operand.dtype.size), operand.dtype, layout)
    leaf, output = Leaf(operand, operand.layout, False), Output(0, layout, copy.storage, copy.dtype)
    return [elementwise_launch((leaf,), operand.shape, [output], lowering)], copy


def _passes(n: int, outer: int, inner: int, dtype: DType, target: Target) -> list[_Pass]:
    around = [_Axis(inner, 1, 1)] if inner > 1 else []
    whole = [_Axis(outer, n * inner, n * inner)] if outer > 1 else []
    if n <= _most_points(dtype, target, apart=inner > 1):
        return [_Pass(n, inner, inner, (*around, *whole))]
    parts = factors(n, _most_points(dtype, target, apart=True))
    assert parts is not None, "its prime factors are small"
    passes, done, rest = list[_Pass](), 1, n
    for part in parts[:-1]:
        rest //= part
        each = _Axis(rest, inner, inner, turns=True)
        before = [_Axis(done, part * rest * inner, part * rest * inner)] if done > 1 else []
        axes = [each, *around] if len(around) > 0 and inner < _FEW else [*around, each]
        passes.append(_Pass(part, rest * inner, rest * inner, (*axes, *before, *whole), times=rest))
        done *= part
    written, axes, behind = 1, list[_Axis](), n
    for part in parts[:-1]:
        behind //= part
        axes.append(_Axis(part, behind * inner, written * inner))
        written *= part
    ordered = [axes[0], *around, *axes[1:]] if around and inner < _FEW else [*around, *axes]
    passes.append(_Pass(parts[-1], inner, written * inner, (*ordered, *whole)))
    return passes


def _launch(
    pass_: _Pass,
    read: Address,
    written: Address,
    scale: float | None,
    dtype: DType,
    inverse: bool,
    lowering: Lowering,
) -> Launch:
    target, kernels, _, where, _ = lowering
    radices = factors(pass_.n, _LARGEST_RADIX) or (1,)
    axes = pass_.axes or (_Axis(1, 0, 0),)
    count = axes[0].size
    if target.kind == "cpu":
        team, batch = 0, power_of_two(count, _lanes(dtype, target))
    else:
        team = -(-pass_.n // radices[0])
        room = target.local_bytes // (group_kernel.pitch(pass_.n) * dtype.size)
        most = max(1, min(target.group_size // team, room))
        batch = power_of_two(count, 1 << most.bit_length() - 1)
    groups = -(-count // batch) * math.prod(axis.size for axis in axes[1:])
    size = pass_.n * math.prod(axis.size for axis in axes)
    index = U32 if size * max(1, pass_.times) < _MOST_NARROW and groups * batch * pass_.n < _MOST_NARROW else U64
    turning = next((number for number, axis in enumerate(axes) if axis.turns), None)
    parameters = Parameters(index, size)
    for number, axis in enumerate(axes):
        parameters.size(f"n{number}", axis.size)
    parameters.size("point_in", pass_.read)
    parameters.size("point_out", pass_.written)
    for number, axis in enumerate(axes):
        parameters.size(f"in{number}", axis.read)
    for number, axis in enumerate(axes):
        parameters.size(f"out{number}", axis.written)
    if scale is not None:
        parameters.number("scale", dtype.component, scale)
    pointer = Pointer(dtype, align=dtype.size)
    parameters.pointer("x", pointer, read)
    parameters.pointer("y", pointer, written)
    form = FourierForm(
        dtype=dtype,
        n=pass_.n,
        radices=radices,
        team=team,
        batch=batch,
        rank=len(axes),
        neighbours_in=pass_.read == 1 and axes[0].read != 1,
        neighbours_out=pass_.written == 1 and axes[0].written != 1,
        inverse=inverse,
        scaled=scale is not None,
        twiddled=turning,
        times=pass_.times,
        index=index,
        restrict=read.storage is not written.storage,
    )
    builder = lanes_kernel if target.kind == "cpu" else group_kernel
    items = max(1, team * batch)
    return Launch(
        kernels.get(form, builder.build), tuple(parameters.args), (groups * items, 1, 1), (items, 1, 1), where
    )
