"""What the kernels of the gradients of attention have in common: the walk along blocks of the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ocl_ir.graph.attention import QUERIES_OF_A_ROW
from ocl_ir.kernel.asynchronous import ROWS
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import DType
from ocl_runtime.plan.kernels.attention.parts import Parts, Ring, Tile
from ocl_runtime.plan.kernels.form import Spec

By: TypeAlias = Literal["queries", "keys", "values"]
WARPGROUPS = 2
"""Of a group that compute."""
ROWS_OF_A_TILE = WARPGROUPS * ROWS
_OWN: dict[By, str] = {"queries": "qg", "keys": "kv", "values": "k"}
"""The matrices of which a tile has rows of its own; blocks of the two others come."""
_ROOM: dict[By, tuple[int, int]] = {"queries": (3, 2), "keys": (3, 2), "values": (2, 3)}
"""Blocks of both others in local memory: the next one, the present one, and the last one of what is added up."""


@dataclass(frozen=True, slots=True)
class GradientForm:
    """The key of a kernel: by what it computes gradients, the dtype, the length of queries, keys and values, and
    whether attention is causal."""

    by: By
    dtype: DType
    length: int
    causal: bool
    specs: tuple[Spec, ...]


def box_rows(by: By, length: int, name: str) -> int:
    """Rows of a box of a matrix."""
    if name == "s":
        return 2 * _block(by, length) // QUERIES_OF_A_ROW
    return ROWS_OF_A_TILE if name in _OWN[by] else _block(by, length)


def _block(by: By, length: int) -> int:
    """Rows of a block of the others: as many as there are local memory and registers for."""
    return 96 if by != "values" and length == 128 else 128


class Gradients(Parts):
    """What all have in common. Blocks of the others are counted in a tile, and have numbers among those of all tiles;
    the first matrix takes part in the scores, the second one in the gradients by weights."""

    _last_first: bool

    def __init__(self, form: GradientForm) -> None:
        self._form = form
        self._block = _block(form.by, form.length)
        others = "keys" if form.by == "queries" else "queries"
        sizes = f"{form.dtype}, {form.length} long, {ROWS_OF_A_TILE} {form.by}, {self._block} {others} at a time"
        name, note = f"attention_by_{form.by}", f"gradient of attention by its {form.by}    {sizes}"
        super().__init__(name, note, form.specs, form.dtype, form.length, WARPGROUPS)
        self._own = [self.ring(name, 1, ROWS_OF_A_TILE) for name in _OWN[form.by]]
        names = "kv" if form.by == "queries" else "qg"
        first, second = (self.ring(name, room, self._block) for name, room in zip(names, _ROOM[form.by], strict=True))
        self._others = first, second

    @property
    def _needs_differences(self) -> bool:
        """Whether it adds up what gradients by scores are factors of, not weights."""
        return self._form.by != "values"

    @property
    def _added(self) -> Ring:
        """Of the others, the matrix that is added up."""
        return self._others[0 if self._needs_differences else 1]

    @property
    def _passing(self) -> Ring:
        """Of the others, the matrix of which a block is needed in one step only."""
        return self._others[1 if self._needs_differences else 0]

    def build(self) -> Kernel:
        """The kernel."""
        self.begin()
        self.specialise(self._compute, self._copy)
        return self.k.build()

    def _count(self, tile: Tile) -> Ref:
        """How many blocks of the others a tile needs."""
        raise NotImplementedError

    def _other(self, tile: Tile, block: Ref) -> tuple[Ref, Ref]:
        """The head and the first row of a block of the others."""
        raise NotImplementedError

    def _prepare(self, tile: Tile) -> None:
        """Loads what a work-item needs of its rows."""

    def _weigh(self, tile: Tile, block: Ref, number: Ref) -> None:
        """Makes weights of scores."""
        raise NotImplementedError

    def _differences(self, number: Ref) -> None:
        """Makes gradients by scores of weights and the gradients by these."""
        raise NotImplementedError

    def _store(self, tile: Tile) -> None:
        raise NotImplementedError

    # ------------------------------------------------------------------ who copies

    def _copy(self) -> None:
        k = self.k
        blocks = k.variable(self.body.const(0), hint="copied")
        with self.tiles(ROWS_OF_A_TILE, last_first=self._last_first) as tile:
            count, start = self._count(tile), k.let(blocks, "start")
            for ring in self._own:
                ring.fill(tile.turn, tile.head, tile.first)
            with k.for_(0, count, hint="block") as block:
                head, row = self._other(tile, block)
                self._fill(start + block, head, row)
            k.assign(blocks, start + count)

    def _fill(self, number: Ref, head: Ref, row: Ref) -> None:
        for ring in self._others:
            ring.fill(number, head, row)

    # ------------------------------------------------------------------ who computes

    def _compute(self) -> None:
        k, const = self.k, self.body.const
        self._sums, self._scores = self.numbers(self.length, "sums"), self.numbers(self._block, "scores")
        self._by_weights = self.numbers(self._block, "by_weights") if self._needs_differences else self._scores
        self._factors = self.words(self._block, "factors")
        blocks = k.variable(const(0), hint="blocks")
        with self.tiles(ROWS_OF_A_TILE, last_first=self._last_first) as tile:
            count, start = self._count(tile), k.let(blocks, "start")
            self.clear(self._sums)
            self._prepare(tile)
            for ring in self._own:
                ring.await_(tile.turn)
            with k.if_(const(0) < count):
                self._begin(tile, start, count)
                last = k.let(count - 1, "last")
                with k.for_(0, last, hint="block") as block:
                    self._step(tile, block, start, count)
                self._add(start + last)
                k.await_("products")
                self._added.release(start + last)
            for ring in self._own:
                ring.release(tile.turn)
            k.assign(blocks, start + count)
            self._store(tile)

    def _await(self, number: Ref) -> None:
        """Waits for a block of the others."""
        for ring in self._others:
            ring.await_(number)

    def _begin_scores(self, number: Ref, turn: Ref) -> int:
        """Begins the scores of a block; says as how many products."""
        return self.multiply_rows(self._scores, (self._own[0], turn), (self._others[0], number))

    def _begin_differences(self, number: Ref, turn: Ref) -> int:
        """Begins the gradients by a block's weights, if they are needed; says as how many products."""
        if not self._needs_differences:
            return 0
        return self.multiply_rows(self._by_weights, (self._own[1], turn), (self._others[1], number))

    def _add(self, number: Ref) -> int:
        """Begins to add up what a block gives to the gradient; says as how many products."""
        return self.add_rows(self._sums, self._factors, (self._added, number))

    def _begin(self, tile: Tile, start: Ref, count: Ref) -> None:
        """Computes the factors of the first block."""
        k, const = self.k, self.body.const
        self._await(start)
        self._begin_scores(start, tile.turn)
        k.await_("products", pending=self._begin_differences(start, tile.turn))
        self._weigh(tile, const(0), start)
        with k.if_(const(1) < count):
            self._await(start + 1)
        k.await_("products")
        self._factor(start)

    def _step(self, tile: Tile, block: Ref, start: Ref, count: Ref) -> None:
        """Adds up what a block gives, and computes the factors of the next one meanwhile."""
        k = self.k
        number = k.let(start + block, "number")
        following = k.let(number + 1, "following")
        self._begin_scores(following, tile.turn)
        pending = self._add(number)
        # No branch comes between products and the wait for them: the assembler then lets nothing overlap.
        k.await_("products", pending=pending + self._begin_differences(following, tile.turn))
        self._weigh(tile, block + 1, following)
        with k.if_(block + 2 < count):  # a loop, before which exponentials stay
            self._await(following + 1)
        k.await_("products")
        self._added.release(number)
        self._factor(following)

    def _factor(self, number: Ref) -> None:
        """Rounds weights, or gradients by scores made of them and of those by weights, to factors. What a block needs
        no more is free."""
        if self._needs_differences:
            self._differences(number)
        self._passing.release(number)
        self.pack(self._by_weights, self._factors, self._block)
