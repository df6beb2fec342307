"""One arena for all scratch memory, as small as can be without a new wait.

Two buffers may lie in the same bytes if every use of one comes before every use of the other anyway, by streams and by
the waits that the data need. Where the arena would be larger than a limit, program order decides instead: then memory
is shared between streams that have to wait for each other for it.

Offsets are chosen greedily, each buffer in the lowest gap, the tightest where there are several, among those that it
may not share with; several orders of buffers are tried and the best is kept. The lower bound beside it (`bound.py`) is
of plans that add no wait, on the streams that were chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ocl_ir.host.conflicts import Order, conflicts
from ocl_ir.host.schedule import MemoryPlan, Schedule
from ocl_runtime.plan.host.bound import heaviest
from ocl_runtime.plan.host.waits import with_waits

UNIT = 256
"""Bytes that divide every offset."""


def plan_memory(schedule: Schedule, limit: int | None = None) -> tuple[Schedule, MemoryPlan]:
    """The schedule with an offset for every scratch buffer, and what was reached."""
    sizes = {buffer: _rounded(schedule.buffers[buffer].nbytes) for buffer in schedule.lives}
    apart = _conflicting(schedule)
    offsets, arena = _best(sizes, apart, schedule.lives)
    forced = limit is not None and arena > limit
    if forced:
        apart = _overlapping_lives(schedule.lives)
        offsets, arena = _best(sizes, apart, schedule.lives)
    live = largest_live_set(schedule.lives, sizes)
    plan = MemoryPlan(arena, _bound(sizes, apart, schedule.lives, live, arena), live, sum(sizes.values()), forced)
    return replace(schedule, offsets=offsets, arena=arena), plan


def memory_of(schedule: Schedule) -> MemoryPlan:
    """What was reached in a schedule whose buffers have offsets already, on one stream."""
    sizes = {buffer: _rounded(schedule.buffers[buffer].nbytes) for buffer in schedule.lives}
    live = largest_live_set(schedule.lives, sizes)
    return MemoryPlan(schedule.arena, live, live, sum(sizes.values()), by_program_order=False)


def largest_live_set(lives: Mapping[int, tuple[int, int]], sizes: Mapping[int, int]) -> int:
    """The most bytes alive at one node, in program order."""
    change: dict[int, int] = {}
    for buffer, (first, last) in lives.items():
        change[first] = change.get(first, 0) + sizes[buffer]
        change[last + 1] = change.get(last + 1, 0) - sizes[buffer]
    most = now = 0
    for node in sorted(change):
        now += change[node]
        most = max(most, now)
    return most


def _bound(
    sizes: Mapping[int, int], apart: Mapping[int, set[int]], lives: Mapping[int, tuple[int, int]], live: int, arena: int
) -> int:
    """A lower bound: the heaviest set of buffers that are all apart, or only what is alive at once in program order,
    which is such a set, where that is the arena already or the heaviest one takes long to find."""
    if live == arena:
        return live
    return heaviest(sizes, apart, {buffer: first for buffer, (first, _) in lives.items()}) or live


def _conflicting(schedule: Schedule) -> dict[int, set[int]]:
    """For each scratch buffer those that may not share memory with it, by the order that the data give."""
    waiting = with_waits(schedule, conflicts(schedule))
    order = Order()
    uses: dict[int, dict[int, list[int]]] = {buffer: {} for buffer in schedule.lives}
    for number, node in enumerate(waiting.nodes):
        assert node.stream is not None
        order.add(node.stream, node.waits)
        for access in node.accesses:
            if access.buffer in uses:
                uses[access.buffer].setdefault(node.stream, []).append(number)
    firsts = {buffer: [one[0] for one in by_stream.values()] for buffer, by_stream in uses.items()}
    lasts = {buffer: [one[-1] for one in by_stream.values()] for buffer, by_stream in uses.items()}
    found: dict[int, set[int]] = {buffer: set() for buffer in uses}
    buffers = sorted(uses, key=lambda buffer: schedule.lives[buffer])
    for place, one in enumerate(buffers):
        for other in buffers[place + 1 :]:
            # By program order `one` began first, so only it can have ended before the other began.
            if not all(order.before(last, first) for last in lasts[one] for first in firsts[other]):
                found[one].add(other)
                found[other].add(one)
    return found


def _overlapping_lives(lives: Mapping[int, tuple[int, int]]) -> dict[int, set[int]]:
    return {
        one: {other for other, (begin, end) in lives.items() if other != one and begin <= last and end >= first}
        for one, (first, last) in lives.items()
    }


def _best(
    sizes: Mapping[int, int], conflicting: Mapping[int, set[int]], lives: Mapping[int, tuple[int, int]]
) -> tuple[dict[int, int], int]:
    orders: tuple[Callable[[int], tuple[int, ...]], ...] = (
        lambda buffer: (-sizes[buffer], lives[buffer][0]),
        lambda buffer: (lives[buffer][0], -sizes[buffer]),
        lambda buffer: (-sizes[buffer] * (1 + lives[buffer][1] - lives[buffer][0]), buffer),
        lambda buffer: (lives[buffer][0] - lives[buffer][1], -sizes[buffer]),
        lambda buffer: (-len(conflicting[buffer]), -sizes[buffer]),
    )
    found = [_placed(sorted(sizes, key=order), sizes, conflicting) for order in orders]
    return min(found, key=lambda placed: placed[1])


def _placed(
    buffers: Sequence[int], sizes: Mapping[int, int], conflicting: Mapping[int, set[int]]
) -> tuple[dict[int, int], int]:
    offsets: dict[int, int] = {}
    arena = 0
    for buffer in buffers:
        size = sizes[buffer]
        taken = sorted(
            (offsets[other], offsets[other] + sizes[other]) for other in conflicting[buffer] if other in offsets
        )
        best: tuple[int, int] | None = None
        at = 0
        for low, high in taken:
            if low - at >= size and (best is None or low - at < best[0]):
                best = low - at, at
            at = max(at, high)
        offsets[buffer] = at if best is None else best[1]
        arena = max(arena, offsets[buffer] + size)
    return offsets, arena


def _rounded(nbytes: int) -> int:
    return -(-max(nbytes, 1) // UNIT) * UNIT
