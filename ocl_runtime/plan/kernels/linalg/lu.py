"""LU factors with partial pivoting, and systems that are solved with them.

The recursion halves the columns (Toledo, Locality of reference in LU decomposition with partial pivoting, 1997) down to
panels, each of which a group factors: so most of the work is in products. Rows change places all at once for each part:
a kernel finds out where each comes from, since elements that move do not wait for each other then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ocl_ir.graph.build import Buffer, Storage, buffer
from ocl_ir.language.builtins.registry import BUILTINS
from ocl_ir.layout import Layout
from ocl_ir.types import I32
from ocl_runtime.plan.kernels.custom_call import Call
from ocl_runtime.plan.kernels.library_kernel import Launches
from ocl_runtime.plan.kernels.linalg.matrices import batched, part, subtract_product
from ocl_runtime.plan.kernels.linalg.triangular import solve_triangular
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.launch import Launch

barrier, global_id, group, group_id, local_array, local_id, local_size = (
    BUILTINS[name] for name in ("barrier", "global_id", "group", "group_id", "local_array", "local_id", "local_size")
)

_PANEL = 16
"""Columns that a group factors."""
_ITEMS = 256
"""Work-items that move elements."""


def greater(left: Any, right: Any) -> Any:
    """The greater of two magnitudes with its row; of equal ones, that with the lesser row."""
    first = left[0] > right[0] or (left[0] == right[0] and left[1] <= right[1])
    return (left[0] if first else right[0], left[1] if first else right[1])


def lu_panel(a: Any, pivots: Any, panel: int, dtype: Any) -> None:
    """Factors a few columns by a group, and notes for each the row that it changed places with."""
    m = a.shape[1]
    n = a.shape[2]
    batch = group_id(0)
    item = local_id(0)
    items = local_size(0)
    top = local_array(panel, dtype)
    for j in range(n):
        best = -1.0
        at = j
        for i in range(j + item, m, items):
            value = abs(a[batch, i, j])
            if value > best:
                best = value
                at = i
        best, at = group.reduce((best, at), greater)
        for c in range(item, n, items):
            upper = a[batch, j, c]
            lower = a[batch, at, c]
            a[batch, at, c] = upper
            a[batch, j, c] = lower
            top[c] = lower
        if item == 0:
            pivots[batch, j] = np.int32(at)
        barrier()
        pivot = top[j]
        for i in range(j + 1 + item, m, items):
            factor = a[batch, i, j] / pivot if pivot != 0 else a[batch, i, j]
            a[batch, i, j] = factor
            for c in range(j + 1, n):
                a[batch, i, c] = a[batch, i, c] - factor * top[c]
        barrier()


def sources_of_rows(pivots: Any, places: Any, sources: Any) -> None:
    """Finds out which rows move as rows change places with those that pivots name, one after the other, and where each
    comes from; -1 for a row that is listed twice."""
    count = pivots.shape[1]
    item = global_id(0)
    if item < pivots.shape[0] * 2 * count:
        batch = item // (2 * count)
        entry = item % (2 * count)
        place = entry
        listed = False
        if entry >= count:
            place = int(pivots[batch, entry - count])
            listed = place < count
            for earlier in range(entry - count):
                if pivots[batch, earlier] == place:
                    listed = True
        source = place
        for back in range(count):
            turn = count - 1 - back
            other = int(pivots[batch, turn])
            if source == turn:
                source = other
            elif source == other:
                source = turn
        places[batch, entry] = np.int32(-1) if listed else np.int32(place)
        sources[batch, entry] = np.int32(source)


def take_rows(a: Any, sources: Any, taken: Any) -> None:
    """Copies rows of some numbers."""
    rows = sources.shape[1]
    columns = a.shape[2]
    item = global_id(0)
    if item < a.shape[0] * rows * columns:
        column = item % columns
        row = item // columns % rows
        batch = item // columns // rows
        taken[batch, row, column] = a[batch, int(sources[batch, row]), column]


def put_rows(taken: Any, places: Any, a: Any) -> None:
    """Writes rows to places, but for those that have none."""
    rows = places.shape[1]
    columns = a.shape[2]
    item = global_id(0)
    if item < a.shape[0] * rows * columns:
        column = item % columns
        row = item // columns % rows
        batch = item // columns // rows
        place = int(places[batch, row])
        if place >= 0:
            a[batch, place, column] = taken[batch, row, column]


def raise_pivots(pivots: Any, by: Any) -> None:
    """Counts rows from an earlier one on."""
    item = global_id(0)
    if item < pivots.shape[0] * pivots.shape[1]:
        batch = item // pivots.shape[1]
        turn = item % pivots.shape[1]
        pivots[batch, turn] = pivots[batch, turn] + np.int32(by)


def write_pivots(pivots: Any, row: Any) -> None:
    """Writes pivots as numbers of a dtype."""
    item = global_id(0)
    if item < pivots.shape[0] * pivots.shape[1]:
        batch = item // pivots.shape[1]
        turn = item % pivots.shape[1]
        row[batch, 0, turn] = pivots[batch, turn]


def take_by_pivots(row: Any, b: Any, x: Any) -> None:
    """Copies rows as they are once they have changed places."""
    n = b.shape[1]
    columns = b.shape[2]
    item = global_id(0)
    if item < b.shape[0] * n * columns:
        column = item % columns
        place = item // columns % n
        batch = item // columns // n
        source = place
        for back in range(n):
            turn = n - 1 - back
            other = int(row[batch, 0, turn])
            if source == turn:
                source = other
            elif source == other:
                source = turn
        x[batch, place, column] = b[batch, source, column]


def _everywhere(launches: Launches, function: Callable[..., None], count: int, arrays: dict[str, Buffer]) -> None:
    """Launches a work-item for each of many elements."""
    items = min(_ITEMS, launches.target.group_size)
    launches.kernel(function, -(-count // items), items, arrays)


def _turns(pivots: Buffer, first: int, last: int) -> Buffer:
    """Some of the pivots of each matrix."""
    layout = pivots.layout
    shape, offset = (layout.shape[0], last - first), layout.offset + first
    return buffer(pivots.storage, pivots.dtype, Layout(shape, layout.strides, offset))


def _move_rows(launches: Launches, moved: tuple[Buffer, Buffer], a: Buffer) -> None:
    """Has rows of some columns change places."""
    places, sources = moved
    if a.shape[2]:
        rows = places.shape[1]
        taken = launches.scratch(a.dtype, (a.shape[0], rows, a.shape[2]))
        _everywhere(launches, take_rows, taken.size, {"a": a, "sources": sources, "taken": taken})
        _everywhere(launches, put_rows, taken.size, {"taken": taken, "places": places, "a": a})


def _moved(launches: Launches, pivots: Buffer) -> tuple[Buffer, Buffer]:
    batch, count = pivots.shape
    places, sources = (launches.scratch(I32, (batch, 2 * count)) for _ in range(2))
    arrays = {"pivots": pivots, "places": places, "sources": sources}
    _everywhere(launches, sources_of_rows, places.size, arrays)
    return places, sources


def factor(launches: Launches, a: Buffer, pivots: Buffer) -> None:
    """Factors matrices with no more columns than rows in their memory; `pivots` (batch, columns) in int32."""
    batch, m, n = a.shape
    if n <= _PANEL:
        items = 1 if launches.target.kind == "cpu" else min(_ITEMS, launches.target.group_size)
        launches.kernel(lu_panel, batch, items, {"a": a, "pivots": pivots}, panel=_PANEL, dtype=a.dtype)
        return
    half = -(-n // (2 * _PANEL)) * _PANEL
    left, right = (0, half), (half, n)
    factor(launches, part(a, (0, m), left), _turns(pivots, 0, half))
    _move_rows(launches, _moved(launches, _turns(pivots, 0, half)), part(a, (0, m), right))
    solve_triangular(launches, part(a, left, left), part(a, left, right), lower=True, unit=True)
    below = (half, m)
    subtract_product(launches, part(a, below, right), part(a, below, left), part(a, left, right))
    lower = _turns(pivots, half, n)
    factor(launches, part(a, below, right), lower)
    _move_rows(launches, _moved(launches, lower), part(a, below, left))
    items = min(_ITEMS, launches.target.group_size)
    launches.kernel(raise_pivots, -(-lower.size // items), items, {"pivots": lower}, sizes={"by": half})


def lu_factor_launches(call: Call, allocate: Callable[[int], Storage], lowering: Lowering) -> list[Launch]:
    """The launches of `LuFactor`."""
    launches = Launches(allocate, lowering)
    a, packed = batched(call.operands[0]), batched(call.result)
    batch, n = a.shape[:2]
    lu = part(packed, (0, n), (0, n))
    launches.copy(a, lu)
    pivots = launches.scratch(I32, (batch, n))
    factor(launches, lu, pivots)
    row = part(packed, (n, n + 1), (0, n))
    items = min(_ITEMS, launches.target.group_size)
    launches.kernel(write_pivots, -(-pivots.size // items), items, {"pivots": pivots, "row": row})
    return launches.made


def lu_solve_launches(call: Call, allocate: Callable[[int], Storage], lowering: Lowering) -> list[Launch]:
    """The launches of `LuSolve`."""
    launches = Launches(allocate, lowering)
    packed, b, x = map(batched, (*call.operands, call.result))
    n = packed.shape[2]
    lu, row = part(packed, (0, n), (0, n)), part(packed, (n, n + 1), (0, n))
    _everywhere(launches, take_by_pivots, b.size, {"row": row, "b": b, "x": x})
    solve_triangular(launches, lu, x, lower=True, unit=True)
    solve_triangular(launches, lu, x, lower=False)
    return launches.made
