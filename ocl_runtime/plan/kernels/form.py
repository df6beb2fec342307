"""The form of a kernel: everything that its code depends on, and nothing else.

Planning a launch describes each leaf by an `Access` and collects the parameters; a `Parameters` object takes name, type
and this launch's value of each at once, so that what the kernel declares and what the launch passes cannot come apart.
The names and types go into the form, which is the key of the kernel cache; the values are the launch's arguments.

Offsets and strides are kernel parameters, modulo the width of the index type: a negative stride wraps around and the
sum comes out right. Steps of 0 and 1, and of -1 between lanes, are part of the form, because they decide what the code
looks like.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from ocl_ir.graph.build import Storage
from ocl_ir.guards import Given, Number
from ocl_ir.layout import Layout
from ocl_ir.types import BF16, BOOL, COMPLEX_LANES, F16, F32, LANES, U8, U32, U64, DType, Pointer
from ocl_runtime.plan.fusion.values import Fold, Operation, Product, Value, dtype_of
from ocl_runtime.plan.launch import Address, Argument, Later, passed
from ocl_runtime.plan.target import Target

Stride: TypeAlias = Literal["none", "one", "back", "param"]
"""0, 1, -1 along the axis of the lanes, or a parameter."""

_INDEX_LIMIT = 2**32 - 2**20
"""Index spaces are padded to whole groups, so u32 ends a little before its range does."""


class Access(NamedTuple):
    """How the elements of a leaf, or of the result, are reached.

    `strides` has an entry for each axis. `wide`: the lane axis begins at a multiple of the lanes in every row, so
    stride parameters count whole vectors. `first`: the element at place (0, 0, …) is a parameter; otherwise it is 0.
    `shift`: the element is so many steps further along each axis (none: no step).
    """

    name: str
    dtype: DType
    kind: Literal["memory", "iota", "scalar"]
    strides: tuple[Stride, ...] = ()
    wide: bool = False
    first: bool = False
    shift: tuple[int, ...] = ()

    def moved(self, axis: int, steps: int) -> Access:
        """What is reached so many steps further along an axis."""
        if not steps or self.kind == "scalar" or self.strides[axis] == "none":
            return self
        shift = self.shift or (0,) * len(self.strides)
        return self._replace(shift=(*shift[:axis], shift[axis] + steps, *shift[axis + 1 :]))

    def stride_name(self, axis: int) -> str:
        """The parameter with the stride of an axis."""
        return f"{self.name}_stride{axis}"

    @property
    def operands(self) -> tuple[int, ...]:
        """None: it is read."""
        return ()

    @property
    def first_name(self) -> str:
        """The parameter with the first element."""
        return f"{self.name}_first"


class Fetch(NamedTuple):
    """How an element is reached whose coordinates are earlier values, given by their places."""

    access: Access
    args: tuple[int, ...]

    @property
    def operands(self) -> tuple[int, ...]:
        """The places of the coordinates."""
        return self.args


class Output(NamedTuple):
    """A value that a kernel stores, given by its place, as `dtype` where `layout` says. `row`: it is one of those that
    there is one of for each result of a reduction; `part` is then the stride from one part of it to the next."""

    value: int
    layout: Layout
    storage: Storage
    dtype: DType
    row: bool = False
    part: int = 0


class Spec(NamedTuple):
    """A parameter; `length` names the parameter that says how many elements a pointer may touch."""

    name: str
    type: DType | Pointer
    length: str = ""


Term: TypeAlias = Access | Operation | Fold | Fetch | Product
"""A value of a group, with leaves as they are reached."""


@dataclass
class Parameters:
    """The parameters of a kernel to be, in order, each with its value for one launch. No more elements than
    `index_space_size` are looked up in one leaf. `aligned` says whether all rows that are accessed in lanes begin at a
    multiple of them; None: each leaf is looked at by itself. `backwards`: what lies back to front along the lanes is
    accessed so, too."""

    index: DType
    index_space_size: int
    aligned: bool | None = None
    backwards: bool = False
    specs: list[Spec] = field(default_factory=list)
    args: list[Argument] = field(default_factory=list)

    def number(self, name: str, dtype: DType, value: Number | Given) -> None:
        """A scalar; integers wrap around."""
        self.specs.append(Spec(name, dtype))
        self.args.append(Later(value, dtype) if isinstance(value, Given) else passed(value, dtype))

    def size(self, name: str, value: int) -> None:
        """A scalar of the index type."""
        self.number(name, self.index, value)

    def pointer(self, name: str, type_: Pointer, address: Address, length: str = "") -> None:
        """A pointer into global memory."""
        self.specs.append(Spec(name, type_, length))
        self.args.append(address)

    def memory(
        self,
        name: str,
        dtype: DType,
        storage: Storage,
        layout: Layout,
        lane: int | None,
        lanes: int,
        *,
        length: str = "",
        general: bool = False,
        most: int | None = None,
        inside: Layout | None = None,
    ) -> Access:
        """A pointer with the strides of a layout, which the kernel reads or writes `lanes` wide along axis `lane`.

        `general`: every stride but that of the lanes is a parameter, also 0 and 1. `most` is the number of elements
        that are touched, where it depends on values which; `inside` are those that exist, where others do not.
        """
        low = (inside or layout).range()[0]
        in_lanes = lane if lanes > 1 else None
        back = self.backwards and in_lanes is not None and layout.strides[in_lanes] == -1
        wide = in_lanes is not None and (back or layout.strides[in_lanes] == 1)
        if wide and lane is not None:
            wide = aligned(layout, lane, lanes) if self.aligned is None else self.aligned
        unit = lanes if wide else 1
        self.pointer(name, _pointer(dtype, unit), Address(storage, (inside or layout).ascending, most), length)
        first = None if layout.offset is low or layout.offset == low else layout.offset - low
        always = {axis for axis in range(layout.ndim) if axis != lane} if general else ()
        access = Access(name, dtype, "memory", wide=wide)
        return self._access(access, layout, unit, first, always, in_lanes if back else None)

    def window(self, name: str, dtype: DType, storage: Storage, layout: Layout, lanes: int) -> Access:
        """A pointer with strides that several leaves share, which are read `lanes` wide; `layout` is what they reach
        together, and its rows begin at multiples of the lanes."""
        self.pointer(name, _pointer(dtype, lanes), Address(storage, layout))
        return self._access(Access(name, dtype, "memory", wide=lanes > 1), layout, lanes, None)

    def iota(self, name: str, dtype: DType, layout: Layout, lane: int | None = None, lanes: int = 1) -> Access:
        """The places of a layout themselves, of which the kernel takes `lanes` together along axis `lane`."""
        back = self.backwards and lanes > 1 and lane is not None and layout.strides[lane] == -1
        # That they begin at 0 is worth a kernel of its own: vectors of random words are whole blocks then.
        first = layout.offset if back or layout.offset != 0 else None
        return self._access(Access(name, dtype, "iota"), layout, 1, first, back=lane if back else None)

    def _access(
        self,
        access: Access,
        layout: Layout,
        unit: int,
        first: int | None,
        always: Container[int] = (),
        back: int | None = None,
    ) -> Access:
        """The access with its first element and strides made parameters, those of the axes `always` even if 0 or 1; the
        axis `back` has -1."""
        if first is not None:
            self.size(access.first_name, first // unit)
        strides: list[Stride] = []
        for axis, stride in enumerate(layout.strides):
            known = axis not in always and stride in (0, 1)
            strides.append("back" if axis == back else "param" if not known else "one" if stride else "none")
            if strides[-1] == "param":
                self.size(access.stride_name(axis), stride // unit)
        return access._replace(strides=tuple(strides), first=first is not None)

    def scalar(self, name: str, dtype: DType, value: Number | Given) -> Access:
        """A value that is the same everywhere. Kernels take neither bools nor, on many devices, halves."""
        self.number(name, _PASSED_AS.get(dtype, dtype), value)
        return Access(name, dtype, "scalar")


@lru_cache(maxsize=256)
def _pointer(dtype: DType, unit: int) -> Pointer:
    """A pointer to so many elements at a time, aligned to all of them."""
    return Pointer(dtype, align=dtype.size * unit)


_PASSED_AS = {BOOL: U8, F16: F32, BF16: F32}


def aligned(layout: Layout, lane: int, lanes: int) -> bool:
    """Whether every row along an axis begins at a multiple of the lanes; of one that lies back to front, whether it
    ends there."""
    low, _ = layout.range()
    across = (stride for axis, stride in enumerate(layout.strides) if axis != lane)
    whole = layout.strides[lane] != -1 or layout.shape[lane] % lanes == 0
    return whole and all(stride % lanes == 0 for stride in (*across, low))


def all_aligned(layouts: Iterable[Layout], lane: int, lanes: int) -> bool:
    """Whether that is so for all of some layouts that are dense along the axis. It is one fact about their sizes, so
    that views at any places need two kernels, not one for each combination."""
    rest = 0
    for layout in {id(layout): layout for layout in layouts}.values():
        if layout.strides[lane] in (1, -1):
            low, _ = layout.range()
            for axis, stride in enumerate(layout.strides):
                if axis != lane:
                    rest = rest + stride % lanes
                elif stride == -1:
                    rest = rest + layout.shape[lane] % lanes
            rest = rest + low % lanes
    return rest == 0


def index_dtype(layouts: Sequence[Layout], *counts: int) -> DType:
    """U32, or U64 where a place in a layout or a count does not fit."""
    distinct = {id(layout): layout for layout in layouts}.values()
    reached = (*counts, *[layout.span for layout in distinct], *[layout.offset for layout in distinct])
    return U32 if all(number < _INDEX_LIMIT for number in reached) else U64


def lanes_for(values: Sequence[Value], more: Sequence[DType], target: Target) -> int:
    """Elements of one wide access, so that the largest dtype of an expression fills it."""
    dtypes = [*map(dtype_of, values), *more]
    most = COMPLEX_LANES[-1] if any(dtype.is_complex for dtype in dtypes) else LANES[-1]
    return max(1, min(most, target.vector_bytes // max(dtype.size for dtype in dtypes)))


def rounded_up(size: int, unit: int) -> int:
    """The least multiple of `unit` that is not below `size`."""
    return -(-size // unit) * unit


def dtype_of_product(values: Sequence[Term]) -> DType:
    """The dtype of the product that is the first of the values."""
    product = values[0]
    assert isinstance(product, Product)
    return product.dtype
