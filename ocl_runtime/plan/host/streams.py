"""Streams for the nodes that name none.

Nodes are first joined to chains: a node continues the chain of the last one that it depends on, if nothing continues
that yet. A chain is worth a stream of its own if its work, estimated by the bytes that it moves and the operations that
it does, is much more than the waits that joining it to the others costs; one that is not goes along with the chain that
uses its result, or that it comes from. So tiny kernels are not spread, and an expression of many small steps stays
together. Chains then take the stream that has least to do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ocl_ir.host.conflicts import conflicts
from ocl_ir.host.grammar import Launch
from ocl_ir.host.schedule import Node, Schedule
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.work import operations


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What a device needs, in seconds; and the work that makes a chain worth a stream.

    The rates are those of a quarter of an H200, which reaches 4.1e12 bytes a second in copies and 32e12 multiply-adds
    in a kernel of nothing else, so that smaller GPUs are not far off. Of operations that need each other's results,
    each takes four cycles on NVIDIA's GPUs since Volta, about 2 ns. The other two are no measurements but orders of
    magnitude: what a kernel takes that does nothing, and what is much more than a wait.
    """

    byte: float = 1 / 1e12
    """A byte moved, all work-items at work."""
    operation: float = 1 / 8e12
    """An operation (see `ocl_ir.kernel.work`), all work-items at work."""
    dependent: float = 2e-9
    """An operation of a single work-item: no kernel ends before its first work-item has."""
    start: float = 3e-6
    """A node, whatever it does."""
    chain: float = 50e-6
    """The work that makes a chain worth a stream."""


def place_streams(schedule: Schedule, count: int, costs: Costs | None = None) -> Schedule:
    """The schedule with every node on one of `count` streams; those that name one keep it, modulo their number."""
    costs = costs or Costs()
    seconds = [estimate(node, costs) for node in schedule.nodes]
    named = [None if node.stream is None else node.stream % count for node in schedule.nodes]
    streams = assigned(conflicts(schedule), seconds, named, count, costs)
    nodes = tuple(replace(node, stream=stream) for node, stream in zip(schedule.nodes, streams, strict=True))
    return replace(schedule, nodes=nodes)


def is_worth_streams(schedule: Schedule, costs: Costs | None = None) -> bool:
    """Whether there is so much work that two chains of it could each be worth a stream. To start a node does not count:
    the host takes longer to enqueue it, so that many small ones leave the device idle on one stream already."""
    costs = costs or Costs()
    work = sum(estimate(node, costs) - costs.start for node in schedule.nodes)
    return len(schedule.nodes) > 1 and work >= 2 * costs.chain


def assigned(
    conflicting: Sequence[Sequence[int]],
    seconds: Sequence[float],
    named: Sequence[int | None],
    count: int,
    costs: Costs,
) -> list[int]:
    """A stream for each node. `conflicting` are the earlier nodes that each must come after, `named` the streams that
    some have already."""
    chains = _chains(conflicting, seconds, named, costs)
    load = [0.0] * count
    for stream, work in zip(named, seconds, strict=True):
        if stream is not None:
            load[stream] += work
    members: dict[int, list[int]] = {}
    for number, chain in enumerate(chains):
        if named[number] is None:
            members.setdefault(chain, []).append(number)
    near_of = _named_neighbours(conflicting, named)
    stream_of: dict[int, int] = {}
    streams: list[int] = []
    for number, asked in enumerate(named):
        if asked is None:
            chain = chains[number]
            if chain not in stream_of:
                own = members[chain]
                work = sum(seconds[other] for other in own)
                near = [stream for source in (0, 1) for other in own for stream in near_of[source].get(other, ())]
                small = near and work < costs.chain
                stream_of[chain] = near[0] if small else min(range(count), key=lambda stream: (load[stream], stream))
                load[stream_of[chain]] += work
        streams.append(stream_of[chains[number]] if asked is None else asked)
    return streams


def estimate(node: Node, costs: Costs) -> float:
    """About how many seconds a node takes."""
    nbytes = sum(high - low for low, high in (access.range for access in node.accesses))
    if not isinstance(node.command, Launch):
        return costs.start + costs.byte * nbytes
    return launch_seconds(node.command.kernel, node.args, node.sizes, nbytes, costs)


def launch_seconds(kernel: Kernel, args: Sequence[object], sizes: Sequence[int], nbytes: int, costs: Costs) -> float:
    """About how many seconds a kernel takes over an index space in which it touches so many bytes."""
    each = operations(kernel, args)
    return costs.start + max(costs.byte * nbytes, costs.operation * each * math.prod(sizes), costs.dependent * each)


def _named_neighbours(
    conflicting: Sequence[Sequence[int]], named: Sequence[int | None]
) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """For each node the streams of nodes that name one: of those that use what it made, and of those whose it uses."""
    users: dict[int, list[int]] = {}
    sources: dict[int, list[int]] = {}
    for number, earlier in enumerate(conflicting):
        for other in earlier:
            stream, asked = named[number], named[other]
            if stream is not None:
                users.setdefault(other, []).append(stream)
            if asked is not None:
                sources.setdefault(number, []).append(asked)
    return users, sources


def _chains(
    conflicting: Sequence[Sequence[int]], seconds: Sequence[float], named: Sequence[int | None], costs: Costs
) -> list[int]:
    """For each node the number of its chain, the small ones joined with others; named nodes are not looked at."""
    chain: list[int] = []
    tails: dict[int, int] = {}
    ends: list[float] = []
    for number, earlier in enumerate(conflicting):
        ends.append(seconds[number] + max((ends[before] for before in earlier), default=0.0))
        free = [before for before in earlier if named[before] is None and tails.get(chain[before]) == before]
        chain.append(chain[max(free, key=lambda before: ends[before])] if free and named[number] is None else number)
        tails[chain[number]] = number
    work: dict[int, float] = {}
    for number, head in enumerate(chain):
        if named[number] is None:
            work[head] = work.get(head, 0.0) + seconds[number]
    neighbours = _neighbours(conflicting, chain, named)
    joined = {head: head for head in work}
    small = sorted(
        (head for head in work if work[head] < costs.chain),
        key=lambda head: (work[head], head),
    )
    for head in small:
        if work[_root(joined, head)] >= costs.chain:
            continue
        others = [
            _root(joined, other) for other in neighbours.get(head, []) if _root(joined, other) != _root(joined, head)
        ]
        if others:
            _join(joined, work, head, others[0])
    rest = [head for head in joined if _root(joined, head) == head and work[head] < costs.chain]
    for head in rest[1:]:  # small, and nobody's: together on one stream
        _join(joined, work, head, rest[0])
    return [_root(joined, head) if head in joined else -1 for head in chain]


def _neighbours(
    conflicting: Sequence[Sequence[int]], chain: Sequence[int], named: Sequence[int | None]
) -> dict[int, list[int]]:
    """The chains that use what a chain made, then those that it comes from."""
    users: dict[int, list[int]] = {}
    sources: dict[int, list[int]] = {}
    for number, earlier in enumerate(conflicting):
        for before in earlier:
            if chain[before] != chain[number] and named[before] is None and named[number] is None:
                users.setdefault(chain[before], []).append(chain[number])
                sources.setdefault(chain[number], []).append(chain[before])
    return {root: users.get(root, []) + sources.get(root, []) for root in set(chain)}


def _root(joined: dict[int, int], chain: int) -> int:
    while joined[chain] != chain:
        joined[chain] = joined[joined[chain]]
        chain = joined[chain]
    return chain


def _join(joined: dict[int, int], work: dict[int, float], chain: int, other: int) -> None:
    low, high = sorted((_root(joined, chain), _root(joined, other)))
    if low != high:
        joined[high] = low
        work[low] += work[high]
