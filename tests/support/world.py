"""Streams, memory and transfers over a simulated device, with everything that reaches the driver on record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ocl_ir.kernel.accesses import READ, WRITE
from ocl_runtime.execute.driver import Driver
from ocl_runtime.execute.log import Log
from ocl_runtime.execute.memory.storage import Memory, Storage
from ocl_runtime.execute.streams.chosen import stream
from ocl_runtime.execute.streams.command import Command, Stream
from ocl_runtime.execute.streams.hazards import Touch
from ocl_runtime.execute.streams.streams import Streams
from ocl_runtime.execute.transfers.transfer import Transfers
from ocl_runtime.observe.commands import Logged, Recording
from ocl_runtime.observe.order import Order, Violation
from ocl_runtime.settings import Settings
from tests.support import fakes
from tests.support.simulated import Kernel, Simulated

PAGE = 2**16
BYTE = np.dtype(np.uint8)


class World:
    """One of each, with small pages. `give` gives kernels to streams by number.

    `idle` bytes may lie free before a stream is made to wait for memory. Without `record` no event outlives its use.
    """

    def __init__(
        self,
        count: int = 4,
        *,
        seed: int = 0,
        behind: str = "fails",
        eager: float = 0.0,
        unified: bool = True,
        idle: int | None = None,
        record: bool = True,
        **settings: Any,
    ) -> None:
        self.device = Simulated(seed, behind=behind, eager=eager)
        self.recording = Recording(self.device)
        self.driver: Driver = self.recording if record else self.device
        settings = {"page_bytes": PAGE, "memory_limit": 2**22, "pinned_bytes": 2**22, "cache_folder": None, **settings}
        chosen = Settings(**settings)
        log = Log(chosen.log)
        self.streams = Streams(self.driver, count, log)
        device = fakes.device(**{**fakes.NVIDIA, "unified_memory": unified, "max_allocation": 2**22})
        self.memory = Memory(self.driver, self.streams, device, chosen, log)
        if idle is not None:
            pool = self.memory.device_pool
            pool.sizes = replace(pool.sizes, idle=idle)
        self.transfers = Transfers(self.driver, self.streams, self.memory, device)
        self._logged: dict[Command, Logged] = {}

    def stream(self, number: int) -> Stream:
        """What `with stream(number)` gives."""
        with stream(number):
            return self.streams.current()

    def allocate(self, nbytes: int = 256, number: int = 0) -> Storage:
        """Memory, for use on a stream first."""
        return self.memory.allocate(nbytes, stream=self.stream(number))

    def give(
        self,
        number: int,
        *touches: Touch,
        name: str = "kernel",
        run: Callable[..., None] = lambda *args: None,
        args: tuple[Any, ...] = (),
        slow: bool = False,
        fails: bool = False,
        where: str = "",
    ) -> Command:
        """A kernel on stream `number`."""
        if slow:
            self.device.slow.add(self.device.enqueued)
        if fails:
            self.device.failing.add(self.device.enqueued)
        kernel, sizes = Kernel(run, name), ((1,), (1,))
        command = self.streams.submit(
            self.stream(number), touches, f"kernel {name}", where, self.driver.launch, kernel, args, sizes
        )
        if self.driver is self.recording:
            self._logged[command] = self.recording.commands[-1]
        return command

    def read(self, number: int, storage: Storage, low: int = 0, high: int | None = None, **more: Any) -> Command:
        """A kernel that reads bytes of a storage."""
        return self.give(number, storage.touch(READ, low, high), **more)

    def write(self, number: int, storage: Storage, low: int = 0, high: int | None = None, **more: Any) -> Command:
        """A kernel that writes bytes of a storage."""
        return self.give(number, storage.touch(WRITE, low, high), **more)

    def waits(self, command: Command) -> list[Command]:
        """The commands in the wait list of one that was given."""
        commands = {logged: command for command, logged in self._logged.items()}
        return [commands[wait] for wait in self._logged[command].waits]

    def set(self, number: int, storage: Storage, value: int, **more: Any) -> Command:
        """A kernel that gives all bytes of a storage a value."""
        low, high = storage.start, storage.start + storage.nbytes

        def run(data: Any) -> None:
            data[low:high] = value

        return self.give(number, storage.touch(WRITE), run=run, args=(storage.buffer,), **more)

    def copy(self, number: int, to: Storage, from_: Storage, **more: Any) -> Command:
        """A kernel that copies a storage."""
        low, at, count = from_.start, to.start, min(to.nbytes, from_.nbytes)

        def run(target: Any, source: Any) -> None:
            target[at : at + count] = source[low : low + count]

        touches = to.touch(WRITE), from_.touch(READ)
        return self.give(number, *touches, run=run, args=(to.buffer, from_.buffer), **more)

    def bytes(self, storage: Storage) -> bytes:
        """What a storage holds, for the host."""
        return self.transfers.download(storage, BYTE, storage.nbytes, 0, "the test").result().tobytes()

    def violations(self) -> list[Violation]:
        """What the checker finds."""
        return list(Order(self.recording.log).violations())
