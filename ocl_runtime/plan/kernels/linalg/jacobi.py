"""Rows made orthogonal by one-sided Jacobi rotations (Hestenes, Inversion of matrices by biorthogonalization and
related results, 1958): of pairs that have no row in common, many at a time (Brent and Luk, 1985).

Small matrices are each rotated by a group in local memory until no pair is rotated any more. Of larger ones a group has
two blocks of rows, and a launch goes through pairs of blocks that have none in common. How many sweeps there are the
device finds out: once one has rotated nothing, the launches behind it return at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ocl_ir.graph.build import Buffer, Storage
from ocl_ir.language.builtins.registry import BUILTINS
from ocl_ir.types import I32, DType
from ocl_runtime.plan.kernels.custom_call import Call
from ocl_runtime.plan.kernels.library_kernel import Launches
from ocl_runtime.plan.kernels.linalg.groups import any_of, wait
from ocl_runtime.plan.kernels.linalg.matrices import batched, fill, part
from ocl_runtime.plan.kernels.linalg.scalars import phase, scaled, squared_magnitude
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.launch import Launch

atomic_max, conj, copysign, group_id, local_array, local_id, local_size, sqrt, unrolled, vload, vstore = (
    BUILTINS[name]
    for name in (
        "atomic_max", "conj", "copysign", "group_id", "local_array", "local_id", "local_size", "sqrt",
        "unrolled", "vload", "vstore",
    )
)  # fmt: skip

_SMALL = 32
"""Rows of a matrix that a group rotates in local memory."""
_LOCAL_BYTES = 24 * 1024
_BLOCK = 8
"""Rows of a block of a larger one."""
_SWEEPS = 20
"""At most; matrices of rank 1000 take 6 to 10."""
_TEAM = 32
"""Work-items of a GPU that rotate two rows of it."""
_LANES = 8
"""Of the vectors that a CPU computes with."""


def rotation(alpha: Any, beta: Any, gamma: Any, tolerance: Any) -> Any:
    """The tangent that makes two rows orthogonal, from their squares and their product; 0 if they are. That of complex
    rows has the phase of the product."""
    tangent = gamma * 0
    if abs(gamma) > tolerance * (sqrt(alpha) * sqrt(beta)):
        zeta = (beta - alpha) / (2 * abs(gamma))
        tangent = scaled(phase(gamma), copysign(1 / (abs(zeta) + sqrt(1 + zeta * zeta)), zeta))
    return tangent


def pair_of(turn: Any, number: Any, count: Any) -> Any:
    """The pair with a number in a turn of a tournament of an even count."""
    last = count - 1
    first = (turn + number) % last
    second = (turn + last - number) % last
    return (first, last if number == 0 else second)


def rotate_small(
    w: Any, tolerance: Any, length: Any, rows: int, width: int, lanes: int, sweeps: int, dtype: Any
) -> None:
    """Makes the rows of a small matrix orthogonal, by a group that has it in local memory."""
    n = w.shape[1]
    m = w.shape[2]
    batch = group_id(0)
    item = local_id(0)
    items = local_size(0)
    slots = items // lanes
    slot = item // lanes
    lane = item % lanes
    own = local_array((rows, width + 1), dtype)
    sums = local_array((3, items), dtype) if lanes > 1 else None
    for place in range(item, rows * m, items):
        row = place // m
        own[row, place % m] = w[batch, row, place % m] if row < n else np.float32(0)
    wait()
    for _ in range(sweeps):
        rotated = False
        for turn in range(rows - 1):
            for step in range(rows // 2 // slots):
                p, q = pair_of(turn, step * slots + slot, rows)
                alpha, beta, gamma = dots(own, p, q, lane, lanes, length)
                if lanes > 1:
                    alpha, beta, gamma = joined(sums, alpha, beta, gamma, item, slot, lanes)
                tangent = rotation(alpha, beta, gamma, tolerance)
                if tangent != 0:
                    rotated = True
                    cosine = 1 / sqrt(1 + squared_magnitude(tangent))
                    sine = scaled(tangent, cosine)
                    for e in range(lane, m, lanes):
                        x = own[p, e]
                        y = own[q, e]
                        own[p, e] = scaled(x, cosine) - sine * y
                        own[q, e] = conj(sine) * x + scaled(y, cosine)
            wait()
        if not any_of(rotated):
            break
    for place in range(item, n * m, items):
        row = place // m
        w[batch, row, place % m] = own[row, place % m]


def rotate_small_alone(
    w: Any, tolerance: Any, length: Any, rows: int, width: int, padded: int, wide: int, sweeps: int, dtype: Any
) -> None:
    """As `rotate_small`, by one work-item in vectors: what rows are made orthogonal by is `padded` to whole ones."""
    n = w.shape[1]
    m = w.shape[2]
    batch = group_id(0)
    own = local_array((1, rows, width), dtype)
    for row in range(rows):
        for e in range(width):
            own[0, row, e] = 0
    for row in range(n):
        for e in range(m):
            own[0, row, e if e < length else e - length + padded] = w[batch, row, e]
    for _ in range(sweeps):
        rotated = False
        for turn in range(rows - 1):
            for number in range(rows // 2):
                p, q = pair_of(turn, number, rows)
                alpha, beta, gamma = wide_dots(own, 0, p, q, 0, 1, wide, padded)
                tangent = rotation(alpha, beta, gamma, tolerance)
                if tangent != 0:
                    rotated = True
                    rotate_wide(own, 0, p, q, tangent, 0, 1, wide)
        if not rotated:
            break
    for row in range(n):
        for e in range(m):
            w[batch, row, e] = own[0, row, e if e < length else e - length + padded]


def dots(own: Any, p: Any, q: Any, lane: Any, lanes: int, length: Any) -> Any:
    """The part that a work-item has of the squares and the product of two rows."""
    gamma = own[p, 0] * 0
    alpha = gamma.real
    beta = alpha
    for e in range(lane, length, lanes):
        x = own[p, e]
        y = own[q, e]
        alpha = alpha + squared_magnitude(x)
        beta = beta + squared_magnitude(y)
        gamma = gamma + x * conj(y)
    return (alpha, beta, gamma)


def joined(sums: Any, alpha: Any, beta: Any, gamma: Any, item: Any, slot: Any, lanes: int) -> Any:
    """The sums of what the work-items of a pair have."""
    sums[0, item] = alpha
    sums[1, item] = beta
    sums[2, item] = gamma
    wait()
    alpha = sums[0, slot * lanes].real
    beta = sums[1, slot * lanes].real
    gamma = sums[2, slot * lanes]
    for other in range(1, lanes):
        alpha = alpha + sums[0, slot * lanes + other].real
        beta = beta + sums[1, slot * lanes + other].real
        gamma = gamma + sums[2, slot * lanes + other]
    wait()
    return (alpha, beta, gamma)


def rotate_blocks(
    w: Any, rotated: Any, tolerance: Any, sweep: Any, turn: Any, length: Any,
    block: int, lanes: int, wide: int, within: bool, dtype: Any,
) -> None:  # fmt: skip
    """Makes rows of two blocks orthogonal to each other, or those `within` each block."""
    blocks = w.shape[1] // block
    pairs = blocks if within else blocks // 2
    batch = group_id(0) // pairs
    number = group_id(0) % pairs
    item = local_id(0)
    items = local_size(0)
    count = block // 2 if within else block
    slots = items // lanes
    slot = item // lanes
    lane = item % lanes
    sums = local_array((3, items), dtype) if lanes > 1 else None
    first, second = (number, number) if within else pair_of(turn, number, blocks)
    any_rotated = False
    active = sweep == 0
    if sweep > 0:
        active = rotated[batch, sweep - 1] > 0
    if any_of(active):
        for shift in range(block - 1 if within else block):
            for step in range(count // slots):
                at = step * slots + slot
                p = first * block + at
                q = second * block + (at + shift) % block
                if within:
                    i, j = pair_of(shift, at, block)
                    p = first * block + i
                    q = first * block + j
                alpha, beta, gamma = wide_dots(w, batch, p, q, lane, lanes, wide, length)
                if lanes > 1:
                    alpha, beta, gamma = joined(sums, alpha, beta, gamma, item, slot, lanes)
                tangent = rotation(alpha, beta, gamma, tolerance)
                if tangent != 0:
                    any_rotated = True
                    rotate_wide(w, batch, p, q, tangent, lane, lanes, wide)
            wait()
    if any_of(any_rotated) and item == 0:
        atomic_max(rotated, (batch, sweep), 1)


def wide_dots(w: Any, batch: Any, p: Any, q: Any, lane: Any, lanes: int, wide: int, length: Any) -> Any:
    """The part that a work-item has of the squares and the product of two rows, in vectors if they are `wide`."""
    if wide == 1:
        gamma = w[batch, p, 0] * 0
        alpha = gamma.real
        beta = alpha
        for e in range(lane, length, lanes):
            x = w[batch, p, e]
            y = w[batch, q, e]
            alpha = alpha + squared_magnitude(x)
            beta = beta + squared_magnitude(y)
            gamma = gamma + x * conj(y)
        return (alpha, beta, gamma)
    x = vload(w, (batch, p, 0), wide)
    y = vload(w, (batch, q, 0), wide)
    alpha = squared_magnitude(x)
    beta = squared_magnitude(y)
    gamma = x * conj(y)
    for e in range(wide, length, wide):
        x = vload(w, (batch, p, e), wide)
        y = vload(w, (batch, q, e), wide)
        alpha = alpha + squared_magnitude(x)
        beta = beta + squared_magnitude(y)
        gamma = gamma + x * conj(y)
    return (total(alpha, wide), total(beta, wide), total(gamma, wide))


def total(vector: Any, wide: int) -> Any:
    """The sum of the lanes of a vector."""
    result = vector[0]
    for number in unrolled(range(1, wide)):
        result = result + vector[number]
    return result


def rotate_wide(w: Any, batch: Any, p: Any, q: Any, tangent: Any, lane: Any, lanes: int, wide: int) -> None:
    """Rotates two rows, in vectors if they are `wide`."""
    cosine = 1 / sqrt(1 + squared_magnitude(tangent))
    sine = scaled(tangent, cosine)
    if wide == 1:
        for e in range(lane, w.shape[2], lanes):
            x = w[batch, p, e]
            y = w[batch, q, e]
            w[batch, p, e] = scaled(x, cosine) - sine * y
            w[batch, q, e] = conj(sine) * x + scaled(y, cosine)
    else:
        for e in range(0, w.shape[2], wide):
            x = vload(w, (batch, p, e), wide)
            y = vload(w, (batch, q, e), wide)
            vstore(w, (batch, p, e), scaled(x, cosine) - sine * y)
            vstore(w, (batch, q, e), conj(sine) * x + scaled(y, cosine))


def _tolerance(dtype: DType, length: int) -> tuple[DType, float]:
    """The cosine of two rows that count as orthogonal (Drmac and Veselic, LAPACK's gesvj): what rounding leaves."""
    return dtype.component, math.sqrt(length) * float(np.finfo(dtype.numpy).eps)


def orthogonal_rows_launches(call: Call, allocate: Callable[[int], Storage], lowering: Lowering) -> list[Launch]:
    """The launches of `OrthogonalRows`."""
    launches = Launches(allocate, lowering)
    source, w = batched(call.operands[0]), batched(call.result)
    _, n, m = w.shape
    rows = max(2, 1 << (n - 1).bit_length())
    if n <= _SMALL and rows * (m + 1) * w.dtype.size <= _LOCAL_BYTES:
        if w.storage is not source.storage:
            launches.copy(source, w)
        _rotate_small(launches, w, rows)
    else:
        _rotate_large(launches, source, w)
    return launches.made


def _rotate_small(launches: Launches, w: Buffer, rows: int) -> None:
    batch, n, m = w.shape
    sizes, numbers = {"length": n}, {"tolerance": _tolerance(w.dtype, n)}
    if launches.target.kind == "cpu":
        padded = -(-n // _LANES) * _LANES
        launches.kernel(
            rotate_small_alone,
            batch,
            1,
            {"w": w},
            sizes=sizes,
            numbers=numbers,
            rows=rows,
            width=padded + -(-(m - n) // _LANES) * _LANES,
            padded=padded,
            wide=_LANES,
            sweeps=_SWEEPS,
            dtype=w.dtype,
        )
        return
    most = launches.target.group_size
    slots = min(rows // 2, most)
    lanes = min(4, most // slots)
    launches.kernel(
        rotate_small,
        batch,
        slots * lanes,
        {"w": w},
        sizes=sizes,
        numbers=numbers,
        exchanges=False,
        rows=rows,
        width=-(-m // rows) * rows,
        lanes=lanes,
        sweeps=_SWEEPS,
        dtype=w.dtype,
    )


def _rotate_large(launches: Launches, source: Buffer, w: Buffer) -> None:
    """Rotates a copy whose rows are whole vectors, and whole blocks of rows."""
    batch, n, m = w.shape
    is_cpu = launches.target.kind == "cpu"
    wide = _LANES if is_cpu else 1
    most = 1 if is_cpu else launches.target.group_size
    length = -(-n // wide) * wide
    rows = -(-n // (2 * _BLOCK)) * 2 * _BLOCK
    padded = launches.scratch(w.dtype, (batch, rows, length + -(-(m - n) // wide) * wide))
    fill(launches, padded, 0.0)
    parts = [(part(padded, (0, n), (0, n)), (0, n))]
    if m > n:
        parts.append((part(padded, (0, n), (length, length + m - n)), (n, m)))
    for copied, columns in parts:
        launches.copy(part(source, (0, n), columns), copied)
    rotated = launches.scratch(I32, (batch, _SWEEPS))
    fill(launches, rotated, 0)
    blocks = rows // _BLOCK
    for sweep in range(_SWEEPS):
        for turn in range(blocks):
            within = turn == blocks - 1
            slots = min(_BLOCK // 2 if within else _BLOCK, most)
            lanes = min(_TEAM, most // slots)
            launches.kernel(
                rotate_blocks,
                batch * (blocks if within else blocks // 2),
                slots * lanes,
                {"w": padded, "rotated": rotated},
                sizes={"sweep": sweep, "turn": turn, "length": length},
                numbers={"tolerance": _tolerance(w.dtype, n)},
                block=_BLOCK,
                lanes=lanes,
                wide=wide,
                within=within,
                dtype=w.dtype,
            )
    for copied, columns in parts:
        launches.copy(copied, part(w, (0, n), columns))
