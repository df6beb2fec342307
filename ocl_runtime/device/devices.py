"""`Device`: one OpenCL device with all that is known about it, and the list of them in order of preference."""

from __future__ import annotations

import functools
import re
from collections import Counter
from dataclasses import dataclass, field, replace

import pyopencl as cl

from ocl_runtime.device.capabilities import KINDS, Capabilities, query
from ocl_runtime.device.drivers import platforms
from ocl_runtime.device.quirks import Quirks, quirks_for


@dataclass(frozen=True)
class Device:
    """An OpenCL device; `key` names it across processes for as long as its driver stays the same."""

    capabilities: Capabilities
    quirks: Quirks
    cl: cl.Device = field(repr=False, compare=False)
    key: str

    def __str__(self) -> str:
        caps = self.capabilities
        return f"{caps.name} ({caps.kind}; {caps.platform}, driver {caps.driver_version})"


@functools.cache
def all_devices() -> tuple[Device, ...]:
    """Every device that the drivers list, usable or not, the most preferred first, simulators last."""
    devices = []
    seen: Counter[str] = Counter()
    for platform in platforms():
        try:
            handles = platform.get_devices()
        except cl.Error:  # DEVICE_NOT_FOUND, or a driver that is broken: the others must not suffer
            continue
        for handle in handles:
            try:
                device = describe(handle)
            except cl.Error:
                continue
            seen[device.key] += 1
            if seen[device.key] > 1:  # two cards of one model
                device = replace(device, key=f"{device.key} | {seen[device.key]}")
            devices.append(device)
    return tuple(sorted(devices, key=_preference))


def describe(handle: cl.Device) -> Device:
    """All that is known about a device of PyOpenCL's."""
    caps = query(handle)
    return Device(caps, quirks_for(caps), handle, f"{caps.platform} | {caps.name} | {caps.driver_version}")


def _preference(device: Device) -> tuple[object, ...]:
    caps, quirks = device.capabilities, device.quirks
    return (
        quirks.simulator,
        KINDS.index(caps.kind),
        -quirks.preference,
        caps.kind == "gpu" and caps.unified_memory,  # a card before the graphics unit inside a CPU
        -caps.compute_units,
        [-int(part) for part in re.findall(r"\d+", caps.driver_version)[:3]],  # the newer driver
        device.key,
    )
