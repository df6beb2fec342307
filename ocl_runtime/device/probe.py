"""Whether a device works: it must build a small kernel, run it and give the right numbers.

Drivers that list a device and then fail are common: a compiler that does not know the CPU, a card that another process
holds. Some abort the process or hang, so a first probe runs in a process of its own, under a time limit. A device that
passed is remembered on disk, and later starts probe nothing; one that failed is probed again whenever it is wanted,
since its fault may have been mended.
"""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

import numpy as np

from ocl_runtime.device.devices import Device
from ocl_runtime.device.drivers import identity
from ocl_runtime.device.trial import ChildError, TrialError, in_child, launch
from ocl_runtime.private_folder import PrivateFolder

ITEMS, GROUP = 64, 16
# Local memory and a barrier, since a driver may run straight-line code and fail on those: each item reads the value of
# its mirror image in the group.
SOURCE = f"""
__kernel void probe(__global const int *in, __global int *out)
{{
    __local int shared[{GROUP}];
    const uint l = get_local_id(0);
    shared[l] = in[get_global_id(0)] * 2 + 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = shared[get_local_size(0) - 1 - l];
}}
"""
_known: set[str] = set()
_lock = threading.Lock()


def fault(device: Device, cache_folder: Path | None) -> str | None:
    """Why a device cannot be used, in one line; None if it can."""
    with _lock:
        if device.key in _known:
            return None
        folder = PrivateFolder(cache_folder / "devices" if cache_folder else None)
        content = f"{device.key}\n{device.capabilities.platform_version}\n{identity()}\n".encode()
        name = hashlib.sha256(content).hexdigest()
        if folder.read(name) != content:
            reason = _probe_in_child(device)
            if reason is not None:
                return reason
            folder.write(name, content)
        _known.add(device.key)
        return None


def run(device: Device) -> str | None:
    """Probe in this process: the reason of a failure, or None."""
    if not device.capabilities.has_compiler:
        return "the driver has no compiler"
    group = min(GROUP, device.capabilities.max_work_group_size)
    numbers = np.arange(ITEMS, dtype=np.int32)
    result = np.zeros_like(numbers)
    try:
        launch(device, SOURCE, "probe", (numbers, result), ITEMS, group)
    except TrialError as error:
        return f"it cannot {'run' if error.built else 'build'} a trivial kernel: {error}"
    expected = (numbers * 2 + 1).reshape(-1, group)[:, ::-1].ravel()
    if not np.array_equal(result, expected):
        return f"it computes wrong numbers: {result[:4].tolist()}… where {expected[:4].tolist()}… is right"
    return None


def _probe_in_child(device: Device) -> str | None:
    try:
        return in_child(device, run)
    except ChildError as error:
        return str(error)
