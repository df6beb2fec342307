"""Memory that a plan only numbers, and who asked for what in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from ocl_ir.source_line import Where
from ocl_runtime.plan.kernels.cache import KernelCache
from ocl_runtime.plan.kernels.lowering import Choices
from ocl_runtime.plan.target import Target

if TYPE_CHECKING:
    from ocl_runtime.plan.planner import Fusion

Asker: TypeAlias = int | Where
"""The Python line that asked for something, or the number of the node that has it."""


class Slot:
    """Memory in a plan: number `index` of what it is bound to."""

    __slots__ = ("__weakref__", "index", "nbytes", "where")

    def __init__(self, index: int, nbytes: int = 0, where: Where = "") -> None:
        self.index = index
        self.nbytes = nbytes
        self.where = where


def leaf_slots(storages: Sequence[object]) -> list[Slot]:
    """Slots for the leaves of an expression, as large as the memory that they lie in."""
    return [Slot(index, getattr(storage, "nbytes", 0)) for index, storage in enumerate(storages)]


@dataclass
class Slots:
    """What the planner needs of an executor; its memory is slots."""

    target: Target
    kernels: KernelCache
    first: int = 0
    slots: list[Slot] = field(default_factory=list)
    watch_fusion: Callable[[Fusion], None] | None = None
    choices: Choices | None = None

    def allocate(self, nbytes: int, where: Where = "") -> Slot:
        """A slot that is allocated when the plan runs."""
        slot = Slot(self.first + len(self.slots), nbytes, where)
        self.slots.append(slot)
        return slot


def asker(where: Where) -> Asker:
    """Who asked for something that a plan says the line of."""
    return int(where) if isinstance(where, str) and where.isdigit() else where


def named(sizes: Sequence[int]) -> dict[str, int]:
    """The sizes of a structure, by the names that they have in formulas."""
    return dict(zip(_names(len(sizes)), sizes, strict=True))


@cache  # asked for every plan that an expression may have
def _names(count: int) -> list[str]:
    return [f"n{index}" for index in range(count)]
