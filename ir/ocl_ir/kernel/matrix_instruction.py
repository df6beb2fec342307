"""What matrix instructions compute, and which work-item holds which elements.

The work-items of a sub-group hold three small matrices together: `left @ right` is added to `sums`. A *layout* says who
holds what of a matrix. It has digits of the work-item's number in its sub-group, its *lane*, and of an element's number
among those that it holds. Each digit moves along one axis, so an element's place is the sum of its digits' steps. A
digit whose step is 0 moves nowhere: several work-items hold the same elements, and have to agree.

In which order products are added, and whether sums are rounded in between, is the device's choice, in no less than the
precision of the sums. `ocl_ir.kernel.matrix_instructions` lists the instructions that there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ocl_ir import tf32
from ocl_ir.bfloat16 import bits_of, floats_of
from ocl_ir.types import BF16, F16, F32, F64, TF32, DType, ValueType, with_lanes

_Data: TypeAlias = NDArray[Any]
Axis = Literal["row", "column", "inner"]


@dataclass(frozen=True, slots=True)
class Digit:
    """A digit of a number, below `length`, each unit of which is a `step` along an axis."""

    length: int
    axis: Axis
    step: int = 1


@dataclass(frozen=True)
class MatrixLayout:
    """How a sub-group holds a matrix: each work-item in registers of dtype `register`, with `pack` elements each. The
    digits of lanes and of elements begin with the one that moves fastest; of a register the first element is in the
    low bits.

        MatrixLayout(F32, 1, (Digit(16, "column"), Digit(4, "row", 4)), (Digit(4, "row"),))

    Lane 16 q + c holds rows 4 q to 4 q + 3 of column c.
    """

    register: DType
    pack: int
    lanes: tuple[Digit, ...]
    elements: tuple[Digit, ...] = ()

    @property
    def count(self) -> int:
        """The registers of a work-item."""
        return prod(digit.length for digit in self.elements) // self.pack

    @property
    def type(self) -> ValueType:
        """What a work-item holds, as one value."""
        return with_lanes(self.register, self.count)

    @property
    def is_shared(self) -> bool:
        """Whether several work-items hold the same elements."""
        return any(digit.step == 0 for digit in self.lanes)

    def first_owners(self) -> _Data:
        """For each lane the first one that holds the same elements."""
        lanes, unit = np.zeros(1, np.intp), 1
        for digit in self.lanes:
            lanes = (np.arange(digit.length)[:, None] * (unit if digit.step else 0) + lanes).ravel()
            unit *= digit.length
        return lanes

    def length(self, axis: Axis) -> int:
        """How long the matrix is along an axis."""
        return 1 + sum((digit.length - 1) * digit.step for digit in (*self.lanes, *self.elements) if digit.axis == axis)

    def lane_digit(self, axis: Axis) -> tuple[Digit, int]:
        """The digit of lanes along an axis, and its lowest bit: one of length 1 where lanes do not move along it."""
        bit = 0
        for digit in self.lanes:
            if digit.axis == axis and digit.step:
                return digit, bit
            bit += digit.length.bit_length() - 1
        return Digit(1, axis), 0

    def element_digit(self, axis: Axis) -> Digit:
        """The first digit of elements along an axis: one of length 1 where there is none."""
        return next((digit for digit in self.elements if digit.axis == axis), Digit(1, axis))

    def places(self, axis: Axis) -> _Data:
        """Where elements are along an axis: rows are lanes, columns numbers of elements."""
        return _moved(self.lanes, axis)[:, None] + _moved(self.elements, axis)


def _moved(digits: tuple[Digit, ...], axis: Axis) -> _Data:
    """Where each number is along an axis."""
    places = np.zeros(1, np.intp)
    for digit in digits:
        step = digit.step if digit.axis == axis else 0
        places = (np.arange(digit.length)[:, None] * step + places).ravel()
    return places


@dataclass(frozen=True)
class MatrixInstruction:
    """An instruction by its name, which is also that of the helper function that spells it. Operands are of `dtype`, of
    sums the layout's registers say. `asks_size`: a kernel with it has to ask for sub-groups of its size. `extensions`
    are those of OpenCL C that the helper needs beside what the registers do."""

    name: str
    dtype: DType = field(compare=False)
    left: MatrixLayout = field(compare=False)
    right: MatrixLayout = field(compare=False)
    sums: MatrixLayout = field(compare=False)
    asks_size: bool = field(default=False, compare=False)
    extensions: tuple[str, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Callable[[str], MatrixInstruction], tuple[str]]:
        return _named, (self.name,)

    @cached_property
    def size(self) -> int:
        """Work-items that hold the matrices."""
        return prod(digit.length for digit in self.sums.lanes)

    @cached_property
    def rows(self) -> int:
        """Rows of the left matrix and of the sums."""
        return self.sums.length("row")

    @cached_property
    def columns(self) -> int:
        """Columns of the right matrix and of the sums."""
        return self.sums.length("column")

    @cached_property
    def inner(self) -> int:
        """Elements along the axis of the products that are added up."""
        return self.left.length("inner")

    @property
    def work(self) -> int:
        """Multiply-adds of each work-item."""
        return self.rows * self.columns * self.inner // self.size

    @property
    def accumulator(self) -> DType:
        """The dtype of sums."""
        return self.sums.register

    @property
    def types(self) -> tuple[ValueType, ValueType, ValueType]:
        """What a work-item holds of the left matrix, the right one and the sums."""
        return self.left.type, self.right.type, self.sums.type


def _named(name: str) -> MatrixInstruction:
    from ocl_ir.kernel.matrix_instructions import INSTRUCTIONS  # which are made of this

    return INSTRUCTIONS[name]


# ---------------------------------------------------------------------- the meaning


def multiplied(instruction: MatrixInstruction, left: _Data, right: _Data, sums: _Data) -> _Data:
    """What each work-item holds of the sums afterwards; rows of the arguments are work-items by linear local id."""
    size = instruction.size
    groups = [
        _multiplied(instruction, *(held[first : first + size] for held in (left, right, sums)))
        for first in range(0, len(sums), size)
    ]
    return np.concatenate(groups)


def disagreeing(instruction: MatrixInstruction, left: _Data, right: _Data) -> int | None:
    """The first work-item that holds other bits than an earlier one of the same elements; None if all agree."""
    for layout, held in ((instruction.left, left), (instruction.right, right)):
        if layout.is_shared:
            bits = np.ascontiguousarray(held).reshape(len(held), -1).view("u1")
            items = np.arange(len(held))
            first = items - items % instruction.size + layout.first_owners()[items % instruction.size]
            differs = (bits != bits[first]).any(axis=1)
            if differs.any():
                return int(np.argmax(differs))
    return None


def _multiplied(instruction: MatrixInstruction, left: _Data, right: _Data, sums: _Data) -> _Data:
    a = _matrix(instruction.dtype, instruction.left, ("row", "inner"), left)
    b = _matrix(instruction.dtype, instruction.right, ("inner", "column"), right)
    at = instruction.sums.places("row"), instruction.sums.places("column")
    with np.errstate(all="ignore"):
        added: _Data = (a @ b)[at] + sums.reshape(at[0].shape).astype("f8")
        return added.reshape(sums.shape).astype(sums.dtype)


def _matrix(dtype: DType, layout: MatrixLayout, axes: tuple[Axis, Axis], held: _Data) -> _Data:
    """The matrix that a sub-group holds."""
    matrix = np.zeros([layout.length(axis) for axis in axes])
    matrix[layout.places(axes[0]), layout.places(axes[1])] = _elements(dtype, layout, held)
    return matrix


def held(dtype: DType, layout: MatrixLayout, axes: tuple[Axis, Axis], matrices: _Data) -> _Data:
    """The registers of sub-groups that hold one of the matrices each, one work-item after the other. Numbers are
    rounded to the dtype of operands, or, for sums, to that of registers."""
    numbers = matrices[:, layout.places(axes[0]), layout.places(axes[1])]
    if dtype is BF16 and layout.register is not F32:
        elements = bits_of(numbers.astype("f4"))
    elif dtype is F16 and layout.register is not F32:
        elements = numbers.astype("f2")
    else:
        elements = numbers.astype("f8" if layout.register is F64 else "f4")
    return np.ascontiguousarray(elements).view(layout.register.numpy).ravel()


def _elements(dtype: DType, layout: MatrixLayout, registers: _Data) -> _Data:
    """The elements in registers, as float64: rows are work-items."""
    held = np.ascontiguousarray(registers).reshape(len(registers), -1)
    if dtype is TF32:
        return tf32.floats_of(held).astype("f8")
    if dtype in {F16, BF16}:
        halves = held.view("u2")
        return (floats_of(halves) if dtype is BF16 else halves.view("f2")).astype("f8")
    assert layout.pack == 1
    return held.astype("f8")
