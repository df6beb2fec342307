"""NumPy's polynomials, the highest power first: arithmetic, zeros, least squares."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import ocl_runtime.arrays as xp
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.array import shows_values
from ocl_runtime.arrays.functions.counting import as_integer
from ocl_runtime.errors import Error, ShapeError
from ocl_runtime.linalg import eigvals
from ocl_runtime.numpy import linalg
from ocl_runtime.numpy.elementwise import UFUNCS
from ocl_runtime.numpy.folds import as_common
from ocl_runtime.numpy.grids import vander
from ocl_runtime.numpy.operands import array_of, arrays, common, floats, host
from ocl_runtime.numpy.products import convolve
from ocl_runtime.numpy.promotion import real

__all__ = [
    "poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval", "roots",
]  # fmt: skip


# ---------------------------------------------------------------------- arithmetic


def polyval(p: Any, x: Any) -> Array:
    """The polynomial with these coefficients at `x`."""
    coefficients, at = arrays("polyval", (p, x))
    value = xp.zeros_like(at)
    for number in range(coefficients.size):
        value = UFUNCS["add"](UFUNCS["multiply"](value, at), coefficients[number])
    return value


def polyadd(a1: Any, a2: Any) -> Array:
    """The sum of two polynomials."""
    return xp.add(*_aligned("polyadd", a1, a2))


def polysub(a1: Any, a2: Any) -> Array:
    """The difference of two polynomials."""
    return xp.subtract(*_aligned("polysub", a1, a2))


def _aligned(what: str, a1: Any, a2: Any) -> list[Array]:
    lines = as_common(*(xp.reshape(x, -1) for x in arrays(what, (a1, a2))))
    most = max(x.size for x in lines)
    return [xp.pad(x, [(most - x.size, 0)]) for x in lines]


def polymul(a1: Any, a2: Any) -> Array:
    """The product of two polynomials."""
    return convolve(a1, a2)


def polydiv(u: Any, v: Any) -> tuple[Array, Array]:
    """The quotient of two polynomials, and what it leaves. How many of the first coefficients of that are 0, to 1e-8,
    is waited for."""
    rest, by = as_common(*(xp.reshape(x, -1) for x in floats(u, v)))
    quotient = []
    for _ in range(rest.size - by.size + 1):
        quotient.append(rest[0] / by[0])
        rest = (rest - xp.pad(by * quotient[-1], [(0, rest.size - by.size)]))[1:]
    none = xp.zeros_like(by[:1])
    zeros = [abs(number) <= 1e-8 for number in rest.numpy()[:-1].tolist()]
    leading = zeros.index(False) if False in zeros else len(zeros)
    return xp.stack(quotient) if quotient else none, rest[leading:] if rest.size else none


def polyder(p: Any, m: int = 1) -> Array:
    """The polynomial differentiated `m` times. Raises `ShapeError` for a negative number of times."""
    x = array_of(p)
    for _ in range(_times("polyder", m, "polyint")):
        x = UFUNCS["multiply"](x[:-1], array_of(np.arange(x.size - 1, 0, -1), executor=x._executor))
    return x


def polyint(p: Any, m: int = 1, k: Any = None) -> Array:
    """The polynomial integrated `m` times, with constants `k`: by default 0, one for all, or the first of a line.
    Raises `ShapeError` for a negative number of times, and for fewer constants."""
    m = _times("polyint", m, "polyder")
    constants = np.atleast_1d(np.asarray(0.0 if k is None else host(k)))
    if constants.size != 1 and constants.size < m:
        raise ShapeError(
            f"polyint {m} times with {constants.size} constants", place=calling_line(), remedy="give one for each time"
        )
    x = array_of(p)
    x = array_of(x, common(x, np.float64(0), constants.dtype.type(0)))
    for constant in np.broadcast_to(constants[:m] if constants.size != 1 else constants, (m,)).tolist():
        powers = array_of(np.arange(x.size, 0, -1), executor=x._executor)
        x = xp.pad(xp.divide(x, xp.astype(powers, xp.real(x).dtype)), [(0, 1)], constant_values=constant)
    return x


def _times(what: str, m: Any, inverse: str) -> int:
    times = as_integer(f"{what} {m!r} times", m)
    if times < 0:
        raise ShapeError(f"{what} {times} times", place=calling_line(), remedy=f"use {inverse} {-times} times")
    return times


# ---------------------------------------------------------------------- zeros


def poly(seq_of_zeros: Any) -> Array:
    """The polynomial with these zeros, or with the eigenvalues of a matrix: a real one for a real matrix, and for zeros
    of the host that come in conjugate pairs."""
    (zeros,) = floats(seq_of_zeros)
    is_matrix = zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] != 0  # noqa: PLR2004
    is_real = zeros.dtype.kind != "c"
    if zeros.ndim == 1 and not isinstance(seq_of_zeros, Array):
        known = np.asarray(host(seq_of_zeros), complex)
        is_real = bool((np.sort(known) == np.sort(known.conj())).all())
    if is_matrix:
        zeros = eigvals(zeros)
    if zeros.ndim != 1:
        raise ShapeError(
            f"poly of shape {zeros.shape}",
            place=calling_line(),
            remedy="give zeros of a polynomial, or a square matrix",
        )
    polynomial = xp.ones_like(zeros, dtype=zeros.dtype)[:0]
    polynomial = xp.pad(polynomial, [(0, 1)], constant_values=1)
    for number in range(zeros.size):
        polynomial = xp.pad(polynomial, [(0, 1)]) - xp.pad(polynomial * zeros[number], [(1, 0)])
    return xp.real(polynomial) if is_real and polynomial.dtype.kind == "c" else polynomial


def roots(p: Any) -> Array:
    """The zeros of a polynomial with these coefficients, highest power first: the eigenvalues of its companion matrix,
    real ones if all are.

        roots([1.0, -3.0, 2.0])     # [2, 1]

    Zeros at the beginning and the end of the coefficients are looked for first, for which the device is waited for;
    within `ocl.capture` there must be none at the beginning, and all zeros are complex. Raises `ShapeError` for
    coefficients with more than one axis, `LinAlgError` for what is not finite.
    """
    (coefficients,) = floats(p)
    coefficients = xp.reshape(coefficients, (1,)) if not coefficients.ndim else coefficients
    if coefficients.ndim != 1:
        raise ShapeError(f"roots of shape {coefficients.shape}", place=calling_line(), remedy="give one polynomial")
    trailing = 0
    with xp.use(coefficients._executor):
        zeros = xp.zeros(0, dtype=real(coefficients._executor))  # NumPy's, if there are none
    if shows_values(coefficients):
        places = np.flatnonzero(xp.not_equal(coefficients, 0).numpy())
        if not places.size:
            return zeros
        trailing = coefficients.size - 1 - int(places[-1])
        coefficients = coefficients[int(places[0]) : int(places[-1]) + 1]
    degree = coefficients.size - 1
    if degree > 0:
        first = -coefficients[1:] / coefficients[0]
        with xp.use(coefficients._executor):
            below = xp.eye(degree - 1, degree, dtype=coefficients.dtype)
        zeros = linalg.eigvals_real_if_all(xp.concat([first[None, :], below]))
    return xp.pad(zeros, [(0, trailing)]) if trailing else zeros


# ---------------------------------------------------------------------- least squares


def polyfit(
    x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None, cov: bool | str = False
) -> Any:
    """The coefficients, highest power first, of the polynomial of degree `deg` through points (x, y), a column for each
    of `y`, for which the sum of squares of w (y - p(x)) is least; with `full` also the residuals, the rank, the
    singular values and `rcond`, with `cov` the covariances of the coefficients.

        polyfit(x, y, 2)        # [a, b, c] of a x^2 + b x + c

    The rank is waited for, to warn of points that do not settle the coefficients (`numpy.exceptions.RankWarning`); not
    within `ocl.capture`, which warns of nothing.
    Raises `ShapeError` for shapes that do not fit, `Error` for too few points for covariances.
    """
    points, values = floats(x, y)
    order = _degree(deg) + 1
    _check(points, values)
    rcond = xp.finfo(points.dtype).eps * points.size if rcond is None else rcond
    powers = vander(points, order)
    if w is not None:
        (weights,) = floats(w)
        if weights.shape != values.shape[:1]:
            raise ShapeError(
                f"polyfit with weights of shape {weights.shape} for {values.shape[0]} points",
                place=calling_line(),
                remedy="give a weight for each point",
            )
        powers = powers * weights[:, None]
        values = values * (weights[:, None] if values.ndim == 2 else weights)
    scale = xp.sqrt(xp.sum(powers * powers, axis=0))
    scaled = powers / scale
    fit = linalg.lstsq(scaled, values, rcond)
    coefficients = (fit.solution.T / scale).T
    if full:
        return coefficients, fit.residuals, fit.rank, fit.singular_values, rcond
    if shows_values(points) and int(fit.rank) != order:
        warnings.warn("Polyfit may be poorly conditioned", np.exceptions.RankWarning, stacklevel=2)
    if not cov:
        return coefficients
    return coefficients, _covariances(scaled, scale, fit.residuals, values, unscaled=cov == "unscaled")


def _covariances(scaled: Array, scale: Array, residuals: Array, values: Array, *, unscaled: bool) -> Array:
    base = linalg.inv(scaled.T @ scaled) / (scale[:, None] * scale)
    base = base[:, :, None] if values.ndim == 2 else base
    if unscaled:
        return base
    count, order = scaled.shape
    if count <= order:
        raise Error(
            f"polyfit's covariances of {order} coefficients from {count} points",
            place=calling_line(),
            remedy='give more points, or cov="unscaled"',
        )
    return base * (residuals / (count - order))


def _degree(deg: object) -> int:
    degree = as_integer(f"polyfit of degree {deg!r}", deg)
    if degree < 0:
        raise Error(f"polyfit of degree {degree}", place=calling_line(), remedy="give one of at least 0")
    return degree


def _check(points: Array, values: Array) -> None:
    if points.ndim != 1 or not points.size or values.ndim not in (1, 2) or values.shape[0] != points.size:
        raise ShapeError(
            f"polyfit of points of shape {points.shape} and values of shape {values.shape}",
            place=calling_line(),
            remedy="give a line of points, and as many values or rows of values",
        )
