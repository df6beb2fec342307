"""Whether a device works: it must build a small kernel, run it and give the right numbers.

Drivers that list a device and then fail are common: a compiler that does not know the CPU, a card that another process
holds. Some abort the process or hang, so a first probe runs in a process of its own, under a time limit. A device that
passed is remembered on disk, and later starts probe nothing; one that failed is probed again whenever it is wanted,
since its fault may have been mended.
"""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pyopencl as cl

from ocl_runtime.device.devices import Device, all_devices
from ocl_runtime.device.drivers import identity
from ocl_runtime.private_folder import PrivateFolder

TIME_LIMIT = 60.0  # seconds; the slowest first build seen took 3
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
# The child imports from where the parent did, whatever made the parent's path.
CHILD = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from ocl_runtime.device.probe import child
child(sys.argv[2])
"""
_MARK = "ocl-runtime probe: "
_NOT_FOUND = "not found"
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
        context = cl.Context([device.cl])
        queue = cl.CommandQueue(context)
        program = cl._cl._Program(context, SOURCE)
        try:
            program._build(b"-cl-std=CL1.2", [device.cl])
        except cl.Error as error:
            log = str(program.get_build_info(device.cl, cl.program_build_info.LOG))
            return f"it cannot build a trivial kernel: {_first_line(log) or error}"
        flags = cl.mem_flags
        source = cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=numbers)
        target = cl.Buffer(context, flags.WRITE_ONLY, numbers.nbytes)
        kernel = cl.Kernel(cl.Program(program), "probe")
        kernel.set_args(source, target)
        cl.enqueue_nd_range_kernel(queue, kernel, (ITEMS,), (group,))
        cl.enqueue_copy(queue, result, target, is_blocking=True)
    except cl.Error as error:
        return f"it cannot run a trivial kernel: {error}"
    expected = (numbers * 2 + 1).reshape(-1, group)[:, ::-1].ravel()
    if not np.array_equal(result, expected):
        return f"it computes wrong numbers: {result[:4].tolist()}… where {expected[:4].tolist()}… is right"
    return None


def child(key: str) -> None:
    """The whole of the probing process: find the device, probe it, say what came of it."""
    device = next((device for device in all_devices() if device.key == key), None)
    print(_MARK + json.dumps(run(device) if device else _NOT_FOUND), flush=True)


def _probe_in_child(device: Device) -> str | None:
    if not sys.executable:  # an embedded interpreter cannot start another
        return run(device)
    command = [sys.executable, "-c", CHILD, json.dumps(sys.path), device.key]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=TIME_LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        return f"its driver did not finish a trivial kernel in {TIME_LIMIT:.0f} seconds"
    except OSError:  # no more processes, or none allowed
        return run(device)
    # Drivers print on stdout too.
    said = [line for line in done.stdout.splitlines() if line.startswith(_MARK)]
    if said:
        answer: str | None = json.loads(said[-1].removeprefix(_MARK))
        # A program that changed its environment after its first query sees devices that its children do not.
        return run(device) if answer == _NOT_FOUND else answer
    how = signal.Signals(-done.returncode).name if done.returncode < 0 else f"exit code {done.returncode}"
    last = (done.stderr.strip().splitlines() or [""])[-1]
    return f"the process that probed it ended early ({how}) {last}".rstrip()


def _first_line(log: str) -> str:
    lines = [line.strip() for line in log.splitlines() if line.strip(" \0")]
    return next((line for line in lines if "error" in line.lower()), lines[0] if lines else "")
