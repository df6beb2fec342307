"""Elements at computed places. Negative places count from the end.

Places that are on the host are checked at the call. Those in an array cannot raise anything: what is out of bounds
there is the nearest element.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ocl_ir.graph import build as graph
from ocl_ir.graph.nodes import AnyNode
from ocl_ir.indices import Shape
from ocl_ir.layout import broadcast_shapes
from ocl_ir.source_line import calling_line
from ocl_ir.types import BOOL, I64, DType
from ocl_runtime.arrays.array import Array, array_of
from ocl_runtime.arrays.axes import axis_of
from ocl_runtime.arrays.meaning.adding import added_where
from ocl_runtime.arrays.meaning.dtypes import casts, promote
from ocl_runtime.arrays.meaning.indexing import counting, indices_along, is_array, picked
from ocl_runtime.arrays.meaning.masks import KEEP_SHAPE, coordinates
from ocl_runtime.arrays.meaning.semantics import cast
from ocl_runtime.arrays.meaning.writing import fitted
from ocl_runtime.arrays.operands import ArrayLike, operands_of, uploaded, written_operand
from ocl_runtime.errors import DTypeError, ShapeError
from ocl_runtime.plan.tracing import Question

_NOT_ZERO = Question("the number of elements that are not 0", KEEP_SHAPE)


def take(x: ArrayLike, indices: Any, /, axis: int | None = None) -> Array:
    """The parts at places along an axis, which may be left out where there is one. The axes of `indices`, an array of
    integers or a list, take the place of that axis.

    Raises `ShapeError` for an axis that does not exist and for places on the host that are out of bounds, `DTypeError`
    for places that are no integers.
    """
    x = array_of("take", x)
    if axis is None and x.ndim != 1:
        raise ShapeError(
            f"take of an array with {x.ndim} axes names none of them",
            place=calling_line(),
            remedy="say which: take(x, indices, axis=0)",
        )
    dim = axis_of("take", 0 if axis is None else axis, x.ndim)
    return x[(slice(None),) * dim + (indices,)]


def take_along_axis(x: ArrayLike, indices: Any, /, axis: int = -1) -> Array:
    """The element at `x[…, indices[…, k, …], …]` for each place of `indices`, whose other axes are broadcast against
    those of `x`. Errors as of `take`."""
    x = array_of("take_along_axis", x)
    dim = axis_of("take_along_axis", axis, x.ndim)
    host = None if isinstance(indices, Array) else np.asarray(indices)
    shape = indices.shape if host is None else host.shape
    if len(shape) != x.ndim:
        raise ShapeError(
            f"take_along_axis of shape {x.shape} with indices of shape {shape}",
            place=calling_line(),
            remedy="give the indices as many axes as the array has",
        )
    others = [_with(lengths, dim, 1) for lengths in (x.shape, shape)]
    common = broadcast_shapes(*others)
    wanted = _with(common, dim, shape[dim])
    executor = operands_of("take_along_axis", [x, *([indices] if host is None else [])])[1]
    index = indices._node if host is None else host
    positions = indices_along(index, dim, x.shape[dim], lambda values: uploaded(values, executor), x._note_indices)
    table = graph.expand(x._node, _with(common, dim, x.shape[dim]))
    coordinates = [counting(wanted, number) for number in range(x.ndim)]
    coordinates[dim] = graph.expand(positions, wanted)
    return Array(graph.gather(table, coordinates), executor)


def add_at(x: Array, index: Any, value: ArrayLike, /, *, deterministic: bool = True) -> None:
    """Adds a value in place to what an index picks, as `x[index] += value` does, but a place that comes several times
    gets all that is added there. The index is any that `x[index]` takes; the value is broadcast.

        x = ocl.zeros(3)
        ocl.add_at(x, [0, 2, 0], [1, 2, 3])         # x is 4, 0, 2

    Integers wrap around, bools are or'ed. Floats give the same bits in every run, whatever the order of the addends:
    they are added as integers, in units far below the greatest of an element's addends (docs/NUMERICS.md has the
    bound), and the total is rounded. With `deterministic=False` they are added one by one in an order that may change,
    which is faster where few are added to one element.

    Raises `DTypeError` for a value of another kind (float into integers) and where the device has no 64-bit atomics for
    the sum; `ShapeError` for shapes that do not fit; what `x[index]` raises.
    """
    _check_array(f"add_at to {type(x).__name__}", x)
    parts = x._without_masks(x._parts(index))
    operand, dtype = written_operand(value, x, calling_line()), x._dtype
    kind = operand.dtype if isinstance(operand, AnyNode) else type(operand)
    if not casts(promote((dtype, kind), x._executor.default_real), dtype, "same_kind"):
        raise DTypeError(
            f"add_at of {kind.public if isinstance(kind, DType) else kind.__name__} to {dtype.public}",
            place=calling_line(),
            remedy=f'convert what is added: astype(value, "{dtype.public}")',
        )
    if not any(map(is_array, parts)):
        x[index] += value
        return
    places = picked(x.shape, parts, x._uploaded, x._note_indices)
    addends = fitted(operand, dtype, places.shape)
    always, target = graph.scalar(True, BOOL, addends.shape, ""), x._executor.target
    with x._executor.registry.lock:
        node = x._replace(
            added_where("add_at", x._node, places.coordinates(), addends, always, target, deterministic=deterministic)
        )
    x._relieve(node)


def set_at(x: Array, index: Any, value: ArrayLike, /, *, unique: bool = False) -> None:
    """Writes a value in place to what an index picks, as `x[index] = value` does: of several values for one element the
    last stays. Who knows that no element is picked twice says `unique=True`; then one kernel writes, which looks for
    nothing. If that was not so, any of the values for an element may stay.

        x = ocl.zeros(3)
        ocl.set_at(x, [2, 0], [1, 2], unique=True)  # x is 2, 0, 1

    Raises what `x[index] = value` raises, `DTypeError` for an `x` that is no array.
    """
    _check_array(f"set_at of {type(x).__name__}", x)
    parts = x._parts(index) if unique and not x._value else ()
    if not any(map(is_array, parts)):
        x[index] = value
        return
    operand = written_operand(value, x, calling_line())
    places = picked(x.shape, x._without_masks(parts), x._uploaded, x._note_indices)
    with x._executor.registry.lock:
        node = x._replace(places.written(x._node, fitted(operand, x._dtype, places.shape), unique=True))
    x._relieve(node)


def nonzero(x: ArrayLike, /) -> tuple[Array, ...]:
    """The coordinates of the elements that are not 0, in row-major order: an array of int64 for each axis.

    Their number is waited for. Raises `ShapeError` for an array of shape ().
    """
    x = array_of("nonzero", x)
    if not x.ndim:
        raise ShapeError("nonzero of an array of shape ()", place=calling_line(), remedy="use bool(x)")
    per_axis = coordinates(cast(x._node, BOOL), x._counting(_NOT_ZERO), I64)
    return tuple(Array(graph.convert(coordinate, I64), x._executor) for coordinate in per_axis)


def _check_array(what: str, x: object) -> None:
    if not isinstance(x, Array):
        raise DTypeError(what, place=calling_line(), remedy="give an array of the device, which is written")


def _with(shape: Shape, axis: int, length: int) -> Shape:
    """The shape with another length of an axis."""
    return *shape[:axis], length, *shape[axis + 1 :]
