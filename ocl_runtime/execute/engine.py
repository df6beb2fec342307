"""One device at work: its context, its queue, and every kernel that was built for it."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ir.kernel import Kernel
from ocl_runtime.codegen.cache import ProgramCache
from ocl_runtime.codegen.compile import Compilation, compile_kernel
from ocl_runtime.codegen.driver import Program
from ocl_runtime.codegen.expressions import Dialect
from ocl_runtime.device import Device
from ocl_runtime.errors import DeviceError, DTypeError
from ocl_runtime.execute import driver, transfer
from ocl_runtime.execute.launch import Argument, Executable
from ocl_runtime.execute.storage import Memory, Storage
from ocl_runtime.settings import Settings

_MOST_EXECUTABLES = 4096


class Recorder(Protocol):
    """Who wants to see what is compiled; `ocl_runtime.observe` has one that writes files."""

    def planned(self, expression: str) -> None:
        """The kernels that this thread compiles from now on are for this expression, given as text."""

    def compiled(self, compilation: Compilation, program: Program) -> None:
        """A kernel was compiled for the first time in this process."""


@dataclass
class LaunchCounters:
    """What the engine did since it began."""

    launches: int = 0
    compiled: int = 0
    """Kernels that went from IR to a program, whether the driver compiled it or a cache had it."""


class Engine:
    """Executes kernels on one device. Any thread may use it; commands run in the order in which they are given."""

    def __init__(self, device: Device, settings: Settings, recorder: Recorder | None = None) -> None:
        self.device = device
        self.settings = settings
        self.context = driver.create_context(device)
        self.queue = driver.create_queue(self.context, device)
        self.programs = ProgramCache(self.context, device, settings.cache_folder, disk_bytes=settings.cache_bytes)
        self.counters = LaunchCounters()
        self.memory = Memory(self.context, device)
        self._dialect = Dialect(own_math=device.quirks.own_math, vector_hint=device.quirks.vector_hint)
        self._recorder = recorder
        self._executables: OrderedDict[tuple[int, str], tuple[Kernel, Executable]] = OrderedDict()
        self._lock = threading.Lock()
        self._compiling = threading.Lock()
        self._process = os.getpid()

    # ------------------------------------------------------------------ memory

    def allocate(self, nbytes: int) -> Storage:
        """Memory with undefined contents. Raises `OutOfMemoryError`."""
        self._check_process()
        return self.memory.allocate(nbytes)

    def upload(self, source: np.ndarray[Any, Any]) -> Storage:
        """New memory with a host array's elements in C order."""
        new = self.allocate(source.nbytes)
        transfer.upload(self.queue, new, source, self.device)
        return new

    def download(self, from_: Storage, dtype: np.dtype[Any], count: int, offset: int = 0) -> np.ndarray[Any, Any]:
        """`count` elements from element `offset` on, as a new 1-D host array."""
        self._check_process()
        return transfer.download(self.queue, from_, dtype, count, offset, self.device)

    # ------------------------------------------------------------------ kernels

    def executable(self, kernel: Kernel, strategy: str | None = None) -> Executable:
        """The kernel compiled for this device, from memory where this very kernel was compiled before.

        `strategy` says how locals become declarations; None takes the settings', else what suits the device. Raises
        `VerifyError`, `BuildError`, or `DTypeError` where the device lacks a dtype of the kernel's.
        """
        self._check_process()
        chosen = strategy or self.settings.locals_strategy or self.device.quirks.locals_strategy
        key = (id(kernel), chosen)
        with self._lock:
            known = self._executables.get(key)
            if known is not None:
                self._executables.move_to_end(key)
                return known[1]
        with self._compiling:  # of threads that want the same kernel, one compiles it
            with self._lock:
                known = self._executables.get(key)
            if known is not None:
                return known[1]
            made = self._compile(kernel, chosen)
            with self._lock:
                self._executables[key] = (kernel, made)  # holding the kernel keeps its id from being given again
                while len(self._executables) > _MOST_EXECUTABLES:
                    self._executables.popitem(last=False)
        return made

    def _compile(self, kernel: Kernel, strategy: str) -> Executable:
        compilation = compile_kernel(kernel, strategy, self._dialect)
        self._check_dtypes(compilation)
        source = compilation.source
        program = self.programs.program(source.text, explain=source.explain)
        self.counters.compiled += 1
        if self._recorder is not None:
            self._recorder.compiled(compilation, program)
        return Executable(self.device, compilation, program, self.memory)

    def _check_process(self) -> None:
        """OpenCL does not survive a fork: PoCL's threads are gone in the child, which would wait for them for ever."""
        if os.getpid() != self._process:
            raise DeviceError(
                f"the runtime of {self.device} was made in another process, before a fork",
                remedy='start processes with multiprocessing.get_context("spawn"), or make the runtime in the child',
            )

    def _check_dtypes(self, compilation: Compilation) -> None:
        for extension, dtype in (("cl_khr_fp16", "f16"), ("cl_khr_fp64", "f64")):
            if f"{extension} : enable" in compilation.source.text and not self.device.capabilities.computes(dtype):
                raise DTypeError(
                    f"{self.device} cannot compute with {dtype}",
                    place=f"kernel {compilation.kernel.name}",
                    remedy="convert to float32, or choose another device (ocl-devices lists what each can do)",
                )

    def launch(
        self,
        kernel: Kernel,
        args: Mapping[str, Argument] | Sequence[Argument],
        global_size: tuple[int, ...],
        group_size: tuple[int, ...] | None = None,
    ) -> driver.Event:
        """Runs a kernel over the index space; returns the command's event without waiting."""
        if group_size is None:
            group_size = kernel.group_size or (self.device.quirks.group_size, 1, 1)
            group_size = group_size[: len(global_size)]
        event = self.executable(kernel).launch(self.queue, args, global_size, group_size)
        with self._lock:
            self.counters.launches += 1
        return event

    def finish(self) -> None:
        """Waits until the device has done everything it was given."""
        if os.getpid() == self._process:  # in a forked child there is nothing to wait for, and nobody who would answer
            driver.finish(self.queue)
