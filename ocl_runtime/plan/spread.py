"""Streams for the launches of a plan: parts that do not depend on each other run at once, if they are worth it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ocl_ir.kernel.accesses import WRITE, modes
from ocl_ir.types import element
from ocl_runtime.plan.host.streams import Costs, launch_seconds, place
from ocl_runtime.plan.launch import Address, Launch


def spread(launches: Sequence[Launch], count: int) -> list[Launch]:
    """The launches, whose sizes are known, each with one of `count` streams, counted from that of who runs the plan."""
    if len(launches) < 2 or count < 2:
        return list(launches)
    costs = Costs()
    seconds = [_seconds(launch, costs) for launch in launches]
    streams = place(_conflicting(launches), seconds, [None] * len(launches), count, costs)
    return [replace(launch, stream=stream) for launch, stream in zip(launches, streams, strict=True)]


def _seconds(launch: Launch, costs: Costs) -> float:
    nbytes, numbers = 0, []
    for param, arg in zip(launch.kernel.params, launch.args, strict=True):
        if isinstance(arg, Address) and arg.touched is not None:
            low, high = arg.touched.range()
            nbytes += (high - low) * element(param.value.type).size
        numbers.append(int(arg) if isinstance(arg, np.integer) else None)
    return launch_seconds(launch.kernel, numbers, launch.global_size, nbytes, costs)


def _conflicting(launches: Sequence[Launch]) -> list[list[int]]:
    """For each launch the earlier ones that touch memory with it, of which one writes; less those that such a one comes
    after, since the launch then comes after them as well."""
    writers: dict[int, int] = {}
    """Of each storage, the last launch that writes it; and who has read it since."""
    readers: dict[int, list[int]] = {}
    found: list[list[int]] = []
    for number, launch in enumerate(launches):
        written = dict.fromkeys(
            id(arg.storage)
            for arg, mode in zip(launch.args, modes(launch.kernel), strict=True)
            if isinstance(arg, Address) and mode & WRITE
        )
        touched = dict.fromkeys(id(arg.storage) for arg in launch.args if isinstance(arg, Address))
        earlier = {writers[storage] for storage in touched if storage in writers}
        for storage in touched:
            if storage in written:
                earlier.update(readers.pop(storage, ()))
                writers[storage] = number
            else:
                readers.setdefault(storage, []).append(number)
        found.append(sorted(earlier))
    return found
