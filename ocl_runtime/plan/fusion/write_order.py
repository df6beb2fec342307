"""Groups in an order in which what reads memory comes before who writes over a part of it, where it can.

The order in which an expression is walked puts a write behind what it needs itself. What else reads the memory as it
was may come later, and the write would then have to go into a copy. So the readers, with what they need, go first,
unless they need the write.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from ocl_ir.graph.build import Buffer, Node
from ocl_runtime.plan.fusion.groups import Group
from ocl_runtime.plan.fusion.values import Leaf

_MOST_BEFORE = 64
"""Groups that are moved in front of a write for one of its readers."""


def readers_first(groups: Sequence[Group]) -> list[Group]:
    """The groups, of which each comes behind those that it reads."""
    if not any(group.base is not None for group in groups):
        return list(groups)
    number = {group.root: index for index, group in enumerate(groups)}
    readers: dict[Hashable, list[int]] = {}
    """By memory, the groups that read it, in order."""
    for index, group in enumerate(groups):
        for leaf in group.leaves:
            readers.setdefault(memory_of(leaf), []).append(index)
    done: set[int] = set()
    order: list[Group] = []

    def put(index: int) -> None:
        done.add(index)
        order.append(groups[index])

    for index, group in enumerate(groups):
        if index in done:
            continue
        if group.base is not None:
            for reader in readers[memory_of(group.base)]:
                if reader != index and reader not in done and groups[reader].base is None:
                    before = _before(reader, groups, number, done)
                    if before is not None and index not in before:
                        for needed in sorted(before):
                            put(needed)
        put(index)
    return order


def memory_of(leaf: Leaf) -> Hashable:
    """What says whether two leaves are in the same memory."""
    source = leaf.source
    return source if leaf.computed or not isinstance(source, Buffer) else id(source.storage)


def _before(reader: int, groups: Sequence[Group], number: dict[Node, int], done: set[int]) -> set[int] | None:
    """A group with those that have to come before it and have not yet; None where they are many."""
    group_and_needed, stack = {reader}, [reader]
    while stack:
        for leaf in groups[stack.pop()].leaves:
            needed = number.get(leaf.source) if leaf.computed else None
            if needed is not None and needed not in done and needed not in group_and_needed:
                if len(group_and_needed) >= _MOST_BEFORE:
                    return None
                group_and_needed.add(needed)
                stack.append(needed)
    return group_and_needed
