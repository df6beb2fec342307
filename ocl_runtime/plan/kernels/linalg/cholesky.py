"""Cholesky factors: blocks of the diagonal by a group each, the rest by triangular systems and products."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ocl_ir.graph.build import Buffer, Storage
from ocl_ir.language.builtins.registry import BUILTINS
from ocl_runtime.plan.fusion.reduction_order import power_of_two
from ocl_runtime.plan.kernels.custom_call import Call
from ocl_runtime.plan.kernels.library_kernel import Launches
from ocl_runtime.plan.kernels.linalg.groups import wait
from ocl_runtime.plan.kernels.linalg.matrices import (
    adjoint,
    batched,
    clear_above,
    conjugated,
    part,
    subtract_product,
    transposed,
)
from ocl_runtime.plan.kernels.linalg.scalars import divided
from ocl_runtime.plan.kernels.linalg.triangular import solve_triangular
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.launch import Launch

conj, fma, group_id, local_array, local_id, local_size, private_array, sqrt, unrolled = (
    BUILTINS[name]
    for name in (
        "conj", "fma", "group_id", "local_array", "local_id", "local_size", "private_array", "sqrt", "unrolled",
    )
)  # fmt: skip

_BLOCK = 32
"""Rows of a block of the diagonal: those of both dtypes fit into local memory many times."""


def cholesky_block(a: Any, block: int, dtype: Any) -> None:
    """The lower Cholesky factor of a small matrix, by a group; a pivot that is not positive becomes NaN."""
    n = a.shape[1]
    batch = group_id(0)
    item = local_id(0)
    items = local_size(0)
    rows = local_array((block, block + 1), dtype)
    pivots = local_array(block, dtype.component)
    for i in range(item, n, items):
        for j in range(i + 1):
            rows[i, j] = a[batch, i, j]
    wait()
    for j in range(n):
        for i in range(item, n, items):
            if i >= j:
                value = rows[i, j]
                for k in range(j):
                    value = value - rows[i, k] * conj(rows[j, k])
                rows[i, j] = value
                if i == j:
                    pivots[j] = sqrt(value.real) if value.real > 0 else value.real * math.nan
        wait()
        for i in range(item, n, items):
            if i == j:
                rows[i, j] = pivots[j]
            elif i > j:
                rows[i, j] = divided(rows[i, j], pivots[j])
        wait()
    for i in range(item, n, items):
        for j in range(i + 1):
            a[batch, i, j] = rows[i, j]


def cholesky_block_held(a: Any, block: int, dtype: Any) -> None:
    """As `cholesky_block`, by a group whose work-items have a row in registers each."""
    n = a.shape[1]
    batch = group_id(0)
    row = local_id(0)
    own = private_array(block, dtype)
    pivots = local_array(block, dtype.component)
    column = local_array(block, dtype)
    for j in unrolled(range(block)):
        own[j] = 1 if row == j else 0
        if j <= row < n:
            own[j] = a[batch, row, j]
    for j in unrolled(range(block)):
        if row == j:
            pivot = own[j].real
            pivots[j] = sqrt(pivot) if pivot > 0 else pivot * math.nan
        wait()
        own[j] = pivots[j] if row == j else divided(own[j], pivots[j])
        column[row] = own[j]
        wait()
        for k in unrolled(range(j + 1, block)):
            own[k] = fma(-own[j], conj(column[k]), own[k])
    for j in unrolled(range(block)):
        if j <= row < n:
            a[batch, row, j] = own[j]


def _factor(launches: Launches, a: Buffer) -> None:
    """Puts the factor into the lower triangles of some matrices, and anything above."""
    n = a.shape[1]
    if n <= _BLOCK:
        target, block = launches.target, max(8, power_of_two(n, _BLOCK))
        if target.kind == "gpu" and block <= target.group_size:
            launches.kernel(
                cholesky_block_held, a.shape[0], block, {"a": a}, exchanges=False, block=block, dtype=a.dtype
            )
        else:
            items = 1 if target.kind == "cpu" else target.group_size
            launches.kernel(cholesky_block, a.shape[0], items, {"a": a}, exchanges=False, block=_BLOCK, dtype=a.dtype)
        return
    half = -(-n // (2 * _BLOCK)) * _BLOCK
    first, second = (0, half), (half, n)
    below = part(a, second, first)
    _factor(launches, part(a, first, first))
    # Of below @ corner.H = what is there, the transposes have the conjugates of the corner in front.
    solve_triangular(launches, conjugated(launches, part(a, first, first)), transposed(below), lower=True)
    subtract_product(launches, part(a, second, second), below, adjoint(launches, below))
    _factor(launches, part(a, second, second))


def cholesky_launches(call: Call, allocate: Callable[[int], Storage], lowering: Lowering) -> list[Launch]:
    """The launches of `Cholesky`."""
    launches = Launches(allocate, lowering)
    a, factor = batched(call.operands[0]), batched(call.result)
    if factor.storage is not a.storage:
        launches.copy(a, factor)
    _factor(launches, factor)
    clear_above(launches, factor)
    return launches.made
