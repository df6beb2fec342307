"""Writes the kernels that pack the operands of a product; `products.packing` launches them, `products.panel` says what
a chunk is.

The first groups pack the left matrix, the others, if there are some, the right one. A work-item, alone in its group,
packs the chunks of some neighbouring tiles or panels. What lies behind the last row or column is packed as that once
more: nobody looks at what is made of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import U64, DType
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.form import Access, Spec, Term
from ocl_runtime.plan.kernels.naming import formulas


@dataclass(frozen=True, slots=True)
class OperandForm:
    """How an operand is packed, the last of the `values`: `axis` is its own axis, `inner` that of the products. A chunk
    has `width` places along the first. Its rows are moved in vectors of `lanes`; 1: elements of some leaf lie apart."""

    side: str
    values: tuple[Term, ...]
    packed: Access
    axis: int
    inner: int
    width: int
    lanes: int

    @property
    def is_left(self) -> bool:
        """Whether rows of chunks lie along the inner axis."""
        return self.side == "left"


@dataclass(frozen=True, slots=True)
class PackingForm:
    """The key of the kernel. There are `batch` axes in front of an operand's own two; chunks have up to `depth` places
    along the inner axis, and begin at multiples of `unit` elements."""

    operands: tuple[OperandForm, ...]
    specs: tuple[Spec, ...]
    batch: int
    depth: int
    unit: int
    accumulator: DType
    index: DType
    fp16: bool


def build(form: PackingForm) -> Kernel:
    """The kernel of a form."""
    return _Builder(form).build()


class _Builder:
    def __init__(self, form: PackingForm) -> None:
        chunks = (
            f"{_text(operand)} in chunks of {operand.width} {'rows' if operand.is_left else 'columns'}"
            for operand in form.operands
        )
        note = f"{', '.join(chunks)}, by {form.depth}    {form.accumulator}"
        self._form = form
        self._k = KernelBuilder("pack_panels", group_size=(1, 1, 1), note=note)
        self._body = Body.start(self._k, form.specs, form.index, form.fp16)
        self._sizes = self._body.params

    def build(self) -> Kernel:
        k, form = self._k, self._form
        left, *rights = form.operands
        group = k.item("group_id", 0, "group", form.index)
        if not rights:
            self._pack(left, group)
            return k.build()
        with k.if_(group < self._sizes["left_groups"]):
            self._pack(left, group)
        with k.else_():
            self._pack(rights[0], group - self._sizes["left_groups"])
        return k.build()

    def _pack(self, operand: OperandForm, group: Ref) -> None:
        k, form, body, sizes, side = self._k, self._form, self._body, self._sizes, operand.side
        run, group = k.op("urem", group, sizes[f"{side}_runs"]), k.op("udiv", group, sizes[f"{side}_runs"])
        slice_, group = k.op("urem", group, sizes["slices"]), k.op("udiv", group, sizes["slices"])
        lengths = {axis: sizes[f"{side}_n{axis}"] for axis in range(form.batch)}
        where = body.coordinates(group, range(form.batch - 1, -1, -1), lengths)
        begin = k.let(slice_ * form.depth, "begin")
        count = k.op("minimum", sizes["k"] - begin, form.depth, hint="count")
        first = k.let(run * sizes[f"{side}_per"], "first")
        last = k.op("minimum", first + sizes[f"{side}_per"], sizes[f"{side}_chunks"], hint="last")
        with k.for_(first, last, dtype=form.index, hint="chunk") as chunk:
            own = k.let(chunk * operand.width, "row" if operand.is_left else "column")
            offset = body.offset(operand.packed, {**where, form.batch: slice_, form.batch + 1: chunk}, form.batch + 2)
            assert offset is not None
            to = k.convert(offset * form.unit, U64, hint="to")
            pack = self._rows if operand.is_left else self._columns
            pack(operand, where, own, begin, count, to)

    # ------------------------------------------------------------------ a tile of the left matrix

    def _rows(self, operand: OperandForm, where: Mapping[int, Ref], own: Ref, begin: Ref, count: Ref, to: Ref) -> None:
        """Its rows along the inner axis: all of one in vectors, and what is left of all of them together."""
        k, form = self._k, self._form
        last = self._sizes[f"{operand.side}_own"] - 1
        rows = [k.op("minimum", own + row, last) if row else own for row in range(operand.width)]
        whole = self._body.const(0)
        if operand.lanes > 1:
            whole = k.let(count - k.op("urem", count, self._body.const(operand.lanes)), "whole")
            for row, index in enumerate(rows):
                with k.for_(0, whole, operand.lanes, dtype=form.index, hint="i") as i:
                    self._move(operand, where, index, begin + i, to + row * form.depth, i, operand.lanes)
        with k.for_(whole, count, dtype=form.index, hint="i") as i:
            for row, index in enumerate(rows):
                self._move(operand, where, index, begin + i, to + row * form.depth, i, 1)

    # ------------------------------------------------------------------ a panel of the right matrix

    def _columns(
        self, operand: OperandForm, where: Mapping[int, Ref], own: Ref, begin: Ref, count: Ref, to: Ref
    ) -> None:
        """All of its columns in vectors, place by place; or, where there are fewer, one by one."""
        k, form, lanes = self._k, self._form, operand.lanes
        if lanes == 1:
            self._one_by_one(operand, where, own, begin, count, to)
            return
        is_whole = own + operand.width <= self._sizes[f"{operand.side}_own"]
        with k.if_(is_whole), k.for_(0, count, dtype=form.index, hint="i") as i:
            for column in range(0, operand.width, lanes):
                self._move(operand, where, own + column, begin + i, to + column, i * operand.width, lanes)
        with k.else_():
            self._one_by_one(operand, where, own, begin, count, to)

    def _one_by_one(
        self, operand: OperandForm, where: Mapping[int, Ref], own: Ref, begin: Ref, count: Ref, to: Ref
    ) -> None:
        """Column by column, so that one that is contiguous is read along its elements."""
        k, form = self._k, self._form
        with k.for_(0, operand.width, dtype=form.index, hint="j") as j:
            column = k.op("minimum", own + j, self._sizes[f"{operand.side}_own"] - 1)
            with k.for_(0, count, dtype=form.index, hint="i") as i:
                self._move(operand, where, column, begin + i, to, i * operand.width + j, 1)

    # ------------------------------------------------------------------ elements

    def _move(
        self, operand: OperandForm, where: Mapping[int, Ref], own: Ref, inner: Ref, to: Ref, at: Ref, lanes: int
    ) -> None:
        """Reads `lanes` neighbours from a place on, and stores them."""
        k, body = self._k, self._body
        along, lane = (inner, operand.inner) if operand.is_left else (own, operand.axis)
        coordinates, last = {**where, operand.axis: own, operand.inner: inner}, len(operand.values) - 1
        read = partial(body.neighbours, coordinates=coordinates, along=along, lane=lane, count=lanes)
        value = k.convert(body.evaluate(operand.values, [last], read)[last], self._form.accumulator)
        packed = self._sizes[operand.packed.name]
        k.store(packed, to + k.convert(at, U64), value, align=self._form.accumulator.size * lanes)


def _text(operand: OperandForm) -> str:
    """What is packed, for the reader."""
    return formulas(operand.values, {"": len(operand.values) - 1}).removeprefix(" = ")
