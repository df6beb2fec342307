"""NumPy's functions that put arrays together, repeat elements, and take parts out or in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import ocl_runtime.arrays as xp
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.axes import axis_of
from ocl_runtime.arrays.functions.joining import of_no_arrays
from ocl_runtime.errors import IndexingError
from ocl_runtime.numpy.folds import as_common
from ocl_runtime.numpy.operands import array_of, arrays, check_casting, host, into, only, sizes
from ocl_runtime.numpy.promotion import DTypeLike, dtype_of, on_device
from ocl_runtime.numpy.shapes import atleast_1d, atleast_2d, atleast_3d, cut

__all__ = [
    "append", "block", "column_stack", "concat", "concatenate", "delete", "dstack", "hstack", "insert", "pad", "repeat",
    "resize", "roll", "row_stack", "stack", "tile", "vstack",
]  # fmt: skip


def _parts(what: str, values: Any, dtype: DTypeLike, casting: str) -> list[Array]:
    """Arrays of one runtime, of the dtype that is asked for, or that NumPy promotes them to."""
    parts = arrays(what, values)
    if not parts:
        raise of_no_arrays(what)
    if dtype is None:
        return as_common(*parts)
    wanted = on_device(dtype_of(dtype), parts[0]._executor)
    for x in parts:
        check_casting(what, x.dtype, wanted, casting)
    return [xp.astype(x, wanted, copy=False) for x in parts]


def concatenate(
    arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: DTypeLike = None, casting: str = "same_kind"
) -> Any:
    """The arrays one after the other along an axis; None makes each flat first."""
    return into("concatenate", xp.concat(_parts("concatenate", arrays, dtype, casting), axis=axis), out)


concat = concatenate


def stack(arrays: Any, axis: int = 0, out: Any = None, *, dtype: DTypeLike = None, casting: str = "same_kind") -> Any:
    """The arrays, all of one shape, along a new axis of the result."""
    return into("stack", xp.stack(_parts("stack", arrays, dtype, casting), axis=axis), out)


def vstack(tup: Any, *, dtype: DTypeLike = None, casting: str = "same_kind") -> Array:
    """The arrays below each other: along axis 0, lines as rows."""
    return xp.concat([atleast_2d(x) for x in _parts("vstack", tup, dtype, casting)], axis=0)


row_stack = vstack


def hstack(tup: Any, *, dtype: DTypeLike = None, casting: str = "same_kind") -> Array:
    """The arrays beside each other: along axis 1, lines along their only axis."""
    parts = [atleast_1d(x) for x in _parts("hstack", tup, dtype, casting)]
    return xp.concat(parts, axis=0 if parts and parts[0].ndim == 1 else 1)


def dstack(tup: Any) -> Array:
    """The arrays behind each other: along axis 2."""
    return xp.concat([atleast_3d(x) for x in _parts("dstack", tup, None, "safe")], axis=2)


def column_stack(tup: Any) -> Array:
    """The arrays beside each other, lines as columns."""
    parts = _parts("column_stack", tup, None, "safe")
    return xp.concat([xp.reshape(x, (-1, 1)) if x.ndim < 2 else x for x in parts], axis=1)


def block(arrays: Any) -> Array:
    """Nested lists of arrays put together: the innermost lists along the last axis, and so on outwards."""
    depth, most = _depth(arrays), 0
    flat = _flat(arrays)
    parts = _parts("block", flat, None, "safe")
    most = max(depth, *(x.ndim for x in parts))
    leaves = iter([xp.reshape(x, (1,) * (most - x.ndim) + x.shape) for x in parts])

    def joined(part: Any, level: int) -> Array:
        if not isinstance(part, list):
            return next(leaves)
        return xp.concat([joined(inner, level + 1) for inner in part], axis=most - depth + level)

    return joined(arrays, 0)


def _depth(part: Any) -> int:
    return 1 + max(map(_depth, part), default=0) if isinstance(part, list) else 0


def _flat(part: Any) -> list[Any]:
    return [leaf for inner in part for leaf in _flat(inner)] if isinstance(part, list) else [part]


def append(arr: Any, values: Any, axis: Any = None) -> Array:
    """The values behind the array along an axis; without one, both flat."""
    joined: Array = concatenate((arr, values), axis)
    return joined


# ---------------------------------------------------------------------- repeated


def tile(A: Any, reps: Any) -> Array:  # noqa: N803
    """The array repeated along its axes, and along new ones in front where there are more numbers than axes."""
    return xp.tile(array_of(A), tuple(int(times) for times in sizes(reps)))


def repeat(a: Any, repeats: Any, axis: Any = None) -> Array:
    """Each part along an axis repeated; without an axis, each element of the flat array."""
    times = repeats if isinstance(repeats, int) else host(repeats)
    return xp.repeat(array_of(a), times if np.ndim(times) else int(times), axis=axis)


def roll(a: Any, shift: Any, axis: Any = None) -> Array:
    """The elements moved along axes, those from the end to the front; without an axis, of the flat array."""
    x = array_of(a)
    if not isinstance(shift, Sequence) and not isinstance(axis, Sequence):
        return xp.roll(x, shift, axis=axis)
    if axis is None:
        return xp.roll(x, sum(shift))
    axes = tuple(axis) if isinstance(axis, Sequence) else (axis,)
    shifts = tuple(shift) if isinstance(shift, Sequence) else (shift,)
    count = max(len(axes), len(shifts))
    return xp.roll(x, shifts * (count // len(shifts)), axis=axes * (count // len(axes)))


def resize(a: Any, new_shape: Any) -> Array:
    """The elements in row-major order in a shape of any size, from the front again when they are used up."""
    x, shape = xp.reshape(array_of(a), -1), sizes(new_shape)
    count = int(np.prod(shape))
    if not x.size:
        return xp.zeros_like(xp.broadcast_to(xp.zeros((), dtype=x.dtype), shape))
    return xp.reshape(xp.tile(x, (-(-count // x.size),))[:count], shape)


def pad(array: Any, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Array:
    """The array with elements around it: constant, edge, reflect, symmetric, wrap, or empty (which are zeros)."""
    x = array_of(array)
    widths = _widths(pad_width, x.ndim)
    value = kwargs.pop("constant_values", 0)
    only("pad", **kwargs)
    if np.ndim(host(value)):
        return _padded_each(x, widths, host(value))
    return xp.pad(x, widths, "constant" if mode == "empty" else mode, constant_values=value)


def _widths(pad_width: Any, ndim: int) -> list[tuple[int, int]]:
    """A number before and one behind for each axis."""
    if isinstance(pad_width, dict):
        pairs: list[tuple[int, int]] = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            before, after = (width, width) if isinstance(width, int) else width
            pairs[axis_of("pad", axis, ndim)] = (before, after)
        return pairs
    return [(int(before), int(after)) for before, after in np.broadcast_to(np.asarray(host(pad_width)), (ndim, 2))]


def _padded_each(x: Array, widths: list[tuple[int, int]], values: Any) -> Array:
    """Padded axis by axis, with values of their own in front and behind."""
    for axis, (pair, filling) in enumerate(zip(widths, np.broadcast_to(values, (x.ndim, 2)).tolist(), strict=True)):
        for side, (width, value) in enumerate(zip(pair, filling, strict=True)):
            around = [(0, 0)] * x.ndim
            around[axis] = (0, width) if side else (width, 0)
            x = xp.pad(x, around, constant_values=value)
    return x


# ---------------------------------------------------------------------- parts out and in


def delete(arr: Any, obj: Any, axis: Any = None) -> Array:
    """The array without the parts at places along an axis; without an axis, of the flat array. Places in an array of
    ours are waited for."""
    x, axis = _flat_or_along("delete", arr, axis)
    kept = np.delete(np.arange(x.shape[axis]), host(obj))
    return xp.take(x, kept, axis=axis)


def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Array:
    """The array with values in front of places along an axis; without an axis, of the flat array. Places in an array
    of ours are waited for."""
    x, axis = _flat_or_along("insert", arr, axis)
    length, before = x.shape[axis], host(obj)
    if not isinstance(before, slice) and np.asarray(before).dtype == np.bool_:
        (before,) = np.nonzero(before)
    new = array_of(values, x.dtype, x._executor)
    if not isinstance(before, slice) and np.size(before) == 1:
        return _inserted_at(x, axis, int(np.asarray(before).item()), new, moves=not np.ndim(before))
    count = len(range(*before.indices(length))) if isinstance(before, slice) else len(before)
    part = xp.broadcast_to(new, (*x.shape[:axis], count, *x.shape[axis + 1 :]))
    number = np.insert(np.arange(length), before, length + np.arange(count))
    return xp.take(xp.concat([x, part], axis=axis), number, axis=axis)


def _inserted_at(x: Array, axis: int, before: int, new: Array, *, moves: bool) -> Array:
    """With a part in front of one place; its axis is the first one of the values if it `moves`."""
    length = x.shape[axis]
    if not -length <= before <= length:
        raise IndexingError(
            f"insert before place {before} of an axis of length {length}",
            place=calling_line(),
            remedy=f"use {-length} to {length}",
        )
    before += length * (before < 0)
    new = xp.reshape(new, (1,) * (x.ndim - new.ndim) + new.shape)
    if moves:
        new = xp.moveaxis(new, 0, axis)
    part = xp.broadcast_to(new, (*x.shape[:axis], new.shape[axis], *x.shape[axis + 1 :]))
    return xp.concat([cut(x, axis, slice(before)), part, cut(x, axis, slice(before, None))], axis=axis)


def _flat_or_along(what: str, arr: Any, axis: Any) -> tuple[Array, int]:
    x = array_of(arr)
    if axis is None:
        return xp.reshape(x, -1), 0
    return x, axis_of(what, axis, x.ndim)
