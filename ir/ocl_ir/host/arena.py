"""Where scratch memory lies that is used in program order: each buffer in the tightest gap as it begins, or in pieces.

This takes microseconds, for sizes that come for the first time. What is smaller still, and for several streams, is
`ocl_runtime.plan.host.memory`'s.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping
from dataclasses import replace

from ocl_ir.host.schedule import BufferView, Node, Schedule

UNIT = 256
"""Bytes that divide every offset."""


def pack(lives: Mapping[int, tuple[int, int]], nbytes: Mapping[int, int]) -> tuple[dict[int, int], int]:
    """The offset of each buffer, and the bytes of all. `lives` says for each the first and the last step that uses it;
    two buffers share bytes only where one's last step comes before the other's first."""
    sizes = {buffer: rounded(nbytes[buffer]) for buffer in lives}
    ends: list[tuple[int, int]] = []
    """(last step, buffer) of those that are in use, sorted."""
    gaps: list[tuple[int, int]] = []
    """(low, high) of what is free below the top, sorted."""
    offsets: dict[int, int] = {}
    top = arena = 0
    for buffer in sorted(lives, key=lambda buffer: (lives[buffer][0], -sizes[buffer])):
        first, last = lives[buffer]
        size = sizes[buffer]
        while ends and ends[0][0] < first:
            ended = ends.pop(0)[1]
            top = _freed(gaps, offsets[ended], offsets[ended] + sizes[ended], top)
        fitting = [(high - low, low, high) for low, high in gaps if high - low >= size]
        if fitting:
            _, low, high = min(fitting)
            gaps.remove((low, high))
            if low + size < high:
                insort(gaps, (low + size, high))
        else:
            low, top = top, top + size
            arena = max(arena, top)
        offsets[buffer] = low
        insort(ends, (last, buffer))
    return offsets, arena


def _freed(gaps: list[tuple[int, int]], low: int, high: int, top: int) -> int:
    """Adds a gap, joined with its neighbours; gives the top, which falls where the gap is below it."""
    for gap in list(gaps):
        if gap[1] == low or gap[0] == high:
            gaps.remove(gap)
            low, high = min(low, gap[0]), max(high, gap[1])
    if high == top:
        return low
    insort(gaps, (low, high))
    return top


def rounded(nbytes: int) -> int:
    """The bytes that a buffer takes up."""
    return -(-max(nbytes, 1) // UNIT) * UNIT


def in_pieces(schedule: Schedule) -> Schedule:
    """A schedule for one stream whose scratch memory lies in several allocations, for where there is no room for it in
    one: buffers that are never used at once have one piece, which is as large as the largest of them."""
    buffers = list(schedule.buffers)
    ends: dict[int, int] = {}
    """The last step that uses each piece so far."""
    home: dict[int, int] = {}
    for buffer in sorted(schedule.lives, key=lambda buffer: schedule.lives[buffer][0]):
        first, last = schedule.lives[buffer]
        size = buffers[buffer].nbytes
        free = [piece for piece, end in ends.items() if end < first]
        enough = [piece for piece in free if buffers[piece].nbytes >= size]
        if enough:
            piece = min(enough, key=lambda piece: buffers[piece].nbytes)
        else:
            piece = max(free, key=lambda piece: buffers[piece].nbytes, default=buffer)
            buffers[piece] = replace(buffers[piece], nbytes=size, kind="piece")
        home[buffer] = piece
        ends[piece] = last
    nodes = tuple([_moved(node, home) for node in schedule.nodes])
    turns = [(home[buffer], schedule.buffers[buffer].nbytes, last) for buffer, (_, last) in schedule.lives.items()]
    return replace(schedule, buffers=tuple(buffers), nodes=nodes, lives={}, offsets={}, arena=0, turns=tuple(turns))


def _moved(node: Node, home: Mapping[int, int]) -> Node:
    args = tuple(
        replace(arg, buffer=home.get(arg.buffer, arg.buffer)) if isinstance(arg, BufferView) else arg
        for arg in node.args
    )
    accesses = tuple(replace(access, buffer=home.get(access.buffer, access.buffer)) for access in node.accesses)
    return replace(node, args=args, accesses=accesses, stream=None, waits=())
