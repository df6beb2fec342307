"""Where the elements of an array lie: shape, strides and offset, all counted in elements of a storage.

Every basic view of an array is a `Layout` over the same storage, so indexing, transposition, broadcasting and most
reshapes move no data. The index that a view is written as is resolved by `ocl_ir.indices`; the rest is arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Container, Hashable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Any, Final, TypeAlias

import numpy as np

from ocl_ir.errors import ShapeError
from ocl_ir.guards import Backed, example, formula, formulas, identity, plain
from ocl_ir.indices import Item, Shape, Span
from ocl_ir.sizes import Size
from ocl_ir.source_line import calling_line

_INTEGERS: Final = frozenset({int})

Formulas: TypeAlias = tuple[tuple[Size, ...], tuple[Size, ...], Size]


@dataclass(slots=True)  # frozen, making one takes twice as long
class Layout:
    """Element `(i, j, …)` lies at `offset + i * strides[0] + j * strides[1] + …`; strides may be negative or zero."""

    shape: Final[Shape]
    strides: Final[tuple[int, ...]]
    offset: Final[int] = 0
    _formulas: Formulas | None = field(default=None, init=False, repr=False, compare=False)
    _dense: bool | None = field(default=None, init=False, repr=False, compare=False)
    _range: tuple[int, int] | None = field(default=None, init=False, repr=False, compare=False)
    _span: int | None = field(default=None, init=False, repr=False, compare=False)
    _expanded: Layout | None = field(default=None, init=False, repr=False, compare=False)
    _identity: Hashable = field(default=None, init=False, repr=False, compare=False)
    _order: tuple[int, ...] | None = field(default=None, init=False, repr=False, compare=False)
    """What has been found out by now."""

    def __hash__(self) -> int:
        return hash(self._formulas or self.formulas)

    @property
    def formulas(self) -> Formulas:
        """Shape, strides and offset with formulas in place of sizes: to be told apart by."""
        written = self._formulas
        if written is None:
            written = self._formulas = formulas(self.shape), formulas(self.strides), formula(self.offset)
        return written

    @property
    def identity(self) -> Hashable:
        """The same for who keeps it beyond a call that bound sizes."""
        numbers = (*self.shape, *self.strides, self.offset)
        if _INTEGERS.issuperset(map(type, numbers)):  # which never change what they say
            self._formulas = self._identity = self.shape, self.strides, self.offset
            return self._identity
        return identity(numbers)

    @classmethod
    def contiguous(cls, shape: Shape, offset: int = 0) -> Layout:
        """Row-major, without gaps."""
        if not offset and formulas(shape) is shape:
            return _contiguous(shape)
        return cls(shape, _row_major(shape), offset)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def is_dense(self) -> bool:
        """Whether the elements follow each other in memory in row-major order."""
        dense = self._dense
        if dense is None:
            dense = self._dense = self._is_dense()
        return dense

    @property
    def repeats(self) -> bool:
        """Whether elements are in memory once and stand for several."""
        strides = self.strides
        return 0 in strides and any(not stride and n > 1 for n, stride in zip(self.shape, strides, strict=True))

    @property
    def order(self) -> tuple[int, ...] | None:
        """The axes as they lie in memory, the one with the longest stride first; None where elements are repeated, and
        any order would do."""
        order, strides = self._order, self.strides
        if order is None and 0 not in strides:
            order = tuple(sorted(range(len(strides)), key=lambda axis: -abs(strides[axis])))
            if self.identity is self._identity:
                self._order = order
        return order

    def _is_dense(self) -> bool:
        dense = 1
        for length, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if length != 1:
                if stride != dense:
                    return 0 in self.shape
                dense *= length
        return True

    def packed(self) -> Layout:
        """The same axes in the same order in memory, without gaps and offset; what repeats elements still does."""
        if self.is_dense:
            return Layout.contiguous(self.shape)
        apart = [axis for axis in range(self.ndim) if self.shape[axis] != 1 and self.strides[axis] != 0]
        apart.sort(key=lambda axis: -abs(self.strides[axis]))
        strides, step = [0] * self.ndim, 1
        for axis in reversed(apart):
            strides[axis] = step
            step *= self.shape[axis]
        return Layout(self.shape, tuple(strides))

    def range(self) -> tuple[int, int]:
        """The lowest touched element and the one after the highest; equal for an array without elements."""
        ends = self._range
        if ends is None:
            ends, self._span = self._measured()
            self._range = ends
        return ends

    @property
    def ascending(self) -> Layout:
        """The same elements from the lowest one on, by strides that are not negative."""
        if all(stride >= 0 for stride in self.strides):
            return self
        return Layout(self.shape, tuple(map(abs, self.strides)), self.range()[0])

    @property
    def span(self) -> int:
        """How many elements `range` goes over, wherever it begins."""
        span = self._span
        if span is None:
            self._range, span = self._measured()
            self._span = span
        return span

    def _measured(self) -> tuple[tuple[int, int], int]:
        """The range and the span."""
        low, span = self.offset, 1
        if math.prod(self.shape) == 0:
            return (low, low), 0
        for length, stride in zip(self.shape, self.strides, strict=True):
            reach = (length - 1) * stride
            if stride < 0:
                low, span = low + reach, span - reach
            else:
                span += reach
        return (low, low + span), span

    def index(self, items: Sequence[Item]) -> Layout:
        """The view that `parse_index` describes."""
        shape: list[int] = []
        strides: list[int] = []
        offset, axis = self.offset, 0
        for item in items:
            if item is None:
                shape.append(1)
                strides.append(0)
                continue
            stride = self.strides[axis]
            if isinstance(item, Span):
                offset += item.start * stride if item.length else 0
                shape.append(item.length)
                strides.append(item.step * stride)
            else:
                offset += item * stride
            axis += 1
        return Layout(tuple(shape), tuple(strides), offset)

    def index_again(self, items: tuple[Item, ...]) -> Layout:
        """The same for items that come again, which are plain integers."""
        shape, strides, offset = self.formulas
        if shape is self.shape and strides is self.strides and offset is self.offset:
            return _indexed(shape, strides, offset, items)
        return self.index(items)

    def permute(self, axes: Sequence[int]) -> Layout:
        """Axis `k` of the view is axis `axes[k]` of this layout."""
        return Layout(tuple(self.shape[a] for a in axes), tuple(self.strides[a] for a in axes), self.offset)

    def expand(self, shape: Shape) -> Layout:
        """The view of a shape that this one's broadcasts to: repeated axes have stride 0."""
        known = self._expanded
        if known is not None and known.shape is shape:
            return known
        new = len(shape) - len(self.shape)
        lengths = zip(self.shape, self.strides, shape[new:], strict=True)
        strides = [stride if length == wanted else 0 for length, stride, wanted in lengths]
        known = self._expanded = Layout(shape, (*(0,) * new, *strides), self.offset)
        return known

    def windows(self, count: int, length: int) -> Layout:
        """The view of the first parts of a length along the last axis, each beginning one element behind the one
        before."""
        stride = self.strides[-1]
        return Layout((*self.shape[:-1], count, length), (*self.strides[:-1], stride, stride), self.offset)

    def reshape(self, shape: Shape) -> Layout | None:
        """The view with another shape of the same size, or None where only a copy could have it."""
        if self.size == 0:
            return Layout(shape, Layout.contiguous(shape).strides, self.offset)
        runs = _runs(self)
        strides: list[int] = []
        for wanted in reversed(shape):
            if wanted == 1:
                strides.append(0)
                continue
            length, stride = runs.pop()
            if length % wanted:
                return None
            strides.append(stride)
            if length != wanted:
                runs.append((length // wanted, stride * wanted))
        return Layout(shape, tuple(reversed(strides)), self.offset)

    def overlaps(self, other: Layout) -> bool:
        """Whether some element belongs to both layouts (over one storage, in elements of one size).

        Exact; only where finding out would take very long it is answered with True.
        """
        low, high = self.range()
        other_low, other_high = other.range()
        empty = not (example(self.span) and example(other.span))  # which has been asked already
        if empty or high <= other_low or other_high <= low:
            return False
        if self.is_dense and other.is_dense:
            return True
        overlaps = _boxes_overlap(self, other)
        if overlaps is not None:
            return overlaps
        try:
            return np.shares_memory(_addresses(self), _addresses(other), _SOLVER_WORK)
        except np.exceptions.TooHardError:
            return True


def _boxes_overlap(first: Layout, second: Layout) -> bool | None:
    """Whether two layouts overlap, if both are boxes of the same grid, of which a stride leads from one row, column, …
    to the next: then they do if they do along each axis of the grid. None where they are no such boxes. Of sizes, it
    asks for less than the solver, which needs all of them."""
    layouts = first, second
    axes = [
        [
            (abs(stride), length)
            for length, stride in zip(layout.shape, layout.strides, strict=True)
            if length != 1 and stride
        ]
        for layout in layouts
    ]
    strides: list[int] = []
    for stride, _ in chain(*axes):
        if all(stride != known for known in strides):
            strides.append(stride)
    if not strides:
        return True  # two elements at places that touch
    strides.sort(reverse=True)
    boxes: list[list[tuple[int, int]]] = []
    for layout, own in zip(layouts, axes, strict=True):
        rest, box = layout.range()[0], list[tuple[int, int]]()  # (start, length) along each axis of the grid
        for step in strides:
            lengths = [length for stride, length in own if stride == step]
            if len(lengths) > 1:
                return None
            box.append((rest // step, lengths[0] if lengths else 1))
            rest = rest % step
        reach = rest
        for (start, length), step, row in zip(
            reversed(box), reversed(strides), (*reversed(strides[:-1]), None), strict=True
        ):
            reach += (start + length - 1) * step
            if row is not None and reach >= row:
                return None  # it runs over the end of a row
        boxes.append([*box, (rest, 1)])
    return all(
        start < other + length and other < start + count for (start, count), (other, length) in zip(*boxes, strict=True)
    )


def _row_major(shape: Shape) -> tuple[int, ...]:
    strides = [1] if shape else []
    for length in reversed(shape[1:]):
        strides.append(strides[-1] * max(length, 1))
    return tuple(reversed(strides))


@lru_cache(maxsize=4096)
def _indexed(shape: Shape, strides: tuple[int, ...], offset: int, items: tuple[Item, ...]) -> Layout:
    return Layout(shape, strides, offset).index(items)


@lru_cache(maxsize=4096)  # asked for every write
def _contiguous(shape: Shape) -> Layout:
    # 1.0 and True equal 1: what is kept here is given to whoever asks for a shape that equals this one.
    lengths: tuple[Any, ...] = shape
    for length in lengths:
        if isinstance(length, bool) or not isinstance(length, int | np.integer | Backed):
            raise ShapeError(
                f"the shape {shape} has the length {length!r}", place=calling_line(), remedy="use integers"
            )
    lengths = tuple(int(length) if isinstance(length, np.integer) else length for length in lengths)
    return Layout(lengths, _row_major(lengths))


_SOLVER_WORK: Any = 100_000
"""Steps of NumPy's solver (whose stub knows only of 0 and -1)."""


def _runs(layout: Layout) -> list[tuple[int, int]]:
    """The axes as (length, stride), those merged that follow each other without a gap."""
    shape, (merged,) = collapse(layout.shape, (layout,))
    return list(zip(shape, merged.strides, strict=True))


class _Addresses:
    """Memory that is never touched: one byte an element, for NumPy's solver of overlaps."""

    def __init__(self, layout: Layout) -> None:
        self.__array_interface__ = {
            "version": 3,
            "typestr": "|u1",
            "data": ((1 << 46) + plain(layout.offset), True),
            "shape": tuple(map(plain, layout.shape)),
            "strides": tuple(map(plain, layout.strides)),
        }


def _addresses(layout: Layout) -> np.ndarray[Any, Any]:
    return np.asarray(_Addresses(layout))


def collapse(shape: Shape, layouts: Sequence[Layout], kept: Container[int] = ()) -> tuple[Shape, tuple[Layout, ...]]:
    """Fewest axes for several layouts over one shape: axes of size 1 go, and neighbours that follow each other without
    a gap in every layout become one. A row-major expression becomes one axis; a single element none. The `kept` axes
    neither go nor become one with that behind them.
    """
    distinct = {id(layout): layout for layout in layouts}
    lengths: list[int] = []
    strides: list[list[int]] = [[] for _ in distinct]
    joins = False
    for axis, length in enumerate(shape):
        if length == 1 and axis not in kept:
            continue
        steps = [layout.strides[axis] for layout in distinct.values()]
        if joins and all(outer[-1] == step * length for outer, step in zip(strides, steps, strict=True)):
            lengths[-1] *= length
            for outer, step in zip(strides, steps, strict=True):
                outer[-1] = step
        else:
            lengths.append(length)
            for outer, step in zip(strides, steps, strict=True):
                outer.append(step)
        joins = axis not in kept
    merged = tuple(lengths)
    made = {
        key: Layout(merged, tuple(steps), layout.offset)
        for (key, layout), steps in zip(distinct.items(), strides, strict=True)
    }
    return merged, tuple([made[id(layout)] for layout in layouts])


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The shape that all the shapes broadcast to, by NumPy's rule. Raises `ShapeError` where there is none."""
    joined = shapes[0] if shapes else ()
    for shape in shapes[1:]:
        longer, shorter = (joined, shape) if len(joined) >= len(shape) else (shape, joined)
        front = len(longer) - len(shorter)
        lengths = [*longer[:front]]
        for left, right in zip(longer[front:], shorter, strict=True):
            if right != 1 and left not in (1, right):
                listed = " and ".join(map(str, dict.fromkeys(shapes)))
                unlike = ", ".join(map(str, sorted((left, right))))
                raise ShapeError(
                    f"shapes {listed} do not broadcast: axis {len(lengths) - len(longer)} has lengths {unlike}",
                    place=calling_line(),
                    remedy="make the lengths equal or 1: reshape an operand, or add an axis with x[:, None]",
                )
            lengths.append(right if left == 1 else left)
        joined = tuple(lengths)
    return joined
