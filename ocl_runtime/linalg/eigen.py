"""Eigenvalues and eigenvectors of general matrices, by QR iterations (`Eigen`)."""

from __future__ import annotations

from typing import NamedTuple

from ocl_ir.graph.linalg import Eigen
from ocl_ir.types import C64, F32
from ocl_runtime.arrays import Array, astype, use, zeros
from ocl_runtime.arrays.operands import ArrayLike
from ocl_runtime.linalg.operands import called, matrices


class EigResult(NamedTuple):
    """What `eig` gives."""

    eigenvalues: Array
    eigenvectors: Array


def eig(x: ArrayLike, /) -> EigResult:
    """The eigenvalues of square matrices (…, n, n) in no order, and eigenvectors of length 1 as columns: both complex
    numbers of the same precision, of real matrices too.

        w, v = eig(asarray([[0.0, -1.0], [1.0, 0.0]]))   # w = [1j, -1j], x @ v = v * w

    Those of a real matrix are real, or come in pairs that are conjugate to the bit, with the positive imaginary part
    first; so do their vectors. Vectors of real eigenvalues of real matrices are real, of others the greatest element
    is. ‖x @ v - w v‖ is below 10 n ε ‖x‖, but for some matrices that balancing changes much (docs/LINALG.md).

    The algorithms are LAPACK's geev: balancing (Parlett and Reinsch), Householder reflections, QR iterations with
    implicit shifts (Francis), deflation by the criterion of Ahues and Tisseur, and back substitution.

    A matrix that has NaN or infinities, or whose iterations do not end, gives NaN. Raises `ShapeError` for matrices
    that are not square, `DTypeError` for others than float32, float64, complex64 and complex128.
    """
    x = matrices("eig", x, square=True)
    if not x.size:
        return EigResult(_no_values(x), astype(x, _complex(x)))
    packed = called(Eigen(), x)
    return EigResult(packed[..., 0, :], packed[..., 1:, :])


def eigvals(x: ArrayLike, /) -> Array:
    """The eigenvalues of square matrices, as complex numbers. What `eig` says of them, and its errors.

    eigvals(asarray([[2.0, 1.0], [0.0, 3.0]]))       # [2 + 0j, 3 + 0j]
    """
    x = matrices("eigvals", x, square=True)
    return called(Eigen(vectors=False), x)[..., 0, :] if x.size else _no_values(x)


def _no_values(x: Array) -> Array:
    with use(x._executor):
        return zeros(x.shape[:-1], dtype=_complex(x))


def _complex(x: Array) -> str:
    return "complex64" if x._dtype in {F32, C64} else "complex128"
