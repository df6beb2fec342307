"""An expression as it is planned for all that are alike: over memory, sizes and scalars that are only numbered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from ocl_ir.graph.build import Node
from ocl_ir.guards import Given, Guards
from ocl_ir.source_line import Where
from ocl_runtime.plan.cache.slots import leaf_slots, named
from ocl_runtime.plan.donation import DonationIndices
from ocl_runtime.plan.structure import Structure

if TYPE_CHECKING:
    from ocl_runtime.plan.planner import Fusion


class Unplanned:
    """An expression over slots, to be planned: made under the registry's lock, and then nobody else's. Leaves may have
    `names`; `watch_fusion` is as executors have it."""

    def __init__(
        self,
        structure: Structure,
        donation: DonationIndices,
        watch_fusion: Callable[[Fusion], None] | None = None,
        names: Mapping[Node, str] = MappingProxyType({}),
    ) -> None:
        self.donation = donation
        self.into = structure.into
        self.sizes = structure.sizes
        self.guards = Guards()
        first = structure.first_offset
        sizes = [
            self.guards.size(name, number) if index < first else self.guards.apart(name, number)
            for index, (name, number) in enumerate(named(structure.sizes).items())
        ]
        self.leaves = leaf_slots(structure.storages)
        scalars = [Given(index) for index in range(len(structure.scalars))]
        self.nodes = structure.again(self.leaves, sizes, scalars)
        self.roots = [self.nodes[index] for index in structure.roots]
        self.copied = [self.nodes[index] for index in structure.copied]
        self.names = {
            node: names[asked] for node, asked in zip(self.nodes, structure.nodes, strict=True) if asked in names
        }
        self.watch_fusion = watch_fusion
        if watch_fusion is not None:
            self.watch_fusion = partial(_tell, watch_fusion, [node.line for node in structure.nodes], structure.scalars)


def _tell(
    watch_fusion: Callable[[Fusion], None], lines: Sequence[Where], scalars: Sequence[object], fusion: Fusion
) -> None:
    """Tells of nodes that are numbered, with what these numbers are."""
    watch_fusion(replace(fusion, lines=lines, scalars=scalars))
