"""The algorithms of linear algebra, for matrices in the last two axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ocl_ir.graph.library_algorithm import LibraryAlgorithm, Typed
from ocl_ir.types import C64, C128, F32


@dataclass(frozen=True, slots=True)
class Cholesky(LibraryAlgorithm):
    """Of symmetric or Hermitian matrices (…, n, n), of which the lower triangles are read, the lower triangular L with
    L @ L.H = A; NaN from the first column on whose pivot is not positive. L.H is the conjugate transpose."""

    overwrites: ClassVar[int | None] = 0

    def result(self, *operands: Typed) -> Typed:
        """As the matrices."""
        return operands[0]


@dataclass(frozen=True, slots=True)
class TriangularSolve(LibraryAlgorithm):
    """Of triangular matrices A (…, n, n) and right sides B (…, n, k), the X with A @ X = B, or A.T @ X = B where they
    are `transposed`, which conjugates nothing. `unit`: the diagonal counts as ones."""

    lower: bool
    transposed: bool = False
    unit: bool = False
    overwrites: ClassVar[int | None] = 1

    def result(self, *operands: Typed) -> Typed:
        """As the right sides."""
        return operands[1]


@dataclass(frozen=True, slots=True)
class LuFactor(LibraryAlgorithm):
    """Of matrices (…, n, n), n + 2 rows (…, n + 2, n): L below the diagonal of n rows, whose own is ones, and U in the
    rest of them, with P @ A = L @ U; then two of numbers of the same dtype: for each row in turn the one that it
    changed places with, and for each row of P @ A the row of A. Pivots have the greatest magnitude of their columns."""

    def result(self, *operands: Typed) -> Typed:
        """Two rows more than the matrices."""
        dtype, (*batch, rows, columns) = operands[0]
        return Typed(dtype, (*batch, rows + 2, columns))


@dataclass(frozen=True, slots=True)
class LuSolve(LibraryAlgorithm):
    """Of what `LuFactor` gave (…, n + 2, n) and right sides B (…, n, k), the X with A @ X = B."""

    def result(self, *operands: Typed) -> Typed:
        """As the right sides."""
        return operands[1]


@dataclass(frozen=True, slots=True)
class QrFactor(LibraryAlgorithm):
    """Of matrices (…, m, n), the rows of Q and then those of R, each in row-major order, in one axis: Q is (m, k) and R
    is (k, n), where k is m if `complete`, else the lesser of m and n. The diagonal of R is real."""

    complete: bool = False

    def result(self, *operands: Typed) -> Typed:
        """One axis for both factors."""
        dtype, (*batch, m, n) = operands[0]
        k = m if self.complete else min(m, n)
        return Typed(dtype, (*batch, k * (m + n)))


@dataclass(frozen=True, slots=True)
class OrthogonalRows(LibraryAlgorithm):
    """Of matrices W (…, n, m), the rows of Q @ W for a unitary Q that makes their first n elements orthogonal:
    one-sided Jacobi. No element is so great or small that its square is not a number of its dtype, unless it counts as
    0."""

    overwrites: ClassVar[int | None] = 0

    def result(self, *operands: Typed) -> Typed:
        """As the matrices."""
        return operands[0]


@dataclass(frozen=True, slots=True)
class Eigen(LibraryAlgorithm):
    """Of matrices (…, n, n), complex numbers (…, n + 1, n): their eigenvalues in the first row, and eigenvectors of
    length 1 as columns below; without `vectors` that row alone (…, 1, n). NaN for a matrix that has elements which are
    not finite, or whose iterations do not end."""

    vectors: bool = True

    def result(self, *operands: Typed) -> Typed:
        """A row more than the matrices, or one."""
        dtype, (*batch, n, _) = operands[0]
        if not dtype.is_complex:
            dtype = C64 if dtype is F32 else C128
        return Typed(dtype, (*batch, n + 1 if self.vectors else 1, n))
