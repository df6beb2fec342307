"""An operand of a product on its way: from global memory to registers, and from there to local memory.

A *stage* in local memory has a row for each place along the inner axis, over which products are added up; each row has
the elements of the tile along the operand's own axis. Elements are moved in *units*: along the axis in which they lie
next to each other, as wide as their alignment allows. A unit along the inner axis is turned as it is stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ocl_ir.kernel.operands import Ref
from ocl_ir.types import DType, with_lanes
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.form import Access


@dataclass(frozen=True, slots=True)
class Operand:
    """How an operand is read. `axis` is its own axis, `inner` that of the products; units of `wide` elements lie along
    the inner axis (`turned`) or along its own."""

    access: Access
    axis: int
    inner: int
    turned: bool
    wide: int


class Stage:
    """The part of an operand that a group works on, `length` elements along its own axis by `inner` in a step.

    `local` is memory for two steps, each of `step_length` elements, in which the operand begins at `start`.
    """

    def __init__(
        self,
        body: Body,
        operand: Operand,
        local: Ref,
        *,
        start: int,
        step_length: int,
        length: int,
        inner: int,
        pad: int,
        items: int,
        dtype: DType,
    ) -> None:
        self.row_length = length + pad
        self.start = start
        self._body, self._k = body, body.k
        self._operand, self._local = operand, local
        self._step_length, self._length, self._inner, self._items = step_length, length, inner, items
        self._dtype = dtype
        self._units = length * inner // operand.wide
        self._held: list[Ref] = []
        self._inner_places: list[Ref] = []
        self._own_places: list[Ref] = []
        self._sources: list[Ref | None] = []
        self._exists: list[Ref | None] = []
        self._where: Mapping[int, Ref] = {}

    def locate(self, item: Ref, first: Ref, size: Ref, where: Mapping[int, Ref]) -> None:
        """Computes what no step changes, for a tile that begins at `first` of an operand that is `size` long. Beyond
        its end the last elements are read again; nobody looks at what is made of them."""
        k, body, operand = self._k, self._body, self._operand
        wide, access = operand.wide, operand.access
        in_row = (self._inner if operand.turned else self._length) // wide
        self._where = where
        zero = k.const(0.0 if self._dtype.is_inexact else 0, with_lanes(self._dtype, wide))
        for first_unit in range(0, self._units, self._items):
            unit = item + first_unit if first_unit else item
            partial = first_unit + self._items > self._units
            self._exists.append(unit < self._units if partial else None)
            along = k.op("urem", unit, body.const(in_row)) * wide
            across = k.op("udiv", unit, body.const(in_row))
            inner, own = (along, across) if operand.turned else (across, along)
            self._inner_places.append(k.let(inner, f"{access.name}_k"))
            self._own_places.append(k.let(own, f"{access.name}_own"))
            last = size - (1 if operand.turned else wide)
            place = k.op("minimum", first + own, last)
            if operand.turned:
                self._sources.append(body.offset(access, {**where, operand.axis: place}, operand.inner))
            else:
                self._sources.append(k.op("udiv", place, body.const(wide)) if access.wide else place)
            self._held.append(k.variable(zero, hint=f"{access.name}_held"))

    def fetch(self, begin: Ref, count: Ref | None = None) -> None:
        """Reads the step whose inner places begin at `begin`; of the first `count` of them only, all others are 0 as
        long as nothing was fetched before."""
        k = self._k
        for number, (inner, exists) in enumerate(zip(self._inner_places, self._exists, strict=True)):
            wanted = exists
            if count is not None:
                wanted = inner < count if wanted is None else wanted & (inner < count)
            if wanted is None:
                self._read(number, begin + inner)
            else:
                with k.if_(wanted):
                    self._read(number, begin + inner)

    def _read(self, number: int, inner: Ref) -> None:
        k, body, operand, access = self._k, self._body, self._operand, self._operand.access
        source = self._sources[number]
        if operand.turned:
            offset, along, lane = source, inner, operand.inner
            if access.wide:
                along = k.op("udiv", along, body.const(operand.wide))
        else:
            assert source is not None
            offset, along, lane = (
                body.offset(access, {**self._where, operand.inner: inner}, operand.axis),
                source,
                operand.axis,
            )
        if access.wide:
            index = body.vector_start(access, offset, along, operand.wide, lane)
        else:
            index = body.element(access, offset, along, 1, lane)
        k.assign(self._held[number], k.convert(body.read(access, index, operand.wide), self._dtype))

    def deposit(self, half: Ref | int) -> None:
        """Stores what was fetched, in one half of the local memory."""
        k = self._k
        for number, exists in enumerate(self._exists):
            if exists is None:
                self._store(number, half)
            else:
                with k.if_(exists):
                    self._store(number, half)

    def _store(self, number: int, half: Ref | int) -> None:
        k, wide, held = self._k, self._operand.wide, self._held[number]
        at = self._inner_places[number] * self.row_length + self._own_places[number]
        at = at + self._base(half)
        if not self._operand.turned:
            k.store(self._local, at, held, align=self._dtype.size * wide)
            return
        for lane in range(wide):
            value = held if wide == 1 else k.op("extract", held, lane)
            k.store(self._local, at + lane * self.row_length, value)

    def _base(self, half: Ref | int) -> Ref | int:
        return half * self._step_length + self.start

    def read(self, half: Ref, inner: Ref, place: Ref, count: int) -> Ref:
        """So many neighbouring elements of a step."""
        at = self._base(half) + inner * self.row_length + place
        return self._k.load(self._local, at, count=count, align=self._dtype.size * count)
