"""NumPy's functions along lines: differences, integrals, interpolation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import ocl_runtime.arrays as xp
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.axes import axes_of, axis_of
from ocl_runtime.errors import DTypeError, ShapeError
from ocl_runtime.numpy.elementwise import UFUNCS
from ocl_runtime.numpy.folds import as_common
from ocl_runtime.numpy.operands import NOT_GIVEN, array_of, arrays_in, floats, is_weak
from ocl_runtime.numpy.promotion import on_device
from ocl_runtime.numpy.shapes import cut, lying

__all__ = ["diff", "ediff1d", "gradient", "interp", "trapezoid", "unwrap"]


# ---------------------------------------------------------------------- differences


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = NOT_GIVEN, append: Any = NOT_GIVEN) -> Array:
    """The differences of neighbours along an axis, taken `n` times, with other elements (or a number) in front or
    behind first."""
    x = array_of(a)
    axis = axis_of("diff", axis, x.ndim)
    around = {
        name: _beside(value, x, axis)
        for name, value in (("prepend", prepend), ("append", append))
        if value is not NOT_GIVEN
    }
    return xp.diff(x, axis=axis, n=n, **around)


def _beside(value: Any, x: Array, axis: int) -> Array:
    part = array_of(value, executor=x._executor)
    return part if part.ndim else xp.broadcast_to(part, (*x.shape[:axis], 1, *x.shape[axis + 1 :]))


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Array:
    """The differences of neighbours of the flat array, with others in front and behind."""
    x = xp.reshape(array_of(ary), -1)
    _refuse_bools("ediff1d", x)
    parts = [array_of(part, x.dtype, x._executor) for part in (to_begin, xp.diff(x), to_end) if part is not None]
    return xp.concat(parts, axis=None)


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """The slopes along axes (by default all), several in a tuple: central differences inside, one-sided ones at the
    ends. `varargs` are a distance for all axes, or for each axis a distance or coordinates.

    Raises `ShapeError` for axes with fewer than `edge_order + 1` elements, and for coordinates that are no line of as
    many as an axis has elements; `DTypeError` for bools.
    """
    x = array_of(f)
    _refuse_bools("gradient", x)
    (x,) = floats(x)
    axes = axes_of("gradient", axis, x.ndim)
    is_common = len(varargs) == 1 and np.ndim(varargs[0]) == 0
    steps = list(varargs) * len(axes) if is_common else list(varargs) or [1.0] * len(axes)
    if len(steps) != len(axes) or edge_order not in {1, 2}:
        raise ShapeError(
            f"gradient along {len(axes)} axes with {len(varargs)} distances and edge_order {edge_order}",
            place=calling_line(),
            remedy="give one distance, or distances or coordinates for each axis, and edge_order 1 or 2",
        )
    slopes = tuple(_slopes(x, along, step, edge_order) for along, step in zip(axes, steps, strict=True))
    return slopes[0] if len(slopes) == 1 else slopes


def _refuse_bools(what: str, x: Array) -> None:
    if x.dtype == np.bool_:
        raise DTypeError(
            f"{what} of bool", place=calling_line(), remedy="convert them first: x.astype('i1'), or use diff"
        )


def _slopes(x: Array, axis: int, step: Any, edge_order: int) -> Array:
    count = x.shape[axis]
    if count < edge_order + 1:
        raise ShapeError(
            f"gradient along axis {axis} of length {count}",
            place=calling_line(),
            remedy=f"at least {edge_order + 1} elements are needed",
        )
    gaps = _gaps(x, axis, step)
    if not gaps.ndim:
        slopes = _even_slopes(x, axis, gaps, edge_order)
    else:
        slopes = _uneven_slopes(x, axis, gaps, edge_order)
        if arrays_in(step):  # whether the coordinates are even is known on the device
            is_even = xp.all(xp.equal(gaps, gaps[0]))
            slopes = xp.where(is_even, _even_slopes(x, axis, gaps[0], edge_order), slopes)
    return xp.astype(slopes, x.dtype, copy=False)


def _gaps(x: Array, axis: int, step: Any) -> Array:
    """The distance of all neighbours along an axis, or a line of distances. They are taken in the dtype of the
    coordinates, since that of the elements may not tell neighbours from each other."""
    on_host = not arrays_in(step)
    if is_weak(step) or (on_host and not np.ndim(step)):
        (gap,) = floats(array_of(step, x.dtype if is_weak(step) else None, x._executor))
        return gap
    coordinates = np.asarray(step) if on_host else array_of(step, executor=x._executor)
    if coordinates.shape not in {(), (x.shape[axis],)}:
        raise ShapeError(
            f"gradient along axis {axis} of length {x.shape[axis]} with distances of shape {coordinates.shape}",
            place=calling_line(),
            remedy="give one distance, or a line of as many coordinates as there are elements",
        )
    if not on_host:
        (coordinates,) = floats(coordinates)
        return xp.diff(coordinates) if coordinates.ndim else coordinates
    gaps = np.diff(coordinates.astype(np.float64) if coordinates.dtype.kind in "iu" else coordinates)
    is_even = (gaps == gaps[0]).all()
    return array_of((gaps[0] if is_even else gaps).astype(on_device(gaps.dtype, x._executor)), executor=x._executor)


def _even_slopes(x: Array, axis: int, gap: Array, edge_order: int) -> Array:
    inside = (cut(x, axis, slice(2, None)) - cut(x, axis, slice(None, -2))) / (2 * gap)
    if edge_order == 1:
        first, last = _rise(x, axis, 0) / gap, _rise(x, axis, -2) / gap
    else:
        first = _weighted(x, axis, 0, (-1.5 / gap, 2 / gap, -0.5 / gap))
        last = _weighted(x, axis, -3, (0.5 / gap, -2 / gap, 1.5 / gap))
    return xp.concat([first, inside, last], axis=axis)


def _uneven_slopes(x: Array, axis: int, gaps: Array, edge_order: int) -> Array:
    """The derivatives of the parabolas through three neighbours each."""
    d1, d2 = (lying(part, axis, x.ndim) for part in (gaps[:-1], gaps[1:]))
    before, here, behind = (cut(x, axis, part) for part in (slice(None, -2), slice(1, -1), slice(2, None)))
    inside = -d2 / (d1 * (d1 + d2)) * before + (d2 - d1) / (d1 * d2) * here + d1 / (d2 * (d1 + d2)) * behind
    if edge_order == 1:
        first, last = _rise(x, axis, 0) / gaps[0], _rise(x, axis, -2) / gaps[-1]
    else:
        d1, d2 = gaps[0], gaps[1]
        first = _weighted(
            x, axis, 0, (-(2 * d1 + d2) / (d1 * (d1 + d2)), (d1 + d2) / (d1 * d2), -d1 / (d2 * (d1 + d2)))
        )
        d1, d2 = gaps[-2], gaps[-1]
        last = _weighted(x, axis, -3, (d2 / (d1 * (d1 + d2)), -(d2 + d1) / (d1 * d2), (2 * d2 + d1) / (d2 * (d1 + d2))))
    return xp.concat([first, inside, last], axis=axis)


def _element(x: Array, axis: int, number: int) -> Array:
    return cut(x, axis, slice(number, number + 1 or None))


def _rise(x: Array, axis: int, number: int) -> Array:
    return _element(x, axis, number + 1) - _element(x, axis, number)


def _weighted(x: Array, axis: int, number: int, weights: tuple[Array, Array, Array]) -> Array:
    """The sum of three elements times weights, from that number on."""
    a, b, c = weights
    return a * _element(x, axis, number) + b * _element(x, axis, number + 1) + c * _element(x, axis, number + 2)


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Array:
    """The integral along an axis by the trapezoidal rule, over coordinates `x` or in steps `dx`."""
    (values,) = floats(y)
    axis = axis_of("trapezoid", axis, values.ndim)
    if x is None:
        step: Any = dx
    else:
        (points,) = floats(array_of(x, executor=values._executor))
        step = lying(xp.diff(points), axis, values.ndim) if points.ndim == 1 else xp.diff(points, axis=axis)
    before, after = cut(values, axis, slice(None, -1)), cut(values, axis, slice(1, None))
    return xp.sum(UFUNCS["multiply"](UFUNCS["add"](before, after), step) / 2.0, axis=axis)


def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * math.pi) -> Array:
    """Angles along an axis made continuous: steps of more than half a `period` (or `discont`) lose whole periods."""
    x = array_of(p)
    axis = axis_of("unwrap", axis, x.ndim)
    steps = diff(x, axis=axis)
    whole = steps.dtype.kind in "iu" and isinstance(period, int | np.integer)
    half: Any = period // 2 if whole else period / 2
    turned = UFUNCS["add"](UFUNCS["remainder"](UFUNCS["add"](steps, half), period), -half)
    if not whole or period % 2 == 0:
        ambiguous = xp.logical_and(xp.equal(turned, -half), xp.greater(steps, 0))
        turned = xp.where(ambiguous, xp.full_like(turned, half), turned)
    correction = UFUNCS["subtract"](turned, steps)
    least = (period / 2) if discont is None else discont
    correction = xp.where(xp.less(xp.abs(steps), least), xp.zeros_like(correction), correction)
    moved = UFUNCS["add"](cut(x, axis, slice(1, None)), xp.cumulative_sum(correction, axis=axis))
    return xp.concat([xp.astype(part, turned.dtype) for part in (cut(x, axis, slice(1)), moved)], axis=axis)


# ---------------------------------------------------------------------- interpolation


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Array:
    """The values at `x` of the line through the points `(xp, fp)`, whose coordinates rise; `left` and `right` outside,
    by default the first and last value; values may be complex. With a `period` the points need not rise, and there is
    no outside.

    Raises `ShapeError` for points of two lengths, for no points, and for a period of 0.
    """
    lines = floats(x, xp, fp)
    if period is None:
        return _interpolated(lines, left, right)
    if not period:
        raise ShapeError("interp with a period of 0", place=calling_line(), remedy="give another one")
    _check_points(*lines[1:])
    return _interpolated(_in_period(lines, abs(period)), None, None)


def _in_period(lines: list[Array], period: Any) -> list[Array]:
    """The same within one period, the points in order and one more on each side."""
    x, at, values = lines
    at = xp.remainder(at, period)
    order = xp.argsort(at)
    at, values = xp.take(at, order), xp.take(values, order)
    around = [at[-1:] - period, at, at[:1] + period]
    return [xp.remainder(x, period), xp.concat(around), xp.concat([values[-1:], values, values[:1]])]


def _check_points(at: Array, values: Array) -> None:
    if at.shape != values.shape or at.ndim != 1 or not at.size:
        raise ShapeError(
            f"interp of points of shapes {at.shape} and {values.shape}",
            place=calling_line(),
            remedy="give lines of one length",
        )


def _interpolated(lines: list[Array], left: Any, right: Any) -> Array:
    is_complex = lines[2].dtype.kind == "c"
    x, at, values = (*as_common(*lines[:2]), lines[2]) if is_complex else as_common(*lines)
    _check_points(at, values)
    low, high = values[0] if left is None else left, values[-1] if right is None else right
    if at.size == 1:
        inside = xp.broadcast_to(values[0], x.shape)
    elif is_complex:
        inside = xp.complex_of(_between(x, at, values.real), _between(x, at, values.imag))
    else:
        inside = _between(x, at, values)
    inside = xp.where(xp.less(x, at[0]), low, xp.where(xp.greater(x, at[-1]), high, inside))
    return xp.where(xp.isnan(x), x, inside)


def _between(x: Array, at: Array, values: Array) -> Array:
    """The lines between points: counted from the point in front, from the one behind where that gives NaN, and the
    value of both where that does too and they have one."""
    number = xp.minimum(xp.maximum(xp.searchsorted(at, x, "right") - 1, 0), at.size - 2)
    begin, end, first, second = (xp.take(line, number + step) for line in (at, values) for step in (0, 1))
    slope = (second - first) / (end - begin)
    forth, back = slope * (x - begin) + first, slope * (x - end) + second
    line = xp.where(xp.isnan(forth), back, forth)
    line = xp.where(xp.logical_and(xp.isnan(line), xp.equal(first, second)), first, line)
    return xp.where(xp.equal(x, at[-1]), values[-1], xp.where(xp.equal(x, begin), first, line))
