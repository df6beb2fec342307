"""All passes from a host program to a schedule that can be replayed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ocl_ir.host.grammar import Program
from ocl_ir.host.schedule import MemoryPlan, Schedule, bind
from ocl_ir.source_line import Where
from ocl_runtime.plan.host.copies import as_launches
from ocl_runtime.plan.host.in_place import reuse_in_place
from ocl_runtime.plan.host.memory import memory_of, plan_memory
from ocl_runtime.plan.host.streams import place_streams
from ocl_runtime.plan.host.waits import place_waits
from ocl_runtime.plan.kernels.cache import KernelCache


def prepare(
    program: Program,
    sizes: Mapping[str, int],
    kernels: KernelCache,
    *,
    streams: int,
    group_size: int,
    limit: int | None = None,
) -> tuple[Schedule, MemoryPlan]:
    """The schedule for these sizes: streams chosen, scratch memory placed (within `limit` bytes where that is possible
    by waiting), waits placed; and how well memory came out. `Replay` proves the order before it runs any of it.

    Raises what `ocl_ir.host.schedule.bind` does.
    """
    schedule, _ = reuse_in_place(as_launches(bind(program, sizes), kernels, group_size), kernels)
    return arranged(schedule, streams, limit)


def arranged(schedule: Schedule, streams: int, limit: int | None = None) -> tuple[Schedule, MemoryPlan]:
    """The last of these: a schedule of launches and transfers with streams, scratch memory and waits."""
    apart = replace(schedule, offsets={}, arena=0)  # what shares memory on one stream would be in each other's way
    schedule, memory = plan_memory(place_streams(apart, streams), limit)
    return place_waits(schedule), memory


def described(schedule: Schedule, lines: Sequence[Where]) -> tuple[Schedule, MemoryPlan]:
    """A schedule whose formulas were filled in, as pictures show it: on one stream where none was chosen, with the
    Python line of each node; and how well its memory came out."""
    nodes = [
        replace(node, command=replace(node.command, where=line), stream=node.stream or 0)
        for node, line in zip(schedule.nodes, lines, strict=True)
    ]
    return replace(schedule, nodes=tuple(nodes)), memory_of(schedule)
