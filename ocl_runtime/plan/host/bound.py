"""The least memory that any plan needs: the heaviest set of buffers of which no two may share a byte.

One buffer *precedes* another if it is over, in every order that streams and waits permit, before the other begins.
That is a partial order, and buffers may share memory only if one precedes the other; so those of an antichain all lie
side by side. The heaviest antichain weighs as much as the lightest cover by chains (Dilworth, with weights), and that
is a maximum flow: each byte of a buffer may be given on to at most one byte of later ones, and what is not got from
earlier ones is new.

An arena may still have to be larger: buffers have to be in one piece each, and stay where they are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence, Set

_MOST_BUFFERS = 5_000
_MOST_EDGES = 500_000
"""How many edges searching for the flow may look at: a pair of buffers, directly one after the other, is one each time
that what can be given on is measured."""


def heaviest(sizes: Mapping[int, int], apart: Mapping[int, Set[int]], begins: Mapping[int, int]) -> int | None:
    """The bytes of the heaviest set of buffers that are all apart; None where finding out would take long.

    `begins` are numbers that no buffer has lower than one that precedes it.
    """
    if len(sizes) > _MOST_BUFFERS:
        return None
    buffers = sorted(sizes, key=lambda buffer: begins[buffer])
    weights = [sizes[buffer] for buffer in buffers]
    flow = _flow(weights, _steps(buffers, apart))
    return None if flow is None else sum(weights) - flow


def _steps(buffers: Sequence[int], apart: Mapping[int, Set[int]]) -> list[list[int]]:
    """For each buffer the places of those that it precedes with none in between."""
    number_of = {buffer: number for number, buffer in enumerate(buffers)}
    every = (1 << len(buffers)) - 1
    after: list[int] = []
    for number, buffer in enumerate(buffers):
        shut = sum(1 << number_of[other] for other in apart[buffer])
        after.append((every >> (number + 1) << (number + 1)) & ~shut)
    all_steps = []
    for behind in after:
        left, steps = behind, []
        while left:
            lowest = (left & -left).bit_length() - 1
            steps.append(lowest)
            left &= ~(after[lowest] | 1 << lowest)
        all_steps.append(steps)
    return all_steps


def _flow(weights: Sequence[int], steps: Sequence[Sequence[int]]) -> int | None:
    """The most bytes that can be given on (Dinic's algorithm), None where that takes long.

    Each buffer has an end that gives and one that gets; what it gets beyond its own need it can pass on to the first.
    """
    count = len(weights)
    source, sink = 2 * count, 2 * count + 1
    ends: list[int] = []
    room: list[int] = []
    edges: list[list[int]] = [[] for _ in range(2 * count + 2)]

    def join(node: int, other: int, most: int) -> None:
        edges[node].append(len(ends))
        edges[other].append(len(ends) + 1)
        ends.extend((other, node))
        room.extend((most, 0))

    whole = sum(weights)
    for number, weight in enumerate(weights):
        join(source, number, weight)
        join(count + number, sink, weight)
        join(count + number, number, whole)
        for later in steps[number]:
            join(number, count + later, whole)
    total = 0
    for _ in range(_MOST_EDGES // max(1, len(ends) // 2)):
        level = _levels(source, sink, edges, ends, room)
        if level[sink] < 0:
            return total
        total += _blocking(source, sink, edges, ends, room, level)
    return None


def _levels(
    source: int, sink: int, edges: Sequence[Sequence[int]], ends: Sequence[int], room: Sequence[int]
) -> list[int]:
    """How many edges with room lead to each end, -1 where none do."""
    level = [-1] * len(edges)
    level[source] = 0
    left = deque([source])
    while left and level[sink] < 0:
        node = left.popleft()
        for edge in edges[node]:
            if room[edge] and level[ends[edge]] < 0:
                level[ends[edge]] = level[node] + 1
                left.append(ends[edge])
    return level


def _blocking(
    source: int, sink: int, edges: Sequence[Sequence[int]], ends: Sequence[int], room: list[int], level: Sequence[int]
) -> int:
    """Fills shortest ways until none has room; gives how much that was."""
    next_ = [0] * len(edges)
    path: list[int] = []
    total, node = 0, source
    while True:
        if node == sink:
            most = min(room[edge] for edge in path)
            for edge in path:
                room[edge] -= most
                room[edge ^ 1] += most
            total += most
            full = next(number for number, edge in enumerate(path) if not room[edge])
            node = ends[path[full] ^ 1]
            del path[full:]
            continue
        while next_[node] < len(edges[node]):
            edge = edges[node][next_[node]]
            if room[edge] and level[ends[edge]] == level[node] + 1:
                path.append(edge)
                node = ends[edge]
                break
            next_[node] += 1
        else:
            if not path:
                return total
            node = ends[path.pop() ^ 1]
            next_[node] += 1
