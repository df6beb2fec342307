"""Programs of several streams: what each of their commands has come after, and no more than that."""

from __future__ import annotations

from ocl_ir.kernel.accesses import READ, WRITE
from ocl_runtime.execute.streams.program import Batch, submit
from tests.support.steps import Steps
from tests.support.world import World


def test_a_command_knows_nothing_of_what_later_ones_of_its_stream_wait_for() -> None:
    """Stream 0 runs steps 0 and 2, stream 1 runs step 1 behind step 0; only step 2 waits for what stream 3 wrote."""
    world = World(4, eager=0.0)
    x, first, second = world.allocate(256, 3), world.allocate(256, 0), world.allocate(256, 0)
    written = world.write(3, x, slow=True)
    touches = [first.touch(WRITE), second.touch(WRITE), x.touch(READ)]
    batches = [Batch(0, (), (0,), (0,), 0, 0), Batch(1, (0,), (1,), (1,), 1, 1), Batch(0, (), (2,), (2,), 2, 2)]
    submit(world.streams, Steps(world, [[touch] for touch in touches], touches, batches))
    assert world.waits(world.read(1, x)) == [written]
    assert world.stream(0).known == {world.stream(3): 1}
    assert not list(world.violations())
