"""The fewest waits that order every conflict.

Nodes are taken in the order of the program. What conflicts with an earlier node on another stream, and is not known to
come after it by the stream's vector clock, waits for it, unless another of its waits implies that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ocl_ir.host.conflicts import Order, conflicts
from ocl_ir.host.schedule import Schedule


def place_waits(schedule: Schedule) -> Schedule:
    """The schedule with the waits of every node."""
    return with_waits(schedule, conflicts(schedule))


def with_waits(schedule: Schedule, conflicting: Sequence[Sequence[int]]) -> Schedule:
    """The same for conflicts that are known already."""
    order, nodes = Order(), []
    for node, earlier in zip(schedule.nodes, conflicting, strict=True):
        assert node.stream is not None, "streams are chosen before waits"
        newest: dict[int, int] = {}
        for before in earlier:
            stream = schedule.nodes[before].stream
            assert stream is not None
            if stream != node.stream and not order.knows(node.stream, before):
                newest[stream] = before
        needed = [
            before
            for before in newest.values()
            if not any(order.before(before, other) for other in newest.values() if other != before)
        ]
        nodes.append(replace(node, waits=tuple(sorted(needed))))
        order.add(node.stream, needed)
    return replace(schedule, nodes=tuple(nodes))
