"""Matrices made upper Hessenberg by Householder reflectors I - factor * v @ v^H, whose factor is real (Golub and Van
Loan, Matrix Computations, 7.4).

W has a matrix A, and beside it whatever rows shall be multiplied by the same reflectors from the left: with the
identity there, A = Z @ H @ Z^H has Z^H there in the end. A group has a small matrix; columns of a larger one are many
groups' work, in three launches for each reflector.
"""

from __future__ import annotations

from typing import Any

from ocl_ir.graph.build import Buffer
from ocl_ir.language.builtins.registry import BUILTINS
from ocl_runtime.plan.fusion.reduction_order import power_of_two
from ocl_runtime.plan.kernels.library_kernel import Launches
from ocl_runtime.plan.kernels.linalg.balance import length
from ocl_runtime.plan.kernels.linalg.groups import sum_of, wait
from ocl_runtime.plan.kernels.linalg.scalars import divided

conj, group_id, hypot, local_array, local_id, local_size, private_array = (
    BUILTINS[name]
    for name in ("conj", "group_id", "hypot", "local_array", "local_id", "local_size", "private_array")
)  # fmt: skip

_ITEMS = 256
_TILE = 32
"""Columns that a group of a GPU reflects."""
_CPU_TILE = 64


def reflector(head: Any, below: Any, tiny: float) -> Any:
    """That of a vector with a first element and the length of the others, which it makes (first, 0, ...): the factor,
    what the others are divided by to be those of v, which begins with 1, and the new first element."""
    size = abs(head)
    factor = size * 0
    divisor = head * 0 + 1
    first = head
    if below > tiny:
        norm = hypot(size, below)
        phase = divided(head, size) if size > 0 else divisor
        factor = (size + norm) / norm
        divisor = phase * (size + norm)
        first = -phase * norm
    return (factor, divisor, first)


def make_reflector(w: Any, v: Any, b: Any, n: Any, k: Any, tiny: float) -> Any:
    """Makes the zeros of a column of a matrix by a group: `v` gets the vector, and the factor is returned."""
    item = local_id(0)
    items = local_size(0)
    below = length(lambda i: w[b, i + k + 2, k], n - k - 2)
    factor, divisor, first = reflector(w[b, k + 1, k], below, tiny)
    wait()
    for i in range(item, n, items):
        if i <= k:
            v[b, i] = 0
        elif i == k + 1:
            v[b, i] = 1
            w[b, i, k] = first
        else:
            v[b, i] = w[b, i, k] / divisor if factor > 0 else w[b, i, k] * 0
            w[b, i, k] = 0
    wait()
    return factor


def reduce_small(w: Any, v: Any, b: Any, n: Any, width: Any, tiny: float) -> None:
    """Makes a matrix upper Hessenberg by a group, with `width` columns of W."""
    item = local_id(0)
    items = local_size(0)
    for k in range(n - 2):
        factor = make_reflector(w, v, b, n, k, tiny)
        for j in range(k + 1 + item, width, items):
            total = w[b, 0, 0] * 0
            for i in range(k + 1, n):
                total = total + conj(v[b, i]) * w[b, i, j]
            total = total * factor
            for i in range(k + 1, n):
                w[b, i, j] = w[b, i, j] - v[b, i] * total
        wait()
        for i in range(item, n, items):
            total = w[b, 0, 0] * 0
            for j in range(k + 1, n):
                total = total + w[b, i, j] * v[b, j]
            total = total * factor
            for j in range(k + 1, n):
                w[b, i, j] = w[b, i, j] - total * conj(v[b, j])
        wait()


def reflect_column(w: Any, v: Any, factors: Any, k: Any, tiny: float) -> None:
    """Makes the zeros of a column, by a group for each matrix."""
    b = group_id(0)
    factor = make_reflector(w, v, b, v.shape[1], k, tiny)
    if local_id(0) == 0:
        factors[b, 0] = factor


def row_products(w: Any, v: Any, products: Any, k: Any, rows: int, lanes: int, dtype: Any) -> None:
    """The products of matrices with vectors that are 0 up to `k`, by `lanes` work-items for each row of a group."""
    n = v.shape[1]
    tiles = (n + rows - 1) // rows
    b = group_id(0) // tiles
    row = local_id(0) // lanes
    lane = local_id(0) % lanes
    i = min(group_id(0) % tiles * rows + row, n - 1)
    total = w[b, i, k] * 0
    for j in range(k + 1 + lane, n, lanes):
        total = total + w[b, i, j] * v[b, j]
    if lanes > 1:
        sums = local_array((rows, lanes), dtype)
        sums[row, lane] = total
        wait()
        for other in range(1, lanes):
            total = total + sums[row, other] if lane == 0 else total
    if lane == 0 and group_id(0) % tiles * rows + row < n:
        products[b, i] = total


def reflect_both(w: Any, v: Any, factors: Any, products: Any, k: Any, columns: int, lanes: int, dtype: Any) -> None:
    """Multiplies some columns of W by a reflector from the left, and by it from the right, if they are of A: `products`
    are those of A with v."""
    n = w.shape[1]
    width = w.shape[2]
    tiles = (width + columns - 1) // columns
    b = group_id(0) // tiles
    column = local_id(0) % columns
    lane = local_id(0) // columns
    j = group_id(0) % tiles * columns + column
    factor = factors[b, 0]
    projected = w[b, 0, 0] * 0
    for i in range(k + 1 + local_id(0), n, local_size(0)):
        projected = projected + conj(v[b, i]) * products[b, i]
    if dtype.is_complex:
        projected = complex(sum_of(projected.real), sum_of(projected.imag)) * factor
    else:
        projected = sum_of(projected) * factor
    sums = local_array((lanes, columns), dtype)
    total = w[b, 0, 0] * 0
    if k < j < width:
        for i in range(k + 1 + lane, n, lanes):
            total = total + conj(v[b, i]) * w[b, i, j]
    sums[lane, column] = total
    wait()
    if k < j < width:
        total = sums[0, column]
        for other in range(1, lanes):
            total = total + sums[other, column]
        total = total * factor
        if j < n:
            right = conj(v[b, j]) * factor
            for i in range(lane, n, lanes):
                from_right = (products[b, i] - v[b, i] * projected) * right
                w[b, i, j] = w[b, i, j] - v[b, i] * total - from_right
        else:
            for i in range(k + 1 + lane, n, lanes):
                w[b, i, j] = w[b, i, j] - v[b, i] * total


def reflect_both_alone(w: Any, v: Any, factors: Any, products: Any, k: Any, columns: int, dtype: Any) -> None:
    """As `reflect_both`, by one work-item, which goes along rows."""
    n = w.shape[1]
    width = w.shape[2]
    tiles = (width + columns - 1) // columns
    b = group_id(0) // tiles
    first = group_id(0) % tiles * columns
    begin = max(first, k + 1)
    end = min(first + columns, width)
    factor = factors[b, 0]
    totals = private_array(columns, dtype)
    if begin < end:
        projected = w[b, 0, 0] * 0
        for i in range(k + 1, n):
            projected = projected + conj(v[b, i]) * products[b, i]
        projected = projected * factor
        for c in range(columns):
            totals[c] = 0
        for i in range(k + 1, n):
            one = conj(v[b, i]) * factor
            for j in range(begin, end):
                totals[j - first] = totals[j - first] + one * w[b, i, j]
        for i in range(k + 1, n):
            one = v[b, i]
            for j in range(begin, end):
                w[b, i, j] = w[b, i, j] - one * totals[j - first]
        for i in range(n):
            one = (products[b, i] - v[b, i] * projected) * factor
            for j in range(begin, min(end, n)):
                w[b, i, j] = w[b, i, j] - one * conj(v[b, j])


def reduce_large(launches: Launches, w: Buffer, tiny: float) -> None:
    """Makes large matrices upper Hessenberg."""
    batch, n, width = w.shape
    is_cpu = launches.target.kind == "cpu"
    most = 1 if is_cpu else min(_ITEMS, launches.target.group_size)
    v, products = (launches.scratch(w.dtype, (batch, n)) for _ in range(2))
    factors = launches.scratch(w.dtype.component, (batch, 1))
    columns = _CPU_TILE if is_cpu else min(_TILE, most)
    lanes = most // columns
    rows = max(1, most // _TILE)
    for k in range(n - 2):
        sizes, arrays = {"k": k}, {"w": w, "v": v}
        launches.kernel(
            reflect_column, batch, power_of_two(n, most), {**arrays, "factors": factors}, sizes=sizes, tiny=tiny
        )
        arrays["products"] = products
        groups = batch * -(-n // rows)
        launches.kernel(row_products, groups, most, arrays, sizes=sizes, rows=rows, lanes=most // rows, dtype=w.dtype)
        arrays["factors"] = factors
        groups = batch * -(-width // columns)
        if is_cpu:
            launches.kernel(reflect_both_alone, groups, 1, arrays, sizes=sizes, columns=columns, dtype=w.dtype)
        else:
            launches.kernel(
                reflect_both, groups, most, arrays, sizes=sizes, columns=columns, lanes=lanes, dtype=w.dtype
            )
