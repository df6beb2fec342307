"""All passes from a host program to a schedule that can be replayed. Each is a function from schedule to schedule.

`PIPELINE` names them in the order in which they run; a `watch` sees every stage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from ocl_ir.host.grammar import Program
from ocl_ir.host.schedule import Schedule, bind
from ocl_ir.host.verify_order import verify_order
from ocl_ir.source_line import Where
from ocl_runtime.plan.host.copies import as_launches
from ocl_runtime.plan.host.in_place import reuse_in_place
from ocl_runtime.plan.host.memory import memory_of, plan_memory
from ocl_runtime.plan.host.streams import is_worth_streams, place_streams
from ocl_runtime.plan.host.waits import place_waits
from ocl_runtime.plan.kernels.cache import KernelCache


@dataclass(frozen=True, slots=True)
class HostTarget:
    """What passes know of where a program runs: the kernels made for it, the work-items of a group, how many streams
    there are, and within how many bytes scratch memory is placed where that is possible by waiting."""

    kernels: KernelCache
    group_size: int
    streams: int
    limit: int | None = None


class HostPass(NamedTuple):
    """A pass and its name."""

    name: str
    run: Callable[[Schedule, HostTarget], Schedule]


def _on_streams(schedule: Schedule, target: HostTarget) -> Schedule:
    apart = replace(schedule, offsets={}, arena=0)  # what shares memory on one stream would be in each other's way
    return place_streams(apart, target.streams)


def _in_memory(schedule: Schedule, target: HostTarget) -> Schedule:
    schedule, memory = plan_memory(schedule, target.limit)
    return replace(schedule, memory=memory)


ARRANGE = (
    HostPass("streams", _on_streams),
    HostPass("memory", _in_memory),
    HostPass("waits", lambda schedule, _: place_waits(schedule)),
)
"""What is left to do for a schedule of launches and transfers that has results in place."""
PIPELINE = (
    HostPass("launches", lambda schedule, target: as_launches(schedule, target.kernels, target.group_size)),
    HostPass("in_place", lambda schedule, target: reuse_in_place(schedule, target.kernels)[0]),
    *ARRANGE,
)
Outcome: TypeAlias = Schedule | str
"""What came of a pass, or why it was not run."""
Watch: TypeAlias = Callable[[str, Outcome], None]


def unwatched(name: str, outcome: Outcome) -> None:
    """Nobody looks on."""


def prepare(program: Program, sizes: Mapping[str, int], target: HostTarget, watch: Watch = unwatched) -> Schedule:
    """The schedule for these sizes: streams chosen, scratch memory and waits placed. `watch` gets the name and the
    outcome of each pass, and "bound" first. `Replay` proves the order before it runs any of it.

    Raises what `ocl_ir.host.schedule.bind` does.
    """
    schedule = bind(program, sizes)
    watch("bound", schedule)
    return run(schedule, target, watch)


def run(
    schedule: Schedule,
    target: HostTarget,
    watch: Watch = unwatched,
    pipeline: Sequence[HostPass] = PIPELINE,
) -> Schedule:
    """The schedule after some passes."""
    for name, change in pipeline:
        schedule = change(schedule, target)
        watch(name, schedule)
    return schedule


def arranged(schedule: Schedule, target: HostTarget, watch: Watch = unwatched) -> Schedule:
    """A schedule that runs in order on one stream, or after `ARRANGE` and proven, where it is worth several."""
    if target.streams == 1:
        why = "one stream, in order: each node needs the one before it, or the device has no other"
    elif not is_worth_streams(schedule):
        why = "one stream, in order: there is too little work for several"
    else:
        schedule = run(schedule, target, watch, ARRANGE)
        verify_order(schedule)
        return schedule
    for host_pass in ARRANGE:
        watch(host_pass.name, why)
    return schedule


def described(schedule: Schedule, lines: Sequence[Where]) -> Schedule:
    """A schedule whose formulas were filled in, as pictures show it: on one stream where none was chosen, with the
    Python line of each node, and how well its memory came out."""
    schedule = with_lines(schedule, lines)
    nodes = [replace(node, stream=node.stream or 0) for node in schedule.nodes]
    return replace(schedule, nodes=tuple(nodes), memory=schedule.memory or memory_of(schedule))


def with_lines(schedule: Schedule, lines: Sequence[Where]) -> Schedule:
    """The same with the Python line of each node."""
    nodes = [
        replace(node, command=replace(node.command, where=line))
        for node, line in zip(schedule.nodes, lines, strict=True)
    ]
    return replace(schedule, nodes=tuple(nodes))
