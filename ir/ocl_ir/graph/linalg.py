"""The algorithms of linear algebra, for matrices in the last two axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ocl_ir.graph.library_algorithm import LibraryAlgorithm, Typed


@dataclass(frozen=True, slots=True)
class Cholesky(LibraryAlgorithm):
    """Of symmetric matrices (…, n, n), of which the lower triangles are read, the lower triangular L with
    L @ L.T = A; NaN from the first column on whose pivot is not positive."""

    overwrites: ClassVar[int | None] = 0

    def result(self, *operands: Typed) -> Typed:
        """As the matrices."""
        return operands[0]


@dataclass(frozen=True, slots=True)
class TriangularSolve(LibraryAlgorithm):
    """Of triangular matrices A (…, n, n) and right sides B (…, n, k), the X with A @ X = B, or A.T @ X = B where they
    are `transposed`. `unit`: the diagonal counts as ones."""

    lower: bool
    transposed: bool = False
    unit: bool = False
    overwrites: ClassVar[int | None] = 1

    def result(self, *operands: Typed) -> Typed:
        """As the right sides."""
        return operands[1]
