"""Writes the kernels that pack what a mask holds for: of each row, the elements that are kept are written one after the
other from a place on; `scatter.py` launches them.

A tile is put together in local memory first, so that neighbours are written together. A team of a GPU numbers the
elements of its tile by a scan (`scan_tile.py`); a work-item of a CPU counts them one by one, without a branch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.language.builtins.registry import BUILTINS
from ocl_ir.language.library import Algorithm
from ocl_ir.types import BOOL, U8, U32, DType, Vector
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.form import Access, Spec, Term
from ocl_runtime.plan.kernels.naming import kernel_name
from ocl_runtime.plan.kernels.scan_tile import scanned_by_team

barrier, group_id, hint, local_array, local_id, private_array, unrolled = (
    BUILTINS[name] for name in ("barrier", "group_id", "hint", "local_array", "local_id", "private_array", "unrolled")
)


@dataclass(frozen=True, slots=True)
class PackForm:
    """The key of such a kernel. `args` are the places of the value, of whether it is kept, and of where the row begins
    in the result. A tile is `stripes` blocks of `each` elements for each work-item of a team, read in vectors of
    `lanes`."""

    values: tuple[Term, ...]
    args: tuple[int, int, int]
    result: Access
    specs: tuple[Spec, ...]
    team: int
    stripes: int
    each: int
    lanes: int
    index: DType
    fp16: bool


class Steps(NamedTuple):
    """What packing is made of; those of the scan of a tile's numbers are among them."""

    begin: Any
    kept: Any
    kept_block: Any
    value: Any
    value_block: Any
    join: Any
    store: Any
    staged: DType
    dtype: DType
    team: int
    teams: int
    stripes: int
    each: int
    turns: int


def pack_by_one(length: Any, steps: Steps) -> None:
    """Packs a row by one work-item."""
    at = steps.begin(0)
    staged = private_array(steps.each, steps.staged)
    for tile in range(0, length, steps.each):
        count = 0
        for r in range(tile, min(tile + steps.each, length)):
            staged[count] = steps.value(r)
            count = count + steps.kept(r)
        for number in range(count):
            steps.store(at + number, staged[number])
        at = at + count


def pack_by_team(length: Any, steps: Steps) -> None:
    """Packs a row by a team."""
    lane = local_id(0)
    at = steps.begin(0)
    own = private_array(steps.stripes * steps.each, np.uint32)
    staged = local_array(steps.team * steps.stripes * steps.each, steps.staged)
    for tile in range(0, length, steps.team * steps.stripes * steps.each):
        for stripe in hint(range(steps.stripes), unroll=steps.stripes):
            block = tile // steps.each + (stripe * steps.team + lane)
            count_block(own, stripe, block, length, steps)
        before, count = scanned_by_team(own, np.uint32(0), lane, steps)
        for stripe in hint(range(steps.stripes), unroll=steps.stripes):
            block = tile // steps.each + (stripe * steps.team + lane)
            stage_block(staged, own, before[stripe * steps.team + lane], stripe, block, length, steps)
        barrier()
        for number in range(lane, int(count), steps.team):
            steps.store(at + number, staged[number])
        at = at + count
        barrier()


def count_block(own: Any, stripe: Any, block: Any, length: Any, steps: Steps) -> None:
    """How many up to each element of a block are kept."""
    if (block + 1) * steps.each <= length:
        kept = steps.kept_block(block)
        for step in unrolled(range(steps.each)):
            own[stripe * steps.each + step] = kept[step]
    else:
        for step in hint(range(steps.each), unroll=steps.each):
            r = block * steps.each + step
            own[stripe * steps.each + step] = steps.kept(r) if r < length else np.uint32(0)
    for step in hint(range(stripe * steps.each + 1, stripe * steps.each + steps.each), unroll=steps.each):
        own[step] = own[step - 1] + own[step]


def stage_block(staged: Any, own: Any, before: Any, stripe: Any, block: Any, length: Any, steps: Steps) -> None:
    """Puts the elements of a block that are kept where they are in the tile."""
    first = stripe * steps.each
    if own[first + steps.each - 1] != 0:
        if (block + 1) * steps.each <= length:
            values = steps.value_block(block)
            for step in unrolled(range(steps.each)):
                if own[first + step] != (own[first + step - 1] if step > 0 else np.uint32(0)):
                    staged[before + own[first + step] - np.uint32(1)] = values[step]
        else:
            for step in unrolled(range(steps.each)):
                if own[first + step] != (own[first + step - 1] if step > 0 else np.uint32(0)):
                    staged[before + own[first + step] - np.uint32(1)] = steps.value(block * steps.each + step)


def build(form: PackForm) -> Kernel:
    """The kernel of a form."""
    tile = form.team * form.stripes * form.each
    algorithm = Algorithm(
        kernel_name(form.values, "pack"),
        pack_by_one if form.team == 1 else pack_by_team,
        index=form.index,
        group_size=(form.team, 1, 1),
        note=f"{form.result.dtype}, {form.team} work-items a row, tiles of {tile}",
    )
    body = Body.start(algorithm.k, form.specs, form.index, form.fp16)
    row = algorithm.k.item("group_id", 0, "row", form.index)
    algorithm.write(body.params["m"], _Writer(form, algorithm, body, row).steps())
    return algorithm.build()


class _Writer:
    """Reads and writes what is packed, in a kernel in the making."""

    def __init__(self, form: PackForm, algorithm: Algorithm, body: Body, row: Ref) -> None:
        self._form, self._body, self._row = form, body, row
        self._k, self._made = algorithm.k, algorithm.function

    def steps(self) -> Steps:
        """What the algorithm is made of."""
        form, k, made = self._form, self._k, self._made
        value, kept, begin = form.args
        return Steps(
            begin=made(lambda r: k.convert(self._element(begin, r), form.index)),
            kept=made(lambda r: self._number(self._element(kept, r))),
            kept_block=made(lambda block: tuple(map(self._number, self._elements(kept, block)))),
            value=made(lambda r: self._staged(self._element(value, r))),
            value_block=made(lambda block: tuple(map(self._staged, self._elements(value, block)))),
            join=made(lambda left, right: left + right),
            store=made(self._store),
            staged=self._body.computed_as(self._dtype()),
            dtype=U32,
            team=form.team,
            teams=1,
            stripes=form.stripes,
            each=form.each,
            turns=form.team.bit_length() - 1,
        )

    def _dtype(self) -> DType:
        """The dtype of what is staged: bools as bytes."""
        return U8 if self._form.result.dtype == BOOL else self._form.result.dtype

    def _number(self, kept: Ref) -> Ref:
        return self._k.op("select", kept, self._k.const(1, U32), self._k.const(0, U32))

    def _staged(self, value: Ref) -> Ref:
        if self._form.result.dtype == BOOL:
            return self._k.op("select", value, self._k.const(1, U8), self._k.const(0, U8))
        return value

    def _store(self, at: Ref, staged: Ref) -> None:
        offset = self._body.offset(self._form.result, {0: self._k.convert(at, self._form.index)})
        stored = staged != self._k.const(0, U8) if self._form.result.dtype == BOOL else staged
        self._k.store(self._body.params["y"], self._body.const(0) if offset is None else offset, stored)

    def _element(self, index: int, r: Ref) -> Ref:
        form, body = self._form, self._body
        number = self._k.convert(r, form.index)

        def read(access: Access) -> Ref:
            if access.kind == "scalar":
                return body.read(access, body.const(0))
            row = body.offset(access, {0: self._row}, 1)
            return body.read(access, body.element(access, row, number, form.lanes, 1))

        return body.evaluate(form.values, [index], read)[index]

    def _elements(self, index: int, block: Ref) -> tuple[Ref, ...]:
        form, k, body = self._form, self._k, self._body
        if form.lanes == 1:
            return tuple(self._element(index, block * form.each + step) for step in range(form.each))
        number = k.convert(block, form.index)

        def read(access: Access) -> Ref:
            if access.kind == "scalar":
                return body.read(access, body.const(0))
            start = body.vector_start(access, body.offset(access, {0: self._row}, 1), number, form.lanes, 1)
            return body.read(access, start, form.lanes if access.strides[1] == "one" else 1)

        found = body.evaluate(form.values, [index], read)[index]
        return tuple(
            k.op("extract", found, lane) if isinstance(found.type, Vector) else found for lane in range(form.each)
        )
