"""The steps of a product: how the next ones come while a group multiplies one.

Through registers: while a group multiplies what is in one half of its local memory, the next step is on its way from
global memory to registers, from which it is stored in the other half; one barrier a step is enough.

By copies that go on while work-items do: local memory has room for several steps, whose copies begin some turns before
their products. Where products go on, too, that of one step is still at work when that of the next one begins, so a
step's memory is free one turn later.

By boxes: one work-item begins the copies of a whole step, and all wait for them at a barrier of that step's memory.
These go ahead over the ends of tiles, so that steps of the next ones are on their way while a tile has its last ones
and its results are stored. Where work-items multiply by themselves, each warp says when it needs a step no more, and
the copies to its memory wait for that; warps then need not wait for each other. Where products go on meanwhile, no loop
may come between these and the wait for them, so copies begin behind a barrier of the group, where nobody needs what was
there two steps before.

The first step is the one that may be shorter; of boxes, whose copies fill up with zeros, the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple, Protocol

from ocl_ir.kernel.asynchronous import MAP_WORDS, ReleaseBoxes
from ocl_ir.kernel.operands import Ref
from ocl_ir.program_ops import InlineC
from ocl_ir.types import U64
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.products.box_copies import BoxCopies
from ocl_runtime.plan.kernels.products.stage import Stage, nothing
from ocl_runtime.plan.kernels.products.tile import AnyTile


class WorkTile(NamedTuple):
    """A tile: where it begins along the results' rows and columns and the inner axis, how many places and steps it
    takes there, the number of its matrix, and the coordinates of that and of its part."""

    row: Ref
    column: Ref
    begin: Ref
    places: Ref
    steps: Ref
    matrix: Ref
    where: Mapping[int, Ref]
    part: Ref


class Fragments(Protocol):
    """What a work-item has of the tile. `pending`: products of so many steps go on while the next ones begin."""

    pending: int

    def multiply(self, step: Ref) -> None:
        """Adds the products of a step, given by where it is in local memory."""

    def store_band(self, band: int, local: Ref) -> None:
        """Stores the sums of a band in local memory."""


def through_registers(
    body: Body, inner: int, stages: tuple[Stage, Stage], fragments: Fragments, tile: WorkTile
) -> None:
    """Adds up the products of a tile, `inner` places in a step."""
    k, begin, count, steps = body.k, tile.begin, tile.places, tile.steps
    ragged = k.let(count - (steps - 1) * inner, "ragged")
    for stage in stages:
        stage.hold()
    for stage in stages:
        stage.fetch(begin, ragged)
    for stage in stages:
        stage.deposit(0)
    k.barrier()
    with k.for_(0, steps, dtype=body.index, hint="step") as step:
        more = step + 1 < steps
        with k.if_(more):
            following = k.let(begin + ragged + step * inner, "next")
            for stage in stages:
                stage.fetch(following)
        fragments.multiply(step & 1)
        with k.if_(more):
            for stage in stages:
                stage.deposit((step + 1) & 1)
        k.barrier()


def by_copies(
    body: Body, inner: int, room: int, stages: tuple[Stage, Stage], fragments: Fragments, tile: WorkTile
) -> None:
    """The same, where local memory has room for so many steps."""
    k, ahead, begin, count, steps = body.k, room - 1 - fragments.pending, tile.begin, tile.places, tile.steps
    missing = k.let(steps * inner - count, "missing")

    def copy(step: Ref, step_begin: Ref, limit: Ref) -> None:
        buffer = k.op("urem", step, body.const(room)) * stages[0].part.step_length
        for stage in stages:
            stage.copy(step_begin, limit, buffer)

    for number in range(ahead):
        with k.if_(body.const(number) < steps):
            if number:
                copy(body.const(number), begin + number * inner - missing, body.const(inner))
            else:
                copy(body.const(0), begin, body.const(inner) - missing)
        k.commit()
    with k.for_(0, steps, dtype=body.index, hint="step") as step:
        k.await_("copies", ahead - 1)
        k.barrier()
        later = k.let(step + ahead, "later")
        with k.if_(later < steps):
            copy(later, k.let(begin + later * inner - missing, "next"), body.const(inner))
        k.commit()
        fragments.multiply(k.op("urem", step, body.const(room)))
        if fragments.pending:
            k.await_("products", fragments.pending)
    if fragments.pending:
        k.await_("products")


class DirectFragments(Fragments, Protocol):
    """Those of operands that boxes bring, whose sums can go from registers to memory."""

    def clear(self) -> None:
        """Begins a tile."""

    def multiply(self, step: Ref, meanwhile: Callable[[], None] = nothing) -> None:
        """The same. What is to be done `meanwhile` is done while work-items have nothing else to do."""

    def vectors(self, lanes: int, pack: InlineC | None = None) -> Iterator[tuple[Ref, Ref, Ref]]:
        """Vectors of `lanes` sums, each with its row and its number in the tile's row. With `pack`, which makes a word
        of two, they are words of 8 sums."""


class Tiles(NamedTuple):
    """The tiles of a group: from the number `first` on, each `apart` from the one before, below `end`; `locate` says
    where one is."""

    first: Ref
    apart: Ref
    end: Ref
    locate: Callable[[Ref], WorkTile]


class Boxes:
    """The same, where one work-item begins the copies, for one tile after the other: it is some steps ahead of the
    products, at the end of a tile those of the next ones."""

    def __init__(
        self,
        body: Body,
        tile: AnyTile,
        copies: tuple[BoxCopies, BoxCopies],
        fragments: DirectFragments,
        item: Ref,
        tiles: Tiles,
    ) -> None:
        k = body.k
        self._body, self._k, self._inner, self._room = body, k, tile.inner, tile.room
        self._copies, self._fragments, self._tiles = copies, fragments, tiles
        self._ahead = tile.room - 1 - fragments.pending
        self._there = k.array(U64, tile.room, hint="there")
        self._free = None if fragments.pending else k.array(U64, tile.room, hint="free")
        self._is_first = k.op("eq", item, 0, hint="is_first")
        with k.if_(self._is_first):
            k.init_boxes(self._there, tile.room, sum(each.boxes for each in copies))
            if self._free is not None:
                k.init_boxes(self._free, tile.room, tile.items // ReleaseBoxes.size)
        k.barrier()
        # What is copied next: how many steps a tile still has, where the next one begins, where descriptions are; and
        # which tile comes behind it.
        self._left, self._begin, self._maps = map(self._variable, ("coming_steps", "coming_begin", "coming_maps"))
        self._places = [[self._variable("coming_place") for _ in range(each.rank)] for each in copies]
        self._following = k.variable(tiles.first, hint="following")

    def begin(self) -> None:
        """Begins the copies of the first steps."""
        with self._k.for_(0, self._ahead, dtype=self._body.index, hint="step") as number:
            self._copy(number)

    def go_along(self, tile: WorkTile, turn: Ref) -> None:
        """Adds up the products of a tile; `turn` counts the steps of all that were before it."""
        k, pending = self._k, self._fragments.pending
        with k.for_(0, tile.steps, dtype=self._body.index, hint="step") as step:
            number = k.let(turn + step, "number")
            slot = self._slot(number)
            k.await_boxes(self._there, slot, self._round(number) & 1)
            self._fragments.multiply(slot, partial(self._copy_later, number))
            if self._free is not None:
                k.release_boxes(self._free, slot)
            else:
                k.await_("products", pending)
        if pending:
            k.await_("products")

    def _copy_later(self, number: Ref) -> None:
        """Begins the copies of a later step, if there is one, where nobody needs what was there any more."""
        if self._free is None:
            self._k.barrier()
        self._copy(number + self._ahead)

    def _copy(self, number: Ref) -> None:
        """Begins the copies of the step that comes next, if there is one, of that number, once its memory is free: in
        the first round it is. All work-items know where that is: then it lies in registers that they share."""
        k = self._k
        with k.if_(k.op("eq", self._left, 0) & (self._following < self._tiles.end)):
            self._follow()
        with k.if_(self._left > 0):
            with k.if_(self._is_first):
                slot = self._slot(number)
                if self._free is not None:
                    k.await_boxes(self._free, slot, self._round(number) + 1 & 1)
                for side, (copies, places) in enumerate(zip(self._copies, self._places, strict=True)):
                    maps = self._maps + side * MAP_WORDS if side else self._maps
                    copies.begin(places, maps, self._begin, slot, (self._there, slot))
            k.assign(self._begin, self._begin + self._inner)
            k.assign(self._left, self._left - 1)

    def _follow(self) -> None:
        """The steps of the following tile come next."""
        k, tile = self._k, self._tiles.locate(self._following)
        k.assign(self._left, tile.steps)
        k.assign(self._begin, tile.begin)
        k.assign(self._maps, tile.matrix * (2 * MAP_WORDS))
        for copies, places, first in zip(self._copies, self._places, (tile.row, tile.column), strict=True):
            for place, value in zip(places, copies.locate(first), strict=True):
                k.assign(place, value)
        k.assign(self._following, self._following + self._tiles.apart)

    def _variable(self, hint: str) -> Ref:
        return self._k.variable(self._body.const(0), hint=hint)

    def _slot(self, number: Ref) -> Ref:
        return self._k.op("urem", number, self._body.const(self._room))

    def _round(self, number: Ref) -> Ref:
        return self._k.op("udiv", number, self._body.const(self._room))
