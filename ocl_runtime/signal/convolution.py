"""Convolutions and correlations of arrays with any number of axes: of short kernels as sums of moved views, which are
one kernel; of others as products of Fourier transforms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Literal, TypeAlias

import ocl_runtime.arrays as xp
from ocl_ir.source_line import calling_line
from ocl_runtime import fft
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.array import arrays_of
from ocl_runtime.arrays.axes import axes_of
from ocl_runtime.arrays.functions.manipulation import windows
from ocl_runtime.arrays.operands import ArrayLike
from ocl_runtime.errors import Error, ShapeError
from ocl_runtime.fft.lengths import smooth_length

Mode: TypeAlias = Literal["full", "same", "valid"]
Method: TypeAlias = Literal["auto", "direct", "fft"]

_SHORT = 64
"""Elements up to which a kernel is added up term by term: its work grows with them, that of a transform does not."""
_MODES = ("full", "same", "valid")


def convolve(in1: ArrayLike, in2: ArrayLike, mode: Mode = "full", method: Method = "auto") -> Array:
    """The sums of products of the elements of one array and of another one that is turned and moved over it, which has
    as many axes.

    Gives all sums ("full"), as many as `in1` has elements, from the middle ("same"), or those for which both overlap
    wholly ("valid"). By default a kernel of up to 64 elements, and integers, are added up directly, others through
    `fftconvolve`, whose error is relative to the greatest sum. Integers through it are rounded sums in float64.

        convolve(asarray([1.0, 2, 3]), asarray([0, 1, 0.5]))     # [0, 1, 2.5, 4, 1.5]

    Raises `ShapeError` for different numbers of axes, and for "valid" where neither is inside of the other; `Error` for
    another mode or method.
    """
    x, kernel = _both("convolve", in1, in2, mode)
    return _convolved("convolve", x, kernel, mode, method)


def correlate(in1: ArrayLike, in2: ArrayLike, mode: Mode = "full", method: Method = "auto") -> Array:
    """The sums of products of the elements of one array and of the conjugates of another one that is moved over it; as
    `convolve` with that turned. Arguments and errors as of `convolve`."""
    x, kernel = _both("correlate", in1, in2, mode)
    return _convolved("correlate", x, xp.conj(xp.flip(kernel)), mode, method)


def fftconvolve(in1: ArrayLike, in2: ArrayLike, mode: Mode = "full", axes: int | Sequence[int] | None = None) -> Array:
    """`convolve` through Fourier transforms, along `axes`, by default all; the others broadcast. Integers count as the
    default real dtype. Errors as of `convolve`."""
    x, kernel = _both("fftconvolve", in1, in2, mode)
    if axes is not None and not isinstance(axes, int) and not len(axes) and x.ndim:
        raise ShapeError("fftconvolve along no axes", place=calling_line(), remedy="leave them out for all")
    numbers = axes_of("fftconvolve", axes if axes is None or isinstance(axes, int) else tuple(axes), x.ndim)
    for axis in range(x.ndim):
        if axis not in numbers and x.shape[axis] != kernel.shape[axis] and 1 not in (x.shape[axis], kernel.shape[axis]):
            raise _unfit("fftconvolve", x, kernel, f"axis {axis}, along which nothing is convolved, has to broadcast")
    return _by_transforms("fftconvolve", x, kernel, mode, numbers)


def _both(what: str, in1: ArrayLike, in2: ArrayLike, mode: str) -> tuple[Array, Array]:
    if mode not in _MODES:
        raise Error(f"{what} with the mode {mode!r}", place=calling_line(), remedy=f"use one of {', '.join(_MODES)}")
    x, kernel = arrays_of(what, in1, in2)
    if x.ndim != kernel.ndim:
        raise _unfit(what, x, kernel, "both need as many axes")
    dtype = xp.result_type(x, kernel)
    return xp.astype(x, dtype, copy=False), xp.astype(kernel, dtype, copy=False)


def _unfit(what: str, x: Array, kernel: Array, remedy: str) -> ShapeError:
    return ShapeError(f"{what} of shapes {x.shape} and {kernel.shape}", place=calling_line(), remedy=remedy)


def _convolved(what: str, x: Array, kernel: Array, mode: Mode, method: str) -> Array:
    if method not in {"auto", "direct", "fft"}:
        raise Error(f"{what} by the method {method!r}", place=calling_line(), remedy="use auto, direct or fft")
    short = min(x.size, kernel.size) <= _SHORT or not x._dtype.is_inexact
    axes = tuple(range(x.ndim))
    if method == "direct" or (method == "auto" and short):
        return _cut(what, x, kernel, mode, axes, _added_up)
    if x._dtype.is_inexact:
        return _by_transforms(what, x, kernel, mode, axes)
    if not x._executor.target.fp64:  # float32 would lose digits
        raise Error(
            f'{what} of {x.dtype} with method="fft" on a device without float64',
            place=calling_line(),
            remedy='use method="direct", or convert them first: x.astype("f4")',
        )
    sums = xp.round(_by_transforms(what, xp.astype(x, "f8"), xp.astype(kernel, "f8"), mode, axes))
    return xp.astype(xp.astype(sums, "i8") if x.dtype.itemsize < 8 else sums, x.dtype)  # which wraps around


def _by_transforms(what: str, x: Array, kernel: Array, mode: Mode, axes: tuple[int, ...]) -> Array:
    def transformed(first: Array, second: Array) -> Array:
        if not axes:
            return first * second
        lengths = [first.shape[axis] + second.shape[axis] - 1 for axis in axes]
        padded = [smooth_length(int(length)) for length in lengths]
        if first._dtype.is_complex or second._dtype.is_complex:
            spectrum = fft.fftn(first, s=padded, axes=axes) * fft.fftn(second, s=padded, axes=axes)
            whole = fft.ifftn(spectrum, axes=axes)
        else:
            spectrum = fft.rfftn(first, s=padded, axes=axes) * fft.rfftn(second, s=padded, axes=axes)
            whole = fft.irfftn(spectrum, s=padded, axes=axes)
        parts = [slice(None)] * whole.ndim
        for axis, length in zip(axes, lengths, strict=True):
            parts[axis] = slice(0, length)
        return whole[tuple(parts)]

    return _cut(what, x, kernel, mode, axes, transformed)


def _added_up(x: Array, kernel: Array) -> Array:
    """All sums: term by term of the smaller array if it is short, else each as a reduction."""
    if x.size < kernel.size:
        x, kernel = kernel, x
    around = [(length - 1, length - 1) for length in kernel.shape]
    wide = xp.pad(x, around)
    shape = [n + m - 1 for n, m in zip(x.shape, kernel.shape, strict=True)]
    if kernel.size > _SHORT:
        return _reduced(wide, xp.flip(kernel), shape)
    total = xp.zeros(shape, dtype=x.dtype, device=x.device)
    for index in product(*map(range, map(int, kernel.shape))):
        moved = [slice(m - 1 - i, m - 1 - i + n) for i, m, n in zip(index, kernel.shape, shape, strict=True)]
        total = total + wide[tuple(moved)] * kernel[tuple(slice(i, i + 1) for i in index)]
    return total


def _reduced(wide: Array, kernel: Array, shape: Sequence[int]) -> Array:
    """The sums of products with the parts of an array that the kernel lies over, of which there are as many as `shape`
    says."""
    rank, parts = wide.ndim, wide
    for length in shape:  # takes the first axis away, and puts (kernel, result) behind the others
        parts = windows(xp.moveaxis(parts, 0, -1), length)
    parts = xp.permute_dims(parts, (*range(0, 2 * rank, 2), *range(1, 2 * rank, 2)))
    terms = parts * kernel[(...,) + (None,) * rank]
    axes = tuple(range(rank))
    return xp.any(terms, axis=axes) if wide.dtype == "?" else xp.sum(terms, axis=axes, dtype=wide.dtype)


def _cut(
    what: str, x: Array, kernel: Array, mode: Mode, axes: tuple[int, ...], convolved: Callable[[Array, Array], Array]
) -> Array:
    """The sums that a mode asks for."""
    sizes = [(x.shape[axis], kernel.shape[axis]) for axis in axes]
    if mode == "valid":
        larger = all(n >= m for n, m in sizes)
        if not larger and not all(n <= m for n, m in sizes):
            raise _unfit(what, x, kernel, 'one has to be inside of the other: use mode="full"')
    if not x.size or not kernel.size or math.prod(n + m for n, m in sizes) == 0:
        raise _unfit(what, x, kernel, "both need elements")
    whole = convolved(x, kernel)
    parts = [slice(None)] * whole.ndim
    for axis, (n, m) in zip(axes, sizes, strict=True):
        if mode == "same":
            parts[axis] = slice((m - 1) // 2, (m - 1) // 2 + n)
        elif mode == "valid":
            parts[axis] = slice(min(n, m) - 1, max(n, m))
    return whole[tuple(parts)]
