"""What a basic index picks of an array, resolved once for a shape: a loop has the same few indices in each turn."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, TypeAlias

from ocl_ir.graph.nodes import Step
from ocl_ir.indices import Item, Shape, Span
from ocl_ir.layout import Layout
from ocl_runtime.plan.tracing import tracer

_Part: TypeAlias = int | tuple[int, int, int] | None
"""An integer, what `slice.indices` says of a slice, or a new axis."""


class BasicIndex(NamedTuple):
    """A movement, and whether it leads to an element: an integer for each axis."""

    step: Step
    is_element: bool


def known_index(shape: Shape, key: object) -> BasicIndex | None:
    """What integers, slices and None pick of a shape; None for other indices, for such that do not fit, and within a
    captured function, where sizes have formulas, which a table would ask about."""
    if tracer.get() is not None:
        return None
    try:
        if type(key) is slice:
            return _resolved(shape, (key.indices(shape[0]),))
        if type(key) is int:
            return _resolved(shape, (key,))
        if type(key) is not tuple:
            return None
        parts: list[_Part] = []
        axis = 0
        for part in key:
            if part is None:
                parts.append(None)
                continue
            if type(part) is slice:
                parts.append(part.indices(shape[axis]))
            elif type(part) is int:
                parts.append(part)
            else:
                return None
            axis += 1
        return _resolved(shape, tuple(parts))
    except (TypeError, ValueError, IndexError):
        return None


@lru_cache(maxsize=8192)
def _resolved(shape: Shape, parts: tuple[_Part, ...]) -> BasicIndex:
    """Raises `IndexError` for an index that does not fit."""
    items: list[Item] = []
    axis = 0
    for part in parts:
        if part is None:
            items.append(None)
            continue
        length = shape[axis]
        if isinstance(part, tuple):
            items.append(Span(part[0], part[2], len(range(*part))))
        elif -length <= part < length:
            items.append(part % length)
        else:
            raise IndexError
        axis += 1
    is_element = axis == len(shape) == len(items) and not any(isinstance(item, Span) for item in items)
    items += [Span(0, 1, length) for length in shape[axis:]]
    step = Step("index", tuple(items), Layout.contiguous(shape).index(items))
    return BasicIndex(step, is_element)
