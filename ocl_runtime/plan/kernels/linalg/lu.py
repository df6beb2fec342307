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
from ocl_runtime.plan.kernels.linalg.groups import joined_by, wait
from ocl_runtime.plan.kernels.linalg.matrices import batched, part, subtract_product, vector_part
from ocl_runtime.plan.kernels.linalg.panels import held_panel
from ocl_runtime.plan.kernels.linalg.scalars import quotient
from ocl_runtime.plan.kernels.linalg.triangular import solve_triangular
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.launch import Launch

global_id, group_id, hint, local_array, local_id, local_size, private_array = (
    BUILTINS[name]
    for name in (
        "global_id", "group_id", "hint", "local_array", "local_id", "local_size", "private_array",
    )
)  # fmt: skip

_PANEL = 16
"""Columns that a group factors."""
_MOVED = 32
"""Rows that change places in local memory, and columns of a group there: half as many of complex128."""
_SPAN = 256
"""Elements that a work-item of a CPU moves."""
_ITEMS = 256
"""Work-items that move elements."""


def greater(left: Any, right: Any) -> Any:
    """The greater of two magnitudes with its row; of equal ones, that with the lesser row."""
    first = left[0] > right[0] or (left[0] == right[0] and left[1] <= right[1])
    return (left[0] if first else right[0], left[1] if first else right[1])


def lu_panel(a: Any, pivots: Any, first: Any, panel: int, dtype: Any) -> None:
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
        best, at = joined_by((best, at), greater)
        for c in range(item, n, items):
            upper = a[batch, j, c]
            lower = a[batch, at, c]
            a[batch, at, c] = upper
            a[batch, j, c] = lower
            top[c] = lower
        if item == 0:
            pivots[batch, j] = np.int32(first + at)
        wait()
        pivot = top[j]
        for i in range(j + 1 + item, m, items):
            factor = quotient(a[batch, i, j], pivot) if pivot != 0 else a[batch, i, j]
            a[batch, i, j] = factor
            for c in range(j + 1, n):
                a[batch, i, c] = a[batch, i, c] - factor * top[c]
        wait()


def lu_panel_held(a: Any, pivots: Any, first: Any, panel: int, each: int, dtype: Any) -> None:
    """Factors a few columns by a group whose work-items have `each` rows in registers.

    The column that is next is the first one there: what is left of a row moves up as it is updated."""
    m = a.shape[1]
    n = a.shape[2]
    batch = group_id(0)
    item = local_id(0)
    items = local_size(0)
    own = private_array((each, panel), dtype)
    top = local_array(panel, dtype)
    chosen = local_array(panel, dtype)
    for r in hint(range(each), unroll=each):
        row = r * items + item
        for c in hint(range(panel), unroll=panel):
            own[r, c] = a[batch, row, c] if row < m and c < n else a[batch, 0, 0] * 0
    for j in range(n):
        best = -1.0
        at = j
        for r in hint(range(each), unroll=each):
            row = r * items + item
            value = abs(own[r, 0])
            if j <= row < m and value > best:
                best = value
                at = row
        best, at = joined_by((best, at), greater)
        for r in hint(range(each), unroll=each):
            row = r * items + item
            if row == j:
                for c in hint(range(panel), unroll=panel):
                    top[c] = own[r, c]
            if row == at:
                for c in hint(range(panel), unroll=panel):
                    chosen[c] = own[r, c]
        if item == 0:
            pivots[batch, j] = np.int32(first + at)
        for c in range(item, j, items):
            upper = a[batch, j, c]
            a[batch, j, c] = a[batch, at, c]
            a[batch, at, c] = upper
        wait()
        for c in range(item, n - j, items):
            a[batch, j, j + c] = chosen[c]
        pivot = chosen[0]
        for r in hint(range(each), unroll=each):
            row = r * items + item
            if j < row < m:
                factor = top[0] if row == at else own[r, 0]
                if pivot != 0:
                    factor = quotient(factor, pivot)
                a[batch, row, j] = factor
                for c in hint(range(1, panel), unroll=panel):
                    value = top[c] if row == at else own[r, c]
                    own[r, c - 1] = value - factor * chosen[c]
        wait()


def source_of(place: Any, batch: Any, pivots: Any, first: Any) -> Any:
    """Where the row at a place comes from, once rows from the first one on have changed places with those that pivots
    name, one after the other."""
    source = place
    count = pivots.shape[1]
    for back in range(count):
        turn = count - 1 - back
        other = int(pivots[batch, turn])
        if source == first + turn:
            source = other
        elif source == other:
            source = first + turn
    return source


def place_of(entry: Any, batch: Any, pivots: Any, first: Any) -> Any:
    """The place of an entry of the rows that move: those from the first one on, then those that pivots name; -1 for one
    that is listed twice."""
    count = pivots.shape[1]
    place = first + entry
    if entry >= count:
        place = int(pivots[batch, entry - count])
        listed = place < first + count
        for earlier in range(entry - count):
            if pivots[batch, earlier] == place:
                listed = True
        if listed:
            place = -1
    return place


def move_few_rows(pivots: Any, a: Any, first: Any, most: int, across: int, dtype: Any) -> None:
    """Has a few rows change places in some columns, by a group in local memory."""
    count = pivots.shape[1]
    columns = a.shape[2]
    item = local_id(0)
    items = local_size(0)
    groups = (columns + across - 1) // across
    batch = group_id(0) // groups
    left = group_id(0) % groups * across
    places = local_array(2 * most, np.int32)
    held = local_array((2 * most, across), dtype)
    for entry in range(item, 2 * count, items):
        places[entry] = np.int32(place_of(entry, batch, pivots, first))
    wait()
    for element in range(item, 2 * count * across, items):
        place = int(places[element // across])
        column = left + element % across
        if place >= 0 and column < columns:
            held[element // across, element % across] = a[batch, source_of(place, batch, pivots, first), column]
    wait()
    for element in range(item, 2 * count * across, items):
        place = int(places[element // across])
        column = left + element % across
        if place >= 0 and column < columns:
            a[batch, place, column] = held[element // across, element % across]


def sources_of_rows(pivots: Any, places: Any, sources: Any, first: Any) -> None:
    """Finds out which rows move, and where each comes from."""
    count = pivots.shape[1]
    item = global_id(0)
    if item < pivots.shape[0] * 2 * count:
        batch = item // (2 * count)
        entry = item % (2 * count)
        place = place_of(entry, batch, pivots, first)
        places[batch, entry] = np.int32(place)
        sources[batch, entry] = np.int32(source_of(max(place, 0), batch, pivots, first))


def take_rows(a: Any, sources: Any, taken: Any, span: int) -> None:
    """Copies rows of some numbers, a span of each by a work-item."""
    rows = sources.shape[1]
    columns = a.shape[2]
    spans = (columns + span - 1) // span
    item = global_id(0)
    if item < a.shape[0] * rows * spans:
        begin = item % spans * span
        row = item // spans % rows
        batch = item // spans // rows
        source = int(sources[batch, row].real)
        for column in range(begin, min(begin + span, columns)):
            taken[batch, row, column] = a[batch, source, column]


def put_rows(taken: Any, places: Any, a: Any, span: int) -> None:
    """Writes rows to places, but for those that have none."""
    rows = places.shape[1]
    columns = a.shape[2]
    spans = (columns + span - 1) // span
    item = global_id(0)
    if item < a.shape[0] * rows * spans:
        begin = item % spans * span
        row = item // spans % rows
        batch = item // spans // rows
        place = int(places[batch, row])
        if place >= 0:
            for column in range(begin, min(begin + span, columns)):
                a[batch, place, column] = taken[batch, row, column]


def write_order(pivots: Any, order: Any) -> None:
    """Writes, as numbers of a dtype, pivots and behind them where each row comes from once all have changed places."""
    n = pivots.shape[1]
    item = global_id(0)
    if item < pivots.shape[0] * n:
        batch = item // n
        row = item % n
        order[batch, 0, row] = pivots[batch, row]
        order[batch, 1, row] = source_of(row, batch, pivots, 0)


def _everywhere(
    launches: Launches,
    function: Callable[..., None],
    count: int,
    arrays: dict[str, Buffer],
    sizes: dict[str, int] | None = None,
    **constants: Any,
) -> None:
    """Launches a work-item for each of many elements."""
    items = min(_ITEMS, launches.target.group_size)
    launches.kernel(function, -(-count // items), items, arrays, sizes=sizes, **constants)


def _in_spans(launches: Launches, function: Callable[..., None], arrays: dict[str, Buffer]) -> None:
    """Launches a work-item for each span of the rows that are `taken`: on GPUs, for each element."""
    batch, rows, columns = arrays["taken"].shape
    span = _SPAN if launches.target.kind == "cpu" else 1
    _everywhere(launches, function, batch * rows * -(-columns // span), arrays, span=span)


def _move_rows(launches: Launches, pivots: Buffer, a: Buffer, first: int) -> None:
    """Has rows of some columns change places, from a number on, as pivots say."""
    batch, count = pivots.shape
    columns = a.shape[2]
    if launches.target.kind == "gpu" and count <= _MOVED:
        across = _MOVED * 8 // max(a.dtype.size, 8)
        groups, items = batch * -(-columns // across), min(_ITEMS, launches.target.group_size)
        how = (move_few_rows, groups, items, {"pivots": pivots, "a": a})
        launches.kernel(*how, sizes={"first": first}, most=_MOVED, across=across, dtype=a.dtype)
        return
    places, sources = (launches.scratch(I32, (batch, 2 * count)) for _ in range(2))
    arrays = {"pivots": pivots, "places": places, "sources": sources}
    _everywhere(launches, sources_of_rows, places.size, arrays, {"first": first})
    taken = launches.scratch(a.dtype, (batch, 2 * count, columns))
    _in_spans(launches, take_rows, {"a": a, "sources": sources, "taken": taken})
    _in_spans(launches, put_rows, {"taken": taken, "places": places, "a": a})


def factor(launches: Launches, a: Buffer, pivots: Buffer, first: int, last: int) -> None:
    """Factors some columns of matrices in their memory, from the rows of the same numbers on; `pivots` (batch, columns)
    in int32."""
    m, n = a.shape[1], last - first
    panel = _panel(launches, part(a, (first, m), (first, last)), vector_part(pivots, first, last), first)
    if panel is None:
        return
    half = first + -(-n // (2 * panel)) * panel
    left, right, below = (first, half), (half, last), (half, m)
    factor(launches, a, pivots, first, half)
    _move_rows(launches, vector_part(pivots, first, half), part(a, (0, m), right), first)
    solve_triangular(launches, part(a, left, left), part(a, left, right), lower=True, unit=True)
    subtract_product(launches, part(a, below, right), part(a, below, left), part(a, left, right))
    factor(launches, a, pivots, half, last)
    _move_rows(launches, vector_part(pivots, half, last), part(a, (0, m), left), half)


def _panel(launches: Launches, a: Buffer, pivots: Buffer, first: int) -> int | None:
    """Factors few columns, if they are so few; else gives how many a group takes."""
    batch, m, n = a.shape
    target, arrays, sizes = launches.target, {"a": a, "pivots": pivots}, {"first": first}
    held = held_panel(target, a.dtype, m)
    if held is not None:
        panel, items, each = held
        if n > panel:
            return panel
        launches.kernel(lu_panel_held, batch, items, arrays, sizes=sizes, panel=panel, each=each, dtype=a.dtype)
        return None
    if n > _PANEL:
        return _PANEL
    items = 1 if target.kind == "cpu" else min(_ITEMS, target.group_size)
    launches.kernel(lu_panel, batch, items, arrays, sizes=sizes, panel=_PANEL, dtype=a.dtype)
    return None


def lu_factor_launches(call: Call, allocate: Callable[[int], Storage], lowering: Lowering) -> list[Launch]:
    """The launches of `LuFactor`."""
    launches = Launches(allocate, lowering)
    a, packed = batched(call.operands[0]), batched(call.result)
    batch, n = a.shape[:2]
    lu = part(packed, (0, n), (0, n))
    launches.copy(a, lu)
    pivots = launches.scratch(I32, (batch, n))
    factor(launches, lu, pivots, 0, n)
    order = part(packed, (n, n + 2), (0, n))
    _everywhere(launches, write_order, pivots.size, {"pivots": pivots, "order": order})
    return launches.made


def lu_solve_launches(call: Call, allocate: Callable[[int], Storage], lowering: Lowering) -> list[Launch]:
    """The launches of `LuSolve`."""
    launches = Launches(allocate, lowering)
    packed, b, x = map(batched, (*call.operands, call.result))
    batch, rows, n = packed.shape
    lu = part(packed, (0, n), (0, n))
    last = Layout((batch, n), (rows * n, 1), packed.layout.offset + (rows - 1) * n)
    sources = buffer(packed.storage, packed.dtype, last)
    _in_spans(launches, take_rows, {"a": b, "sources": sources, "taken": x})
    solve_triangular(launches, lu, x, lower=True, unit=True)
    solve_triangular(launches, lu, x, lower=False)
    return launches.made
