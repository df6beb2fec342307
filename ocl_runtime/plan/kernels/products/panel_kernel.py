"""Writes the kernels that multiply packed panels; `products.panels` decides which, `products.panel` says how they lie.

A work-item has some tiles by some panels of the result. It goes along the inner axis slice by slice, so that the chunks
of its tiles and panels stay in its cache while each of them meets all of the others. For each pair it has the register
block in variables, to which it adds one product after the other by fused multiply-adds, in ascending order. Between two
slices the sums are in local memory, of which a work-item, alone in its group, has as much as its core's cache.

A right matrix whose columns lie next to each other may be read where it lies. Where its rows begin, of which a slice
has some, is computed once for a slice. The last panel begins so early that it ends with the matrix; of what it has in
common with the one before, nothing is stored.

What else is computed of each element of the product is computed of a block that has been laid in local memory, vector
by vector, so that the code of it is there once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import U64, DType, with_lanes
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.form import Access, Spec, Term, dtype_of_product
from ocl_runtime.plan.kernels.naming import formulas, kernel_name
from ocl_runtime.plan.kernels.products.panel import Panel
from ocl_runtime.plan.kernels.products.stage import Digits

_Block: TypeAlias = Sequence[Sequence[Ref]]
"""Variables for each row of a register block, one for each of its vectors."""


@dataclass(frozen=True, slots=True)
class PanelForm:
    """The key of the kernel.

    `left` and `right` are packed: their axes are the `batch` in front, slices, tiles or panels, and the elements of a
    chunk. If there are `lines`, the inner axes of the right matrix, it is read where it lies: its axes are the batch,
    these, and its columns. `values` are what is computed of the product, the first of them, in vectors of `lanes`; axes
    of leaves and of the outputs are the parts of the inner axis, the ones in front, and the product's own two.
    """

    left: Access
    right: Access
    values: tuple[Term, ...]
    outputs: tuple[tuple[int, Access], ...]
    lanes: int
    specs: tuple[Spec, ...]
    batch: int
    panel: Panel
    accumulator: DType
    index: DType
    fp16: bool
    lines: Digits | None = None


def build(form: PanelForm) -> Kernel:
    """The kernel of a form."""
    return _Builder(form).build()


class _Builder:
    def __init__(self, form: PanelForm) -> None:
        panel = form.panel
        stored = {access.name: value for value, access in form.outputs}
        note = formulas(form.values, stored).replace("product", f"{form.left.name} @ {form.right.name}")
        dtypes = ", ".join(dict.fromkeys(str(access.dtype) for _, access in form.outputs))
        note += f"    {dtypes}, in {form.accumulator}, {panel.rows} x {panel.columns} elements in registers, "
        note += f"slices of {panel.depth}"
        self._form = form
        self._k = KernelBuilder(kernel_name(form.values), group_size=(1, 1, 1), note=note)
        self._body = Body.start(self._k, form.specs, form.index, form.fp16)
        self._sizes = self._body.params
        align = form.accumulator.size * panel.lanes
        self._sums = self._k.array(form.accumulator, panel.slots * panel.block, align=align, hint="sums")
        self._lines = None if form.lines is None else self._k.array(form.index, panel.depth, hint="lines")

    def build(self) -> Kernel:
        k, form, body, sizes = self._k, self._form, self._body, self._sizes
        group = k.item("group_id", 0, "group", form.index)
        # Groups that follow each other have the same panels, so that these stay in the shared cache.
        down, group = k.op("urem", group, sizes["blocks_down"]), k.op("udiv", group, sizes["blocks_down"])
        across, group = k.op("urem", group, sizes["blocks_across"]), k.op("udiv", group, sizes["blocks_across"])
        axes = [*range(form.batch - 1, -1, -1), form.batch]  # the parts are counted last
        lengths = {axis: sizes[f"n{axis}"] for axis in range(form.batch)}
        where = body.coordinates(group, axes, lengths)
        part = where.pop(form.batch)
        tile = k.let(down * sizes["tiles_each"], "tile_begin")
        tile_end = k.op("minimum", tile + sizes["tiles_each"], sizes["tiles"], hint="tile_end")
        panel = k.let(across * sizes["panels_each"], "panel_begin")
        panel_end = k.op("minimum", panel + sizes["panels_each"], sizes["panels"], hint="panel_end")
        begin = k.let(part * sizes["slices_each"], "begin")
        end = k.op("minimum", begin + sizes["slices_each"], sizes["slices"], hint="end")
        front = {0: part} | {axis + 1: coordinate for axis, coordinate in where.items()}
        with k.for_(begin, end, dtype=form.index, hint="slice") as slice_:
            count = k.op("minimum", sizes["k"] - slice_ * form.panel.depth, form.panel.depth)
            count = k.convert(count, U64, hint="count")
            goes_on = k.op("ne", slice_, begin, hint="goes_on")
            is_last = k.op("eq", slice_ + 1, end, hint="is_last")
            self._locate_lines(where, slice_, count)
            with k.for_(panel, panel_end, dtype=form.index, hint="panel") as across:
                column = k.let(across * form.panel.columns, "column")
                behind = k.const(0, U64)
                if self._lines is None:
                    right = self._chunk(form.right, where, slice_, across)
                else:
                    first = k.op("minimum", column, sizes["n"] - form.panel.columns, hint="first")
                    right = k.convert(first, U64, hint=f"{form.right.name}_at")
                    behind = k.convert(column - first, U64)
                with k.for_(tile, tile_end, dtype=form.index, hint="tile") as down:
                    left = self._chunk(form.left, where, slice_, down)
                    slot = (across - panel) * sizes["tiles_each"] + (down - tile)
                    slot = k.convert(slot * form.panel.block, U64, hint="slot")
                    block = self._started(goes_on, slot)
                    self._multiply(left, right, count, block)
                    self._finish(front, down * form.panel.rows, column, behind, is_last, slot, block)
        return k.build()

    def _chunk(self, access: Access, where: Mapping[int, Ref], slice_: Ref, number: Ref) -> Ref:
        """Where a chunk begins. Constants are added to a number as wide as an address, so that loads do that."""
        k, form = self._k, self._form
        coordinates = {**where, form.batch: slice_, form.batch + 1: number}
        offset = self._body.offset(access, coordinates, form.batch + 2)
        assert offset is not None
        return k.convert(offset * (form.panel.lanes if access.wide else 1), U64, hint=f"{access.name}_at")

    def _locate_lines(self, where: Mapping[int, Ref], slice_: Ref, count: Ref) -> None:
        """Where the rows of a slice of the right matrix begin, if it is read where it lies."""
        k, form, body = self._k, self._form, self._body
        if self._lines is None or form.lines is None:
            return
        with k.for_(0, k.convert(count, form.index), dtype=form.index, hint="line") as line:
            digits = form.lines.split(slice_ * form.panel.depth + line, body)
            offset = body.offset(form.right, {**where, **digits}, form.lines.axes[-1] + 1)
            k.store(self._lines, line, body.const(0) if offset is None else offset)

    # ------------------------------------------------------------------ the product

    def _started(self, goes_on: Ref, slot: Ref) -> _Block:
        """The register block: zeros in front of the first slice, what the last one left in front of another."""
        k, form, panel = self._k, self._form, self._form.panel
        zero = k.const(0.0 if form.accumulator.is_inexact else 0, with_lanes(form.accumulator, panel.lanes))
        block = [
            [k.variable(zero, hint=f"acc_{row}_{vector}") for vector in range(panel.vectors)]
            for row in range(panel.rows)
        ]
        with k.if_(goes_on):
            for row, sums in enumerate(block):
                for vector, sum_ in enumerate(sums):
                    at = slot + (row * panel.columns + vector * panel.lanes)
                    k.assign(sum_, k.load(self._sums, at, count=panel.lanes, align=self._align))
        return block

    def _multiply(self, left: Ref, right: Ref, count: Ref, block: _Block) -> None:
        k, form, panel = self._k, self._form, self._form.panel
        a, b = self._sizes[form.left.name], self._sizes[form.right.name]
        with k.for_(0, count, dtype=U64, hint="i") as i:
            line = right + (i * panel.columns if self._lines is None else k.convert(k.load(self._lines, i), U64))
            factors = [self._factors(b, line + vector * panel.lanes) for vector in range(panel.vectors)]
            element = left + i
            for row, sums in enumerate(block):
                factor = self._body.spread(k.load(a, element + row * panel.depth), panel.lanes)
                for sum_, other in zip(sums, factors, strict=True):
                    k.assign(sum_, self._added(factor, other, sum_))

    def _factors(self, right: Ref, start: Ref) -> Ref:
        """Neighbours of a line of the right matrix."""
        k, form = self._k, self._form
        if self._lines is None:
            return k.load(right, start, count=form.panel.lanes, align=self._align)
        return k.convert(self._body.read(form.right, start, form.panel.lanes), form.accumulator)

    def _added(self, left: Ref, right: Ref, sum_: Ref) -> Ref:
        fused = self._form.accumulator.is_inexact
        return self._k.op("fma", left, right, sum_) if fused else left * right + sum_

    # ------------------------------------------------------------------ results

    def _finish(
        self, front: Mapping[int, Ref], row: Ref, column: Ref, behind: Ref, is_last: Ref, slot: Ref, block: _Block
    ) -> None:
        """Stores the results from `column` on, which is so many `behind` the first one of the block, or leaves the sums
        for the next slice. A block that reaches beyond the matrix, or of which more is computed, is laid down in local
        memory before."""
        k, panel, sizes = self._k, self._form.panel, self._sizes
        is_whole = (row + panel.rows <= sizes["m"]) & (column + panel.columns <= sizes["n"])
        if len(self._form.values) == 1 and self._form.lanes > 1:
            with k.if_(is_last & is_whole):
                for step, sums in enumerate(block):
                    for vector, sum_ in enumerate(sums):
                        self._result(front, row + step, column + vector * panel.lanes, sum_, panel.lanes)
            with k.else_():
                self._lay_down(slot, block)
                with k.if_(is_last):
                    self._edge(front, row, column, slot + behind)
            return
        self._lay_down(slot, block)
        with k.if_(is_last):
            if self._form.lanes == 1:
                self._edge(front, row, column, slot + behind)
                return
            with k.if_(is_whole):
                rows_of = k.for_(0, panel.rows, dtype=self._form.index, hint="down")
                vectors_of = k.for_(0, panel.columns, panel.lanes, dtype=self._form.index, hint="across")
                with rows_of as down, vectors_of as across:
                    at = slot + k.convert(down * panel.columns + across, U64)
                    sums_ = k.load(self._sums, at, count=panel.lanes, align=self._align)
                    self._result(front, row + down, column + across, sums_, panel.lanes)
            with k.else_():
                self._edge(front, row, column, slot + behind)

    def _lay_down(self, slot: Ref, block: _Block) -> None:
        k, panel = self._k, self._form.panel
        for step, sums in enumerate(block):
            for vector, sum_ in enumerate(sums):
                k.store(self._sums, slot + (step * panel.columns + vector * panel.lanes), sum_, align=self._align)

    def _edge(self, front: Mapping[int, Ref], row: Ref, column: Ref, slot: Ref) -> None:
        """Stores the results of a block that exist one by one."""
        k, form, panel, sizes = self._k, self._form, self._form.panel, self._sizes
        rows = k.op("minimum", sizes["m"] - row, panel.rows)
        columns = k.op("minimum", sizes["n"] - column, panel.columns)
        rows_of = k.for_(0, rows, dtype=form.index, hint="down")
        columns_of = k.for_(0, columns, dtype=form.index, hint="across")
        with rows_of as down, columns_of as across:
            at = slot + k.convert(down * panel.columns + across, U64)
            self._result(front, row + down, column + across, k.load(self._sums, at), 1)

    def _result(self, front: Mapping[int, Ref], row: Ref, column: Ref, product: Ref, lanes: int) -> None:
        """Stores neighbouring results of a row. Everything that becomes of a product goes through here."""
        k, form, body, lane = self._k, self._form, self._body, self._form.batch + 2
        coordinates, dtype = {**front, form.batch + 1: row}, dtype_of_product(form.values)
        read = partial(body.neighbours, coordinates=coordinates, along=column, lane=lane, count=lanes)
        known = {0: body.rounded(body.converted(product, dtype), dtype)}
        values = body.evaluate(form.values, [value for value, _ in form.outputs], read, known)
        for value, access in form.outputs:
            at = body.element(access, body.offset(access, coordinates, lane), column, 1, lane)
            k.store(body.params[access.name], at, body.spread(values[value], lanes), align=access.dtype.size)

    @property
    def _align(self) -> int:
        return self._form.accumulator.size * self._form.panel.lanes
