"""`x[key]` and `x[key] = value`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from types import EllipsisType
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Buffer, Node, Step
from ocl_ir.graph.nodes import AnyNode
from ocl_ir.guards import PythonNumber
from ocl_ir.indices import Shape, parse_index
from ocl_ir.layout import Layout
from ocl_ir.source_line import caller, calling_line
from ocl_ir.types import BOOL
from ocl_runtime.arrays.core import ArrayCore, compute_together
from ocl_runtime.arrays.elements import note, read
from ocl_runtime.arrays.meaning.basic_index import followed, is_plain, known_index
from ocl_runtime.arrays.meaning.indexing import is_array, part_of, picked, rows_at
from ocl_runtime.arrays.meaning.masks import PICKED, Counting, check, coordinates, selected, spread
from ocl_runtime.arrays.meaning.writing import fitted, where_mask
from ocl_runtime.arrays.operands import operands_of, uploaded, written_operand
from ocl_runtime.arrays.reals import base_executor
from ocl_runtime.errors import RankError, ShapeError
from ocl_runtime.plan.cache.routines import Routine, key_of
from ocl_runtime.plan.donation import used_outside
from ocl_runtime.plan.evaluate import evaluate_routine, note_routine
from ocl_runtime.plan.tracing import Question, asking, tracer

_VIEWING = frozenset({slice, EllipsisType, type(None)})
"""What in an index makes the result a view where the rest are integers."""
_BASIC = _VIEWING | {int}
"""What needs no more than `parse_index`; asked for first, because it is nearly always that."""


class Subscripts(ArrayCore):
    """What an array does with an index."""

    __slots__ = ()

    def __getitem__(self, key: object, /) -> Self:
        """A view for integers, slices, `...` and None; with arrays of integers among them a new array, as in NumPy. An
        integer for each axis gives the element as it is now, as a value with shape () that nobody writes into.

        A place out of bounds raises `IndexingError` where it is on the host; in an `Array` it is the nearest one that
        there is (`OCL_RUNTIME_CHECK=on` reports it). So `x[asarray([5])]` of three elements is the last of them. A mask
        picks as many elements as it holds for, and that number is waited for. Raises `IndexingError` (a ShapeError) for
        an index that does not fit, `DTypeError` for arrays that are neither integers nor bools.
        """
        shape = self._shape
        if type(key) is type(self):
            if key._executor is self._executor:
                line = caller(2)
                if self._is_of_rows(key, shape):
                    return self._new(rows_at(self._node_at(line), key._node_at(line), self._note_indices, line))
                if key._dtype is BOOL and key._shape == shape and shape:
                    return self._new(selected(self._node_at(line), key._node_at(line), self._counting()))
        elif (step := known_index(shape, key)) is not None:
            if step.region is not None and not step.region.shape:  # an integer for each axis
                return self._element(read(self._node, step))
            return self._stepped(step)
        parts = key if isinstance(key, tuple) else (key,)
        if not _BASIC.issuperset(map(type, parts)):
            parts = self._parts(key)
            if any(map(_is_scalar_mask, parts)):
                axes, rest = self._with_mask_axes(parts)
                return self[axes][rest]
            if len(parts) == 1 and _is_mask(parts[0]) and getattr(parts[0], "shape", None) == shape:
                return self._new(selected(self._node, self._mask_node(parts[0]), self._counting()))
            parts = self._without_masks(parts)
            if any(map(is_array, parts)):
                elements = picked(shape, parts, self._uploaded, self._note_indices).of(self._node)
                return self._new(elements) if elements.shape else self._element(elements)
        step = Step("index", parse_index(shape, key))
        if len(parts) == len(shape) and _VIEWING.isdisjoint(map(type, parts)):
            return self._element(read(self._node, step))
        return self._stepped(step)

    def __setitem__(self, key: object, value: object, /) -> None:
        """Writes a value, broadcast and converted, to what a basic index, a mask or an index with arrays picks.

        A mask alone, of this shape or of that of the first axes, takes values that broadcast without counting what is
        picked, or one for each place where it holds, in row-major order. Their number is checked where the mask is on
        the host; on the device, which is not waited for, the last of too few is repeated, and of too many the rest is
        left out. Where an index array has a place several times, the last value stays. Places are checked as by
        reading. Raises `ShapeError`, `IndexingError`, `DTypeError` or `NumberRangeError` for what does not fit.
        """
        if self._value:
            raise self._not_writable()
        step = known_index(self._shape, key)
        if step is not None:
            self._write_part(step, value)
            return
        parts = key if isinstance(key, tuple) else (key,)
        if _BASIC.issuperset(map(type, parts)):
            self._write_part(Step("index", parse_index(self.shape, key)), value)
            return
        operand, dtype = written_operand(value, self, caller()), self._dtype
        parts = self._parts(key)
        if len(parts) == 1 and _is_mask(parts[0]):
            mask, shape = self._mask_node(parts[0]), self.shape
            check(mask, shape, 0)
            if not isinstance(operand, PythonNumber):
                rest = shape[len(mask.shape) :]
                if len(operand.shape) == len(rest) + 1 and operand.shape[0] != 1:
                    if isinstance(parts[0], np.ndarray):
                        _check_count(parts[0], operand.shape)
                    if not operand.shape[0]:
                        return
                    operand = spread(fitted(operand, dtype, (operand.shape[0], *rest)), mask, shape)
            with self._executor.registry.lock:  # what others write where the mask does not hold is not lost
                node = self._replace(where_mask(mask, fitted(operand, dtype, shape), self._node))
            self._relieve(node)
            return
        if any(map(_is_scalar_mask, parts)):
            axes, key = self._with_mask_axes(parts)
            self[axes][key] = value
            return
        parts = self._without_masks(parts)
        if any(map(is_array, parts)):
            index = picked(self.shape, parts, self._uploaded, self._note_indices)
            with self._executor.registry.lock:
                node = self._replace(index.written(self._node, fitted(operand, dtype, index.shape)))
            self._relieve(node)
        else:
            self._write_part(Step("index", parse_index(self.shape, key)), value)

    def _write_part(self, step: Step, value: object) -> None:
        """Writes to what a basic index picks."""
        steps = followed(self._steps, step)
        if isinstance(value, ArrayCore) and value._cell is self._cell and value._steps == steps:
            return  # `x[1:] += y` has written the view, which it then gives to `x[1:] = …`
        line = caller(3)
        operand = written_operand(value, self, line)
        region = step.region
        shape = step.shape(self._shape) if region is None else region.shape
        self._write(fitted(operand, self._dtype, shape, line), line, steps)

    def __len__(self) -> int:
        """The length of the first axis. Raises `RankError` (a TypeError) for an array of shape ()."""
        if not self.ndim:
            raise RankError("len of an array with shape ()", place=calling_line(), remedy="use x.size")
        return self.shape[0]

    def __iter__(self) -> Iterator[Self]:
        """The elements as values for one axis, the parts along the first axis as views for more."""
        if not self.ndim:
            raise RankError("iteration over an array of shape ()", place=calling_line(), remedy="use x itself")
        return (self[number] for number in range(len(self)))

    def _element(self, node: Node) -> Self:
        """An element of the array, as a value."""
        value = self._new(node)
        value._value = True
        note(self._cell, node, value._cell)
        if isinstance(node, Buffer) and used_outside(node.storage):
            value._detach()  # PyOpenCL may write there, and nobody would know
        return value

    def _is_of_rows(self, index: ArrayCore, shape: Shape) -> bool:
        """Whether an array of integers picks along the first axis, and no size has a formula that says more."""
        index_shape = index.shape
        return bool(index._dtype.is_integer and index_shape and shape and shape[0] and is_plain((*shape, *index_shape)))

    def _uploaded(self, host: NDArray[Any]) -> Node:
        return uploaded(host, self._executor)

    def _parts(self, key: object) -> tuple[object, ...]:
        """The parts of an index, lists as arrays of the host and arrays as nodes."""
        parts = map(part_of, key) if isinstance(key, tuple) else (part_of(key),)
        return tuple(operands_of("an index", (self, p))[0][1] if isinstance(p, ArrayCore) else p for p in parts)

    def _without_masks(self, parts: tuple[object, ...]) -> tuple[object, ...]:
        """The parts of an index with the coordinates of where masks hold in place of these."""
        masks = {number for number, part in enumerate(parts) if _is_mask(part)}
        if not masks:
            return parts
        shape, without, axis = self.shape, list[object](), 0
        used = sum(map(_axes, parts))
        for number, part in enumerate(parts):
            if number in masks:
                mask = self._mask_node(part)
                check(mask, shape, axis)
                without += coordinates(mask, self._counting())
            else:
                without.append(part)
            axis += max(0, len(shape) - used) if part is Ellipsis else _axes(part)
        return tuple(without)

    def _with_mask_axes(self, parts: Sequence[object]) -> tuple[tuple[object, ...], tuple[object, ...]]:
        """An index that puts an axis of length 1 where an index has a single bool, and the index of what that gives:
        there, the bool is an index array of one element, or of none."""
        axes, rest = list[object](), list[object]()
        for part in parts:
            if _is_scalar_mask(part):
                holds = bool(self._new(cast("Node", part))) if isinstance(part, AnyNode) else bool(part)
                axes.append(None)
                rest.append(np.zeros(int(holds), np.intp))
            else:
                rest.append(part)
                if part is not None:
                    axes += [part] if part is Ellipsis else [slice(None)] * _axes(part)
        return tuple(axes), tuple(rest)

    def _mask_node(self, part: object) -> Node:
        return self._uploaded(part) if isinstance(part, np.ndarray) else cast("Node", part)

    def _counting(self, asked: Question = PICKED) -> Counting:
        ahead = self._executor.target.kind == "gpu"
        return Counting(self._evaluated, partial(self._only, asked), self._copied_start, ahead)

    def _evaluated(self, routine: Routine, operands: tuple[Node, ...]) -> tuple[Buffer, ...]:
        """What a routine gives of operands, computed."""
        executor, key = base_executor(self._executor), None
        if tracer.get() is None and not executor.is_watched:
            key = key_of(routine, operands)
        if key is not None:
            results = evaluate_routine(key, operands, executor, caller())
            if results is not None:
                return results
        arrays = [self._new(node) for node in routine(*operands)]
        compute_together(arrays)
        if key is not None:
            note_routine(key, routine, operands, executor)
        return tuple([cast("Buffer", array._node) for array in arrays])

    def _only(self, asked: Question, result: Buffer) -> int:
        """Waits for the only element of a result."""
        self._report_indices()
        start, line = result.layout.offset, caller()
        with asking(asked):
            return int(self._executor.download(result.storage, result.dtype, start, 1, line).result()[0])

    def _copied_start(self, result: Buffer, count: int) -> Node:
        """The first elements of a result with one axis, in memory of their own."""
        line = caller()
        storage = self._executor.copy(result.storage, result.dtype, result.layout.offset, count, line)
        return graph.buffer(storage, result.dtype, Layout.contiguous((count,)), line)


def _axes(part: object) -> int:
    """How many axes a part of an index is for."""
    if part is None or part is Ellipsis:
        return 0
    return len(getattr(part, "shape", ())) if _is_mask(part) else 1


def _is_mask(part: object) -> bool:
    """Whether a part of an index is an array of bools."""
    return is_array(part) and getattr(part, "dtype", None) in (BOOL, np.bool_)


def _is_scalar_mask(part: object) -> bool:
    """Whether a part of an index is one bool, on the host or the device."""
    if isinstance(part, bool | np.bool_):
        return True
    return getattr(part, "dtype", None) in (BOOL, np.bool_) and getattr(part, "shape", None) == ()


def _check_count(mask: np.ndarray[Any, Any], shape: Shape) -> None:
    """Raises `ShapeError` unless there are as many values as places where a mask of the host holds."""
    count = int(np.count_nonzero(mask))
    if shape[0] != count:
        raise ShapeError(
            f"values of shape {shape} for a mask that holds at {count} places",
            place=calling_line(),
            remedy="give one value for each of them, or one for all",
        )
