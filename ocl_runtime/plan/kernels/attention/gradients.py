"""What the kernels of the gradients of attention have in common: the walk along blocks of the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ocl_ir.kernel.asynchronous import ROWS
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import DType
from ocl_runtime.plan.kernels.attention.parts import ROW_WORDS, Parts
from ocl_runtime.plan.kernels.form import Spec

By: TypeAlias = Literal["queries", "keys", "values"]
WARPGROUPS = 2
ROWS_OF_A_GROUP = WARPGROUPS * ROWS
_OWN: dict[By, str] = {"queries": "qg", "keys": "kv", "values": "k"}
"""The matrices of which a group has rows of its own; blocks of the two others come."""
_ROOM: dict[By, tuple[int, int]] = {"queries": (3, 2), "keys": (3, 2), "values": (2, 3)}
"""Blocks of both others in local memory: the next one, the present one, and the last one of what is added up."""
STATISTICS_WORDS = 256
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


class Gradients(Parts):
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
        """The kernel."""
        own = len(self._own_names)
        self._statistics_at = own * self._own_words + sum(self._room) * self._block_words
        statistics = 0 if self._form.by == "queries" else 2 * STATISTICS_WORDS
        self.begin(self._statistics_at + statistics, own + sum(self._room))
        k, const = self.k, self.body.const
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
        side = 0 if self._needs_differences else 1
        return self.add_rows(self._sums, self._factors, (self._at(number, side), self._block))

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
