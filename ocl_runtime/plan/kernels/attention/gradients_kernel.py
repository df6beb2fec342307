"""Writes the kernels that compute the gradients of attention without storing scores.

One has 128 keys and values in a group, and goes along the queries that see them in blocks of 64; the other one has 128
queries, and goes along the keys in blocks of 128. Both compute scores and, from these and the logarithms that attention
has stored, weights once more: that takes less time than to add up in memory what many groups have of the same gradient,
and the order of all sums is fixed. Weights and the gradients by scores stay in registers as left operands of the
products with the blocks, which go on, as do those that begin the next block, while weights are computed.

    weights = exp(scale q kᵀ - log)                by values = weightsᵀ gradient
    by scores = weights (gradient vᵀ - delta)      by keys = scale by scoresᵀ q, by queries = scale by scores k

`delta` is the sum of gradient times result of each query. Source: Dao et al., FlashAttention, 2022, appendix B.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ocl_ir.kernel.asynchronous import ROWS
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import F32, I32, U32, DType
from ocl_runtime.plan.kernels.attention.parts import EXP2, HALVES, ROW_WORDS, Parts
from ocl_runtime.plan.kernels.form import Spec

Own: TypeAlias = Literal["keys", "queries"]
WARPGROUPS = 2
OWN = WARPGROUPS * ROWS
"""Rows that a group has of its own."""
BLOCK: dict[Own, int] = {"keys": 64, "queries": 128}
"""Rows of a block of the others, by what a group has of its own: as many as there are registers for."""
_PAIRS: dict[Own, tuple[str, str]] = {"keys": ("k", "v"), "queries": ("q", "g")}
_OTHER: dict[Own, Own] = {"keys": "queries", "queries": "keys"}
_ROOM: dict[Own, tuple[int, int]] = {"keys": (3, 3), "queries": (3, 2)}
"""Blocks of both matrices of the others in local memory: of the first one the last, the present and the next."""
_STATISTICS = 2
"""Numbers that there are of each query: the logarithm and delta."""


@dataclass(frozen=True, slots=True)
class GradientForm:
    """The key of a kernel: of what it computes gradients, the dtype, the length of queries, keys and values, and
    whether attention is causal."""

    own: Own
    dtype: DType
    length: int
    causal: bool
    specs: tuple[Spec, ...]


def box_rows(name: str) -> int:
    """Rows of the boxes in which a matrix comes: of a block of it."""
    return BLOCK["keys" if name in _PAIRS["queries"] else "queries"]


def build(form: GradientForm) -> Kernel:
    """The kernel of a form."""
    return (_OfKeys if form.own == "keys" else _OfQueries)(form).build()


class _Gradients(Parts):
    """What both have in common. Blocks of the others have numbers; the first matrix of a pair takes part in the scores,
    the second one in the gradients by weights."""

    _own_head: Ref
    _first: Ref
    _sums: Ref

    def __init__(self, form: GradientForm) -> None:
        self._causal, self._block = form.causal, BLOCK[form.own]
        self._own_names, self._other_names = _PAIRS[form.own], _PAIRS[_OTHER[form.own]]
        sizes = f"{form.dtype}, {form.length} long, {OWN} {form.own}, {self._block} {_OTHER[form.own]} at a time"
        name, note = f"attention_by_{form.own}", f"gradients of attention by its {form.own}    {sizes}"
        super().__init__(name, note, form.specs, form.dtype, form.length, WARPGROUPS)
        self._own_words = OWN * self.boxes * ROW_WORDS
        self._block_words = self._block * self.boxes * ROW_WORDS
        self._chunks = OWN // box_rows(self._own_names[0])
        self._room = _ROOM[form.own]

    def build(self) -> Kernel:
        self.begin(2 * self._own_words + sum(self._room) * self._block_words, 2 * self._chunks + sum(self._room))
        k, const = self.k, self.body.const
        self._behind = k.let(self.signed("m") - self.signed("n"), "behind")
        self._count = self._start()
        self._scores, self._by_weights = (self.numbers(self._block, name) for name in ("scores", "by_weights"))
        self._by_scores = self.words(self._block, "by_scores")
        with k.if_(const(0) < self._count):
            with k.if_(self.is_first):
                self._copy_own()
                self._copy_block(const(0))
                with k.if_(const(1) < self._count):
                    self._copy_block(const(1))
            for block in (const(0), const(1)):
                self._keep(self._asked(block), block)
            for barrier in range(2 * self._chunks):
                k.await_boxes(self.there, barrier, 0)
            self._await_block(const(0))
            k.barrier()
            self._begin(const(0), 0)
            k.await_("products", pending=self._begin(const(0), 1))
            self._weigh(const(0))
            self._await_block(const(1))
            k.await_("products")
            self._differ(const(0))
            last = k.let(self._count - 1, "last")
            with k.for_(0, last, hint="number") as number:
                self._step(number)
            self._add(last)
            k.await_("products")
        self._store()
        return k.build()

    def _start(self) -> Ref:
        """Finds out what the group has of its own; says how many blocks of the others it needs."""
        raise NotImplementedError

    def _other(self, number: Ref) -> tuple[Ref, Ref]:
        """The head and the first row of a block of the others."""
        raise NotImplementedError

    def _asked(self, number: Ref) -> Ref | None:
        """What a work-item has asked memory for, of a block that comes."""
        return None

    def _keep(self, asked: Ref | None, number: Ref) -> None:
        """Keeps that in local memory, behind a barrier for all."""

    def _weigh(self, number: Ref) -> None:
        """Makes weights of scores."""
        raise NotImplementedError

    def _delta(self, number: Ref, half: int, column: Ref) -> Ref:
        """Of the query that a row or a column belongs to."""
        raise NotImplementedError

    # ------------------------------------------------------------------ copies

    def _copy_own(self) -> None:
        rows = OWN // self._chunks
        for side, name in enumerate(self._own_names):
            for chunk in range(self._chunks):
                to = self.body.const(side * self._own_words + chunk * rows * ROW_WORDS)
                barrier = self.body.const(side * self._chunks + chunk)
                self.copy(name, self._own_head, self._first + chunk * rows, to, rows, barrier, of=OWN)

    def _slot(self, number: Ref, side: int) -> Ref:
        """The slot of a block of one of the matrices, among those of both."""
        slot = self.k.op("urem", number, self.body.const(self._room[side]))
        return slot + self._room[0] if side else slot

    def _at(self, number: Ref, side: int) -> Ref:
        """Where a block lies."""
        return self._slot(number, side) * self._block_words + 2 * self._own_words

    def _copy_block(self, number: Ref) -> None:
        head, row = self._other(number)
        for side, name in enumerate(self._other_names):
            barrier = self._slot(number, side) + 2 * self._chunks
            self.copy(name, head, row, self._at(number, side), self._block, barrier)

    def _await_block(self, number: Ref) -> None:
        """Waits for a block, if there is one."""
        with self.k.if_(number < self._count):
            for side, room in enumerate(self._room):
                turn = self.k.op("udiv", number, self.body.const(room))
                self.k.await_boxes(self.there, self._slot(number, side) + 2 * self._chunks, turn & 1)

    # ------------------------------------------------------------------ one block of the others

    def _begin(self, number: Ref, side: int) -> int:
        """Begins the scores of a block (side 0), or the gradients by its weights; says as how many products."""
        sums = (self._scores, self._by_weights)[side]
        return self.multiply_rows(sums, (side * self._own_words, OWN), (self._at(number, side), self._block))

    def _add(self, number: Ref) -> int:
        """Begins to add up what a block gives to the gradients; says as how many products."""
        return self.add_rows(self._sums, self._by_scores, (self._at(number, 0), self._block))

    def _step(self, number: Ref) -> None:
        """Adds up what a block gives, and computes the weights of the next one meanwhile."""
        k = self.k
        k.barrier()  # behind which nobody needs the block before
        with k.if_(self.is_first), k.if_(number + 2 < self._count):
            self._copy_block(number + 2)
        asked = self._asked(number + 2)
        self._begin(number + 1, 0)
        pending = self._add(number)
        k.await_("products", pending=pending + self._begin(number + 1, 1))
        self._weigh(number + 1)
        self._keep(asked, number + 2)
        self._await_block(number + 2)  # a loop, before which exponentials stay
        k.await_("products")
        self._differ(number + 1)

    def _differ(self, number: Ref) -> None:
        """Makes gradients by scores of those by weights."""
        k = self.k
        for half in HALVES:
            for at, column in self.each(self._block, half):
                by = k.load(self._by_weights, at) - self._delta(number, half, column)
                k.store(self._by_weights, at, k.load(self._scores, at) * by)
        self.pack(self._by_weights, self._by_scores, self._block)

    def _store(self) -> None:
        raise NotImplementedError


class _OfQueries(_Gradients):
    def _start(self) -> Ref:
        k, sizes = self.k, self.sizes
        # The last queries see the most keys: they begin first.
        tile = sizes["tiles"] - 1 - k.op("urem", self.group, sizes["tiles"])
        self._own_head = k.op("udiv", self.group, sizes["tiles"], hint="head")
        self._first = k.let(tile * OWN, "first")
        self._key_head = k.op("udiv", self._own_head, sizes["shared"], hint="key_head")
        self._sums = self.numbers(self.length, "sums")
        self.clear(self._sums)
        outer = k.op("udiv", self._own_head, sizes["own_heads"], hint="outer")
        within = self._own_head - outer * sizes["own_heads"]
        logs = k.let(outer * sizes["outer_words"] + within * sizes["n"], "logs_at")
        deltas = k.let(self._own_head * sizes["n"], "deltas_at")
        self._bases, self._deltas = [], []
        for half in HALVES:
            row = k.let(self._first + self.own_row + 8 * half, "row")
            base, delta = k.variable(0.0, F32, f"base_{half}"), k.variable(0.0, F32, f"delta_{half}")
            with k.if_(row < sizes["n"]):
                k.assign(base, -k.load(sizes["logs"], logs + row))
                k.assign(delta, k.load(sizes["delta"], deltas + row))
            self._bases.append(base)
            self._deltas.append(delta)
        seen = self.signed("m")
        if self._causal:
            seen = k.op("minimum", seen, k.convert(self._first, I32) + OWN + self._behind)
        seen = k.op("maximum", seen, 0, hint="seen")
        return k.convert(k.op("floordiv", seen + (self._block - 1), self._block), U32, hint="count")

    def _other(self, number: Ref) -> tuple[Ref, Ref]:
        return self._key_head, number * self._block

    def _weigh(self, number: Ref) -> None:
        k, keys = self.k, self.signed("m")
        limit = keys
        if self._causal:
            limit = k.op("minimum", keys, k.convert(self._first, I32) + self._behind + 1)
        start = k.convert(number * self._block, I32)
        with k.if_(start + self._block > limit):
            for half in HALVES:
                own = keys
                if self._causal:
                    row = k.convert(self._first + self.own_row + 8 * half, I32)
                    own = k.op("minimum", keys, row + self._behind + 1)
                for at, column in self.each(self._block, half):
                    key = k.convert(number * self._block + self.thread * 2 + column, I32)
                    k.store(self._scores, at, k.op("select", key < own, k.load(self._scores, at), float("-inf")))
        for half in HALVES:
            for at, _ in self.each(self._block, half):
                weight = k.op(EXP2, k.op("fma", k.load(self._scores, at), self.sizes["scale"], self._bases[half]))
                k.store(self._scores, at, weight)

    def _delta(self, number: Ref, half: int, column: Ref) -> Ref:
        return self._deltas[half]

    def _store(self) -> None:
        k, sizes = self.k, self.sizes
        for half in HALVES:
            row = k.let(self._first + self.own_row + 8 * half, "row")
            with k.if_(row < sizes["n"]):
                start = self.body.const(0)
                self.store("y", start, self._own_head * sizes["n"] + row, half, self._sums, sizes["factor"])


class _OfKeys(_Gradients):
    def _start(self) -> Ref:
        k, sizes = self.k, self.sizes
        tile = k.op("urem", self.group, sizes["tiles"])
        self._own_head = k.op("udiv", self.group, sizes["tiles"], hint="key_head")
        self._first = k.let(tile * OWN, "first")
        self._sums, self._by_values = (self.numbers(self.length, name) for name in ("sums", "by_values"))
        self._weights = self.words(self._block, "weights")
        self.clear(self._sums)
        self.clear(self._by_values)
        self._statistics = k.array(F32, 2 * _STATISTICS * self._block, hint="statistics")
        self._outer = k.op("udiv", self._own_head, sizes["own_key_heads"], hint="outer")
        heads_before = self._outer * sizes["own_heads"]
        self._logs_at = k.let(self._outer * sizes["outer_words"] - heads_before * sizes["n"], "logs_at")
        first = self.body.const(0)
        if self._causal:  # queries before see none of the keys
            seeing = k.op("maximum", k.convert(self._first, I32) - self._behind, 0)
            first = k.op("udiv", k.convert(seeing, U32), self.body.const(self._block), hint="first_block")
        self._first_block = first
        blocks = k.op("udiv", sizes["n"] + (self._block - 1), self.body.const(self._block), hint="blocks")
        self._blocks = k.op("select", first < blocks, blocks - first, self.body.const(0), hint="own_blocks")
        return k.let(self._blocks * sizes["shared"], "count")

    def _other(self, number: Ref) -> tuple[Ref, Ref]:
        shared = self.k.op("udiv", number, self._blocks)
        head = self._own_head * self.sizes["shared"] + shared
        return head, (number - shared * self._blocks + self._first_block) * self._block

    def _asked(self, number: Ref) -> Ref | None:
        """One of the two numbers of a query; there is a work-item for each."""
        k, sizes = self.k, self.sizes
        head, first = self._other(number)
        query = k.let(first + (self.item & (self._block - 1)), "query")
        asked = k.variable(0.0, F32, "asked")
        with k.if_((query < sizes["n"]) & (self.item < _STATISTICS * self._block) & (number < self._count)):
            at = k.let(head * sizes["n"] + query, "at")
            with k.if_(self.item < self._block):
                k.assign(asked, -k.load(sizes["logs"], self._logs_at + at))
            with k.else_():
                k.assign(asked, k.load(sizes["delta"], at))
        return asked

    def _keep(self, asked: Ref | None, number: Ref) -> None:
        assert asked is not None
        with self.k.if_(self.item < _STATISTICS * self._block):
            at = (number & 1) * (_STATISTICS * self._block) + self.item
            self.k.store(self._statistics, at, asked)

    def _statistic(self, number: Ref, which: int, column: Ref) -> Ref:
        at = (number & 1) * (_STATISTICS * self._block) + which * self._block
        return self.k.load(self._statistics, at + self.thread * 2 + column)

    def _weigh(self, number: Ref) -> None:
        k = self.k
        if self._causal:
            _, start = self._other(number)
            last = k.convert(start, I32) + self._behind
            with k.if_(k.convert(self._first, I32) + (OWN - 1) > last):
                for half in HALVES:
                    key = k.convert(self._first + self.own_row + 8 * half, I32)
                    for at, column in self.each(self._block, half):
                        seen = last + k.convert(self.thread * 2 + column, I32)
                        score = k.load(self._scores, at)
                        k.store(self._scores, at, k.op("select", key > seen, float("-inf"), score))
        for half in HALVES:
            for at, column in self.each(self._block, half):
                base = self._statistic(number, 0, column)
                weight = k.op(EXP2, k.op("fma", k.load(self._scores, at), self.sizes["scale"], base))
                k.store(self._scores, at, weight)

    def _differ(self, number: Ref) -> None:
        self.pack(self._scores, self._weights, self._block)
        super()._differ(number)

    def _add(self, number: Ref) -> int:
        values = self.add_rows(self._by_values, self._weights, (self._at(number, 1), self._block))
        return values + super()._add(number)

    def _delta(self, number: Ref, half: int, column: Ref) -> Ref:
        return self._statistic(number, 1, column)

    def _store(self) -> None:
        """Both, one behind the other: by keys of all heads, and by values."""
        k, sizes = self.k, self.sizes
        start = k.let(self._outer * (sizes["own_key_heads"] * sizes["m"] * self.length), "start")
        head = self._own_head - self._outer * sizes["own_key_heads"]
        one = k.const(1.0, F32)
        for half in HALVES:
            row = k.let(self._first + self.own_row + 8 * half, "row")
            with k.if_(row < sizes["m"]):
                for sums, factor, heads in (
                    (self._sums, sizes["factor"], head),
                    (self._by_values, one, head + sizes["own_key_heads"]),
                ):
                    self.store("y", start, heads * sizes["m"] + row, half, sums, factor)
