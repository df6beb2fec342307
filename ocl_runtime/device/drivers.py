"""Makes every OpenCL driver of the machine visible, then asks the loader for its platforms.

A loader reads its list of drivers once, at the first query of the process. What it misses is told to it for that one
query, by variables that are as before when the query returns:

- Linux: .icd files, each naming a shared library. Those of the system miss two common drivers: Intel's CPU runtime from
  PyPI, whose .icd holds a placeholder path, and NVIDIA's in a container, where the library is mounted but no .icd is.
  `OCL_ICD_VENDORS` names a temporary folder with all of them.
- Windows: PyOpenCL's wheel has Khronos's loader, which reads the registry and asks the graphics drivers. Intel's CPU
  runtime from PyPI writes nothing there: `OCL_ICD_FILENAMES` names its library, and `PATH` the folder with what that
  needs.
- macOS: PyOpenCL's wheel is linked to Apple's framework, whose devices are all there are; with conda it has a loader,
  which reads the environment's own list. Nothing is missed.

Whatever the user has set is respected as it is. If the program queried platforms before us, the loader's list is
fixed, and we work with what it has. The drivers inside PyOpenCL's own wheel need nothing: its loader always adds
them.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import importlib
import importlib.metadata
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pyopencl as cl

# Set by the user, any of these says which drivers to load.
USER_VARIABLES = ("OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH")
# Names more libraries, in some loaders; on Linux the one in PyOpenCL's wheel does not read it.
MORE_LIBRARIES = "OCL_ICD_FILENAMES"
SYSTEM_FOLDERS = (Path("/etc/OpenCL/vendors"),)
REGISTRY = r"SOFTWARE\Khronos\OpenCL\Vendors"
# Where Intel's runtime from PyPI lies in an environment, and its name, by what `sys.platform` begins with.
INTEL_LIBRARIES = {"linux": ("lib", "libintelocl.so"), "win32": ("Library/bin", "intelocl64.dll")}
NVIDIA_LIBRARIES = ("libnvidia-opencl.so.1", "libnvidia-opencl.so")
NVIDIA_FOLDERS = tuple(
    Path(folder)
    for folder in (
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64",
        "/usr/local/nvidia/lib64",
        "/usr/local/nvidia/lib",
        "/usr/lib/wsl/lib",
    )
)
_lock = threading.Lock()


# Names of driver libraries hold one of these.
DRIVER_WORDS = ("ocl", "opencl", "OpenCL", "igdrcl")


def platforms() -> tuple[cl.Platform, ...]:
    """Every platform of the process. All of the library's queries start here."""
    return _first_query()[0]


def identity() -> str:
    """A digest of the driver libraries that the first query loaded: a driver that was replaced has another one.

    It is empty where the system does not list loaded libraries; there the drivers' versions must tell them apart.
    """
    return _first_query()[1]


def _first_query() -> tuple[tuple[cl.Platform, ...], str]:
    with _lock:
        return _query()


@functools.cache
def _query() -> tuple[tuple[cl.Platform, ...], str]:
    with _all_drivers_visible():
        try:
            cl_platforms = tuple(cl.get_platforms())
        except cl.Error:  # PLATFORM_NOT_FOUND_KHR: the loader's way to say "none"
            cl_platforms = ()
    # Taken now: a build makes drivers load more libraries, and the digest must not depend on that.
    return cl_platforms, _loaded_drivers()


def _loaded_drivers() -> str:
    maps = Path("/proc/self/maps")
    if not maps.exists():
        return ""
    loaded = {line.split(maxsplit=5)[5] for line in maps.read_text(errors="replace").splitlines() if "/" in line}
    digest = hashlib.sha256()
    for library in map(Path, sorted(loaded)):
        if any(word in library.name for word in DRIVER_WORDS) and library.exists():
            status = library.stat()
            digest.update(f"{library}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def library_names() -> list[str]:
    """What the temporary folder names: every driver known to the system, and those it forgot; no path to nothing."""
    names = list(_system_libraries())
    names += _more_libraries(names)
    for library in (_intel_library(), _nvidia_library()):
        # A bare name in an .icd gives way: the dynamic linker may not know the folder that we found the library in.
        if library and not any("/" in name and Path(name).name == Path(library).name for name in names):
            names = [*(name for name in names if name != Path(library).name), library]
    return names


@contextmanager
def _all_drivers_visible() -> Iterator[None]:
    with ExitStack() as stack:
        if not any(os.environ.get(variable) for variable in USER_VARIABLES):
            if sys.platform.startswith("linux"):
                # With nowhere to write, the loader's own list must do.
                with suppress(OSError):
                    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ocl-runtime-drivers-")))
                    for number, name in enumerate(library_names()):
                        (folder / f"{number:02}.icd").write_text(name + "\n", "utf-8", "surrogateescape")
                    stack.enter_context(_environment(OCL_ICD_VENDORS=str(folder)))
            elif sys.platform == "win32":
                stack.enter_context(_environment(**windows_variables()))
        yield


@contextmanager
def _environment(**changes: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def windows_variables() -> dict[str, str]:
    """What the loader is told on Windows: Intel's runtime, unless the registry has it or the user names libraries."""
    library = _intel_library()
    if library is None or os.environ.get(MORE_LIBRARIES):
        return {}
    if any(name.replace("\\", "/").endswith(f"/{Path(library).name}") for name in _registered()):
        return {}  # a driver loaded twice shows up twice
    folder = str(Path(library).parent)
    return {MORE_LIBRARIES: library, "PATH": os.pathsep.join([folder, os.environ.get("PATH", "")])}


def _registered() -> list[str]:
    """The libraries that Windows' registry names."""
    winreg = importlib.import_module("winreg")
    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, REGISTRY) as key:
            return [winreg.EnumValue(key, number)[0] for number in range(winreg.QueryInfoKey(key)[1])]
    except OSError:  # no driver was ever installed
        return []


def _system_libraries() -> Iterator[str]:
    # A conda environment has a list of its own, which its loader reads besides the system's.
    for folder in (*SYSTEM_FOLDERS, Path(sys.prefix) / "etc" / "OpenCL" / "vendors"):
        for icd in sorted(folder.glob("*.icd")):
            try:
                name = icd.read_text("utf-8", "surrogateescape").strip()
            except OSError:
                continue
            # A bare name is left to the dynamic linker; a path to nothing is an .icd that was never finished.
            if name and ("/" not in name or Path(name).exists()):
                yield name


def _more_libraries(known: list[str]) -> list[str]:
    """What the environment names besides; libX.so.2 is libX.so.2.12, and a driver loaded twice shows up twice."""
    names = [name for name in os.environ.get(MORE_LIBRARIES, "").split(os.pathsep) if name]
    bases = [Path(name).name for name in known]
    return [name for name in names if not any(base.startswith(Path(name).name) for base in bases)]


def _intel_library() -> str | None:
    """Intel's CPU runtime from PyPI: it lies in the environment's folder of libraries, or in the user's."""
    folder, library = INTEL_LIBRARIES["win32" if sys.platform == "win32" else "linux"]
    candidates = [Path(sys.prefix) / folder / library]
    try:
        files = importlib.metadata.files("intel-opencl-rt") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    candidates += [Path(str(file.locate())).resolve() for file in files if file.name == library]
    return next((str(path) for path in candidates if path.exists()), None)


def _nvidia_library() -> str | None:
    """NVIDIA's driver, which containers often have without an .icd; by its bare name if the dynamic linker knows it."""
    for name in NVIDIA_LIBRARIES:
        with suppress(OSError):
            ctypes.CDLL(name)  # what the loader will do: the only true test, LD_LIBRARY_PATH included
            return name
    paths = (folder / name for folder in NVIDIA_FOLDERS for name in NVIDIA_LIBRARIES)
    return next((str(path) for path in paths if path.exists()), None)
