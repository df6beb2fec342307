"""Source or binary to a program: with `ocl_runtime.device`, the only module that talks to PyOpenCL's compiler.

PyOpenCL's own program cache is bypassed by building its low-level program objects, for three reasons: our counters
must say how often a driver truly compiled; its cache turns a bad build option into a KeyError on some drivers; and it
warns whenever a compiler prints anything at all.
"""

from __future__ import annotations

import _thread
import re
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import Any, Literal, TypeAlias

import pyopencl as cl

from ocl_runtime.codegen.binaries import RefusedError, binary_of, can_ask
from ocl_runtime.codegen.declarations import declared
from ocl_runtime.codegen.opened import MARK, NotOpenedError, opened
from ocl_runtime.device import Device
from ocl_runtime.device.ending import DriverCall
from ocl_runtime.device.kernel_objects import new_kernel
from ocl_runtime.errors import BuildError

# The default differs (PoCL 3.0, Intel 1.2), and with it what compiles.
DEFAULT_STANDARD = "-cl-std=CL1.2"
NEIGHBOURHOOD = 3  # lines of source shown above and below a fault
MOST_FAULTS = 3  # the rest is usually a consequence of the first ones
# NVIDIA's compiler only warns of a function that does not exist, and that only the first time that it sees the
# source; its linker fails, and names the function but no line.
# "<kernel>:12:5: error: …" (NVIDIA), "input.cl:12:5: error: …" (Oclgrind), "1:12:5: error: …" (Intel),
# "error: /…/tempfile_x.cl:12:5: …" (PoCL; in the argument of a macro, which begins there,
# "error: /…/tempfile_x.cl:12:5 <Spelling=/…/tempfile_x.cl:12:30>: …").
_FAULTS = (
    re.compile(r"^[^\n]*?:(?P<line>\d+):\d+: (?:fatal )?error: (?P<text>.*)$", re.MULTILINE),
    re.compile(r"^(?:fatal )?error: [^\n]*?:(?P<line>\d+):\d+(?: <Spelling=[^\n>]*>)?: (?P<text>.*)$", re.MULTILINE),
)
_WARNINGS = (re.compile(r"^[^\n]*?:(?P<line>\d+):\d+: warning: (?P<text>implicit declaration .*)$", re.MULTILINE),)
_UNRESOLVED = re.compile(r"Unresolved extern function '(?P<name>\w+)'")

_BUILDING = DriverCall(holds=True)
_LIBRARY = str(cl._cl.__file__)
_ENDED_BY_INTERRUPTS = cl.VERSION < (2026,)
"""Older ones ask Python for the arguments of a kernel in a constructor that may not throw."""
if cl.VERSION < (2025,):  # it makes code for each kernel object, and newer pytools warn of two of one name
    warnings.filterwarnings("ignore", "Overwriting existing generated code in linecache: '<pyopencl invoker")

Context: TypeAlias = cl.Context  # for those who may not import PyOpenCL
Explain: TypeAlias = Callable[[int], str]  # what a line of the source stands for, and line 0 the whole of it


class RefusedBinaryError(Exception):
    """The driver does not take this binary: another made it, or it is damaged. Build from source instead."""


@dataclass(eq=False)
class Program:
    """A built program of one device.

    It may be a part of another one, `whole`, which the driver knows as one program with other sources' kernels.
    """

    device: Device
    source: str
    built_from: Literal["source", "binary"]
    log: str  # what the compiler said, often nothing
    _program: cl.Program = field(repr=False)
    kernels: int = 1
    whole: Program | None = None
    _renamed: Mapping[str, str] = field(default_factory=dict, repr=False)

    def part(self, source: str, renamed: Mapping[str, str]) -> Program:
        """The part that was made of `source`; some of its functions have other names here."""
        return replace(self, source=source, kernels=1, whole=self, _renamed=renamed)

    def kernel(self, name: str) -> cl.Kernel:
        """A new kernel object, for the calling thread alone: a shared one would mix up the arguments of two threads."""
        try:
            with _BUILDING:  # PyOpenCL runs Python there, which lets other threads run, too
                kernel = _uninterrupted(lambda: new_kernel(self._program, self._renamed.get(name, name)))
            _ = kernel.num_args  # NVIDIA's driver finds out about a wrong name only when asked something
        except cl.Error as error:
            raise BuildError(
                f"the program has no kernel {name!r}: {error}",
                source=self.source,
                log=self.log,
                remedy="the kernels of a program are the functions that its source declares __kernel",
            ) from error
        return kernel

    @property
    def nbytes(self) -> int:
        """About as much memory as it takes: drivers do not say, and keep about as much for each kernel."""
        return self.device.quirks.program_bytes * self.kernels + len(self.source)

    @property
    def binary(self) -> bytes | None:
        """What `load` makes this program from again, without compiling; None if the driver gives none."""
        try:
            if can_ask(_LIBRARY):
                with _BUILDING:
                    binary = binary_of(_LIBRARY, self._program.int_ptr)
            else:
                binaries: Any = self._program.get_info(cl.program_info.BINARIES)
                binary = bytes(binaries[0]) if binaries and binaries[0] else b""
        except (cl.Error, RefusedError):
            return None
        return binary if binary and self.device.quirks.binary_mark in binary else None


def _uninterrupted(make: Callable[[], cl.Kernel]) -> cl.Kernel:
    """What it makes, in a thread that runs no signal handlers, where what one raises would end the process."""
    if not _ENDED_BY_INTERRUPTS or threading.current_thread() is not threading.main_thread():
        return make()
    made: SimpleQueue[cl.Kernel | BaseException] = SimpleQueue()

    def run() -> None:
        try:
            made.put(make())
        except BaseException as error:
            made.put(error)

    _thread.start_new_thread(run, ())  # `threading` has callbacks of its own, in which an interrupt is lost
    kernel = made.get()
    if isinstance(kernel, BaseException):
        raise kernel
    return kernel


def full_options(device: Device, options: Sequence[str] = ()) -> tuple[str, ...]:
    """The options a program is truly built with: the caller's, the device's, a language version if none is named."""
    standard = () if any(option.startswith("-cl-std=") for option in options) else (DEFAULT_STANDARD,)
    return (*standard, *device.quirks.build_options, *options)


def build(
    context: Context, device: Device, source: str, options: Sequence[str] = (), explain: Explain | None = None
) -> Program:
    """Compile `source` for one device of a context. A failure raises BuildError, with the lines at fault."""
    all_options = full_options(device, options)
    program = _without_header(context, device, source, all_options)
    if program is None:
        program = cl._cl._Program(context, source)
        try:
            with _BUILDING:
                program._build(_encode(all_options), [device.cl])
        except cl.Error as error:
            log = _log(program, device)
            raise _build_error(device, source, log, all_options, error, explain) from error
    built = _built(device, source, "source", program)
    return _opened(context, built, options) if MARK in source else built


def _without_header(context: Context, device: Device, source: str, options: Sequence[str]) -> cl._cl._Program | None:
    """The program with its own declarations; None where the device reads its header fast, or this does not build."""
    guard = device.quirks.header_guard
    text = declared(source) if guard else None
    if text is None:
        return None
    program = cl._cl._Program(context, text)
    try:
        with _BUILDING:
            program._build(_encode([f"-D{guard}", *options]), [device.cl])
    except cl.Error:
        return None  # whoever builds it with the header gets an error that shows the user's lines alone
    return program


def _opened(context: Context, program: Program, options: Sequence[str]) -> Program:
    """The program with what the compiler has passed on as comments. Raises BuildError where the driver refuses it."""
    try:
        again = load(context, program.device, program.source, opened(program.binary or b""), options)
    except (NotOpenedError, RefusedBinaryError) as error:
        raise BuildError(
            f"instructions of the source were not built on {program.device}: {error}",
            source=program.source,
            log=program.log,
            remedy="ocl_runtime/codegen/opened.py has the stage that opens them; without it other kernels multiply",
        ) from error
    return replace(again, built_from="source")


def load(context: Context, device: Device, source: str, binary: bytes, options: Sequence[str] = ()) -> Program:
    """Make a program from `binary`, which `source` was built to. Raises RefusedBinaryError if the driver will not."""
    if device.quirks.binary_mark not in binary:
        raise RefusedBinaryError("the binary is not whole")
    try:
        program = cl._cl._Program(context, [device.cl], [binary])
        with _BUILDING:
            program._build(_encode(full_options(device, options)), [device.cl])
    except cl.Error as error:
        raise RefusedBinaryError(str(error)) from error
    return _built(device, source, "binary", program)


def _built(device: Device, source: str, built_from: Literal["source", "binary"], program: cl._cl._Program) -> Program:
    built = cl.Program(program)
    try:
        kernels: Any = built.get_info(cl.program_info.NUM_KERNELS)
    except cl.Error:  # OpenCL 1.1 does not know the question
        kernels = 1
    return Program(device, source, built_from, _log(program, device), built, max(1, int(kernels)))


def _encode(options: Sequence[str]) -> bytes:
    return " ".join(options).encode()


def _log(program: cl._cl._Program, device: Device) -> str:
    try:
        return str(program.get_build_info(device.cl, cl.program_build_info.LOG)).strip(" \0\n")
    except cl.Error:
        return ""


def _build_error(
    device: Device, source: str, log: str, options: Sequence[str], error: cl.Error, explain: Explain | None
) -> BuildError:
    faults = _faults(log, source)
    excerpts = [_neighbourhood(source, line, text, explain) for line, text in faults[:MOST_FAULTS]]
    if len(faults) > MOST_FAULTS:
        excerpts.append(f"and {len(faults) - MOST_FAULTS} more")
    if not excerpts:
        excerpts = [log or "the compiler said nothing"]
    if explain is not None and (asked := explain(0)):
        excerpts.append(asked)
    return BuildError(
        f"OpenCL C did not build on {device}: {error}",
        source=source,
        log=log,
        place="\n\n".join([*excerpts, f"options: {' '.join(options)}"]),
        remedy="correct the source, if it is yours; a generated kernel that does not build is a fault of ocl-runtime, "
        "unless the device lacks what it asks for (ocl-devices shows that). This error's .source and .log hold the "
        "whole text",
    )


def _faults(log: str, source: str) -> list[tuple[int, str]]:
    """(line, message) of each error that the log places in the source."""
    lines = source.splitlines()
    faults = _matches(_FAULTS, log) or _matches(_WARNINGS, log) or _calls(log, lines)
    # A number beyond the end belongs to a header of the driver's.
    return [fault for fault in dict.fromkeys(faults) if 1 <= fault[0] <= len(lines)]


def _calls(log: str, lines: Sequence[str]) -> list[tuple[int, str]]:
    """Where functions are called that a linker did not find."""
    return [
        (number, match[0])
        for match in _UNRESOLVED.finditer(log)
        for number, line in enumerate(lines, start=1)
        if f"{match['name']}(" in line
    ]


def _matches(forms: Sequence[re.Pattern[str]], log: str) -> list[tuple[int, str]]:
    return [(int(match["line"]), match["text"].strip()) for form in forms for match in form.finditer(log)]


def _neighbourhood(source: str, line: int, text: str, explain: Explain | None) -> str:
    lines = source.splitlines()
    first = max(1, line - NEIGHBOURHOOD)
    shown = [f"line {line}: {text}"]
    for number in range(first, min(len(lines), line + NEIGHBOURHOOD) + 1):
        shown.append(f"{'>' if number == line else ' '} {number:4} | {lines[number - 1]}")
    if explain is not None and (meaning := explain(line)):
        shown.append(meaning)
    return "\n".join(shown)
