"""NumPy's polynomials of least squares, and the zeros of polynomials."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import ocl_runtime.arrays as xp
from ocl_ir.guards import integer
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.array import shows_values
from ocl_runtime.errors import Error, ShapeError
from ocl_runtime.numpy import linalg
from ocl_runtime.numpy.grids import vander
from ocl_runtime.numpy.operands import floats
from ocl_runtime.numpy.promotion import real

__all__ = ["polyfit", "roots"]


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
    rcond = float(np.finfo(points.dtype).eps) * points.size if rcond is None else rcond
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
    found = linalg.lstsq(scaled, values, rcond)
    coefficients = (found.solution.T / scale).T
    if full:
        return coefficients, found.residuals, found.rank, found.singular_values, rcond
    if shows_values(points) and int(found.rank) != order:
        warnings.warn("Polyfit may be poorly conditioned", np.exceptions.RankWarning, stacklevel=2)
    if not cov:
        return coefficients
    return coefficients, _covariances(scaled, scale, found.residuals, values, unscaled=cov == "unscaled")


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
        found = xp.zeros(0, dtype=real(coefficients._executor))  # NumPy's, if there are none
    if shows_values(coefficients):
        places = np.flatnonzero(xp.not_equal(coefficients, 0).numpy())
        if not places.size:
            return found
        trailing = coefficients.size - 1 - int(places[-1])
        coefficients = coefficients[int(places[0]) : int(places[-1]) + 1]
    degree = coefficients.size - 1
    if degree > 0:
        first = -coefficients[1:] / coefficients[0]
        with xp.use(coefficients._executor):
            below = xp.eye(degree - 1, degree, dtype=coefficients.dtype)
        found = linalg.eigvals(xp.concat([first[None, :], below]))
    return xp.pad(found, [(0, trailing)]) if trailing else found


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
    degree = int(integer(deg))
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
