"""Data races, seen in the shadow of memory.

The interpreter runs a group in lock step, which hides races. So every watched element has a shadow that remembers who
touched it. A touch is one number, a stamp, that packs three: the interval, the work-item, the statement. Intervals are
counted over all groups, so that shadows need no clearing. A new one begins with each barrier, behind which no work-item
races with what was before, and with each release, behind which none does that has waited for it.

For each kind of touch an element keeps three stamps: the last one, the last one of another work-item, and the earliest
of the whole run. Two are enough inside a group: whoever comes next, the last touch of a different work-item is among
them. One is enough between groups, which run one after the other: if the earliest is of this group, all are.
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

    stamp: int
    has_come: Data
    awaited: Data


class Clock:
    """Makes the stamps of one address space and counts its intervals."""

    def __init__(self, items: int, statements: int) -> None:
        self._items = items
        self._statements = statements
        self._interval = _NEVER
        self._group_starts: list[int] = []
        self._since = 0
        """The first interval behind the last barrier."""
        self._ordered: Data | None = None
        """Where there were releases since: for each work-item, the first interval of each other one that has no order
        before what it does now."""

    def start_group(self) -> None:
        """The next group begins."""
        self.barrier()
        self._group_starts.append(self._interval)

    def barrier(self) -> None:
        """A barrier of this space: what came before is ordered before what comes now."""
        self._interval += 1
        self._since, self._ordered = self._interval, None

    def release(self) -> int:
        """Some work-items say that they are done; gives the interval before which all that they did is for who waits
        for them."""
        self._interval += 1
        return self._interval

    def awaited(self, items: Data, releasing: Data, interval: int) -> None:
        """Work-items have waited for what others have released."""
        if self._ordered is None:
            self._ordered = np.full((self._items, self._items), self._since, np.int64)
        pairs = np.ix_(items, releasing)
        self._ordered[pairs] = np.maximum(self._ordered[pairs], interval)

    @property
    def interval(self) -> int:
        """The one that is now."""
        return self._interval

    def is_all_before(self, interval: int) -> bool:
        """Whether all touches until then have an order before what any work-item does now."""
        return self._ordered is None and interval < self._since

    def is_in_group(self, interval: int) -> bool:
        """Whether all touches since then are of the group that runs."""
        return interval >= self._group_starts[-1]

    def stamps(self, items: Data, statement: int) -> Data:
        """The stamps of touches by work-items, now."""
        stamps: Data = (self._interval * self._items + items) * self._statements + statement
        return stamps

    def touch(self, stamp: int) -> Touch:
        """What a stamp says."""
        actor, statement = divmod(stamp, self._statements)
        interval, item = divmod(actor, self._items)
        return Touch(bisect_right(self._group_starts, interval) - 1, item, statement)

    def is_unordered(self, stamps: Data, items: Data) -> Data:
        """Which stamps have no order before what work-items do now."""
        unordered: Data
        if self._ordered is None:  # without divisions, which take longer than all else; what never was is below
            unordered = stamps >= self._since * self._items * self._statements
        else:
            intervals, touching = stamps // (self._items * self._statements), stamps // self._statements % self._items
            unordered = (intervals >= self._ordered[items, touching]) & (stamps != _NEVER)
        return unordered

    def is_over(self, stamp: int) -> bool:
        """Whether a stamp has an order before whatever any work-item does now."""
        interval, touching = stamp // (self._items * self._statements), stamp // self._statements % self._items
        return interval < (self._since if self._ordered is None else int(self._ordered[:, touching].min()))

    def is_another_group(self, stamps: Data) -> Data:
        """Which stamps are of a group that ran before."""
        before: Data = (stamps != _NEVER) & (stamps < self._group_starts[-1] * self._items * self._statements)
        return before

    def of_others(self, stamps: Data, items: Data) -> Data:
        """Which stamps are not of these work-items; what was never touched is of nobody."""
        others: Data = (stamps // self._statements % self._items != items) | (stamps == _NEVER)
        return others


class Shadow:
    """Remembers who touched each of `size` cells, and reports the first race."""

    def __init__(self, size: int, clock: Clock) -> None:
        self._size = size
        self._clock = clock
        self._kinds: dict[int, Data] = {}
        self._between: dict[int, tuple[int, int]] = {}
        """The first and the last interval in which there were touches of a kind: mostly they tell enough."""
        self._arrivals: list[Arrival] = []

    def touch(self, kind: int, cells: Data, items: Data, statement: int) -> Race | None:
        """Notes that work-item `items[i]` touches cell `cells[i]`, for all i at once; returns a race if this is one."""
        # Noted before it is compared: so a statement that stores twice to one cell meets itself.
        self._note(kind, cells, items, self._clock.stamps(items, statement))
        return self.met(kind, cells, items, statement)

    def arrive(self, cells: Data, items: Data, statement: int, awaited: Data) -> Race | None:
        """Notes that something comes to cells which work-items began to copy, and that `awaited` says of each one, now
        or later, whether it has waited for it: who has, comes behind it without a barrier."""
        race = self.met(WRITE, cells, items, statement)
        has_come = np.zeros(self._size, np.bool_)
        has_come[cells] = True
        stamp = int(self._clock.stamps(items[:1], statement)[0])
        self._arrivals = [arrival for arrival in self._arrivals if self._matters(arrival)]
        self._arrivals.append(Arrival(stamp, has_come, awaited))
        return race

    def _matters(self, arrival: Arrival) -> bool:
        """Whether there are work-items that have not waited for what came, and may come before it."""
        return not arrival.awaited.all() and not self._clock.is_over(arrival.stamp)

    def met(self, kind: int, cells: Data, items: Data, statement: int) -> Race | None:
        """The race that it would be to touch cells."""
        clock = self._clock
        stamps = clock.stamps(items, statement)
        for arrival in self._arrivals:
            come = np.full(stamps.shape, arrival.stamp)
            clash = arrival.has_come[cells] & ~arrival.awaited[items] & clock.is_unordered(come, items)
            race = self._race(clash, cells, stamps, come)
            if race is not None:
                return race
        for other in _CONFLICTS[kind]:
            if other not in self._kinds:
                continue
            last, before, earliest = self._kinds[other]
            first_interval, last_interval = self._between[other]
            for row in () if clock.is_all_before(last_interval) else (last, before):
                seen = row[cells]
                clash = clock.is_unordered(seen, items)
                if np.count_nonzero(clash):
                    clash &= clock.of_others(seen, items)
                race = self._race(clash, cells, stamps, seen)
                if race is not None:
                    return race
            if not clock.is_in_group(first_interval):
                seen = earliest[cells]
                race = self._race(clock.is_another_group(seen), cells, stamps, seen)
                if race is not None:
                    return race
        return None

    def _note(self, kind: int, cells: Data, items: Data, stamps: Data) -> None:
        if kind not in self._kinds:
            self._kinds[kind] = np.full((3, self._size), _NEVER, np.int64)
            self._between[kind] = self._clock.interval, self._clock.interval
        self._between[kind] = self._between[kind][0], self._clock.interval
        last, before, earliest = self._kinds[kind]
        known = last[cells]
        moves = self._clock.of_others(known, items)
        before[cells[moves]] = known[moves]
        last[cells] = stamps
        different = self._clock.of_others(last[cells], items)
        before[cells[different]] = stamps[different]
        new = earliest[cells] == _NEVER
        earliest[cells[new]] = stamps[new]

    def _race(self, clash: Data, cells: Data, stamps: Data, seen: Data) -> Race | None:
        if not np.count_nonzero(clash):
            return None
        at = int(np.argmax(clash))
        return Race(int(cells[at]), self._clock.touch(int(stamps[at])), self._clock.touch(int(seen[at])))
