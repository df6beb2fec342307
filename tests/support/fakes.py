"""Devices that do not exist, and fresh processes: for tests that no single machine could satisfy."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

from ocl_runtime.device import Capabilities, Device, quirks_for
from tests.support.checkout import PYTHONPATH, ROOT


def capabilities(**changes: Any) -> Capabilities:
    """A modest CPU, with `changes`."""
    facts: dict[str, Any] = {
        "name": "pthread-Core",
        "vendor": "GenuineIntel",
        "platform": "Portable Computing Language",
        "platform_version": "OpenCL 3.0 PoCL 5.0",
        "driver_version": "5.0",
        "opencl_version": (3, 0),
        "opencl_c_version": (1, 2),
        "kind": "cpu",
        "compute_units": 8,
        "max_work_group_size": 4096,
        "max_work_item_sizes": (4096, 4096, 4096),
        "local_memory": 2**20,
        "global_memory": 2**33,
        "max_allocation": 2**31,
        "max_argument_bytes": 1024,
        "mem_base_addr_align": 128,
        "preferred_vector_width_float": 16,
        "address_bits": 64,
        "timer_resolution": 1,
        "fp16": False,
        "fp64": True,
        "int64_atomics": True,
        "subgroups": False,
        "correctly_rounded_divide_sqrt": True,
        "denormals": True,
        "unified_memory": True,
        "has_compiler": True,
        "extensions": frozenset({"cl_khr_fp64"}),
    }
    return Capabilities(**{**facts, **changes})


NVIDIA = {
    "name": "NVIDIA H200", "vendor": "NVIDIA Corporation", "platform": "NVIDIA CUDA", "kind": "gpu",
    "driver_version": "580.159", "compute_units": 132, "max_work_group_size": 1024, "local_memory": 48 * 1024,
    "unified_memory": False,
}  # fmt: skip
INTEL_CPU = {
    "name": "Core",
    "vendor": "Intel(R) Corporation",
    "platform": "Intel(R) OpenCL",
    "driver_version": "2026.2",
}
INTEL_GPU = {
    "name": "Intel(R) UHD Graphics", "vendor": "Intel(R) Corporation", "platform": "Intel(R) OpenCL Graphics",
    "kind": "gpu", "compute_units": 512, "driver_version": "23.5",
}  # fmt: skip
OCLGRIND = {
    "name": "Oclgrind Simulator", "vendor": "Oclgrind", "platform": "Oclgrind", "driver_version": "Oclgrind 21.10",
    "compute_units": 1, "max_work_group_size": 1024,
}  # fmt: skip


def device(**changes: Any) -> Device:
    """A device that knows everything about itself and can do nothing."""
    caps = capabilities(**changes)
    key = f"{caps.platform} | {caps.name} | {caps.driver_version}"
    return Device(caps, quirks_for(caps), SimpleNamespace(), key)  # type: ignore[arg-type]


def python(code: str, *arguments: str, **environ: str) -> str:
    """What a fresh interpreter prints for `code`; it must succeed."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("OCL_", "OPENCL_"))}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        env={**clean, "PYTHONPATH": PYTHONPATH, **environ},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
