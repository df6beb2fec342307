"""Arrays of a kernel in plain Python: elements are typed numbers, views share memory, indices are tested."""

from __future__ import annotations

from types import EllipsisType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocl_ir.bfloat16 import bits_of, floats_of
from ocl_ir.errors import DTypeError, IndexingError, ShapeError
from ocl_ir.language.plain.numbers import Index, Typed, class_of, converted, plain
from ocl_ir.language.values.values import dtype_name
from ocl_ir.types import BF16, BOOL, F32, DType


class PlainArray:
    """Elements of an array argument, or of an array of the group or the work-item."""

    def __init__(self, data: NDArray[Any], dtype: DType, name: str = "the array") -> None:
        self.data, self.type, self.name = data, dtype, name

    def __repr__(self) -> str:
        return f"{self.name}: {self.data!r}"

    @property
    def shape(self) -> tuple[Index, ...]:
        """The lengths of its axes."""
        return tuple(map(Index, self.data.shape))

    @property
    def size(self) -> Index:
        """How many elements it has."""
        return Index(self.data.size)

    @property
    def ndim(self) -> int:
        """How many axes it has."""
        return self.data.ndim

    def __len__(self) -> int:
        if not self.data.ndim:
            raise ShapeError("len of an element")
        return len(self.data)

    def __getitem__(self, index: Any) -> Any:
        items = self._items(index)
        if len(items) == self.data.ndim and not any(isinstance(item, slice) for item in items):
            return Typed(_loaded(self.data[items], self.type))
        return PlainArray(self.data[items], self.type, self.name)

    def __setitem__(self, index: Any, value: Any) -> None:
        items = self._items(index)
        if len(items) != self.data.ndim or any(isinstance(item, slice) for item in items):
            raise ShapeError(f"a store into many elements of {self.name}", remedy="give an index for each axis")
        self.data[items] = self.stored(value)

    def stored(self, value: Any) -> Any:
        """A number as the array holds it. Raises `DTypeError` for one that it does not hold."""
        class_ = class_of(value)
        if class_ is None:
            raise DTypeError(f"{value!r} is stored in {self.name}", remedy="store a number")
        wrong = class_.is_index and self.type is BOOL
        if class_.dtype is not None and self.type is not BF16:
            wrong = not np.can_cast(class_.dtype.numpy, self.type.numpy, "same_kind")
        elif class_.literal == "float" or (self.type is BF16 and class_.dtype is not None):
            wrong = not self.type.is_float
        if wrong:
            raise DTypeError(f"{value!r} is stored in {self.name}, an array of {dtype_name(self.type)}")
        if self.type is BF16:
            return bits_of(converted(value, F32))
        return converted(value, self.type)

    def run(self, index: Any, count: int) -> NDArray[Any]:
        """Neighbouring elements along the last axis, from an index on."""
        items = self._items(index)
        (*rows, first) = items
        if first + count > self.data.shape[-1]:
            raise IndexingError(
                f"{count} elements from {first} of {self.name}, whose last axis has {self.data.shape[-1]}"
            )
        return np.asarray(self.data[(*rows, slice(first, first + count))])

    # ------------------------------------------------------------------ indices

    def _items(self, index: Any) -> tuple[Any, ...]:
        items = index if isinstance(index, tuple) else (index,)
        if Ellipsis in [item for item in items if isinstance(item, EllipsisType)]:
            at = next(at for at, item in enumerate(items) if item is Ellipsis)
            missing = self.data.ndim - len(items) + 1
            items = (*items[:at], *[slice(None)] * missing, *items[at + 1 :])
        if len(items) > self.data.ndim:
            raise IndexingError(f"{len(items)} indices for {self.name}, which has {self.data.ndim} axes")
        return tuple(
            self._slice(item) if isinstance(item, slice) else self._index(item, axis) for axis, item in enumerate(items)
        )

    def _slice(self, item: slice) -> slice:
        if item.step is not None and item.step != 1:
            raise IndexingError("a slice with a step", remedy="count with range, and index elements")
        return slice(*[None if part is None else int(plain(part)) for part in (item.start, item.stop)])

    def _index(self, item: Any, axis: int) -> int:
        class_ = class_of(item)
        if class_ is None or class_.literal in {"float", "bool"} or (class_.dtype and not class_.dtype.is_integer):
            raise DTypeError(f"an index must be an integer, not {item!r}", remedy="convert it: int(…)")
        number, length = int(plain(item)), self.data.shape[axis]
        least = -length if class_.literal == "int" else 0  # what is computed at run time does not count from the end
        if not least <= number < length:
            raise IndexingError(f"index {number} on axis {axis} of {self.name}, whose length there is {length}")
        return number


def _loaded(element: Any, dtype: DType) -> Any:
    if dtype is not BF16:
        return element
    return floats_of(np.asarray(element))[()]
