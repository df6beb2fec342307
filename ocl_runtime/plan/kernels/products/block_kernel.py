"""Writes the kernels that multiply matrices; `products.blocks` decides which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import DType, with_lanes
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.form import Access, Spec

_UNROLL = 4


@dataclass(frozen=True, slots=True)
class BlockForm:
    """The key of the kernel.

    A work-item has `rows` rows by `vectors` vectors of `lanes` columns; the `items` of a group lie `across` to a row.
    The axes of the matrices are the `batch` in front, and their own two; the result has one for the parts before these.
    """

    left: Access
    right: Access
    result: Access
    specs: tuple[Spec, ...]
    batch: int
    lanes: int
    vectors: int
    rows: int
    across: int
    items: int
    accumulator: DType
    index: DType
    fp16: bool


def build(form: BlockForm) -> Kernel:
    """The kernel of a form."""
    return _Builder(form).build()


class _Builder:
    def __init__(self, form: BlockForm) -> None:
        columns = form.lanes * form.vectors
        note = f"y = {form.left.name} @ {form.right.name}    {form.result.dtype}, in {form.accumulator}, "
        note += f"{form.rows} x {columns} elements a work-item"
        self._form = form
        self._k = KernelBuilder("contract", group_size=(form.items, 1, 1), note=note)
        self._body = Body.start(self._k, form.specs, form.index, form.fp16)
        self._sizes = self._body.params

    def build(self) -> Kernel:
        k, form, body, sizes = self._k, self._form, self._body, self._sizes
        group, local = k.item("group_id", 0, "group", form.index), k.item("local_id", 0, "l", form.index)
        across, along = body.const(form.across), body.const(form.items // form.across)
        # Groups that follow each other have the same columns, so that these stay in the cache.
        tile, group = k.op("urem", group, sizes["rows"]), k.op("udiv", group, sizes["rows"])
        row = k.let((tile * along + k.op("udiv", local, across)) * form.rows, "row")
        tile, group = k.op("urem", group, sizes["columns"]), k.op("udiv", group, sizes["columns"])
        column = tile * across + k.op("urem", local, across)
        axes = [*range(form.batch - 1, -1, -1), form.batch]  # the parts are counted last
        lengths = {axis: sizes[f"n{axis}"] for axis in range(form.batch)}
        where = body.coordinates(group, axes, lengths)
        part = where.pop(form.batch)
        first = k.let(column * (form.lanes * form.vectors), "column")
        with k.if_((row < sizes["m"]) & (first < sizes["n"])):
            if form.lanes * form.vectors == 1:
                self._block(where, part, row, first, 1)
            else:
                with k.if_(first + (form.lanes * form.vectors - 1) < sizes["n"]):
                    self._block(where, part, row, column * form.vectors, form.lanes)
                with k.else_(), k.for_(first, sizes["n"], dtype=form.index) as j:
                    self._block(where, part, row, j, 1)
        return k.build()

    def _block(self, where: dict[int, Ref], part: Ref, row: Ref, column: Ref, lanes: int) -> None:
        """Some rows by vectors of `lanes` columns from number `column` on, for the k of a part."""
        k, form, sizes = self._k, self._form, self._sizes
        rows = [k.op("minimum", row + step, sizes["m"] - 1) for step in range(form.rows)]
        vectors = [column + step if step else column for step in range(form.vectors if lanes > 1 else 1)]
        zero = k.const(0.0 if form.accumulator.is_float else 0, with_lanes(form.accumulator, lanes))
        block = [[k.variable(zero, hint="acc") for _ in vectors] for _ in rows]
        begin = k.let(part * sizes["per"], "begin")
        end = k.op("minimum", begin + sizes["per"], sizes["k"], hint="end")
        with k.for_(begin, end, dtype=form.index, hint="i", unroll=_UNROLL) as i:
            right = [self._right(where, i, number, lanes) for number in vectors]
            for row_index, sums in zip(rows, block, strict=True):
                left = self._body.spread(self._left(where, row_index, i), lanes)
                for sum_, factor in zip(sums, right, strict=True):
                    k.assign(sum_, self._added(left, factor, sum_))
        self._store(where, part, row, vectors, lanes, block)

    def _added(self, left: Ref, right: Ref, sum_: Ref) -> Ref:
        fused = self._form.accumulator.is_inexact
        return self._k.op("fma", left, right, sum_) if fused else left * right + sum_

    def _left(self, where: dict[int, Ref], row: Ref, i: Ref) -> Ref:
        form, body = self._form, self._body
        offset = body.offset(form.left, where | {form.batch: row, form.batch + 1: i})
        assert offset is not None
        return self._k.convert(body.read(form.left, offset), form.accumulator)

    def _right(self, where: dict[int, Ref], i: Ref, number: Ref, lanes: int) -> Ref:
        form, body = self._form, self._body
        value = body.read(form.right, self._start(form.right, where | {form.batch: i}, number, lanes), lanes)
        return self._k.convert(value, form.accumulator)

    def _start(self, access: Access, where: dict[int, Ref], number: Ref, lanes: int) -> Ref:
        """Where a vector of neighbouring columns begins, or the only column."""
        form, body, lane = self._form, self._body, len(access.strides) - 1
        if form.lanes == 1:
            offset = body.offset(access, where | {lane: number})
            assert offset is not None
            return offset
        offset = body.offset(access, where, lane)
        if lanes == 1:
            return body.element(access, offset, number, form.lanes, lane)
        return body.vector_start(access, offset, number, lanes, lane)

    def _store(
        self,
        where: dict[int, Ref],
        part: Ref,
        row: Ref,
        vectors: Sequence[Ref],
        lanes: int,
        block: Sequence[Sequence[Ref]],
    ) -> None:
        """The rows that exist."""
        k, form = self._k, self._form
        result = form.result
        align = result.dtype.size * (lanes if result.wide else 1)
        front = {0: part} | {axis + 1: coordinate for axis, coordinate in where.items()}
        for step, sums in enumerate(block):
            with k.if_(row + step < self._sizes["m"]):
                for number, sum_ in zip(vectors, sums, strict=True):
                    start = self._start(result, front | {form.batch + 1: row + step}, number, lanes)
                    stored = sum_ if result.dtype.is_float else k.convert(sum_, result.dtype)
                    k.store(self._sizes[result.name], start, stored, align=align)
