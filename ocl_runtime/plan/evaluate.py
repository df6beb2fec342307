"""Computes nodes, and lets everything that was made of them know."""

from __future__ import annotations

import weakref
from collections.abc import Sequence

from ir.graph import Buffer, Node, buffer, walk
from ocl_runtime.plan.executor import Executor
from ocl_runtime.plan.explain import explain
from ocl_runtime.plan.plans import Slots
from ocl_runtime.plan.registry import Cell


def evaluate(nodes: list[Node], cells: Sequence[Cell | None], executor: Executor) -> list[Buffer]:
    """The results of nodes, which become the cells that were just these nodes; None for a node that no cell is.

    The list is emptied: whether somebody else holds a node decides who has to hear of its result.
    """
    registry = executor.registry
    with registry.lock:
        roots = registry.current(nodes)
        nodes.clear()
        wanted = list(dict.fromkeys(root for root in roots if not isinstance(root, Buffer)))
        spare = registry.spare(wanted, [cell for cell in cells if cell is not None])
        planned = executor.plans.plan(wanted, spare, executor)
        executor.ready(planned)
        try:
            executor.run(planned)
        finally:
            # Memory that was written over gets another identity, also where not all of it was: nodes that still name
            # it must not be computed.
            anew = {id(storage): executor.handed_over(storage) for storage in planned.taken}
        made = {node: _anew(result, anew) for node, result in planned.computed.items()}
        results = [root if isinstance(root, Buffer) else made[root] for root in roots]
        for cell, result in zip(cells, results, strict=True):
            if cell is not None:
                cell.node = result
        known = [(weakref.ref(node), result) for node, result in made.items()]
        del planned, made, wanted, roots, spare
        registry.replace(known)
        return results


def look(nodes: Sequence[Node], cells: Sequence[Cell], executor: Executor) -> str:
    """What `evaluate` would do, as text."""
    registry = executor.registry
    with registry.lock:
        roots = [root for root in dict.fromkeys(registry.current(nodes)) if not isinstance(root, Buffer)]
        spare = registry.spare(roots, cells)
        planned = executor.plans.plan(roots, spare, Slots(executor.target, executor.kernels))
        return explain(planned, [node.storage for node in walk(*roots) if isinstance(node, Buffer)])


def _anew(result: Buffer, anew: dict[int, object]) -> Buffer:
    storage = anew.get(id(result.storage))
    return result if storage is None else buffer(storage, result.dtype, result.layout)
