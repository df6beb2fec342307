"""Writes the kernels of running sums and products; `ocl_runtime.plan.kernels.scan` decides which.

Along the last axis a row is gone through in tiles (`scan_tile.py`), by a team of work-items or by one. Nothing but one
join for each tile waits for the one before. One long row may be scanned by many teams at once (`scan_one_pass.py`).

Along another axis neighbours are in other rows, and a work-item goes through one element by element.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from ocl_ir.graph.build import ScanOp
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.language.builtins.registry import BUILTINS
from ocl_ir.language.library import Algorithm
from ocl_ir.types import U64, DType
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.form import Access, Spec, Term
from ocl_runtime.plan.kernels.naming import formulas, kernel_name
from ocl_runtime.plan.kernels.reduce_kernel import identity, join
from ocl_runtime.plan.kernels.scan_one_pass import scan_in_one_pass
from ocl_runtime.plan.kernels.scan_tile import (
    Steps,
    joined_by_team,
    read_tile,
    scan_blocks,
    scanned_by_team,
    write_tile,
)

global_id, group_id, local_id, private_array = (
    BUILTINS[name] for name in ("global_id", "group_id", "local_id", "private_array")
)


@dataclass(frozen=True, slots=True)
class ScanForm:
    """The key of a scan's kernel. Without a `result` it gives the total of each part; `continued`: it begins with the
    total of the parts before; `one_pass`: a team has a tile and waits for the totals of those before.

    A tile is `stripes` blocks of `each` elements for each work-item of the `team`; an `each` of 1 stands for no tiles.
    A group has so many `teams`, each with a row. Blocks are read and written in vectors of `lanes`.
    """

    values: tuple[Term, ...]
    result: Access | None
    specs: tuple[Spec, ...]
    kept: int
    team: int
    teams: int
    stripes: int
    each: int
    lanes: int
    op: ScanOp
    accumulator: DType
    continued: bool
    one_pass: bool
    index: DType
    fp16: bool


def scan_elements(row: Any, length: Any, per: Any, parts: Any, steps: Steps) -> None:
    """Scans the part of a row that this work-item has, if it has one."""
    part = global_id(1)
    if part < parts:
        number = row * parts + part
        total = total_before(part, number, steps)
        for r in range(part * per, min(part * per + per, length)):
            total = steps.join(total, steps.value(r))
            if steps.store is not None:
                steps.store(r, total)
        if steps.keep is not None:
            steps.keep(number, total)


def scan_tiles(row: Any, length: Any, blocks: Any, per: Any, parts: Any, steps: Steps) -> None:
    """Scans the part of a row that this team has, tile by tile. The row has so many `blocks`, each part `per` of
    them."""
    part, item = group_id(1), local_id(0)
    number = row * parts + part
    total = total_before(part, number, steps)
    own = private_array(steps.stripes * steps.each, steps.dtype)
    for tile in range(part * per, min(part * per + per, blocks), steps.team * steps.stripes):
        read_tile(own, tile, item, length, steps)
        scan_blocks(own, steps)
        if steps.team == 1:
            before, tile_total = None, own[steps.each - 1]
        elif steps.store is None:
            before, tile_total = None, joined_by_team(own, item, steps)
        else:
            before, tile_total = scanned_by_team(own, total, item, steps)
        if steps.store is not None:
            write_tile(own, before, total, tile, item, length, steps)
        total = steps.join(total, tile_total)
    if steps.keep is not None and item == 0:
        steps.keep(number, total)


def total_before(part: Any, number: Any, steps: Steps) -> Any:
    """The total of the parts of a row before this one."""
    total = steps.neutral
    if steps.before is not None and part != 0:
        total = steps.before(number - 1)
    return total


def build(form: ScanForm) -> Kernel:
    """The kernel of a form."""
    what = "totals" if form.result is None else f"cumulative_{form.op}"
    x = formulas(form.values, {"x": len(form.values) - 1})
    tiles = form.each > 1
    tile = f"{form.team} work-items a row, tiles of {form.team * form.stripes * form.each}"
    algorithm = Algorithm(
        kernel_name(form.values, what),
        scan_in_one_pass if form.one_pass else scan_tiles if tiles else scan_elements,
        index=form.index,
        group_size=(form.team * form.teams, 1, 1) if tiles else None,
        note=f"y = {what}(x); {x}    in {form.accumulator}, {tile if tiles else '1 work-item a row'}",
    )
    k = algorithm.k
    body = Body.start(k, form.specs, form.index, form.fp16)
    sizes = {axis: body.params[f"n{axis}"] for axis in range(form.kept)}
    m, per, parts = (body.params[name] for name in ("m", "per", "s"))
    if form.teams > 1:
        row = k.op("udiv", k.global_id(0, "i", form.index), form.team, hint="row")
    else:
        row = k.item("group_id", 0, "row", form.index) if tiles else k.global_id(0, "row", form.index)
    where = body.coordinates(row, range(form.kept - 1, -1, -1), sizes)
    if form.teams > 1:  # a row that is not there has no elements
        m = k.op("select", where[0] < sizes[0], m, body.const(0), hint="length")
    steps = _Writer(form, algorithm, body, where).steps()
    if form.one_pass:
        algorithm.write(m, parts, steps)
    elif tiles:
        algorithm.write(row, m, body.params["blocks"], per, parts, steps)
    else:
        with k.if_(where[0] < sizes[0]) if form.kept else nullcontext():
            algorithm.write(row, m, per, parts, steps)
    return algorithm.build()


class _Writer:
    """Reads and writes what a scan goes through, in a kernel in the making; `where` are the coordinates of the row."""

    def __init__(self, form: ScanForm, algorithm: Algorithm, body: Body, where: dict[int, Ref]) -> None:
        self._form, self._body, self._where = form, body, where
        self._k, self._made = algorithm.k, algorithm.function

    def steps(self) -> Steps:
        """What the algorithm is made of."""
        form, k, made = self._form, self._k, self._made
        stores = form.result is not None
        return Steps(
            value=made(self._value),
            values=made(self._values),
            join=made(lambda left, right: k.op(join(form.op), left, right)),
            store=made(self._store) if stores else None,
            store_block=made(self._store_block) if stores else None,
            before=made(lambda number: k.load(self._body.params["i"], number)) if form.continued else None,
            keep=None if stores else made(lambda number, total: k.store(self._body.params["y"], number, total)),
            claim=made(self._claim) if form.one_pass else None,
            publish=made(self._publish) if form.one_pass else None,
            published=made(self._published) if form.one_pass else None,
            neutral=form.accumulator.numpy.type(identity(form.op, form.accumulator)),
            dtype=form.accumulator,
            index_dtype=form.index,
            team=form.team,
            teams=form.teams,
            stripes=form.stripes,
            each=form.each,
            turns=form.team.bit_length() - 1,
        )

    def _claim(self) -> Ref:
        claimed = self._k.atomic("add", self._body.params["words"], 0, self._k.const(1, U64))
        assert claimed is not None
        return self._k.convert(claimed, self._form.index)

    def _publish(self, index: Ref, word: Ref) -> None:
        self._k.atomic("exchange", self._body.params["words"], index, word, used=False)

    def _published(self, index: Ref) -> Ref | None:
        return self._k.atomic("load", self._body.params["words"], index)

    def _evaluated(self, leaf: Callable[[Access], Ref]) -> Ref:
        last = len(self._form.values) - 1
        return self._k.convert(self._body.evaluate(self._form.values, [last], leaf)[last], self._form.accumulator)

    def _element(self, access: Access, r: Ref) -> Ref:
        """Where element `r` of the row is."""
        form, body = self._form, self._body
        return body.element(access, body.offset(access, self._where, form.kept), r, form.lanes, form.kept)

    def _vector(self, access: Access, number: Ref) -> Ref:
        """Where vector `number` of the row begins."""
        form, body = self._form, self._body
        return body.vector_start(access, body.offset(access, self._where, form.kept), number, form.lanes, form.kept)

    def _value(self, r: Ref) -> Ref:
        body = self._body
        return self._evaluated(
            lambda access: body.read(access, body.const(0) if access.kind == "scalar" else self._element(access, r))
        )

    def _values(self, block: Ref) -> tuple[Ref, ...]:
        """The elements of a block."""
        form, k, body = self._form, self._k, self._body
        if form.lanes == 1:
            return tuple(self._value(block * form.each + step) for step in range(form.each))
        taken: list[Ref] = []
        for number in self._vectors(block):

            def read(access: Access, number: Ref = number) -> Ref:
                if access.kind == "scalar":
                    return body.read(access, body.const(0))
                count = form.lanes if access.strides[form.kept] == "one" else 1
                return body.read(access, self._vector(access, number), count)

            vector = body.spread(self._evaluated(read), form.lanes)
            taken += [k.op("extract", vector, lane) for lane in range(form.lanes)]
        return tuple(taken)

    def _vectors(self, block: Ref) -> list[Ref]:
        """The numbers of the vectors of a block."""
        count = self._form.each // self._form.lanes
        first = block * count if count > 1 else block
        return [first + number if number else first for number in range(count)]

    def _store(self, r: Ref, joined: Ref) -> None:
        result = self._form.result
        assert result is not None
        self._k.store(self._body.params["y"], self._element(result, r), self._stored(joined))

    def _store_block(self, block: Ref, joined: tuple[Ref, ...]) -> None:
        form, k, result = self._form, self._k, self._form.result
        assert result is not None
        if form.lanes == 1:
            for step, value in enumerate(joined):
                self._store(block * form.each + step, value)
            return
        align = result.dtype.size * (form.lanes if result.wide else 1)
        for turn, number in enumerate(self._vectors(block)):
            vector = k.op("vector", *joined[turn * form.lanes : (turn + 1) * form.lanes])
            k.store(self._body.params["y"], self._vector(result, number), self._stored(vector), align=align)

    def _stored(self, joined: Ref) -> Ref:
        """Half is stored from float32."""
        result = self._form.result
        assert result is not None
        to = result.dtype
        return joined if to.is_float and to.bits == 16 else self._k.convert(joined, to)
