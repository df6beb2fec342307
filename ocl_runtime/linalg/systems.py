"""Systems of equations, inverses, determinants and powers, by LU factors with partial pivoting."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from ocl_ir.graph.linalg import LuFactor, LuSolve
from ocl_runtime.arrays import (
    Array,
    abs,
    any,
    arange,
    astype,
    broadcast_to,
    equal,
    exp,
    finfo,
    less,
    log,
    matmul,
    not_equal,
    ones,
    prod,
    real,
    sign,
    sum,
    use,
    where,
)
from ocl_runtime.arrays.functions.counting import as_integer
from ocl_runtime.arrays.operands import ArrayLike
from ocl_runtime.linalg.factors import as_right_side, system
from ocl_runtime.linalg.operands import called, floating_arrays, identity_like, matrices, raise_if
from ocl_runtime.linalg.vectors import diagonal


class SlogdetResult(NamedTuple):
    """What `slogdet` gives."""

    sign: Array
    logabsdet: Array


def solve(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The x with x1 @ x = x2. An `x2` with one axis is a vector; else axes in front of the last two broadcast.

        solve(asarray([[2.0, 1.0], [1.0, 3.0]]), asarray([3.0, 4.0]))    # [1, 1]

    Raises `LinAlgError` for a matrix with a pivot that is 0, which a flag tells that is read at once (infinities and
    NaN where the call is captured); `ShapeError` for shapes that do not fit, `DTypeError` for others than float32,
    float64, complex64 and complex128.
    """
    x1, x2 = floating_arrays("solve", x1, x2)
    right, batch = system("solve", x1, x2)
    if 0 in batch:
        return as_right_side(right, x2)
    factors = _factors(x1)
    if batch != x1.shape[:-2]:
        factors = broadcast_to(factors, (*batch, *factors.shape[-2:]))
    return as_right_side(called(LuSolve(), factors, right), x2)


def inv(x: ArrayLike, /) -> Array:
    """The inverses of matrices. Errors as of `solve`."""
    x = matrices("inv", x, square=True)
    return _inverted(x, _factors(x))


def inverses(x: Array) -> tuple[Array, Array]:
    """The inverses of square matrices, and which of them are singular, where the elements mean nothing."""
    factors = called(LuFactor(), x)
    return _inverted(x, factors), any(equal(diagonal(factors), 0), axis=-1)


def _inverted(x: Array, factors: Array) -> Array:
    return called(LuSolve(), factors, identity_like(x, x.shape[-1], x.shape[:-2]))


def det(x: ArrayLike, /) -> Array:
    """The determinants of matrices, 0 of singular ones; of those without elements, 1. Errors as of `solve`, but for
    `LinAlgError`."""
    signs, on_diagonal = _pivoted("det", x)
    logarithms = _log_magnitudes(on_diagonal)
    # Where a product of some of the pivots may be too great or too small for a float, all are joined by logarithms.
    limits = finfo(on_diagonal.dtype)
    is_safe = less(sum(abs(logarithms), axis=-1), -math.log(float(limits.smallest_normal)))
    far = prod(sign(on_diagonal), axis=-1) * astype(exp(sum(logarithms, axis=-1)), on_diagonal.dtype, copy=False)
    return signs * where(is_safe, prod(on_diagonal, axis=-1), far)


def slogdet(x: ArrayLike, /) -> SlogdetResult:
    """The signs of the determinants, 0 of singular matrices, and the logarithms of their magnitudes, which do not
    overflow. The signs of complex ones are complex numbers of magnitude 1. Errors as of `det`."""
    signs, on_diagonal = _pivoted("slogdet", x)
    return SlogdetResult(signs * prod(sign(on_diagonal), axis=-1), sum(_log_magnitudes(on_diagonal), axis=-1))


def matrix_power(x: ArrayLike, n: int, /) -> Array:
    """Powers of matrices by an integer; a negative one is that of the inverses. Errors as of `solve`, and `DTypeError`
    for what is no integer."""
    x, n = matrices("matrix_power", x, square=True), as_integer(f"matrix_power by {n!r}", n)
    return multiplied(inv(x), -n, matmul) if n < 0 else multiplied(x, n, matmul)


def multiplied(x: Array, n: int, product: Callable[[Array, Array], Array]) -> Array:
    """The product of n times the same square matrices, by squaring them."""
    if n == 0:
        return identity_like(x, x.shape[-1], x.shape[:-2])
    square, left, result = x, n, None
    while True:
        if left & 1:
            result = square if result is None else product(result, square)
        left >>= 1
        if not left:
            assert result is not None
            return result
        square = product(square, square)


def _factors(x: Array) -> Array:
    """LU factors, of matrices that have an inverse."""
    factors = called(LuFactor(), x)
    raise_if(any(equal(diagonal(factors), 0)), "a matrix is singular", "use lstsq or pinv, which take any matrix")
    return factors


def _log_magnitudes(x: Array) -> Array:
    """The logarithms of magnitudes; those of complex numbers may themselves be too great for a float."""
    return real(log(x)) if x._dtype.is_complex else log(abs(x))


def _pivoted(what: str, x: ArrayLike) -> tuple[Array, Array]:
    """The signs of the permutations, and the diagonals of U."""
    x = matrices(what, x, square=True)
    n = x.shape[-1]
    with use(x._executor):
        if not x.size:
            return ones(x.shape[:-2], dtype=x.dtype), ones(x.shape[:-1], dtype=x.dtype)
        places = arange(n)
    factors = called(LuFactor(), x)
    swaps = sum(astype(not_equal(factors[..., n, :], astype(places, x.dtype)), "int32"), axis=-1)
    odd = not_equal(swaps % 2, 0)
    return astype(where(odd, -1.0, 1.0), x.dtype, copy=False), diagonal(factors)
