"""Functions of elements in the interpreter: kernels that apply or join them, and the laws of what joins.

longest.interpret(x, axis=1)      # as longest(x, axis=1), but now, in the interpreter, and looked at
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from ocl_ir.language.builtins.registry import BUILTINS
from ocl_ir.language.values.table import Builtin, ElementFunction
from ocl_runtime.arrays import Array, broadcast_arrays, empty, permute_dims, reshape
from ocl_runtime.programs.kernels.join_laws import check_laws
from ocl_runtime.programs.kernels.kernel import kernel
from ocl_runtime.programs.kernels.tuple_reduction import joined_parts, reduced, rows_of

global_id = BUILTINS["global_id"]


@kernel
def mapped_elements(columns: Any, results: Any, function: Any, parts_of: Any) -> None:
    """A function of an element of each column; `parts_of` gives a tuple of the results."""
    i = global_id(0)
    values: Any = ()
    for column in columns:
        values = (*values, column[i])
    for result, part in zip(results, parts_of(function(*values))):  # noqa: B905
        result[i] = part


@kernel
def running_joins(column: Any, result: Any, join: Any) -> None:
    """Of each row, all elements up to each, joined from the first on."""
    row = global_id(0)
    state = column[row, 0]
    result[row, 0] = state
    for j in range(1, column.shape[1]):
        state = join(state, column[row, j])
        result[row, j] = state


def unchanged(value: Any) -> Any:
    """A value as it is."""
    return value


def as_tuple(value: Any) -> tuple[Any, ...]:
    """One value as a tuple."""
    return (value,)


def joined_singly(join: Any, a: Any, b: Any) -> tuple[Any, ...]:
    """States of one number, joined."""
    return (join(a[0], b[0]),)


def on_tuples(function: ElementFunction) -> Any:
    """A function that joins two numbers, as one that joins two tuples of one."""
    return partial(joined_singly, function)


def interpreted_map(
    function: Builtin, operands: Sequence[Array], dtypes: Sequence[Any], *, is_tuple: bool
) -> tuple[Array, ...]:
    """The results of a function of an element of each operand, each of a dtype. Raises what the interpreter raises."""
    arrays = broadcast_arrays(*operands)
    shape = arrays[0].shape
    columns = tuple(reshape(x, (math.prod(shape),)) for x in arrays)
    results = tuple(empty((math.prod(shape),), dtype=dtype) for dtype in dtypes)
    parts_of = unchanged if is_tuple else as_tuple
    mapped_elements.interpret[math.prod(shape)](columns, results, function, parts_of)
    return tuple(reshape(result, shape) for result in results)


def interpreted_reduction(
    function: ElementFunction,
    join: Any,
    operands: Sequence[Array],
    neutral: Sequence[Any],
    axes: Sequence[int],
    *,
    keepdims: bool,
) -> tuple[Array, ...]:
    """As `reduced`, in the interpreter. Raises `KernelError` where the join breaks a law, and what the interpreter
    raises."""
    columns = rows_of(broadcast_arrays(*operands), axes)
    check_laws(function, join, columns, neutral, is_ordered=False)
    return reduced(operands, join, neutral, axes, keepdims=keepdims, mode=joined_parts.interpret)


def interpreted_scan(function: ElementFunction, join: Any, x: Array, neutral: Any, axis: int) -> Array:
    """The running join along an axis, in the interpreter. Raises what `interpreted_reduction` raises."""
    kept = [other for other in range(x.ndim) if other != axis]
    (column,) = rows_of([x], [axis])
    check_laws(function, join, [column], (neutral,), is_ordered=True)
    result = empty(column.shape, dtype=x.dtype)
    if 0 not in column.shape:
        running_joins.interpret[column.shape[0]](column, result, function)
    moved = reshape(result, tuple(x.shape[other] for other in (*kept, axis)))
    return permute_dims(moved, tuple((*kept, axis).index(other) for other in range(x.ndim)))
