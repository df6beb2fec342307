"""Whether a device multiplies by the matrix instructions that its row of quirks names.

Rows are written from documents, also for devices that nobody here has. So before an instruction is used on a device, a
small kernel multiplies known matrices there, in a process of its own, and the sums are compared with those of the
interpreter. What came of it is kept on disk, for as long as the driver and our sources stay the same, and later starts
check nothing, also where the driver ended that process or went on for a minute; a device without a row is never asked.
Only what was built and could not be launched is tried again next time: others may have used the device. What was
measured on such devices is not tried where nothing can be kept.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ocl_ir.kernel import matrix_instruction, matrix_instructions
from ocl_runtime.codegen.templates import templates_folder
from ocl_runtime.device.devices import Device
from ocl_runtime.device.drivers import identity
from ocl_runtime.device.trial import ChildError, in_child
from ocl_runtime.private_folder import PrivateFolder

UNKNOWN = "was not tried: "
"""What begins a verdict that is not kept."""
_known: dict[str, dict[str, str]] = {}
_lock = threading.Lock()


def usable_instructions(device: Device, cache_folder: Path | None) -> tuple[str, ...]:
    """The names of the matrix instructions that a device has been seen to multiply by, by what is known or is found out
    now."""
    return tuple(sorted(name for name, fault in verdicts(device, cache_folder).items() if not fault))


def verdicts(device: Device, cache_folder: Path | None) -> Mapping[str, str]:
    """Why each instruction that a device's row names cannot be used; nothing where it can."""
    names = device.quirks.matrix_instructions
    if not names:
        return {}
    if device.quirks.matrices_measured and cache_folder is None:
        return dict.fromkeys(names, "")
    with _lock:
        key = f"{device.key}\n{device.capabilities.platform_version}\n{identity()}\n{_sources()}\n{names}"
        if key not in _known:
            folder = PrivateFolder(cache_folder / "devices" if cache_folder else None)
            name = hashlib.sha256(key.encode()).hexdigest()
            found = _kept(folder.read(name), key)
            if found is None:
                found = _found_out(device)
                if not any(fault.startswith(UNKNOWN) for fault in found.values()):
                    folder.write(name, json.dumps([key, found]).encode())
            _known[key] = found
        return _known[key]


def _kept(content: bytes | None, key: str) -> dict[str, str] | None:
    """What a file says of a device, if it does: a damaged one says nothing."""
    try:
        said = json.loads(content or b"")
    except ValueError:
        return None
    match said:
        case [named, dict() as faults] if named == key and all(isinstance(each, str) for each in faults.values()):
            return faults
    return None


def _found_out(device: Device) -> dict[str, str]:
    from ocl_runtime.codegen.matrix_trial import run  # the interpreter, too, which later starts need not

    try:
        found = in_child(device, run)
    except ChildError as error:
        return dict.fromkeys(device.quirks.matrix_instructions, str(error))
    return {name: found.get(name, f"{UNKNOWN}no row names it") for name in device.quirks.matrix_instructions}


@cache
def _sources() -> str:
    """A digest of what the verdicts depend on."""
    template = templates_folder() / "helpers" / "matrix_instructions.cl.mako"
    trial = Path(__file__).with_name("matrix_trial.py")
    files = template, trial, matrix_instruction.__file__, matrix_instructions.__file__, __file__
    return hashlib.sha256(b"\0".join(Path(file).read_bytes() for file in files)).hexdigest()
