"""OpenCL devices: what there is, what each can do, how to treat it, and which one to use.

In the order they come into play:

    drivers.py        make every driver visible, then ask for the platforms
    capabilities.py   what a device can do, queried once
    quirks.py         what differs between implementations, one row each with its reason
    devices.py        Device, and all of them in order of preference
    trial.py          small kernels that are tried, and a process of its own to do that in
    probe.py          whether a device truly works, remembered on disk
    choose.py         the user's words, or the best there is, to one device
    existing.py       a context or queue of PyOpenCL's to its device
    report.py         all of that as a listing
    kernel_objects.py kernel objects, and how they take arguments
    ending.py         calls of the driver, and the end of the process

Only this package and the driver modules of `codegen` and `execute` know PyOpenCL.
"""

from ocl_runtime.device.capabilities import Capabilities
from ocl_runtime.device.choose import Finding, choose, survey
from ocl_runtime.device.devices import Device, all_devices
from ocl_runtime.device.existing import Existing, existing, in_order
from ocl_runtime.device.quirks import Quirks, quirks_for, rows_for

__all__ = [
    "Capabilities",
    "Device",
    "Existing",
    "Finding",
    "Quirks",
    "all_devices",
    "choose",
    "existing",
    "in_order",
    "quirks_for",
    "rows_for",
    "survey",
]
