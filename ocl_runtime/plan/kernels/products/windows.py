"""Operands of convolutions as windows of a tensor, which the hardware copies in boxes where they lie (im2col).

An operand of a product that reads windows has the places of windows for its own axes, and taps and columns for the
inner ones. The hardware knows tensors (images, height, width, columns) and, of width and height, where windows begin,
how far they are apart and how many there are. Which axes of an operand are these is found by their strides alone: what
is padded says how far places and taps are apart; of what is not, places and taps go along the same dimension where
steps of their common unit are few enough.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple, TypeAlias

from ocl_ir.kernel.asynchronous import (
    COPY_BYTES,
    LEAST_CORNER,
    MOST_CORNER,
    MOST_STEP,
    MOST_STRIDE,
    MOST_TAP,
    ROW_BYTES,
)
from ocl_ir.layout import Layout
from ocl_ir.types import U32
from ocl_runtime.plan.kernels.form import Parameters, aligned
from ocl_runtime.plan.kernels.products.contraction import Side

SPACE = ("width", "height", "images")
"""Dimensions of a tensor."""
MOVING = SPACE[:2]
"""Those along which windows move, and have taps."""
_IMAGES = 2


class WindowAxes(NamedTuple):
    """Which axes of an operand are which of the tensor; None: there is none. `places` are those of windows along width,
    height and images, `taps` those within along width and height."""

    places: tuple[int | None, ...]
    taps: tuple[int | None, ...]


class _Dimension(NamedTuple):
    """Width, height or images: how long, by how many elements; windows and taps as steps along it."""

    length: int = 1
    stride: int = 0
    step: int = 1
    before: int = 0
    windows: int = 1
    dilation: int = 1
    taps: int = 1

    @property
    def is_possible(self) -> bool:
        """Whether the hardware's description has room for that."""
        behind = (self.windows - 1) * self.step + 1 - self.before - self.length
        steps = self.step <= MOST_STEP and (self.taps - 1) * self.dilation <= MOST_TAP
        return steps and -self.before >= LEAST_CORNER and LEAST_CORNER <= behind <= MOST_CORNER


_Tapped: TypeAlias = tuple[int | None, _Dimension]
"""A dimension behind the axis of its taps."""


class Windows(NamedTuple):
    """An operand's tensor, which begins at element `first`: width, height and images."""

    axes: WindowAxes
    first: int
    columns: int
    dimensions: tuple[_Dimension, ...]

    def add_sizes(self, parameters: Parameters, name: str, pack: int) -> None:
        """Adds the parameters of the kernel that describes; a word has `pack` elements."""
        parameters.size(f"{name}_columns", self.columns)
        for space, dimension in zip(SPACE, self.dimensions, strict=True):
            parameters.size(f"{name}_{space}", dimension.length)
            parameters.size(f"{name}_{space}_words", dimension.stride // pack)
        for space, dimension in zip(MOVING, self.dimensions[:_IMAGES], strict=True):
            parameters.size(f"{name}_{space}_count", dimension.windows)

    def add_steps(self, parameters: Parameters, name: str) -> None:
        """Adds the parameters of both kernels."""
        for space, dimension in zip(MOVING, self.dimensions[:_IMAGES], strict=True):
            parameters.size(f"{name}_{space}_step", dimension.step)
            parameters.size(f"{name}_{space}_before", dimension.before)
            parameters.size(f"{name}_{space}_dilation", dimension.dilation)


def windows_of(side: Side) -> Windows | None:
    """The windows that an operand has; None where boxes can bring none."""
    layout, size, lane = side.leaf.layout, side.leaf.source.dtype.size, side.inner[-1]
    own, taps = list(reversed(side.own)), list(reversed(side.inner[:-1]))
    if layout.strides[lane] != 1 or layout.shape[lane] % (ROW_BYTES // size) or len(own) > len(SPACE):
        return None
    if any(layout.strides[axis] <= 0 for axis in (*own, *taps)):
        return None
    places: list[int | None] = [*own, *(None,) * (len(SPACE) - len(own))]
    bounded = _bounded(side, places)
    if bounded is None:
        return None
    padded = [tap for tap, _ in bounded.values()]
    rest = [axis for axis in taps if axis not in padded]
    free = [number for number in range(_IMAGES) if number not in bounded]
    for numbers in permutations(free, len(rest)):  # any pairs of places and taps are windows; which, lengths decide
        taken = dict(zip(numbers, rest, strict=True))
        dimensions = [
            bounded.get(number, (taken.get(number), _dimension(layout, place, taken.get(number))))
            for number, place in enumerate(places)
        ]
        windows = _windows(layout, lane, size, places, dimensions)
        if windows is not None:
            return windows
    return None


def _windows(
    layout: Layout,
    lane: int,
    size: int,
    places: Sequence[int | None],
    with_taps: Sequence[_Tapped],
) -> Windows | None:
    """Those of some dimensions, each with the axis of its taps, if the hardware's description has room for them."""
    dimensions = tuple(dimension for _, dimension in with_taps)
    first = layout.offset + sum(each.before * each.stride for each in dimensions)
    wide = COPY_BYTES // size
    whole = aligned(Layout(layout.shape, layout.strides, first), lane, wide)
    if not whole or any(each.stride % wide or not each.is_possible for each in dimensions[:_IMAGES]):
        return None
    if any(each.stride * size > MOST_STRIDE * U32.size for each in dimensions):
        return None
    axes = WindowAxes(tuple(places), tuple(tap for tap, _ in with_taps[:_IMAGES]))
    return Windows(axes, first, layout.shape[lane], dimensions)


def _bounded(side: Side, places: list[int | None]) -> dict[int, _Tapped] | None:
    """Width and height where they are padded, each with the axis of its taps; None where bounds are otherwise."""
    layout, made = side.leaf.layout, dict[int, _Tapped]()
    for bound, length in () if side.split.padding is None else side.split.padding.bounds:
        moving = [axis for axis in range(bound.ndim) if bound.strides[axis]]
        own = [axis for axis in moving if axis in side.own]
        taps = [axis for axis in moving if axis in side.inner[:-1]]
        if len(own) != 1 or len(taps) > 1 or len(moving) != len(own) + len(taps):
            return None
        number, step = places.index(own[0]), bound.strides[own[0]]
        if number == _IMAGES or number in made or step <= 0 or bound.offset > 0:
            return None
        stride, dilation = layout.strides[own[0]] // step, bound.strides[taps[0]] if taps else 1
        if layout.strides[own[0]] % step or (taps and layout.strides[taps[0]] != dilation * stride):
            return None
        dimension = _Dimension(
            length=length,
            stride=stride,
            step=step,
            before=-bound.offset,
            windows=layout.shape[own[0]],
            dilation=dilation,
            taps=layout.shape[taps[0]] if taps else 1,
        )
        made[number] = taps[0] if taps else None, dimension
    return made


def _dimension(layout: Layout, place: int | None, tap: int | None) -> _Dimension:
    """A dimension that ends where the last window does."""
    if place is None and tap is None:
        return _Dimension()
    stride = _unit(layout, place, tap)
    step = 1 if place is None else layout.strides[place] // stride
    dilation = 1 if tap is None else layout.strides[tap] // stride
    count, taps = (1 if axis is None else layout.shape[axis] for axis in (place, tap))
    length = (count - 1) * step + (taps - 1) * dilation + 1
    return _Dimension(length=length, stride=stride, step=step, windows=count, dilation=dilation, taps=taps)


def _unit(layout: Layout, place: int | None, tap: int | None) -> int:
    """The longest step that places and taps are made of."""
    strides = [layout.strides[axis] for axis in (place, tap) if axis is not None]
    shorter, longer = min(strides), max(strides)
    return shorter if longer % shorter == 0 else math.gcd(shorter, longer)
