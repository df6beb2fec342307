"""What belongs to the elements of Fourier transforms: their frequencies, and the order in which 0 is in the middle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ocl_runtime.arrays as xp
from ocl_ir.source_line import calling_line
from ocl_ir.types import from_numpy
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.array import array_of
from ocl_runtime.arrays.axes import axes_of, length_of
from ocl_runtime.arrays.operands import ArrayLike
from ocl_runtime.errors import DTypeError, ShapeError


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: object = None) -> Array:
    """The frequencies of the elements of an `fft` of `n` samples that are `d` apart: 0, 1, …, -2, -1 divided by n d.

        fftfreq(4, d=0.5)       # [0, 0.5, -1, -0.5]

    In the default real dtype unless another one is given. Raises `ShapeError` for a number that is no length, or 0.
    """
    count = _points("fftfreq", n)
    number = xp.arange(count, dtype=xp.int64, device=device)
    return _divided(xp.where(number < (count + 1) // 2, number, number - count), count * d, dtype)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: object = None) -> Array:
    """The frequencies of the elements of an `rfft`: 0, 1, …, n // 2 divided by n d. Arguments and errors as of
    `fftfreq`."""
    count = _points("rfftfreq", n)
    return _divided(xp.arange(count // 2 + 1, dtype=xp.int64, device=device), count * d, dtype)


def _points(what: str, n: int) -> int:
    count = length_of(what, n)
    if not count:
        raise ShapeError(f"{what} of 0 points", place=calling_line(), remedy="give at least one")
    return count


def _divided(numbers: Array, by: float, dtype: Any) -> Array:
    wanted = numbers._executor.default_real if dtype is None else from_numpy(dtype)
    if not wanted.is_float:
        raise DTypeError(f"frequencies of dtype {wanted}", place=calling_line(), remedy="ask for a real floating one")
    return xp.astype(numbers, wanted.numpy) / by


def fftshift(x: ArrayLike, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """The elements rolled by half the length of axes, by default all, so that the frequency 0 is in the middle.

    Raises `ShapeError` for axes that do not exist or are named twice.
    """
    return _rolled("fftshift", x, axes, back=False)


def ifftshift(x: ArrayLike, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """The inverse of `fftshift`, which differs for odd lengths."""
    return _rolled("ifftshift", x, axes, back=True)


def _rolled(what: str, x: ArrayLike, axes: int | Sequence[int] | None, *, back: bool) -> Array:
    array = array_of(what, x)
    numbers = axes_of(what, axes if axes is None or isinstance(axes, int) else tuple(axes), array.ndim)
    if not numbers:
        return +array
    steps = tuple(-(array.shape[axis] // 2) if back else array.shape[axis] // 2 for axis in numbers)
    return xp.roll(array, steps, axis=numbers)
