"""Writes the kernels that compute the gradients of attention without storing scores.

There is one for each of queries, keys and values: a group has 128 of these, and goes along the keys, or the queries, in
blocks. Each computes scores and, from these and the logarithms that attention has stored, weights once more: that takes
less time than to add up in memory what many groups have of the same gradient, and the order of all sums is fixed.
Weights and the gradients by scores stay in registers as left operands of the products with the blocks, which go on, as
do those that begin the next block, while weights are computed.

    weights = exp(scale q kᵀ - log)                by values = weightsᵀ gradient
    by scores = weights (gradient vᵀ - delta)      by keys = scale by scoresᵀ q, by queries = scale by scores k

`delta` is the sum of gradient times result of each query; these and the logarithms come in boxes, too.

Source: Dao et al., FlashAttention, 2022, appendix B.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ocl_ir.graph.attention import QUERIES_OF_A_ROW
from ocl_ir.kernel.asynchronous import MAP_WORDS, ROWS
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import F32, I32, U32, U64, DType
from ocl_runtime.plan.kernels.attention.parts import EXP2, HALVES, ROW_WORDS, Parts
from ocl_runtime.plan.kernels.attention.statistics_kernel import statistics_at
from ocl_runtime.plan.kernels.form import Spec

By: TypeAlias = Literal["queries", "keys", "values"]
WARPGROUPS = 2
ROWS_OF_A_GROUP = WARPGROUPS * ROWS
_OWN: dict[By, str] = {"queries": "qg", "keys": "kv", "values": "k"}
"""The matrices of which a group has rows of its own; blocks of the two others come."""
_ROOM: dict[By, tuple[int, int]] = {"queries": (3, 2), "keys": (3, 2), "values": (2, 3)}
"""Blocks of both others in local memory: the next one, the present one, and the last one of what is added up."""


_STATISTICS_WORDS = 256
"""Room for the statistics of the queries of a block."""


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
    return ROWS_OF_A_GROUP if name in _OWN[by] else _block(by, length)


def _block(by: By, length: int) -> int:
    """Rows of a block of the others: as many as there is local memory for."""
    return 96 if by == "keys" and length == 128 else 128


def build(form: GradientForm) -> Kernel:
    """The kernel of a form."""
    return (_ByQueries if form.by == "queries" else _ByKeys)(form).build()


class _Gradients(Parts):
    """What all have in common. Blocks of the others have numbers; the first matrix takes part in the scores, the second
    one in the gradients by weights."""

    _own_head: Ref
    _first: Ref

    def __init__(self, form: GradientForm) -> None:
        self._form, self._own_names, self._room = form, _OWN[form.by], _ROOM[form.by]
        self._block = _block(form.by, form.length)
        self._other_names = "kv" if form.by == "queries" else "qg"
        others = "keys" if form.by == "queries" else "queries"
        sizes = f"{form.dtype}, {form.length} long, {ROWS_OF_A_GROUP} {form.by}, {self._block} {others} at a time"
        name, note = f"attention_by_{form.by}", f"gradient of attention by its {form.by}    {sizes}"
        super().__init__(name, note, form.specs, form.dtype, form.length, WARPGROUPS)
        self._own_words = ROWS_OF_A_GROUP * self.boxes * ROW_WORDS
        self._block_words = self._block * self.boxes * ROW_WORDS

    @property
    def _needs_differences(self) -> bool:
        """Whether it adds up what gradients by scores are factors of, not weights."""
        return self._form.by != "values"

    def build(self) -> Kernel:
        own = len(self._own_names)
        self._statistics_at = own * self._own_words + sum(self._room) * self._block_words
        statistics = 0 if self._form.by == "queries" else 2 * _STATISTICS_WORDS
        self.begin(self._statistics_at + statistics, own + sum(self._room))
        k, const = self.k, self.body.const
        self._behind = k.let(self.signed("m") - self.signed("n"), "behind")
        self._sums, self._scores = self.numbers(self.length, "sums"), self.numbers(self._block, "scores")
        self._by_weights = self.numbers(self._block, "by_weights") if self._needs_differences else self._scores
        self._factors = self.words(self._block, "factors")
        self.clear(self._sums)
        self._count = self._start()
        with k.if_(const(0) < self._count):
            with k.if_(self.is_first):
                for side, name in enumerate(self._own_names):
                    at = const(side * self._own_words)
                    self.copy(name, self._own_head, self._first, at, ROWS_OF_A_GROUP, const(side))
                self._copy_block(const(0))
                with k.if_(const(1) < self._count):
                    self._copy_block(const(1))
            self._start_block()
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

    def _weigh(self, number: Ref) -> None:
        """Makes weights of scores."""
        raise NotImplementedError

    def _differences(self, number: Ref) -> None:
        """Makes gradients by scores of weights and the gradients by these."""
        raise NotImplementedError

    def _store(self) -> None:
        raise NotImplementedError

    # ------------------------------------------------------------------ copies

    def _slot(self, number: Ref, side: int) -> Ref:
        """The slot of a block of one of the matrices, among those of both."""
        slot = self.k.op("urem", number, self.body.const(self._room[side]))
        return slot + self._room[0] if side else slot

    def _at(self, number: Ref, side: int) -> Ref:
        """Where a block lies."""
        return self._slot(number, side) * self._block_words + len(self._own_names) * self._own_words

    def _barrier(self, number: Ref, side: int) -> Ref:
        return self._slot(number, side) + len(self._own_names)

    def _copy_block(self, number: Ref) -> None:
        head, row = self._other(number)
        for side, name in enumerate(self._other_names):
            self.copy(name, head, row, self._at(number, side), self._block, self._barrier(number, side))

    def _await_block(self, number: Ref) -> None:
        """Waits for a block, if there is one."""
        with self.k.if_(number < self._count):
            for side, room in enumerate(self._room):
                turn = self.k.op("udiv", number, self.body.const(room))
                self.k.await_boxes(self.there, self._barrier(number, side), turn & 1)

    # ------------------------------------------------------------------ one block of the others

    def _begin(self, number: Ref, side: int) -> int:
        """Begins the scores of a block (side 0), or the gradients by its weights; says as how many products."""
        sums = (self._scores, self._by_weights)[side]
        own = side * self._own_words, ROWS_OF_A_GROUP
        return self.multiply_rows(sums, own, (self._at(number, side), self._block))

    def _begin_differences(self, number: Ref) -> int:
        return self._begin(number, 1) if self._needs_differences else 0

    def _add(self, number: Ref) -> int:
        """Begins to add up what a block gives to the gradient; says as how many products."""
        return self.add_rows(
            self._sums, self._factors, (self._at(number, 0 if self._needs_differences else 1), self._block)
        )

    def _start_block(self) -> None:
        """Computes the factors of the first block."""
        k, const = self.k, self.body.const
        for barrier in range(len(self._own_names)):
            k.await_boxes(self.there, barrier, 0)
        self._await_block(const(0))
        self._begin(const(0), 0)
        k.await_("products", pending=self._begin_differences(const(0)))
        self._weigh(const(0))
        self._await_block(const(1))
        k.await_("products")
        self._factor(const(0))
        self.release(const(0))

    def _step(self, number: Ref) -> None:
        """Adds up what a block gives, and computes the factors of the next one meanwhile."""
        k = self.k
        with k.if_(self.is_first), k.if_(number + 2 < self._count):
            self.await_released(number)  # nobody needs the block before
            self._copy_block(number + 2)
        self._begin(number + 1, 0)
        pending = self._add(number)
        # No branch comes between products and the wait for them: the assembler then lets nothing overlap.
        k.await_("products", pending=pending + self._begin_differences(number + 1))
        self._weigh(number + 1)
        self._await_block(number + 2)  # a loop, before which exponentials stay
        k.await_("products")
        self._factor(number + 1)
        self.release(number + 1)

    def _factor(self, number: Ref) -> None:
        """Rounds weights, or gradients by scores made of them and of those by weights, to factors."""
        if self._needs_differences:
            self._differences(number)
        self.pack(self._by_weights, self._factors, self._block)


class _ByQueries(_Gradients):
    def _start(self) -> Ref:
        k, sizes = self.k, self.sizes
        # The last queries see the most keys: they begin first.
        tile = sizes["tiles"] - 1 - k.op("urem", self.group, sizes["tiles"])
        self._own_head = k.op("udiv", self.group, sizes["tiles"], hint="head")
        self._first = k.let(tile * ROWS_OF_A_GROUP, "first")
        self._key_head = k.op("udiv", self._own_head, sizes["shared"], hint="key_head")
        self._bases, self._deltas = [], []
        for half in HALVES:
            row = k.let(self._first + self.own_row + 8 * half, "row")
            base, delta = k.variable(0.0, F32, f"base_{half}"), k.variable(0.0, F32, f"delta_{half}")
            with k.if_(row < sizes["n"]):
                at = k.let(statistics_at(k, self._own_head * sizes["padded"] + row), "at")
                k.assign(base, k.load(sizes["statistics"], at))
                k.assign(delta, k.load(sizes["statistics"], at + QUERIES_OF_A_ROW))
            self._bases.append(base)
            self._deltas.append(delta)
        seen = self.signed("m")
        if self._form.causal:
            seen = k.op("minimum", seen, k.convert(self._first, I32) + ROWS_OF_A_GROUP + self._behind)
        seen = k.op("maximum", seen, 0, hint="seen")
        return k.convert(k.op("floordiv", seen + (self._block - 1), self._block), U32, hint="count")

    def _other(self, number: Ref) -> tuple[Ref, Ref]:
        return self._key_head, number * self._block

    def _weigh(self, number: Ref) -> None:
        k, keys = self.k, self.signed("m")
        first_key = k.let(number * self._block + self.thread * 2, "key")
        own_row = self._first + self.own_row
        self.mask(
            self._scores, self._block, self._own_head, lambda half, column: (own_row + 8 * half, first_key + column)
        )
        limit = keys
        if self._form.causal:
            limit = k.op("minimum", keys, k.convert(self._first, I32) + self._behind + 1)
        start = k.convert(number * self._block, I32)
        with k.if_(start + self._block > limit):
            for half in HALVES:
                own = keys
                if self._form.causal:
                    row = k.convert(self._first + self.own_row + 8 * half, I32)
                    own = k.op("minimum", keys, row + self._behind + 1)
                for at, column in self.each(self._block, half):
                    key = k.convert(number * self._block + self.thread * 2 + column, I32)
                    k.store(self._scores, at, k.op("select", key < own, k.load(self._scores, at), float("-inf")))
        for half in HALVES:
            for at, _ in self.each(self._block, half):
                weight = k.op(EXP2, k.op("fma", k.load(self._scores, at), self.sizes["scale"], self._bases[half]))
                k.store(self._scores, at, weight)

    def _differences(self, number: Ref) -> None:
        k = self.k
        for half, delta in zip(HALVES, self._deltas, strict=True):
            for at, _ in self.each(self._block, half):
                by = k.load(self._by_weights, at) - delta
                k.store(self._by_weights, at, k.load(self._scores, at) * by)

    def _store(self) -> None:
        k, sizes = self.k, self.sizes
        for half in HALVES:
            row = k.let(self._first + self.own_row + 8 * half, "row")
            with k.if_(row < sizes["n"]):
                start = self.body.const(0)
                self.store("y", start, self._own_head * sizes["n"] + row, half, self._sums, sizes["factor"])


class _ByKeys(_Gradients):
    """By keys, or by values."""

    def _start(self) -> Ref:
        k, sizes = self.k, self.sizes
        tile = k.op("urem", self.group, sizes["tiles"])
        self._own_head = k.op("udiv", self.group, sizes["tiles"], hint="key_head")
        self._first = k.let(tile * ROWS_OF_A_GROUP, "first")
        self._kept = k.array(U64, 2, hint="kept")
        with k.if_(self.is_first):
            k.init_boxes(self._kept, 2, 1)
        k.barrier()
        first = self.body.const(0)
        if self._form.causal:  # queries before see none of the keys
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

    def _copy_block(self, number: Ref) -> None:
        super()._copy_block(number)
        head, first = self._other(number)
        slot, zero = number & 1, self.body.const(0)
        self.k.copy_box(
            (self.local, slot * _STATISTICS_WORDS + self._statistics_at),
            self.sizes["s"],
            (self.sizes["maps"], (self.sizes["s_map"] + head) * MAP_WORDS),
            column=zero,
            row=self.k.op("udiv", first, self.body.const(QUERIES_OF_A_ROW)) * 2,
            rows=2 * self._block // QUERIES_OF_A_ROW,
            barrier=(self._kept, slot),
        )

    def _await_block(self, number: Ref) -> None:
        super()._await_block(number)
        with self.k.if_(number < self._count):
            self.k.await_boxes(self._kept, number & 1, (number >> 1) & 1)

    def _statistics(self, number: Ref, which: int) -> Iterator[tuple[Ref, list[Ref]]]:
        """The fragments of a block, with the logarithms (0) or deltas (1) of both queries that a work-item has there,
        from where a box has them."""
        k, count = self.k, self._block // 8
        start = k.let((number & 1) * _STATISTICS_WORDS + self._statistics_at, "statistics_at")
        with k.for_(0, count, hint="fragment", unroll=count) as fragment:
            row = (fragment >> 2) * 2 + which
            unit = ((fragment & 3) * 2 + (self.thread >> 1)) ^ row
            at = start + row * ROW_WORDS + unit * 4 + (self.thread & 1) * 2
            words = k.load(self.local, at, count=2, align=8, hint="statistics")
            yield fragment, [k.bitcast(k.op("extract", words, word), F32) for word in range(2)]

    def _weigh(self, number: Ref) -> None:
        k = self.k
        head, start = self._other(number)
        query, own_row = k.let(start + self.thread * 2, "query"), self._first + self.own_row
        self.mask(self._scores, self._block, head, lambda half, column: (query + column, own_row + 8 * half))
        with k.if_(start + self._block > self.sizes["n"]):  # zeros times a key that is infinite would be no numbers
            for half in HALVES:
                for at, column in self.each(self._block, half):
                    is_there = query + column < self.sizes["n"]
                    k.store(self._scores, at, k.op("select", is_there, k.load(self._scores, at), float("-inf")))
        if self._form.causal:
            last = k.convert(start, I32) + self._behind
            with k.if_(k.convert(self._first, I32) + (ROWS_OF_A_GROUP - 1) > last):
                for half in HALVES:
                    key = k.convert(self._first + self.own_row + 8 * half, I32)
                    for at, column in self.each(self._block, half):
                        seen = last + k.convert(self.thread * 2 + column, I32)
                        score = k.load(self._scores, at)
                        k.store(self._scores, at, k.op("select", key > seen, float("-inf"), score))
        for fragment, bases in self._statistics(number, 0):
            for half in HALVES:
                for step, base in enumerate(bases):
                    at = fragment * 4 + (2 * half + step)
                    weight = k.op(EXP2, k.op("fma", k.load(self._scores, at), self.sizes["scale"], base))
                    k.store(self._scores, at, weight)

    def _differences(self, number: Ref) -> None:
        k = self.k
        for fragment, deltas in self._statistics(number, 1):
            for half in HALVES:
                for step, delta in enumerate(deltas):
                    at = fragment * 4 + (2 * half + step)
                    by = k.load(self._by_weights, at) - delta
                    k.store(self._by_weights, at, k.load(self._scores, at) * by)

    def _store(self) -> None:
        k, sizes = self.k, self.sizes
        factor = sizes["factor"] if self._needs_differences else k.const(1.0, F32)
        for half in HALVES:
            row = k.let(self._first + self.own_row + 8 * half, "row")
            with k.if_(row < sizes["m"]):
                start = self.body.const(0)
                self.store("y", start, self._own_head * sizes["m"] + row, half, self._sums, factor)
