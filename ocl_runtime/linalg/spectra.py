"""Eigenvalues of symmetric or Hermitian matrices and singular values, by one-sided Jacobi rotations."""

from __future__ import annotations

from typing import NamedTuple

from ocl_ir.graph.linalg import OrthogonalRows
from ocl_runtime.arrays import (
    Array,
    abs,
    argsort,
    broadcast_to,
    concat,
    conj,
    expand_dims,
    imag,
    isfinite,
    less,
    logical_and,
    max,
    maximum,
    real,
    sort,
    sqrt,
    sum,
    take_along_axis,
    use,
    where,
    zeros,
)
from ocl_runtime.arrays.operands import ArrayLike
from ocl_runtime.linalg.factors import qr
from ocl_runtime.linalg.operands import (
    adjoint,
    called,
    divided,
    from_lower,
    identity_like,
    matrices,
    product,
    squared_magnitudes,
)
from ocl_runtime.linalg.vectors import diagonal

_LARGE = 32
"""Rows from which on the greatest sum of a row is too far above the 2-norm for the errors that are promised."""


class EighResult(NamedTuple):
    """What `eigh` gives."""

    eigenvalues: Array
    eigenvectors: Array


class SVDResult(NamedTuple):
    """What `svd` gives."""

    U: Array
    S: Array
    Vh: Array


def eigh(x: ArrayLike, /) -> EighResult:
    """The eigenvalues of symmetric or Hermitian matrices in ascending order, which are real, and orthonormal
    eigenvectors as columns. The lower triangles are read; imaginary parts on the diagonal count as 0.

        eigh(asarray([[2.0, 1.0], [1.0, 2.0]])).eigenvalues      # [1, 3]

    Raises `ShapeError` for matrices that are not square, `DTypeError` for others than float32, float64, complex64
    and complex128. NaN in a matrix is NaN in all that comes of it.
    """
    x = matrices("eigh", x, square=True)
    values, rows = _symmetric(x)
    order = argsort(values)
    rows = take_along_axis(rows, broadcast_to(expand_dims(order, axis=-1), rows.shape), axis=-2)
    return EighResult(take_along_axis(values, order, axis=-1), adjoint(rows))


def eigvalsh(x: ArrayLike, /) -> Array:
    """The eigenvalues of symmetric or Hermitian matrices in ascending order. Errors as of `eigh`."""
    return sort(_symmetric(matrices("eigvalsh", x, square=True))[0])


def svd(x: ArrayLike, /, *, full_matrices: bool = True) -> SVDResult:
    """The singular value decomposition x = U @ diag(S) @ Vh: U and Vh have orthonormal columns and rows, S is not
    negative and in descending order. Of m × n matrices and the lesser k of both, U is m × m and Vh n × n, without
    `full_matrices` m × k and k × n.

    Raises `ShapeError` for less than two axes, `DTypeError` for others than float32, float64, complex64 and
    complex128. NaN in a matrix is NaN in all that comes of it.
    """
    x = matrices("svd", x)
    if x.shape[-2] < x.shape[-1]:
        u, s, vh = svd(adjoint(x), full_matrices=full_matrices)
        return SVDResult(adjoint(vh), s, adjoint(u))
    *batch, m, n = x.shape
    if not x.size:
        left = identity_like(x, m, tuple(batch))
        with use(x._executor):
            none = zeros((*batch, n), dtype=x._dtype.component.numpy)
        return SVDResult(left if full_matrices else left[..., :n], none, identity_like(x, n, tuple(batch)))
    scale, q, r = _triangular(x, complete=full_matrices)
    rows = called(OrthogonalRows(), concat([r, identity_like(x, n, tuple(batch))], axis=-1))
    lengths = _lengths(rows[..., :n])
    order = argsort(lengths, descending=True)
    rows = take_along_axis(rows, broadcast_to(expand_dims(order, axis=-1), rows.shape), axis=-2)
    # Rows of length 0 have no direction: reflections give one, and those of the others but for the sign.
    right, upper = qr(adjoint(rows[..., :n]))
    right = right * expand_dims(where(less(real(diagonal(upper)), 0), -1.0, 1.0), axis=-2).astype(x.dtype)
    left = product(q[..., :n], adjoint(rows[..., n:]))
    u = concat([left, q[..., n:]], axis=-1) if full_matrices and m > n else left
    return SVDResult(u, take_along_axis(lengths, order, axis=-1) * scale, adjoint(right))


def svdvals(x: ArrayLike, /) -> Array:
    """The singular values of matrices in descending order. Errors as of `svd`."""
    x = matrices("svdvals", x)
    if x.shape[-2] < x.shape[-1]:
        x = adjoint(x)
    if not x.size:
        return svd(x, full_matrices=False).S
    scale, _, r = _triangular(x, complete=False)
    return sort(_lengths(called(OrthogonalRows(), r)), descending=True) * scale


def _symmetric(x: Array) -> tuple[Array, Array]:
    """The eigenvalues of symmetric or Hermitian matrices, and the adjoints of their eigenvectors as rows.

    A multiple of the identity that makes them positive definite changes no eigenvector, and the rows that rotations
    make orthogonal are eigenvectors then. The eigenvalues are their Rayleigh quotients with the matrices themselves.
    """
    if not x.size:
        return real(x[..., 0] if x.shape[-1] else x[..., :0].sum(axis=-1)), x
    whole = from_lower(x)
    scaled = divided(whole, _scale(whole))
    shift = maximum(2 * _bound(scaled), 1)
    rows = called(OrthogonalRows(), scaled + shift * identity_like(x, x.shape[-1], ()))
    rows = rows / expand_dims(_lengths(rows), axis=-1)
    return real(sum(product(rows, whole) * conj(rows), axis=-1)), rows


def _bound(x: Array) -> Array:
    """What the 2-norms of Hermitian matrices are not above, nor far below: the greatest sum of magnitudes of a row, of
    large matrices the root of that of their squares."""
    if x.shape[-1] <= _LARGE:
        return max(sum(abs(x), axis=-1, keepdims=True), axis=-2, keepdims=True)
    return sqrt(max(sum(abs(product(x, x)), axis=-1, keepdims=True), axis=-2, keepdims=True))


def _triangular(x: Array, *, complete: bool) -> tuple[Array, Array, Array]:
    """The greatest magnitudes, and QR factors of the rest; R without rows of zeros."""
    scale = _scale(x)
    q, r = qr(divided(x, scale), mode="complete" if complete else "reduced")
    return scale[..., 0], q, r[..., : x.shape[-1], :]


def _scale(x: Array) -> Array:
    """The greatest part of each matrix, 1 for one of zeros: squares do not overflow once it is divided by that."""
    sizes = maximum(abs(real(x)), abs(imag(x))) if x._dtype.is_complex else abs(x)
    largest = max(sizes, axis=(-2, -1), keepdims=True)
    return where(logical_and(largest > 0, isfinite(largest)), largest, 1.0)


def _lengths(rows: Array) -> Array:
    """Those of vectors."""
    return sqrt(sum(squared_magnitudes(rows), axis=-1))
