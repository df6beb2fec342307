"""One arena for all scratch memory, as small as can be without a new wait.

Two buffers may lie in the same bytes if every use of one comes before every use of the other anyway, by streams and by
the waits that the data need. Where the arena would be larger than a limit, program order decides instead: then memory
is shared between streams that have to wait for each other for it.

A sweep over program order places every buffer in near-linear time (`sweep.py`). If the arena is then larger than what
is alive at once, and few pairs of buffers interfere, several other orders of buffers are tried, each buffer in the
tightest gap among those that it interferes with, and the smallest arena is kept. The lower bound beside it (`bound.py`)
is of plans that add no wait, on the streams that were chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ocl_ir.host.arena import rounded
from ocl_ir.host.schedule import MemoryPlan, Schedule
from ocl_runtime.plan.host.bound import heaviest
from ocl_runtime.plan.host.sweep import Span, best_fit, interference, program_order, spans_of

_PAIRS, _PAIRS_OF_EACH = 8192, 16
"""How many pairs of buffers are compared before only the sweep counts: in any program, and more for each buffer."""


def plan_memory(schedule: Schedule, limit: int | None = None) -> tuple[Schedule, MemoryPlan]:
    """The schedule with an offset for every scratch buffer, and what was reached."""
    sizes = _sizes(schedule)
    live = largest_live_set(schedule.lives, sizes)
    offsets, arena, bound = _best(sizes, spans_of(schedule), schedule.lives, live)
    forced = limit is not None and arena > limit
    if forced:
        offsets, arena, bound = _best(sizes, program_order(schedule.lives), schedule.lives, live)
    return replace(schedule, offsets=offsets, arena=arena), MemoryPlan(arena, bound, live, sum(sizes.values()), forced)


def memory_of(schedule: Schedule) -> MemoryPlan:
    """What was reached in a schedule whose buffers have offsets already, on one stream."""
    sizes = _sizes(schedule)
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


def _sizes(schedule: Schedule) -> dict[int, int]:
    return {buffer: rounded(schedule.buffers[buffer].nbytes) for buffer in schedule.lives}


def _best(
    sizes: Mapping[int, int], spans: Mapping[int, Span], lives: Mapping[int, tuple[int, int]], live: int
) -> tuple[dict[int, int], int, int]:
    """Offsets, the arena, and a lower bound: the heaviest set of buffers that are all apart, or only what is alive at
    once in program order, which is such a set, where that is the arena already or the heaviest takes long to find."""
    buffers = sorted(sizes, key=lambda buffer: (lives[buffer][0], -sizes[buffer]))
    offsets, arena = best_fit(sizes, {buffer: spans[buffer] for buffer in buffers})
    apart = None if arena == live else interference(spans, _PAIRS + _PAIRS_OF_EACH * len(spans))
    if apart is None:
        return offsets, arena, live
    orders: tuple[Callable[[int], tuple[int, ...]], ...] = (
        lambda buffer: (-sizes[buffer], lives[buffer][0]),
        lambda buffer: (-sizes[buffer] * (1 + lives[buffer][1] - lives[buffer][0]), buffer),
        lambda buffer: (lives[buffer][0] - lives[buffer][1], -sizes[buffer]),
        lambda buffer: (-len(apart[buffer]), -sizes[buffer]),
    )
    tries = [_in_order(sorted(sizes, key=order), sizes, apart) for order in orders]
    offsets, arena = min(((offsets, arena), *tries), key=lambda plan: plan[1])
    bound = None if arena == live else heaviest(sizes, apart, {buffer: first for buffer, (first, _) in lives.items()})
    return offsets, arena, bound or live


def _in_order(
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
