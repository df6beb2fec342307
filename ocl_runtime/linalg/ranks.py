"""What singular values tell: norms of matrices, ranks, conditions, pseudo-inverses, least squares."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array, abs, astype, expand_dims, matmul, max, min, sqrt, sum, where
from ocl_runtime.arrays.operands import ArrayLike
from ocl_runtime.errors import Error, ShapeError
from ocl_runtime.linalg.factors import as_right_side
from ocl_runtime.linalg.operands import adjoint, checked, floating_arrays, matrices, squared_magnitudes
from ocl_runtime.linalg.spectra import svd, svdvals

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
    x = matrices("matrix_norm", x)
    if ord is None or ord == "fro":
        return sqrt(sum(squared_magnitudes(x), axis=(-2, -1), keepdims=keepdims))
    extreme = max if ord == "nuc" or ord > 0 else min
    if not x.size and extreme is max:
        return sum(abs(x), axis=(-2, -1), keepdims=keepdims)
    if ord == "nuc" or ord in {2, -2}:
        values = svdvals(x)
        found = sum(values, axis=-1) if ord == "nuc" else extreme(values, axis=-1)
        return found[..., None, None] if keepdims else found
    if ord in {1, -1} or math.isinf(ord):
        axis = -1 if math.isinf(ord) else -2
        sums = sum(abs(x), axis=axis, keepdims=True)
        return extreme(sums, axis=(-2, -1), keepdims=keepdims)
    raise Error(f"matrix_norm with ord={ord!r}", place=calling_line(), remedy="use 'fro', 'nuc', ±1, ±2 or ±inf")


def matrix_rank(x: ArrayLike, /, *, rtol: ArrayLike | None = None) -> Array:
    """How many singular values of each matrix are above `rtol` times the greatest; by default that is the greater
    length times the machine epsilon. Gives int64. Errors as of `svd`."""
    x = matrices("matrix_rank", x)
    values = svdvals(x)
    if not values.shape[-1]:
        return sum(astype(values, "int64"), axis=-1)
    return sum(astype(values > _cutoff(x, values, rtol), "int64"), axis=-1)


def cond(x: ArrayLike, /, *, ord: MatrixOrd = None) -> Array:
    """The quotient of the greatest and the least singular value of each matrix, infinite for a singular one. Raises
    `ShapeError` for matrices without elements; errors else as of `svd`."""
    x = matrices("cond", x)
    values = svdvals(x)
    if ord not in {None, 2, -2}:
        raise Error(f"cond with ord={ord!r}", place=calling_line(), remedy="use matrix_norm(x) * matrix_norm(inv(x))")
    if not values.shape[-1]:
        raise ShapeError(f"cond of shape {x.shape}", place=calling_line(), remedy="give matrices with elements")
    greatest, least = values[..., 0], values[..., -1]
    if ord == -2:
        return least / greatest
    return where(least == 0, math.inf, greatest / where(least == 0, 1.0, least))


def pinv(x: ArrayLike, /, *, rtol: ArrayLike | None = None) -> Array:
    """The Moore-Penrose inverses of matrices; singular values that `matrix_rank` does not count are 0. Errors as of
    `svd`."""
    x = matrices("pinv", x)
    if not x.size:
        return adjoint(x)
    u, s, vh = svd(x, full_matrices=False)
    return matmul(adjoint(vh) * expand_dims(_reciprocals(x, s, rtol), axis=-2), adjoint(u))


def lstsq(a: ArrayLike, b: ArrayLike, /, *, rtol: ArrayLike | None = None) -> LstsqResult:
    """The least x that makes the norm of a @ x - b least, for matrices and right sides as of `solve` that need not be
    square; the squares of these norms for each column, the rank of `a` and its singular values.

    Raises `ShapeError` for shapes that do not fit; errors else as of `svd`.
    """
    a, b = floating_arrays("lstsq", a, b)
    checked("lstsq", a)
    right = expand_dims(b, axis=-1) if b.ndim == 1 else b
    if right.shape[-2] != a.shape[-2]:
        raise ShapeError(
            f"lstsq of shapes {a.shape} and {b.shape}",
            place=calling_line(),
            remedy="the right side needs as many rows as the matrix has",
        )
    u, s, vh = svd(a, full_matrices=False)
    inner = expand_dims(_reciprocals(a, s, rtol), axis=-1) * matmul(adjoint(u), right)
    solution = matmul(adjoint(vh), inner)
    rest = matmul(a, solution) - right
    rank = sum(astype(s > _cutoff(a, s, rtol), "int64"), axis=-1)
    residuals = sum(squared_magnitudes(rest), axis=-2)
    return LstsqResult(as_right_side(solution, b), residuals[..., 0] if b.ndim == 1 else residuals, rank, s)


def _cutoff(x: Array, values: Array, rtol: ArrayLike | None) -> Array:
    """Up to where singular values count as 0."""
    if rtol is None:
        rows, columns = x.shape[-2:]
        rtol = (rows if rows > columns else columns) * float(np.finfo(x._dtype.numpy).eps)
    relative = rtol[..., None] if isinstance(rtol, Array) and rtol.ndim else rtol
    return values[..., :1] * relative


def _reciprocals(x: Array, values: Array, rtol: ArrayLike | None) -> Array:
    """Those of the singular values that do not count as 0."""
    counts = values > _cutoff(x, values, rtol)
    return where(counts, 1 / where(counts, values, 1.0), 0.0)
