"""What singular values tell: norms of matrices, ranks, conditions, pseudo-inverses, least squares."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from ocl_ir.guards import NUMBERS
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import (
    Array,
    abs,
    any,
    astype,
    expand_dims,
    isnan,
    logical_and,
    logical_not,
    logical_or,
    max,
    min,
    sqrt,
    sum,
    where,
)
from ocl_runtime.arrays.array import arrays_of
from ocl_runtime.arrays.operands import ArrayLike
from ocl_runtime.errors import MatrixShapeError
from ocl_runtime.linalg.factors import as_right_side, system
from ocl_runtime.linalg.operands import (
    adjoint,
    checked,
    divided,
    floating_arrays,
    matrices,
    order_of,
    product,
    squared_magnitudes,
)
from ocl_runtime.linalg.spectra import svd, svdvals
from ocl_runtime.linalg.systems import inverses

MatrixOrd: TypeAlias = float | Literal["fro", "nuc"] | None


class LstsqResult(NamedTuple):
    """What `lstsq` gives."""

    solution: Array
    residuals: Array
    rank: Array
    singular_values: Array


def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: MatrixOrd = "fro") -> Array:
    """The norms of matrices: of all elements ("fro"), the sum of singular values ("nuc"), the greatest or least one (2,
    -2), the greatest or least sum of magnitudes of a column (1, -1) or of a row (infinity and its negative).

    Raises `Error` for another `ord`; errors else as of `svd`.
    """
    x, ord = matrices("matrix_norm", x), order_of("matrix_norm", ord, of_matrices=True)
    if ord == "fro":
        return sqrt(sum(squared_magnitudes(x), axis=(-2, -1), keepdims=keepdims))
    extreme = max if ord == "nuc" or ord > 0 else min
    if not x.size and extreme is max:
        return sum(abs(x), axis=(-2, -1), keepdims=keepdims)
    if ord == "nuc" or ord in {2, -2}:
        values = svdvals(x)
        found = sum(values, axis=-1) if ord == "nuc" else extreme(values, axis=-1)
        return found[..., None, None] if keepdims else found
    sums = sum(abs(x), axis=-1 if math.isinf(ord) else -2, keepdims=True)
    return extreme(sums, axis=(-2, -1), keepdims=keepdims)


def matrix_rank(x: ArrayLike, /, *, rtol: ArrayLike | None = None) -> Array:
    """How many singular values of each matrix are above `rtol` times the greatest; by default that is the greater
    length times the machine epsilon. Gives int64, and 0 for a matrix with NaN or infinities. Errors as of `svd`."""
    x = matrices("matrix_rank", x)
    values = svdvals(x)
    if not values.shape[-1]:
        return sum(astype(values, "int64"), axis=-1)
    return sum(astype(values > _cutoff(x, values, rtol), "int64"), axis=-1)


def cond(x: ArrayLike, /, *, ord: MatrixOrd = None) -> Array:
    """The quotient of the greatest and the least singular value of each matrix, or the inverse of that (-2); by other
    norms of `matrix_norm`, the product of that of the matrix and that of its inverse. Infinite for a singular one (by
    -2 it is 0, but for zeros), NaN for one with NaN; neither is waited for.

    Raises `MatrixShapeError` for matrices without elements, and for those that are not square where they are inverted;
    errors else as of `matrix_norm`.
    """
    x = matrices("cond", x)
    if not (x.shape[-2] and x.shape[-1]):
        raise MatrixShapeError(f"cond of shape {x.shape}", place=calling_line(), remedy="give matrices with elements")
    if ord is None or order_of("cond", ord, of_matrices=True) in {2, -2}:
        values = svdvals(x)
        greatest, least = values[..., 0], values[..., -1]
        condition = least / greatest if ord == -2 else greatest / least
        is_infinite = isnan(condition)
    else:
        inverse, singular = inverses(checked("cond", x, square=True))
        condition = matrix_norm(x, ord=ord) * matrix_norm(inverse, ord=ord)
        is_infinite = logical_or(singular, isnan(condition))
    has_nan = any(isnan(x), axis=(-2, -1))
    return where(logical_and(is_infinite, logical_not(has_nan)), math.inf, condition)


def pinv(x: ArrayLike, /, *, rtol: ArrayLike | None = None) -> Array:
    """The Moore-Penrose inverses of matrices; singular values that `matrix_rank` does not count are 0. Errors as of
    `svd`."""
    x = matrices("pinv", x)
    if not x.size:
        return adjoint(x)
    u, s, vh = svd(x, full_matrices=False)
    counts = s > _cutoff(x, s, rtol)
    reciprocals = where(counts, 1 / where(counts, s, 1.0), 0.0)
    return product(adjoint(vh) * expand_dims(reciprocals, axis=-2), adjoint(u))


def lstsq(a: ArrayLike, b: ArrayLike, /, *, rtol: ArrayLike | None = None) -> LstsqResult:
    """The least x that makes the norm of a @ x - b least, for matrices and right sides as of `solve` that need not be
    square; the squares of these norms for each column, the rank of `a` and its singular values.

    Raises `ShapeError` for shapes that do not fit; errors else as of `svd`.
    """
    a, b = floating_arrays("lstsq", a, b)
    right, _ = system("lstsq", a, b, square=False)
    u, s, vh = svd(a, full_matrices=False)
    counts = s > _cutoff(a, s, rtol)
    # Singular values divide: reciprocals of denormal ones would be infinite.
    divisors = expand_dims(where(counts, s, 1.0), axis=-1)
    inner = where(expand_dims(counts, axis=-1), divided(product(adjoint(u), right), divisors), 0.0)
    solution = product(adjoint(vh), inner)
    rest = product(a, solution) - right
    rank = sum(astype(counts, "int64"), axis=-1)
    residuals = sum(squared_magnitudes(rest), axis=-2)
    return LstsqResult(as_right_side(solution, b), residuals[..., 0] if b.ndim == 1 else residuals, rank, s)


def _cutoff(x: Array, values: Array, rtol: ArrayLike | None) -> Array:
    """Up to where singular values count as 0."""
    if rtol is None:
        rows, columns = x.shape[-2:]
        rtol = (rows if rows > columns else columns) * float(np.finfo(x._dtype.numpy).eps)
    if not isinstance(rtol, NUMBERS):
        rtol = expand_dims(arrays_of("a comparison with rtol", values, rtol)[1], axis=-1)
    return values[..., :1] * rtol
