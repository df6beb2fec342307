"""A proof, from the log of a driver alone, that no two conflicting accesses can run at once.

Two commands conflict when they touch a byte in common and one of them writes it. They are ordered when a chain leads
from the end of the one to the begin of the other, of these links: a queue runs its commands in order; a command begins
after the ends of those in its wait list; what the host gives a queue comes after all that the host knew to have ended.
Nothing else counts, whatever a driver happens to do. How the library finds its waits is not looked at, so that a fault
there cannot hide here.

The links make a clock for each command: for every lane (a queue, or the gates of one) the number of commands that have
ended before it begins. Of the earlier commands of a lane with which a command conflicts only the newest needs a look,
for it comes after the rest. Footprints are compared exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from ocl_ir.kernel.accesses import WRITE
from ocl_ir.layout import Layout
from ocl_runtime.observe.commands import Access, Ended, Entry, Logged

Clock: TypeAlias = tuple[int, ...]
Wait: TypeAlias = tuple[Logged, Logged]
"""A command, and one that it waits for."""


@dataclass(frozen=True, slots=True)
class Violation:
    """Two commands that conflict in bytes `low … high` of a buffer and may run at once."""

    first: Logged
    second: Logged
    low: int
    high: int
    buffer: int
    known: int
    """So many commands of the first one's lane have surely ended before the second begins."""
    position: int
    """The place of the first one in its lane."""

    def __str__(self) -> str:
        of = "gate" if self.first.gate else "command"
        return (
            f"nothing orders two commands that share bytes {self.low}…{self.high} of buffer {self.buffer}:\n"
            f"  {self.first}\n"
            f"  {self.second}\n"
            f"  the second comes after {self.known} {of}s of queue {self.first.queue}, the first is its {of} "
            f"{self.position}: missing is a wait for that or a later one"
        )


def violations(log: Sequence[Entry], without: Wait | None = None) -> list[Violation]:
    """Every pair of commands that may run at once and must not; `without` a wait, the first one that it leaves."""
    order = Order(log)
    if without is None:
        return list(order.violations())
    violation = order.first_without(*without)
    return [violation] if violation is not None else []


class Order:
    """What a log proves."""

    def __init__(self, log: Sequence[Entry]) -> None:
        gated = {entry.queue for entry in log if isinstance(entry, Logged) and entry.gate}
        self._lanes: dict[tuple[int, bool], int] = {}
        self.commands: list[Logged] = []
        self._index: dict[Logged, int] = {}
        """Of each command in `commands`, which has no pieces of transfers."""
        self._lane: list[int] = []
        self._position: list[int] = []
        self._before: list[int | None] = []
        """For each command the one before it in its lane."""
        self._entries: list[int | tuple[int, ...]] = []
        """The log in indices: a command, or those that the host learnt to have completed."""
        self._entry: list[int] = []
        self._failed_at: dict[int, int] = {}
        """For each command that the host saw fail, how many commands there were by then."""
        newest: dict[int, int] = {}
        for entry in log:
            if isinstance(entry, Ended):
                self._learnt(entry)
            elif entry.gate or entry.accesses or entry.queue not in gated:
                index = self._index[entry] = len(self.commands)
                lane = self._lanes.setdefault((entry.queue, entry.gate), len(self._lanes))
                before = newest.get(lane)
                self.commands.append(entry)
                self._lane.append(lane)
                self._before.append(before)
                self._position.append(1 if before is None else self._position[before] + 1)
                self._entry.append(len(self._entries))
                self._entries.append(index)
                newest[lane] = index
        self._conflicts = [dict[int, tuple[int, Access, Access]]() for _ in self.commands]
        """For each command the newest one in each other lane that it must come after."""
        self._find_conflicts()
        self._ends: list[Clock] = []
        self._host: list[Clock] = []
        """The clock of the host as it gave each command."""
        for _ in self._clocks(0, (0,) * len(self._lanes), self._ends, None):
            pass

    def _learnt(self, entry: Ended) -> None:
        indices = [self._index[command] for command in entry.commands if command in self._index]
        if entry.well:
            self._entries.append(tuple(indices))
        else:
            self._failed_at.update(dict.fromkeys(indices, len(self.commands)))

    def violations(self) -> Iterator[Violation]:
        """Every pair of commands that may run at once and must not: for each command and lane, the newest."""
        for index, clock in enumerate(self._ends):
            yield from self._violations(index, clock)

    def first_without(self, command: Logged, wait: Logged) -> Violation | None:
        """What would go wrong if a command did not wait for another one; None if nothing would."""
        start = self._index[command]
        ends = self._ends[:start]
        for index, clock in self._clocks(start, self._host[start], ends, (start, self._index[wait])):
            for violation in self._violations(index, clock):
                return violation
        return None

    def redundant(self) -> list[Wait]:
        """The waits without which everything would be ordered just the same."""
        return [wait for wait in self.waits() if self.first_without(*wait) is None]

    def waits(self) -> list[Wait]:
        """All of them."""
        return [(command, wait) for command in self.commands for wait in command.waits]

    # ------------------------------------------------------------------ clocks

    def _clocks(
        self, start: int, host: Clock, ends: list[Clock], without: tuple[int, int] | None
    ) -> Iterator[tuple[int, Clock]]:
        """Each command from index `start` on with the clock of its end, which goes into `ends` too."""
        if not self.commands:
            return
        for entry in self._entries[self._entry[start] :]:
            if isinstance(entry, tuple):
                host = _newest(host, *(ends[index] for index in entry))
                continue
            before = self._before[entry]
            clocks = [] if before is None else [ends[before]]
            waits = [self._index[wait] for wait in self.commands[entry].waits]
            clocks += [ends[wait] for wait in waits if (entry, wait) != without]
            clock = list(_newest(host, *clocks))
            clock[self._lane[entry]] = self._position[entry]
            ends.append(tuple(clock))
            if without is None:
                self._host.append(host)
            yield entry, ends[-1]

    def _violations(self, index: int, clock: Clock) -> Iterator[Violation]:
        for lane, (first, access, other) in self._conflicts[index].items():
            if clock[lane] < self._position[first]:
                low, high = max(access.low, other.low), min(access.high, other.high)
                commands = self.commands[first], self.commands[index]
                yield Violation(*commands, low, high, access.buffer, clock[lane], self._position[first])

    # ------------------------------------------------------------------ conflicts

    def _find_conflicts(self) -> None:
        by_buffer: dict[int, list[tuple[int, Access]]] = {}
        for index, command in enumerate(self.commands):
            for access in command.accesses:
                by_buffer.setdefault(access.buffer, []).append((index, access))
        for accesses in by_buffer.values():
            table = _Table(accesses, self._lane, self._failed_at)
            for number, (index, access) in enumerate(accesses):
                if access.low < access.high:
                    for first, earlier in table.conflicts(number):
                        known = self._conflicts[index].get(self._lane[first])
                        if known is None or known[0] < first:
                            self._conflicts[index][self._lane[first]] = first, earlier, access


class _Table:
    """The accesses to one buffer, in the order of the log, as arrays."""

    def __init__(self, accesses: list[tuple[int, Access]], lanes: list[int], failed_at: dict[int, int]) -> None:
        self._accesses = accesses
        indices = [index for index, _ in accesses]
        self._index = np.array(indices)
        self._lane = np.array([lanes[index] for index in indices])
        self._low, self._high = (np.array([access[at] for _, access in accesses]) for at in (1, 2))
        self._writes = np.array([bool(access.mode & WRITE) for _, access in accesses])
        self._until = np.array([failed_at.get(index, 1 << 62) for index in indices])
        """Commands from there on need not come after it any more."""

    def conflicts(self, number: int) -> Iterator[tuple[int, Access]]:
        """The newest earlier command of each other lane that conflicts with access `number`, and its access."""
        index, access = self._accesses[number]
        conflicting: Any = (self._low[:number] < access.high) & (self._high[:number] > access.low)
        conflicting &= (self._lane[:number] != self._lane[number]) & (self._until[:number] > index)
        if not access.mode & WRITE:
            conflicting &= self._writes[:number]
        numbers = np.flatnonzero(conflicting)
        lanes = self._lane[numbers]
        while numbers.size:
            lane = lanes[-1]
            for earlier in numbers[lanes == lane][::-1]:
                if _share(self._accesses[earlier][1], access):
                    yield self._accesses[earlier]
                    break
            numbers, lanes = numbers[lanes != lane], lanes[lanes != lane]


def _share(access: Access, other: Access) -> bool:
    """Whether two accesses with overlapping ranges share a byte."""
    if access.footprint is None and other.footprint is None:
        return True
    return _overlap(access.footprint or _dense(access), other.footprint or _dense(other))


def _dense(access: Access) -> Layout:
    return Layout((access.high - access.low,), (1,), access.low)


@lru_cache(maxsize=4096)
def _overlap(layout: Layout, other: Layout) -> bool:
    return layout.overlaps(other)


def _newest(*clocks: Clock) -> Clock:
    return clocks[0] if len(clocks) == 1 else tuple(map(max, zip(*clocks, strict=True)))
