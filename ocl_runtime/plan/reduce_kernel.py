"""Writes the kernels of reductions; `ocl_runtime.plan.reduce` decides which.

Axes are numbered: the kept ones first, then the reduced ones. The result has the kept axes and, last, one for the parts
that the elements of each result are split into.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Literal, TypeAlias

import numpy as np

from ir.builder import KernelBuilder
from ir.graph import ReduceOp
from ir.kernel import Kernel
from ir.reference import Ref
from ir.types import BOOL, DType, with_lanes
from ocl_runtime.plan.body import Body
from ocl_runtime.plan.form import Access, Described, Spec, formula, kernel_name

Way: TypeAlias = Literal["rows", "columns"]
_Index: TypeAlias = Callable[[dict[int, Ref], Access], Ref]
"""Where an element lies, by the coordinates of its row."""

JOINS: Mapping[ReduceOp, str] = {"sum": "add", "prod": "mul", "min": "minimum", "max": "maximum"}
_UNROLL = 4


@dataclass(frozen=True, slots=True)
class ReduceForm:
    """The key of a reduction's kernel.

    Rows: a team of `team` work-items has a result; each has `chains` accumulators of `lanes` lanes along the only
    reduced axis. Columns: one work-item has a result, or `chains` vectors of `lanes` results along the last kept axis.
    """

    way: Way
    values: tuple[Described, ...]
    result: Access
    specs: tuple[Spec, ...]
    kept: int
    reduced: int
    lanes: int
    team: int
    chains: int
    op: ReduceOp
    accumulator: DType
    index: DType
    fp16: bool

    @property
    def lane(self) -> int | None:
        """The axis along which neighbours are lanes."""
        if self.lanes == 1:
            return None
        return self.kept if self.way == "rows" else self.kept - 1


def identity(op: ReduceOp, dtype: DType) -> int | float:
    """What changes nothing when it is joined."""
    if op in {"sum", "prod"}:
        one_or_zero = int(op == "prod")
        return float(one_or_zero) if dtype.is_float else one_or_zero
    if dtype.is_float:
        return float("inf") if op == "min" else float("-inf")
    limits = np.iinfo(dtype.numpy)
    return int(limits.max if op == "min" else limits.min)


def build(form: ReduceForm) -> Kernel:
    """The kernel of a form."""
    builder = _Rows(form) if form.way == "rows" else _Columns(form)
    return builder.build()


class _Builder:
    def __init__(self, form: ReduceForm) -> None:
        note = f"y = {form.op}({formula(form.values)})    {form.result.dtype}, in {form.accumulator}, by {form.way}"
        group = (form.team, 1, 1) if form.team > 1 else None
        self._form = form
        self._k = KernelBuilder(kernel_name(form.values, form.op), group_size=group, note=note)
        self._body = Body.start(self._k, form.specs, form.index, form.fp16)
        self._sizes = {axis: self._body.params[f"n{axis}"] for axis in range(form.kept)}
        if form.reduced > 1:
            self._sizes |= {form.kept + axis: self._body.params[f"m{axis}"] for axis in range(form.reduced)}

    def _accumulator(self, lanes: int) -> Ref:
        form = self._form
        type_ = with_lanes(form.accumulator, lanes)
        return self._k.variable(self._k.const(identity(form.op, form.accumulator), type_), hint="acc")

    def _joined(self, left: Ref, right: Ref) -> Ref:
        return self._k.op(JOINS[self._form.op], left, right)

    def _join(self, accumulator: Ref, value: Ref) -> None:
        self._k.assign(accumulator, self._joined(accumulator, value))

    def _reduced(self, number: Ref) -> dict[int, Ref]:
        """The coordinates of a reduced element."""
        form = self._form
        axes = range(form.kept + form.reduced - 1, form.kept - 1, -1)
        return self._body.coordinates(number, axes, self._sizes)

    def _value(self, index: Callable[[Access], Ref], lanes: int) -> Ref:
        """The reduced expression in the accumulator's dtype, at one place or at `lanes` neighbouring ones."""
        form, body = self._form, self._body

        def leaf(access: Access) -> Ref:
            along = form.lane is not None and access.kind != "scalar" and access.strides[form.lane] == "one"
            zero = body.const(0)
            return body.read(access, zero if access.kind == "scalar" else index(access), lanes if along else 1)

        value = self._k.convert(body.expression(form.values, leaf), form.accumulator)
        return body.spread(value, lanes)

    def _part(self, whole: Ref) -> tuple[Ref, Ref, Ref]:
        """The part that this work-item takes of `whole` elements or vectors: its number, begin and end."""
        part = self._k.global_id(1, "part", self._form.index)
        begin = self._k.let(part * self._body.params["per"], "begin")
        end = self._k.op("minimum", begin + self._body.params["per"], whole, hint="end")
        return part, begin, end

    def _store(self, index: Ref, value: Ref, align: int = 0) -> None:
        """Half is stored from float32; nothing else converts by itself."""
        to = self._form.result.dtype
        if to == BOOL:
            value = self._k.op("ne", value, 0)
        elif to.bits != 16 or not to.is_float:
            value = self._k.convert(value, to)
        self._k.store(self._body.params[self._form.result.name], index, value, align=align)

    def _at(self, access: Access, where: Mapping[int, Ref]) -> Ref:
        place = self._body.place(access, where)
        return self._body.const(0) if place is None else place


class _Rows(_Builder):
    def build(self) -> Kernel:
        k, form, body = self._k, self._form, self._body
        if form.team > 1:
            number = k.item("group_id", 0, "o", form.index)
            local = k.item("local_id", 0, "l", form.index)
        else:
            number, local = k.global_id(0, "o", form.index), body.const(0)
        where = body.coordinates(number, range(form.kept - 1, -1, -1), self._sizes)
        if form.team > 1 or not form.kept:
            self._row(where, local)
        else:
            with k.if_(where[0] < self._sizes[0]):
                self._row(where, local)
        return k.build()

    def _row(self, where: dict[int, Ref], local: Ref) -> None:
        k, form, body = self._k, self._form, self._body
        m = body.params["m"]
        vectors = k.op("udiv", m, body.const(form.lanes), hint="vectors") if form.lanes > 1 else m
        part, begin, end = self._part(vectors)
        chains = [self._accumulator(form.lanes) for _ in range(form.chains)]
        if form.chains > 1:
            begin = self._together(where, local, begin, end, chains)
        with k.for_(begin + local, end, form.team, dtype=form.index, hint="v") as v:
            self._join(chains[0], self._vector(where, v))
        total = k.variable(self._across(reduce(self._joined, chains)), hint="total")
        if form.lanes > 1:
            # What is left of the row when it is cut into vectors belongs to the first part.
            rest = vectors * form.lanes + local
            with k.if_(part == 0), k.for_(rest, m, form.team, dtype=form.index, hint="r") as r:
                self._join(total, self._value(lambda access: self._element(access, where, r), 1))
        result = self._at(form.result, where | {form.kept: part})
        if form.team == 1:
            self._store(result, total)
            return
        shared = self._joined_by_team(total, local)
        with k.if_(local == 0):
            self._store(result, k.load(shared, body.const(0)))

    def _together(self, where: dict[int, Ref], local: Ref, begin: Ref, end: Ref, chains: Sequence[Ref]) -> Ref:
        """Rounds in which every accumulator of every work-item takes a vector; a round's loads are in flight together.

        Gives the place where they end.
        """
        k, form = self._k, self._form
        each = form.team * form.chains
        rounds = k.op("udiv", end - begin, self._body.const(each), hint="rounds")
        with k.for_(0, rounds, dtype=form.index, hint="round") as round_:
            at = begin + round_ * each + local
            values = [self._vector(where, at + number * form.team if number else at) for number in range(form.chains)]
            for chain, value in zip(chains, values, strict=True):
                self._join(chain, value)
        return begin + rounds * each

    def _vector(self, where: dict[int, Ref], number: Ref) -> Ref:
        form, body = self._form, self._body
        if form.lane is None:
            coordinates = where | self._reduced(number)
            return self._value(lambda access: self._at(access, coordinates), 1)
        lane = form.lane
        return self._value(
            lambda access: body.vector_start(access, body.place(access, where, lane), number, form.lanes, lane),
            form.lanes,
        )

    def _element(self, access: Access, where: dict[int, Ref], number: Ref) -> Ref:
        form, body = self._form, self._body
        assert form.lane is not None
        return body.element(access, body.place(access, where, form.lane), number, form.lanes, form.lane)

    def _across(self, vector: Ref) -> Ref:
        """The lanes joined, half with half."""
        lanes = self._form.lanes
        while lanes > 1:
            lanes //= 2
            type_ = with_lanes(self._form.accumulator, lanes)
            vector = self._joined(self._k.op("lo", vector, result=type_), self._k.op("hi", vector, result=type_))
        return vector

    def _joined_by_team(self, total: Ref, local: Ref) -> Ref:
        """Local memory whose first element is the whole team's total."""
        k, form = self._k, self._form
        shared = k.array(form.accumulator, form.team, hint="shared")
        k.store(shared, local, total)
        k.barrier()
        half = form.team // 2
        while half:
            with k.if_(local < half):
                k.store(shared, local, self._joined(k.load(shared, local), k.load(shared, local + half)))
            k.barrier()
            half //= 2
        return shared


class _Columns(_Builder):
    def build(self) -> Kernel:
        k, form, body = self._k, self._form, self._body
        steps = dict(self._sizes)
        if form.lane:  # the last of several kept axes is counted in slabs
            steps[form.lane] = k.op("udiv", self._sizes[form.lane] + (self._slab - 1), body.const(self._slab))
        where = body.coordinates(k.global_id(0, "o", form.index), range(form.kept - 1, -1, -1), steps)
        if form.kept > 1 or (form.kept and form.lane is None):
            with k.if_(where[0] < self._sizes[0]):
                self._columns(where)
        else:
            self._columns(where)
        return k.build()

    @property
    def _slab(self) -> int:
        """Neighbouring results of one work-item."""
        return self._form.lanes * self._form.chains

    def _columns(self, where: dict[int, Ref]) -> None:
        k, form, body = self._k, self._form, self._body
        part, begin, end = self._part(body.params["m"])
        to = where | {form.kept: part}
        if form.lane is None:
            (total,) = self._through(begin, end, [lambda at, access: self._at(access, where | at)], 1)
            self._store(self._at(form.result, to), total)
            return
        lane = form.lane
        base = k.let(where[lane] * self._slab, "base")
        with k.if_(base + (self._slab - 1) < self._sizes[lane]):
            self._vectors(where, to, begin, end, lane)
        with k.else_(), k.for_(base, self._sizes[lane], dtype=form.index) as j:
            (total,) = self._through(
                begin,
                end,
                [lambda at, access: body.element(access, body.place(access, where | at, lane), j, form.lanes, lane)],
                1,
            )
            self._store(body.element(form.result, body.place(form.result, to, lane), j, form.lanes, lane), total)

    def _vectors(self, where: dict[int, Ref], to: dict[int, Ref], begin: Ref, end: Ref, lane: int) -> None:
        """The whole slab, vector by vector in each row."""
        k, form, body, lanes = self._k, self._form, self._body, self._form.lanes
        first = where[lane] if form.chains == 1 else k.let(where[lane] * form.chains, "first")
        numbers = [first + chain if chain else first for chain in range(form.chains)]

        def index_of(number: Ref) -> _Index:
            return lambda at, access: body.vector_start(
                access, body.place(access, where | at, lane), number, lanes, lane
            )

        totals = self._through(begin, end, [index_of(number) for number in numbers], lanes)
        align = form.result.dtype.size * (lanes if form.result.wide else 1)
        for number, total in zip(numbers, totals, strict=True):
            start = body.vector_start(form.result, body.place(form.result, to, lane), number, lanes, lane)
            self._store(start, total, align)

    def _through(self, begin: Ref, end: Ref, indices: Sequence[_Index], lanes: int) -> list[Ref]:
        """Joins the elements of a part one after the other, at several places of each row."""
        k = self._k
        totals = [self._accumulator(lanes) for _ in indices]
        unroll = _UNROLL if len(indices) == 1 else 0
        with k.for_(begin, end, dtype=self._form.index, hint="r", unroll=unroll) as r:
            at = self._reduced(r)
            for total, index in zip(totals, indices, strict=True):
                self._join(total, self._value(partial(index, at), lanes))
        return totals
