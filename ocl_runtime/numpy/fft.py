"""NumPy's `fft`: its names and signatures over arrays of the device. Integers become complex128, as in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ocl_runtime import fft as transforms
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.current_runtime import current_executor
from ocl_runtime.numpy.operands import array_of, floats, into
from ocl_runtime.numpy.promotion import real

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

Axes = Sequence[int] | None


def _norm(norm: Any) -> Any:
    return "backward" if norm is None else norm


def fft(a: Any, n: int | None = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """The Fourier transform along an axis."""
    return into("fft", transforms.fft(*floats(a), n=n, axis=axis, norm=_norm(norm)), out)


def ifft(a: Any, n: int | None = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """The inverse of `fft`."""
    return into("ifft", transforms.ifft(*floats(a), n=n, axis=axis, norm=_norm(norm)), out)


def rfft(a: Any, n: int | None = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """The first half of the transform of real numbers."""
    return into("rfft", transforms.rfft(*floats(a), n=n, axis=axis, norm=_norm(norm)), out)


def irfft(a: Any, n: int | None = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """The inverse of `rfft`."""
    return into("irfft", transforms.irfft(*floats(a), n=n, axis=axis, norm=_norm(norm)), out)


def hfft(a: Any, n: int | None = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """The transform of what is the conjugate of itself backwards, given by its first half."""
    return into("hfft", transforms.hfft(*floats(a), n=n, axis=axis, norm=_norm(norm)), out)


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """The inverse of `hfft`."""
    return into("ihfft", transforms.ihfft(*floats(a), n=n, axis=axis, norm=_norm(norm)), out)


def fftn(a: Any, s: Axes = None, axes: Axes = None, norm: Any = None, out: Any = None) -> Any:
    """`fft` along several axes, by default all."""
    return into("fftn", transforms.fftn(*floats(a), s=s, axes=axes, norm=_norm(norm)), out)


def ifftn(a: Any, s: Axes = None, axes: Axes = None, norm: Any = None, out: Any = None) -> Any:
    """The inverse of `fftn`."""
    return into("ifftn", transforms.ifftn(*floats(a), s=s, axes=axes, norm=_norm(norm)), out)


def rfftn(a: Any, s: Axes = None, axes: Axes = None, norm: Any = None, out: Any = None) -> Any:
    """`rfft` along the last of several axes, `fft` along the others."""
    return into("rfftn", transforms.rfftn(*floats(a), s=s, axes=axes, norm=_norm(norm)), out)


def irfftn(a: Any, s: Axes = None, axes: Axes = None, norm: Any = None, out: Any = None) -> Any:
    """The inverse of `rfftn`."""
    return into("irfftn", transforms.irfftn(*floats(a), s=s, axes=axes, norm=_norm(norm)), out)


def fft2(a: Any, s: Axes = None, axes: Axes = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    """`fftn` along two axes."""
    return fftn(a, s, axes, norm, out)


def ifft2(a: Any, s: Axes = None, axes: Axes = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    """`ifftn` along two axes."""
    return ifftn(a, s, axes, norm, out)


def rfft2(a: Any, s: Axes = None, axes: Axes = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    """`rfftn` along two axes."""
    return rfftn(a, s, axes, norm, out)


def irfft2(a: Any, s: Axes = None, axes: Axes = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    """`irfftn` along two axes."""
    return irfftn(a, s, axes, norm, out)


def fftfreq(n: int, d: float = 1.0, device: Any = None) -> Array:
    """The frequencies of the elements of an `fft`."""
    return transforms.fftfreq(n, d=d, dtype=real(current_executor()), device=device)


def rfftfreq(n: int, d: float = 1.0, device: Any = None) -> Array:
    """The frequencies of the elements of an `rfft`."""
    return transforms.rfftfreq(n, d=d, dtype=real(current_executor()), device=device)


def fftshift(x: Any, axes: Any = None) -> Array:
    """The elements with the frequency 0 in the middle."""
    return transforms.fftshift(array_of(x), axes=axes)


def ifftshift(x: Any, axes: Any = None) -> Array:
    """The inverse of `fftshift`."""
    return transforms.ifftshift(array_of(x), axes=axes)
