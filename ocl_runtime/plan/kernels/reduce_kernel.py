"""Writes the kernels of reductions; `ocl_runtime.plan.kernels.reduce` decides which.

Axes are numbered: the kept ones first, then the reduced ones. Outputs of rows have the kept axes and, last, one for the
parts that the elements of each result are split into.

A kernel goes through the elements of a result once for each of its phases. In one phase it joins everything whose
operands are there, and stores what else is there by then; what the folds give is known in the next. Values that are the
same for all elements of a result are computed between the phases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ocl_ir.graph.build import ReduceOp
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.operands import Ref
from ocl_ir.program_ops import DefinedOp
from ocl_ir.types import BOOL, U8, DType, Vector, element, lanes, with_lanes
from ocl_runtime.plan.fusion.reduction_order import Way
from ocl_runtime.plan.fusion.values import Fold, Operation, below
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.form import Access, Spec, Term
from ocl_runtime.plan.kernels.naming import formulas, kernel_name
from ocl_runtime.plan.kernels.reduce_team import Team

_LARGE_EXPRESSION = 16
"""Operations above which an expression is not written for each accumulator."""
_MOST_VECTORS = 24
"""Of the accumulators of a work-item, and of what it reads for them: with more, a GPU has room for half as many groups.
8192 bodies (28 vectors, 149 registers) took 243 us on an H100, and 123 with one accumulator after the other."""

JOINS: Mapping[ReduceOp, str] = {"sum": "add", "prod": "mul", "min": "minimum", "max": "maximum"}


@dataclass(frozen=True, slots=True)
class Stored:
    """A value that is stored, one of the row or one of each element."""

    value: int
    access: Access
    row: bool


class Held(NamedTuple):
    """What a work-item of a row has of it: so many `vectors`, and so many `single` elements of what is left where a row
    is cut into vectors. `full`: the last of the vectors is there for all of a team."""

    vectors: int
    full: bool
    single: int


@dataclass(frozen=True, slots=True)
class ReduceForm:
    """The key of a reduction's kernel.

    Rows: a team of `team` work-items has a result; each has `chains` accumulators of `lanes` lanes along the reduced
    axes. Columns: a team has a result, or `chains` vectors of `lanes` results along the last kept axis. A group has
    `teams` of them. `split`: results are split into parts. `whole`: lanes run along one axis, of whose length they are
    a part, or which is the only one in its direction. `held`: how work-items hold their row in registers.
    """

    way: Way
    values: tuple[Term, ...]
    outputs: tuple[Stored, ...]
    specs: tuple[Spec, ...]
    kept: int
    reduced: int
    lanes: int
    team: int
    teams: int
    chains: int
    split: bool
    whole: bool
    held: Held | None
    index: DType
    fp16: bool
    restrict: bool

    @property
    def lane(self) -> int | None:
        """The axis along which neighbours are lanes."""
        if not self.whole:
            return None
        return self.kept + self.reduced - 1 if self.way == "rows" else self.kept - 1


def join(op: ReduceOp) -> str:
    """The operation that joins two values."""
    return op if isinstance(op, DefinedOp) else JOINS[op]


def identity(op: ReduceOp, dtype: DType) -> int | float:
    """What changes nothing when it is joined."""
    if isinstance(op, DefinedOp):
        assert op.neutral is not None
        return op.neutral
    if op in {"sum", "prod"}:
        one_or_zero = int(op == "prod")
        return float(one_or_zero) if dtype.is_float else one_or_zero
    if dtype.is_float:
        return float("inf") if op == "min" else float("-inf")
    limits = np.iinfo(dtype.numpy)
    return int(limits.max if op == "min" else limits.min)


@dataclass(frozen=True, slots=True)
class Phase:
    """What one loop over the elements does: folds to join and element outputs to store, and the values of the row that
    it takes."""

    folds: tuple[int, ...]
    outputs: tuple[Stored, ...]
    wanted: tuple[int, ...]
    taken: tuple[int, ...]


def of_rows(form: ReduceForm) -> set[int]:
    """The places of values that are the same for all elements of a result."""
    known: list[bool] = []
    for value in form.values:
        args = value.operands
        leaf = isinstance(value, Access) and all(stride == "none" for stride in value.strides[form.kept :])
        known.append(leaf or isinstance(value, Fold) or (bool(args) and all(known[arg] for arg in args)))
    return {index for index, is_known in enumerate(known) if is_known}


def phases(form: ReduceForm) -> list[Phase]:
    """The loops of a kernel, in order."""
    number: list[int] = []
    for value in form.values:
        number.append(max((number[arg] for arg in value.operands), default=0) + isinstance(value, Fold))
    row = of_rows(form)
    outputs = [output for output in form.outputs if not output.row]
    folds = {index: value.arg for index, value in enumerate(form.values) if isinstance(value, Fold)}
    in_order = []
    for turn in range(max(number) + 1):
        joined = tuple(index for index, arg in folds.items() if number[arg] == turn)
        stored = tuple(output for output in outputs if number[output.value] == turn)
        wanted = tuple(dict.fromkeys([*(folds[index] for index in joined), *(output.value for output in stored)]))
        if wanted:
            taken = tuple(index for index in below(form.values, wanted, row) if index in row)
            in_order.append(Phase(joined, stored, wanted, taken))
    return in_order


def is_large(form: ReduceForm) -> bool:
    """Whether the expression stands in the code once and not for each accumulator."""
    return sum(isinstance(value, Operation) for value in form.values) > _LARGE_EXPRESSION


def is_crowded(form: ReduceForm) -> bool:
    """Whether the accumulators of one of a team, and what is read for all of them at once, take too many registers. A
    core of a CPU, where there are no teams, runs one group at a time anyway."""
    of_row = of_rows(form)
    read = sum(isinstance(value, Access) and index not in of_row for index, value in enumerate(form.values))
    most = max(len(phase.folds) for phase in phases(form))
    return form.team > 1 and form.chains * (most + read) > _MOST_VECTORS


class Builder:
    """What the kernels of both ways share."""

    def __init__(self, form: ReduceForm) -> None:
        stored = {output.access.name: output.value for output in form.outputs}
        dtypes = ", ".join(dict.fromkeys(str(output.access.dtype) for output in form.outputs))
        accumulators = dict.fromkeys(str(value.accumulator) for value in form.values if isinstance(value, Fold))
        note = f"{formulas(form.values, stored)}    {dtypes}, in {', '.join(accumulators)}, by {form.way}"
        group = (form.team * form.teams, 1, 1) if form.team > 1 else None
        self.form = form
        self.phases = phases(form)
        self.k = KernelBuilder(kernel_name(form.values), group_size=group, note=note)
        self.body = Body.start(self.k, form.specs, form.index, form.fp16, restrict=form.restrict)
        self.team = Team(self.k, form.team, form.teams, form.index, beside=form.way == "columns")
        self.part_number = self.k.global_id(1, "part", form.index) if form.split else None
        """The part of its results that this work-item takes, where they are split."""
        self.sizes = {axis: self.body.params[f"n{axis}"] for axis in range(form.kept)}
        if form.reduced > 1:
            self.sizes |= {form.kept + axis: self.body.params[f"m{axis}"] for axis in range(form.reduced)}

    def fold(self, fold_index: int) -> Fold:
        """The fold at a place."""
        fold = self.form.values[fold_index]
        assert isinstance(fold, Fold)
        return fold

    def accumulator(self, fold_index: int, count: int) -> Ref:
        """A variable in which the elements of a fold are joined, `count` lanes wide."""
        fold = self.fold(fold_index)
        type_ = with_lanes(fold.accumulator, count)
        return self.k.variable(self.k.const(identity(fold.op, fold.accumulator), type_), hint="acc")

    def joined(self, fold_index: int, left: Ref, right: Ref) -> Ref:
        """Two values of a fold as one."""
        return self.k.op(join(self.fold(fold_index).op), left, right)

    def join(self, fold_index: int, accumulator: Ref, values: Mapping[int, Ref]) -> None:
        """Adds the fold's operand to an accumulator."""
        fold = self.fold(fold_index)
        value = self.k.convert(values[fold.arg], fold.accumulator)
        assert isinstance(accumulator.type, DType | Vector)
        value = self.body.spread(value, lanes(accumulator.type))
        self.k.assign(accumulator, self.joined(fold_index, accumulator, value))

    def evaluate(
        self, wanted: Iterable[int], leaf: Callable[[Access], Ref], known: Mapping[int, Ref]
    ) -> dict[int, Ref]:
        """Values by their places; scalars and leaves at `leaf`."""
        return self.body.evaluate(self.form.values, wanted, leaf, known)

    def evaluate_each(
        self, wanted: Iterable[int], leaves: Sequence[Callable[[Access], Ref]], known: Mapping[int, Ref]
    ) -> list[dict[int, Ref]]:
        """The same for several elements or vectors. All are read before the first is computed, so that their loads are
        in flight together."""
        wanted = tuple(wanted)
        read = [
            index for index in below(self.form.values, wanted, known) if isinstance(self.form.values[index], Access)
        ]
        each = [self.evaluate(read, leaf, known) for leaf in leaves]
        return [self.evaluate(wanted, leaf, values) for leaf, values in zip(leaves, each, strict=True)]

    def reduced(self, number: Ref) -> dict[int, Ref]:
        """The coordinates of a reduced element."""
        form = self.form
        return self.body.coordinates(number, range(form.kept + form.reduced - 1, form.kept - 1, -1), self.sizes)

    def bounded(self, where: dict[int, Ref], sizes: Mapping[int, Ref]) -> tuple[dict[int, Ref], Ref | None]:
        """Coordinates of results of a space of some `sizes`, and whether they are inside of it, where that is a
        question. A team that is outside computes the last result with its group, which meets at barriers."""
        if self.form.teams == 1 or not where:
            return where, None
        inside = self.k.let(where[0] < sizes[0], "inside")
        last = self.k.op("sub", sizes[0], 1, hint="~last")
        return where | {0: self.k.op("minimum", where[0], last, hint="~row")}, inside

    @property
    def part(self) -> dict[int, Ref]:
        """The coordinate of the part, where results are split."""
        return {} if self.part_number is None else {self.form.kept: self.part_number}

    def range(self, whole: Ref) -> tuple[Ref, Ref]:
        """Where the part that this work-item takes of `whole` elements or vectors begins and ends."""
        if self.part_number is None:
            return self.body.const(0), whole
        begin = self.k.let(self.part_number * self.body.params["per"], "begin")
        return begin, self.k.op("minimum", begin + self.body.params["per"], whole, hint="end")

    def guarded(self, condition: Ref | None) -> AbstractContextManager[None]:
        """Statements that run where a condition holds, if there is one."""
        return nullcontext() if condition is None else self.k.if_(condition)

    def once(self, inside: Ref | None) -> AbstractContextManager[None]:
        """Statements that one work-item of each team runs whose results are `inside`."""
        if self.form.team == 1:
            return self.guarded(inside)
        first = self.team.member == 0
        return self.k.if_(first if inside is None else first & inside)

    def result(self, fold_index: int, total: Ref) -> Ref:
        """What a fold gives, as the operations behind it take it."""
        dtype = self.fold(fold_index).dtype
        return self.body.rounded(self._computed(total, dtype), dtype)

    def store_total(self, output: Stored, index: Ref, known: Mapping[int, Ref], totals: Mapping[int, Ref]) -> None:
        """Stores a value of the row. Half is rounded by being stored."""
        total = totals.get(output.value)
        value = known[output.value] if total is None else self._computed(total, output.access.dtype)
        self.store(output.access, index, value)

    def _computed(self, total: Ref, dtype: DType) -> Ref:
        assert isinstance(total.type, DType | Vector)
        if dtype == BOOL:  # which only operations of the program join as it is
            return total if element(total.type) == BOOL else self.k.op("ne", total, 0)
        return self.body.converted(total, dtype)

    def store(self, access: Access, index: Ref, value: Ref) -> None:
        """Stores one value or vector."""
        assert isinstance(value.type, DType | Vector)
        align = access.dtype.size * (lanes(value.type) if access.wide else 1)
        self.k.store(self.body.params[access.name], index, value, align=align)

    def at(self, access: Access, where: Mapping[int, Ref]) -> Ref:
        """The place of an element by its coordinates."""
        if access.kind == "scalar":
            return self.body.const(0)
        offset = self.body.offset(access, where)
        return self.body.const(0) if offset is None else offset

    def read_at(self, where: Mapping[int, Ref]) -> Callable[[Access], Ref]:
        """Reads leaves at one place."""
        return lambda access: self.body.read(access, self.at(access, where))

    def gathered(self, access: Access, indices: Sequence[Ref]) -> Ref:
        """A vector of elements that are no neighbours. Vectors of bools are made by comparing."""
        elements = [self.body.read(access, index) for index in indices]
        if access.dtype != BOOL:
            return self.k.op("vector", *elements)
        one, zero = self.k.const(1, U8), self.k.const(0, U8)
        return self.k.op("vector", *(self.k.op("select", element, one, zero) for element in elements)) != 0

    def scattered(self, access: Access, indices: Sequence[Ref], value: Ref) -> None:
        """Stores the lanes of a vector at places that are no neighbours."""
        for lane, index in enumerate(indices):
            self.store(access, index, self.k.op("extract", value, lane))


def along_lanes(builder: Builder, access: Access, start: Ref | None, number: Ref) -> Ref | list[Ref]:
    """Where vector `number` of a row lies that begins at `start`: its beginning, or where each lane is."""
    form, body = builder.form, builder.body
    assert form.lane is not None
    if access.strides[form.lane] != "param":
        return body.vector_start(access, start, number, form.lanes, form.lane)
    stride = body.params[access.stride_name(form.lane)]
    first = number * form.lanes
    steps = [(first + lane if lane else first) * stride for lane in range(form.lanes)]
    return steps if start is None else [start + step for step in steps]
