"""A `Runtime`: one device with everything that belongs to it, and nothing that is global.

It is what a user holds of it; `ocl_runtime.executor` does the work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any

from ocl_ir.kernel.grammar import Kernel
from ocl_ir.source_line import calling_line
from ocl_runtime.device import Device, Existing, choose, existing
from ocl_runtime.errors import UnknownDeviceError
from ocl_runtime.execute.launch import Argument
from ocl_runtime.executor import DeviceExecutor, Recorder
from ocl_runtime.observe.profile import Profile
from ocl_runtime.settings import Settings


class Runtime:
    """Computes arrays on one device.

    `device` is a `Device`, or words that choose one (see `ocl_runtime.device.choose`); None takes what the settings
    say, else the best there is. Raises `NoDeviceError`, or `UnknownDeviceError` (for a number too: it would mean
    another device after the next update of a driver).
    """

    def __init__(
        self,
        device: Device | str | None = None,
        settings: Settings | None = None,
        recorder: Recorder | None = None,
        *,
        over: Existing | None = None,
    ) -> None:
        settings = settings or Settings.from_environment()
        if not isinstance(device, Device | str | None):
            raise UnknownDeviceError(
                f"a device is chosen by words, not by {device!r}",
                place=calling_line(),
                remedy='write Runtime("gpu") or other words of its name, which stay true when drivers change; '
                "ocl-devices lists the devices, and Runtime.over takes what PyOpenCL has",
            )
        chosen = device if isinstance(device, Device) else choose(device, settings)
        if recorder is None and settings.dump_folder is not None:
            from ocl_runtime.observe.dump import FolderDump  # what is not asked for need not be loaded

            recorder = FolderDump(settings.dump_folder)
        self.executor = DeviceExecutor(chosen, settings, recorder, over)
        """What computes its arrays; for the library itself."""
        self.executor.stand_behind(self, _in_front_of)

    @classmethod
    def over(cls, given: Any, settings: Settings | None = None, recorder: Recorder | None = None) -> Runtime:
        """A runtime over a `pyopencl.Context` with one device, or over an in-order `pyopencl.CommandQueue`.

        It makes everything in that context. With a queue, stream 0, which is that of the first thread that uses the
        runtime, is that very queue: what the program enqueues there before and after is in order with it. The device is
        taken without being probed. Raises `DeviceError` for an out-of-order queue and a context of several devices.
        """
        context = existing(given)
        return cls(context.device, settings, recorder, over=context)

    def __repr__(self) -> str:
        return f"Runtime({self.device})"

    @property
    def device(self) -> Device:
        """The device that computes."""
        return self.executor.device

    @property
    def settings(self) -> Settings:
        """What it was made with."""
        return self.executor.settings

    @property
    def queue(self) -> Any:
        """The `pyopencl.CommandQueue` of stream 0, which PyOpenCL's arrays share with it unless they have their own."""
        return self.executor.engine.streams.first.queue

    def launch(
        self,
        kernel: Kernel,
        args: Mapping[str, Argument] | Sequence[Argument],
        global_size: tuple[int, ...],
        group_size: tuple[int, ...] | None = None,
    ) -> None:
        """Runs a kernel over an index space on this thread's stream, without waiting for it.

        A pointer's argument is a storage and an offset in elements, or the `ocl_ir.layout.Layout` of the elements that
        are touched, to the first of which the pointer is. Raises `DTypeError`, `ShapeError`, `NumberRangeError` or
        `MixedDevicesError` for arguments that do not fit, `LaunchError` where the driver refuses.
        """
        self.executor.launch(kernel, args, global_size, group_size)

    def finish(self) -> None:
        """Returns when the device has done everything it was given. Raises the first failure that nobody has seen."""
        self.executor.engine.finish()

    def profile(self) -> Profile:
        """When each command ran that is known to have ended; nothing unless `Settings.profile` is on. Printed, it is a
        table: commands with calls, time, GB/s and the line that asked."""
        self.executor.engine.streams.look()
        return Profile(self.executor.engine.streams.profile or (), measured=self.settings.profile)

    def timeline(self, path: str | PathLike[str]) -> None:
        """Waits for all that the device was given, and writes a page for a browser that shows when each command ran.

        Raises `SettingError` unless `Settings.profile` is on, `InputFileError` where the page cannot be written, and
        what `finish` does.
        """
        self.finish()
        from ocl_runtime.observe.timeline import write_timeline

        write_timeline(self.profile(), f"commands on {self.device}", self.executor.engine.streams.count, Path(path))

    def memory_report(self) -> str:
        """What memory is held and by whom, for a person to read."""
        return self.executor.engine.memory.report()

    def statistics(self) -> dict[str, dict[str, int]]:
        """Counters since the runtime was made: launches, programs, kernels by structure, streams, memory."""
        executor, engine = self.executor, self.executor.engine
        stored = executor.stored_plans
        return {
            "launch": asdict(engine.counters),
            "program": asdict(engine.programs.counters),
            "kernel": asdict(executor.kernels.statistics),
            "plan": asdict(executor.plans.statistics)
            | {"damaged": stored.damaged if stored else 0, "tuned": executor.choices.used_records},
            "stream": asdict(engine.streams.counters),
            "memory": asdict(engine.memory.device_pool.counters),
            "pinned": asdict(engine.memory.host_pool.counters),
            "staging": asdict(engine.memory.staging_pool.counters),
        }


def _in_front_of(executor: DeviceExecutor) -> Runtime:
    """A runtime for whoever has only arrays left."""
    made = Runtime.__new__(Runtime)
    made.executor = executor
    return made
