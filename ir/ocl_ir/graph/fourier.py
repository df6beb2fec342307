"""Fourier transforms as algorithms of the library."""

from __future__ import annotations

from dataclasses import dataclass

from ocl_ir.graph.library_algorithm import LibraryAlgorithm, Typed
from ocl_ir.types import DType


@dataclass(frozen=True, slots=True)
class FourierTransform(LibraryAlgorithm):
    """Sums of a complex array along an axis with the roots of unity exp(-2 pi i k j / n), `inverse` those of the other
    sign, times 1, 1 / sqrt(n) or 1 / n for a `power` of 0, 1 and 2. n has no prime factor above 13."""

    axis: int
    inverse: bool
    power: int

    def result(self, *operands: Typed) -> Typed:
        """As the array."""
        return operands[0]


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
