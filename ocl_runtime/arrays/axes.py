"""Axes and shapes as users give them, checked."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable

from ocl_ir.guards import integer
from ocl_ir.indices import Shape
from ocl_ir.source_line import calling_line
from ocl_runtime.errors import IndexingError, ShapeError

_MOST_BYTES = 2**62


def axes_of(what: str, axis: int | Iterable[int] | None, ndim: int) -> tuple[int, ...]:
    """Axes counted from the front, in the given order; None stands for all.

    Raises `ShapeError` for an axis that does not exist, or is named twice.
    """
    if axis is None:
        return tuple(range(ndim))
    if type(axis) is int and -ndim <= axis < ndim:
        return (axis % ndim,)
    requested = tuple(axis) if isinstance(axis, Iterable) else (axis,)
    axes = tuple(axis_of(what, number, ndim) for number in requested)
    if len(set(axes)) != len(axes):
        raise ShapeError(
            f"{what} along axes {requested}: one is named twice", place=calling_line(), remedy="name each axis once"
        )
    return axes


def axis_of(what: str, axis: int, ndim: int) -> int:
    """One axis counted from the front. Raises `ShapeError` for one that does not exist."""
    try:
        number = operator.index(axis)
    except TypeError:
        raise ShapeError(
            f"{what} along axis {axis!r}, which is no integer", place=calling_line(), remedy="number the axes from 0"
        ) from None
    if not -ndim <= number < ndim:
        raise IndexingError(
            f"{what} along axis {number} of an array with {ndim} axes",
            place=calling_line(),
            remedy=f"use {-ndim} to {ndim - 1}" if ndim else "an array of shape () has no axes",
        )
    return number % ndim


def shape_of(shape: int | Iterable[int], itemsize: int = 1) -> Shape:
    """A shape, from one length or several. Raises `ShapeError` for lengths that are no sizes and for too many."""
    if type(shape) is int:
        shape = (shape,)
    lengths = shape if type(shape) is tuple else tuple(shape) if isinstance(shape, Iterable) else (shape,)
    sizes = tuple([n if type(n) is int and n >= 0 else length_of("a shape", n) for n in lengths])
    if math.prod(sizes) * itemsize > _MOST_BYTES:
        raise ShapeError(f"shape {sizes} has too many elements", place=calling_line(), remedy="use a smaller shape")
    return sizes


def length_of(what: str, length: object) -> int:
    """A number of elements. Raises `ShapeError` for what is negative or no integer."""
    try:
        number: int = integer(length)
    except TypeError:
        number = -1
    if number < 0 or isinstance(length, bool):
        raise ShapeError(
            f"{what} has the length {length!r}", place=calling_line(), remedy="use integers that are not negative"
        )
    return number
