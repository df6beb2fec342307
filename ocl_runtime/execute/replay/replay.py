"""A schedule made ready to run again and again.

Preparing compiles the kernels and binds the steps (`bound.py`). Replaying checks the memory that it is given for the
parameters, takes new memory for the results, and gives the steps to the streams (`run.py`).

Each step is a command of its own, on the stream of the thread that asks for it or on one counted from there. What is
touched from outside is looked up by its history; what is between the steps has its waits from the schedule, where they
were proven. The arena is memory like any other: taken from the pool for each replay, back as soon as that was given.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ocl_ir.errors import ShapeError
from ocl_ir.host.schedule import Buffer, BufferView, Schedule
from ocl_ir.host.verify_order import verify_order
from ocl_ir.source_line import calling_line
from ocl_runtime.errors import MixedDevicesError
from ocl_runtime.execute.driver import Bytes
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.replay.bound import Bound
from ocl_runtime.execute.replay.execution import Part
from ocl_runtime.execute.replay.handles import Memory, handles_for, kernels_of
from ocl_runtime.execute.replay.run import run

ALIGNED = 64
"""Bytes that divide the place of a parameter's memory: the widest access of a kernel."""


class Replay:
    """A schedule that is ready. Any thread may call it."""

    def __init__(self, engine: Engine, schedule: Schedule) -> None:
        """Verifies the order of the schedule, and prepares it. Raises `VerifyError`, and whatever compiling raises."""
        verify_order(schedule)
        self.schedule = schedule
        self._engine = engine
        self._wanted = {buffer.name: buffer for buffer in schedule.buffers if buffer.kind not in {"result", "scratch"}}
        self._inputs_of_the_host = [buffer for buffer in schedule.buffers if buffer.kind == "host input"]
        self._bound = Bound(schedule, handles_for(engine, kernels_of(schedule)))

    def __call__(self, arguments: Mapping[str, Part | Bytes], *, wait: bool = True) -> list[tuple[Part, BufferView]]:
        """Starts the program on this thread's stream, over memory for each of its parameters by name.

        Gives each result as memory and the place in it. Raises `ShapeError` for memory that is missing, too small, or
        written and also another parameter's; `MixedDevicesError` for another runtime's; `LaunchError` as
        `Engine.submit` does; `OutOfMemoryError`, and unless it may `wait`, `NoRoomYetError`, as `Memory.allocate` does.
        """
        self._engine.check_process()
        memory = self._checked(arguments)
        for buffer in self._inputs_of_the_host:
            self._engine.memory.host.settle(memory[buffer.id])  # type: ignore[arg-type]  # as `_checked` made sure
        run(self._engine, self._bound, memory, self._name, self._bound.lines, wait=wait)
        results = []
        for result in self.schedule.results:
            part = memory[result.buffer]
            assert isinstance(part, tuple)
            results.append((Part(*part), result))
        return results

    # ------------------------------------------------------------------ memory

    def _checked(self, arguments: Mapping[str, Part | Bytes]) -> Memory:
        wrong = sorted(set(self._wanted) ^ set(arguments))
        if wrong:
            raise ShapeError(
                f"{self._name} is called with other parameters than it has: {', '.join(wrong)}",
                place=calling_line(),
                remedy=f"it takes {', '.join(self._wanted) or 'none'}",
            )
        for name, buffer in self._wanted.items():
            bound = arguments[name]
            if isinstance(bound, Part):
                self._check(buffer, bound)
            elif bound.nbytes != buffer.nbytes:
                raise ShapeError(
                    f"{self._name} got {bound.nbytes:,} bytes of the host for {name}, which has {buffer.nbytes:,}",
                    place=calling_line(),
                    remedy="give an array of the parameter's shape and dtype",
                )
            twice = [other for other in self._wanted if other != name and self._share(arguments, name, other)]
            if buffer.kind not in {"input", "host input"} and twice:
                raise ShapeError(
                    f"{self._name} got memory for {name}, which it writes, that is also {', '.join(twice)}",
                    place=calling_line(),
                    remedy="give memory of its own",
                )
        memory: Memory = [None] * (len(self.schedule.buffers) + 1)
        for name, buffer in self._wanted.items():
            memory[buffer.id] = arguments[name]
        return memory

    @property
    def _name(self) -> str:
        return f"program {self.schedule.program.name}"

    def _check(self, wanted: Buffer, part: Part) -> None:
        storage, offset = part
        if storage.memory is not self._engine.memory:
            raise MixedDevicesError(
                f"{self._name} got memory of another runtime for {wanted.name}",
                place=calling_line(),
                remedy="allocate it on the runtime that runs the program",
            )
        if offset < 0 or offset + wanted.nbytes > storage.nbytes:
            raise ShapeError(
                f"{self._name} got {storage.nbytes - offset:,} bytes for {wanted.name}, which has {wanted.nbytes:,}",
                place=calling_line(),
                remedy="give memory for the whole of it",
            )
        if offset % ALIGNED:
            raise ShapeError(
                f"{self._name} got {wanted.name} from byte {offset} of its memory on",
                place=calling_line(),
                remedy=f"give memory that begins at a multiple of {ALIGNED} bytes",
            )

    def _share(self, arguments: Mapping[str, Part | Bytes], name: str, other: str) -> bool:
        first, second = arguments[name], arguments[other]
        if not isinstance(first, Part) or not isinstance(second, Part):
            return not isinstance(first, Part) and not isinstance(second, Part) and np.may_share_memory(first, second)
        first_nbytes, second_nbytes = self._wanted[name].nbytes, self._wanted[other].nbytes
        return (
            first.storage is second.storage
            and first.offset < second.offset + second_nbytes
            and second.offset < first.offset + first_nbytes
        )
