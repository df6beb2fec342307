"""Trials of a device: a small kernel that is built and run, and a process of its own to do that in.

Some drivers abort the process or hang over what they cannot do, so what was never tried goes to another process, under
a time limit.
"""

from __future__ import annotations

import importlib
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import pyopencl as cl

from ocl_runtime.device.devices import Device, all_devices

TIME_LIMIT = 60.0  # seconds; the slowest first build seen took 3
# The child imports from where the parent did, whatever made the parent's path.
CHILD = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from ocl_runtime.device.trial import child
child(sys.argv[2], sys.argv[3])
"""
_MARK = "ocl-runtime trial: "
_NOT_FOUND = "not found"
_Answer = TypeVar("_Answer")


class TrialError(Exception):
    """A kernel was not built, or did not run; `built` tells which."""

    def __init__(self, text: str, *, built: bool) -> None:
        super().__init__(text)
        self.built = built


class ChildError(Exception):
    """The process ended, or went on for too long, without an answer."""


def launch(
    device: Device, source: str, name: str, arguments: Sequence[Any], items: int, group: int, options: str = ""
) -> None:
    """Runs a kernel, and puts into the arrays among its arguments what is in their memory then; other arguments are
    NumPy's scalars. Raises `TrialError`."""
    try:
        context = cl.Context([device.cl])
        queue = cl.CommandQueue(context)
        program = cl._cl._Program(context, source)
        try:
            program._build(f"-cl-std=CL1.2 {options}".encode(), [device.cl])
        except cl.Error as error:
            log = str(program.get_build_info(device.cl, cl.program_build_info.LOG))
            raise TrialError(f"{_first_line(log) or error}", built=False) from error
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        memory = [cl.Buffer(context, flags, hostbuf=each) if _is_array(each) else each for each in arguments]
        kernel = cl.Kernel(cl.Program(program), name)
        kernel.set_args(*memory)
        cl.enqueue_nd_range_kernel(queue, kernel, (items,), (group,))
        _download(queue, arguments, memory)
    except cl.Error as error:
        raise TrialError(str(error), built=True) from error


def _download(queue: cl.CommandQueue, arguments: Sequence[Any], memory: Sequence[Any]) -> None:
    for host, buffer in zip(arguments, memory, strict=True):
        if _is_array(host):
            cl.enqueue_copy(queue, host, buffer, is_blocking=True)


def in_child(device: Device, function: Callable[[Device], _Answer], time_limit: float | None = None) -> _Answer:
    """What a function of a module says of a device, called in a process of its own: something that JSON can write. In
    this process where there can be no other. Raises `ChildError`."""
    if not sys.executable:  # an embedded interpreter cannot start another
        return function(device)
    limit = TIME_LIMIT if time_limit is None else time_limit
    named = f"{function.__module__}:{function.__name__}"
    command = [sys.executable, "-c", CHILD, json.dumps(sys.path), device.key, named]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        raise ChildError(f"its driver did not finish a trivial kernel in {limit:.0f} seconds") from None
    except OSError:  # no more processes, or none allowed
        return function(device)
    # Drivers print on stdout too.
    said = [line for line in done.stdout.splitlines() if line.startswith(_MARK)]
    if said:
        answer: Any = json.loads(said[-1].removeprefix(_MARK))
        # A program that changed its environment after its first query sees devices that its children do not.
        return function(device) if answer == _NOT_FOUND else answer["said"]
    how = signal.Signals(-done.returncode).name if done.returncode < 0 else f"exit code {done.returncode}"
    last = (done.stderr.strip().splitlines() or [""])[-1]
    raise ChildError(f"the process that probed it ended early ({how}) {last}".rstrip())


def child(key: str, named: str) -> None:
    """The whole of the other process: find the device, ask the function, say what came of it."""
    device = next((device for device in all_devices() if device.key == key), None)
    module, name = named.split(":")
    answer = {"said": getattr(importlib.import_module(module), name)(device)} if device else _NOT_FOUND
    print(_MARK + json.dumps(answer), flush=True)


def _is_array(value: object) -> bool:
    return isinstance(value, np.ndarray)


def _first_line(log: str) -> str:
    lines = [line.strip() for line in log.splitlines() if line.strip(" \0")]
    return next((line for line in lines if "error" in line.lower()), lines[0] if lines else "")
