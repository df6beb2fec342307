"""Triangular systems: blocks of the diagonal by substitution, a work-item for each right side, the rest by products.

The recursion halves the matrix, so that most of the work is in products of large matrices (Gustavson, Recursion leads
to automatic variable blocking for dense linear-algebra algorithms, 1997).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ocl_ir.graph.build import Buffer, Storage
from ocl_ir.language.builtins.registry import BUILTINS
from ocl_runtime.plan.kernels.custom_call import Call
from ocl_runtime.plan.kernels.library_kernel import Launches
from ocl_runtime.plan.kernels.linalg.matrices import batched, part, subtract_product, transposed
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.launch import Launch

global_id = BUILTINS["global_id"]

_BLOCK = 32
"""Rows that are solved by substitution."""


def substitute_forwards(a: Any, b: Any, unit: bool) -> None:
    """Solves a lower triangular system, a column of the right side each."""
    n = a.shape[1]
    columns = b.shape[2]
    item = global_id(0)
    if item < b.shape[0] * columns:
        batch = item // columns
        column = item % columns
        for i in range(n):
            value = b[batch, i, column]
            for j in range(i):
                value = value - a[batch, i, j] * b[batch, j, column]
            b[batch, i, column] = value if unit else value / a[batch, i, i]


def substitute_backwards(a: Any, b: Any, unit: bool) -> None:
    """Solves an upper triangular system, a column of the right side each."""
    n = a.shape[1]
    columns = b.shape[2]
    item = global_id(0)
    if item < b.shape[0] * columns:
        batch = item // columns
        column = item % columns
        for back in range(n):
            i = n - 1 - back
            value = b[batch, i, column]
            for j in range(i + 1, n):
                value = value - a[batch, i, j] * b[batch, j, column]
            b[batch, i, column] = value if unit else value / a[batch, i, i]


def solve_triangular(launches: Launches, a: Buffer, b: Buffer, *, lower: bool, unit: bool = False) -> None:
    """Solves a @ x = b for triangular matrices, in the memory of b; the other triangle is never read."""
    n = a.shape[1]
    if n <= _BLOCK:
        items = min(64, launches.target.group_size)
        groups = -(-b.shape[0] * b.shape[2] // items)
        substitute = substitute_forwards if lower else substitute_backwards
        launches.kernel(substitute, groups, items, {"a": a, "b": b}, unit=unit)
        return
    half = -(-n // (2 * _BLOCK)) * _BLOCK
    first, second, columns = (0, half), (half, n), (0, b.shape[2])
    if not lower:
        first, second = second, first
    solve_triangular(launches, part(a, first, first), part(b, first, columns), lower=lower, unit=unit)
    subtract_product(launches, part(b, second, columns), part(a, second, first), part(b, first, columns))
    solve_triangular(launches, part(a, second, second), part(b, second, columns), lower=lower, unit=unit)


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
