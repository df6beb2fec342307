"""Data races, seen in the shadow of memory.

The interpreter runs a group in lock step, which hides races. So every watched element has a shadow that remembers who
touched it. A touch is one number, a stamp, that packs three: the interval between two barriers, the work-item, the
statement. Intervals are counted over all groups, so that shadows need no clearing at a barrier: an older interval's
stamp is smaller.

For each kind of touch an element keeps three stamps: the first of this interval, one of another work-item in this
interval, and the earliest of the whole run. Two are enough inside a group: whoever comes next, a different work-item is
among them if there was any. One is enough between groups, which run one after the other: if the earliest is of this
group, all are.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

import numpy as np

from ocl_ir.interpret.operation import Data

READ, WRITE, ATOMIC = range(3)
_CONFLICTS = {READ: (WRITE, ATOMIC), WRITE: (READ, WRITE, ATOMIC), ATOMIC: (READ, WRITE)}
_NEVER = -1


class Touch(NamedTuple):
    """Who touched an element: a group, a work-item in it and a statement, all by their linear numbers."""

    group: int
    item: int
    statement: int


class Race(NamedTuple):
    """Two touches of one cell of a shadow without an order between them."""

    cell: int
    later: Touch
    earlier: Touch


class Arrival(NamedTuple):
    """What has come to cells by itself: its stamp, which cells, and which work-items have waited for it."""

    stamp: Data
    has_come: Data
    awaited: Data


class Clock:
    """Makes the stamps of one address space and counts its intervals."""

    def __init__(self, items: int, statements: int) -> None:
        self._items = items
        self._statements = statements
        self._interval = _NEVER
        self._group_starts: list[int] = []

    def start_group(self) -> None:
        """The next group begins."""
        self._interval += 1
        self._group_starts.append(self._interval)

    def barrier(self) -> None:
        """A barrier of this space: what came before is ordered before what comes now."""
        self._interval += 1

    def stamps(self, items: Data, statement: int) -> Data:
        """The stamps of touches by work-items, now."""
        stamps: Data = (self._interval * self._items + items) * self._statements + statement
        return stamps

    def touch(self, stamp: int) -> Touch:
        """What a stamp says."""
        actor, statement = divmod(stamp, self._statements)
        interval, item = divmod(actor, self._items)
        return Touch(bisect_right(self._group_starts, interval) - 1, item, statement)

    def is_now(self, stamps: Data) -> Data:
        """Which stamps are of the current interval."""
        current: Data = stamps >= self._interval * self._items * self._statements
        return current

    def is_another_group(self, stamps: Data) -> Data:
        """Which stamps are of a group that ran before."""
        before: Data = (stamps != _NEVER) & (stamps < self._group_starts[-1] * self._items * self._statements)
        return before

    def same_item(self, stamps: Data, others: Data) -> Data:
        """Where two stamps of one interval are of one work-item."""
        same: Data = stamps // self._statements == others // self._statements
        return same


class Shadow:
    """Remembers who touched each of `size` cells, and reports the first race."""

    def __init__(self, size: int, clock: Clock) -> None:
        self._size = size
        self._clock = clock
        self._kinds: dict[int, Data] = {}
        self._arrivals: list[Arrival] = []

    def touch(self, kind: int, cells: Data, items: Data, statement: int) -> Race | None:
        """Notes that work-item `items[i]` touches cell `cells[i]`, for all i at once; returns a race if this is one."""
        # Noted before it is compared: so a statement that stores twice to one cell meets itself.
        self._note(kind, cells, self._clock.stamps(items, statement))
        return self.met(kind, cells, items, statement)

    def arrive(self, cells: Data, items: Data, statement: int, awaited: Data) -> Race | None:
        """Notes that something comes to cells which work-items began to copy, and that `awaited` says of each one, now
        or later, whether it has waited for it: who has, comes behind it without a barrier."""
        race = self.met(WRITE, cells, items, statement)
        has_come = np.zeros(self._size, np.bool_)
        has_come[cells] = True
        self._arrivals = [arrival for arrival in self._arrivals if self._clock.is_now(arrival.stamp)]
        self._arrivals.append(Arrival(self._clock.stamps(items[:1], statement), has_come, awaited))
        return race

    def met(self, kind: int, cells: Data, items: Data, statement: int) -> Race | None:
        """The race that it would be to touch cells."""
        clock = self._clock
        stamps = clock.stamps(items, statement)
        for arrival in self._arrivals:
            clash = clock.is_now(arrival.stamp) & arrival.has_come[cells] & ~arrival.awaited[items]
            race = self._race(clash, cells, stamps, np.broadcast_to(arrival.stamp, stamps.shape))
            if race is not None:
                return race
        for other in _CONFLICTS[kind]:
            if other not in self._kinds:
                continue
            first, second, earliest = (row[cells] for row in self._kinds[other])
            for seen in (first, second):
                race = self._race(clock.is_now(seen) & ~clock.same_item(seen, stamps), cells, stamps, seen)
                if race is not None:
                    return race
            race = self._race(clock.is_another_group(earliest), cells, stamps, earliest)
            if race is not None:
                return race
        return None

    def _note(self, kind: int, cells: Data, stamps: Data) -> None:
        if kind not in self._kinds:
            self._kinds[kind] = np.full((3, self._size), _NEVER, np.int64)
        first, second, earliest = self._kinds[kind]
        stale = ~self._clock.is_now(first[cells])
        first[cells[stale]] = stamps[stale]
        different = ~self._clock.same_item(first[cells], stamps)
        second[cells[different]] = stamps[different]
        new = earliest[cells] == _NEVER
        earliest[cells[new]] = stamps[new]

    def _race(self, clash: Data, cells: Data, stamps: Data, seen: Data) -> Race | None:
        if not np.count_nonzero(clash):
            return None
        at = int(np.argmax(clash))
        return Race(int(cells[at]), self._clock.touch(int(stamps[at])), self._clock.touch(int(seen[at])))
