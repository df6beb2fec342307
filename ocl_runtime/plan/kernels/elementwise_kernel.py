"""Kernels for elementwise expressions, from their forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import DType
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.form import Access, Fetch, Spec, Term
from ocl_runtime.plan.kernels.naming import formulas, kernel_name

_Index: TypeAlias = Callable[[Access], Ref]


@dataclass(frozen=True, slots=True)
class ElementwiseForm:
    """The key of an elementwise kernel. `outputs` are places of values with where they are stored, and how many lanes
    at once; `shared`: lanes share what they read; `flat`: the rows of results follow each other in memory, and vectors
    go over their ends (then what has one axis only lies as the results do). `rows` is an axis and how many results a
    work-item computes along it; `grid` has the axes of each dimension, the fastest first."""

    values: tuple[Term, ...]
    outputs: tuple[tuple[int, Access, int], ...]
    specs: tuple[Spec, ...]
    rank: int
    lanes: int
    shared: bool
    flat: bool
    rows: tuple[int, int]
    grid: tuple[tuple[int, ...], ...]
    index: DType
    fp16: bool
    restrict: bool


def size_name(axis: int, rank: int) -> str:
    """The parameter with the length of an axis."""
    return "n" if rank == 1 else f"n{axis}"


def build(form: ElementwiseForm) -> Kernel:
    """The kernel of a form."""
    count = form.lanes * form.rows[1]
    each = f"{count} elements" if count > 1 else "1 element"
    stored = {access.name: value for value, access, _ in form.outputs}
    dtypes = ", ".join(dict.fromkeys(str(access.dtype) for _, access, _ in form.outputs))
    elsewhere = any(isinstance(value, Fetch) or (isinstance(value, Access) and value.shift) for value in form.values)
    k = KernelBuilder(
        kernel_name(form.values),
        pointwise=not elsewhere,
        note=f"{formulas(form.values, stored)}    {dtypes}, {form.rank}-D, {each} a work-item",
    )
    return _Builder(k, form).build()


class _Builder:
    def __init__(self, k: KernelBuilder, form: ElementwiseForm) -> None:
        self._k = k
        self._form = form
        self._body = Body.start(k, form.specs, form.index, form.fp16, restrict=form.restrict)
        self._sizes = {axis: self._body.params[size_name(axis, form.rank)] for axis in range(form.rank)}
        self._lane = form.rank - 1

    def build(self) -> Kernel:
        k, form, lane = self._k, self._form, self._lane
        if form.flat:
            self._flat()
            return k.build()
        steps = dict(self._sizes)
        for axis, count in ((lane, form.lanes), form.rows):
            if count > 1 and any(axis in axes[:-1] for axes in form.grid):
                steps[axis] = k.op("udiv", self._sizes[axis] + (count - 1), self._body.const(count))
        where: dict[int, Ref] = {}
        guard: Ref | None = None
        for dimension, axes in enumerate(form.grid):
            hint = "i" if form.rank == 1 else f"i{axes[0]}"
            where |= self._body.coordinates(k.global_id(dimension, hint, form.index), axes, steps)
            axis, count = form.rows
            if axis in axes and count > 1:
                where[axis] = k.let(where[axis] * count, "first")
            outermost = axes[-1]
            if outermost != lane or form.lanes == 1:
                inside = where[outermost] < self._sizes[outermost]
                guard = inside if guard is None else guard & inside
        if guard is None:
            self._row(where)
        else:
            with k.if_(guard):
                self._row(where)
        return k.build()

    def _row(self, where: dict[int, Ref]) -> None:
        k, form, lane, body = self._k, self._form, self._lane, self._body
        if form.lanes == 1:
            self._above(where)
            return
        width, number = form.lanes, where[lane]
        offsets = {access: body.offset(access, where, lane) for access in self._in_memory()}
        base = k.let(number * width, "base")
        with k.if_(base + (width - 1) < self._sizes[lane]):
            if form.shared:
                self._beside(where, number)
            else:
                self._lanes(offsets, number)
        with k.else_(), k.for_(base, self._sizes[lane], dtype=form.index) as j:
            counts = {access: count for _, access, count in form.outputs}
            self._at(lambda access: body.element(access, offsets[access], j, counts.get(access, width), lane))

    # ------------------------------------------------------------------ results beside each other

    def _lanes(self, offsets: Mapping[Access, Ref | None], number: Ref) -> None:
        """Vectors in place of elements."""
        body, width, lane = self._body, self._form.lanes, self._lane
        starts = {access: body.vector_start(access, offset, number, width, lane) for access, offset in offsets.items()}
        with self._k.for_(0, width, dtype=self._form.index, vectorize=True) as j:
            self._at(lambda access: self._step(access, starts[access], j))

    def _step(self, access: Access, start: Ref, step: Ref) -> Ref:
        """Where a lane is of a vector that begins somewhere."""
        stride = access.strides[-1]
        if stride == "param":
            step = step * self._body.params[access.stride_name(self._lane)]
        return start if stride == "none" else start - step if stride == "back" else start + step

    def _flat(self) -> None:
        """Vectors that are stored aligned, wherever the rows begin that they are read from."""
        k, form, body, lane, width = self._k, self._form, self._body, self._lane, self._form.lanes
        number = k.global_id(0, "i", form.index)
        base, axes = k.let(number * width, "base"), tuple(reversed(range(form.rank)))
        total = self._sizes[0]
        for axis in range(1, form.rank):
            total = k.op("mul", total, self._sizes[axis], hint="total")

        def index(access: Access, where: dict[int, Ref], place: Ref) -> Ref:
            return place if len(access.strides) == 1 else self._index(access, where)

        where = body.coordinates(base, axes, self._sizes)
        with k.if_((base + (width - 1) < total) & (where[lane] + (width - 1) < self._sizes[lane])):
            starts = {access: index(access, where, number * width) for access in self._in_memory()}
            with k.for_(0, width, dtype=form.index, vectorize=True) as j:
                self._at(lambda access: self._step(access, starts[access], j))
        with k.else_(), k.for_(base, k.op("minimum", base + width, total), dtype=form.index) as j:
            place = body.coordinates(j, axes, self._sizes)
            self._at(lambda access: index(access, place, j))

    def _in_memory(self) -> list[Access]:
        """What is read and stored, but for scalars."""
        accesses = (*self._form.values, *(access for _, access, _ in self._form.outputs))
        return [access for access in accesses if isinstance(access, Access) and access.kind != "scalar"]

    def _beside(self, where: dict[int, Ref], number: Ref) -> None:
        """Elements that are made of vectors which they share."""
        k, form, body, lane, width = self._k, self._form, self._body, self._lane, self._form.lanes
        reach: dict[Access, int] = {}
        for access in form.values:
            if isinstance(access, Access) and access.wide:
                row = access.moved(lane, -access.shift[lane])
                reach[row] = max(reach.get(row, 0), access.shift[lane])
        rows = {
            row: body.elements(
                row, body.vector_start(row, body.offset(row, where, lane), number, width, lane), width + last, width
            )
            for row, last in reach.items()
        }
        first = {**where, lane: number * width}
        read: dict[Access, Ref] = {}

        def leaf(access: Access) -> Ref:
            if access.wide:
                return rows[access.moved(lane, -access.shift[lane])][access.shift[lane]]
            if access not in read:
                read[access] = body.read(access, self._index(access, first))
            return read[access]

        results = [self._computed(leaf, lane, step) for step in range(width)]
        for value, access, count in form.outputs:
            start = body.vector_start(access, body.offset(access, where, lane), number * (width // count), count, lane)
            for step in range(0, width, count):
                lanes = [results[step + other][value] for other in range(count)]
                k.store(
                    body.params[access.name],
                    start + step,
                    k.op("vector", *lanes) if count > 1 else lanes[0],
                    align=access.dtype.size * count,
                )

    # ------------------------------------------------------------------ results above each other

    def _above(self, where: dict[int, Ref]) -> None:
        axis, count = self._form.rows
        if count == 1:
            self._elements(where, 1)
            return
        first, size = where[axis], self._sizes[axis]
        with self._k.if_(first + (count - 1) < size):
            self._elements(where, count)
        with self._k.else_(), self._k.for_(first, size, dtype=self._form.index) as i:
            self._elements({**where, axis: i}, 1)

    def _elements(self, where: dict[int, Ref], count: int) -> None:
        """So many elements along the axis of the rows. What several of them need is read once, all before any store."""
        form, body, axis = self._form, self._body, self._form.rows[0]
        read: dict[Access, Ref] = {}

        def leaf(access: Access) -> Ref:
            if access not in read:
                read[access] = body.read(access, self._index(access, where))
            return read[access]

        for step, results in enumerate([self._computed(leaf, axis, step) for step in range(count)]):
            for value, access, _ in form.outputs:
                self._k.store(body.params[access.name], self._index(access.moved(axis, step), where), results[value])

    # ------------------------------------------------------------------ one element

    def _computed(self, leaf: Callable[[Access], Ref], axis: int, step: int) -> dict[int, Ref]:
        """The values at an element some steps along an axis."""
        wanted = [value for value, _, _ in self._form.outputs]
        return self._body.evaluate(self._form.values, wanted, lambda access: leaf(access.moved(axis, step)))

    def _index(self, access: Access, where: dict[int, Ref]) -> Ref:
        offset = None if access.kind == "scalar" else self._body.offset(access, where)
        return self._body.const(0) if offset is None else offset

    def _at(self, index: _Index) -> None:
        """One element: reads the leaves where `index` says and stores the results, once all is read."""
        form, body = self._form, self._body
        zero = body.const(0)
        results = body.evaluate(
            form.values,
            [value for value, _, _ in form.outputs],
            lambda access: body.read(access, zero if access.kind == "scalar" else index(access)),
        )
        for value, access, _ in form.outputs:
            self._k.store(body.params[access.name], index(access), results[value])
