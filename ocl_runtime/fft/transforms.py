"""Fourier transforms of the array API standard, of any length, along any axes.

A line of complex numbers is transformed in `any_length.py`. Real numbers are transformed at half the work, two at a
time as one complex number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import ocl_runtime.arrays as xp
from ocl_ir.graph import build as graph
from ocl_ir.graph.fourier import FourierTransform, HalfSpectrum
from ocl_ir.guards import integer
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.array import array_of
from ocl_runtime.arrays.axes import axes_of, axis_of
from ocl_runtime.arrays.meaning.dtypes import complex_of as complex_dtype
from ocl_runtime.arrays.operands import ArrayLike
from ocl_runtime.errors import DTypeError, Error, ShapeError
from ocl_runtime.fft.any_length import smooth_transform, transform
from ocl_runtime.fft.lengths import is_smooth

Norm: TypeAlias = Literal["backward", "ortho", "forward"]

_POWERS = {"backward": 0, "ortho": 1, "forward": 2}
"""Of 1 / sqrt(n), by which a transform is scaled; its inverse has the rest of 1 / n."""


def fft(x: ArrayLike, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """The Fourier transform along an axis: sums of x[j] exp(-2 pi i j k / n) over j.

    `n` cuts the axis or pads it with zeros. "backward" scales the inverse by 1/n, "forward" this one, "ortho" both by
    1/sqrt(n). Gives complex64 for float32 and narrower, complex128 for float64; integers count as the default real
    dtype. The error is within twice that of pocketfft (docs/NUMERICS.md).

        fft(asarray([1.0, 0, 0, 0]))        # [1, 1, 1, 1]

    Raises `ShapeError` for an axis without elements or an `n` below 1, `Error` for another norm.
    """
    return _along("fft", x, n, axis, norm, inverse=False)


def ifft(x: ArrayLike, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """The inverse of `fft`: sums of x[k] exp(2 pi i j k / n) / n over k. Arguments and errors as of `fft`."""
    return _along("ifft", x, n, axis, norm, inverse=True)


def fftn(
    x: ArrayLike, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Array:
    """`fft` along several axes, by default all, or the last ones as many as lengths `s` are given.

    Raises `ShapeError` also for lengths and axes of different number, `IndexingError` for axes that do not exist.
    """
    return _along_each("fftn", x, s, axes, norm, inverse=False)


def ifftn(
    x: ArrayLike, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Array:
    """The inverse of `fftn`; arguments and errors as of that."""
    return _along_each("ifftn", x, s, axes, norm, inverse=True)


def rfft(x: ArrayLike, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """The first n // 2 + 1 elements of the `fft` of real numbers, which tell the others: these are their conjugates.

    Arguments and errors as of `fft`; raises `DTypeError` for complex numbers.
    """
    array = _real("rfft", x)
    number, length = _line("rfft", array, n, axis)
    return xp.moveaxis(_of_real(_fitted(array, length, number), _power("rfft", norm)), -1, number)


def irfft(x: ArrayLike, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """The inverse of `rfft`: `n` real numbers, by default twice the length less two. Of the first element, and of the
    last one where n is even, the imaginary part counts as 0. Arguments and errors as of `fft`."""
    array = _complex("irfft", x)
    number = axis_of("irfft", axis, array.ndim)
    length = _length("irfft", array, number, 2 * (array.shape[number] - 1) if n is None else n)
    half = _fitted(array, length // 2 + 1, number)
    return xp.moveaxis(_to_real(half, length, 2 - _power("irfft", norm)), -1, number)


def rfftn(
    x: ArrayLike, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Array:
    """`rfft` along the last of several axes, then `fft` along the others. Arguments as of `fftn`, errors as of
    `rfft`."""
    array = _real("rfftn", x)
    numbers, lengths = _lines("rfftn", array, s, axes)
    if not numbers:
        raise _no_axes("rfftn")
    result = rfft(array, n=lengths[-1], axis=numbers[-1], norm=norm)
    return _along_each("rfftn", result, lengths[:-1], numbers[:-1], norm, inverse=False)


def irfftn(
    x: ArrayLike, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Array:
    """The inverse of `rfftn`: `ifft` along all axes but the last, `irfft` along that. Arguments as of `fftn`."""
    array = _complex("irfftn", x)
    numbers, lengths = _lines("irfftn", array, s, axes)
    if not numbers:
        raise _no_axes("irfftn")
    last = None if s is None else lengths[-1]
    array = _along_each("irfftn", array, lengths[:-1], numbers[:-1], norm, inverse=True)
    return irfft(array, n=last, axis=numbers[-1], norm=norm)


def hfft(x: ArrayLike, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """The `fft` of an array of which the second half is the conjugate of the first one, which is given: real numbers.
    Arguments and errors as of `irfft`."""
    return irfft(xp.conj(_complex("hfft", x)), n=n, axis=axis, norm=_other(norm))


def ihfft(x: ArrayLike, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """The inverse of `hfft`, of real numbers. Arguments and errors as of `rfft`."""
    return xp.conj(rfft(_real("ihfft", x), n=n, axis=axis, norm=_other(norm)))


# ---------------------------------------------------------------------- operands


def _other(norm: Norm) -> Norm:
    """The norm of the inverse."""
    others: dict[str, Norm] = {"backward": "forward", "forward": "backward"}
    return others.get(norm, norm)


def _power(what: str, norm: str) -> int:
    if norm not in _POWERS:
        raise Error(
            f"{what} with the norm {norm!r}", place=calling_line(), remedy='use "backward", "ortho" or "forward"'
        )
    return _POWERS[norm]


def _complex(what: str, x: ArrayLike) -> Array:
    array = array_of(what, x)
    if array._dtype.is_complex:
        return array
    real = array._dtype if array._dtype.is_float else array._executor.default_real
    return xp.astype(array, complex_dtype(real).numpy)


def _real(what: str, x: ArrayLike) -> Array:
    array = array_of(what, x)
    if array._dtype.is_complex:
        raise DTypeError(f"{what} of {array.dtype}", place=calling_line(), remedy="use fft, or take real(x)")
    real = array._dtype if array._dtype.is_float else array._executor.default_real
    return xp.astype(array, complex_dtype(real).component.numpy, copy=False)


def _line(what: str, x: Array, n: int | None, axis: int) -> tuple[int, int]:
    """The number of an axis and the length of the transform along it."""
    number = axis_of(what, axis, x.ndim)
    return number, _length(what, x, number, x.shape[number] if n is None else n)


def _length(what: str, x: Array, axis: int, n: object) -> int:
    try:
        length = 0 if isinstance(n, bool) else integer(n)
    except TypeError:
        length = 0
    if length < 1:
        raise ShapeError(
            f"{what} of {n!r} points, along axis {axis} of shape {x.shape}",
            place=calling_line(),
            remedy="give an n of at least 1",
        )
    return length


def _lines(
    what: str, x: Array, s: Sequence[int] | None, axes: Sequence[int] | None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes and lengths of a transform along several."""
    if axes is None and s is not None:
        numbers = tuple(range(max(0, x.ndim - len(s)), x.ndim))
    else:
        numbers = axes_of(what, axes, x.ndim)
    if s is not None and len(s) != len(numbers):
        raise ShapeError(
            f"{what} with {len(s)} lengths along {len(numbers)} axes",
            place=calling_line(),
            remedy="give a length for each axis",
        )
    lengths = [x.shape[number] for number in numbers] if s is None else list(s)
    lengths = [x.shape[number] if n == -1 else n for n, number in zip(lengths, numbers, strict=True)]
    return numbers, tuple(lengths)


def _no_axes(what: str) -> ShapeError:
    return ShapeError(f"{what} along no axes", place=calling_line(), remedy="name one at least")


def _fitted(x: Array, length: int, axis: int) -> Array:
    """The array with an axis cut or padded to a length, and moved to the end."""
    x = xp.moveaxis(x, axis, -1)
    if x.shape[-1] >= length:
        return x[..., :length]
    return xp.pad(x, [*[(0, 0)] * (x.ndim - 1), (0, length - x.shape[-1])])


# ---------------------------------------------------------------------- transforms


def _along(what: str, x: ArrayLike, n: int | None, axis: int, norm: str, *, inverse: bool) -> Array:
    array = _complex(what, x)
    number, length = _line(what, array, n, axis)
    power = 2 - _power(what, norm) if inverse else _power(what, norm)
    if length == array.shape[number] and is_smooth(length):
        return smooth_transform(array, number, inverse=inverse, power=power)
    fitted = _fitted(array, length, number)
    return xp.moveaxis(transform(fitted, inverse=inverse, power=power), -1, number)


def _along_each(
    what: str,
    x: ArrayLike,
    s: Sequence[int] | None,
    axes: Sequence[int] | None,
    norm: Norm,
    *,
    inverse: bool,
) -> Array:
    array = _complex(what, x)
    numbers, lengths = _lines(what, array, s, axes)
    for number, length in reversed([*zip(numbers, lengths, strict=True)]):
        array = _along(what, array, length, number, norm, inverse=inverse)
    return array if numbers else +array


def _of_real(x: Array, power: int) -> Array:
    """The first half of the transform of real numbers, along the last axis: even and odd ones are the parts of complex
    numbers, whose transform is taken apart again by its symmetry."""
    n = x.shape[-1]
    if n % 2:
        whole = transform(xp.astype(x, complex_dtype(x._dtype).numpy), inverse=False, power=power)
        return whole[..., : n // 2 + 1]
    half = n // 2
    pairs = _of_pairs(x) if is_smooth(half) else transform(xp.complex_of(x[..., ::2], x[..., 1::2]))
    if not pairs.size:
        return xp.zeros((*pairs.shape[:-1], half + 1), dtype=pairs.dtype, device=x.device)
    return Array(graph.custom_call(HalfSpectrum(inverse=False, power=power), pairs._node), x._executor)


def _of_pairs(x: Array) -> Array:
    """The transform along the last axis of numbers whose parts are neighbours there."""
    if x.shape[-1] == 2 or not x.size:
        return xp.complex_of(x[..., ::2], x[..., 1::2])
    algorithm = FourierTransform(x.ndim - 1, inverse=False, power=0, pairs=True)
    return Array(graph.custom_call(algorithm, x._node), x._executor)


def _to_pairs(x: Array) -> Array:
    """The parts of numbers as neighbours along the last axis, of which `x` is the transform times their number."""
    if x.shape[-1] == 1 or not x.size or not is_smooth(x.shape[-1]):
        numbers = transform(x, inverse=True)
        return xp.reshape(xp.stack([xp.real(numbers), xp.imag(numbers)], axis=-1), (*x.shape[:-1], 2 * x.shape[-1]))
    algorithm = FourierTransform(x.ndim - 1, inverse=True, power=0, pairs=True)
    return Array(graph.custom_call(algorithm, x._node), x._executor)


def _to_real(x: Array, n: int, power: int) -> Array:
    """The real numbers that the first half of a transform, in the last axis, is of; scaled by 1/sqrt(n) to a power."""
    if n % 2:
        first = xp.astype(xp.real(x[..., :1]), x.dtype)
        whole = xp.concat([first, x[..., 1:], xp.conj(xp.flip(x[..., 1:], axis=-1))], axis=-1)
        return xp.real(transform(whole, inverse=True, power=power))
    if not x.size:
        return xp.zeros((*x.shape[:-1], n), dtype=x._dtype.component.numpy, device=x.device)
    return _to_pairs(Array(graph.custom_call(HalfSpectrum(inverse=True, power=power), x._node), x._executor))
