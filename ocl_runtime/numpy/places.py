"""NumPy's functions that make places to index with: of diagonals and triangles, flat ones, open grids.

The matrices' diagonals themselves are here too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import ocl_runtime.arrays as xp
from ocl_ir.source_line import calling_line
from ocl_runtime import linalg
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.axes import axes_of
from ocl_runtime.errors import Error, ShapeError
from ocl_runtime.numpy.creation import tri
from ocl_runtime.numpy.folds import fold
from ocl_runtime.numpy.joining import resize
from ocl_runtime.numpy.operands import array_of, host, operands, sizes
from ocl_runtime.numpy.promotion import DTypeLike
from ocl_runtime.numpy.shapes import lying

__all__ = [
    "diag", "diag_indices", "diag_indices_from", "diagflat", "diagonal", "fill_diagonal", "ix_", "mask_indices",
    "ravel_multi_index", "trace", "tril_indices", "tril_indices_from", "triu_indices", "triu_indices_from",
    "unravel_index",
]  # fmt: skip


# ---------------------------------------------------------------------- diagonals


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """A diagonal of the matrices in two axes, along the last axis of the result; a new array.

    Raises `ShapeError` for fewer than two axes.
    """
    x = array_of(a)
    axes = axes_of("diagonal", (axis1, axis2), x.ndim)
    return linalg.diagonal(xp.moveaxis(x, axes, (-2, -1)), offset=offset)


def diag(v: Any, k: int = 0) -> Array:
    """The diagonal of a matrix, or a matrix with a line as its diagonal and zeros elsewhere."""
    x = array_of(v)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ShapeError(f"diag of shape {x.shape}", place=calling_line(), remedy="use diagonal(x, axis1=…, axis2=…)")
    count = x.size + abs(k)
    line = xp.pad(x, [(0, abs(k))])
    with xp.use(x._executor):
        there = xp.eye(count, count, k=k, dtype=np.bool_)
    return xp.where(there, xp.reshape(line, (count, 1) if k >= 0 else (1, count)), xp.zeros_like(line))


def diagflat(v: Any, k: int = 0) -> Array:
    """A matrix with the elements, flat, as its diagonal."""
    return diag(xp.reshape(array_of(v), -1), k)


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike = None, out: Any = None) -> Any:
    """The sum of a diagonal of the matrices in two axes."""
    return fold("trace", "add", diagonal(a, offset, axis1, axis2), -1, dtype, out)


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Writes to the diagonal, from the front of the values again when they are used up; with `wrap`, below it too."""
    if isinstance(a, np.ndarray):
        np.fill_diagonal(a, host(val), wrap)
        return
    if a.ndim < 2 or (a.ndim > 2 and len(set(a.shape)) > 1):
        raise ShapeError(
            f"fill_diagonal of shape {a.shape}",
            place=calling_line(),
            remedy="use a matrix, or more axes of equal length",
        )
    step = sum(math.prod(a.shape[number + 1 :]) for number in range(a.ndim))
    end = a.size if wrap or a.ndim > 2 else min(a.size, a.shape[1] ** 2)
    with xp.use(a._executor):
        indices = xp.arange(0, end, step)
    a[unravel_index(indices, a.shape)] = resize(array_of(val, executor=a._executor), indices.shape)


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """The coordinates of the diagonal of `ndim` axes of length `n`."""
    return (xp.arange(n),) * ndim


def diag_indices_from(arr: Any) -> tuple[Array, ...]:
    """`diag_indices` for an array with axes of equal length."""
    x = array_of(arr)
    if x.ndim < 2 or len(set(x.shape)) > 1:
        raise ShapeError(
            f"diag_indices_from of shape {x.shape}", place=calling_line(), remedy="the axes have to be equally long"
        )
    with xp.use(x._executor):
        return diag_indices(x.shape[0], x.ndim)


# ---------------------------------------------------------------------- triangles


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, ...]:
    """The coordinates of what is on diagonal `k` and below, in row-major order."""
    return xp.nonzero(tri(n, m, k, bool))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, ...]:
    """The coordinates of what is on diagonal `k` and above, in row-major order."""
    return xp.nonzero(xp.logical_not(tri(n, m, k - 1, bool)))


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Array, ...]:
    """`tril_indices` for a matrix."""
    x = _matrix("tril_indices_from", arr)
    with xp.use(x._executor):
        return tril_indices(x.shape[0], k, x.shape[1])


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Array, ...]:
    """`triu_indices` for a matrix."""
    x = _matrix("triu_indices_from", arr)
    with xp.use(x._executor):
        return triu_indices(x.shape[0], k, x.shape[1])


def _matrix(what: str, arr: Any) -> Array:
    x = array_of(arr)
    if x.ndim != 2:
        raise ShapeError(f"{what} of shape {x.shape}", place=calling_line(), remedy="give a matrix")
    return x


def mask_indices(n: int, mask_func: Callable[..., Any], k: Any = 0) -> tuple[Array, ...]:
    """The coordinates of what a function such as `triu` leaves of a matrix of ones."""
    return xp.nonzero(array_of(mask_func(xp.ones((n, n), dtype=np.int64), k)))


# ---------------------------------------------------------------------- flat places and coordinates


def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Array, ...]:
    """The coordinates in a shape of places of the flat array."""
    lengths = sizes(shape)
    rest, coordinates = array_of(indices), []
    for length in lengths if order == "F" else reversed(lengths):
        coordinates.append(xp.remainder(rest, length))
        rest = xp.floor_divide(rest, length)
    return tuple(coordinates if order == "F" else reversed(coordinates))


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Array:
    """The places in the flat array of coordinates in a shape. `mode` says what is done beyond it: nothing is for
    "raise", since the device cannot; "wrap" and "clip" as in NumPy, for all axes or each."""
    lengths = sizes(dims)
    coordinates, executor = operands("ravel_multi_index", tuple(multi_index))
    modes = mode if isinstance(mode, tuple) else (mode,) * len(lengths)
    flat = xp.zeros((), dtype=np.int64) if not coordinates else array_of(0, executor=executor)
    stride = 1
    steps = list(zip(coordinates, lengths, modes, strict=True))
    for coordinate, length, how in steps if order == "F" else reversed(steps):
        flat = flat + stride * _inside(array_of(coordinate, np.int64, executor), length, how)
        stride *= length
    return flat


def _inside(coordinate: Array, length: int, mode: str) -> Array:
    if mode == "wrap":
        return xp.remainder(coordinate, length)
    if mode == "clip":
        return xp.minimum(xp.maximum(coordinate, 0), length - 1)
    if mode != "raise":
        raise Error(f"there is no mode {mode!r}", place=calling_line(), remedy="use raise, wrap or clip")
    return coordinate


def ix_(*args: Any) -> tuple[Array, ...]:
    """Lines of places, or masks, as an open grid to index with: line `i` lies along axis `i`."""
    lines = []
    for axis, arg in enumerate(args):
        line = array_of(arg)
        if line.ndim != 1:
            raise ShapeError(f"ix_ of shape {line.shape}", place=calling_line(), remedy="give lines")
        if line.dtype == np.bool_:
            (line,) = xp.nonzero(line)
        elif not line.size:
            line = xp.astype(line, np.int64)
        lines.append(lying(line, axis, len(args)))
    return tuple(lines)
