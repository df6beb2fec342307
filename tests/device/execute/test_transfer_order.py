"""Uploads and downloads among other work: what the host need not wait for, and the order with everything else."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

from ocl_ir.kernel.accesses import WRITE
from ocl_runtime.device import Device
from ocl_runtime.errors import OutOfMemoryError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.streams.chosen import stream
from tests.support.wrapped import (
    PATIENCE,
    PIECE,
    Stall,
    Wrapped,
    adding,
    eventually,
    held,
    on,
    random_bytes,
    values,
    with_small_ring,
)

LARGE = 3 * 2**20 + 12
"""More than the ring holds."""

# A wait in the driver cannot be interrupted, only ended with the process.
pytestmark = pytest.mark.timeout(120, method="thread")

Made = Callable[..., tuple[Engine, Wrapped]]


@pytest.fixture
def make(device: Device, engine: Engine) -> Made:
    return partial(with_small_ring, device, engine.settings)


@pytest.fixture(params=["as it is", "staged"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# ---------------------------------------------------------------------- the host array


@pytest.mark.parametrize("nbytes", [1000, PIECE, LARGE])
def test_a_host_array_lives_until_it_has_been_read(make: Made, way: str, nbytes: int) -> None:
    engine, driver = make(way)
    host = random_bytes(nbytes)
    expected, alive = host.copy(), weakref.ref(host)
    with held(engine, 0), Stall(driver, "write" if way == "staged" and nbytes > PIECE else "none"):
        x = engine.upload(host, snapshot=False)
        del host
        gc.collect()
        # A small one has been copied to pinned memory before the upload returned.
        assert (alive() is None) == (not engine.device.capabilities.unified_memory and nbytes <= PIECE)
    np.testing.assert_array_equal(values(engine, x, np.uint8), expected)
    engine.streams.look()
    assert eventually(lambda: alive() is None)


@pytest.mark.parametrize("pinned", [True, False])
@pytest.mark.parametrize("nbytes", [1, 1000, 100_000, PIECE, LARGE])
def test_changes_after_a_snapshot_do_not_show(make: Made, way: str, nbytes: int, pinned: bool) -> None:
    engine, _ = make(way)
    host = engine.pinned((nbytes,), np.dtype("u1")) if pinned else np.empty(nbytes, np.uint8)
    for busy in (True, False):
        host[:] = expected = random_bytes(nbytes, busy)
        if busy:
            with held(engine, 0):
                x = engine.upload(host)
                host[:] = 0
        else:
            x = engine.upload(host)
            host[:] = 0
        np.testing.assert_array_equal(values(engine, x, np.uint8), expected)


def test_a_scalar_is_a_snapshot_too(make: Made, way: str) -> None:
    engine, _ = make(way)
    host = np.array(5, np.uint32)
    with held(engine, 0):
        x = engine.upload(host)
        host[...] = 6
    assert values(engine, x) == [5]


@pytest.mark.parametrize("pieces", [7, 20])
def test_a_snapshot_of_a_large_array_returns_when_all_of_it_is_taken(make: Made, pieces: int) -> None:
    """Not before, and not only when all of it is there: what is in the ring, of 8 blocks, is still on its way."""
    engine, driver = make()
    taken = threading.Event()
    host = random_bytes(pieces * PIECE)
    expected = host.copy()

    def upload() -> None:
        stored.append(engine.upload(host))
        taken.set()

    stored: list[Any] = []
    with Stall(driver, "wait") as stall:  # no piece is known to have ended
        thread = threading.Thread(target=upload)
        thread.start()
        assert stall.reached.wait(PATIENCE)
        assert taken.wait(PATIENCE if pieces < 8 else 0) == (pieces < 8)
        stall.go()
        thread.join(PATIENCE)
    host[:] = 0
    np.testing.assert_array_equal(values(engine, stored[0], np.uint8), expected)


# ---------------------------------------------------------------------- nobody waits


def test_the_caller_goes_on_while_a_large_array_is_moved(make: Made) -> None:
    """Not one byte has reached the driver when the upload, a kernel on it and a download have all been given."""
    engine, driver = make()
    host = np.arange(LARGE // 4, dtype=np.uint32)
    warm = engine.upload(host)
    adding(engine, warm, warm, 0)
    engine.finish()
    waits = engine.streams.counters.host_waits
    with Stall(driver, "write") as stall:
        x = engine.upload(host, snapshot=False)
        y = engine.allocate(x.nbytes)
        adding(engine, x, y, 5, number=1)
        coming = engine.download(y, host.dtype, host.size)
        assert stall.reached.wait(PATIENCE)
        assert not coming.done()
        assert engine.streams.counters.host_waits == waits
    np.testing.assert_array_equal(coming.result(), host + 5)


@pytest.mark.parametrize("nbytes", [4, 4000, 100_000, PIECE, LARGE])
def test_nothing_waits_for_what_a_stream_still_has_to_do(make: Made, way: str, nbytes: int) -> None:
    """Snapshot or not: were there a wait for the held stream, this would hang."""
    engine, _ = make(way)
    first = random_bytes(nbytes)
    gone = engine.upload(first)
    engine.finish()
    before = engine.streams.counters.host_waits
    with held(engine, 0, gone.touch(WRITE)):
        del gone  # memory that the stream may have again at once, and others only after its end
        x, y = engine.upload(first), engine.upload(first, snapshot=False)
        downloads = [engine.download(one, first.dtype, nbytes) for one in (x, y)]
        assert engine.streams.counters.host_waits == before
    for one in downloads:
        np.testing.assert_array_equal(one.result(), first)


def test_a_snapshot_waits_for_the_devices_copy_where_nothing_is_in_its_way(make: Made) -> None:
    """That saves a copy; what is small is copied sooner."""
    engine, _ = make("as it is")
    if not engine.device.capabilities.unified_memory:
        host = engine.pinned((LARGE,), np.dtype("u1"))
    else:
        host = random_bytes(LARGE)
    engine.upload(host)
    assert engine.streams.counters.host_waits == 1
    engine.upload(random_bytes(1000))
    assert engine.streams.counters.host_waits == 1
    with held(engine, 0):
        engine.upload(random_bytes(1000))
    assert engine.streams.counters.host_waits == 1


@pytest.mark.parametrize("written", [True, False])
def test_downloads_pass_what_a_stream_was_given_later(make: Made, way: str, written: bool) -> None:
    engine, _ = make(way)
    host = random_bytes(LARGE)
    x, small = engine.upload(host), engine.upload(host[:100])
    engine.finish()
    if written:
        adding(engine, x, x, 0)
        adding(engine, small, small, 0)
    with held(engine, 0):
        np.testing.assert_array_equal(values(engine, x, np.uint8), host)
        np.testing.assert_array_equal(values(engine, small, np.uint8), host[:100])


def test_disjoint_parts_of_a_pinned_array_do_not_wait_for_each_other(make: Made, way: str) -> None:
    engine, _ = make(way)
    host = engine.pinned((4, 1000), np.dtype("u4"))
    host[:] = np.arange(4000).reshape(4, 1000)
    rows = [engine.upload(host[row], snapshot=False) for row in range(4)]
    engine.finish()
    host[:] = 0
    with held(engine, 0, rows[1].touch(WRITE)), stream(1):
        first = engine.download(rows[1], host.dtype, 1000, out=host[1])
        for row in (0, 2, 3):
            coming = engine.download(rows[row], host.dtype, 1000, out=host[row])
            assert (coming.result() == np.arange(1000 * row, 1000 * row + 1000)).all()
        late = engine.download(rows[0], host.dtype, 500, out=host[1, 500:])
        assert not late.done()
    first.result()
    assert (late.result() == np.arange(500)).all()
    assert (host[1] == [*range(1000, 1500), *range(500)]).all()


def test_a_download_that_must_wait_is_in_no_other_ones_way(make: Made, way: str) -> None:
    engine, _ = make(way)
    one, other = engine.upload(random_bytes(1000)), engine.upload(random_bytes(1000, 1))
    adding(engine, other, other, 0, number=3)
    engine.finish()
    with held(engine, 0, one.touch(WRITE)):
        first = engine.download(one, np.dtype("u1"), 1000)
        for _ in range(3):
            np.testing.assert_array_equal(values(engine, other, np.uint8), random_bytes(1000, 1))
    np.testing.assert_array_equal(first.result(), random_bytes(1000))


# ---------------------------------------------------------------------- order


def test_what_is_given_after_an_upload_comes_after_it(make: Made) -> None:
    engine, driver = make()
    host = np.arange(LARGE // 4, dtype=np.uint32)
    y = engine.upload(np.zeros_like(host))
    with Stall(driver, "write") as stall:
        x = engine.upload(host, snapshot=False)
        assert stall.reached.wait(PATIENCE)
        adding(engine, x, y, 1, number=1)
        adding(engine, y, x, 1, number=2)
        coming = engine.download(x, host.dtype, host.size)
    np.testing.assert_array_equal(coming.result(), host + 2)


def test_what_is_given_after_a_download_does_not_change_it(make: Made) -> None:
    engine, driver = make()
    host = np.arange(LARGE // 4, dtype=np.uint32)
    x = engine.upload(host)
    engine.finish()
    with Stall(driver, "read") as stall:
        coming = engine.download(x, host.dtype, host.size)
        assert stall.reached.wait(PATIENCE)
        adding(engine, x, x, 1, number=1)
        again = engine.download(x, host.dtype, host.size)
        del x
        engine.upload(host + 100)  # perhaps into the memory that is still being read
    np.testing.assert_array_equal(coming.result(), host)
    np.testing.assert_array_equal(again.result(), host + 1)


def test_a_download_that_waits_for_an_upload_does_not_take_its_threads(make: Made) -> None:
    """The upload has more pieces than the ring has blocks, and the download's all wait for the end of it."""
    engine, driver = make(staging_bytes=128 * PIECE)
    host = random_bytes(60 * PIECE).view(np.uint32)
    with Stall(driver, "write") as stall:
        x = engine.upload(host, snapshot=False)
        y = engine.allocate(x.nbytes)
        adding(engine, x, y, 1, number=1)
        coming = [engine.download(y, host.dtype, host.size) for _ in range(2)]
        assert stall.reached.wait(PATIENCE)
    for one in coming:
        np.testing.assert_array_equal(one.result(), host + 1)


def test_an_upload_gets_on_when_all_staging_memory_waits_for_it(make: Made) -> None:
    engine, driver = make()
    host = np.arange(LARGE // 4, dtype=np.uint32)
    with Stall(driver, "flush") as stall:
        x = engine.upload(host, snapshot=False)
        assert stall.reached.wait(PATIENCE)
        adding(engine, x, x, 1)
        small = []
        stream = on(engine, 0)
        for value in range(100):
            block = np.full(PIECE // 4, value, np.uint32)
            small.append(engine.transfers.upload(block, stream, "", snapshot=False))
    for value, one in enumerate(small):
        assert (values(engine, one) == value).all()
    np.testing.assert_array_equal(values(engine, x), host + 1)


def test_many_threads_move_at_once(make: Made, way: str) -> None:
    engine, _ = make(way)

    def work(number: int) -> None:
        rng = np.random.default_rng(number)
        coming = []
        for turn in range(12):
            nbytes = int(rng.choice([4, 1000, PIECE, PIECE + 4, LARGE // 4 * 4]))
            host = random_bytes(nbytes, turn).view(np.uint32)
            x = engine.upload(host, snapshot=bool(turn % 2))
            adding(engine, x, x, number, number=number)
            coming.append((engine.download(x, host.dtype, host.size), host + np.uint32(number)))
            if turn % 3 == 2:
                for one, expected in coming:
                    np.testing.assert_array_equal(one.result(), expected)
                coming.clear()

    with ThreadPoolExecutor(6) as threads:
        for done in [threads.submit(work, number) for number in range(6)]:
            done.result(120)
    engine.finish()
    assert engine.memory.staging_pool.counters.live == 0
    assert engine.memory.device_pool.counters.live == 0


def test_who_uses_memory_that_was_given_back_finds_poison(make: Made, way: str) -> None:
    engine, _ = make(way, poison=True)
    x = engine.upload(np.arange(1000, dtype=np.uint32))
    y = engine.allocate(x.nbytes)
    adding(engine, x, y, 1)
    buffer, start = x.buffer, x.start
    del x
    assert engine.memory.device_pool.counters.live == 1
    engine.finish()
    found = np.empty(1000, np.uint32)
    cl.enqueue_copy(engine.opencl.queue(), found, buffer, src_offset=start)
    assert (found == 0xDEADBEEF).all()
    np.testing.assert_array_equal(values(engine, y), np.arange(1, 1001))


def test_no_room_on_the_device_is_an_error_before_anything_begins(make: Made, way: str) -> None:
    engine, _ = make(way, memory_limit=2**20)
    with pytest.raises(OutOfMemoryError, match="has no room for 3,145,740 bytes"):
        engine.upload(random_bytes(LARGE))
    host = random_bytes(1000)
    np.testing.assert_array_equal(values(engine, engine.upload(host), np.uint8), host)
