"""Which nodes of a schedule conflict: they touch a common byte, and one of them writes it.

Where scratch memory shares an arena, bytes are those of the arena: what shares memory conflicts like everything else.
Ranges are compared first; two accesses with gaps are compared exactly. What lies behind a write of all the bytes is
left out, since that write conflicts with it in turn: whoever comes after the one comes after the other.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from ir.accesses import WRITE
from ir.schedule import Access, Schedule


def conflicts(schedule: Schedule) -> list[list[int]]:
    """For each node the earlier ones that it conflicts with, in order, back to a write of all that it touches."""
    found: list[set[int]] = [set() for _ in schedule.nodes]
    for uses in _by_memory(schedule).values():
        nodes = np.array([node for node, _, _, _ in uses])
        lows = np.array([low for _, low, _, _ in uses], dtype=np.int64)
        highs = np.array([high for _, _, high, _ in uses], dtype=np.int64)
        writes = np.array([bool(access.mode & WRITE) for _, _, _, access in uses])
        for place, (node, low, high, _) in enumerate(uses):
            meets = (lows[:place] < high) & (highs[:place] > low) & (nodes[:place] != node)
            if not writes[place]:
                meets &= writes[:place]
            for earlier in np.flatnonzero(meets)[::-1]:
                other = uses[earlier]
                if _overlap(other, uses[place]):
                    found[node].add(other[0])
                    if writes[earlier] and other[1] <= low and other[2] >= high and other[3].layout.is_dense:
                        break
    return [sorted(one) for one in found]


_Use = tuple[int, int, int, Access]


def _by_memory(schedule: Schedule) -> dict[Hashable, list[_Use]]:
    """The accesses to each buffer, and to the arena, as (node, low byte, high byte, access) in the order of nodes."""
    found: dict[Hashable, list[_Use]] = {}
    for number, node in enumerate(schedule.nodes):
        for access in node.accesses:
            start = schedule.offsets.get(access.buffer)
            low, high = access.range
            memory: Hashable = access.buffer if start is None else "arena"
            found.setdefault(memory, []).append((number, low + (start or 0), high + (start or 0), access))
    return found


def _overlap(earlier: _Use, later: _Use) -> bool:
    access, other = later[3], earlier[3]
    if access.layout.is_dense and other.layout.is_dense:
        return True
    starts = (one[1] - one[3].range[0] for one in (later, earlier))
    one, two = (use.in_bytes(start) for use, start in zip((access, other), starts, strict=True))
    return one.overlaps(two)


class Order:
    """What comes before what, by the order of streams and by waits: a vector clock for each node."""

    def __init__(self) -> None:
        self._positions: list[tuple[int, int]] = []
        self._clocks: list[dict[int, int]] = []
        self._known: dict[int, dict[int, int]] = {}

    def add(self, stream: int, waits: Sequence[int]) -> None:
        """The next node."""
        clock = dict(self._known.get(stream, {}))
        for wait in waits:
            other, position = self._positions[wait]
            for one, reached in self._clocks[wait].items():
                clock[one] = max(clock.get(one, 0), reached)
            clock[other] = max(clock.get(other, 0), position)
        position = clock.get(stream, 0) + 1
        self._positions.append((stream, position))
        self._clocks.append(clock)
        self._known[stream] = {**clock, stream: position}

    def knows(self, stream: int, node: int) -> bool:
        """Whether a node comes before what the stream is given next."""
        other, position = self._positions[node]
        return self._known.get(stream, {}).get(other, 0) >= position

    def before(self, node: int, later: int) -> bool:
        """Whether a node comes before another one."""
        stream, position = self._positions[node]
        return self._clocks[later].get(stream, 0) >= position
