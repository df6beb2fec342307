"""Writes the kernels in which a work-group multiplies a tile of matrices; `products.tiles` decides which.

The group goes along the inner axis in steps (`pipeline.py`). In the end results go through local memory
once more, band by band, so that work-items store vectors of whole rows, and compute whatever else is made of the
product with operands that are read likewise. Warpgroups whose results need little more are not held up by that:
neighbours exchange what they hold until each has whole vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ocl_ir.kernel.asynchronous import ALIGNMENT
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.kernel.work import worth
from ocl_ir.types import TF32, DType
from ocl_runtime.plan.fusion.values import Operation, Value
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.form import Access, Spec, Term, dtype_of_product
from ocl_runtime.plan.kernels.instructions import PACK
from ocl_runtime.plan.kernels.naming import formulas, kernel_name
from ocl_runtime.plan.kernels.products.box_copies import BoxCopies
from ocl_runtime.plan.kernels.products.fma import FmaFragments, FmaStage
from ocl_runtime.plan.kernels.products.held import HeldFragments
from ocl_runtime.plan.kernels.products.matrix import MatrixFragments, MatrixStage
from ocl_runtime.plan.kernels.products.pipeline import (
    Boxes,
    DirectFragments,
    Fragments,
    Tiles,
    WorkTile,
    by_copies,
    through_registers,
)
from ocl_runtime.plan.kernels.products.stage import Operand, Part, Stage
from ocl_runtime.plan.kernels.products.tile import UNIT_BYTES, AnyTile, MatrixTile, Tile, WarpgroupTile
from ocl_runtime.plan.kernels.products.warpgroup import WarpgroupFragments, WarpgroupStage

_MOST_DIRECT = 16
"""Operations behind a product up to which their code for each vector takes less time than a way through local
memory."""


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
    tile: AnyTile
    lanes: int
    packed: bool
    index: DType
    fp16: bool


def is_direct(tile: AnyTile, values: Sequence[Term | Value]) -> bool:
    """Whether sums go from registers to memory, so that no band is in local memory: the code of what is computed of
    them is then there for each vector of a work-item."""
    operations = sum(worth(value.op) for value in values if isinstance(value, Operation))
    may_be = not tile.holds if isinstance(tile, WarpgroupTile) else tile.boxes
    return may_be and operations <= _MOST_DIRECT


def build(form: TileForm) -> Kernel:
    """The kernel of a form."""
    return _Builder(form).build()


class _Builder:
    def __init__(self, form: TileForm) -> None:
        tile = form.tile
        how = "" if isinstance(tile, Tile) else "by matrix instructions, "
        if isinstance(tile, MatrixTile | WarpgroupTile) and tile.dtype is TF32:
            how = f"by matrix instructions of {TF32}, "
        stored = {access.name: value for value, access in form.outputs}
        results = [access.dtype for _, access in form.outputs] if not form.packed else [dtype_of_product(form.values)]
        dtypes = ", ".join(dict.fromkeys(map(str, results)))
        note = formulas(form.values, stored).replace("product", f"{form.left.access.name} @ {form.right.access.name}")
        note += f"    {dtypes}, in {tile.accumulator}, {how}tiles of {tile.rows} x {tile.columns} x {tile.inner}"
        self._form = form
        self._k = KernelBuilder(kernel_name(form.values), group_size=(tile.items, 1, 1), note=note)
        self._body = Body.start(self._k, form.specs, form.index, form.fp16)
        self._sizes = self._body.params

    def build(self) -> Kernel:
        k, form, tile = self._k, self._form, self._form.tile
        group, item = k.item("group_id", 0, "group", form.index), k.item("local_id", 0, "item", form.index)
        length = tile.steps_length if self._is_direct else tile.local_length
        local = k.array(tile.word, length, align=self._alignment, hint="stage")
        if tile.boxes:
            self._one_after_the_other(local, group, item)
            return k.build()
        work = self._work_tile(group)
        stages, fragments = self._sides(local, item, work)
        if tile.room:
            by_copies(self._body, tile.inner, tile.room, stages, fragments, work)
        else:
            through_registers(self._body, tile.inner, stages, fragments, work)
        self._results(local, item, fragments, work)
        return k.build()

    def _one_after_the_other(self, local: Ref, group: Ref, item: Ref) -> None:
        """Goes from tile to tile: while results of one are stored, steps of the next ones come."""
        k, form, body, sizes, tile = self._k, self._form, self._body, self._sizes, self._form.tile
        _, fragments = self._sides(local, item)
        assert isinstance(tile, MatrixTile | WarpgroupTile)
        assert isinstance(fragments, MatrixFragments | WarpgroupFragments)
        left, right = (
            BoxCopies(body, operand, local, part, tile, sizes["maps"])
            for operand, part in zip((form.left, form.right), self._parts, strict=True)
        )
        tiles = Tiles(group, k.item("num_groups", 0, "groups", form.index), sizes["tiles"], self._work_tile)
        boxes = Boxes(body, tile, (left, right), fragments, item, tiles)
        turn = k.variable(body.const(0), hint="turn")
        boxes.begin()
        with k.for_(tiles.first, tiles.end, tiles.apart, dtype=form.index, hint="number") as number:
            work, first = self._work_tile(number), k.let(turn, "first")
            fragments.clear()
            boxes.go_along(work, first)
            k.assign(turn, first + work.steps)
            self._results(local, item, fragments, work)

    def _work_tile(self, group: Ref) -> WorkTile:
        """The tile of a number."""
        k, form, body, sizes, tile = self._k, self._form, self._body, self._sizes, self._form.tile
        down, across, matrices = self._tile_of(group)
        axes = [*range(form.batch - 1, -1, -1), form.batch]  # the parts are counted last
        where = body.coordinates(matrices, axes, {axis: sizes[f"n{axis}"] for axis in range(form.batch)})
        part = where.pop(form.batch)
        row, column = k.let(down * tile.rows, "row"), k.let(across * tile.columns, "column")
        begin = k.let(part * sizes["per"], "begin")
        count = k.op("minimum", sizes["k"] - begin, sizes["per"], hint="count")
        steps = k.op("udiv", count + (tile.inner - 1), body.const(tile.inner), hint="steps")
        matrix = k.op("urem", matrices, sizes["matrices"])
        return WorkTile(row, column, begin, count, steps, matrix, where, part)

    def _tile_of(self, group: Ref) -> tuple[Ref, Ref, Ref]:
        """The tile of a group, by its row and column of tiles, and the number of its matrix. Groups that follow each
        other go down some rows of tiles, then across."""
        k, sizes = self._k, self._sizes
        of_matrix = sizes["tiles_down"] * sizes["tiles_across"]
        number, matrix = k.op("urem", group, of_matrix), k.op("udiv", group, of_matrix)
        of_raster = sizes["raster"] * sizes["tiles_across"]
        above, within = k.op("udiv", number, of_raster) * sizes["raster"], k.op("urem", number, of_raster)
        rows = k.op("minimum", sizes["tiles_down"] - above, sizes["raster"])
        return above + k.op("urem", within, rows), k.op("udiv", within, rows), matrix

    @property
    def _alignment(self) -> int:
        """Bytes that divide the address of local memory."""
        form, tile = self._form, self._form.tile
        if isinstance(tile, WarpgroupTile) or tile.boxes:
            return ALIGNMENT
        return max(2 * UNIT_BYTES, *(tile.word.size * side.wide for side in (form.left, form.right)))

    @property
    def _parts(self) -> tuple[Part, Part]:
        """What a group has of both operands in a step."""
        tile, (left, right) = self._form.tile, self._form.tile.stage_lengths
        return (
            Part(0, left + right, tile.rows, tile.inner, tile.items),
            Part(left, left + right, tile.columns, tile.inner, tile.items),
        )

    def _sides(self, local: Ref, item: Ref, work: WorkTile | None = None) -> tuple[tuple[Stage, Stage], Fragments]:
        """Both operands of a tile, and what a work-item has of it; of one tile only, if work-items bring operands."""
        form, body, tile = self._form, self._body, self._form.tile
        sides = list(zip((form.left, form.right), self._parts, strict=True))
        match tile:
            case Tile():
                a, b = (FmaStage(body, side, local, part, tile) for side, part in sides)
                self._locate((a, b), item, work)
                return (a, b), FmaFragments(body, tile, a, b, item)
            case MatrixTile():
                c, d = (MatrixStage(body, side, local, part, tile, number) for number, (side, part) in enumerate(sides))
                self._locate((c, d), item, work)
                return (c, d), MatrixFragments(body, tile, c, d, item)
            case WarpgroupTile():
                e, f = (WarpgroupStage(body, side, local, part, tile.dtype) for side, part in sides)
                self._locate((e, f), item, work)
                made = HeldFragments if tile.holds else WarpgroupFragments
                return (e, f), made(body, tile, e, f, item)
        raise AssertionError(tile)

    def _locate(self, stages: tuple[Stage, Stage], item: Ref, work: WorkTile | None) -> None:
        if work is not None:
            stages[0].locate(item, work.row, self._sizes["m"], work.where)
            stages[1].locate(item, work.column, self._sizes["n"], work.where)

    # ------------------------------------------------------------------ results

    @property
    def _is_direct(self) -> bool:
        return is_direct(self._form.tile, self._form.values)

    def _results(self, local: Ref, item: Ref, fragments: Fragments, work: WorkTile) -> None:
        """Stores what is computed of the product."""
        if self._is_direct:
            assert isinstance(fragments, MatrixFragments | WarpgroupFragments)
            self._directly(fragments, work)
        else:
            self._in_bands(local, item, fragments, work)

    def _directly(self, fragments: DirectFragments, work: WorkTile) -> None:
        """Stores what work-items have of it in registers."""
        k, form, sizes, const = self._k, self._form, self._sizes, self._body.const
        count, before = k.op("udiv", sizes["n"], const(form.lanes)), k.op("udiv", work.column, const(form.lanes))
        pack = PACK[dtype_of_product(form.values)] if form.packed else None
        for row, number, sums in fragments.vectors(form.lanes, pack):
            result_row, result_number = work.row + row, before + number
            with k.if_((result_row < sizes["m"]) & (result_number < count)):
                if form.packed:
                    ((_, access),) = form.outputs
                    at = self._start(access, self._where(work, result_row), result_number, form.lanes // 2)
                    k.store(sizes[access.name], at, sums, align=UNIT_BYTES)
                else:
                    self._result(work, result_row, result_number, sums)

    def _in_bands(self, local: Ref, item: Ref, fragments: Fragments, work: WorkTile) -> None:
        """Stores one band of all warps after the other."""
        k, form, body, tile, sizes = self._k, self._form, self._body, self._form.tile, self._sizes
        if tile.room and not tile.band_start:
            k.barrier()  # bands are laid over the last steps, which others may still multiply
        in_row, lanes = tile.columns // form.lanes, form.lanes
        with k.for_(0, tile.bands, dtype=form.index, hint="band") as band:
            for each in range(tile.bands):
                with k.if_(k.op("eq", band, each)):
                    fragments.store_band(each, local)
            k.barrier()
            units = tile.patches * tile.band * in_row
            with k.for_(item, units, tile.items, dtype=form.index, hint="unit") as unit:
                below, along = k.op("udiv", unit, body.const(in_row)), k.op("urem", unit, body.const(in_row)) * lanes
                at = below * tile.row_length + along + tile.band_start
                sums = k.load(local, at, count=lanes, align=min(tile.word.size * lanes, 2 * UNIT_BYTES))
                if tile.word is not tile.accumulator:
                    sums = k.bitcast(sums, tile.accumulator)
                warp, within = k.op("udiv", below, body.const(tile.band)), k.op("urem", below, body.const(tile.band))
                result_row = tile.row_of(work.row + warp * (tile.rows // tile.patches), band, within)
                result_column = work.column + along
                with k.if_((result_row < sizes["m"]) & (result_column < sizes["n"])):
                    number = k.op("udiv", result_column, body.const(lanes)) if lanes > 1 else result_column
                    self._result(work, result_row, number, sums)
            k.barrier()

    def _result(self, work: WorkTile, row: Ref, number: Ref, product: Ref) -> None:
        """Stores a vector of results, given by its row and its number in that."""
        k, form, body, lanes = self._k, self._form, self._body, self._form.lanes
        where = self._where(work, row)

        def leaf(access: Access) -> Ref:
            if access.kind == "scalar":
                return body.spread(body.read(access, body.const(0)), lanes)
            count = 1 if access.strides[-1] == "none" else lanes
            return body.spread(body.read(access, self._start(access, where, number, lanes), count), lanes)

        dtype = dtype_of_product(form.values)
        known = {0: body.rounded(body.converted(product, dtype), dtype)}
        values = body.evaluate(form.values, [value for value, _ in form.outputs], leaf, known)
        for value, access in form.outputs:
            align = access.dtype.size * (lanes if access.wide else 1)
            result = body.spread(values[value], lanes)
            k.store(body.params[access.name], self._start(access, where, number, lanes), result, align=align)

    def _where(self, work: WorkTile, row: Ref) -> dict[int, Ref]:
        """The coordinates of a row of results."""
        front = {axis + 1: coordinate for axis, coordinate in work.where.items()} | {0: work.part}
        return {**front, self._form.batch + 1: row}

    def _start(self, access: Access, where: dict[int, Ref], number: Ref, lanes: int) -> Ref:
        """Where a vector of neighbouring columns begins, or the only column."""
        body, lane = self._body, self._form.batch + 2
        if lanes == 1:
            offset = body.offset(access, {**where, lane: number})
            return body.const(0) if offset is None else offset
        return body.vector_start(access, body.offset(access, where, lane), number, lanes, lane)
