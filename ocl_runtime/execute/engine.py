"""One device at work: its streams, its memory, its transfers, and every kernel that was built for it."""

from __future__ import annotations

import math
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol
from weakref import WeakSet

import numpy as np

from ocl_ir.kernel.grammar import Kernel
from ocl_ir.source_line import Where, calling_line
from ocl_runtime.codegen.cache import ProgramCache
from ocl_runtime.codegen.compile import Compilation, compile_kernel
from ocl_runtime.codegen.driver import Program
from ocl_runtime.codegen.source import Source
from ocl_runtime.codegen.spelling import Dialect
from ocl_runtime.device import Device, Existing
from ocl_runtime.errors import DeviceError, DTypeError, Error, LaunchError
from ocl_runtime.execute.driver import Driver, OpenCL
from ocl_runtime.execute.driver import Error as DriverError
from ocl_runtime.execute.launch import Argument, Executable, Launch
from ocl_runtime.execute.log import Log
from ocl_runtime.execute.memory.host_memory import pinned_array
from ocl_runtime.execute.memory.storage import Memory, Storage
from ocl_runtime.execute.sharing.sharing import Sharing
from ocl_runtime.execute.streams.command import Command, Stream
from ocl_runtime.execute.streams.completion import Moved
from ocl_runtime.execute.streams.streams import Streams
from ocl_runtime.execute.transfers.transfer import Download, Transfers
from ocl_runtime.settings import Settings

_MOST_EXECUTABLES = 4096

_engines: WeakSet[Engine] = WeakSet()


def _after_fork() -> None:
    """The engines that a child has are its parent's. Told so here, no command has to ask the system which process it is
    in, which takes a good part of what tracking it takes."""
    for engine in _engines:
        engine.inherited = True
        engine.memory.stream = engine.refuse


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Recorder(Protocol):
    """Who wants to see what is compiled; executors have one that is told what is planned, too."""

    def compiled(self, compilation: Compilation, program: Program) -> None:
        """A kernel was compiled for the first time in this process."""


@dataclass
class LaunchCounters:
    """What the engine did since it began."""

    launches: int = 0
    compiled: int = 0
    """Kernels that went from IR to a program, whether the driver compiled it or a cache had it."""


class Engine:
    """Executes kernels on one device. Any thread may use it.

    Commands go to the calling thread's stream (see `streams.stream`) and come after all that they depend on. `driver`
    puts something around the driver: tests record, fail and delay commands there. `existing` is what there is of OpenCL
    already, which is used instead of new objects.
    """

    def __init__(
        self,
        device: Device,
        settings: Settings,
        recorder: Recorder | None = None,
        driver: Callable[[OpenCL], Driver] | None = None,
        existing: Existing | None = None,
    ) -> None:
        self.device = device
        self.settings = settings
        context, first = (existing.context, existing.queue) if existing is not None else (None, None)
        self.opencl = OpenCL(device, profile=settings.profile, context=context)
        self.driver: Driver = self.opencl if driver is None else driver(self.opencl)
        self.programs = ProgramCache(
            self.opencl.context,
            device,
            settings.cache_folder,
            disk_bytes=settings.cache_bytes,
            memory_bytes=settings.program_bytes,
        )
        self.counters = LaunchCounters()
        log = Log(settings.log)
        count = settings.streams or _streams_of(device)
        self.streams = Streams(self.driver, count, log, profile=settings.profile, first=first)
        self.memory = Memory(self.driver, self.streams, device, settings, log)
        self.transfers = Transfers(self.driver, self.streams, self.memory, device)
        self.sharing = Sharing(self.driver, self.streams, self.memory, device, self.opencl.context)
        quirks = device.quirks
        self._dialect = Dialect(
            own_math=quirks.own_math,
            vector_hint=quirks.vector_hint,
            ordered_loops=quirks.ordered_loops,
            guarded_loops=quirks.guarded_loops,
            opaque_complement=quirks.opaque_complement,
            aligned_halves=quirks.aligned_halves,
            scalar_halves=quirks.scalar_halves,
            converted_halves=quirks.converted_halves,
            branching_division=quirks.branching_division,
            slow_inlining=quirks.slow_inlining,
            rereads_arguments=quirks.rereads_arguments,
            subgroups=quirks.subgroups,
        )
        self._recorder = recorder
        self._executables: OrderedDict[tuple[int, str], tuple[Kernel, Executable]] = OrderedDict()
        self._adopted: dict[tuple[int, str], tuple[Kernel, Source]] = {}
        self._lock = threading.Lock()
        self._compiling = threading.Lock()
        self.inherited = False
        """Whether it was made in another process, before a fork."""
        _engines.add(self)

    # ------------------------------------------------------------------ memory

    def allocate(self, nbytes: int, where: Where = "", *, persistent: bool = False, wait: bool = True) -> Storage:
        """Memory with undefined contents. Raises as `Memory.allocate` does."""
        self.check_process()
        return self.memory.allocate(nbytes, where, persistent=persistent, wait=wait)

    def upload(self, source: np.ndarray[Any, Any], where: str = "", *, snapshot: bool = True) -> Storage:
        """New memory with a host array's elements in C order; without `snapshot` it must stay as it is until they are
        there."""
        self.check_process()
        dense = np.ascontiguousarray(source)
        own = not np.may_share_memory(dense, source)  # a copy already; NumPy gives a view where only the shape changes
        return self.transfers.upload(dense, self.streams.current(), where, snapshot=snapshot and not own)

    def download(
        self,
        from_: Storage,
        dtype: np.dtype[Any],
        count: int,
        offset: int = 0,
        where: Where = "",
        out: np.ndarray[Any, Any] | None = None,
    ) -> Download:
        """`count` elements from element `offset` on, on their way to a new 1-D host array or to a contiguous `out`."""
        if self.inherited:
            self.refuse()
        return self.transfers.download(from_, dtype, count, offset, where, out)

    def copy(self, from_: Storage, dtype: np.dtype[Any], count: int, offset: int = 0, where: Where = "") -> Storage:
        """New memory with `count` elements from element `offset` on, which the device copies."""
        self.check_process()
        return self.transfers.copy(from_, offset * dtype.itemsize, count * dtype.itemsize, where)

    def view(
        self, of: Storage, dtype: np.dtype[Any], count: int, offset: int = 0, where: str = ""
    ) -> np.ndarray[Any, Any] | None:
        """`count` elements in place, to be read only, where the device shares the host's memory; None elsewhere, and
        for what PyOpenCL may write to."""
        self.check_process()
        if self.sharing.shares(of):
            return None
        return self.transfers.view(of, dtype, count, offset, where)

    def pinned(self, shape: tuple[int, ...], dtype: np.dtype[Any], where: str = "") -> np.ndarray[Any, Any]:
        """A host array that the device copies from and to by itself. Raises `OutOfMemoryError`."""
        self.check_process()
        nbytes = math.prod(shape) * dtype.itemsize
        if not nbytes:
            return np.empty(shape, dtype)
        return pinned_array(self.memory.pinned(nbytes, where), shape, dtype)

    # ------------------------------------------------------------------ kernels

    def executable(self, kernel: Kernel, strategy: str | None = None) -> Executable:
        """The kernel compiled for this device, from memory where this very kernel was compiled before.

        `strategy` says how locals become declarations; None takes the settings', else what suits the device. Raises
        `VerifyError`, `BuildError`, or `DTypeError` where the device lacks a dtype of the kernel's.
        """
        return self.executables([kernel], strategy)[0]

    def executables(self, kernels: Sequence[Kernel], strategy: str | None = None) -> list[Executable]:
        """The same for several kernels: those that were never built become one program."""
        self.check_process()
        chosen = strategy or self._strategy
        known, new = self._known(kernels, chosen), dict[int, Executable]()
        if any(id(kernel) not in known for kernel in kernels):
            with self._compiling:  # of threads that want the same kernel, one compiles it
                known, new = self._all(kernels, chosen)
        try:
            self._build(list(new.values()))
        except BaseException:
            self._forget(new, chosen)
            raise
        executables = [known[id(kernel)] for kernel in kernels]
        for executable in executables:
            _ = executable.program  # which another thread may be building
        return executables

    @property
    def _strategy(self) -> str:
        """How locals become declarations where nobody says."""
        return self.settings.locals_strategy or self.device.quirks.locals_strategy

    @property
    def compiles_as(self) -> str:
        """What the source of a kernel depends on beside the kernel."""
        return f"{self.device}, {self.device.capabilities.platform_version}, {self._dialect}, {self._strategy}"

    def compiled(self, kernel: Kernel) -> Source | None:
        """The source of a kernel that was compiled, with all that belongs to it."""
        with self._lock:
            executable = self._used(kernel, self._strategy)
        return None if executable is None else executable.compilation.source

    def adopt(self, kernel: Kernel, source: Source) -> None:
        """The source of a kernel that is to be built next, as another process has generated it."""
        self._adopted[id(kernel), self._strategy] = kernel, source  # which keeps its id from being given again

    @property
    def is_shown(self) -> bool:
        """Whether somebody looks on, to whom programs are shown."""
        return self._recorder is not None

    def executables_of(self, kernels: Sequence[Kernel | None]) -> list[Executable | None]:
        """What each was compiled to; None where there is no kernel."""
        executables = iter(self.executables([kernel for kernel in kernels if kernel is not None]))
        return [None if kernel is None else next(executables) for kernel in kernels]

    def _all(self, kernels: Sequence[Kernel], strategy: str) -> tuple[dict[int, Executable], dict[int, Executable]]:
        """All of them, by the id of the kernel, and which are new: compiled to source, and not built."""
        known = self._known(kernels, strategy)
        unknown = {id(kernel): kernel for kernel in kernels if id(kernel) not in known}
        compilations = [self._compilation(kernel, strategy) for kernel in unknown.values()]
        for compilation in compilations:
            self._check_dtypes(compilation)
            self._check_atomics(compilation)
        executables = [
            Executable(self.device, self.driver, compilation, self.programs, self.memory)
            for compilation in compilations
        ]
        new = dict(zip(unknown, executables, strict=True))
        with self._lock:
            for key, executable in new.items():
                # Holding the kernel keeps its id from being given again.
                self._executables[key, strategy] = (unknown[key], executable)
            for _ in range(len(self._executables) - _MOST_EXECUTABLES):
                self._executables.popitem(last=False)
        return known | new, new

    def _compilation(self, kernel: Kernel, strategy: str) -> Compilation:
        """A kernel compiled to source, or what was adopted for it."""
        adopted = self._adopted.pop((id(kernel), strategy), None)
        return compile_kernel(kernel, strategy, self._dialect) if adopted is None else Compilation((), adopted[1])

    def _build(self, new: Sequence[Executable]) -> None:
        """Builds what was compiled to source, as one program. Others go on meanwhile, unless they want the same."""
        sources = [executable.compilation.source for executable in new]
        parts = [source.part for source in sources if source.is_generated]
        if len(parts) > 1:
            self.programs.build_together(parts)
        for executable in new:
            program = executable.program
            with self._lock:
                self.counters.compiled += 1
            if self._recorder is not None:
                self._recorder.compiled(executable.compilation, program)

    def _forget(self, kernels: Iterable[int], strategy: str) -> None:
        """Whoever wants them next compiles them."""
        with self._lock:
            for key in kernels:
                self._executables.pop((key, strategy), None)

    def _known(self, kernels: Sequence[Kernel], strategy: str) -> dict[int, Executable]:
        """Those that were compiled before, by the id of the kernel."""
        with self._lock:
            known = {id(kernel): self._used(kernel, strategy) for kernel in kernels}
        return {key: executable for key, executable in known.items() if executable is not None}

    def _used(self, kernel: Kernel, strategy: str) -> Executable | None:
        """What a kernel was compiled to, if it was; it is the one that was used last."""
        key = id(kernel), strategy
        if key not in self._executables:
            return None
        self._executables.move_to_end(key)
        return self._executables[key][1]

    def check_process(self) -> None:
        """OpenCL does not survive a fork: PoCL's threads are gone in the child, which would wait for them for ever."""
        if self.inherited:
            self.refuse()

    def refuse(self) -> NoReturn:
        """Says that this is not the process that it was made in."""
        raise DeviceError(
            f"the runtime of {self.device} was made in another process, before a fork",
            remedy='start processes with multiprocessing.get_context("spawn"), or make the runtime in the child',
        )

    def _check_atomics(self, compilation: Compilation) -> None:
        for extension in ("cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"):
            enabled = f"{extension} : enable" in compilation.source.text
            if enabled and extension not in self.device.capabilities.extensions:
                raise DTypeError(
                    f"{self.device} has no atomics of 64 bits",
                    place=f"kernel {compilation.source.name} needs {extension}",
                    remedy="use int32, uint32 or float32, or choose another device",
                )

    def _check_dtypes(self, compilation: Compilation) -> None:
        for extension, dtype in (("cl_khr_fp16", "f16"), ("cl_khr_fp64", "f64")):
            if f"{extension} : enable" in compilation.source.text and not self.device.capabilities.computes(dtype):
                raise DTypeError(
                    f"{self.device} cannot compute with {dtype}",
                    place=f"kernel {compilation.source.name}",
                    remedy="convert to float32, or choose another device (ocl-devices lists what each can do)",
                )

    def prepare(
        self,
        kernel: Kernel,
        args: Mapping[str, Argument] | Sequence[Argument],
        global_size: tuple[int, ...],
        group_size: tuple[int, ...] | None = None,
        where: Where = "",
    ) -> Launch:
        """A kernel with its arguments, compiled and checked, to be submitted any number of times."""
        if group_size is None:
            group_size = kernel.group_size or (self.device.quirks.group_size, 1, 1)
            group_size = group_size[: len(global_size)]
        return self.executable(kernel).prepare(args, global_size, group_size, where)

    def submit(self, launch: Launch, stream: Stream | None = None) -> Command:
        """Gives a launch to a stream, by default the calling thread's; does not wait for it.

        Raises `LaunchError` where the driver refuses it, or where it would read what an earlier failure spoilt.
        """
        self.check_process()
        self.counters.launches += 1
        moved = Moved.by(launch.touches) if self.settings.profile else None
        try:
            return self.streams.submit(
                stream or self.streams.current(),
                launch.touches,
                launch.what,
                launch.where,
                self.driver.launch,
                launch.executable.handle(),
                launch.args,
                launch.sizes,
                keep=moved,
            )
        except LaunchError as error:
            if not isinstance(error.__cause__, DriverError):
                raise
            raise launch.refused(error.__cause__) from error.__cause__

    def launch(
        self,
        kernel: Kernel,
        args: Mapping[str, Argument] | Sequence[Argument],
        global_size: tuple[int, ...],
        group_size: tuple[int, ...] | None = None,
        where: Where = "",
    ) -> Command:
        """Prepares a launch and submits it, once, to the calling thread's stream."""
        return self.submit(self.prepare(kernel, args, global_size, group_size, where or calling_line()))

    def finish(self) -> None:
        """Returns when everything the device was given has ended. Raises the first failure that nobody has seen."""
        if not self.inherited:  # in a forked child there is nothing to wait for, and nobody who would answer
            self.streams.finish()
            self.sharing.settle()

    def close(self) -> None:
        """As the process ends: no command may be left running, and nobody is there for an error."""
        with suppress(Error):
            self.finish()


def _streams_of(device: Device) -> int:
    return device.quirks.streams or (8 if device.capabilities.kind == "gpu" else 4)
