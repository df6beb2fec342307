"""Elements of arrays: indices become addresses, views stay descriptions, accesses are tested where that is asked for.

An array whose axes lie in row-major order without gaps is addressed by its lengths alone, `i * columns + j`; others by
their strides. Lengths and strides are parameters of the kernel, made where they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ocl_ir.errors import DTypeError, IndexingError, ShapeError
from ocl_ir.kernel.grammar import Array, Local, Stmt, Variable
from ocl_ir.kernel.grammar import Value as IRValue
from ocl_ir.kernel.operands import Ref
from ocl_ir.language.arithmetic import Arithmetic
from ocl_ir.language.context import Status
from ocl_ir.language.errors import Span
from ocl_ir.language.promotion import class_of
from ocl_ir.language.values import ArrayView, Deferred, Memory, Number, Size, Value, dtype_name
from ocl_ir.types import BF16, BOOL, F32, I32, DType, Pointer, Space, Vector

STATUS_WORDS = 10
"""Of the record of the first violation: whether there is one, its site, the axis, index and length as two words each,
the global ids."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where a violation may happen: `array` is what is accessed, None where the program asserts something."""

    span: Span
    array: str | None
    text: str = ""


class MemoryAccess(Arithmetic):
    """Loads, stores and views."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.local_arrays: list[Stmt] = []
        """Declarations of arrays of the group, which stand at the top of the kernel."""
        self.sites: list[Site] = []
        self._status: Ref | None = None
        self._failed: Variable | None = None

    def marked(self) -> tuple[Any, ...]:
        """The state to come `back_to`."""
        return super().marked(), len(self.local_arrays), len(self.sites), self._status, self._failed

    def back_to(self, mark: tuple[Any, ...]) -> None:
        """Forgets what was made since a mark."""
        inner, arrays, sites, self._status, self._failed = mark
        super().back_to(inner)
        del self.local_arrays[arrays:]
        del self.sites[sites:]

    # ------------------------------------------------------------------ sizes

    def size(self, size: Size) -> int | Number:
        """A length or a stride as a number."""
        if not isinstance(size, Deferred):
            return size
        low = {"shape": 0, "stride": None, "items": 1}[size.what]
        return self.parameter(size, size.name, self.index_type, kind="index", low=low)

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
        if a == 1 or b == 1:
            return b if isinstance(a, int) and a == 1 else a if isinstance(b, int) and b == 1 else None
        return self.binary("mul", a, b)

    def _plus(self, a: Value, b: Value) -> Value:
        if isinstance(a, int) and a == 0:
            return b
        return a if isinstance(b, int) and b == 0 else self.binary("add", a, b)

    # ------------------------------------------------------------------ indices

    def view(self, view: ArrayView, index: Value) -> ArrayView:
        """The view, of rank 0 for an element, that an index picks. Raises `IndexingError` for one that does not fit."""
        items = index if isinstance(index, tuple) else (index,)
        items = self._without_ellipsis(view, items)
        if len(items) > len(view.shape):
            self.fail(
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
                self.fail("an index of None", "reshape the array before the call", IndexingError)
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
                    self.fail(
                        f"index {item} is outside of {view.memory.name}, shape {self._shape_text(view)}, whenever "
                        "this runs",
                        last,
                        IndexingError,
                    )
                return item % length
            return item if item >= 0 else self.binary("add", length, item)
        if not self._is_integer(item):
            self.fail(
                f"an index must be an integer, not {self.described(item)}", "convert it: int(…)", DTypeError
            )
        return item

    def _bounds(self, view: ArrayView, axis: int, item: slice) -> tuple[Value, Size]:
        if item.step is not None and item.step != 1:
            self.fail("a slice with a step", "count with range, and index elements", IndexingError)
        start, length = item.start, view.shape[axis]
        if start is None and item.stop is None:
            return 0, length
        start = 0 if start is None else self._element(view, axis, start)
        stop = self.size(length) if item.stop is None else self._stop(view, axis, item.stop)
        return start, self.binary("sub", stop, start) if start != 0 or not isinstance(stop, int) else stop

    def _stop(self, view: ArrayView, axis: int, stop: Value) -> Value:
        if isinstance(stop, int) and stop < 0:
            return self.binary("add", self.size(view.shape[axis]), stop)
        return stop

    def _shape_text(self, view: ArrayView) -> str:
        lengths = [str(length) if isinstance(length, int) else "n" for length in view.shape]
        return f"({', '.join(lengths)}{',' * (len(lengths) == 1)})"

    # ------------------------------------------------------------------ accesses

    def load(self, view: ArrayView, index: Value) -> Value:
        """An element."""
        element = self.view(view, index)
        if element.shape:
            return element
        dtype = F32 if view.dtype is BF16 else view.dtype
        computed = self.computed_as(dtype)
        at = self.index(self.size(element.offset))
        pointer = view.memory.pointer

        def read() -> Ref:
            return self.k.load_as(pointer, at, computed)

        if not self.options.checked:
            return Number(read(), dtype)
        return Number(self._tested(view, index, computed, read), dtype)

    def store(self, view: ArrayView, index: Value, value: Value) -> None:
        """Writes an element."""
        element = self.view(view, index)
        if element.shape:
            self.fail(
                f"a store into {self._shape_text(element)} elements of {view.memory.name}",
                "write one element: give an index for each axis",
                ShapeError,
            )
        stored = self.stored(view, value)
        at = self.index(self.size(element.offset))
        self.guarded(view, index, lambda: self.k.store(view.memory.pointer, at, stored))

    def stored(self, view: ArrayView, value: Value) -> Ref:
        """A number as an array holds it: literals and indices must fit, what is typed keeps its kind."""
        class_, dtype = class_of(value), view.dtype
        name = view.memory.name
        if class_ is None:
            self.fail(f"{self.described(value)} is stored in {name}", "store a number", DTypeError)
        if class_.dtype is not None and dtype is not BF16:
            if not np.can_cast(class_.dtype.numpy, dtype.numpy, "same_kind"):
                self.fail(
                    f"{self.described(value)} is stored in {name}, an array of {dtype_name(dtype)}",
                    f"convert it: {dtype_name(dtype)}(…)",
                    DTypeError,
                )
        elif class_.literal == "float" and dtype.kind != "float":
            self.fail(
                f"{self.described(value)} is stored in {name}, an array of {dtype_name(dtype)}",
                f"convert it: {dtype_name(dtype)}(…)",
                DTypeError,
            )
        elif class_.is_index and dtype is BOOL:
            self.fail(f"an index is stored in {name}, an array of bool", "write a comparison: i != 0", DTypeError)
        return self.converted(value, F32 if dtype is BF16 else dtype)

    def guarded(self, view: ArrayView, index: Value, access: Callable[[], Any]) -> None:
        """An effect on an element, which is left out in checked mode where the index is outside."""
        if not self.options.checked:
            access()
            return
        inside = self._inside(view, index)
        failed = self._failed_variable()
        with self.k.if_(inside):
            with self.k.if_(self.k.op("not", Ref(self.k, failed))):
                access()
        with self.k.else_():
            self._report(view, index)

    def _tested(self, view: ArrayView, index: Value, dtype: DType, read: Callable[[], Ref]) -> Ref:
        inside = self._inside(view, index)
        value = self.k.variable(self._constant(False if dtype is BOOL else 0, dtype))
        with self.k.if_(inside):
            self.k.assign(value, read())
        with self.k.else_():
            self._report(view, index)
        return self.k.let(value)

    def _inside(self, view: ArrayView, index: Value) -> Ref:
        tests = [test for _, at, length in self._axes(view, index) for test in self._test(at, length)]
        inside = self._constant(True, BOOL)
        for test in tests:
            inside = self.k.op("and", inside, test)
        return inside

    def _test(self, at: Value, length: Value) -> list[Ref]:
        tests = [self.k.op("lt", self.index(at), self.index(length))]
        if not isinstance(at, int) and (at.low is None or at.low < 0):
            tests.insert(0, self.k.op("ge", self.index(at), self._constant(0, self.index_type)))
        return tests

    def _axes(self, view: ArrayView, index: Value) -> list[tuple[int, Value, Value]]:
        items = self._without_ellipsis(view, index if isinstance(index, tuple) else (index,))
        return [
            (axis, self._element(view, axis, item), self.size(view.shape[axis])) for axis, item in enumerate(items)
        ]

    # ------------------------------------------------------------------ violations

    def _report(self, view: ArrayView, index: Value) -> None:
        site = len(self.sites)
        self.sites.append(Site(self.span, view.memory.name))
        axes = self._axes(view, index)
        axis, at, length = (self.k.variable(self._constant(0, self.index_type)) for _ in range(3))
        for number, position, extent in reversed(axes):
            outside = self._constant(False, BOOL)
            for test in self._test(position, extent):
                outside = self.k.op("or", outside, self.k.op("not", test))
            with self.k.if_(outside):
                self.k.assign(axis, self._constant(number, self.index_type))
                self.k.assign(at, self.index(position))
                self.k.assign(length, self.index(extent))
        self.violation(site, axis, at, length)

    def violation(self, site: int, axis: Ref | None = None, at: Ref | None = None, length: Ref | None = None) -> None:
        """Records a violation, unless there is one, and lets the work-item store nothing more."""
        status = self._status_pointer()
        first = self.k.atomic("compare_exchange", status, self._word(0), self._constant(0, I32), self._constant(1, I32))
        assert first is not None
        with self.k.if_(self.k.op("eq", first, self._constant(0, I32))):
            words = [self._constant(site, I32), *self._halves(axis)[:1], *self._halves(at), *self._halves(length)]
            words += [self.k.item("global_id", dimension, "", I32) for dimension in range(3)]
            for number, word in enumerate(words, start=1):
                self.k.store(status, self._word(number), word)
        self.k.assign(Ref(self.k, self._failed_variable()), self._constant(True, BOOL))

    def _word(self, number: int) -> Ref:
        return self._constant(number, I32)

    def _halves(self, value: Ref | None) -> list[Ref]:
        if value is None:
            return [self._constant(0, I32)] * 2
        value = self.k.let(value)
        if not self.options.wide:
            sign = self.k.op("shr", value, self._constant(31, I32))
            return [value, sign]
        high = self.k.op("shr", value, self._constant(32, self.index_type))
        return [self.k.convert(value, I32), self.k.convert(high, I32)]

    def _status_pointer(self) -> Ref:
        if self._status is None:
            self._status = self.pointer(Status(), "status", I32)
        return self._status

    def _failed_variable(self) -> Variable:
        if self._failed is None:
            self._failed = Variable(self.k.take_id(), BOOL, "failed")
        return self._failed

    @property
    def first_statements(self) -> tuple[Stmt, ...]:
        """What stands at the top of the kernel."""
        failed = [] if self._failed is None else [Local(self._failed, self._constant(False, BOOL).operand)]
        return (*self.local_arrays, *failed)

    # ------------------------------------------------------------------ arrays of the group and of the work-item

    def new_array(self, shape: Value, dtype: DType, space: Space, name: str) -> ArrayView:
        """An array whose contents are undefined. Raises `ShapeError` for a shape that is known at run time only."""
        lengths = shape if isinstance(shape, tuple) else (shape,)
        for length in lengths:
            if isinstance(length, Number | Deferred) or not isinstance(length, int | np.integer):
                self.fail(
                    f"a length of a {space} array is {self.described(length)}, which is known only at run time",
                    "annotate the parameter: n: Constant[int]",
                    ShapeError,
                )
            if length < 1:
                self.fail(f"a {space} array of length {length}", "use at least one element", ShapeError)
        count = int(np.prod(lengths, dtype=np.int64))
        pointer = IRValue(self.k.take_id(), Pointer(self.available(dtype), space), name)
        declared = Array(pointer, count, where=self.k.where or "")
        if space == "local":
            self.local_arrays.append(declared)
        else:
            self.k.emit(declared)
        memory = Memory(name or f"a {space} array", Ref(self.k, pointer), dtype, space)
        return ArrayView(memory, tuple(map(int, lengths)))

    # ------------------------------------------------------------------ vectors and atomics

    def load_vector(self, view: ArrayView, index: Value, count: int, *, aligned: bool) -> Number:
        """Neighbouring elements along the last axis."""
        element = self._first_of(view, index)
        dtype = F32 if view.dtype is BF16 else view.dtype
        align = view.dtype.size * (count if aligned else 1)
        ref = self.k.load_as(
            view.memory.pointer, self.index(self.size(element.offset)), self.computed_as(dtype), count=count, align=align
        )
        return Number(ref, dtype)

    def store_vector(self, view: ArrayView, index: Value, value: Value, *, aligned: bool) -> None:
        """Writes the lanes of a vector to neighbours along the last axis."""
        element = self._first_of(view, index)
        if not isinstance(value, Number) or not isinstance(value.type, Vector):
            self.fail(f"vstore of {self.described(value)}", "store a vector: float4(…)", DTypeError)
        align = view.dtype.size * (value.lanes if aligned else 1)
        at = self.index(self.size(element.offset))
        self.k.store(view.memory.pointer, at, self.stored(view, value), align=align)

    def _first_of(self, view: ArrayView, index: Value) -> ArrayView:
        if view.strides is not None and view.strides[-1] != 1:
            self.fail(
                f"a vector of {view.memory.name}, whose last axis has gaps",
                "annotate the parameter as contiguous, or load elements",
                ShapeError,
            )
        element = self.view(view, index)
        return element if not element.shape else replace(element, shape=())

    def atomic(self, op: Any, view: ArrayView, index: Value, *values: Value, used: bool) -> Value:
        """Changes an element in one step; gives what it was before."""
        element = self.view(view, index)
        if element.shape:
            self.fail(f"an atomic of {self._shape_text(element)} elements", "give an index for each axis", ShapeError)
        dtype = view.dtype
        if dtype.bits < 32:
            self.fail(
                f"an atomic of {dtype_name(dtype)}, which no device has", "use an array of int32 or uint32", DTypeError
            )
        operands = [self.stored(view, value) for value in values]
        at = self.index(self.size(element.offset))
        before: list[Ref | None] = []

        def change() -> None:
            before.append(self.k.atomic(op, view.memory.pointer, at, *operands, used=used))

        if not self.options.checked:
            change()
            return None if before[0] is None else Number(before[0], dtype)
        held = self.k.variable(self._constant(0, dtype)) if used else None

        def change_and_keep() -> None:
            change()
            if held is not None and before[-1] is not None:
                self.k.assign(held, before[-1])

        self.guarded(view, index, change_and_keep)
        return None if held is None else Number(self.k.let(held), dtype)

