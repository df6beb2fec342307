"""`x[key]` and `x[key] = value`."""

from __future__ import annotations

from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from ocl_ir.graph import Node, Step
from ocl_ir.guards import Number
from ocl_ir.layout import Shape, parse_index
from ocl_ir.reference import calling_line
from ocl_ir.types import BOOL
from ocl_runtime.arrays.indexing import is_array, part_of, picked
from ocl_runtime.arrays.masks import check, coordinates, spread
from ocl_runtime.arrays.semantics import Operand
from ocl_runtime.arrays.writing import fitted, where_mask
from ocl_runtime.errors import ShapeError
from ocl_runtime.plan.executor import Executor


class Subscripts:
    """What an array does with an index; `Array` has the first methods."""

    __slots__ = ()

    @property
    def node(self) -> Node:
        """What the array is."""
        raise NotImplementedError

    @property
    def executor(self) -> Executor:
        """The runtime that the array belongs to."""
        raise NotImplementedError

    def stepped(self, step: Step) -> Self:
        """The view that a movement gives."""
        raise NotImplementedError

    def write(self, value: Node) -> None:
        """Makes the elements those of a node of the same shape and dtype."""
        raise NotImplementedError

    def _new(self, node: Node) -> Self:
        """A new array of the same runtime."""
        raise NotImplementedError

    def _uploaded(self, host: NDArray[Any]) -> Node:
        """A copy of an array of the host."""
        raise NotImplementedError

    def _given(self, what: str, value: object) -> Operand:
        """Something beside this array as an operand."""
        raise NotImplementedError

    def __getitem__(self, key: object, /) -> Self:
        """A view for integers, slices, `...` and None; with arrays of integers among them a new array, as in NumPy.

        A place out of bounds raises `ShapeError` where it is on the host; in an `Array` it is the nearest one that
        there is. A mask picks as many elements as it holds for, and that number is waited for. Raises `ShapeError` for
        an index that does not fit, `DTypeError` for arrays that are neither integers nor bools.
        """
        parts = self._without_masks(self._parts(key))
        if any(map(is_array, parts)):
            return self._new(picked(self.node.shape, parts, self._uploaded).of(self.node))
        return self.stepped(Step("index", parse_index(self.node.shape, key)))

    def __setitem__(self, key: object, value: object, /) -> None:
        """Writes a value, broadcast and converted, to what a basic index, a mask or an index with arrays picks.

        A mask alone, of this shape or of that of the first axes, takes values that broadcast without counting what is
        picked, or one for each place where it holds, in row-major order. Their number is checked where the mask is on
        the host; on the device, which is not waited for, the last of too few is repeated, and of too many the rest is
        left out. Where an index array has a place several times, the last value stays. Places are checked as by
        reading. Raises `ShapeError`, `DTypeError` or `NumberRangeError` for what does not fit.
        """
        given, dtype = self._given("writing", value), self.node.dtype
        parts = self._parts(key)
        if len(parts) == 1 and _is_mask(parts[0]):
            mask, shape = self._mask(parts[0]), self.node.shape
            check(mask, shape, 0)
            if not isinstance(given, Number):
                rest = shape[len(mask.shape) :]
                if len(given.shape) == len(rest) + 1 and given.shape[0] != 1:
                    if isinstance(parts[0], np.ndarray):
                        _check_count(parts[0], given.shape)
                    if not given.shape[0]:
                        return
                    given = spread(fitted(given, dtype, (given.shape[0], *rest)), mask, shape)
            with self.executor.registry.lock:  # what others write where the mask does not hold is not lost
                self.write(where_mask(mask, fitted(given, dtype, shape), self.node))
            return
        parts = self._without_masks(parts)
        if any(map(is_array, parts)):
            index = picked(self.node.shape, parts, self._uploaded)
            with self.executor.registry.lock:
                self.write(index.written(self.node, fitted(given, dtype, index.shape)))
        else:
            part = self[key]
            part.write(fitted(given, dtype, part.node.shape))

    def _parts(self, key: object) -> tuple[object, ...]:
        """The parts of an index, lists as arrays of the host and arrays as nodes."""
        parts = map(part_of, key) if isinstance(key, tuple) else (part_of(key),)
        return tuple(self._given("an index", part) if isinstance(part, Subscripts) else part for part in parts)

    def _without_masks(self, parts: tuple[object, ...]) -> tuple[object, ...]:
        """The parts of an index with the coordinates of where masks hold in place of these."""
        masks = {place for place, part in enumerate(parts) if _is_mask(part) and _axes(part)}
        if not masks:
            return parts
        shape, found, axis = self.node.shape, list[object](), 0
        used = sum(map(_axes, parts))
        for place, part in enumerate(parts):
            if place in masks:
                mask = self._mask(part)
                check(mask, shape, axis)
                found += coordinates(mask, self.counted)
            else:
                found.append(part)
            axis += max(0, len(shape) - used) if part is Ellipsis else _axes(part)
        return tuple(found)

    def _mask(self, part: object) -> Node:
        return self._uploaded(part) if isinstance(part, np.ndarray) else cast("Node", part)

    def counted(self, numbers: Node) -> tuple[Node, int]:
        """A running sum, computed, and the last of it."""
        array: Any = self._new(numbers)
        count = int(array[-1])
        return array.node, count


def _axes(part: object) -> int:
    """How many axes a part of an index is for."""
    if part is None or part is Ellipsis:
        return 0
    return len(getattr(part, "shape", ())) if _is_mask(part) else 1


def _is_mask(part: object) -> bool:
    """Whether a part of an index is an array of bools."""
    return is_array(part) and getattr(part, "dtype", None) in (BOOL, np.bool_)


def _check_count(mask: np.ndarray[Any, Any], shape: Shape) -> None:
    """Raises `ShapeError` unless there are as many values as places where a mask of the host holds."""
    count = int(np.count_nonzero(mask))
    if shape[0] != count:
        raise ShapeError(
            f"values of shape {shape} for a mask that holds at {count} places",
            place=calling_line(),
            remedy="give one value for each of them, or one for all",
        )
