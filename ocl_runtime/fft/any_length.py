"""Fourier transforms along one axis, of any length.

A length without prime factors above 13 is transformed by butterflies (`ocl_runtime.plan.kernels.fourier`). One of a
prime that is one more than such a length is a convolution of that length, any other one a convolution with a chirp.
"""

from __future__ import annotations

import ocl_runtime.arrays as xp
from ocl_ir.graph import build as graph
from ocl_ir.graph.fourier import FourierTransform, ModularPowers, RootsOfUnity
from ocl_ir.types import C128
from ocl_runtime.arrays import Array
from ocl_runtime.fft.lengths import is_smooth, primitive_root, smooth_length


def transform(x: Array, *, inverse: bool = False, power: int = 0) -> Array:
    """The transform along the last axis, of any length, times 1 / sqrt(n) to a power."""
    n = x.shape[-1]
    if is_smooth(n):
        return smooth_transform(x, x.ndim - 1, inverse=inverse, power=power)
    root = primitive_root(int(n))
    transformed = _by_chirp(x, inverse=inverse) if root is None else _by_powers(x, root, inverse=inverse)
    return transformed * float(n) ** (-power / 2) if power else transformed


def smooth_transform(x: Array, axis: int, *, inverse: bool = False, power: int = 0) -> Array:
    """The transform along an axis of a smooth length."""
    if x.shape[axis] == 1 or not x.size:
        return +x
    return Array(graph.custom_call(FourierTransform(axis, inverse, power), x._node), x._executor)


def _by_powers(x: Array, root: int, *, inverse: bool) -> Array:
    """That of a prime length p: the elements but the first, in the order of the powers of a primitive root of p, are
    convolved with roots of unity. C. Rader, Discrete Fourier transforms when the number of data samples is prime, Proc.
    IEEE 56 (1968)."""
    n = int(x.shape[-1])
    ascending, descending, logarithms = (
        Array(graph.custom_call(ModularPowers(base, n, of_logarithms)), x._executor)
        for base, of_logarithms in ((root, False), (pow(root, -1, n), False), (pow(root, -1, n), True))
    )
    factors = xp.take(_roots(x, n, n, inverse=inverse), descending)
    first = x[..., :1]
    spectrum = smooth_transform(xp.take(x, ascending, axis=-1), x.ndim - 1)
    convolved = _convolved(spectrum, factors)
    return xp.concat([first + spectrum[..., :1], first + xp.take(convolved, logarithms, axis=-1)], axis=-1)


def _by_chirp(x: Array, *, inverse: bool) -> Array:
    """That of any length: L. Bluestein, A linear filtering approach to the computation of discrete Fourier transform,
    IEEE Trans. Audio Electroacoust. 18 (1970)."""
    n = int(x.shape[-1])
    padded = smooth_length(2 * n - 1)
    exact = _roots(x, 2 * n, n, squared=True, inverse=inverse)
    other, chirp = xp.conj(exact), xp.astype(exact, x.dtype)
    between = xp.zeros(padded - 2 * n + 1, dtype=exact.dtype, device=x.device)
    turned = xp.pad(x * chirp, [*[(0, 0)] * (x.ndim - 1), (0, padded - n)])
    spectrum = smooth_transform(turned, x.ndim - 1)
    return _convolved(spectrum, xp.concat([other, between, xp.flip(other[1:])]))[..., :n] * chirp


def _convolved(spectrum: Array, factors: Array) -> Array:
    """The cyclic convolution of the lines that a spectrum is of with others."""
    filter_ = xp.astype(smooth_transform(factors, 0), spectrum.dtype)
    return smooth_transform(spectrum * filter_, spectrum.ndim - 1, inverse=True, power=2)


def _roots(x: Array, n: int, count: int, *, squared: bool = False, inverse: bool) -> Array:
    """Roots of unity where an array is, as exact as the device can compute what is the same for all lines: that saves
    half of the error."""
    dtype = C128 if x._executor.target.fp64 else x._dtype
    roots = Array(graph.custom_call(RootsOfUnity(dtype, n, count, squared)), x._executor)
    return xp.conj(roots) if inverse else roots
