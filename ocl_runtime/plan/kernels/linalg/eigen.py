"""Eigenvalues and eigenvectors of general matrices: balanced, made upper Hessenberg, then triangular by QR iterations,
and by back substitution.

A group has a small matrix in local memory from the first step to the last iteration. Iterations of larger ones are cut
into launches of bounded work, whose state is in a buffer: once a matrix is triangular, the launches behind it return at
once. So nothing waits for the host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ocl_ir.graph.build import Buffer, Storage, buffer
from ocl_ir.language.builtins.registry import BUILTINS
from ocl_ir.layout import Layout
from ocl_ir.types import C64, C128, I32, DType
from ocl_runtime.plan.fusion.reduction_order import power_of_two
from ocl_runtime.plan.kernels.custom_call import Call
from ocl_runtime.plan.kernels.library_kernel import Launches
from ocl_runtime.plan.kernels.linalg.balance import ROUNDS, balance, balance_once, begin_scales, normalise
from ocl_runtime.plan.kernels.linalg.eigenvectors import normalise_columns, store_values, substitute
from ocl_runtime.plan.kernels.linalg.groups import any_of, max_of, wait
from ocl_runtime.plan.kernels.linalg.hessenberg import reduce_large, reduce_small
from ocl_runtime.plan.kernels.linalg.matrices import batched, part, store_identity, transposed
from ocl_runtime.plan.kernels.linalg.schur import iterate
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.launch import Launch

group_id, local_array, local_id, local_size = (
    BUILTINS[name] for name in ("group_id", "local_array", "local_id", "local_size")
)

_SMALL = 32
"""Rows of a matrix that a group has in local memory."""
_LOCAL_BYTES = 24 * 1024
_STEP = 8
"""Rows by which kernels of small matrices differ."""
_SMALL_ITEMS = 32
_ITEMS = 256
_PER_EIGENVALUE = 30
"""Iterations at most, as LAPACK has them; most take 2 or 3."""
_REFLECTORS = 1 << 14
"""Of a launch of iterations, at most: tens of milliseconds."""
_SUBSTITUTED = 1 << 18
"""Products of elements of a work-item in a launch, at most."""


def triangulate_small(
    w: Any, scales: Any, powers: Any, state: Any, iterations: Any,
    rows: int, columns: int, eps: float, tiny: float, limit: float, real: bool, dtype: Any, component: Any,
) -> None:  # fmt: skip
    """Makes a small matrix triangular by a group that has it in local memory."""
    n = w.shape[1]
    width = w.shape[2]
    batch = group_id(0)
    item = local_id(0)
    items = local_size(0)
    own = local_array((1, rows, columns), dtype)
    scale = local_array((1, rows), component)
    vector = local_array((1, rows), dtype)
    for place in range(item, n * width, items):
        own[0, place // width, place % width] = w[batch, place // width, place % width]
    wait()
    balance(own, scale, 0, n, limit)
    power, finite = normalise(own, 0, n, tiny)
    end = n
    if finite:
        reduce_small(own, vector, 0, n, width, tiny)
        end, _ = iterate(own, 0, n, width, n - 1, 0, iterations, eps, tiny, real)
    for place in range(item, n * width, items):
        w[batch, place // width, place % width] = own[0, place // width, place % width]
    for i in range(item, n, items):
        scales[batch, i] = scale[0, i]
    if item == 0:
        powers[batch, 0] = power
        state[batch, 0] = end


def balance_large(w: Any, scales: Any, state: Any, turn: Any, limit: float) -> None:
    """Balances matrices by a group for each, if the launch before did not find them balanced."""
    n = w.shape[1]
    batch = group_id(0)
    if turn == 0:
        begin_scales(scales, batch, n)
    unbalanced = turn == 0
    if turn > 0:
        unbalanced = state[batch, 0] > 0
    if any_of(unbalanced):
        changed = balance_once(w, scales, batch, n, limit)
        if local_id(0) == 0:
            state[batch, 0] = 1 if changed else 0


def begin_large(w: Any, powers: Any, state: Any, tiny: float) -> None:
    """Gives matrices magnitudes near 1 by a group for each, and begins the state of their iterations."""
    n = w.shape[1]
    batch = group_id(0)
    power, finite = normalise(w, batch, n, tiny)
    if local_id(0) == 0:
        powers[batch, 0] = power
        state[batch, 0] = n - 1 if finite else n
        state[batch, 1] = 0


def iterate_large(w: Any, state: Any, iterations: Any, eps: float, tiny: float, real: bool) -> None:
    """Some more iterations of matrices that are not triangular yet, by a group for each."""
    n = w.shape[1]
    batch = group_id(0)
    end = int(max_of(state[batch, 0]))
    since = int(max_of(state[batch, 1]))
    if 0 <= end < n:
        end, since = iterate(w, batch, n, w.shape[2], end, since, iterations, eps, tiny, real)
        if local_id(0) == 0:
            state[batch, 0] = end
            state[batch, 1] = since


def eigen_launches(call: Call, allocate: Callable[[int], Storage], lowering: Lowering) -> list[Launch]:
    """The launches of `Eigen`."""
    launches = Launches(allocate, lowering)
    source, result = batched(call.operands[0]), batched(call.result)
    batch, n, _ = source.shape
    dtype, vectors = source.dtype, call.algorithm.vectors
    w = launches.scratch(dtype, (batch, n, 2 * n if vectors else n))
    launches.copy(source, part(w, (0, n), (0, n)))
    if vectors:
        store_identity(launches, part(w, (0, n), (n, 2 * n)))
    real = dtype.component
    scales, powers = launches.scratch(real, (batch, n)), launches.scratch(real, (batch, 1))
    state, values = launches.scratch(I32, (batch, 2)), launches.scratch(result.dtype, (batch, n))
    triangulate(launches, w, scales, powers, state)
    items = _items(launches, n)
    is_real = not dtype.is_complex
    arrays = {"w": w, "state": state, "powers": powers, "values": values, "result": result}
    launches.kernel(store_values, batch, items, arrays, exchanges=False, real=is_real)
    if vectors:
        _store_vectors(launches, w, scales, values, result)
    return launches.made


def triangulate(launches: Launches, w: Buffer, scales: Buffer, powers: Buffer, state: Buffer) -> None:
    """Makes matrices triangular."""
    batch, n, width = w.shape
    real = not w.dtype.is_complex
    eps, tiny, limit = _limits(w.dtype)
    iterations = _PER_EIGENVALUE * max(10, n) + n
    rows = -(-n // _STEP) * _STEP
    columns = rows * width // n + 1
    if n <= _SMALL and rows * columns * w.dtype.size <= _LOCAL_BYTES:
        launches.kernel(
            triangulate_small,
            batch,
            1 if launches.target.kind == "cpu" else min(_SMALL_ITEMS, launches.target.group_size),
            {"w": w, "scales": scales, "powers": powers, "state": state},
            sizes={"iterations": iterations},
            exchanges=False,
            rows=rows,
            columns=columns,
            eps=eps,
            tiny=tiny,
            limit=limit,
            real=real,
            dtype=w.dtype,
            component=scales.dtype,
        )
        return
    items = _items(launches, width)
    for turn in range(ROUNDS):
        arrays = {"w": w, "scales": scales, "state": state}
        launches.kernel(balance_large, batch, items, arrays, sizes={"turn": turn}, limit=limit)
    launches.kernel(begin_large, batch, items, {"w": w, "powers": powers, "state": state}, tiny=tiny)
    reduce_large(launches, w, tiny)
    each = max(1, _REFLECTORS // n)
    for _ in range(-(-iterations // each)):
        launches.kernel(
            iterate_large,
            batch,
            items,
            {"w": w, "state": state},
            sizes={"iterations": each},
            eps=eps,
            tiny=tiny,
            real=real,
        )


def _store_vectors(launches: Launches, w: Buffer, scales: Buffer, values: Buffer, result: Buffer) -> None:
    batch, n, _ = w.shape
    real, eps = not w.dtype.is_complex, _limits(w.dtype)[0]
    x = launches.scratch(result.dtype, (batch, n, n))
    # A work-item goes along its own vector: on CPUs that is in one line, on GPUs beside those of its neighbours.
    columns = transposed(x) if launches.target.kind == "cpu" else x
    items = _items(launches, n)
    tiles = -(-n // items)
    each = max(1, _SUBSTITUTED // n)
    for last in range(n, 0, -each):
        launches.kernel(
            substitute,
            batch * tiles,
            items,
            {"w": w, "values": values, "x": columns},
            sizes={"first": max(0, last - each), "last": last, "tiles": tiles},
            exchanges=False,
            eps=eps,
            real=real,
        )
    if columns is not x:
        x = launches.dense(columns)
    left = transposed(part(w, (0, n), (n, 2 * n)))
    products = _as_complex(launches.product(left, _as_real(x))) if real else launches.product(left, x)
    arrays = {"w": w, "products": products, "scales": scales, "values": values, "result": result}
    launches.kernel(normalise_columns, batch * tiles, items, arrays, sizes={"tiles": tiles}, exchanges=False, real=real)


def _as_real(x: Buffer) -> Buffer:
    """Complex numbers in row-major order as twice as many columns of their parts."""
    *rows, columns = x.shape
    return buffer(x.storage, x.dtype.component, Layout.contiguous((*rows, 2 * columns)))


def _as_complex(x: Buffer) -> Buffer:
    """The contrary."""
    *rows, columns = x.shape
    dtype = next(dtype for dtype in (C64, C128) if dtype.component is x.dtype)
    return buffer(x.storage, dtype, Layout.contiguous((*rows, columns // 2)))


def _items(launches: Launches, n: int) -> int:
    return 1 if launches.target.kind == "cpu" else power_of_two(n, min(_ITEMS, launches.target.group_size))


def _limits(dtype: DType) -> tuple[float, float, float]:
    """The distance of 1 to the next number, the least number with all digits, and the greatest scale of a row: of which
    the product with a number near 1 has a square."""
    limits = np.finfo(dtype.numpy)
    return float(limits.eps), float(limits.tiny), float(2.0 ** (limits.maxexp // 2 - 4))
