"""Views of arrays: indices become addresses, and views stay descriptions until an element is read or written.

An array whose axes lie in row-major order without gaps is addressed by its lengths alone, `i * columns + j`; others by
their strides. Lengths and strides are parameters of the kernel, made where they are used.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ocl_ir.errors import DTypeError, IndexingError
from ocl_ir.kernel.grammar import Value as IRValue
from ocl_ir.language.expressions.arithmetic import Arithmetic
from ocl_ir.language.values.values import ArrayView, Deferred, Number, Size, Value, low_of
from ocl_ir.program_ops import ExactOp


class Views(Arithmetic):
    """Picks elements and parts of arrays."""

    # ------------------------------------------------------------------ sizes

    def size(self, size: Size) -> int | Number:
        """A length or a stride as a number."""
        if not isinstance(size, Deferred):
            return size
        low = {"shape": 0, "stride": None, "items": 1}[size.what]
        number = self.parameter(size, size.name, self.index_type, kind="index", low=low)
        if isinstance(number.ref.operand, IRValue):
            self.k.multiples.note(number.ref.operand, size.divisor)
        return number

    def items(self, dimension: int) -> Number:
        """How many work-items were asked for along a dimension."""
        count = self.size(Deferred("items", (), dimension, f"items{dimension or ''}"))
        assert isinstance(count, Number)
        return count

    def elements_of(self, view: ArrayView) -> Value:
        """How many elements a view has."""
        product: Value = 1
        for length in view.shape:
            product = self._times(product, self.size(length))
        return product

    def _times(self, a: Value, b: Value) -> Value:
        """A product of an address."""
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if isinstance(a, int):
            a, b = b, a
        if isinstance(b, int) and b in {0, 1}:
            return a if b else 0
        return self._address("mul", a, b)

    def _plus(self, a: Value, b: Value) -> Value:
        """A sum of an address."""
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if isinstance(a, int) and a == 0:
            return b
        return a if isinstance(b, int) and b == 0 else self._address("add", a, b)

    def _address(self, op: str, a: Value, b: Value) -> Number:
        """An operation of an address: in an array that has fewer elements than indices, nothing overflows."""
        first, second = low_of(a), low_of(b)
        low = 0 if first is not None and second is not None and min(first, second) >= 0 else None
        return Number(self.k.op(ExactOp(op), self.index(a), self.index(b)), self.index_type, "index", low)

    # ------------------------------------------------------------------ indices

    def view(self, view: ArrayView, index: Value) -> ArrayView:
        """The view, of rank 0 for an element, that an index picks. Raises `IndexingError` for one that does not fit."""
        items = index if isinstance(index, tuple) else (index,)
        items = self._without_ellipsis(view, items)
        if len(items) > len(view.shape):
            raise self.fault(
                f"{len(items)} indices for {view.memory.name}, which has {len(view.shape)} axes",
                "give one index for each axis",
                IndexingError,
            )
        items = (*items, *[slice(None)] * (len(view.shape) - len(items)))
        leading = next((at for at, item in enumerate(items) if isinstance(item, slice)), len(items))
        rest = items[leading:]
        if view.strides is None and all(self._is_whole(item) for item in rest[1:]):
            return self._dense(view, items, leading)
        strides = self._strides(view)
        offset, shape, kept = self.size(view.offset), list[Size](), list[Size]()
        for axis, item in enumerate(items):
            if isinstance(item, slice):
                start, length = self._bounds(view, axis, item)
                offset = self._plus(offset, self._times(start, self.size(strides[axis])) if start != 0 else 0)
                shape.append(length)
                kept.append(strides[axis])
            else:
                at = self._element(view, axis, item)
                offset = self._plus(offset, self._times(at, self.size(strides[axis])))
        return ArrayView(view.memory, tuple(shape), tuple(kept), offset)

    def _dense(self, view: ArrayView, items: Sequence[Value], leading: int) -> ArrayView:
        """Of an array in row-major order, elements or rows of it."""
        offset: Value = 0
        for axis in range(leading):
            at = self._element(view, axis, items[axis])
            offset = self._plus(self._times(offset, self.size(view.shape[axis])) if axis else 0, at)
        shape = list(view.shape[leading:])
        if leading < len(items):
            start, shape[0] = self._bounds(view, leading, items[leading])
            offset = self._plus(self._times(offset, self.size(view.shape[leading])) if leading else 0, start)
        for length in view.shape[leading + 1 :]:
            offset = 0 if isinstance(offset, int) and offset == 0 else self._times(offset, self.size(length))
        return ArrayView(view.memory, tuple(shape), None, self._plus(self.size(view.offset), offset))

    def _strides(self, view: ArrayView) -> tuple[Size, ...]:
        if view.strides is not None:
            return view.strides
        strides: list[Size] = [1] * len(view.shape)
        for axis in range(len(view.shape) - 2, -1, -1):
            strides[axis] = self._times(self.size(strides[axis + 1]), self.size(view.shape[axis + 1]))
        return tuple(strides)

    def _without_ellipsis(self, view: ArrayView, items: Sequence[Value]) -> tuple[Value, ...]:
        for at, item in enumerate(items):
            if item is Ellipsis:
                missing = len(view.shape) - len(items) + 1
                return (*items[:at], *[slice(None)] * missing, *items[at + 1 :])
            if item is None:
                raise self.fault("an index of None", "reshape the array before the call", IndexingError)
        return tuple(items)

    def _is_whole(self, item: Value) -> bool:
        return isinstance(item, slice) and item.start is None and item.stop is None and item.step is None

    def _element(self, view: ArrayView, axis: int, item: Value) -> Value:
        length = self.size(view.shape[axis]) if isinstance(view.shape[axis], int) or isinstance(item, int) else None
        if isinstance(item, int | np.integer) and not isinstance(item, bool):
            item = int(item)
            if isinstance(length, int):
                if not -length <= item < length:
                    last = f"The last is {length - 1}." if length else "It has no elements."
                    raise self.fault(
                        f"index {item} is outside of {view.memory.name}, shape {self._shape_text(view)}, whenever "
                        "this runs",
                        last,
                        IndexingError,
                    )
                return item % length
            return item if item >= 0 else self.binary("add", length, item)
        if not self._is_integer(item):
            raise self.fault(
                f"an index must be an integer, not {self.described(item)}", "convert it: int(…)", DTypeError
            )
        return item

    def _bounds(self, view: ArrayView, axis: int, item: slice) -> tuple[Value, Size]:
        if item.step is not None and item.step != 1:
            raise self.fault("a slice with a step", "count with range, and index elements", IndexingError)
        whole = view.shape[axis]
        if item.start is None and item.stop is None:
            return 0, whole
        length = self.size(whole)
        start = 0 if item.start is None else self._limit(item.start, length)
        stop = length if item.stop is None else self._nearest("minimum", self._limit(item.stop, length), length)
        return start, self._nearest("maximum", self.binary("sub", stop, start) if start != 0 else stop, 0)

    def _limit(self, limit: Value, length: int | Number) -> int | Number:
        """A bound of a slice; a negative literal counts from the end, at most to the first element."""
        if isinstance(limit, int | np.integer) and not isinstance(limit, bool):
            limit = int(limit)
            return limit if limit >= 0 else self._nearest("maximum", self.binary("add", length, limit), 0)
        return Number(self.index(limit), self.index_type, "index", low_of(limit))

    def _nearest(self, op: str, a: int | Number, b: int | Number) -> int | Number:
        """The minimum or maximum of two lengths, which may be known."""
        if isinstance(a, int) and isinstance(b, int):
            return min(a, b) if op == "minimum" else max(a, b)
        low = low_of(a)
        if op == "maximum" and b == 0 and low is not None and low >= 0:
            return a
        nearest: Number = self.numeric(op, a, b)
        return nearest

    def _shape_text(self, view: ArrayView) -> str:
        lengths = [str(length) if isinstance(length, int) else "n" for length in view.shape]
        return f"({', '.join(lengths)}{',' * (len(lengths) == 1)})"
