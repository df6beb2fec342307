"""What fusion decides on the way from an expression to kernels, noted where somebody looks on; nobody else asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ocl_ir.graph.build import Node


class Cut(NamedTuple):
    """How a group was cut out of an expression: the operations that it computes besides a reduction, scan, product or
    write at its end, and why it leaves the nodes at its edge to other groups."""

    operations: frozenset[Node]
    edge: Mapping[Node, str]


class Attempt(NamedTuple):
    """An attempt to make two kernels one, each given by the results of its groups: the rule that asked for it, and what
    forbade it, if anything did."""

    rule: str
    first: frozenset[Node]
    second: frozenset[Node]
    reason: str


@dataclass(slots=True)
class Decisions:
    """The cut of each group, by its result, and all attempts in their order."""

    cuts: dict[Node, Cut] = field(default_factory=dict)
    attempts: list[Attempt] = field(default_factory=list)
