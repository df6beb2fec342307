"""The proof that a schedule has no race: every two conflicting nodes are ordered by streams and waits."""

from __future__ import annotations

from collections.abc import Sequence

from ocl_ir.errors import VerifyError
from ocl_ir.host.conflicts import Order, conflicts
from ocl_ir.host.schedule import Node, Schedule

_AROUND = 10


def verify_order(schedule: Schedule) -> None:
    """Raises `VerifyError` for the first pair of conflicting nodes that nothing orders."""
    pair = unordered(schedule, conflicts(schedule))
    if pair is not None:
        earlier, later = pair
        raise VerifyError(
            "conflicting_nodes_are_ordered",
            f"nothing orders node {later} ({schedule.nodes[later].what}) after node {earlier} "
            f"({schedule.nodes[earlier].what}), and they touch the same memory",
            place=text(schedule, around=later),
            remedy=f"let node {later} wait for node {earlier}, or put both on one stream",
        )


def unordered(schedule: Schedule, conflicting: Sequence[Sequence[int]]) -> tuple[int, int] | None:
    """The first pair of conflicting nodes without an order, earlier and later."""
    order = Order()
    for number, node in enumerate(schedule.nodes):
        assert node.stream is not None, "streams are chosen before their order is verified"
        order.add(node.stream, node.waits)
        for earlier in conflicting[number]:
            if not order.before(earlier, number):
                return earlier, number
    return None


def text(schedule: Schedule, around: int | None = None) -> str:
    """A line for each node, or for those around one, which is marked."""
    nodes = range(len(schedule.nodes))
    if around is not None:
        nodes = range(max(0, around - _AROUND), min(len(schedule.nodes), around + _AROUND + 1))
    return "\n".join(
        f"{'>' if number == around else ' '} {number:4} {_line(schedule, schedule.nodes[number])}" for number in nodes
    )


def touches(schedule: Schedule, node: Node) -> list[str]:
    """What a node does with memory, in words: one for each access."""
    lines = []
    for access in node.accesses:
        low, high = access.range
        does = ("", "reads", "writes", "changes")[access.mode]
        gaps = "" if access.layout.is_dense else " with gaps"
        lines.append(f"{does} {schedule.buffers[access.buffer].name}[{low}…{high}]{gaps}")
    return lines


def _line(schedule: Schedule, node: Node) -> str:
    waits = f" after {', '.join(map(str, node.waits))}" if node.waits else ""
    return f"stream {node.stream}{waits}: {node.what}: {', '.join(touches(schedule, node))}"
