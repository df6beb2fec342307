"""Programs of several streams: what each of their commands has come after, and no more than that."""

from __future__ import annotations

from collections.abc import Sequence

from ocl_ir.kernel.accesses import READ, WRITE
from ocl_runtime.errors import LaunchError
from ocl_runtime.execute.driver import Error, Event, Queue
from ocl_runtime.execute.streams.hazards import Touch
from ocl_runtime.execute.streams.program import Batch, Program, submit
from tests.support.simulated import Kernel
from tests.support.world import World


class Steps(Program):
    """Steps with one access each, in a world that runs what it is given as late as it may."""

    __slots__ = ("_touches", "_world")

    def __init__(self, world: World, touches: Sequence[Touch], batches: Sequence[Batch]) -> None:
        self._world, self._touches = world, touches
        self.what, self.batches, self.keeps, self.repeats = "steps", batches, None, None
        self.looked = [[touches[number] for number in batch.lookups] for batch in batches]
        self.recorded = [[touches[number] for number in batch.records] for batch in batches]
        self.names = [f"step {number}" for number in range(len(touches))]
        self.lines = [""] * len(touches)
        self.home = world.stream(0)
        self.streams = {batch.stream: world.stream(batch.stream) for batch in batches}

    def everything(self) -> list[Touch]:
        return list(self._touches)

    def of_step(self, number: int) -> list[Touch]:
        return [self._touches[number]]

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


def test_a_command_knows_nothing_of_what_later_ones_of_its_stream_wait_for() -> None:
    """Stream 0 runs steps 0 and 2, stream 1 runs step 1 behind step 0; only step 2 waits for what stream 3 wrote."""
    world = World(4, eager=0.0)
    x, first, second = world.allocate(256, 3), world.allocate(256, 0), world.allocate(256, 0)
    written = world.write(3, x, slow=True)
    touches = [first.touch(WRITE), second.touch(WRITE), x.touch(READ)]
    batches = [Batch(0, (), (0,), (0,), 0, 0), Batch(1, (0,), (1,), (1,), 1, 1), Batch(0, (), (2,), (2,), 2, 2)]
    submit(world.streams, Steps(world, touches, batches))
    assert world.waits(world.read(1, x)) == [written]
    assert world.stream(0).known == {world.stream(3): 1}
    assert not list(world.violations())
