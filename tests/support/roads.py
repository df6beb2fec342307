"""The two roads of values between work-items of a sub-group: as the device has it, and through local memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache

import ocl_runtime as ocl
from ocl_ir.subgroups import Subgroups
from ocl_runtime.device import Device, choose
from ocl_runtime.settings import Settings

ROADS = ("as the device has it", "through local memory")
INTEL = Subgroups(sizes=(4, 8, 16), spelling="opencl", within_rows=True)
"""What Intel's CPU runtime has."""
NVIDIA = Subgroups(sizes=(32,), spelling="ptx")
"""What NVIDIA's GPUs have."""


def device_on(road: str, device: Device | None = None) -> Device:
    """The device of the tests, which on the second road has no sub-groups."""
    device = device or choose()
    return device if road == ROADS[0] else replace(device, quirks=replace(device.quirks, subgroups=None))


@cache
def _runtime(road: str) -> ocl.Runtime:
    return ocl.Runtime(device_on(road), Settings(cache_folder=None))


@contextmanager
def on(road: str) -> Iterator[Subgroups | None]:
    """Arrays are on a runtime that takes this road; gives what it has of sub-groups."""
    runtime = _runtime(road)
    with ocl.use(runtime):
        yield runtime.executor.device.quirks.subgroups
