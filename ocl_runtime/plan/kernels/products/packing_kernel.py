"""Writes the kernels that pack an operand of a product; `products.packing` launches them, `products.panel` says what a
chunk is.

A work-item packs the chunks of some neighbouring tiles or panels. What lies behind the last row or column is packed as
that once more: nobody looks at what is made of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import U64, DType
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.form import Access, Spec


@dataclass(frozen=True, slots=True)
class PackingForm:
    """The key of the kernel.

    The source has `batch` axes in front, `axis` is its own one, and `inner` that of the products. A chunk has `width`
    places along the first and up to `depth` along the latter; `left`: in rows along the inner axis, which are `depth`
    apart, otherwise along its own. Rows of chunks are moved in vectors of `lanes`; 1: elements lie apart in the source.
    """

    source: Access
    packed: Access
    specs: tuple[Spec, ...]
    batch: int
    axis: int
    inner: int
    left: bool
    width: int
    depth: int
    lanes: int
    unit: int
    accumulator: DType
    index: DType
    fp16: bool


def build(form: PackingForm) -> Kernel:
    """The kernel of a form."""
    return _Builder(form).build()


class _Builder:
    def __init__(self, form: PackingForm) -> None:
        what = "rows" if form.left else "columns"
        note = f"{form.source.name} in chunks of {form.width} {what} by {form.depth}    {form.accumulator}"
        self._form = form
        self._k = KernelBuilder("pack_panels", group_size=(1, 1, 1), note=note)
        self._body = Body.start(self._k, form.specs, form.index, form.fp16)
        self._sizes = self._body.params

    def build(self) -> Kernel:
        k, form, body, sizes = self._k, self._form, self._body, self._sizes
        group = k.item("group_id", 0, "group", form.index)
        run, group = k.op("urem", group, sizes["runs"]), k.op("udiv", group, sizes["runs"])
        slice_, group = k.op("urem", group, sizes["slices"]), k.op("udiv", group, sizes["slices"])
        lengths = {axis: sizes[f"n{axis}"] for axis in range(form.batch)}
        where = body.coordinates(group, range(form.batch - 1, -1, -1), lengths)
        begin = k.let(slice_ * form.depth, "begin")
        count = k.op("minimum", sizes["k"] - begin, form.depth, hint="count")
        first = k.let(run * sizes["per"], "first")
        last = k.op("minimum", first + sizes["per"], sizes["panels"], hint="last")
        with k.for_(first, last, dtype=form.index, hint="panel") as panel:
            own = k.let(panel * form.width, "own")
            offset = body.offset(form.packed, {**where, form.batch: slice_, form.batch + 1: panel})
            assert offset is not None
            to = k.convert(offset * form.unit, U64, hint="to")
            if form.left:
                self._rows(where, own, begin, count, to)
            else:
                self._columns(where, own, begin, count, to)
        return k.build()

    # ------------------------------------------------------------------ a tile of the left matrix

    def _rows(self, where: Mapping[int, Ref], own: Ref, begin: Ref, count: Ref, to: Ref) -> None:
        k, form = self._k, self._form
        last = self._sizes["own"] - 1
        rows = [k.op("minimum", own + row, last) if row else own for row in range(form.width)]
        whole = k.let(count - k.op("urem", count, self._body.const(form.lanes)), "whole")
        if form.lanes > 1:
            for row, place in enumerate(rows):
                with k.for_(0, whole, form.lanes, dtype=form.index, hint="i") as i:
                    self._move(where, place, begin + i, to + row * form.depth, i, form.lanes)
        with k.for_(whole if form.lanes > 1 else 0, count, dtype=form.index, hint="i") as i:
            for row, place in enumerate(rows):
                self._move(where, place, begin + i, to + row * form.depth, i, 1)

    # ------------------------------------------------------------------ a panel of the right matrix

    def _columns(self, where: Mapping[int, Ref], own: Ref, begin: Ref, count: Ref, to: Ref) -> None:
        k, form = self._k, self._form
        if form.lanes == 1:
            self._one_by_one(where, own, begin, count, to)
            return
        with k.if_(own + form.width <= self._sizes["own"]), k.for_(0, count, dtype=form.index, hint="i") as i:
            for column in range(0, form.width, form.lanes):
                self._move(where, own + column, begin + i, to + column, i * form.width, form.lanes)
        with k.else_():
            self._one_by_one(where, own, begin, count, to)

    def _one_by_one(self, where: Mapping[int, Ref], own: Ref, begin: Ref, count: Ref, to: Ref) -> None:
        """Column by column, so that a column that is contiguous is read along its elements."""
        k, form = self._k, self._form
        with k.for_(0, form.width, dtype=form.index, hint="column") as column:
            place = k.op("minimum", own + column, self._sizes["own"] - 1)
            with k.for_(0, count, dtype=form.index, hint="i") as i:
                self._move(where, place, begin + i, to, i * form.width + column, 1)

    # ------------------------------------------------------------------ elements

    def _move(self, where: Mapping[int, Ref], own: Ref, inner: Ref, to: Ref, at: Ref, lanes: int) -> None:
        """Reads `lanes` neighbours from a place on, and stores them."""
        k, form, body = self._k, self._form, self._body
        along, lane = (inner, form.inner) if form.left else (own, form.axis)
        offset = body.offset(form.source, {**where, form.axis: own, form.inner: inner}, lane)
        source = body.element(form.source, offset, along, 1, lane)
        value = k.convert(body.read(form.source, source, lanes), form.accumulator)
        k.store(self._sizes[form.packed.name], to + k.convert(at, U64), value, align=self._align(lanes))

    def _align(self, lanes: int) -> int:
        return self._form.accumulator.size * lanes
