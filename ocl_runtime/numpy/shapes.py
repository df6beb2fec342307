"""NumPy's functions that move elements without changing them. What is a view in NumPy is a view here."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

import ocl_runtime.arrays as xp
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.axes import axes_of, axis_of
from ocl_runtime.errors import ShapeError
from ocl_runtime.numpy.operands import array_of, arrays, host, only, sizes

__all__ = [
    "array_split", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_shapes", "broadcast_to",
    "dsplit", "expand_dims", "flip", "fliplr", "flipud", "hsplit", "matrix_transpose", "moveaxis", "ndim",
    "permute_dims", "ravel", "reshape", "rollaxis", "rot90", "shape", "size", "split", "squeeze", "swapaxes",
    "transpose", "trim_zeros", "unstack", "vsplit",
]  # fmt: skip


def shape(a: Any) -> tuple[int, ...]:
    """The length of each axis."""
    return a.shape if isinstance(a, Array) else np.shape(host(a))


def ndim(a: Any) -> int:
    """The number of axes."""
    return len(shape(a))


def size(a: Any, axis: Any = None) -> int:
    """The number of elements, or of those along axes."""
    lengths, count = shape(a), 1
    for number in axes_of("size", axis, len(lengths)):
        count *= lengths[number]
    return count


def reshape(a: Any, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> Array:
    """The elements in row-major order in another shape; one length may be -1."""
    only("reshape", order=order)
    return xp.reshape(array_of(a), sizes(shape), copy=copy)


def ravel(a: Any, order: str = "C") -> Array:
    """The elements in row-major order along one axis; a view where that can be."""
    only("ravel", order=order)
    return xp.reshape(array_of(a), -1)


def transpose(a: Any, axes: Any = None) -> Array:
    """The axes in another order, by default reversed."""
    x = array_of(a)
    return xp.permute_dims(x, tuple(reversed(range(x.ndim))) if axes is None else axes)


permute_dims = transpose


def matrix_transpose(x: Any, /) -> Array:
    """The last two axes exchanged."""
    return xp.matrix_transpose(array_of(x))


def swapaxes(a: Any, axis1: int, axis2: int) -> Array:
    """Two axes exchanged."""
    x = array_of(a)
    first, second = axis_of("swapaxes", axis1, x.ndim), axis_of("swapaxes", axis2, x.ndim)
    order = list(range(x.ndim))
    order[first], order[second] = second, first
    return xp.permute_dims(x, order)


def moveaxis(a: Any, source: Any, destination: Any) -> Array:
    """Axes moved to other places, the others in their order."""
    return xp.moveaxis(array_of(a), source, destination)


def rollaxis(a: Any, axis: int, start: int = 0) -> Array:
    """An axis moved in front of the one that is at `start`."""
    x = array_of(a)
    from_ = axis_of("rollaxis", axis, x.ndim)
    to = axis_of("rollaxis", start, x.ndim + 1)
    return xp.moveaxis(x, from_, to - 1 if from_ < to else to)


def expand_dims(a: Any, axis: Any) -> Array:
    """New axes of length 1 at places of the result."""
    return xp.expand_dims(array_of(a), axis=tuple(axis) if isinstance(axis, Sequence) else axis)


def squeeze(a: Any, axis: Any = None) -> Array:
    """The array without axes of length 1, by default all of them."""
    x = array_of(a)
    gone = tuple(number for number, length in enumerate(x.shape) if length == 1) if axis is None else axis
    return xp.squeeze(x, gone)


def flip(m: Any, axis: Any = None) -> Array:
    """The elements in reverse order along axes, by default all."""
    return xp.flip(array_of(m), axis=axis)


def flipud(m: Any) -> Array:
    """The elements in reverse order along axis 0."""
    return flip(m, 0)


def fliplr(m: Any) -> Array:
    """The elements in reverse order along axis 1."""
    return flip(m, 1)


def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Array:
    """The plane of two axes turned by quarter turns, from the first axis towards the second."""
    x = array_of(m)
    first, second = axes_of("rot90", tuple(axes), x.ndim)
    turns = k % 4
    if turns == 2:
        return xp.flip(x, axis=(first, second))
    if turns == 1:
        x = xp.flip(x, axis=second)
    if turns:
        x = swapaxes(x, first, second)
    return xp.flip(x, axis=second) if turns == 3 else x


def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Array:
    """The array repeated along axes of length 1, and along new ones in front."""
    only("broadcast_to", subok=subok)
    return xp.broadcast_to(array_of(array), sizes(shape))


def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Array, ...]:
    """The arrays broadcast against each other."""
    only("broadcast_arrays", subok=subok)
    return tuple(xp.broadcast_arrays(*arrays("broadcast_arrays", args)))


def broadcast_shapes(*args: Any) -> tuple[int, ...]:
    """The shape to which shapes broadcast."""
    try:
        return np.broadcast_shapes(*args)
    except ValueError:
        raise ShapeError(
            f"shapes {', '.join(map(str, args))} do not broadcast",
            place=calling_line(),
            remedy="each axis, from the last on, has to have one length or 1",
        ) from None


def atleast_1d(*arys: Any) -> Any:
    """Each array with at least one axis."""
    return _each(arys, lambda x: x if x.ndim else xp.reshape(x, (1,)))


def atleast_2d(*arys: Any) -> Any:
    """Each array with at least two axes, new ones in front."""
    return _each(arys, lambda x: x if x.ndim > 1 else xp.reshape(x, (1, x.size)))


def atleast_3d(*arys: Any) -> Any:
    """Each array with at least three axes: a line in the middle one, a matrix in the first two."""

    def raised(x: Array) -> Array:
        return x if x.ndim > 2 else xp.reshape(x, (*x.shape, 1) if x.ndim == 2 else (1, x.size, 1))

    return _each(arys, raised)


def _each(arys: Sequence[Any], change: Any) -> Any:
    results = tuple(change(array_of(x)) for x in arys)
    return results[0] if len(results) == 1 else results


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The parts along an axis."""
    return xp.unstack(array_of(x), axis=axis)


# ---------------------------------------------------------------------- parts


def cut(x: Array, axis: int, part: slice) -> Array:
    """A part of an array along an axis."""
    return x[(slice(None),) * axis + (part,)]


def lying(line: Array, axis: int, ndim: int) -> Array:
    """A line along one of so many axes, of which the others have length 1."""
    return xp.reshape(line, (1,) * axis + (line.size,) + (1,) * (ndim - axis - 1))


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """So many parts along an axis, the first ones longer by 1 if they are not equal; or those between places."""
    x = array_of(ary)
    axis = axis_of("array_split", axis, x.ndim)
    length, sections = x.shape[axis], host(indices_or_sections)
    if np.ndim(sections):
        ends = [0, *(int(end) for end in sections), length]
    else:
        count = int(sections)
        if count < 1:
            raise ShapeError(f"{count} parts of an array", place=calling_line(), remedy="ask for one part or more")
        short, longer = divmod(length, count)
        ends = [number * short + min(number, longer) for number in range(count + 1)]
    return [cut(x, axis, slice(begin, end)) for begin, end in pairwise(ends)]


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """As `array_split`. Raises `ShapeError` where the parts would not be equal."""
    x = array_of(ary)
    sections = host(indices_or_sections)
    length = x.shape[axis_of("split", axis, x.ndim)]
    if not np.ndim(sections) and int(sections) > 0 and length % int(sections):
        raise ShapeError(
            f"an axis of length {length} in {sections} equal parts",
            place=calling_line(),
            remedy="use array_split, which takes unequal ones",
        )
    return array_split(x, sections, axis)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Parts along axis 1, or along the only axis."""
    x = array_of(ary)
    return split(x, indices_or_sections, 1 if x.ndim > 1 else 0)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Parts along axis 0 of an array with at least two."""
    return split(_with_axes("vsplit", ary, 2), indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Parts along axis 2."""
    return split(_with_axes("dsplit", ary, 3), indices_or_sections, 2)


def _with_axes(what: str, ary: Any, least: int) -> Array:
    x = array_of(ary)
    if x.ndim < least:
        raise ShapeError(
            f"{what} of an array with {x.ndim} axes", place=calling_line(), remedy="use split(x, parts, axis)"
        )
    return x


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Array:
    """A view without the zeros at the front and the back (`trim` says which) of axes; waits for where they are."""
    x = array_of(filt)
    chosen = axes_of("trim_zeros", axis, x.ndim)
    key: list[slice] = [slice(None)] * x.ndim
    for number in chosen:
        others = tuple(other for other in range(x.ndim) if other != number)
        (there,) = np.nonzero(xp.any(x, axis=others).numpy() if others else xp.astype(x, np.bool_).numpy())
        first, last = (there[0], there[-1] + 1) if there.size else (0, 0)
        key[number] = slice(int(first) if "f" in trim.lower() else None, int(last) if "b" in trim.lower() else None)
    return x[tuple(key)]
