"""Reductions whose state is a tuple: the group of a row joins its elements, as a kernel in Python.

Rows that are long are split into parts, whose states a second launch joins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ocl_ir.language.builtins.registry import BUILTINS
from ocl_runtime.arrays import Array, broadcast_arrays, empty, full, permute_dims, reshape
from ocl_runtime.programs.kernels.kernel import Kernel, kernel
from ocl_runtime.programs.kernels.launcher import Sized

group, group_id, local_id = (BUILTINS[name] for name in ("group", "group_id", "local_id"))

_GROUP = 128
_LEAST = 8 * _GROUP
"""Elements of a part: less would keep no group busy."""
_MOST_PARTS = 256


@kernel(local=_GROUP)
def joined_parts(columns: Any, results: Any, join: Any, neutral: Any, per: Any) -> None:
    """The states of the parts of a row: `columns` have rows and elements, `results` rows and parts."""
    row, part = group_id(1), group_id(0)
    state: Any = ()
    for column, value in zip(columns, neutral):  # noqa: B905, a loop over what is known
        state = (*state, column.dtype(value))
    begin = part * per
    for j in range(begin + local_id(0), min(begin + per, columns[0].shape[1]), _GROUP):
        element: Any = ()
        for column in columns:
            element = (*element, column[row, j])
        state = join(state, element)
    state = group.reduce(state, join)
    if local_id(0) == 0:
        for result, value in zip(results, state):  # noqa: B905
            result[row, part] = value


def rows_of(arrays: Sequence[Array], axes: Sequence[int]) -> tuple[Array, ...]:
    """Arrays of one shape as rows, whose elements lie along some axes."""
    shape = arrays[0].shape
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    rows, length = math.prod(shape[axis] for axis in kept), math.prod(shape[axis] for axis in axes)
    return tuple(reshape(permute_dims(x, (*kept, *axes)), (rows, length)) for x in arrays)


def reduced(
    operands: Sequence[Array],
    join: Any,
    neutral: Sequence[Any],
    axes: Sequence[int],
    *,
    keepdims: bool,
    mode: Kernel | Sized = joined_parts,
) -> tuple[Array, ...]:
    """The elements of several arrays joined along axes: an array for each part of the state, of the dtype of the array
    that it starts from. `join` is the function in Python, or what arrays have as an operation of it; `mode` is
    `joined_parts` in the mode in which it is launched."""
    arrays = broadcast_arrays(*operands)
    kept = [axis for axis in range(arrays[0].ndim) if axis not in axes]
    shape = tuple(arrays[0].shape[axis] for axis in kept)
    out = tuple(1 if axis in axes else length for axis, length in enumerate(arrays[0].shape)) if keepdims else shape
    rows, length = math.prod(shape), math.prod(arrays[0].shape[axis] for axis in axes)
    if not length or not rows:
        return tuple(full(out, value, dtype=x.dtype) for x, value in zip(arrays, neutral, strict=True))
    columns = rows_of(arrays, axes)
    parts = min(_MOST_PARTS, max(1, length // _LEAST)) if rows < _MOST_PARTS else 1
    while True:
        results = tuple(empty((rows, parts), dtype=x.dtype) for x in columns)
        mode.groups[parts, rows](columns, results, join, tuple(neutral), -(-columns[0].shape[1] // parts))
        if parts == 1:
            return tuple(reshape(result, out) for result in results)
        columns, parts = results, 1
