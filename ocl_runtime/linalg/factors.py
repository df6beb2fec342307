"""Cholesky and QR factors, triangular systems."""

from __future__ import annotations

from typing import Literal, NamedTuple

from ocl_ir.graph.linalg import Cholesky, QrFactor, TriangularSolve
from ocl_ir.indices import Shape
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import (
    Array,
    any,
    broadcast_shapes,
    broadcast_to,
    expand_dims,
    isnan,
    reshape,
    squeeze,
    use,
    zeros,
)
from ocl_runtime.arrays.operands import ArrayLike
from ocl_runtime.errors import Error, MatrixShapeError
from ocl_runtime.linalg.operands import (
    adjoint,
    called,
    checked,
    floating_arrays,
    identity_like,
    matrices,
    raise_if,
)
from ocl_runtime.linalg.vectors import diagonal


class QRResult(NamedTuple):
    """The factors of `qr`."""

    Q: Array
    R: Array


def cholesky(x: ArrayLike, /, *, upper: bool = False) -> Array:
    """The lower triangular L with L @ L.H = x of symmetric or Hermitian positive definite matrices, of which only the
    lower triangles are read; `upper`, the U with U.H @ U = x, from the upper ones. L.H is the conjugate transpose, and
    imaginary parts on the diagonal count as 0.

        cholesky(asarray([[4.0, 2.0], [2.0, 5.0]]))  # [[2, 0], [1, 2]]

    Raises `LinAlgError` for a matrix that is not positive definite, which a flag tells that is read at once (NaN where
    the call is captured); `ShapeError` for matrices that are not square, `DTypeError` for others than float32,
    float64, complex64 and complex128.
    """
    x = matrices("cholesky", x, square=True)
    factor = called(Cholesky(), adjoint(x) if upper else x)
    raise_if(any(isnan(diagonal(factor))), "a matrix is not positive definite", "add to its diagonal, or use eigh")
    return adjoint(factor) if upper else factor


def qr(x: ArrayLike, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """Q with orthonormal columns and upper triangular R with Q @ R = x, by Householder reflections. Of m × n matrices
    Q is m × k and R k × n, where k is the lesser of both; m if `complete`. The diagonal of R is real.

    Raises `Error` for another mode; errors else as of `cholesky`, but for `LinAlgError`.
    """
    x = matrices("qr", x)
    if mode not in ("reduced", "complete"):
        raise Error(f"qr in mode {mode!r}", place=calling_line(), remedy="use 'reduced' or 'complete'")
    *batch, m, n = x.shape
    k = m if mode == "complete" else m if m < n else n
    if not x.size:
        with use(x._executor):
            return QRResult(identity_like(x, m, tuple(batch))[..., :k], zeros((*batch, k, n), dtype=x.dtype))
    packed = called(QrFactor(mode == "complete"), x)
    return QRResult(
        reshape(packed[..., : m * k], (*batch, m, k)),
        reshape(packed[..., m * k :], (*batch, k, n)),
    )


def solve_triangular(
    a: ArrayLike, b: ArrayLike, /, *, lower: bool = False, transposed: bool = False, unit_diagonal: bool = False
) -> Array:
    """The x with a @ x = b for triangular matrices, or a.T @ x = b if they are `transposed`; the other triangle is not
    read. A `b` with one axis is a vector; else axes in front of the last two broadcast. Transposed matrices are not
    conjugated: for the conjugate transposes give `conj(a)`.

        solve_triangular(asarray([[2.0, 0.0], [1.0, 4.0]]), asarray([2.0, 9.0]), lower=True)     # [1, 2]

    A zero on the diagonal gives infinities and NaN. Errors as of `cholesky`, but for `LinAlgError`.
    """
    a, b = floating_arrays("solve_triangular", a, b)
    right, batch = system("solve_triangular", a, b)
    algorithm = TriangularSolve(lower=bool(lower), transposed=bool(transposed), unit=bool(unit_diagonal))
    return as_right_side(called(algorithm, broadcast_to(a, (*batch, *a.shape[-2:])), right), b)


def system(what: str, a: Array, b: Array, *, square: bool = True) -> tuple[Array, Shape]:
    """The right sides of a system as columns for each matrix, and the axes in front of both.

    Raises `MatrixShapeError` for what are no matrices, or not `square` ones if they are to be, and for right sides with
    other rows; `ShapeError` for axes in front that do not broadcast.
    """
    checked(what, a, square=square)
    right = expand_dims(b, axis=-1) if b.ndim == 1 else checked(what, b)
    if right.shape[-2] != a.shape[-2]:
        raise MatrixShapeError(
            f"{what} of shapes {a.shape} and {b.shape}",
            place=calling_line(),
            remedy="the right side needs as many rows as the matrix has",
        )
    batch = broadcast_shapes(a.shape[:-2], right.shape[:-2])
    return broadcast_to(right, (*batch, *right.shape[-2:])), batch


def as_right_side(x: Array, b: Array) -> Array:
    """A solution in the form of the right side."""
    return squeeze(x, -1) if b.ndim == 1 else x
