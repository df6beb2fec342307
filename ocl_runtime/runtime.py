"""A `Runtime`: one device with everything that belongs to it, and nothing that is global.

It puts the parts together: the engine that executes, the cache of kernels by structure, the settings, and who looks on.
Arrays talk to it through `ocl_runtime.plan.executor.Executor`.
"""

from __future__ import annotations

import weakref
from dataclasses import asdict
from typing import Any

from numpy.typing import NDArray

from ir.graph_text import text
from ir.types import DTYPES, DType
from ocl_runtime.device import Device, choose
from ocl_runtime.execute.engine import Engine, Recorder
from ocl_runtime.execute.storage import Storage
from ocl_runtime.observe.dump import FolderDump
from ocl_runtime.plan.cache import KernelCache
from ocl_runtime.plan.launch import Address, Plan
from ocl_runtime.plan.target import Target
from ocl_runtime.settings import Settings


class Runtime:
    """Computes arrays on one device.

    `device` is a `Device`, or words that choose one (see `ocl_runtime.device.choose`); None takes what the settings
    say, else the best there is. Raises `NoDeviceError` or `UnknownDeviceError`.
    """

    def __init__(
        self,
        device: Device | str | None = None,
        settings: Settings | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        self.settings = settings or Settings.from_environment()
        chosen = device if isinstance(device, Device) else choose(device, self.settings)
        if recorder is None and self.settings.dump_folder is not None:
            recorder = FolderDump(self.settings.dump_folder)
        self._recorder = recorder
        self.engine = Engine(chosen, self.settings, recorder)
        self._kernels = KernelCache()
        self._target = _target(chosen)
        # Some drivers abort when the process ends with commands still running.
        weakref.finalize(self, self.engine.finish)

    def __repr__(self) -> str:
        return f"Runtime({self.device})"

    @property
    def device(self) -> Device:
        """The device that computes."""
        return self.engine.device

    @property
    def target(self) -> Target:
        """The device as the planner sees it."""
        return self._target

    @property
    def kernels(self) -> KernelCache:
        """The kernels made for this runtime, by structure."""
        return self._kernels

    @property
    def default_real(self) -> DType:
        """The dtype of reals where none is asked for."""
        return DTYPES[self.settings.default_real]

    def allocate(self, nbytes: int) -> Storage:
        """Memory with undefined contents. Raises `OutOfMemoryError`."""
        return self.engine.allocate(nbytes)

    def upload(self, host: NDArray[Any]) -> Storage:
        """New memory with a copy of a contiguous host array."""
        return self.engine.upload(host)

    def download(self, storage: Storage, dtype: DType, start: int, count: int) -> NDArray[Any]:
        """Elements as a new 1-D host array, once all work is done."""
        return self.engine.download(storage, dtype.numpy, count, start)

    def run(self, plan: Plan) -> None:
        """Starts a plan's launches in their order, without waiting for them."""
        if self._recorder is not None:
            self._recorder.planned("\n".join(map(text, plan.roots)))
        for launch in plan.launches:
            args = [(arg.storage, arg.offset) if isinstance(arg, Address) else arg for arg in launch.args]
            self.engine.launch(launch.kernel, args, launch.global_size, launch.group_size)

    def finish(self) -> None:
        """Waits until the device has done everything it was given."""
        self.engine.finish()

    def statistics(self) -> dict[str, dict[str, int]]:
        """Counters since the runtime was made: launches, programs, kernels by structure, allocations."""
        return {
            "launch": asdict(self.engine.counters),
            "program": asdict(self.engine.programs.counters),
            "kernel": asdict(self._kernels.statistics),
            "memory": asdict(self.engine.memory.counters),
        }


def _target(device: Device) -> Target:
    caps, quirks = device.capabilities, device.quirks
    return Target(
        kind="cpu" if caps.kind == "cpu" else "gpu",
        compute_units=caps.compute_units,
        vector_bytes=quirks.vector_bytes,
        group_size=quirks.group_size,
        max_argument_bytes=caps.max_argument_bytes,
        fp16=caps.fp16,
        fp64=caps.fp64,
    )
