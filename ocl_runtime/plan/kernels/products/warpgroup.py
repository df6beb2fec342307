"""Products by instructions of warpgroups, which read both operands from local memory while the work-items go on.

Local memory has several steps of the operands, in rows of 128 bytes whose units of 16 bytes are exchanged by an
exclusive or with the row's number. Work-items begin the copies of a step some turns before they begin its product, and
the product of one step is still at work when that of the next one begins: so a step's memory is free again two turns
later.
"""

from __future__ import annotations

from collections.abc import Mapping

from ocl_ir.kernel.asynchronous import ROW_BYTES, ROWS, WARPGROUP, Swizzled
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import F32, U32
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.products.stage import Operand
from ocl_runtime.plan.kernels.products.tile import UNIT_BYTES, WarpgroupTile

_ROW_WORDS = ROW_BYTES // 4
_UNIT_WORDS = UNIT_BYTES // 4
_UNITS = ROW_BYTES // UNIT_BYTES
"""Units of a row."""


class Copied:
    """An operand's part of the steps, `length` elements along its own axis, from word `start` of each step on."""

    def __init__(self, body: Body, operand: Operand, local: Ref, tile: WarpgroupTile, start: int, length: int) -> None:
        self._body, self._k, self._operand, self._local = body, body.k, operand, local
        self._tile, self._start, self._length = tile, start, length
        block = 0 if operand.turned else tile.inner * ROW_BYTES
        self.lies = Swizzled(operand.turned, block)
        self._places: list[Ref] = []
        """Along the inner axis, for each unit of this work-item."""
        self._sources: list[Ref | None] = []
        self._targets: list[Ref] = []
        self._where: Mapping[int, Ref] = {}

    def locate(self, item: Ref, first: Ref, size: Ref, where: Mapping[int, Ref]) -> None:
        """Computes what no step changes, for a part that begins at `first` of an operand that is `size` long. Beyond
        its end the last elements are read again; nobody looks at what is made of them."""
        k, body, operand = self._k, self._body, self._operand
        name, wide = operand.access.name, operand.wide
        in_row = self._tile.inner // wide if operand.turned else self._length // wide
        self._where = where
        for first_unit in range(0, self._length * self._tile.inner // wide, self._tile.items):
            unit = item + first_unit if first_unit else item
            along, across = k.op("urem", unit, body.const(in_row)), k.op("udiv", unit, body.const(in_row))
            inner, own = (along * wide, across) if operand.turned else (across, along * wide)
            self._places.append(k.let(inner, f"{name}_k"))
            at = k.op("minimum", first + own, size - (1 if operand.turned else wide))
            if operand.turned:
                self._sources.append(body.offset(operand.access, {**where, operand.axis: at}, operand.inner))
            else:
                self._sources.append(k.op("udiv", at, body.const(wide)))
            column = along & (_UNITS - 1)
            swizzled = (column ^ (across & (_UNITS - 1))) * _UNIT_WORDS
            target = across * _ROW_WORDS + swizzled + self._start
            if not operand.turned:
                target = target + k.op("udiv", along, body.const(_UNITS)) * (self._tile.inner * _ROW_WORDS)
            self._targets.append(k.let(target, f"{name}_to"))

    def copy(self, step_begin: Ref, limit: Ref, buffer: Ref) -> None:
        """Begins to copy a step, of which `limit` places of the inner axis are inside."""
        k, body, operand, access = self._k, self._body, self._operand, self._operand.access
        wide = operand.wide
        for inner, source, target in zip(self._places, self._sources, self._targets, strict=True):
            place = step_begin + inner
            if operand.turned:
                offset, along, lane = source, k.op("udiv", place, body.const(wide)), operand.inner
            else:
                assert source is not None
                offset, along, lane = body.offset(access, {**self._where, operand.inner: place}, operand.axis), source, operand.axis
            index = body.vector_start(access, offset, along, _UNIT_WORDS, lane)
            k.copy_async(self._local, buffer + target, body.params[access.name], index, inner < limit)

    def begin(self, buffer: Ref, own: Ref) -> Ref:
        """The word where a warpgroup's part begins, `own` elements along the operand's own axis."""
        return self._k.convert(buffer + own * _ROW_WORDS + self._start, U32)


class WarpgroupPipeline:
    """The steps of a product, and the sums of a work-item."""

    def __init__(self, body: Body, tile: WarpgroupTile, left: Copied, right: Copied, local: Ref, item: Ref) -> None:
        k = body.k
        self._body, self._k, self._tile, self._left, self._right, self._local = body, k, tile, left, right, local
        group = k.op("udiv", item, body.const(WARPGROUP))
        self._down = k.let(k.op("udiv", group, body.const(tile.warps[1])), "down")
        self._across = k.let(k.op("urem", group, body.const(tile.warps[1])), "across")
        self._item = item
        self._sums = k.array(F32, tile.width // 2, space="private", hint="sums")
        with k.for_(0, tile.width // 2, hint="i", unroll=tile.width // 2) as i:
            k.store(self._sums, i, 0.0)

    def go_along(self, begin: Ref, count: Ref) -> None:
        """Adds up the products of `count` places of the inner axis."""
        k, body, tile = self._k, self._body, self._tile
        inner, ahead = tile.inner, tile.stages - 2
        steps = k.op("udiv", count + (inner - 1), body.const(inner), hint="steps")
        missing = k.let(steps * inner - count, "missing")
        for step in range(ahead):
            with k.if_(body.const(step) < steps):
                self._copy(body.const(step), begin, missing)
            k.commit()
        with k.for_(0, steps, dtype=begin.type, hint="step") as step:
            k.await_("copies", ahead - 1)
            k.barrier()
            later = k.let(step + ahead, "later")
            with k.if_(later < steps):
                self._copy(later, begin, missing)
            k.commit()
            self._multiply(self._buffer(step))
            k.await_("products", 1)
        k.await_("products")
        k.barrier()

    def _copy(self, step: Ref, begin: Ref, missing: Ref) -> None:
        """The first step is the one that may be shorter."""
        k, inner = self._k, self._tile.inner
        is_first = k.op("eq", step, 0)
        step_begin = k.op("select", is_first, begin, begin + step * inner - missing, hint="step_begin")
        limit = k.op("select", is_first, self._body.const(inner) - missing, self._body.const(inner), hint="limit")
        for operand in (self._left, self._right):
            operand.copy(step_begin, limit, self._buffer(step))

    def _buffer(self, step: Ref) -> Ref:
        """The word where the memory of a step begins."""
        return self._k.op("urem", step, self._body.const(self._tile.stages)) * sum(self._tile.stage_lengths)

    def _multiply(self, buffer: Ref) -> None:
        tile = self._tile
        left = self._left.begin(buffer, self._down * ROWS)
        right = self._right.begin(buffer, self._across * tile.width)
        steps = tile.inner // 16
        self._k.warpgroup_multiply(
            self._sums, tile.dtype, tile.width, self._local, (left, self._left.lies), (right, self._right.lies), steps
        )

    def store_band(self, band: int, local: Ref) -> None:
        """Stores the sums in local memory, which nothing else needs any more."""
        assert band == 0
        k, tile = self._k, self._tile
        warp, group, thread = (self._item >> 5) & 3, (self._item >> 2) & 7, self._item & 3
        row = self._down * ROWS + warp * 16 + group
        at = k.let(row * tile.row_length + self._across * tile.width + thread * 2, "sums_at")
        with k.for_(0, tile.width // 8, dtype=self._item.type, hint="fragment", unroll=tile.width // 8) as fragment:
            for lower in range(2):
                pair = [k.load(self._sums, fragment * 4 + (2 * lower + step)) for step in range(2)]
                place = at + lower * 8 * tile.row_length + fragment * 8
                k.store(local, place, k.bitcast(k.op("vector", *pair), U32), align=8)
