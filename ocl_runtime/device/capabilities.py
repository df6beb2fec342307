"""What a device can do: queried once, frozen, and the only place the rest of the library asks.

A device that does not know a query (an old or incomplete driver) gets the value that promises least.
"""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from typing import Any

import pyopencl as cl

MATRICES_OF_SUBGROUPS = "cl_intel_subgroup_matrix_multiply_accumulate"
"""Intel's extension for matrix instructions."""
_SUBGROUP_SIZES = 0x4108  # of cl_intel_required_subgroup_size, which PyOpenCL does not know
KINDS = ("gpu", "accelerator", "cpu")


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """The facts about one device, as its driver states them."""

    name: str
    vendor: str
    platform: str
    platform_version: str
    driver_version: str
    opencl_version: tuple[int, int]
    opencl_c_version: tuple[int, int]
    kind: str  # one of KINDS
    compute_units: int
    max_work_group_size: int
    max_work_item_sizes: tuple[int, ...]
    local_memory: int  # bytes of one work-group
    global_memory: int  # bytes
    max_allocation: int  # bytes of one buffer
    max_argument_bytes: int  # all arguments of a kernel together
    mem_base_addr_align: int  # bytes
    preferred_vector_width_float: int
    address_bits: int
    timer_resolution: int  # nanoseconds
    fp16: bool
    fp64: bool
    int64_atomics: bool
    subgroups: bool
    correctly_rounded_divide_sqrt: bool  # float32, and only with the build option that asks for it
    denormals: bool  # float32
    unified_memory: bool  # host and device share it
    has_compiler: bool
    extensions: frozenset[str]
    compute_capability: tuple[int, int] = (0, 0)  # NVIDIA's version of what a unit can do
    subgroup_sizes: tuple[int, ...] = ()  # asked only of devices with Intel's matrix instructions

    def computes(self, dtype: str) -> bool:
        """Whether the device has arithmetic for the dtype of this name: "f16", "f64", …

        Everything but these two is in every OpenCL device, or made from what is.
        """
        return {"f16": self.fp16, "f64": self.fp64}.get(dtype, True)


def query(device: cl.Device) -> Capabilities:
    """Ask a device for everything `Capabilities` holds."""
    info = cl.device_info
    platform = device.platform
    extensions = frozenset(str(_ask(device, info.EXTENSIONS, "")).split())
    float_config = _ask(device, info.SINGLE_FP_CONFIG, 0)
    return Capabilities(
        name=_text(device.name),
        vendor=_text(device.vendor),
        platform=_text(platform.name),
        platform_version=_text(platform.version),
        driver_version=_text(device.driver_version),
        opencl_version=_version(device.version),
        opencl_c_version=_version(_ask(device, info.OPENCL_C_VERSION, "")),
        kind=_kind(device.type),
        compute_units=device.max_compute_units,
        max_work_group_size=device.max_work_group_size,
        max_work_item_sizes=tuple(device.max_work_item_sizes),
        local_memory=device.local_mem_size,
        global_memory=device.global_mem_size,
        max_allocation=device.max_mem_alloc_size,
        max_argument_bytes=_ask(device, info.MAX_PARAMETER_SIZE, 1024),
        mem_base_addr_align=_ask(device, info.MEM_BASE_ADDR_ALIGN, 1024) // 8,
        preferred_vector_width_float=_ask(device, info.PREFERRED_VECTOR_WIDTH_FLOAT, 1),
        address_bits=_ask(device, info.ADDRESS_BITS, 32),
        timer_resolution=_ask(device, info.PROFILING_TIMER_RESOLUTION, 1000),
        fp16="cl_khr_fp16" in extensions,
        fp64="cl_khr_fp64" in extensions or bool(_ask(device, info.DOUBLE_FP_CONFIG, 0)),
        int64_atomics={"cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"} <= extensions,
        subgroups=not extensions.isdisjoint({"cl_khr_subgroups", "cl_intel_subgroups"}),
        correctly_rounded_divide_sqrt=bool(float_config & cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT),
        denormals=bool(float_config & cl.device_fp_config.DENORM),
        unified_memory=bool(_ask(device, info.HOST_UNIFIED_MEMORY, False)),
        has_compiler=bool(_ask(device, info.COMPILER_AVAILABLE, False)),
        extensions=extensions,
        compute_capability=(
            _ask(device, info.COMPUTE_CAPABILITY_MAJOR_NV, 0),
            _ask(device, info.COMPUTE_CAPABILITY_MINOR_NV, 0),
        ),
        subgroup_sizes=sizes_of(device, _SUBGROUP_SIZES) if MATRICES_OF_SUBGROUPS in extensions else (),
    )


def sizes_of(device: cl.Device, what: int) -> tuple[int, ...]:
    """What a device answers to a query for sizes that PyOpenCL does not know: none where it says no, or where OpenCL's
    function is not found through PyOpenCL's library, as on Windows."""
    try:
        function: Any = ctypes.CDLL(str(cl._cl.__file__)).clGetDeviceInfo
    except (OSError, AttributeError):
        return ()
    function.restype = ctypes.c_int
    function.argtypes = [ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
    nbytes = ctypes.c_size_t()
    if function(device.int_ptr, what, 0, None, ctypes.byref(nbytes)):
        return ()
    sizes = (ctypes.c_size_t * (nbytes.value // ctypes.sizeof(ctypes.c_size_t)))()
    return () if function(device.int_ptr, what, nbytes.value, sizes, None) else tuple(sizes)


def _ask(device: cl.Device, what: cl.device_info, otherwise: Any) -> Any:
    try:
        return device.get_info(what)
    except cl.Error:
        return otherwise


def _text(value: str) -> str:
    # Drivers pad with spaces and NULs.
    return " ".join(value.replace("\0", " ").split())


def _version(text: str) -> tuple[int, int]:
    """The version in "OpenCL 3.0 CUDA" and "OpenCL C 1.2 PoCL"; 1.0 for a driver that does not say."""
    match = re.search(r"(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else (1, 0)


def _kind(bits: int) -> str:
    # A simulator claims to be everything at once; what it runs on is the CPU.
    for kind, bit in (("cpu", cl.device_type.CPU), ("gpu", cl.device_type.GPU)):
        if bits & bit:
            return kind
    return "accelerator"
