"""QR factors by Householder reflectors in blocks (Schreiber and Van Loan, A storage-efficient WY representation for
products of Householder transformations, 1989).

A group reflects the columns of a panel one after the other. Those of a block are applied together, as I - V @ T @ V.T,
by products; within a block, a half is applied to the other one likewise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ocl_ir.graph.build import Buffer, Storage, buffer
from ocl_ir.language.builtins.registry import BUILTINS
from ocl_ir.layout import Layout
from ocl_runtime.plan.kernels.custom_call import Call
from ocl_runtime.plan.kernels.library_kernel import Launches
from ocl_runtime.plan.kernels.linalg.groups import max_of, sum_of, wait
from ocl_runtime.plan.kernels.linalg.matrices import (
    adjoint,
    batched,
    fill,
    part,
    store_identity,
    subtract_product,
    transposed,
    vector_part,
)
from ocl_runtime.plan.kernels.linalg.panels import held_panel
from ocl_runtime.plan.kernels.linalg.scalars import divided, quotient, scaled, squared_magnitude
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.launch import Launch

conj, copysign, fma, group_id, hint, hypot, local_array, local_id, local_size, private_array, sqrt = (
    BUILTINS[name]
    for name in (
        "conj", "copysign", "fma", "group_id", "hint", "hypot", "local_array", "local_id", "local_size",
        "private_array", "sqrt",
    )
)  # fmt: skip

_PANEL = 16
"""Columns that a group reflects."""
_SUMMED_BYTES = 4096
"""Of a column for a group, up to which sums of twice as many columns find room in local memory."""
_BLOCK = 128
"""Columns whose reflectors are applied together to the rest of a matrix."""
_ITEMS = 256


def reflector_of(first: Any, below: Any) -> Any:
    """Of a column whose `first` element stands over a part of length `below`: the real number that is left of it, the
    factor of the reflector, and what its vector is divided by so that it begins with 1."""
    diagonal = first.real
    factor = first * 0
    if first.imag != 0 or below != 0:
        diagonal = -copysign(hypot(abs(first), below), first.real)
        factor = divided(diagonal - first, diagonal)
    return (diagonal, factor, first - diagonal)


def enlargement(largest: Any, small: Any) -> Any:
    """What a column is multiplied by before a reflector is made of it: 1, but for one whose largest magnitude is below
    `small`, since the least floats have too few digits for a vector of length 1."""
    return 1 / (small if largest < small else 1)


def reflect_panel(a: Any, v: Any, factors: Any, small: Any, panel: int, lanes: int, dtype: Any) -> None:
    """Makes a few columns upper triangular by a group, with a real diagonal.

    `v` gets the vectors of the reflectors I - factor * v @ v.H, `factors` the factors. It is their conjugate transposes
    that are applied, as LAPACK does. `small` as of `enlargement`."""
    m = a.shape[1]
    n = a.shape[2]
    batch = group_id(0)
    item = local_id(0)
    items = local_size(0)
    slots = items // lanes
    slot = item % slots
    lane = item // slots
    sums = local_array((lanes, panel), dtype)
    for j in range(min(m, n)):
        largest = abs(a[batch, j, j]) * 0
        for i in range(j + 1 + item, m, items):
            largest = max(largest, abs(a[batch, i, j]))
        largest = max_of(largest)
        squares = largest * 0
        for i in range(j + 1 + item, m, items):
            ratio = divided(a[batch, i, j], largest) if largest > 0 else a[batch, i, j]
            squares = squares + squared_magnitude(ratio)
        up = enlargement(max(largest, abs(a[batch, j, j])), small)
        below = largest * up * sqrt(sum_of(squares))
        diagonal, factor, head = reflector_of(scaled(a[batch, j, j], up), below)
        wait()
        for i in range(j + item, m, items):
            if i == j:
                v[batch, i, j] = 1
                a[batch, i, j] = diagonal / up
                factors[batch, j] = factor
            else:
                v[batch, i, j] = quotient(scaled(a[batch, i, j], up), head) if below != 0 else a[batch, i, j]
                a[batch, i, j] = 0
        wait()
        for c in range(j + 1 + slot, n, slots):
            total = factor * 0
            for i in range(j + lane, m, lanes):
                total = total + conj(v[batch, i, j]) * a[batch, i, c]
            sums[lane, c] = total
        wait()
        for c in range(j + 1 + slot, n, slots):
            total = sums[0, c]
            for other in range(1, lanes):
                total = total + sums[other, c]
            total = total * conj(factor)
            for i in range(j + lane, m, lanes):
                a[batch, i, c] = a[batch, i, c] - total * v[batch, i, j]
        wait()


def reflect_panel_held(
    a: Any, v: Any, factors: Any, least: Any, greatest: Any, small: Any, panel: int, each: int, dtype: Any
) -> None:
    """As `reflect_panel`, by a group whose work-items have `each` rows in registers. Squares between `least` and
    `greatest` are exact enough.

    The column that is next is the first one there: rows turn as they are updated, and are as they were in the end."""
    m = a.shape[1]
    n = a.shape[2]
    batch = group_id(0)
    item = local_id(0)
    items = local_size(0)
    own = private_array((each, panel), dtype)
    reflector = private_array(each, dtype)
    partial = private_array(panel, dtype)
    heads = local_array(panel, dtype)
    sums = local_array((panel, items // 2), dtype)
    for r in hint(range(each), unroll=each):
        row = r * items + item
        for c in hint(range(panel), unroll=panel):
            own[r, c] = 0
            if row < m and c < n:
                own[r, c] = a[batch, row, c]
    wait()
    for j in range(panel):
        if j < min(m, n):
            for r in hint(range(each), unroll=each):
                if r * items + item == j:
                    heads[j] = own[r, 0]
            below, up = length_below(own, heads, j, least, greatest, small, each)
            diagonal, factor, head = reflector_of(scaled(heads[j], up), below)
            if item == 0:
                factors[batch, j] = factor
            for r in hint(range(each), unroll=each):
                row = r * items + item
                reflector[r] = 1 if row == j else 0
                if row > j:
                    reflector[r] = quotient(scaled(own[r, 0], up), head) if below != 0 else own[r, 0]
                    own[r, 0] = reflector[r]
                if row == j:
                    own[r, 0] = diagonal / up
            for c in hint(range(1, panel), unroll=panel):
                partial[c] = 0
                for r in hint(range(each), unroll=each):
                    partial[c] = fma(conj(reflector[r]), own[r, c], partial[c])
            sum_columns(partial, sums, item, items // 2, panel)
            for c in hint(range(1, panel), unroll=panel):
                if c < panel - j:  # behind these are the reflectors
                    product = sums[c, 0] * conj(factor)
                    for r in hint(range(each), unroll=each):
                        own[r, c] = fma(-product, reflector[r], own[r, c])
        for r in hint(range(each), unroll=each):
            passed = own[r, 0]
            for c in hint(range(1, panel), unroll=panel):
                own[r, c - 1] = own[r, c]
            own[r, panel - 1] = passed
    for r in hint(range(each), unroll=each):
        row = r * items + item
        for c in hint(range(panel), unroll=panel):
            if row < m and c < n:
                a[batch, row, c] = own[r, c] if row <= c else own[r, c] * 0
                if c < v.shape[2]:
                    v[batch, row, c] = own[r, c] if row > c else 1 if row == c else 0


def length_below(own: Any, heads: Any, j: Any, least: Any, greatest: Any, small: Any, each: int) -> Any:
    """The length of what a column, the first one in registers, has below row `j`, enlarged, and by how much. By squares
    of what is divided by the largest magnitude, where squares are not exact enough."""
    item = local_id(0)
    items = local_size(0)
    squares = abs(own[0, 0]) * 0
    for r in hint(range(each), unroll=each):
        if r * items + item > j:
            squares = fma(conj(own[r, 0]), own[r, 0], squares).real
    squares = sum_of(squares)
    length = sqrt(squares)
    up = small * 0 + 1
    if not least < squares < greatest:
        largest = abs(own[0, 0]) * 0
        for r in hint(range(each), unroll=each):
            if r * items + item > j:
                largest = max(largest, abs(own[r, 0]))
        largest = max_of(largest)
        total = largest * 0
        for r in hint(range(each), unroll=each):
            if r * items + item > j:
                ratio = divided(own[r, 0], largest) if largest > 0 else own[r, 0]
                total = fma(conj(ratio), ratio, total).real
        up = enlargement(max(largest, abs(heads[j])), small)
        length = largest * up * sqrt(sum_of(total))
    return (length, up)


def sum_columns(partial: Any, sums: Any, item: Any, half: int, panel: int) -> None:
    """Puts the sums of what all work-items have for each column but the first in front of `sums`."""
    if item >= half:
        for c in hint(range(1, panel), unroll=panel):
            sums[c, item - half] = partial[c]
    wait()
    if item < half:
        for c in hint(range(1, panel), unroll=panel):
            sums[c, item] = partial[c] + sums[c, item]
    wait()
    width = half
    while width > 1:
        width = width // 2
        if item < width:
            for c in hint(range(1, panel), unroll=panel):
                sums[c, item] = sums[c, item] + sums[c, item + width]
        wait()


def join_reflectors(products: Any, factors: Any, t: Any) -> None:
    """Makes the T of I - V @ T @ V.H, of V.H @ V and the factors, by a work-item for each row."""
    n = t.shape[1]
    batch = group_id(0)
    for i in range(local_id(0), n, local_size(0)):
        for j in range(n):
            factor = factors[batch, j]
            if j < i:
                t[batch, i, j] = 0
            elif j == i:
                t[batch, i, j] = factor
            else:
                total = factor * 0
                for k in hint(range(i, j), unroll=8):
                    total = total + t[batch, i, k] * products[batch, k, j]
                t[batch, i, j] = -factor * total


@dataclass(frozen=True, slots=True)
class _Reflectors:
    """I - V @ T @ V.H."""

    v: Buffer
    v_adjoint: Buffer
    t: Buffer

    def apply(self, launches: Launches, a: Buffer, *, backwards: bool) -> None:
        """Applies them, or `backwards` their conjugate transpose, to the columns of matrices."""
        if a.shape[2]:
            inner = launches.product(self.v_adjoint, a)
            inner = launches.product(adjoint(launches, self.t) if backwards else self.t, inner)
            subtract_product(launches, a, self.v, inner)


def _joined(launches: Launches, v: Buffer, factors: Buffer) -> _Reflectors:
    batch, _, n = v.shape
    t = transposed(launches.scratch(v.dtype, (batch, n, n)))  # rows are work-items, whose accesses are neighbours
    items = 1 if launches.target.kind == "cpu" else min(128, launches.target.group_size)
    v_adjoint = adjoint(launches, v)
    arrays = {"products": launches.product(v_adjoint, v), "factors": factors, "t": t}
    launches.kernel(join_reflectors, batch, items, arrays)
    return _Reflectors(v, v_adjoint, t)


def _reflect(launches: Launches, a: Buffer, v: Buffer, factors: Buffer) -> None:
    """Makes matrices with no more columns than rows upper triangular."""
    batch, m, n = a.shape
    target, arrays = launches.target, {"a": a, "v": v, "factors": factors}
    held = held_panel(target, a.dtype, m, group_bytes=_SUMMED_BYTES)
    panel = _PANEL
    limits, real = np.finfo(a.dtype.numpy), a.dtype.component
    numbers = {"small": (real, float(limits.tiny / limits.eps))}
    if held is not None:
        panel, items, each = held
        if n <= panel:
            numbers["least"] = real, float(limits.tiny / limits.eps**2)
            numbers["greatest"] = real, float(limits.max * limits.eps)
            how = (reflect_panel_held, batch, items, arrays)
            launches.kernel(*how, numbers=numbers, exchanges=False, panel=panel, each=each, dtype=a.dtype)
            return
    if n <= panel:
        items = 1 if target.kind == "cpu" else min(_ITEMS, target.group_size)
        lanes = max(1, items // panel)
        launches.kernel(reflect_panel, batch, items, arrays, numbers=numbers, panel=panel, lanes=lanes, dtype=a.dtype)
        return
    half = -(-n // (2 * panel)) * panel
    left, right, below = (0, half), (half, n), (half, m)
    _reflect(launches, part(a, (0, m), left), part(v, (0, m), left), vector_part(factors, 0, half))
    reflectors = _joined(launches, part(v, (0, m), left), vector_part(factors, 0, half))
    reflectors.apply(launches, part(a, (0, m), right), backwards=True)
    _reflect(launches, part(a, below, right), part(v, below, right), vector_part(factors, half, n))


def qr_factor_launches(call: Call, allocate: Callable[[int], Storage], lowering: Lowering) -> list[Launch]:
    """The launches of `QrFactor`."""
    launches = Launches(allocate, lowering)
    source = batched(call.operands[0])
    batch, m, n = source.shape
    least = min(m, n)
    a, v = (launches.scratch(source.dtype, source.shape), launches.scratch(source.dtype, (batch, m, least)))
    factors = launches.scratch(source.dtype, (batch, least))
    launches.copy(source, a)
    fill(launches, v, 0.0)
    blocks: list[tuple[int, _Reflectors]] = []
    for first in range(0, least, _BLOCK):
        last = min(first + _BLOCK, least)
        rows, columns = (first, m), (first, last)
        _reflect(launches, part(a, rows, columns), part(v, rows, columns), vector_part(factors, first, last))
        reflectors = _joined(launches, part(v, rows, columns), vector_part(factors, first, last))
        reflectors.apply(launches, part(a, rows, (last, n)), backwards=True)
        blocks.append((first, reflectors))
    k = m if call.algorithm.complete else least
    step, result = k * (m + n), call.result
    q = buffer(result.storage, a.dtype, Layout((batch, m, k), (step, k, 1), result.layout.offset))
    r = buffer(result.storage, a.dtype, Layout((batch, k, n), (step, n, 1), result.layout.offset + m * k))
    store_identity(launches, q)
    for first, reflectors in reversed(blocks):
        reflectors.apply(launches, part(q, (first, m), (first, k)), backwards=False)
    launches.copy(part(a, (0, k), (0, n)), r)
    return launches.made
