"""Sums of exponentials along axes, without overflow."""

from __future__ import annotations

from typing import Any

import ocl_runtime.arrays as xp
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.array import ordered_array_of
from ocl_runtime.arrays.axes import axes_of
from ocl_runtime.errors import ShapeError


def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """The logarithm of the sum of exponentials along axes, by default all; with `b` of `b * exp(a)`.

    With `return_sign` also the sign of the sum, and the logarithm of its absolute value; without, that of a negative
    sum is NaN. Integers count as the default real dtype. Raises `ShapeError` for axes that do not exist.
    """
    x = _operand("logsumexp", a, axis)
    weights = None if b is None else xp.asarray(b)
    if weights is not None:
        x, weights = xp.broadcast_arrays(x, weights)
        x = xp.where(xp.equal(weights, 0), -xp.inf, x)
    largest = _finite_largest(x, axis)
    terms = xp.exp(x - largest)
    total = xp.sum(terms if weights is None else weights * terms, axis=axis, keepdims=True)
    sign = xp.sign(total)
    result = xp.log(xp.abs(total) if return_sign else total) + largest
    if not keepdims:
        gone = tuple(range(x.ndim)) if axis is None else axis
        result, sign = xp.squeeze(result, gone), xp.squeeze(sign, gone)
    return (result, sign) if return_sign else result


def softmax(x: Any, axis: Any = None) -> Array:
    """The exponentials divided by their sum along axes, by default all. Raises `ShapeError` for axes that do not
    exist."""
    values = _operand("softmax", x, axis)
    terms = xp.exp(values - xp.max(values, axis=axis, keepdims=True))
    return terms / xp.sum(terms, axis=axis, keepdims=True)


def log_softmax(x: Any, axis: Any = None) -> Array:
    """The logarithm of `softmax`. Raises `ShapeError` for axes that do not exist."""
    values = _operand("log_softmax", x, axis)
    shifted = values - _finite_largest(values, axis)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=axis, keepdims=True))


def _operand(what: str, x: Any, axis: Any) -> Array:
    """Floats. Raises the errors of the function itself, not of those that it is made of."""
    values = ordered_array_of(what, x)
    axes = axes_of(what, axis, values.ndim)
    if 0 in (values.shape[number] for number in axes):
        raise ShapeError(
            f"{what} of no elements: shape {values.shape} along axes {axes}",
            place=calling_line(),
            remedy="check x.size first",
        )
    return xp.multiply(values, 1.0)


def _finite_largest(x: Array, axis: Any) -> Array:
    """The greatest elements along axes, which are kept; 0 for infinite ones."""
    largest = xp.max(x, axis=axis, keepdims=True)
    return xp.where(xp.isfinite(largest), largest, 0.0)
