"""Writes the kernels of elementwise expressions some of whose leaves lie along another axis than the results;
`ocl_runtime.plan.kernels.transpose` decides which.

A *row* of the index space goes along its last axis, as the results lie in memory, and a *column* along the axis in
which the turned leaves do. Both are cut into units of W elements, of which one access moves all. A work-item reads W
units along the column, below each other's rows in memory, and takes them apart in registers: then it has W units along
rows (Eklundh, A fast computer method for matrix transposing, 1972).

On a GPU neighbours among the work-items read neighbouring units, and must write neighbouring units too. So a group
turns a tile in local memory, where the units of a row are exchanged by an exclusive or with the row's number: neither
what is stored down a column nor what is loaded along a row meets in one bank.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.language.builtins.registry import BUILTINS
from ocl_ir.language.library import Algorithm
from ocl_ir.types import BOOL, U8, DType
from ocl_runtime.plan.fusion.values import Operation
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.elementwise_kernel import size_name
from ocl_runtime.plan.kernels.form import Access, Spec, Term
from ocl_runtime.plan.kernels.naming import formulas, kernel_name

barrier, unrolled = (BUILTINS[name] for name in ("barrier", "unrolled"))


@dataclass(frozen=True, slots=True)
class TransposeForm:
    """The key of the kernel.

    `axis` is that of the columns, and `turned` has the places of the turned leaves among the values. Units have `lanes`
    elements; results are computed in vectors of `result_lanes`, of 1 where rows of results are not aligned. `tile` is
    how many units a group has down its columns and along its rows, with `items` work-items; None: each work-item has a
    block of its own. `grid` has the axes of each dimension, the fastest first.
    """

    values: tuple[Term, ...]
    outputs: tuple[tuple[int, Access], ...]
    specs: tuple[Spec, ...]
    rank: int
    axis: int
    turned: tuple[int, ...]
    lanes: int
    result_lanes: int
    tile: tuple[int, int] | None
    items: int
    grid: tuple[tuple[int, ...], ...]
    index: DType
    fp16: bool
    restrict: bool


class Turned(NamedTuple):
    """A turned leaf: `read` gives a unit down a column, `across` takes each row out of W of them; `put` and `get` move
    units to and from the tile."""

    read: Any
    across: tuple[Any, ...]
    put: Any
    get: Any


class Steps(NamedTuple):
    """What the kernel is made of: the turned leaves, functions of a place, and constants. `compute` and `store` take
    the number of a row and of a vector in it."""

    turned: tuple[Turned, ...]
    compute: Any
    store: Any
    compute_one: Any
    store_one: Any
    lanes: int
    result_lanes: int
    items: int
    down: int
    along: int


def tile(rows: Any, columns: Any, first_row: Any, first_column: Any, item: Any, steps: Steps) -> None:
    """Turns a tile, whose first row and column are given in units, and computes the results of its rows. Beyond the
    last row and column, these are read again, and nothing is stored."""
    lanes, along = steps.lanes, steps.along
    last_column = columns - 1
    for block in range(item, steps.down * along, steps.items):
        below = block % steps.down
        unit = block // steps.down
        column = (first_column + unit) * lanes
        for leaf in unrolled(steps.turned):
            units: Any = ()
            for step in unrolled(range(lanes)):
                units = (*units, leaf.read(first_row + below, min(column + step, last_column)))
            place = below * lanes * along + (unit ^ below % along)
            for step in unrolled(range(lanes)):
                leaf.put(place + step * along, leaf.across[step](*units))
    barrier()
    top = first_row * lanes
    results_of_unit = lanes // steps.result_lanes
    results_of_row = along * results_of_unit
    for result in range(item, steps.down * lanes * results_of_row, steps.items):
        below = result // results_of_row
        vector = result % results_of_row
        row = top + below
        column = first_column * results_of_unit + vector
        if all((row < rows, column * steps.result_lanes < columns)):
            unit = (vector // results_of_unit) ^ (below // lanes) % along
            place = (below * along + unit) * results_of_unit + vector % results_of_unit
            taken: Any = ()
            for leaf in unrolled(steps.turned):
                taken = (*taken, leaf.get(place))
            steps.store(row, column, *steps.compute(row, column, *taken))


def block(rows: Any, columns: Any, down: Any, along: Any, item: None, steps: Steps) -> None:
    """Turns a block of W rows and columns in the registers of a work-item; its number is given along both axes."""
    lanes = steps.lanes
    row = down * lanes
    column = along * lanes
    if all((row + lanes <= rows, column + lanes <= columns)):
        units: Any = ()
        for leaf in unrolled(steps.turned):
            of_leaf: Any = ()
            for step in unrolled(range(lanes)):
                of_leaf = (*of_leaf, leaf.read(down, column + step))
            units = (*units, of_leaf)
        for step in unrolled(range(lanes)):
            taken: Any = ()
            for leaf, of_leaf in unrolled(zip(steps.turned, units)):  # noqa: B905, the language has no strict
                taken = (*taken, leaf.across[step](*of_leaf))
            steps.store(row + step, along, *steps.compute(row + step, along, *taken))
    else:
        for r in range(row, min(row + lanes, rows)):
            for c in range(column, min(column + lanes, columns)):
                steps.store_one(r, c, *steps.compute_one(r, c))


def build(form: TransposeForm) -> Kernel:
    """The kernel of a form."""
    return _Builder(form).build()


class _Builder:
    def __init__(self, form: TransposeForm) -> None:
        stored = {access.name: value for value, access in form.outputs}
        dtypes = ", ".join(dict.fromkeys(str(access.dtype) for _, access in form.outputs))
        how = "blocks of " + f"{form.lanes} x {form.lanes}"
        if form.tile is not None:
            how += f" in tiles of {form.tile[0] * form.lanes} x {form.tile[1] * form.lanes}"
        self._form = form
        self._algorithm = Algorithm(
            kernel_name(form.values) if any(isinstance(value, Operation) for value in form.values) else "transpose",
            block if form.tile is None else tile,
            index=form.index,
            group_size=None if form.tile is None else (form.items, 1, 1),
            note=f"{formulas(form.values, stored)}    {dtypes}, {form.rank}-D, {how}",
        )
        self._k = self._algorithm.k
        self._body = Body.start(self._k, form.specs, form.index, form.fp16, restrict=form.restrict)
        self._sizes = {axis: self._body.params[size_name(axis, form.rank)] for axis in range(form.rank)}
        self._lane = form.rank - 1
        self._where: dict[int, Ref] = {}

    def build(self) -> Kernel:
        k, form, axis, lane = self._k, self._form, self._form.axis, self._lane
        down, along = form.tile or (1, 1)
        counts = dict(self._sizes)
        for one, units in ((axis, down), (lane, along)):
            if any(one in axes[:-1] for axes in form.grid):
                size = units * form.lanes
                counts[one] = k.op("udiv", self._sizes[one] + (size - 1), self._body.const(size))
        for dimension, axes in enumerate(form.grid):
            hint = f"{'tile' if form.tile else 'block'}_{axes[0]}"
            if form.tile is None:
                number = k.global_id(dimension, hint, form.index)
            else:
                number = k.item("group_id", dimension, hint, form.index)
            self._where |= self._body.coordinates(number, axes, counts)
        first_row, first_column = self._where.pop(axis), self._where.pop(lane)
        if form.tile is not None:
            first_row, first_column = k.let(first_row * down, "first_row"), k.let(first_column * along, "first_column")
        outside = [axes[-1] for axes in form.grid if form.tile is None and axes[-1] not in (axis, lane)]
        item = None if form.tile is None else k.item("local_id", 0, "item", form.index)
        arguments = self._sizes[axis], self._sizes[lane], first_row, first_column, item, self._steps()
        if outside:
            (outermost,) = outside
            with k.if_(self._where[outermost] < self._sizes[outermost]):
                self._algorithm.write(*arguments)
        else:
            self._algorithm.write(*arguments)
        return self._algorithm.build()

    def _steps(self) -> Steps:
        form, made = self._form, self._algorithm.function
        down, along = form.tile or (1, 1)
        return Steps(
            turned=tuple(self._turned(index) for index in form.turned),
            compute=made(lambda row, vector, *taken: self._computed(row, vector, form.result_lanes, taken)),
            store=made(lambda row, vector, *results: self._stored(row, vector, form.result_lanes, results)),
            compute_one=made(lambda row, column: self._computed(row, column, 1, ())),
            store_one=made(lambda row, column, *results: self._stored(row, column, 1, results)),
            lanes=form.lanes,
            result_lanes=form.result_lanes,
            items=form.items,
            down=down,
            along=along,
        )

    # ------------------------------------------------------------------ the turned leaves

    def _turned(self, place: int) -> Turned:
        form, k, made = self._form, self._k, self._algorithm.function
        access = form.values[place]
        assert isinstance(access, Access)

        def across(step: int) -> Callable[..., Ref]:
            hint = f"{access.name}_row" if form.tile is None else ""
            return lambda *units: self._vector([k.op("extract", unit, step) for unit in units], hint)

        turned = Turned(
            read=made(lambda unit, column: self._unit(access, unit, column)),
            across=tuple(made(across(step)) for step in range(form.lanes)),
            put=None,
            get=None,
        )
        if form.tile is None:
            return turned
        dtype, count = self._body.computed_as(access.dtype), form.lanes**2 * form.tile[0] * form.tile[1]
        align, lanes = dtype.size * form.lanes, form.result_lanes
        local = k.array(dtype, count, align=align, hint=f"{access.name}_tile")

        def put(at: Ref, unit: Ref) -> None:
            k.store(local, at * form.lanes, unit, align=align)

        def get(at: Ref) -> Ref:
            return k.load(local, at * lanes, count=lanes, align=dtype.size * lanes)

        return turned._replace(put=made(put), get=made(get))

    def _unit(self, access: Access, unit: Ref, column: Ref) -> Ref:
        """W neighbours down a column."""
        k, form, body = self._k, self._form, self._body
        where, rows = self._where | {self._lane: column}, self._sizes[form.axis]
        if access.wide or (form.tile is None and access.strides[form.axis] == "one"):
            if form.tile is not None:
                last = k.let(k.op("udiv", rows, body.const(form.lanes)) - 1, "last_unit")
                unit = k.op("minimum", unit, last)
            start = body.vector_start(access, body.offset(access, where, form.axis), unit, form.lanes, form.axis)
            return body.read(access, start, form.lanes)
        last = k.let(rows - 1, "last_row")
        down = [k.op("minimum", unit * form.lanes + step, last) for step in range(form.lanes)]
        return self._vector([self._one(access, where | {form.axis: row}) for row in down])

    # ------------------------------------------------------------------ results

    def _computed(self, row: Ref, vector: Ref, lanes: int, taken: tuple[Ref, ...]) -> tuple[Ref, ...]:
        """The results of a vector of a row, of which some leaves are known."""
        form = self._form
        known: Mapping[int, Ref] = dict(zip(form.turned, taken, strict=False))
        where = self._where | {form.axis: row}
        wanted = [value for value, _ in form.outputs]
        results = self._body.evaluate(
            form.values, wanted, lambda access: self._neighbours(access, where, vector, lanes), known
        )
        return tuple(results[value] for value in wanted)

    def _neighbours(self, access: Access, where: dict[int, Ref], vector: Ref, lanes: int) -> Ref:
        """Neighbours of a leaf along a row, or one element that is all of them."""
        body, lane = self._body, self._lane
        if access.kind == "scalar" or access.strides[lane] == "none" or lanes == 1:
            return self._one(access, where | {lane: vector})
        if access.strides[lane] == "one" and (access.kind == "iota" or access.wide or self._form.tile is None):
            start = body.vector_start(access, body.offset(access, where, lane), vector, lanes, lane)
            return body.read(access, start, lanes)
        return self._vector([self._one(access, where | {lane: vector * lanes + step}) for step in range(lanes)])

    def _one(self, access: Access, where: Mapping[int, Ref]) -> Ref:
        body = self._body
        if access.kind == "scalar":
            return body.read(access, body.const(0))
        if access.wide:  # its strides count vectors
            along = self._lane if access.strides[self._lane] == "one" else self._form.axis
            return body.read(
                access, body.element(access, body.offset(access, where, along), where[along], self._form.lanes, along)
            )
        offset = body.offset(access, where)
        return body.read(access, body.const(0) if offset is None else offset)

    def _stored(self, row: Ref, vector: Ref, lanes: int, results: tuple[Ref, ...]) -> None:
        form, body, lane = self._form, self._body, self._lane
        for (_, access), result in zip(form.outputs, results, strict=True):
            offset = body.offset(access, self._where | {form.axis: row}, lane)
            if lanes == 1:
                start = body.element(access, offset, vector, form.lanes, lane)
            else:
                start = body.vector_start(access, offset, vector, lanes, lane)
            align = access.dtype.size * (lanes if access.wide else 1)
            value = body.spread(result, lanes) if lanes > 1 else result
            self._k.store(body.params[access.name], start, value, align=align)

    def _vector(self, elements: list[Ref], hint: str = "") -> Ref:
        """A vector of elements; one of bools is made by comparing."""
        k = self._k
        if elements[0].type != BOOL:
            return k.op("vector", *elements, hint=hint)
        one, zero = k.const(1, U8), k.const(0, U8)
        return k.op("vector", *(k.op("select", element, one, zero) for element in elements)) != 0
