"""Which values an evaluation keeps that it computes on its way, so that nobody's history grows.

    for _ in range(1000):
        x = ocl.sin(x) * 1.01
        print(float(ocl.sum(x * x)))

The sum needs `x`, which somebody holds. If it were computed for the sum only, the next turn would compute it again with
all turns before, and another kernel would be built for each turn. So what somebody holds, an array or an expression,
becomes a further result of the kernel that computes it anyway. It stays an expression only where that is cheap for
ever: it is elementwise, computing it again takes less than writing it down, all memory that it is made of is held by
others anyway, and no evaluation has left it out before.

There may be any number of them, since fusion makes several kernels of what one has no arguments for. A bound here would
have some values computed again by one evaluation after the other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from ocl_ir.graph.build import Buffer, Elementwise, Gather, Iota, Movement, Node, Scalar
from ocl_runtime.plan.donation import Holders
from ocl_runtime.plan.structure import Structure
from ocl_runtime.plan.target import Target

_COMPUTED_ON_THE_WAY = (Elementwise, Gather)
"""Nodes that kernels compute without storing them. What moves elements only is a part of its reader's operands, and all
others end kernels, whose results they are."""
_MOST_LOOKED_AT = 64
"""Nodes below a value, beyond which computing it again is not cheap."""


class History(NamedTuple):
    """Nodes that others hold, and that an evaluation computes on its way: those whose values it keeps, with the
    reasons, and those that it leaves out."""

    kept: dict[Node, str]
    left_out: list[Node]


NO_HISTORY = History({}, [])


def history(structure: Structure, holders: Holders, target: Target) -> History:
    """What becomes of the values of an expression that others hold, and that are none of its roots."""
    live = [node for node in holders.direct(structure) if isinstance(node, _COMPUTED_ON_THE_WAY)]
    if not live:
        return NO_HISTORY
    shared = holders.shared(structure)
    kept: dict[Node, str] = {}
    left_out: list[Node] = []
    for node in reversed(live):  # operands first
        why = "an evaluation has computed it before" if node.left_out else _why(node, shared, kept, target)
        if why:
            kept[node] = why
        else:
            left_out.append(node)
    return History(kept, left_out)


def is_live(node: Node) -> bool:
    """Whether an array is just this node."""
    cell = None if node.cell is None else node.cell()
    return cell is not None and cell.node is node


def _why(node: Node, shared: set[int], kept: Collection[Node], target: Target) -> str:
    """Why a value is kept; nothing where it may stay an expression: it is cheap to compute again, and holds no memory
    by that."""
    from ocl_runtime.plan.fusion.cost import choice, operation

    if isinstance(node, Gather):
        return "its elements are taken from computed places"
    operations = loads = 0
    for looked_at, below in enumerate(made_of(node, kept), start=1):
        if looked_at > _MOST_LOOKED_AT:
            return f"it is made of more than {_MOST_LOOKED_AT} nodes"
        if isinstance(below, Buffer):
            loads += 1
            if below.storage is not None and id(below.storage) not in shared and not is_live(below):
                return "nobody else needs the memory that it is made of"
        elif below is not node and _is_in_memory(below, kept):
            loads += 1
        elif isinstance(below, Elementwise):
            operations += operation(below.op, [arg.dtype for arg in below.args])
    preferred = choice(1, operations, loads, 2 * node.dtype.size, target)
    return str(preferred) if preferred.keeps else ""


def made_of(value: Node, kept: Collection[Node]) -> Iterator[Node]:
    """A value and the nodes below it, each once, that are computed with it: down to memory, and to what will be in
    memory."""
    stack, seen = [value], {value}
    while stack:
        node = stack.pop()
        yield node
        if node is value or not _is_in_memory(node, kept):
            stack += [arg for arg in node.args if arg not in seen]
            seen.update(node.args)


def _is_in_memory(node: Node, kept: Collection[Node]) -> bool:
    """Whether a node below a value is, or will be."""
    return node in kept or not isinstance(node, Elementwise | Movement | Scalar | Iota)
