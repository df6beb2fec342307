"""Layouts of one plan, each worked out once.

Sizes may be formulas, with which layouts take long to work out. What asks for the same again gets the very same object,
which knows by then what has been found out about it.
"""

from __future__ import annotations

import math

from ocl_ir.graph.build import Scalar
from ocl_ir.indices import Shape
from ocl_ir.layout import Layout
from ocl_runtime.plan.fusion.values import Leaf


class Layouts:
    """Layouts of groups, and of their leaves over index spaces. Shapes and layouts are told apart by identity."""

    def __init__(self) -> None:
        # Each entry holds what its key identifies.
        self._empty: dict[int, tuple[Shape, bool]] = {}
        self._long: dict[int, tuple[Shape, list[int], Shape]] = {}
        self._placed: dict[tuple[int, int, tuple[int, ...]], tuple[Layout, Shape, Layout]] = {}
        self._kept: dict[tuple[int, tuple[int, ...]], tuple[Shape, Shape]] = {}
        self._whole: dict[int, tuple[Shape, Layout]] = {}
        self._flat: dict[int, tuple[Shape, Layout]] = {}

    def kept(self, shape: Shape, axes: tuple[int, ...]) -> Shape:
        """The lengths of the other axes of a shape."""
        known = self._kept.get((id(shape), axes))
        if known is None:
            kept = tuple([length for axis, length in enumerate(shape) if axis not in axes])
            known = self._kept[id(shape), axes] = shape, kept
        return known[1]

    def contiguous(self, shape: Shape) -> Layout:
        """Elements in the order of a shape, without gaps."""
        known = self._whole.get(id(shape))
        if known is None:
            known = self._whole[id(shape)] = shape, Layout.contiguous(shape)
        return known[1]

    def is_empty(self, shape: Shape) -> bool:
        """Whether an array of a shape has no elements."""
        known = self._empty.get(id(shape))
        if known is None:
            known = self._empty[id(shape)] = shape, not math.prod(shape)
        return known[1]

    def long(self, shape: Shape) -> tuple[list[int], Shape]:
        """The axes of a shape that are longer than 1, or empty, and their lengths."""
        known = self._long.get(id(shape))
        if known is None:
            axes = [axis for axis, length in enumerate(shape) if length != 1]
            lengths = shape if len(axes) == len(shape) else tuple([shape[axis] for axis in axes])
            known = self._long[id(shape)] = shape, axes, lengths
        return known[1:]

    def placed(self, layout: Layout, shape: Shape, skipped: tuple[int, ...]) -> Layout:
        """A group's layout over an index space, along which some axes are skipped."""
        if layout.shape is shape and not skipped:
            return layout
        key = id(layout), id(shape), skipped
        known = self._placed.get(key)
        if known is None:
            steps = iter([layout.strides[axis] for axis in self.long(layout.shape)[0]])
            strides = tuple([0 if axis in skipped else next(steps) for axis in range(len(shape))])
            known = self._placed[key] = layout, shape, Layout(shape, strides, layout.offset)
        return known[2]

    def leaf(self, leaf: Leaf, shape: Shape, skipped: tuple[int, ...]) -> Leaf:
        """A group's leaf over an index space."""
        number = isinstance(leaf.source, Scalar)
        layout = self._everywhere(shape) if number else self.placed(leaf.layout, shape, skipped)
        return leaf if layout is leaf.layout else Leaf(leaf.source, layout, leaf.computed)

    def _everywhere(self, shape: Shape) -> Layout:
        """Of what has one value at every place."""
        known = self._flat.get(id(shape))
        if known is None:
            known = self._flat[id(shape)] = shape, Layout(shape, (0,) * len(shape))
        return known[1]
