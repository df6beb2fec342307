"""PyOpenCL as its users have it: buffers, kernels by hand, a queue, and the time of what was enqueued.

This is the one module of the benchmark that knows PyOpenCL; the ceilings and the cases by hand are made with it.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array

from ocl_runtime.commands.bench.samples import Sample
from ocl_runtime.runtime import Runtime

Enqueue = Callable[[], Sequence[Any]]
"""Enqueues commands, and returns their events."""


_NOISE = 2**24
"""Bytes of random numbers that are made on the host."""
_FILLER, _FILLED = 2**26, 4_000_000
"""Bytes that a GPU copies again and again before a measurement, and for how many nanoseconds."""


@dataclass(frozen=True)
class Launch:
    """A kernel with its arguments set, and its sizes. PyOpenCL does not keep what the arguments name: this does."""

    kernel: Any
    args: tuple[Any, ...]
    size: tuple[int, ...]
    group: tuple[int, ...] | None


class OpenCL:
    """A context's queue with a clock, on the device of a runtime and in its context."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.kind = runtime.device.capabilities.kind
        self.units = runtime.device.capabilities.compute_units
        self.max_allocation = runtime.device.capabilities.max_allocation
        self._context = runtime.executor.engine.opencl.context
        self.queue: Any = cl.CommandQueue(self._context, properties=cl.command_queue_properties.PROFILING_ENABLE)
        self._programs: dict[str, Any] = {}
        self._noise: Any = None
        self._filler: Launch | None = None
        self._fillings = 0

    @property
    def cache_bytes(self) -> int:
        """What the driver says of the size of the device's cache; 0 where it says nothing."""
        try:
            return int(self.queue.device.get_info(cl.device_info.GLOBAL_MEM_CACHE_SIZE))
        except cl.Error:
            return 0

    @property
    def version(self) -> str:
        """PyOpenCL's."""
        return str(cl.VERSION_TEXT)

    def upload(self, x: np.ndarray) -> Any:
        """A buffer with the elements of an array."""
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        return cl.Buffer(self._context, flags, hostbuf=np.ascontiguousarray(x))

    def array(self, x: np.ndarray) -> Any:
        """A `pyopencl.array.Array` with the elements of an array."""
        return cl.array.to_device(self.queue, np.ascontiguousarray(x))

    def empty(self, nbytes: int) -> Any:
        """A buffer whose memory has been written once, so that the driver has made it."""
        buffer = cl.Buffer(self._context, cl.mem_flags.READ_WRITE, nbytes)
        self.fill(buffer, nbytes)
        self.queue.finish()
        return buffer

    def random(self, nbytes: int) -> Any:
        """A buffer of random float32 between 0 and 1, which repeat themselves."""
        buffer = cl.Buffer(self._context, cl.mem_flags.READ_WRITE, nbytes)
        if self._noise is None:
            self._noise = self.upload(np.random.default_rng(0).random(_NOISE // 4, np.float32))
        for start in range(0, nbytes, _NOISE):
            part = min(_NOISE, nbytes - start)
            cl.enqueue_copy(self.queue, buffer, self._noise, byte_count=part, dst_offset=start)
        self.queue.finish()
        return buffer

    def download(self, buffer: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """The elements of a buffer."""
        found = np.empty(shape, dtype)
        cl.enqueue_copy(self.queue, found, buffer)
        return found

    def fill(self, buffer: Any, nbytes: int) -> Any:
        """Enqueues zeros: the event."""
        zero: Any = np.uint32(0)
        return cl.enqueue_fill_buffer(self.queue, buffer, zero, 0, nbytes)

    def copy(self, source: Any, target: Any, start: int, nbytes: int) -> Any:
        """Enqueues the driver's own copy of the bytes from a start on: the event."""
        return cl.enqueue_copy(self.queue, target, source, byte_count=nbytes, src_offset=start, dst_offset=start)

    def launch(
        self,
        name: str,
        args: Iterable[Any],
        size: tuple[int, ...],
        group: tuple[int, ...] | None,
        *,
        real: str = "float",
        lanes: int = 1,
    ) -> Launch:
        """A kernel of kernels.cl with arguments: buffers, and whole numbers as ulong unless NumPy's. `real` and
        `lanes` are the type that the ceiling of arithmetic computes with."""
        kernel = cl.Kernel(self._program(real, f"{real}{lanes}" if lanes > 1 else real), name)
        kernel.set_args(*(np.uint64(arg) if isinstance(arg, int) else arg for arg in args))
        return Launch(kernel, tuple(args), size, group)

    def enqueue(self, launch: Launch) -> Any:
        """Enqueues a launch: the event."""
        return cl.enqueue_nd_range_kernel(self.queue, launch.kernel, launch.size, launch.group)

    def _program(self, real: str, wide: str) -> Any:
        if wide not in self._programs:
            text = resources.files(__package__).joinpath("kernels.cl").read_text(encoding="utf-8")
            options = ["-cl-std=CL1.2", f"-DREAL={real}", f"-DWIDE={wide}"]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", cl.CompilerWarning)  # some drivers always have something to say
                self._programs[wide] = cl.Program(self._context, text).build(options)
        return self._programs[wide]

    def occupy(self, queues: Sequence[Any]) -> None:
        """Gives a GPU so much to do, before what comes next in some queues, that it need not wait for the host after
        that: it then finds clocks and caches as in the midst of work. Other devices have no clock that this changes."""
        if self.kind != "gpu":
            return
        if self._filler is None:
            half = min(_FILLER, self.max_allocation // 2) // 4096 * 4096
            self._filler = self.launch("fill", [self.empty(2 * half), half // 16], (half // 16,), None)
            for _ in range(2):  # the first one is slow
                filled = self.enqueue(self._filler)
            self.queue.finish()
            self._fillings = max(1, _FILLED // max(1, filled.profile.end - filled.profile.start))
        for _ in range(self._fillings):
            filled = self.enqueue(self._filler)
        for queue in queues:
            cl.enqueue_barrier(queue, wait_for=[filled])
            queue.flush()

    def time(self, enqueue: Enqueue) -> Sample:
        """What commands take: on the host's clock from the first enqueue to the end, and on the device's, which has
        been busy before."""
        self.queue.finish()
        start = time.perf_counter()
        events = enqueue()
        self.queue.finish()
        wall = time.perf_counter() - start
        if self.kind == "gpu":
            self.occupy([self.queue])
            events = enqueue()
            self.queue.finish()
        return Sample.of([(event.profile.start, event.profile.end) for event in events], wall)
