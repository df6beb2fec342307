"""What a basic index picks of an array: resolved once, into one `Item` for each axis."""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType, NoneType
from typing import NamedTuple, TypeAlias

import numpy as np

from ocl_ir.errors import IndexingError
from ocl_ir.guards import integer
from ocl_ir.source_line import calling_line

Shape: TypeAlias = tuple[int, ...]


class Span(NamedTuple):
    """The part `start, start + step, …` of an axis, `length` elements long."""

    start: int
    step: int
    length: int


Item: TypeAlias = int | Span | None
"""What an index does with an axis: picks one element, keeps a part, or (None) makes a new axis of size 1."""


def indexed_shape(items: Sequence[Item]) -> Shape:
    """The shape of what an index picks."""
    return tuple([1 if item is None else item.length for item in items if item is None or isinstance(item, Span)])


def parse_index(shape: Shape, key: object) -> tuple[Item, ...]:
    """What a basic index (integers, slices, Ellipsis, None) does with each axis of `shape`.

    Raises `IndexingError` for an integer out of bounds, too many indices, a second Ellipsis, a slice with step 0, and
    for indices that are not basic.
    """
    keys = key if isinstance(key, tuple) else (key,)
    used = ellipses = 0
    for part in keys:
        if part is Ellipsis:
            ellipses += 1
        elif part is not None:
            used += 1
    if ellipses > 1:
        raise _index_error("an index has more than one Ellipsis", "write `...` once")
    if used > len(shape):
        raise _index_error(
            f"{used} indices for an array with {len(shape)} axes, of shape {shape}", f"give at most {len(shape)}"
        )
    items: list[Item] = []
    axis = 0
    for part in keys:
        if part is None:
            items.append(None)
        elif isinstance(part, EllipsisType):
            rest = axis + len(shape) - used
            items += [Span(0, 1, length) for length in shape[axis:rest]]
            axis = rest
        else:
            items.append(_span(part, axis, shape) if isinstance(part, slice) else _position(part, axis, shape))
            axis += 1
    if axis < len(shape):
        items += [Span(0, 1, length) for length in shape[axis:]]
    return tuple(items)


def _position(part: object, axis: int, shape: Shape) -> int:
    length = shape[axis]
    try:
        if isinstance(part, bool | np.bool_):
            raise TypeError
        position: int = integer(part)
    except TypeError:
        raise _index_error(
            f"axis {axis} has an index of type {type(part).__name__}",
            "use integers, slices, `...`, None, and arrays or lists of integers or bools",
        ) from None
    if not -length <= position < length:
        raise _index_error(
            f"index {position} is out of bounds for axis {axis} of length {length}",
            f"use {-length} to {length - 1}" if length else "the axis has no elements",
        )
    return position + length if position < 0 else position


_PLAIN = frozenset({int, NoneType})


def _span(part: slice, axis: int, shape: Shape) -> Span:
    length = shape[axis]
    try:
        if type(length) is int and _PLAIN.issuperset((type(part.start), type(part.stop), type(part.step))):
            start, stop, step = part.indices(length)
            return Span(start, step, len(range(start, stop, step)))
        return _span_of_sizes(part, length)
    except (TypeError, ValueError) as error:
        raise _index_error(
            f"axis {axis} has the index {part}: {error}", "use integers or nothing, and a step that is not 0"
        ) from error


def _span_of_sizes(part: slice, length: int) -> Span:
    """What a slice picks of an axis: `slice.indices`, of sizes too."""
    step = 1 if part.step is None else integer(part.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    lowest, highest = (0, length) if step > 0 else (-1, length - 1)

    def end(bound: object, otherwise: int) -> int:
        if bound is None:
            return otherwise
        index: int = integer(bound)
        if index < 0:
            index += length
        return min(max(index, lowest), highest)

    start, stop = (lowest, highest) if step > 0 else (highest, lowest)
    start, stop = end(part.start, start), end(part.stop, stop)
    away = stop - start if step > 0 else start - stop
    return Span(start, step, -(-away // abs(step)) if away > 0 else 0)


def _index_error(fact: str, remedy: str) -> IndexingError:
    return IndexingError(fact, place=calling_line(), remedy=remedy)
