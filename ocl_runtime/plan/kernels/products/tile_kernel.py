"""Writes the kernels in which a work-group multiplies a tile of matrices; `products.tiles` decides which.

The group goes along the inner axis in steps. While it multiplies what is in one half of its local memory, the next step
is on its way from global memory to registers, from which it is stored in the other half; one barrier a step is enough.
Each work-item adds up its fragments in registers, by fused multiply-adds, in ascending order. In the end results go
through local memory once more, band by band, so that work-items store vectors of whole rows, and compute whatever else
is made of the product with operands that are read likewise.

The first step is the one that may be shorter: so none of the others needs to look.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import DType, with_lanes
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.form import Access, Spec, Term
from ocl_runtime.plan.kernels.products.stage import Operand, Stage
from ocl_runtime.plan.kernels.products.tile import ACROSS, WARP, Tile


@dataclass(frozen=True, slots=True)
class TileForm:
    """The key of the kernel.

    The index space has `batch` axes in front of rows and columns, that of the results one for the parts of the inner
    axis before these. `values` are what is computed of the product, which is the first of them; results are stored in
    vectors of `lanes`.
    """

    left: Operand
    right: Operand
    values: tuple[Term, ...]
    outputs: tuple[tuple[int, Access], ...]
    specs: tuple[Spec, ...]
    batch: int
    tile: Tile
    lanes: int
    accumulator: DType
    index: DType
    fp16: bool


def build(form: TileForm) -> Kernel:
    """The kernel of a form."""
    return _Builder(form).build()


class _Builder:
    def __init__(self, form: TileForm) -> None:
        tile = form.tile
        names = f"{form.left.access.name} @ {form.right.access.name}"
        dtype = form.outputs[0][1].dtype
        note = f"y = {names}    {dtype}, in {form.accumulator}, tiles of {tile.rows} x {tile.columns} x {tile.inner}"
        self._form = form
        self._k = KernelBuilder("contract", group_size=(tile.items, 1, 1), note=note)
        self._body = Body.start(self._k, form.specs, form.index, form.fp16)
        self._sizes = self._body.params

    def build(self) -> Kernel:
        k, form, body, sizes, tile = self._k, self._form, self._body, self._sizes, self._form.tile
        group, item = k.item("group_id", 0, "group", form.index), k.item("local_id", 0, "item", form.index)
        # Groups that follow each other have the same columns, so that these stay in the cache.
        down, group = k.op("urem", group, sizes["tiles_down"]), k.op("udiv", group, sizes["tiles_down"])
        across, group = k.op("urem", group, sizes["tiles_across"]), k.op("udiv", group, sizes["tiles_across"])
        axes = [*range(form.batch - 1, -1, -1), form.batch]  # the parts are counted last
        lengths = {axis: sizes[f"n{axis}"] for axis in range(form.batch)}
        where = body.coordinates(group, axes, lengths)
        part = where.pop(form.batch)
        row, column = k.let(down * tile.rows, "row"), k.let(across * tile.columns, "column")
        begin = k.let(part * sizes["per"], "begin")
        count = k.op("minimum", sizes["k"] - begin, sizes["per"], hint="count")
        steps = k.op("udiv", count + (tile.inner - 1), body.const(tile.inner), hint="steps")
        ragged = k.let(count - (steps - 1) * tile.inner, "ragged")

        local = k.array(form.accumulator, tile.local_length, align=form.accumulator.size * tile.pad, hint="stage")
        left = self._stage(form.left, local, 0, tile.rows)
        right = self._stage(form.right, local, tile.inner * (tile.rows + tile.pad), tile.columns)
        left.locate(item, row, sizes["m"], where)
        right.locate(item, column, sizes["n"], where)
        left.fetch(begin, ragged)
        right.fetch(begin, ragged)
        left.deposit(0)
        right.deposit(0)
        k.barrier()
        own_row, own_column = self._own_fragment(item)
        sums = self._sums()
        with k.for_(0, steps, dtype=form.index, hint="step") as step:
            more = step + 1 < steps
            with k.if_(more):
                next_begin = k.let(begin + ragged + step * tile.inner, "next")
                left.fetch(next_begin)
                right.fetch(next_begin)
            self._multiply(left, right, step & 1, own_row, own_column, sums)
            with k.if_(more):
                other = (step + 1) & 1
                left.deposit(other)
                right.deposit(other)
            k.barrier()
        self._results(
            local,
            item,
            own_row,
            own_column,
            sums,
            {axis + 1: at for axis, at in where.items()} | {0: part},
            row,
            column,
        )
        return k.build()

    def _stage(self, operand: Operand, local: Ref, start: int, length: int) -> Stage:
        tile = self._form.tile
        return Stage(
            self._body,
            operand,
            local,
            start=start,
            step_length=tile.stage_length,
            length=length,
            inner=tile.inner,
            pad=tile.pad,
            items=tile.items,
            dtype=self._form.accumulator,
        )

    # ------------------------------------------------------------------ the product

    def _own_fragment(self, item: Ref) -> tuple[Ref, Ref]:
        """Where the first fragment of a work-item lies in the tile. Neighbours go down and across in turns, so that
        eight of them, which a GPU serves at once, read few different vectors."""
        k, tile = self._k, self._form.tile
        warp, lane = item >> 5, item & (WARP - 1)
        down = (lane >> 4) * 2 + (lane & 1)
        across = (lane >> 1) & (ACROSS - 1)
        warp_down = k.op("udiv", warp, self._body.const(tile.warps[1]))
        warp_across = k.op("urem", warp, self._body.const(tile.warps[1]))
        row = warp_down * (tile.rows // tile.warps[0]) + down * tile.lanes
        column = warp_across * (tile.columns // tile.warps[1]) + across * tile.lanes
        return k.let(row, "own_row"), k.let(column, "own_column")

    def _sums(self) -> list[list[Ref]]:
        """Variables for each row of a work-item, with a vector for each of its fragments across."""
        form, tile = self._form, self._form.tile
        zero = self._k.const(0.0 if form.accumulator.is_inexact else 0, with_lanes(form.accumulator, tile.lanes))
        rows = tile.fragments[0] * tile.lanes
        return [
            [self._k.variable(zero, hint=f"acc_{row}_{fragment}") for fragment in range(tile.fragments[1])]
            for row in range(rows)
        ]

    def _multiply(self, left: Stage, right: Stage, half: Ref, row: Ref, column: Ref, sums: list[list[Ref]]) -> None:
        k, form, tile = self._k, self._form, self._form.tile
        with k.for_(0, tile.inner, dtype=form.index, hint="i", unroll=tile.inner) as i:
            rows = [left.read(half, i, row + number * tile.band, tile.lanes) for number in range(tile.fragments[0])]
            columns = [
                right.read(half, i, column + number * ACROSS * tile.lanes, tile.lanes)
                for number in range(tile.fragments[1])
            ]
            for number, own in enumerate(sums):
                vector, lane = rows[number // tile.lanes], number % tile.lanes
                factor = vector if tile.lanes == 1 else k.splat(k.op("extract", vector, lane), tile.lanes)
                for sum_, other in zip(own, columns, strict=True):
                    k.assign(sum_, self._added(factor, other, sum_))

    def _added(self, left: Ref, right: Ref, sum_: Ref) -> Ref:
        fused = self._form.accumulator.is_inexact
        return self._k.op("fma", left, right, sum_) if fused else left * right + sum_

    # ------------------------------------------------------------------ results

    def _results(
        self,
        local: Ref,
        item: Ref,
        own_row: Ref,
        own_column: Ref,
        sums: list[list[Ref]],
        front: Mapping[int, Ref],
        row: Ref,
        column: Ref,
    ) -> None:
        """Stores what is computed of the product, one band of all warps after the other."""
        k, form, body, tile, sizes = self._k, self._form, self._body, self._form.tile, self._sizes
        row_length = tile.columns + tile.pad
        in_row = tile.columns // form.lanes
        warp_rows = tile.rows // tile.warps[0]
        band_row = k.let(
            k.op("udiv", own_row, body.const(warp_rows)) * tile.band + k.op("urem", own_row, body.const(tile.band)),
            "band_row",
        )
        with k.for_(0, tile.fragments[0], dtype=form.index, hint="band") as band:
            for number in range(tile.fragments[0]):
                with k.if_(k.op("eq", band, number)):
                    for step in range(tile.lanes):
                        at = (band_row + step) * row_length + own_column
                        for fragment, sum_ in enumerate(sums[number * tile.lanes + step]):
                            k.store(
                                local,
                                at + fragment * ACROSS * tile.lanes,
                                sum_,
                                align=form.accumulator.size * tile.lanes,
                            )
            k.barrier()
            units = tile.warps[0] * tile.band * in_row
            with k.for_(item, units, tile.items, dtype=form.index, hint="unit") as unit:
                below, along = k.op("udiv", unit, body.const(in_row)), k.op("urem", unit, body.const(in_row))
                value = k.load(
                    local,
                    below * row_length + along * form.lanes,
                    count=form.lanes,
                    align=form.accumulator.size * form.lanes,
                )
                warp_row = k.op("udiv", below, body.const(tile.band)) * warp_rows
                result_row = row + warp_row + band * tile.band + k.op("urem", below, body.const(tile.band))
                result_column = column + along * form.lanes
                with k.if_((result_row < sizes["m"]) & (result_column < sizes["n"])):
                    self._result({**front, form.batch + 1: result_row}, result_column, value)
            k.barrier()

    def _result(self, where: dict[int, Ref], column: Ref, product: Ref) -> None:
        """Stores a vector of results."""
        k, form, body, lane = self._k, self._form, self._body, self._form.batch + 2
        number = k.op("udiv", column, body.const(form.lanes)) if form.lanes > 1 else column

        def leaf(access: Access) -> Ref:
            if access.kind == "scalar":
                return body.spread(body.read(access, body.const(0)), form.lanes)
            return body.spread(body.read(access, self._start(access, where, number), self._count(access)), form.lanes)

        known = {0: body.rounded(body.converted(product, form.values[0].dtype), form.values[0].dtype)}
        values = body.evaluate(form.values, [value for value, _ in form.outputs], leaf, known)
        for value, access in form.outputs:
            align = access.dtype.size * (form.lanes if access.wide else 1)
            k.store(
                body.params[access.name],
                self._start(access, where, number),
                body.spread(values[value], form.lanes),
                align=align,
            )

    def _count(self, access: Access) -> int:
        return 1 if access.strides[-1] == "none" else self._form.lanes

    def _start(self, access: Access, where: dict[int, Ref], number: Ref) -> Ref:
        body, lane = self._body, self._form.batch + 2
        if self._form.lanes == 1:
            offset = body.offset(access, {**where, lane: number})
            return body.const(0) if offset is None else offset
        return body.vector_start(access, body.offset(access, where, lane), number, self._form.lanes, lane)
