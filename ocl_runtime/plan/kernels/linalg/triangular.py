"""Triangular systems: blocks of the diagonal by substitution, a work-item for each right side, the rest by products.

The recursion halves the matrix, so that most of the work is in products of large matrices (Gustavson, Recursion leads
to automatic variable blocking for dense linear-algebra algorithms, 1997).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ocl_ir.graph.build import Buffer, Storage
from ocl_ir.language.builtins.registry import BUILTINS
from ocl_runtime.plan.fusion.reduction_order import power_of_two
from ocl_runtime.plan.kernels.custom_call import Call
from ocl_runtime.plan.kernels.library_kernel import Launches
from ocl_runtime.plan.kernels.linalg.matrices import batched, part, subtract_product, transposed
from ocl_runtime.plan.kernels.linalg.scalars import quotient
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.launch import Launch

barrier, fma, global_id, group_id, local_array, local_id, local_size, private_array, unrolled = (
    BUILTINS[name]
    for name in (
        "barrier", "fma", "global_id", "group_id", "local_array", "local_id", "local_size", "private_array",
        "unrolled",
    )
)  # fmt: skip

_BLOCK = 32
"""Rows that are solved by substitution."""


def substitute(a: Any, b: Any, lower: bool, unit: bool) -> None:
    """Solves a triangular system, a column of the right side each."""
    n = a.shape[1]
    columns = b.shape[2]
    item = global_id(0)
    if item < b.shape[0] * columns:
        batch = item // columns
        column = item % columns
        for turn in range(n):
            i = turn if lower else n - 1 - turn
            value = b[batch, i, column]
            for j in range(0 if lower else i + 1, i if lower else n):
                value = value - a[batch, i, j] * b[batch, j, column]
            b[batch, i, column] = value if unit else quotient(value, a[batch, i, i])


def substitute_held(a: Any, b: Any, block: int, lower: bool, unit: bool, dtype: Any) -> None:
    """Solves a small triangular system: the matrix is in local memory, a column of the right side in registers."""
    n = a.shape[1]
    columns = b.shape[2]
    item = local_id(0)
    items = local_size(0)
    groups = (columns + items - 1) // items
    batch = group_id(0) // groups
    column = group_id(0) % groups * items + item
    held = local_array((block, block), dtype)
    for place in range(item, block * block, items):
        i = place // block
        j = place % block
        if j < i < n:
            held[i, j] = a[batch, i, j] if lower else a[batch, n - 1 - i, n - 1 - j]
        elif i == j and i < n and not unit:
            held[i, j] = a[batch, i, i] if lower else a[batch, n - 1 - i, n - 1 - i]
        else:
            held[i, j] = 1 if i == j else 0
    barrier()
    if column < columns:
        own = private_array(block, dtype)
        for i in unrolled(range(block)):
            own[i] = 0
            if i < n:
                own[i] = b[batch, i if lower else n - 1 - i, column]
        for j in unrolled(range(block)):
            value = own[j] if unit else quotient(own[j], held[j, j])
            own[j] = value
            for i in unrolled(range(j + 1, block)):
                own[i] = fma(-held[i, j], value, own[i])
        for i in unrolled(range(block)):
            if i < n:
                b[batch, i if lower else n - 1 - i, column] = own[i]


def solve_triangular(launches: Launches, a: Buffer, b: Buffer, *, lower: bool, unit: bool = False) -> None:
    """Solves a @ x = b for triangular matrices, in the memory of b; the other triangle is never read."""
    n = a.shape[1]
    if n <= _BLOCK:
        _substitute(launches, a, b, lower=lower, unit=unit)
        return
    half = -(-n // (2 * _BLOCK)) * _BLOCK
    first, second, columns = (0, half), (half, n), (0, b.shape[2])
    if not lower:
        first, second = second, first
    solve_triangular(launches, part(a, first, first), part(b, first, columns), lower=lower, unit=unit)
    subtract_product(launches, part(b, second, columns), part(a, second, first), part(b, first, columns))
    solve_triangular(launches, part(a, second, second), part(b, second, columns), lower=lower, unit=unit)


def _substitute(launches: Launches, a: Buffer, b: Buffer, *, lower: bool, unit: bool) -> None:
    batch, n, columns = b.shape
    arrays, items = {"a": a, "b": b}, min(64, launches.target.group_size)
    if launches.target.kind == "cpu":
        launches.kernel(substitute, -(-batch * columns // items), items, arrays, lower=lower, unit=unit)
        return
    items = power_of_two(columns, items)
    groups, block = batch * -(-columns // items), max(8, power_of_two(n, _BLOCK))
    how = (substitute_held, groups, items, arrays)
    launches.kernel(*how, exchanges=False, block=block, lower=lower, unit=unit, dtype=a.dtype)


def triangular_solve_launches(call: Call, allocate: Callable[[int], Storage], lowering: Lowering) -> list[Launch]:
    """The launches of `TriangularSolve`."""
    launches = Launches(allocate, lowering)
    a, b = map(batched, call.operands)
    x = batched(call.result)
    if x.storage is not b.storage:
        launches.copy(b, x)
    algorithm = call.algorithm
    if algorithm.transposed:
        a = transposed(a)
    solve_triangular(launches, a, x, lower=algorithm.lower != algorithm.transposed, unit=algorithm.unit)
    return launches.made
