"""What a basic index picks of an array, resolved once for a shape: a loop has the same few indices in each turn."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

from ocl_ir.graph.nodes import Step
from ocl_ir.indices import Item, Shape, Span
from ocl_ir.layout import Layout
from ocl_runtime.plan.tracing import tracer

_Part: TypeAlias = int | tuple[int, int, int] | None
"""An integer, what `slice.indices` says of a slice, or a new axis."""


def known_index(shape: Shape, key: object) -> Step | None:
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
def _resolved(shape: Shape, parts: tuple[_Part, ...]) -> Step:
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
    return Step("index", tuple(items), Layout.contiguous(shape).index(items), is_element=is_element)


_MOST_JOINED = 8192
_JOINED: dict[tuple[int, int], tuple[Step, Step, Step | None]] = {}
"""By the identities of two steps, which are kept with the one that both are together."""


def followed(steps: tuple[Step, ...], step: Step) -> tuple[Step, ...]:
    """Movements and one more behind them; two indices are one where both come again."""
    if not steps or step.region is None or steps[-1].region is None:
        return (*steps, step)
    last = steps[-1]
    known = _JOINED.get((id(last), id(step)))
    if known is None:
        if len(_JOINED) >= _MOST_JOINED:
            _JOINED.clear()
        known = _JOINED[id(last), id(step)] = last, step, _joined(last, step)
    return (*steps, step) if known[2] is None else (*steps[:-1], known[2])


def _joined(first: Step, second: Step) -> Step | None:
    """The index that is as much as two; None where the second one leaves nothing of a new axis."""
    items: list[Item] = []
    axes = iter(first.value)
    for part in second.value:
        if part is None:
            items.append(None)
            continue
        axis = next(axes)
        while isinstance(axis, int):
            items.append(axis)
            axis = next(axes)
        if axis is None:
            if isinstance(part, Span):
                if not part.length:
                    return None
                items.append(None)
        elif isinstance(part, Span):
            items.append(Span(axis.start + part.start * axis.step, axis.step * part.step, part.length))
        else:
            items.append(axis.start + part * axis.step)
    items += axes
    assert first.region is not None
    return Step("index", tuple(items), first.region.index(second.value))
