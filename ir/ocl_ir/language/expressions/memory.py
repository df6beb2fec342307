"""Elements of arrays: loads, stores, vectors and atomics; arrays of the group and of the work-item."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ocl_ir.errors import DTypeError, ShapeError
from ocl_ir.kernel.grammar import Array, Local, Stmt
from ocl_ir.kernel.grammar import Value as IRValue
from ocl_ir.kernel.operands import Ref
from ocl_ir.language.expressions.reports import StoreSite
from ocl_ir.language.expressions.violations import Violations
from ocl_ir.language.values.promotion import class_of
from ocl_ir.language.values.values import ArrayView, Deferred, Memory, Number, Value, dtype_name
from ocl_ir.types import BF16, BOOL, F32, DType, Pointer, Space, Vector


class MemoryAccess(Violations):
    """Reads and writes elements."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.local_arrays: list[Stmt] = []
        """Declarations of arrays of the group, and of which part of one is in use, at the top of the kernel."""

    def marked(self) -> tuple[Any, ...]:
        """The state to come `back_to`."""
        return super().marked(), len(self.local_arrays)

    def back_to(self, mark: tuple[Any, ...]) -> None:
        """Forgets what was made since a mark."""
        inner, arrays = mark
        super().back_to(inner)
        del self.local_arrays[arrays:]

    @property
    def first_statements(self) -> tuple[Stmt, ...]:
        """What stands at the top of the kernel."""
        failed = [] if self._failed is None else [Local(self._failed, self._constant(False, BOOL).operand)]
        return (*self.local_arrays, *failed)

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
            raise self.fault(
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
            raise self.fault(f"{self.described(value)} is stored in {name}", "store a number", DTypeError)
        if class_.dtype is not None and dtype is not BF16:
            if not np.can_cast(class_.dtype.numpy, dtype.numpy, "same_kind"):
                raise self.fault(
                    f"{self.described(value)} is stored in {name}, an array of {dtype_name(dtype)}",
                    f"convert it: {dtype_name(dtype)}(…)",
                    DTypeError,
                )
        elif class_.literal == "float" and dtype.kind != "float":
            raise self.fault(
                f"{self.described(value)} is stored in {name}, an array of {dtype_name(dtype)}",
                f"convert it: {dtype_name(dtype)}(…)",
                DTypeError,
            )
        elif class_.is_index and dtype is BOOL:
            raise self.fault(
                f"an index is stored in {name}, an array of bool", "write a comparison: i != 0", DTypeError
            )
        if class_.is_index and dtype.is_integer:
            self.check_range(value, dtype, StoreSite(self.span, name, dtype))
        return self.converted(value, F32 if dtype is BF16 else dtype)

    # ------------------------------------------------------------------ arrays of the group and of the work-item

    def new_array(self, shape: Value, dtype: DType, space: Space, name: str, *, align: int = 0) -> ArrayView:
        """An array whose contents are undefined. Raises `ShapeError` for a shape that is known at run time only."""
        lengths = shape if isinstance(shape, tuple) else (shape,)
        for length in lengths:
            if isinstance(length, Number | Deferred) or not isinstance(length, int | np.integer):
                raise self.fault(
                    f"a length of a {space} array is {self.described(length)}, which is known only at run time",
                    "annotate the parameter: n: Constant[int]",
                    ShapeError,
                )
            if length < 1:
                raise self.fault(f"a {space} array of length {length}", "use at least one element", ShapeError)
        count = int(np.prod(lengths, dtype=np.int64))
        pointer = IRValue(self.k.take_id(), Pointer(self.available(dtype), space, align), name)
        declared = Array(pointer, count, where=self.k.where or "")
        if space == "local":
            self.local_arrays.append(declared)
        else:
            self.k.emit(declared)
        memory = Memory(name or f"a {space} array", Ref(self.k, pointer), dtype, space, align)
        return ArrayView(memory, tuple(map(int, lengths)))

    # ------------------------------------------------------------------ vectors and atomics

    def load_vector(self, view: ArrayView, index: Value, count: int, *, aligned: bool) -> Number:
        """Neighbouring elements along the last axis."""
        element = self._first_of(view, index)
        dtype = F32 if view.dtype is BF16 else view.dtype
        computed, align = self.computed_as(dtype), view.dtype.size * (count if aligned else 1)
        at = self.index(self.size(element.offset))

        def read() -> Ref:
            return self.k.load_as(view.memory.pointer, at, computed, count=count, align=align)

        if not self.options.checked:
            return Number(read(), dtype)
        return Number(self._tested(view, index, computed, read, count), dtype)

    def store_vector(self, view: ArrayView, index: Value, value: Value, *, aligned: bool) -> None:
        """Writes the lanes of a vector to neighbours along the last axis."""
        element = self._first_of(view, index)
        if not isinstance(value, Number) or not isinstance(value.type, Vector):
            raise self.fault(f"vstore of {self.described(value)}", "store a vector: float4(…)", DTypeError)
        align = view.dtype.size * (value.lanes if aligned else 1)
        at, stored = self.index(self.size(element.offset)), self.stored(view, value)
        self.guarded(view, index, lambda: self.k.store(view.memory.pointer, at, stored, align=align), value.lanes)

    def _first_of(self, view: ArrayView, index: Value) -> ArrayView:
        if view.strides is not None and view.strides[-1] != 1:
            raise self.fault(
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
            raise self.fault(
                f"an atomic of {self._shape_text(element)} elements", "give an index for each axis", ShapeError
            )
        dtype = view.dtype
        if dtype.bits < 32:
            raise self.fault(
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
