"""The arguments of a call: which types a variant is translated for, and which numbers a launch takes from them.

An array gives its memory, lengths and strides; a NumPy scalar, a Python int and a Python float are numbers of the
launch; tuples and frozen dataclasses have arguments inside; the rest is known while the kernel is translated.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ocl_ir.graph.build import Buffer
from ocl_ir.guards import Backed
from ocl_ir.language.parameters import (
    UNIT_BYTES,
    ArgumentType,
    ArrayType,
    Constant,
    FloatType,
    IndexType,
    Lies,
    Parts,
    ScalarType,
)
from ocl_ir.language.values.captures import may_be_captured
from ocl_ir.layout import Layout
from ocl_ir.source_line import calling_line
from ocl_ir.types import BOOL, from_numpy
from ocl_runtime.arrays import Array
from ocl_runtime.errors import DTypeError
from ocl_runtime.plan.kernels.form import aligned
from ocl_runtime.programs.kernels.annotations import (
    Annotation,
    ArrayAnnotation,
    ConstantAnnotation,
    NumberAnnotation,
    argument_text,
    constant_value,
)

Path = tuple[object, ...]


class Arguments:
    """The arguments of one call, by parameter."""

    def __init__(self, name: str, values: Mapping[str, Any], annotations: Mapping[str, Annotation]) -> None:
        self.kernel_name = name
        self.values = values
        self.arrays: list[Array] = []
        """The arrays, in the order of the parameters."""
        self.numbers: dict[Path, Any] = {}
        """The numbers of the launch."""
        self._paths: list[Path] = []
        self._skeleton = {
            parameter: self._type((parameter,), value, annotations.get(parameter))
            for parameter, value in values.items()
        }

    def types(self, buffers: Sequence[Buffer], *, asks_units: bool = False) -> dict[str, ArgumentType]:
        """The types of all arguments, of arrays that lie in some buffers; `asks_units`: with whether they lie in whole
        units."""
        arrays = (_array_type(number, buffers, asks_units=asks_units) for number in range(len(buffers)))
        return {name: _filled(type_, arrays) for name, type_ in self._skeleton.items()}

    def array_index(self, path: Path) -> int:
        """The number of the array at a path."""
        return self._paths.index(path)

    def _type(self, path: Path, value: Any, annotation: Annotation = None) -> Any:
        if isinstance(annotation, ConstantAnnotation):
            return Constant(constant_value(f"kernel {self.kernel_name}", ".".join(map(str, path)), value, annotation))
        if isinstance(value, Array):
            self._check_array(path, value, annotation)
            self.arrays.append(value)
            self._paths.append(path)
            return _ARRAY
        if isinstance(annotation, ArrayAnnotation):
            raise self._wrong(path, value, "an array of the library", "pass ocl_runtime.asarray(x)")
        if isinstance(value, np.ndarray) and value.shape == ():
            value = value[()]
        if isinstance(value, Backed):  # a size in a captured function
            value = operator.index(value)
        if isinstance(annotation, NumberAnnotation):
            return self._converted(path, value, annotation)
        if isinstance(value, bool | np.bool_):
            self.numbers[path] = bool(value)
            return ScalarType(BOOL)
        if isinstance(value, complex | np.complexfloating):
            raise self._wrong(path, value, "a real number", "pass its parts, and write complex(re, im)")
        if isinstance(value, np.generic):
            self.numbers[path] = value
            return ScalarType(from_numpy(value.dtype))
        if isinstance(value, int | float):
            self.numbers[path] = value
            return IndexType() if isinstance(value, int) else FloatType()
        return self._inside(path, value)

    def _inside(self, path: Path, value: Any) -> Any:
        inside = parts_of(value)
        if inside is not None:
            parts = tuple(self._type((*path, name), part) for name, part in inside.items())
            return Parts(type(value), tuple(inside), parts)
        if not may_be_captured(value):
            remedy = (
                "pass ocl_runtime.asarray(x)" if hasattr(value, "__array__") else "pass arrays, numbers and functions"
            )
            raise self._wrong(path, value, "an array, a number, a function, None, a text, or a tuple of these", remedy)
        return Constant(value)

    def _converted(self, path: Path, value: Any, annotation: NumberAnnotation) -> ScalarType:
        if not isinstance(value, bool | int | float | np.generic):
            raise self._wrong(path, value, f"a number of {annotation.dtype.public}", "pass a number")
        if isinstance(value, float | np.floating) and not annotation.dtype.is_float:
            raise self._wrong(path, value, f"a number of {annotation.dtype.public}", "convert it: int(x)")
        try:
            self.numbers[path] = annotation.dtype.numpy.type(value)
        except OverflowError:
            raise self._wrong(path, value, f"a number of {annotation.dtype.public}", "use a wider dtype") from None
        return ScalarType(annotation.dtype)

    def _check_array(self, path: Path, x: Array, annotation: Annotation) -> None:
        if isinstance(annotation, NumberAnnotation):
            raise self._wrong(path, x, f"a number of {annotation.dtype.public}", "pass float(x) or x[0].item()")
        if not isinstance(annotation, ArrayAnnotation):
            return
        if annotation.rank is not None and annotation.rank != x.ndim:
            raise self._wrong(path, x, f"an array with {annotation.rank} axes", "reshape it")
        if annotation.dtype is not None and annotation.dtype is not x._dtype:
            dtype = annotation.dtype.public
            raise self._wrong(path, x, f"an array of {dtype}", f"convert it: x.astype({dtype})")

    def _wrong(self, path: Path, value: Any, expected: str, remedy: str) -> DTypeError:
        name = ".".join(map(str, path))
        return DTypeError(
            f"kernel {self.kernel_name} got {argument_text(value)} for {name}, which takes {expected}",
            place=calling_line(),
            remedy=remedy,
        )


_ARRAY = object()
"""Stands for an array until it is known how that lies."""


def parts_of(value: Any) -> dict[object, Any] | None:
    """What is inside of a tuple, a named tuple or a frozen dataclass, by name or number; None for anything else."""
    if isinstance(value, tuple):
        return dict(zip(getattr(value, "_fields", range(len(value))), value, strict=True))
    if dataclasses.is_dataclass(value) and not isinstance(value, type) and value.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return None


def _filled(type_: Any, arrays: Iterator[ArrayType]) -> ArgumentType:
    if type_ is _ARRAY:
        return next(arrays)
    if isinstance(type_, Parts):
        return Parts(type_.type, type_.names, tuple(_filled(part, arrays) for part in type_.parts))
    argument: ArgumentType = type_
    return argument


def _array_type(number: int, buffers: Sequence[Buffer], *, asks_units: bool) -> ArrayType:
    buffer = buffers[number]
    same = next((other for other in range(number) if buffers[other].is_as(buffer)), None)
    alone = not any(
        other.storage is buffer.storage and buffer.storage is not None
        for index, other in enumerate(buffers)
        if index != number
    )
    in_units = asks_units and _lies_in_units(buffer)
    return ArrayType(buffer.dtype, len(buffer.shape), lies_of(buffer.layout), same, alone, in_units)


def _lies_in_units(buffer: Buffer) -> bool:
    """Whether all rows begin at a multiple of a unit and are such a multiple long."""
    layout, unit, last = buffer.layout, UNIT_BYTES // buffer.dtype.size, len(buffer.shape) - 1
    return last >= 0 and layout.strides[last] == 1 and layout.shape[last] % unit == 0 and aligned(layout, last, unit)


def firsts(buffers: Sequence[Buffer]) -> list[int]:
    """For each array, the first one that has the very same elements."""
    return [next(other for other in range(len(buffers)) if buffers[other].is_as(buffer)) for buffer in buffers]


def lies_of(layout: Layout) -> Lies:
    """How elements lie: axes of length 1 lie anyhow."""
    dense = 1
    is_dense, neighbours = True, True
    for axis in range(len(layout.shape) - 1, -1, -1):
        length, stride = layout.shape[axis], layout.strides[axis]
        if length != 1 and stride != dense:
            is_dense = False
            neighbours = neighbours and axis != len(layout.shape) - 1
        dense *= length
    return "dense" if is_dense or 0 in layout.shape else "rows" if neighbours else "strided"
