"""Transfers over a simulated device, which keeps nothing alive, begins nothing before it must, and fails on demand."""

from __future__ import annotations

import gc
import time
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

from ocl_runtime.errors import LaunchError
from ocl_runtime.execute.memory.storage import Storage
from tests.support.world import World

PIECE = 2**16
WAYS = {"shared": {"unified": True}, "staged": {"unified": False}}
SIZES = [100, PIECE, 5 * PIECE + 3]
pytestmark = pytest.mark.timeout(120, method="thread")


def world(way: str, **settings: Any) -> World:
    return World(**{"staging_bytes": 8 * PIECE, "eager": 0.3, **WAYS[way], **settings})


def ramp(nbytes: int) -> np.ndarray[Any, Any]:
    return (np.arange(nbytes) % 251).astype(np.uint8)


def upload(world: World, nbytes: int, number: int = 0, *, snapshot: bool = False) -> Storage:
    return world.transfers.upload(ramp(nbytes), world.stream(number), "load.py:1", snapshot=snapshot)


def download(world: World, storage: Storage) -> Any:
    return world.transfers.download(storage, np.dtype(np.uint8), storage.nbytes, 0, "save.py:1")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("nbytes", SIZES)
def test_host_memory_stays_until_the_device_has_used_it(way: str, nbytes: int) -> None:
    """The simulated device holds a weak reference, and uses it when the command runs."""
    here = world(way, eager=0.0)
    x = upload(here, nbytes)  # nobody else holds the array
    gc.collect()
    first, second = download(here, x), download(here, x)
    del first
    gc.collect()
    np.testing.assert_array_equal(second.result(), ramp(nbytes))
    here.streams.finish()
    assert here.violations() == []


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("nbytes", SIZES)
def test_asking_a_download_is_enough_to_start_it(way: str, nbytes: int) -> None:
    here = world(way)
    x = here.allocate(nbytes)
    here.write(0, x, run=lambda memory: memory.fill(7), args=(x.buffer,))
    coming = download(here, x)
    for _ in range(20_000):
        if coming.done():
            break
        time.sleep(0.001)
    assert coming.done()
    waits = here.streams.counters.host_waits
    assert (coming.result() == 7).all()
    assert here.streams.counters.host_waits == waits


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(8))
def test_transfers_and_kernels_are_ordered_by_their_bytes(way: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    here = world(way, seed=seed, idle=[None, 0][seed % 2])  # with 0 memory is reused as early as can be
    live: list[tuple[Storage, int]] = []
    coming = []
    for turn in range(60):
        choice, number = rng.integers(4), int(rng.integers(4))
        if choice == 0 or not live:
            nbytes = int(rng.choice(SIZES))
            live.append((upload(here, nbytes, number, snapshot=bool(rng.integers(2))), 0))
        elif choice == 1:
            place = int(rng.integers(len(live)))
            x, more = live[place]

            def increase(memory: np.ndarray[Any, Any]) -> None:
                memory += 1

            here.give(number, x.touch(3), run=increase, args=(x.buffer.bytes[x.start : x.start + x.nbytes],))
            live[place] = x, more + 1
        elif choice == 2:
            x, more = live[int(rng.integers(len(live)))]
            coming.append((download(here, x), ramp(x.nbytes) + np.uint8(more)))
        else:
            del live[int(rng.integers(len(live)))]
        if turn % 20 == 19:
            for one, expected in coming:
                np.testing.assert_array_equal(one.result(), expected)
            coming.clear()
    here.streams.finish()
    assert here.violations() == []


@pytest.mark.parametrize("seed", range(4))
def test_a_copy_has_what_was_there_before_and_not_what_comes_later(seed: int) -> None:
    here = world("shared", seed=seed, idle=[None, 0][seed % 2])
    x = here.allocate(1000)
    here.set(1, x, 7, slow=True)
    copied = here.transfers.copy(x, 100, 300, "copy.py:1")
    here.set(2, x, 9)
    del x  # whose memory others may take
    other = here.allocate(1000)
    here.set(3, other, 5)
    assert copied.nbytes == 300
    assert here.bytes(copied) == bytes([7]) * 300
    here.streams.finish()
    assert here.violations() == []


def test_a_copy_of_what_failed_fails() -> None:
    here = world("shared")
    x = here.allocate(1000)
    here.set(1, x, 7, fails=True, where="fill.py:1")
    with pytest.raises(LaunchError, match=r"fill\.py:1"):
        download(here, here.transfers.copy(x, 0, 1000, "copy.py:1")).result()


@pytest.mark.parametrize("nbytes", SIZES)
@pytest.mark.parametrize("way", WAYS)
def test_a_failed_upload_is_named_where_its_values_are_asked_for(way: str, nbytes: int) -> None:
    here = world(way)
    if way == "staged" and nbytes > PIECE:
        write, count = here.device.write, [0]

        def third_fails(*args: Any) -> Any:
            count[0] += args[3].nbytes > 200  # not the other upload, which threads may leave behind
            if count[0] == 3 and args[3].nbytes > 200:
                raise cl.RuntimeError("injected")
            return write(*args)

        here.device.write = third_fails  # type: ignore[method-assign]
    else:
        here.device.failing.add(here.device.enqueued)
    x = upload(here, nbytes, 1)
    other = upload(here, 200, 2)
    y = here.allocate(200, 2)
    with pytest.raises(LaunchError, match=f"the upload of {nbytes:,} bytes failed") as caught:
        _made_of(here, x, y)
    assert "load.py:1" in caught.value.place
    del caught  # its frames hold a download
    np.testing.assert_array_equal(download(here, other).result(), ramp(200))
    del x, y
    here.streams.finish()  # everybody has been told
    again = upload(here, nbytes, 1)
    np.testing.assert_array_equal(download(here, again).result(), ramp(nbytes))
    assert here.memory.staging_pool.counters.live == 0
    assert here.violations() == []


def test_an_upload_into_memory_that_is_still_read_comes_after() -> None:
    here = world("staged", eager=0.0, idle=0)
    x, y = upload(here, 5 * PIECE), here.allocate(5 * PIECE)
    here.streams.finish()

    def copy(source: np.ndarray[Any, Any], target: np.ndarray[Any, Any]) -> None:
        target[:] = source

    here.give(1, x.touch(1), y.touch(2), run=copy, args=(x.buffer, y.buffer), slow=True)
    buffer = x.buffer
    del x
    again = here.transfers.upload(np.zeros(5 * PIECE, np.uint8), here.stream(2), "")
    assert again.buffer is buffer
    np.testing.assert_array_equal(download(here, y).result(), ramp(5 * PIECE))
    here.streams.finish()
    assert here.violations() == []


def test_what_the_driver_will_not_vouch_for_is_no_value() -> None:
    """Intel's says of commands that it did not run that they are complete; waiting for them is an error."""
    here = world("shared")
    x = upload(here, 1000)
    here.streams.finish()
    coming, wait = download(here, x), here.device.wait

    def complain(event: Any) -> None:
        wait(event)
        raise cl.RuntimeError("clWaitForEvents failed: EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST")

    here.device.wait = complain  # type: ignore[method-assign]
    with pytest.raises(LaunchError, match="waiting for the download of 1,000 bytes failed") as caught:
        coming.result()
    assert "save.py:1" in caught.value.place


def _made_of(here: World, x: Storage, y: Storage) -> None:
    here.give(2, x.touch(1), y.touch(2), name="of_the_lost")  # here, if it has been found out by now
    download(here, y).result()


def test_a_job_that_fails_early_still_ends_after_what_it_comes_after() -> None:
    """Who writes the memory next waits for its gate alone."""
    here = world("staged", eager=0.0, idle=0)
    x = upload(here, 5 * PIECE)
    here.streams.finish()
    reader = here.read(1, x, slow=True)
    here.memory.staging = _raise  # type: ignore[method-assign, assignment]
    job = here.transfers._movers.start(x, x.start, ramp(x.nbytes), x.touch(2), None, "the upload", "load.py:1")
    job.taken.wait(60)
    assert reader.event is None or here.device.status(reader.event) == 0
    with pytest.raises(LaunchError, match="the upload failed: no more"):
        here.streams.wait(job.command)


def test_a_job_that_fails_halfway_ends_when_what_it_began_has_ended() -> None:
    here = world("staged", eager=0.0)
    write, begin, unfinished = here.device.write, here.device.open, []

    def third_fails(*args: Any) -> Any:
        if here.device.calls["write"] == 2:
            raise cl.RuntimeError("injected")
        return write(*args)

    def opened(gate: Any, *, ok: bool) -> None:
        unfinished.append(here.device.unfinished)
        begin(gate, ok=ok)

    here.device.write, here.device.open = third_fails, opened  # type: ignore[method-assign]
    upload(here, 5 * PIECE)
    with pytest.raises(LaunchError, match="injected"):
        here.streams.finish()
    assert unfinished == [0]


def test_a_download_behind_one_of_what_a_failure_spoilt_is_none_the_worse() -> None:
    """They share a thread, and nothing else."""
    here = world("staged")
    lost, good = here.allocate(5 * PIECE, 1), upload(here, 5 * PIECE)
    here.streams.finish()
    here.write(1, lost, fails=True, slow=True, name="lost")
    coming, other = download(here, lost), download(here, good)
    np.testing.assert_array_equal(other.result(), ramp(5 * PIECE))
    with pytest.raises(LaunchError, match="kernel lost failed"):
        coming.result()
    here.streams.finish()


@pytest.mark.parametrize("behind", ["fails", "at once", "runs"])
def test_no_piece_is_given_to_a_queue_to_wait_for_what_has_failed(behind: str) -> None:
    """PoCL would never end it. The thread of the transfer may come to it long after the failure."""
    here = world("staged", behind=behind)
    x = here.allocate(5 * PIECE, 1)
    here.write(1, x, fails=True, name="lost")
    read, waits = here.device.read, []

    def watched(queue: Any, buffer: Any, at: int, target: Any, events: Any, touched: Any) -> Any:
        waits.append(events)
        return read(queue, buffer, at, target, events, touched)

    here.device.read = watched  # type: ignore[method-assign]
    with pytest.raises(LaunchError, match="kernel lost failed"):
        download(here, x).result()
    assert not any(waits)


def _raise(*args: object) -> None:
    raise MemoryError("no more")
