"""Fourier transforms as algorithms of the library."""

from __future__ import annotations

from dataclasses import dataclass

from ocl_ir.graph.library_algorithm import LibraryAlgorithm, Typed
from ocl_ir.types import C64, C128, F32, I32, DType


@dataclass(frozen=True, slots=True)
class FourierTransform(LibraryAlgorithm):
    """Sums of a complex array along an axis with the roots of unity exp(-2 pi i k j / n), `inverse` those of the other
    sign, times 1, 1 / sqrt(n) or 1 / n for a `power` of 0, 1 and 2. n has no prime factor above 13.

    The axis may be of `pairs` of real numbers that are the parts of complex ones: those that it reads, or, `inverse`,
    those that it writes. It is the last one then."""

    axis: int
    inverse: bool
    power: int
    pairs: bool = False

    def result(self, *operands: Typed) -> Typed:
        """As the array, but for pairs."""
        dtype, shape = operands[0]
        if not self.pairs:
            return operands[0]
        if self.inverse:
            return Typed(dtype.component, (*shape[:-1], 2 * shape[-1]))
        return Typed(C64 if dtype is F32 else C128, (*shape[:-1], shape[-1] // 2))


@dataclass(frozen=True, slots=True)
class HalfSpectrum(LibraryAlgorithm):
    """Of transforms of n/2 complex numbers, whose parts are even and odd real numbers, the first n/2 + 1 elements of
    the transforms of these n, along the last axis; or, `inverse`, n/2 times the former of the latter, of which the
    first and the last element count as real. Scaled as a `FourierTransform` of n points."""

    inverse: bool
    power: int

    def result(self, *operands: Typed) -> Typed:
        """An element more, or less."""
        dtype, (*batch, length) = operands[0]
        return Typed(dtype, (*batch, length - 1 if self.inverse else length + 1))


@dataclass(frozen=True, slots=True)
class RootsOfUnity(LibraryAlgorithm):
    """exp(-2 pi i k / n) for k below `count`, or for their squares, which are a chirp if `squared`. No operands."""

    dtype: DType
    n: int
    count: int
    squared: bool = False

    def result(self, *operands: Typed) -> Typed:
        """A line."""
        del operands
        return Typed(self.dtype, (self.count,))


@dataclass(frozen=True, slots=True)
class ModularPowers(LibraryAlgorithm):
    """Of a primitive root g of a prime p below 2^31: g^k modulo p for k from 0 to p - 2, int32; or if `logarithms` for
    each remainder from 1 to p - 1 the k of which it is the power. No operands."""

    base: int
    modulus: int
    logarithms: bool = False

    def result(self, *operands: Typed) -> Typed:
        """A line."""
        del operands
        return Typed(I32, (self.modulus - 1,))
