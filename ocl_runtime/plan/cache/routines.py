"""What the library itself evaluates again and again: the nodes that a function makes of operands.

`x[mask]` evaluates about twenty nodes, always the same ones. To build them, and to compare them with those that are
known, takes several times as long as to give their program to the device. So where all operands are in memory, the plan
is found by the function and by how they lie, and no node is built.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

from ocl_ir.graph.build import Buffer, Iota, Node, buffer
from ocl_ir.layout import Layout
from ocl_ir.source_line import Where
from ocl_ir.types import DType
from ocl_runtime.plan.donation import DonationIndices
from ocl_runtime.plan.structure import Structure

if TYPE_CHECKING:
    from ocl_runtime.plan.cache.template import Sized, Template
    from ocl_runtime.plan.cache.written import Giving

Routine: TypeAlias = Callable[..., tuple[Node, ...]]
"""Makes nodes of operands, of such that lie alike always the same ones."""

WORTH = 3
"""Evaluations for operands that lie alike after which their plan is kept here."""
_MOST = 64
"""Ways in which operands lie that are known, of all routines."""


class KeptPlans(Protocol):
    """The plans for one structure."""

    used: int

    def donation(self, structure: Structure) -> DonationIndices:
        """What only an expression needs."""

    def fitting(self, sizes: tuple[int, ...], donation: DonationIndices) -> Template | None:
        """A plan that serves sizes."""

    def keeps(self, template: Template) -> bool:
        """Whether this is one of the plans still."""


def key_of(routine: Routine, operands: Sequence[Node]) -> Hashable | None:
    """What tells apart how the operands of a routine lie; None where one is not in memory."""
    key: list[Hashable] = [routine]
    memory: list[Any] = []
    for operand in operands:
        if type(operand) is Buffer:
            memory.append(operand.storage)
            key += operand.dtype, operand.layout, memory.index(operand.storage)
        elif type(operand) is Iota:
            key += operand.dtype, operand.layout
        else:
            return None
    return tuple(key)


class RoutinePlan(NamedTuple):
    """A plan for operands that lie in one way. It writes over none of them, whoever else needs them."""

    kept: KeptPlans
    template: Template
    sized: Sized
    leaves: Sequence[int]
    """The operand that each of the plan's first storages belongs to."""
    numbers: dict[str, Any]
    results: Sequence[tuple[int | None, DType, Layout]]
    """Of each, the number of its storage, if it has elements, and how it lies there."""

    @classmethod
    def of(
        cls, structure: Structure, kept: KeptPlans, operands: Sequence[Node], roots: Sequence[int]
    ) -> RoutinePlan | None:
        """The plan that a structure over operands has been evaluated by, whose results are these roots of it; None
        where there is something special about it."""
        from ocl_runtime.plan.cache.evaluation import passed_number  # noqa: PLC0415  # arrays import this module

        template = kept.fitting(structure.sizes, kept.donation(structure))
        if template is None or template.donated or template.taken:
            return None
        sized = template.sized(structure)
        lies = {index: (slot, dtype, layout) for index, slot, dtype, layout in sized.computed}
        results = [lies[root] for root in roots if root in lies]
        are_new = all(slot is None or slot >= len(structure.storages) for slot, _, _ in results)
        if sized.ready is None or sized.pieces or not are_new or len(results) < len(roots):
            return None
        memory = [operand.storage if type(operand) is Buffer else operand for operand in operands]
        leaves = [memory.index(storage) for storage in structure.storages]
        numbers = {name: passed_number(structure.scalars[index], dtype) for name, index, dtype in template.numbers}
        return cls(kept, template, sized, leaves, numbers, results)

    def evaluate(self, operands: Sequence[Any], executor: Giving, line: Where) -> tuple[Buffer, ...]:
        """Starts the program over operands, for a Python line. Raises `OutOfMemoryError` and `NoRoomYetError` before
        anything has been given to the device."""
        sized, memory = self.sized, executor.device_memory
        stream, allocate = memory.stream(), memory.allocate
        storages = [operands[number].storage for number in self.leaves]
        storages += [allocate(nbytes, line, stream, wait=False) for nbytes, _ in sized.memory]
        parts = [None if slot is None else (storages[slot], 0) for slot in self.template.slots]
        parts.append((allocate(sized.arena, line, stream, wait=False), 0) if sized.arena else None)
        executor.give(sized.ready, parts, [line] * len(sized.askers), self.numbers, stream)
        return tuple(
            [
                buffer(None if slot is None else storages[slot], dtype, layout, line)
                for slot, dtype, layout in self.results
            ]
        )


class Known:
    """How often a routine was evaluated over operands that lie in one way, and when last; its plan, once that is
    kept."""

    __slots__ = ("count", "plan", "used")

    def __init__(self) -> None:
        self.count = self.used = 0
        self.plan: RoutinePlan | None = None


class Routines:
    """The routines of one executor; `hits` counts evaluations by a plan that was kept here, `clock` numbers the uses of
    plans."""

    def __init__(self, clock: Iterator[int]) -> None:
        self.hits = 0
        self._clock: Final = clock
        self._known: dict[Hashable, Known] = {}
        self._lock = threading.Lock()
        """Held to change which are known: plans are dropped by threads that do not hold the registry's lock."""

    def plan(self, key: Hashable) -> RoutinePlan | None:
        """The plan for operands that lie so; it is used now."""
        known = self._known.get(key)
        plan = None if known is None else known.plan
        if known is not None and plan is not None:
            known.used = plan.kept.used = next(self._clock)
        return plan

    def is_due(self, key: Hashable) -> bool:
        """Counts an evaluation without such a plan; says whether there have been enough of them to keep it."""
        with self._lock:
            known = self._known.get(key)
            if known is None:
                if len(self._known) >= _MOST:
                    del self._known[min(self._known, key=lambda other: self._known[other].used)]
                known = self._known[key] = Known()
            known.used = next(self._clock)
            known.count += 1
            return known.count == WORTH

    def keep(self, key: Hashable, plan: RoutinePlan | None) -> None:
        """From now on operands that lie so take this plan, if there is one, and nobody has dropped it meanwhile."""
        with self._lock:
            known = self._known.get(key)
            if known is not None and plan is not None:
                if plan.kept.keeps(plan.template):
                    known.plan = plan
                else:
                    known.count = 0  # it may be worth another one later

    def forget(self, templates: Collection[Template]) -> None:
        """These plans are kept no more."""
        with self._lock:
            self._forget(templates)

    def _forget(self, templates: Collection[Template]) -> None:
        for key, known in list(self._known.items()):
            if known.plan is not None and known.plan.template in templates:
                del self._known[key]
