"""One sweep over scratch buffers in the order in which they begin: best-fit offsets, or the pairs that interfere.

A buffer *precedes* another if each of its last uses comes before each of the other's first uses, by streams and by the
waits that the data need; otherwise the two interfere. Vector clocks tell: a buffer ends at a position of each stream
that uses it, and when another one begins, so many nodes of each stream are over. Buffers that begin on the same streams
know more and more, so a view of those streams passes each end once, and the sweep never compares pairs of buffers. It
takes memory from the tightest gap between the buffers that the view does not know to be over.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ocl_ir.host.conflicts import Order, conflicts
from ocl_ir.host.schedule import Schedule
from ocl_runtime.plan.host.waits import with_waits

_END = 1 << 62
"""A byte behind every arena."""


class Span(NamedTuple):
    """When a buffer is in use."""

    streams: tuple[int, ...]
    """Where it begins."""
    begin: Mapping[int, int]
    """How many nodes of each stream are over before its first uses."""
    end: Sequence[tuple[int, int]]
    """The stream and the position there of each last use, the first position being 1."""

    def precedes(self, later: Span) -> bool:
        """Whether it is over before the other begins, in every order that streams and waits permit."""
        return all(position <= later.begin.get(stream, 0) for stream, position in self.end)


def spans_of(schedule: Schedule) -> dict[int, Span]:
    """When each scratch buffer is in use by the order that the data give, in the order of first uses."""
    order = Order()
    uses: dict[int, dict[int, tuple[int, int]]] = {buffer: {} for buffer in schedule.lives}
    """The first and the last node on each stream."""
    for number, node in enumerate(with_waits(schedule, conflicts(schedule)).nodes):
        assert node.stream is not None
        order.add(node.stream, node.waits)
        for access in node.accesses:
            if access.buffer in uses:
                first, _ = uses[access.buffer].get(node.stream, (number, number))
                uses[access.buffer][node.stream] = first, number
    spans = {}
    for buffer in sorted(uses, key=lambda buffer: schedule.lives[buffer][0]):
        start = schedule.lives[buffer][0]
        begins = {
            stream: order.clock(first)
            for stream, (first, _) in uses[buffer].items()
            if first == start or not order.before(start, first)
        }
        end = [order.position(last) for _, last in uses[buffer].values()]
        spans[buffer] = Span(tuple(sorted(begins)), _least(list(begins.values())), end)
    return spans


def program_order(lives: Mapping[int, tuple[int, int]]) -> dict[int, Span]:
    """When each buffer is in use, were all nodes on one stream; in the order of first uses."""
    buffers = sorted(lives, key=lambda buffer: lives[buffer][0])
    return {buffer: Span((0,), {0: lives[buffer][0]}, [(0, lives[buffer][1] + 1)]) for buffer in buffers}


def best_fit(sizes: Mapping[int, int], spans: Mapping[int, Span]) -> tuple[dict[int, int], int]:
    """The offset of each buffer, and the bytes of all."""
    views = _views(spans)
    spaces = {streams: _Space() for streams in views}
    offsets: dict[int, int] = {}
    for buffer, span in spans.items():
        space = spaces[span.streams]
        begun, ended = views[span.streams].advance(buffer)
        for others, change in ((begun, 1), (ended, -1)):
            for other in others:
                space.hold(offsets[other], offsets[other] + sizes[other], change)
        offsets[buffer] = space.fit(sizes[buffer])
    return offsets, max((low + sizes[buffer] for buffer, low in offsets.items()), default=0)


def interference(spans: Mapping[int, Span], most: int) -> dict[int, set[int]] | None:
    """For each buffer those that it interferes with; None where finding out takes a look at more than `most` pairs."""
    views = _views(spans)
    present: dict[tuple[int, ...], set[int]] = {streams: set() for streams in views}
    apart: dict[int, set[int]] = {}
    for buffer, span in spans.items():
        others = present[span.streams]
        begun, ended = views[span.streams].advance(buffer)
        others.update(begun)
        others.difference_update(ended)
        most -= len(others)
        if most < 0:
            return None
        apart[buffer] = {other for other in others if not spans[other].precedes(span)}
        for other in apart[buffer]:
            apart[other].add(buffer)
    return apart


class _View:
    """What the buffers that begin on the same streams know of others, one buffer after the other."""

    def __init__(self, spans: Mapping[int, Span], ends: Mapping[int, Sequence[tuple[int, int]]]) -> None:
        self.known: dict[int, Mapping[int, int]] = {}
        """For each of the buffers how much of each stream is over, as far as all behind it know that, too."""
        self._order = list(spans)
        self._begun = 0
        self._ends = ends
        self._passed = dict.fromkeys(ends, 0)
        self._left = {buffer: len(span.end) for buffer, span in spans.items()}

    def advance(self, buffer: int) -> tuple[list[int], list[int]]:
        """Of the buffers before this one those that begin behind the view's last one and may not be over, and those of
        earlier ones that are over by now."""
        ended = []
        for stream, known in self.known[buffer].items():
            ends, passed = self._ends.get(stream, ()), self._passed.get(stream, 0)
            while passed < len(ends) and ends[passed][0] <= known:
                other = ends[passed][1]
                self._left[other] -= 1
                if not self._left[other]:
                    ended.append(other)
                passed += 1
            self._passed[stream] = passed
        first = self._begun
        self._begun = self._order.index(buffer, first)
        new = self._order[first : self._begun]
        over = {*new}.intersection(ended)
        return [other for other in new if other not in over], [other for other in ended if other not in over]


def _views(spans: Mapping[int, Span]) -> dict[tuple[int, ...], _View]:
    ends: dict[int, list[tuple[int, int]]] = {}
    for buffer, span in spans.items():
        for stream, position in span.end:
            ends.setdefault(stream, []).append((position, buffer))
    for positions in ends.values():
        positions.sort()
    views: dict[tuple[int, ...], _View] = {}
    least: dict[tuple[int, ...], Mapping[int, int]] = {}
    for buffer, (streams, begin, _) in reversed([*spans.items()]):
        if streams not in views:
            views[streams] = _View(spans, ends)
        # Of several streams, one may know less than when the buffer before began.
        least[streams] = _least([begin, least.get(streams, begin)]) if len(streams) > 1 else begin
        views[streams].known[buffer] = least[streams]
    return views


def _least(clocks: Sequence[Mapping[int, int]]) -> Mapping[int, int]:
    """What all of them know."""
    if len(clocks) == 1:
        return clocks[0]
    return {stream: min(clock.get(stream, 0) for clock in clocks) for stream in clocks[0]}


class _Space:
    """How many buffers hold each byte, and the gaps that none holds."""

    def __init__(self) -> None:
        self._lows, self._holders = [0, _END], [0, -1]
        """Where the number of holders changes."""
        self._gaps = [(_END, 0)]
        """Size and lowest byte, sorted."""

    def fit(self, size: int) -> int:
        """The lowest byte of the tightest gap of this size, the last one being endless."""
        return self._gaps[bisect_left(self._gaps, (size, 0))][1]

    def hold(self, low: int, high: int, change: int) -> None:
        """So many more buffers hold some bytes."""
        start = max(bisect_left(self._lows, low) - 1, 0)
        stop = bisect_right(self._lows, high)
        lows: list[int] = []
        holders: list[int] = []
        for index in range(start, stop):
            begin, end, held = self._lows[index], self._lows[index + 1], self._holders[index]
            if not held:
                del self._gaps[bisect_left(self._gaps, (end - begin, begin))]
            for edge in (begin, *(edge for edge in (low, high) if begin < edge < end)):
                now = held + change if low <= edge < high else held
                if not holders or holders[-1] != now:
                    lows.append(edge)
                    holders.append(now)
        for begin, end, held in zip(lows, [*lows[1:], self._lows[stop]], holders, strict=True):
            if not held:
                insort(self._gaps, (end - begin, begin))
        self._lows[start:stop], self._holders[start:stop] = lows, holders
