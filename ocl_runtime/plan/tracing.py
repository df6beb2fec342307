"""Who writes down what would be computed, instead of computing it: capture of a Python function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ocl_ir.graph.build import Buffer, Node, Storage
from ocl_ir.source_line import Where
from ocl_runtime.plan.registry import Cell

if TYPE_CHECKING:
    from ocl_ir.kernel.grammar import Kernel
    from ocl_runtime.plan.launch import Argument, Plan


class Tracer(Protocol):
    """Takes the place of a runtime for what computes."""

    def allocate(self, nbytes: int, where: Where) -> Storage:
        """Memory that is only planned."""

    def run(self, plan: Plan) -> None:
        """Launches that are only written down."""

    def launch(
        self,
        kernel: Kernel,
        args: Sequence[Argument | int | float],
        global_size: tuple[int, ...],
        group_size: tuple[int, ...] | None,
    ) -> None:
        """One launch of a kernel by hand."""

    def compute(self, nodes: Sequence[Node]) -> list[Buffer]:
        """What nodes will be computed to."""

    def compute_into(self, wanted: list[Node], cell: Cell, *, target: Callable[[], Buffer]) -> bool:
        """What a single node will be computed to, in a part of the memory of a cell, unless others need what lies
        there."""

    def takes(self, cell: Cell) -> None:
        """A kernel is about to write into what a cell is: it gets memory of its own, unless nobody else needs what
        lies there."""

    def owns(self, cell: Cell) -> bool:
        """Whether an array was made inside of the function, so that nobody else sees what it becomes."""

    def writes(self, cell: Cell) -> None:
        """An array is about to be written."""

    def has_no_values(self, storage: Storage) -> bool:
        """Whether there is no memory yet behind a storage, or what is written there is only written down."""


tracer: ContextVar[Tracer | None] = ContextVar("ocl_runtime_tracer", default=None)
"""The one that is at work in this thread."""


class Question(NamedTuple):
    """What is asked of memory that has no values while a function is captured, and what is written instead."""

    fact: str
    remedy: str


_VALUE = Question("a value", "compute with arrays only: where(condition, a, b) for an if, a result for a float")

question: ContextVar[Question] = ContextVar("ocl_runtime_question", default=_VALUE)
"""The one that is asked in this thread."""


@contextmanager
def asking(asked: Question) -> Iterator[None]:
    """Values are waited for that the user has not asked for."""
    token = question.set(asked)
    try:
        yield
    finally:
        question.reset(token)
