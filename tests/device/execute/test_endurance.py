"""Long programs on a real device: threads that share arrays, and very many launches. What is held stays as it was.

`make nightly` runs the long ones: ten times the commands, and a million launches.
"""

from __future__ import annotations

import gc
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.memory.storage import Storage
from ocl_runtime.execute.streams.chosen import stream
from tests.support.wrapped import adding, values

NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
THREADS = 8
COMMANDS = 100_000 if NIGHTLY else 10_000
LAUNCHES = 1_000_000 if NIGHTLY else 20_000

# A wait in the driver cannot be interrupted, only ended with the process.
pytestmark = pytest.mark.timeout(3000 if NIGHTLY else 250, method="thread")


@dataclass(frozen=True)
class Held:
    """What an engine holds once nothing is running."""

    cells: int
    uses: int
    pending: int
    blocks: int
    pages: int
    threads: int
    resident: int

    def __sub__(self, other: Held) -> dict[str, int]:
        return {name: value - getattr(other, name) for name, value in vars(self).items()}


def held(engine: Engine) -> Held:
    """Counted for everything that memory's histories still know, in use or free."""
    with engine.streams.lock:
        engine.streams.look()
        pool = engine.memory.device_pool
        pool.trim()
        pool._free.join()
        blocks = [block for page in pool._pages for block in page.blocks()]
        cells = [cell for block in blocks for cell in block.ranges.cells]
        return Held(
            cells=len(cells),
            uses=sum(len(cell.writes) + len(cell.reads) for cell in cells),
            pending=sum(len(one.pending) for one in engine.streams.all()),
            blocks=len(blocks),
            pages=len(pool._pages),
            threads=threading.active_count(),
            resident=resident(),
        )


def resident() -> int:
    """Bytes of this process in memory; 0 on systems that do not say so."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


@pytest.fixture
def make(device: Device, engine: Engine) -> Engine:
    """Some memory less than all, so that what leaks would soon be missed."""
    return Engine(device, replace(engine.settings, streams=THREADS, memory_limit=2**28, staging_bytes=2**20))


# ---------------------------------------------------------------------- threads


class Shared:
    """Counters in shared arrays, one row for each thread to write and all to read, and sums that a lock passes round.

    Every thread adds to its own row, copies rows of others (whatever they hold by then), makes and drops arrays, moves
    some to the host and back, and in turn adds to a total.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.rows = [engine.upload(np.zeros(256, np.uint32)) for _ in range(THREADS)]
        self.total = engine.upload(np.zeros(256, np.uint32))
        self.added = [0] * THREADS
        self.turn = threading.Lock()
        self.sum = 0

    def work(self, number: int, commands: int, seed: int) -> int:
        """Gives so many commands; how many values of others came down."""
        engine, rng = self.engine, np.random.default_rng((seed, number))
        given = seen = 0
        with stream(number):
            while given < commands:
                kind = int(rng.integers(10))
                if kind < 4:
                    adding(engine, self.rows[number], self.rows[number], 1, number)
                    self.added[number] += 1
                    given += 1
                elif kind < 7:
                    given += self._own(number, rng)
                elif kind < 9:
                    with self.turn:
                        adding(engine, self.total, self.total, 3, number)
                        self.sum += 3
                    given += 1
                elif given % 20 == 0:
                    self._look(int(rng.integers(THREADS)))
                    seen += 1
                    given += 1
        return seen

    def _own(self, number: int, rng: np.random.Generator) -> int:
        """Memory that comes and goes, made of what another thread is writing meanwhile."""
        engine, other = self.engine, self.rows[int(rng.integers(THREADS))]
        x = engine.allocate(1024)
        adding(engine, other, x, 0, number)
        y = engine.upload(np.full(int(rng.choice([256, 20_000])), number, np.uint32), snapshot=False)
        adding(engine, y, y, 5, number)
        if not rng.integers(30):
            assert (values(engine, y) == number + 5).all()
            before, after = values(engine, x), values(engine, other)
            assert (before == before[0]).all()
            assert (after >= before[0]).all()
        return 3

    def _look(self, other: int) -> None:
        found = values(self.engine, self.rows[other])
        assert (found == found[0]).all()

    def check(self) -> None:
        for row, added in zip(self.rows, self.added, strict=True):
            assert (values(self.engine, row) == added).all()
        assert (values(self.engine, self.total) == self.sum).all()


def rounds(shared: Shared, commands: int, seed: int) -> Held:
    """All threads at once; what is held when they are done."""
    with ThreadPoolExecutor(THREADS) as threads:
        done = [threads.submit(shared.work, number, commands // THREADS, seed) for number in range(THREADS)]
        for one in done:
            one.result()
    shared.engine.finish()
    shared.check()
    gc.collect()
    return held(shared.engine)


def test_threads_that_share_arrays_are_right_and_hold_no_more_and_more(make: Engine) -> None:
    shared = Shared(make)
    first = rounds(shared, COMMANDS // 5, 0)
    last = rounds(shared, COMMANDS // 5, 1)
    for seed in range(2, 5):
        last = rounds(shared, COMMANDS // 5, seed)
    growth = last - first
    assert last.pending == 0
    # Of each array the last write and a read of each stream; free memory between them.
    assert last.cells <= last.blocks <= 4 * THREADS, last
    assert last.uses <= (THREADS + 1) ** 2 + 2 * last.blocks, last
    assert growth["pages"] <= 1, growth
    assert growth["threads"] == 0, growth
    assert growth["resident"] < 2**23, growth
    counters = make.memory.device_pool.counters
    assert counters.live == THREADS + 1
    assert make.memory.staging_pool.counters.live == 0
    assert make.streams.counters.failures == 0


# ---------------------------------------------------------------------- launches


def test_very_many_launches_hold_no_more_than_the_first(make: Engine) -> None:
    """On two streams in turn, of which each needs what the other made, with memory that comes and goes."""
    engine = make
    x, y = engine.upload(np.zeros(64, np.uint32)), engine.upload(np.zeros(64, np.uint32))

    def run(count: int) -> None:
        for place in range(count // 4):
            adding(engine, x, y, 1, 0)
            scratch: Storage | None = engine.allocate(256 * (place % 7 + 1))
            assert scratch is not None
            adding(engine, y, x, 0, place % 2)
            adding(engine, x, engine.allocate(256), 1, place % 3)
            adding(engine, scratch, scratch, 1, place % 2)
            scratch = None

    warm = LAUNCHES // 100
    run(warm)
    engine.finish()
    first = held(engine)
    for _ in range(10):
        run((LAUNCHES - warm) // 10)
        engine.finish()
        now = held(engine)
        growth = now - first
        assert now.pending == 0
        assert now.cells <= now.blocks <= 8, now
        assert now.uses <= 24, now
        assert growth["resident"] < 2**23, growth
    expected = (warm // 4) + 10 * (((LAUNCHES - warm) // 10) // 4)
    assert (values(engine, x) == expected).all()
    assert engine.memory.device_pool.counters.live == 2
