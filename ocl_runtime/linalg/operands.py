"""What functions of matrices take, checked, and how they call an algorithm of the library."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from ocl_ir.graph import build as graph
from ocl_ir.graph.library_algorithm import LibraryAlgorithm
from ocl_ir.guards import Backed
from ocl_ir.indices import Shape
from ocl_ir.source_line import caller, calling_line
from ocl_ir.types import C64, C128, F32, F64
from ocl_runtime.arrays import (
    Array,
    astype,
    broadcast_to,
    complex_of,
    conj,
    eye,
    imag,
    matmul,
    matrix_transpose,
    precision,
    real,
    result_type,
    tril,
    triu,
    use,
)
from ocl_runtime.arrays.array import arrays_of, shows_values
from ocl_runtime.errors import DTypeError, Error, LinAlgError, MatrixShapeError


def product(left: Array, right: Array) -> Array:
    """The product of matrices in an algorithm, in their own precision, whatever `precision` says of others."""
    with precision("float32"):
        return matmul(left, right)


def floating_arrays(what: str, *values: object) -> list[Array]:
    """Arrays of float32, float64, complex64 or complex128, all of one dtype. Raises `DTypeError` for others."""
    arrays = arrays_of(what, *values)
    for x in arrays:
        if x._dtype not in {F32, F64, C64, C128}:
            raise DTypeError(
                f"{what} of {x._dtype.public}",
                place=calling_line(),
                remedy="convert it to a floating-point or complex dtype: astype(x, dtype)",
            )
    common = result_type(*arrays)
    return [astype(x, common, copy=False) for x in arrays]


def matrices(what: str, x: object, *, square: bool = False) -> Array:
    """An array of matrices. Raises `MatrixShapeError` for less than two axes, and for matrices that are not `square`
    if they are to be."""
    return checked(what, floating_arrays(what, x)[0], square=square)


def checked(what: str, x: Array, *, square: bool = False) -> Array:
    """The array, whose shape is checked."""
    if x.ndim < 2:  # noqa: PLR2004
        raise MatrixShapeError(
            f"{what} of an array with {x.ndim} axes", place=calling_line(), remedy="give at least two axes"
        )
    if square and x.shape[-1] != x.shape[-2]:
        raise MatrixShapeError(
            f"{what} of matrices {x.shape[-2:]}", place=calling_line(), remedy="give square matrices"
        )
    return x


_MATRIX_ORDERS = ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf)


def order_of(what: str, order: Any, *, of_matrices: bool = False) -> Any:
    """The order of a norm: a real number, or of matrices one of `_MATRIX_ORDERS`, of which None stands for "fro".

    Raises `Error` for others.
    """
    if order is None and of_matrices:
        return "fro"
    fits = isinstance(order, Real | Backed)
    if of_matrices:
        fits = (fits or isinstance(order, str)) and order in _MATRIX_ORDERS
    if not fits:
        raise Error(
            f"{what} with ord={order!r}",
            place=calling_line(),
            remedy="use 'fro', 'nuc', ±1, ±2 or ±inf" if of_matrices else "use a real number or ±inf",
        )
    return order


def adjoint(x: Array) -> Array:
    """The conjugate transposes of matrices: of real ones the transposes, which are views."""
    return matrix_transpose(conj(x) if x._dtype.is_complex else x)


def from_lower(x: Array) -> Array:
    """Symmetric or Hermitian matrices of which the lower triangles are read, and of their diagonals the real parts."""
    below = tril(x, k=-1)
    return below + adjoint(below) + triu(tril(real(x)))


def divided(x: Array, divisors: Array) -> Array:
    """The quotients by real numbers: complex elements part by part, since `/` takes a reciprocal first, which may
    overflow."""
    return complex_of(real(x) / divisors, imag(x) / divisors) if x._dtype.is_complex else x / divisors


def squared_magnitudes(x: Array) -> Array:
    """The squares of the magnitudes of all elements."""
    return real(conj(x) * x) if x._dtype.is_complex else x * x


def called(algorithm: LibraryAlgorithm, *operands: Array) -> Array:
    """What an algorithm of the library gives."""
    nodes = [operand._node for operand in operands]
    return Array(graph.custom_call(algorithm, *nodes, where=caller()), operands[0]._executor)


def identity_like(x: Array, n: int, batch: Shape) -> Array:
    """Identity matrices of the dtype of another array."""
    with use(x._executor):
        return broadcast_to(eye(n, dtype=x.dtype), (*batch, n, n))


def raise_if(wrong: Array, fact: str, remedy: str) -> None:
    """Raises `LinAlgError` where that is true, which is computed for it; not where somebody writes down what would be
    computed, since there are no values then."""
    if shows_values(wrong) and bool(wrong):
        raise LinAlgError(fact, place=calling_line(), remedy=remedy)
