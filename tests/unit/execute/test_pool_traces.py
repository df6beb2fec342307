"""With a cap little above the largest live set, allocations of whole programs succeed.

A pool that moves nothing cannot promise that for every program: where few of many small neighbours stay, what is
between them is of no use for anything large. Each trace says by which factor the cap is larger than what lives at most.
Large allocations alone need an eighth, by which a size of the ladder may be too large.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from ocl_runtime.execute.driver import Buffer
from ocl_runtime.execute.log import Log
from ocl_runtime.execute.memory.pool import NoRoomError, Pool
from ocl_runtime.execute.memory.sizes import PoolSizes
from ocl_runtime.execute.streams.hazards import WRITE, Touch
from ocl_runtime.execute.streams.streams import Streams

MIB = 2**20
STREAMS = 3


class Holder:
    """Who holds a block, as long as it lives."""


class Trace:
    """Allocations and frees; `ops` are (name, bytes), 0 bytes for a free."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.ops: list[tuple[int, int]] = []
        self.peak = 0
        self._live: dict[int, int] = {}

    def allocate(self, nbytes: float) -> int:
        name = len(self.ops)
        self.ops.append((name, int(nbytes)))
        self._live[name] = int(nbytes)
        self.peak = max(self.peak, sum(self._live.values()))
        return name

    def free(self, *names: int) -> None:
        for name in names:
            self.ops.append((name, 0))
            del self._live[name]


def training(trace: Trace) -> None:
    """Weights stay; activations grow with each step and are freed in reverse; now and then a figure is kept."""
    for _ in range(30):
        trace.allocate(trace.random.randrange(10_000, 3_000_000))
    for step in range(25):
        larger = 1 + step * 0.03
        activations, gradients = [], deque[int]()
        for layer in range(30):
            scratch = trace.allocate(trace.random.randrange(50_000, 2_000_000) * larger)
            activations.append(trace.allocate((300_000 + layer * 20_000) * larger))
            trace.free(scratch)
        for layer in reversed(range(30)):
            gradients.append(trace.allocate((300_000 + layer * 20_000) * larger))
            trace.free(activations.pop())
            if len(gradients) > 2:
                trace.free(gradients.popleft())
        trace.free(*gradients)
        trace.allocate(trace.random.randrange(4, 1000))


def _random(trace: Trace, count: int, live: int, low: float, high: float) -> None:
    held: list[int] = []
    for _ in range(count):
        if len(held) >= live or (held and trace.random.random() < 0.45):
            trace.free(held.pop(trace.random.randrange(len(held))))
        else:
            held.append(trace.allocate(math.exp(trace.random.uniform(math.log(low), math.log(high)))))


def random_sizes(trace: Trace) -> None:
    """From bytes to tens of megabytes, freed in any order."""
    _random(trace, 2000, 60, 100, 20e6)


def small_sizes(trace: Trace) -> None:
    """Hundreds of vectors and scalars, freed in any order."""
    _random(trace, 3000, 300, 64, 500e3)


def sawtooth(trace: Trace) -> None:
    """Fills up in steps of one size, is almost emptied, fills up in steps of another."""
    held: list[int] = []
    for tooth in range(12):
        step, total = trace.random.choice([300e3, 700e3, 1.5e6, 3.3e6]), 0.0
        while total < 60e6:
            size = step * trace.random.uniform(0.8, 1.2)
            held.append(trace.allocate(size))
            total += size
        trace.random.shuffle(held)
        stays = 0 if tooth % 4 == 3 else len(held) // 10
        trace.free(*held[stays:])
        del held[stays:]


def many_small_and_few_large(trace: Trace) -> None:
    """Waves of a thousand small ones, of which one in a hundred stays wherever it is, each followed by some large."""
    stay: list[int] = []
    for wave in range(8):
        small = [trace.allocate(trace.random.choice([64, 256, 1000, 4000, 16_000, 30_000])) for _ in range(1000)]
        trace.random.shuffle(small)
        stay += small[:10]
        trace.free(*small[10:])
        trace.free(*[trace.allocate(trace.random.randrange(5_000_000, 15_000_000)) for _ in range(6)])
        if wave % 3 == 2:
            trace.free(*stay[: len(stay) // 2])
            del stay[: len(stay) // 2]


FACTORS = {training: 1.125, random_sizes: 1.125, sawtooth: 1.2, small_sizes: 1.25, many_small_and_few_large: 1.25}


@dataclass
class Lagging:
    """A device that is always some commands behind the host."""

    lag: int
    count: int = 0
    waited: int = 0
    busy: dict[int, int] = field(default_factory=dict)
    """The last command on each buffer."""

    def queue(self) -> object:
        return object()

    def buffer(self, nbytes: int) -> tuple[Buffer, None]:
        return object(), None

    def release(self, buffer: Buffer) -> None:
        assert self.busy.pop(id(buffer), 0) <= self.ended, "a page goes while a command uses it"

    def use(self, queue: object, waits: object, touches: list[Touch]) -> int:
        self.count += 1
        for touch in touches:
            self.busy[id(touch.ranges.buffer)] = self.count
        return self.count

    @property
    def ended(self) -> int:
        return max(self.waited, self.count - self.lag)

    def status(self, event: int) -> int:
        return 0 if event <= self.ended else 1

    def wait(self, event: int) -> None:
        self.waited = max(self.waited, event)

    def flush(self, queue: object) -> None:
        pass


def run(trace: Trace, cap: int, lag: int) -> Iterator[Pool]:
    """Runs a trace, each allocation used by one command on one of some streams; yields now and then."""
    device = Lagging(lag)
    streams = Streams(device, STREAMS, Log())  # type: ignore[arg-type]
    page = min(4 * MIB, cap // 8) // 256 * 256
    sizes = PoolSizes(
        unit=256, page=page, small=page // 16, ladder=8, largest=2**40, limit=cap, idle=cap // 8, kept=cap // 8
    )
    pool = Pool(streams, sizes, device.buffer, device.release, Log())
    held: dict[int, Holder] = {}
    for place, (name, nbytes) in enumerate(trace.ops):
        if nbytes:
            stream = streams._stream(name % STREAMS)
            held[name] = Holder()
            block = pool.allocate(nbytes, stream, "", held[name])
            touch = Touch(block.ranges, block.low, block.high, WRITE)
            streams.submit(stream, [touch], "a command", "", device.use)
        else:
            del held[name]
        if place % 100 == 0:
            yield pool
    yield pool


@pytest.mark.parametrize("lag", [0, 30])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("make", FACTORS, ids=lambda make: str(make.__name__))
def test_what_lives_fits_under_the_cap(make: object, seed: int, lag: int) -> None:
    trace = Trace(seed)
    make(trace)  # type: ignore[operator]
    cap = int(trace.peak * FACTORS[make])  # type: ignore[index]
    for pool in run(trace, cap, lag):
        assert pool.counters.reserved <= cap
    assert pool.counters.peak_in_use == trace.peak
    assert pool.counters.released > 0 or make is small_sizes  # the cap was felt


def test_without_the_room_it_fails() -> None:
    trace = Trace(0)
    random_sizes(trace)
    with pytest.raises(NoRoomError):
        list(run(trace, int(trace.peak * 0.99), 0))


def test_far_from_the_cap_pages_are_seldom_made() -> None:
    trace = Trace(0)
    training(trace)
    *_, pool = run(trace, 100 * trace.peak, 0)
    assert pool.counters.created < pool.counters.allocations / 15
    assert pool.counters.released == 0
