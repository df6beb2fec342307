"""Choosing a device: by the user's words, or the best there is.

Candidates are probed in order of preference until one works, so that a program start probes one device and not all;
only a listing (`survey`, or the error for a name that is unknown) probes every one. Devices are never named by index:
an index means another device after the next driver update.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ocl_runtime.device import probe
from ocl_runtime.device.capabilities import KINDS
from ocl_runtime.device.devices import Device, all_devices
from ocl_runtime.errors import DeviceError, NoDeviceError, UnknownDeviceError
from ocl_runtime.settings import Settings

INSTALL = (
    'install an OpenCL driver: for an x86-64 CPU on Linux or Windows pip install "ocl-runtime[cpu]"; for other CPUs, '
    "and on a Mac, PoCL: conda install -c conda-forge pyopencl pocl, or apt install pocl-opencl-icd; for a GPU the "
    "driver of its vendor (NVIDIA: in a container, mount the compute libraries; AMD: rocm-opencl-runtime; Intel: "
    "intel-opencl-icd)"
)


@dataclass(frozen=True)
class Finding:
    """One device of a survey; `fault` says why it cannot be used, and None that it can."""

    device: Device
    fault: str | None


def choose(want: str | None = None, settings: Settings | None = None) -> Device:
    """The most preferred usable device that `want` describes, or of all if it is None and the settings name none.

    `want` holds words that must each be found in the device's name, vendor, platform or driver version, whatever their
    case, or be its kind: "gpu", "nvidia", "pocl 3.1". A simulator is only chosen by its name.
    """
    settings = settings or Settings.from_environment()
    asked = want if want is not None else settings.device
    if asked is not None:
        return _choose_asked(asked, all_devices(), settings.cache_folder)
    candidates = [device for device in all_devices() if not device.quirks.simulator]
    findings = []
    for device in candidates:
        fault = probe.fault(device, settings.cache_folder)
        if fault is None:
            return device
        findings.append(Finding(device, fault))
    findings += [Finding(device, "a simulator, chosen only by its name") for device in all_devices()
                 if device.quirks.simulator]  # fmt: skip
    raise NoDeviceError("there is no usable OpenCL device", place=_lines(findings), remedy=INSTALL)


def survey(settings: Settings | None = None) -> tuple[Finding, ...]:
    """Every device with the verdict on it, the most preferred first. Probes all: for listings only."""
    settings = settings or Settings.from_environment()
    return tuple(Finding(device, probe.fault(device, settings.cache_folder)) for device in all_devices())


def matches(device: Device, want: str) -> bool:
    """Whether a device is one that `want` describes."""
    if want == device.key:
        return True
    caps = device.capabilities
    words = want.lower().split()
    names = f"{caps.name} {caps.platform} {caps.vendor} {'pocl' if _is_pocl(device) else ''}".lower()
    text = f"{names} {caps.driver_version}".lower()
    if device.quirks.simulator and not any(word in names for word in words):
        return False
    return bool(words) and all(word == caps.kind if word in KINDS else word in text for word in words)


def _is_pocl(device: Device) -> bool:
    # Everybody calls it PoCL, but its platform is "Portable Computing Language".
    return device.capabilities.platform == "Portable Computing Language"


def _choose_asked(want: str, devices: tuple[Device, ...], cache_folder: Path | None) -> Device:
    matching = [device for device in devices if matches(device, want)]
    faults = []
    for device in matching:
        fault = probe.fault(device, cache_folder)
        if fault is None:
            return device
        faults.append(Finding(device, fault))
    if faults:
        raise DeviceError(
            f"the device asked for cannot be used: {want!r}",
            place=_lines(faults),
            remedy="mend or update its driver, or ask for another device; ocl-devices lists them",
        )
    if not devices:
        raise NoDeviceError(f"there is no OpenCL device at all, so none like {want!r}", remedy=INSTALL)
    raise UnknownDeviceError(
        f"no device is like {want!r}",
        place=_lines(Finding(device, probe.fault(device, cache_folder)) for device in devices),
        remedy="use words from these lines, or gpu, accelerator or cpu (in the call, or in OCL_RUNTIME_DEVICE)",
    )


def _lines(findings: Iterable[Finding]) -> str:
    return "\n".join(f"{finding.device}: {finding.fault or 'usable'}" for finding in findings)
