"""What expressions of a kernel have for values while it is translated.

    compile time   any Python object: numbers, None, strings, dtypes, functions, modules, tuples
    Number         a scalar or a vector of one work-item, with its class
    HostNumber     an expression of Python floats that the host computes before the launch
    ArrayView      elements of an array: memory, shape, strides, offset
    Deferred       a size or a stride of an argument, which becomes a parameter once somebody asks
    Tile           a small array of the group in registers; a LoadedTile is read where it is used
    LocalFunction  a function or lambda inside of the kernel

A number's class says what it meets others as: a *typed* one is a NumPy scalar of its dtype; an *index* is a Python
int; a *weak* one is a literal whose value is not known yet, which only exists while the types of a loop are found out.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from ocl_ir.kernel.operands import Ref
from ocl_ir.types import DType, Space, ValueType, Vector

if TYPE_CHECKING:
    from ocl_ir.language.errors import Frame
    from ocl_ir.language.values.scopes import Scope

NumberClass: TypeAlias = Literal["typed", "index", "weak"]


@dataclass(frozen=True, slots=True, eq=False)  # == of operands would emit a comparison
class Number:
    """A value that is known on the device only. `low`: no such integer is below that, if it is known.

    `dtype` is what the program sees; a float16 is computed in float32 and rounded after each operation.
    """

    ref: Ref
    dtype: DType
    kind: NumberClass = "typed"
    low: int | None = None

    @property
    def type(self) -> ValueType:
        """The type in kernel IR."""
        type_ = self.ref.type
        assert isinstance(type_, DType | Vector)
        return type_

    @property
    def lanes(self) -> int:
        """Lanes of a vector; 1 for a scalar."""
        return self.type.lanes if isinstance(self.type, Vector) else 1

    def __str__(self) -> str:
        if self.kind == "index":
            return "an index"
        if self.kind == "weak":
            return "the float" if self.dtype.is_float else "the int"
        name = dtype_name(self.dtype)
        return f"{name} in {self.lanes} lanes" if self.lanes > 1 else name


@dataclass(frozen=True, slots=True)
class HostNumber:
    """`op` of the table in `values/host_numbers.py` applied to arguments; `("argument", path)` is a leaf."""

    op: str
    args: tuple[Any, ...]
    is_bool: bool = False
    name: str = field(default="", compare=False)

    def __str__(self) -> str:
        return "a Python bool" if self.is_bool else "a Python float"


@dataclass(frozen=True, slots=True)
class Deferred:
    """A number of a launch that becomes a kernel parameter, of a `name`, where it is used: the length or the stride of
    an axis, or how many work-items were asked for along a dimension."""

    what: Literal["shape", "stride", "items"]
    path: tuple[object, ...]
    axis: int
    name: str = field(default="", compare=False)
    divisor: int = field(default=1, compare=False)
    """What it is known to be a multiple of."""


Size: TypeAlias = "int | Number | Deferred"


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """What views look at: an array argument, or an array of the group or of the work-item."""

    name: str
    pointer: Ref
    dtype: DType
    space: Space = "global"
    align: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class ArrayView:
    """Elements of an array. `strides` count elements; None: the axes lie in row-major order without gaps."""

    memory: Memory
    shape: tuple[Size, ...]
    strides: tuple[Size, ...] | None = None
    offset: Size = 0

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self.memory.dtype

    def __str__(self) -> str:
        axes = "1 axis" if len(self.shape) == 1 else f"{len(self.shape)} axes"
        return f"{self.memory.name}, an array of {dtype_name(self.dtype)} with {axes}"


TileShape: TypeAlias = tuple[int, ...]
Coordinates: TypeAlias = "tuple[Value, ...]"


@dataclass(frozen=True, slots=True, eq=False)
class Tile:
    """A tile in registers: `elements` are those of this work-item, in the order of `Grid.own_elements`."""

    shape: TileShape
    dtype: DType
    elements: tuple[Number, ...]

    def __str__(self) -> str:
        return f"a tile of {dtype_name(self.dtype)}, shape {self.shape}"


class ReadsBits(Protocol):
    """Gives the bits of elements of a tile."""

    def __call__(self, at: Coordinates, count: int = 1) -> Ref:
        """The bits, of so many neighbours."""


class ReadsTile(Protocol):
    """Gives the element of a tile at some coordinates, or so many neighbours from there on."""

    def __call__(self, at: Coordinates, count: int = 1) -> Number:
        """The number, of so many lanes."""


@dataclass(frozen=True, slots=True, eq=False)
class LoadedTile:
    """A tile that is read where it is used, from an array or from local memory. Along an `axis`, `lanes` neighbours are
    read at once, where they begin at a multiple of that."""

    shape: TileShape
    dtype: DType
    read: ReadsTile
    lanes: int = 1
    axis: int = 0
    stored: DType | None = None
    """The dtype of memory, where nothing was computed."""
    bits: ReadsBits | None = None
    """The same of halves and bfloat16 as bits of 16."""

    def __str__(self) -> str:
        return f"a tile of {dtype_name(self.dtype)}, shape {self.shape}"


AnyTile: TypeAlias = Tile | LoadedTile


@dataclass(frozen=True, slots=True, eq=False)
class LocalFunction:
    """A function that the kernel itself defines; it sees the names around it as they are when it is called, and its
    defaults are what they were when it was defined."""

    node: ast.FunctionDef | ast.Lambda
    scope: Scope
    frame: Frame
    name: str
    signature: inspect.Signature

    def __str__(self) -> str:
        return f"the function {self.name}"


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """A method of a value of the kernel, as `v.replace`."""

    value: Any
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class FormattedNumber:
    """A number and how `print` writes it, by a specification of `ocl_ir.kernel.formats`."""

    number: Number
    specification: str


@dataclass(frozen=True, slots=True, eq=False)
class FormattedText:
    """An f-string that is printed: its texts and numbers."""

    parts: tuple[str | FormattedNumber, ...]


@dataclass(frozen=True, slots=True)
class Unassigned:
    """What a name has where no value came to it on some path; `why` says which, and `remedy` what to do."""

    why: str
    remedy: str = field(default="", compare=False)


class _Poison:
    """What a result is on paths that never look at it."""

    def __repr__(self) -> str:
        return "no value"


POISON = _Poison()

Value: TypeAlias = Any
"""One of the above, or any Python object that is known while the kernel is translated."""

RUNTIME = (Number, HostNumber, ArrayView, Tile, LoadedTile, Deferred, LocalFunction, Method)


def is_tile(value: Value) -> bool:
    """Whether a value is a tile."""
    return isinstance(value, Tile | LoadedTile)


def is_static(value: Value) -> bool:
    """Whether a value is a Python object that is known now, with all that it has inside."""
    if isinstance(value, tuple):
        return all(map(is_static, value))
    if isinstance(value, slice):
        return all(map(is_static, (value.start, value.stop, value.step)))
    return not isinstance(value, RUNTIME)


def dtype_name(dtype: DType) -> str:
    """The name that users know: `float32`."""
    return str(dtype.public)


def listed(items: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(items[:-1]), items[-1]]) if len(items) > 1 else "".join(items)


def text_beside(view: ArrayView, other: ArrayView) -> str:
    """An array in an error about two of them."""
    return f"{'a part of ' if view.memory is other.memory else 'the array '}{view.memory.name}"


def remedy_for_arrays(left: ArrayView, right: ArrayView) -> str:
    """What to write where a name would be one of two arrays: kernel IR, as OpenCL C, knows of each pointer which memory
    it points to."""
    name = left.memory.name
    if left.memory is right.memory:
        return f"choose numbers, and index with these: {name}[start:stop]"
    return f"choose between elements, {name}[i] if … else {right.memory.name}[i], or branch around what uses the array"


def remedy_for_number(value: Value) -> str:
    """What to write where a number is needed, in the place of a value that is none."""
    if isinstance(value, ArrayView):
        return f"index an element: {value.memory.name}[{', '.join('ijkl'[: len(value.shape)])}]"
    return "use its sum, max or min along an axis" if is_tile(value) else "give it a number"


def remedy_for_text(value: Value, text: str) -> str:
    """What to write instead of a text that is made of a value at run time, which the source has as `text`."""
    if isinstance(value, HostNumber):
        return f'print it by an f-string: print(f"{{{text}:{"d" if value.is_bool else "g"}}}")'
    if not isinstance(value, Number) or value.lanes > 1 or value.dtype.kind == "bool":
        return 'print numbers by an f-string: print(f"{v}")'
    return f'print it by an f-string: print(f"{{{text}:{"g" if value.dtype.is_float else "d"}}}")'


def low_of(value: Value) -> int | None:
    """A bound that an integer is not below, where one is known."""
    if isinstance(value, int):
        return value
    low: int | None = getattr(value, "low", None)
    return low
