"""Which nodes of a schedule conflict: they touch a common byte, and one of them writes it.

Where scratch memory shares an arena, bytes are those of the arena: what shares memory conflicts like everything else.
Ranges are compared first, then where in a common period the bytes of two accesses lie, which tells columns and tiles of
one memory apart: both of all pairs at once. What is left is compared exactly. What lies behind a write of all its
bytes, or of all that the later one touches, is left out, since that write conflicts with it in turn: whoever comes
after the one comes after the other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocl_ir.host.schedule import Access, Schedule
from ocl_ir.kernel.accesses import WRITE
from ocl_ir.layout import Layout


def conflicts(schedule: Schedule) -> list[list[int]]:
    """For each node the earlier ones that it conflicts with, in order, less those that a write between them hides."""
    conflicting: list[set[int]] = [set() for _ in schedule.nodes]
    for uses in _by_memory(schedule):
        for node, earlier in _pairs(tuple(uses)):
            conflicting[node].add(earlier)
    return [sorted(earlier) for earlier in conflicting]


@lru_cache(maxsize=256)  # the passes over a schedule ask for the same one after the other
def _pairs(uses: tuple[_Use, ...]) -> list[tuple[int, int]]:
    """The (later, earlier) of some memory."""
    pairs: list[tuple[int, int]] = []
    nodes = np.array([use.node for use in uses])
    lows = np.array([use.low for use in uses], dtype=np.int64)
    writes = np.array([use.writes for use in uses])
    combs = _combs(uses)
    hidden = np.zeros(len(uses), dtype=np.bool_)
    shown = np.empty((3, len(uses)), dtype=np.int64)
    """Indices, lows and highs of those earlier ones that are not hidden, and of some that are."""
    count, room = 0, 64
    of_layout: dict[Layout, list[int]] = {}
    for index, use in enumerate(uses):
        before, begins, ends = shown[:, :count]
        meets = before[(begins < use.high) & (ends > use.low)]
        meets = meets[~hidden[meets] & (nodes[meets] != use.node)]
        if not use.writes:
            meets = meets[writes[meets]]
        for earlier in _not_apart(meets, index, lows, combs)[::-1].tolist():
            other = uses[earlier]
            if (use.dense and other.dense) or use.layout.overlaps(other.layout):
                pairs.append((use.node, other.node))
                if other.writes and (other.covers(use) or other.layout == use.layout):
                    break
        same = of_layout.setdefault(use.layout, [])
        if use.writes:
            hidden[same] = True
            same.clear()
            if use.dense:
                hidden[before[(begins >= use.low) & (ends <= use.high)]] = True
        same.append(index)
        shown[:, count] = index, use.low, use.high
        count += 1
        if count == room:
            kept = shown[:, :count][:, ~hidden[shown[0, :count]]]
            count = kept.shape[1]
            shown[:, :count], room = kept, 2 * count + 64
    return pairs


class _Use(NamedTuple):
    """An access of a node to bytes `low … high` of some memory: of them those of the layout."""

    node: int
    low: int
    high: int
    writes: bool
    dense: bool
    layout: Layout

    def covers(self, other: _Use) -> bool:
        """Whether it touches every byte of a range that the other one lies in."""
        return self.dense and self.low <= other.low and self.high >= other.high


def _by_memory(schedule: Schedule) -> list[list[_Use]]:
    """The accesses to each buffer, and to the arena, in the order of nodes; to none that only one node uses, or that
    nobody writes."""
    of_memory: dict[int, list[tuple[int, Access]]] = {}
    written: set[int] = set()
    for number, node in enumerate(schedule.nodes):
        for access in node.accesses:
            memory = -1 if access.buffer in schedule.offsets else access.buffer
            of_memory.setdefault(memory, []).append((number, access))
            if access.mode & WRITE:
                written.add(memory)
    known: dict[tuple[int, int, int], Layout] = {}
    """In bytes, by the identity of a layout, the size of its elements, and where the buffer begins."""
    groups: list[list[_Use]] = []
    for memory, accesses in of_memory.items():
        if memory not in written or accesses[0][0] == accesses[-1][0]:
            continue
        uses: list[_Use] = []
        for number, access in accesses:
            start = schedule.offsets.get(access.buffer, 0)
            key = id(access.layout), access.itemsize, start
            layout = known.get(key)
            if layout is None:
                layout = known[key] = access.in_bytes(start)
            low, high = layout.range()
            uses.append(_Use(number, low, high, bool(access.mode & WRITE), access.layout.is_dense, layout))
        groups.append(uses)
    return groups


_Comb = tuple[NDArray[np.int64], NDArray[np.int64]]


def _combs(uses: Sequence[_Use]) -> list[_Comb]:
    """For each access a period and how many bytes from its lowest one on; it touches nothing else in any period.

    There are several of each where an access has gaps in gaps. A period of 0 is none.
    """
    teeth = [[] if use.dense else _teeth(use.layout) for use in uses]
    levels = zip_longest(*teeth)
    return [
        (
            np.array([0 if tooth is None else tooth[0] for tooth in level], dtype=np.int64),
            np.array(
                [use.high - use.low if tooth is None else tooth[1] for use, tooth in zip(uses, level, strict=True)]
            ),
        )
        for level in levels
    ]


def _teeth(layout: Layout) -> list[tuple[int, int]]:
    """(period, bytes) of one access, those of the longest period first."""
    axes = zip(layout.shape, layout.strides, strict=True)
    steps = sorted((abs(stride), length - 1) for length, stride in axes if stride and length > 1)
    teeth, reach = [], 1
    for index, (step, most) in enumerate(steps):
        period = math.gcd(*(step for step, _ in steps[index:]))
        if period > reach:
            teeth.append((period, reach))
        reach += step * most
    return teeth[::-1]


def _not_apart(
    indices: NDArray[np.intp], index: int, lows: NDArray[np.int64], combs: Sequence[_Comb]
) -> NDArray[np.intp]:
    """Those of the accesses at some indices that may touch a byte of the one at another index, by their combs."""
    for periods, lengths in combs:
        # What has a period has also every divisor of it. In a period that both have, each begins somewhere.
        period = np.maximum(np.gcd(periods[indices], periods[index]), 1)
        way = (lows[indices] - lows[index]) % period
        indices = indices[(way < lengths[index]) | (-way % period < lengths[indices])]
    return indices


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
            for peer, reached in self._clocks[wait].items():
                clock[peer] = max(clock.get(peer, 0), reached)
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

    def position(self, node: int) -> tuple[int, int]:
        """The stream of a node, and which one it is there, counted from 1."""
        return self._positions[node]

    def clock(self, node: int) -> Mapping[int, int]:
        """How many nodes of each stream come before a node."""
        return self._clocks[node]
