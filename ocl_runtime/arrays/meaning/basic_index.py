"""What a basic index picks of an array, resolved once for a shape: a loop has the same few indices in each turn."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

from ocl_ir.graph.nodes import Step
from ocl_ir.indices import Item, Shape, Span
from ocl_ir.layout import Layout
from ocl_runtime.plan.tracing import tracer

_Part: TypeAlias = int | tuple[int, int, int] | None
"""An integer, what `slice.indices` says of a slice, or a new axis."""


_PLAIN = frozenset({int})
_SLICES = frozenset({slice})


def known_index(shape: Shape, key: Any) -> Step | None:
    """What integers, slices and None pick of a shape; None for other indices, for such that do not fit, and where sizes
    have formulas: a table would ask about them within a captured function, and keep those that have left one."""
    if tracer.get() is not None:
        return None
    kind = type(key)
    try:
        if kind is slice:
            return _resolved(shape, (key.indices(shape[0]),))
        if kind is int:
            return _resolved(shape, (key,))
        if kind is not tuple:
            return None
        if len(key) == len(shape):  # most of all, without a loop
            if _SLICES.issuperset(map(type, key)):
                return _resolved(shape, tuple(map(slice.indices, key, shape)))
            if _PLAIN.issuperset(map(type, key)):
                return _resolved(shape, key)
            if len(key) == 2:
                row, column = key
                if type(row) is int and type(column) is slice:
                    return _resolved(shape, (row, column.indices(shape[1])))
                if type(column) is int and type(row) is slice:
                    return _resolved(shape, (row.indices(shape[0]), column))
        parts: list[_Part] = []
        axis = 0
        for part in key:
            if type(part) is slice:
                parts.append(part.indices(shape[axis]))
                axis += 1
            elif type(part) is int:
                parts.append(part)
                axis += 1
            elif part is None:
                parts.append(None)
            else:
                return None
        return _resolved(shape, tuple(parts))
    except (TypeError, ValueError, IndexError):
        return None


def is_plain(shape: Shape) -> bool:
    """Whether no size has a formula, so that a table may tell shapes apart."""
    return _PLAIN.issuperset(map(type, shape))


@lru_cache(maxsize=8192)
def _resolved(shape: Shape, parts: tuple[_Part, ...]) -> Step:
    """Raises `IndexError` for an index that does not fit, and for sizes that the table is not to keep."""
    if not is_plain(shape):
        raise IndexError
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
    return _step(shape, (*items, *[Span(0, 1, length) for length in shape[axis:]]))


@lru_cache(maxsize=8192)
def _step(shape: Shape, items: tuple[Item, ...]) -> Step:
    return Step("index", items, shape, Layout.contiguous(shape).index(items))


def followed(steps: tuple[Step, ...], step: Step) -> tuple[Step, ...]:
    """Movements and one more behind them; two indices are one where both come again."""
    if not steps or step.region is None or steps[-1].region is None:
        return (*steps, step)
    last = steps[-1]
    both = _joined(last.whole, last.value, step.value)
    return (*steps, step) if both is None else (*steps[:-1], both)


@lru_cache(maxsize=8192)
def _joined(shape: Shape, first: tuple[Item, ...], second: tuple[Item, ...]) -> Step | None:
    """The index of a shape that is as much as two; None where the second one leaves nothing of a new axis."""
    items: list[Item] = []
    axes = iter(first)
    for part in second:
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
    return _step(shape, (*items, *axes))
