"""An operand of a product on its way: from global memory to registers, and from there to local memory.

What a group needs of an operand in one step is moved in *units*, along the axis in which its elements lie next to each
other and as wide as their alignment allows. How a unit lies in local memory is the business of who multiplies.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import NamedTuple

from ocl_ir.kernel.operands import Ref
from ocl_ir.layout import Layout
from ocl_ir.types import DType, with_lanes
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.form import Access, Parameters
from ocl_runtime.plan.kernels.products.windows import WindowAxes

_SHORT = 16
"""Up to which lengths kernels know those of axes that are one with others."""


class Digits(NamedTuple):
    """Axes that are one together, whose places have a digit for each of them. `lengths` are those of all but the first,
    as numbers or names of parameters."""

    axes: tuple[int, ...]
    lengths: tuple[int | str, ...] = ()

    def split(self, index: Ref, body: Body) -> dict[int, Ref]:
        """The digits of an index."""
        digits = {}
        for axis, length in zip(reversed(self.axes[1:]), reversed(self.lengths), strict=True):
            base = body.params[length] if isinstance(length, str) else body.const(length)
            digits[axis], index = body.k.op("urem", index, base), body.k.op("udiv", index, base)
        digits[self.axes[0]] = index
        return digits


def digits_of(parameters: Parameters, name: str, layout: Layout, axes: range) -> Digits:
    """Axes of an operand that are one together. Short ones, as those of the taps of a convolution, are part of the
    kernel, which then multiplies where it would divide by a parameter."""
    lengths: list[int | str] = []
    for axis in axes[1:]:
        length = layout.shape[axis]
        if length <= _SHORT:
            lengths.append(int(length))
        else:
            parameters.size(f"{name}_length{axis}", length)
            lengths.append(f"{name}_length{axis}")
    return Digits(tuple(axes), tuple(lengths))


@dataclass(frozen=True, slots=True)
class Operand:
    """How an operand is read. `own` are its own axes, `inner` those of the products; accesses of `wide` elements go
    along the last of the inner axes (`turned`) or of its own. An element exists where the place that each of the
    `bounds` gives is below the parameter that is named. `windows`: boxes copy it as windows of a tensor."""

    access: Access
    own: Digits
    inner: Digits
    turned: bool
    wide: int
    bounds: tuple[tuple[Access, str], ...] = ()
    windows: WindowAxes | None = None

    @property
    def lane(self) -> int:
        """The axis along which accesses go."""
        return (self.inner if self.turned else self.own).axes[-1]


@dataclass(frozen=True, slots=True)
class Part:
    """What a group has of an operand in a step: `length` elements along the operand's own axis by `inner`. It begins at
    word `start` of the local memory of a step, which has `step_length` words."""

    start: int
    step_length: int
    length: int
    inner: int
    items: int


def nothing() -> None:
    """Does nothing."""


class Stage(ABC):
    """An operand's part of the steps. A unit covers `unit` elements along the inner axis and along the operand's own,
    and takes one load of `lanes` of `dtype` for each of `loads`, which are steps along the inner axis."""

    def __init__(
        self,
        body: Body,
        operand: Operand,
        local: Ref,
        part: Part,
        *,
        unit: tuple[int, int],
        loads: range,
        dtype: DType,
        lanes: int,
    ) -> None:
        self.body, self.k = body, body.k
        self.operand, self.local, self.part = operand, local, part
        self._unit, self._loads = unit, loads
        self._dtype, self._lanes = dtype, lanes
        self._units = part.length * part.inner // (unit[0] * unit[1])
        self._inner: list[Ref] = []
        """Where units lie in the part along the inner axis."""
        self._offsets: list[Ref] = []
        """Where they lie in local memory."""
        self._sources: list[Ref | None] = []
        """Of those along the inner axis, where they begin in global memory; of others, which one along the lane."""
        self._bases: list[Ref | None] = []
        """What the other axes of their own say about where they begin."""
        self._bound_bases: list[list[Ref | None]] = []
        self._exists: list[Ref | None] = []
        self._held: list[list[Ref]] = []
        self._where: Mapping[int, Ref] = {}

    def locate(self, item: Ref, first: Ref, size: Ref, where: Mapping[int, Ref]) -> None:
        """Computes what no step changes, for a part that begins at `first` of an operand that is `size` long. Beyond
        its end the last elements are read again; nobody looks at what is made of them."""
        k, body, operand, access = self.k, self.body, self.operand, self.operand.access
        inner_unit, own_unit = self._unit
        in_row = self.part.inner // inner_unit if operand.turned else self.part.length // own_unit
        self._where = where
        for first_unit in range(0, self._units, self.part.items):
            unit = item + first_unit if first_unit else item
            self._exists.append(unit < self._units if first_unit + self.part.items > self._units else None)
            whole_rows = len(operand.own.axes) > 1 and self.part.items % in_row == 0
            first_of = item if whole_rows else unit  # then all units of an item lie at one place of their own axes
            along, across = k.op("urem", first_of, body.const(in_row)), k.op("udiv", first_of, body.const(in_row))
            if whole_rows and first_unit:
                across = across + first_unit // in_row
            inner, own = (along, across) if operand.turned else (across, along)
            inner, own = k.let(inner * inner_unit, f"{access.name}_k"), own * own_unit
            self._inner.append(inner)
            self._offsets.append(k.let(self.local_offset(inner, own) + self.part.start, f"{access.name}_to"))
            at = k.op("minimum", first + own, size - own_unit)
            digits = operand.own.split(at, body)
            self._bound_bases.append([body.offset(bound, {**where, **digits}) for bound, _ in operand.bounds])
            if operand.turned:
                self._sources.append(body.offset(access, {**where, **digits}, operand.lane))
                continue
            at = digits.pop(operand.lane)
            self._sources.append(k.op("udiv", at, body.const(own_unit)) if access.wide else at)
            self._bases.append(body.offset(access, {**where, **digits}, operand.lane) if digits else None)

    # ------------------------------------------------------------------ through registers

    def hold(self) -> None:
        """Makes room for a step in registers."""
        name = self.operand.access.name
        self._held = [[self.k.variable(self._zero, hint=f"{name}_held") for _ in self._loads] for _ in self._offsets]

    @property
    def _zero(self) -> Ref:
        return self.k.const(0.0 if self._dtype.is_inexact else 0, with_lanes(self._dtype, self._lanes))

    def fetch(self, begin: Ref, count: Ref | None = None) -> None:
        """Reads the step that begins at `begin` along the inner axis; of the first `count` of it only, all others are 0
        as long as nothing was fetched before. What does not exist is 0, too."""
        k, padded = self.k, bool(self.operand.bounds)
        for number, exists in enumerate(self._exists):
            for load, held in zip(self._loads, self._held[number], strict=True):
                inner = self._inner[number] + load if load else self._inner[number]
                wanted = exists
                if count is not None:
                    wanted = inner < count if wanted is None else wanted & (inner < count)
                if padded:
                    k.assign(held, self._zero)
                    inside = self._inside(number, begin + inner)
                    wanted = inside if wanted is None else wanted & inside
                with nullcontext() if wanted is None else k.if_(wanted):
                    value = self.body.read(self.operand.access, self._index(number, begin + inner), self._lanes)
                    k.assign(held, k.convert(value, self._dtype))

    def deposit(self, half: Ref | int) -> None:
        """Stores what was fetched, in one half of the local memory."""
        for offset, exists, held in zip(self._offsets, self._exists, self._held, strict=True):
            with nullcontext() if exists is None else self.k.if_(exists):
                self.store(offset + half * self.part.step_length, held)

    def _index(self, number: int, inner: Ref) -> Ref:
        """Where a unit begins in global memory."""
        body, operand, access = self.body, self.operand, self.operand.access
        offset, lane, digits = self._sources[number], operand.lane, operand.inner.split(inner, body)
        if operand.turned:
            along = digits.pop(lane)
            if digits:
                offset = body.offset(access, digits, lane, offset)
            if access.wide:
                along = self.k.op("udiv", along, body.const(operand.wide))
        else:
            assert offset is not None
            along, base = offset, self._bases[number]
            offset = body.offset(access, {**self._where, **digits} if base is None else digits, lane, base)
        if access.wide:
            return body.vector_start(access, offset, along, self._lanes, lane)
        return body.element(access, offset, along, 1, lane)

    def _inside(self, number: int, inner: Ref) -> Ref:
        """Whether a unit exists. What is before the first place is far beyond the last one, without a sign."""
        body, operand = self.body, self.operand
        digits = operand.inner.split(inner, body)
        inside = None
        for (bound, length), base in zip(operand.bounds, self._bound_bases[number], strict=True):
            index = body.offset(bound, digits, base=base)
            below = (body.const(0) if index is None else index) < body.params[length]
            inside = below if inside is None else inside & below
        assert inside is not None
        return inside

    # ------------------------------------------------------------------ without registers

    @property
    def is_copied(self) -> bool:
        """Whether units lie in local memory as they do in global memory, so that they can be copied."""
        return False

    def copy(self, begin: Ref, limit: Ref, buffer: Ref) -> None:
        """Begins to copy the step that begins at `begin` along the inner axis, of which `limit` places are inside."""
        pointer = self.body.params[self.operand.access.name]
        for number, (offset, inner, exists) in enumerate(zip(self._offsets, self._inner, self._exists, strict=True)):
            with nullcontext() if exists is None else self.k.if_(exists):
                index, wanted = self._index(number, begin + inner), inner < limit
                if self.operand.bounds:
                    wanted = wanted & self._inside(number, begin + inner)
                self.k.copy_async(self.local, offset + buffer, pointer, index, wanted)

    # ------------------------------------------------------------------ local memory

    @abstractmethod
    def local_offset(self, inner: Ref, own: Ref) -> Ref:
        """Where a unit lies in the part."""

    @abstractmethod
    def store(self, at: Ref, held: list[Ref]) -> None:
        """Stores a unit that went through registers."""
