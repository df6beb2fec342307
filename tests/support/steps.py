"""A program of several streams in a simulated world."""

from __future__ import annotations

from collections.abc import Sequence

from ocl_runtime.errors import LaunchError
from ocl_runtime.execute.driver import Error, Event, Queue
from ocl_runtime.execute.streams.hazards import Touch
from ocl_runtime.execute.streams.program import Batch, Program
from tests.support.simulated import Kernel
from tests.support.world import World


class Steps(Program):
    """Steps of which it is known what each of them touches, in a world that runs what it is given as late as it may.
    Batches look up and record `tracked`, by number."""

    __slots__ = ("_touched", "_world")

    def __init__(
        self, world: World, touched: Sequence[Sequence[Touch]], tracked: Sequence[Touch], batches: Sequence[Batch]
    ) -> None:
        self._world, self._touched = world, touched
        self.what, self.batches, self.keeps, self.repeats = "steps", batches, None, None
        self.looked = [[tracked[number] for number in batch.lookups] for batch in batches]
        self.recorded = [[tracked[number] for number in batch.records] for batch in batches]
        self.names = [f"step {number}" for number in range(len(touched))]
        self.lines = [""] * len(touched)
        self.home = world.stream(0)
        self.streams = {batch.stream: world.stream(batch.stream) for batch in batches}

    def everything(self) -> list[Touch]:
        return [touch for touches in self._touched for touch in touches]

    def of_step(self, number: int) -> list[Touch]:
        return list(self._touched[number])

    def enqueue(self, batch: Batch, queue: Queue, waits: list[Event] | None, events: list[Event]) -> None:
        for number in range(batch.first, batch.last + 1):
            kernel = Kernel(lambda *_: None, self.names[number])
            driver = self._world.driver
            events.append(driver.launch(queue, kernel, (), ((1,), (1,)), waits, self.of_step(number)))
            waits = None

    def ended(self, queue: Queue) -> Event:
        return self._world.driver.marker(queue, None)

    def refused(self, number: int, error: Error) -> LaunchError:
        raise AssertionError(f"{self.names[number]} was refused: {error}")
