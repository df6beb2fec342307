"""Each rule of streams (CONTRACT.md, section 2), with what goes wrong without it. Failures: test_stream_failures.py."""

from __future__ import annotations

import gc
import logging
import re
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

import ocl_runtime
from ocl_ir.kernel.accesses import READ, WRITE
from ocl_ir.layout import Layout
from ocl_runtime.errors import SettingError
from ocl_runtime.execute.streams.chosen import stream
from ocl_runtime.observe.order import Order
from tests.support.simulated import Kernel
from tests.support.world import World

# ---------------------------------------------------------------------- 1: by bytes, every kind of conflict


def test_read_after_write_write_after_read_and_write_after_write_wait_for_each_other() -> None:
    world = World()
    x = world.allocate()
    written = world.write(0, x)
    read = world.read(1, x)
    assert world.waits(read) == [written]
    again = world.write(2, x)
    assert world.waits(again) == [read]
    assert world.waits(world.write(3, x)) == [again]


def test_a_later_write_of_the_owner_and_a_foreign_write_are_seen() -> None:
    world = World()
    x = world.allocate()
    first = world.write(0, x)
    assert world.waits(world.read(1, x)) == [first]
    later = world.write(0, x)  # the owner writes again, after the reader knew the first write
    assert later in world.waits(world.read(1, x))
    foreign = world.write(2, x)
    assert world.waits(world.read(0, x)) == [foreign]


def test_disjoint_bytes_of_one_allocation_are_worked_on_at_once() -> None:
    world = World()
    x = world.allocate(1024)
    for number in range(4):
        command = world.write(number, x, 256 * number, 256 * number + 256)
        assert world.waits(command) == []
    columns = [x.touch_layout(WRITE, Layout((16,), (16,), column), 4) for column in range(4)]
    world.write(0, x)
    for number in range(1, 4):
        command = world.give(number, columns[number])
        assert len(world.waits(command)) == 1, "for the write of all, not for the other columns"
    assert world.streams.counters.waits == 3 + 3


def test_every_access_of_a_command_counts() -> None:
    world = World()
    x, y, z = (world.allocate() for _ in range(3))
    writes = [world.write(number, one) for number, one in enumerate((x, y, z))]
    command = world.give(3, x.touch(READ), y.touch(WRITE), z.touch(READ | WRITE))
    assert set(world.waits(command)) == set(writes)


# ---------------------------------------------------------------------- 2: no redundant wait


def test_what_a_stream_knows_is_not_waited_for_again() -> None:
    world = World()
    x, y = world.allocate(), world.allocate()
    world.write(0, x)
    world.write(0, y)
    assert len(world.waits(world.read(1, y))) == 1
    assert world.waits(world.read(1, x)) == [], "it was written before y"
    assert (world.streams.counters.waits, world.streams.counters.waits_elided) == (1, 1)


def test_what_a_stream_knows_through_a_third_is_not_waited_for() -> None:
    world = World()
    x, y = world.allocate(), world.allocate()
    world.write(0, x)
    made = world.give(1, x.touch(READ), y.touch(WRITE))
    command = world.give(2, y.touch(READ), x.touch(READ))
    assert world.waits(command) == [made], "which came after the write of x"
    assert world.waits(world.read(2, x)) == []
    assert not Order(world.recording.log).redundant()


def test_of_several_commands_only_those_that_no_other_implies_are_waited_for() -> None:
    world = World()
    x, y, z = (world.allocate() for _ in range(3))
    world.write(0, x)
    last = world.write(0, y)
    other = world.give(1, x.touch(READ), z.touch(WRITE))
    command = world.give(2, x.touch(WRITE), y.touch(WRITE), z.touch(WRITE))
    assert set(world.waits(command)) == {last, other}


def test_what_the_host_knows_to_have_ended_is_not_waited_for() -> None:
    world = World()
    x, y = world.allocate(), world.allocate()
    written = world.write(0, x)
    made = world.give(1, x.touch(READ), y.touch(WRITE))
    world.streams.wait(made)
    assert written.event is None, "the host knows what the end of a command implies"
    assert world.waits(world.give(2, x.touch(WRITE), y.touch(WRITE))) == []
    assert not world.violations()


# ---------------------------------------------------------------------- 3: ids and queues


def test_ids_that_share_a_queue_never_wait_for_each_other() -> None:
    world = World(2)
    x = world.allocate()
    for number in (0, 2, 4, 100):
        assert world.waits(world.write(number, x)) == []
        assert world.waits(world.read(number, x)) == []
    assert world.streams.counters.waits == 0
    assert world.device.calls["queue"] == 1, "queues are made when they are needed"


def test_every_thread_has_a_stream_and_a_block_another() -> None:
    world = World(3)
    indices = []

    def note() -> None:
        indices.append(world.streams.current().index)
        with stream(7):
            indices.append(world.streams.current().index)
            with stream(2):
                indices.append(world.streams.current().index)
            indices.append(world.streams.current().index)

    note()
    for _ in range(3):
        thread = threading.Thread(target=note)
        thread.start()
        thread.join()
    assert indices == [0, 1, 2, 1, 1, 1, 2, 1, 2, 1, 2, 1, 0, 1, 2, 1]


@pytest.mark.parametrize("number", [-1, 1.0, True, "0", None])
def test_what_is_no_stream_number_is_an_error_that_names_it(number: object) -> None:
    with pytest.raises(SettingError, match=re.escape(repr(number))), stream(number):  # type: ignore[arg-type]
        pass


# ---------------------------------------------------------------------- 4: flushes


def test_a_queue_that_another_waits_for_has_been_flushed_and_no_other_is() -> None:
    world = World()
    x, y = world.allocate(), world.allocate()
    world.write(0, x)
    world.write(1, y)
    assert world.device.calls["flush"] == 0
    read = world.read(2, x)
    assert world.device.calls["flush"] == 1
    assert world.stream(0).queue.flushed == 1
    world.read(3, x)
    assert world.device.calls["flush"] == 1, "it has been flushed up to there"
    world.write(0, y)
    assert world.device.calls["flush"] == 2, "stream 1, for stream 0"
    world.streams.wait(read)  # without the flush the device would be stuck
    assert world.streams.counters.flushes == 2


def test_the_end_flushes_all_before_it_waits_for_any() -> None:
    world = World(eager=1.0)
    commands = [world.write(number, world.allocate(256, number), slow=not number) for number in range(4)]
    world.streams.finish()
    assert world.device.order[-1] == 0, "the others ran meanwhile"
    assert all(command.event is None for command in commands)


# ---------------------------------------------------------------------- 5: memory given back


def test_memory_is_reused_at_once_by_who_knows_of_its_end() -> None:
    world = World(idle=0)
    x = world.allocate()
    start = x.start
    world.write(0, x, slow=True)
    del x
    again = world.allocate()
    assert again.start == start
    assert world.waits(world.write(0, again)) == []


def test_another_stream_waits_on_the_device_for_memory_that_is_in_use_or_takes_other() -> None:
    world = World(idle=0, page_bytes=4096)
    blocks = [world.allocate() for _ in range(4096 // 256)]
    x, start = blocks.pop(), 4096 - 256
    reading = world.give(0, x.touch(READ), blocks[0].touch(WRITE), slow=True)
    del x
    again = world.allocate(256, 1)
    assert (again.buffer, again.start) == (blocks[0].buffer, start)
    assert world.waits(world.write(1, again)) == [reading]
    assert world.streams.counters.host_waits == 0

    world = World(page_bytes=4096)  # as long as little lies idle, memory that nobody uses is taken instead
    blocks = [world.allocate() for _ in range(4096 // 256)]
    world.read(0, blocks.pop(), slow=True)
    assert world.waits(world.write(1, world.allocate(256, 1))) == []


def test_a_slow_stream_does_not_hold_back_the_garbage_of_another() -> None:
    world = World(idle=0, page_bytes=4096)
    blocks = [world.allocate() for _ in range(4096 // 256)]
    slow = world.write(0, blocks.pop(), slow=True)
    world.streams.wait(world.write(1, blocks[3]))
    place = blocks.pop(3).start
    again = world.allocate(256, 2)  # stream 2 knows nothing of 0, but that the command of 1 has ended
    assert again.start == place
    assert world.waits(world.write(2, again)) == []
    assert slow.event is not None


def test_no_event_has_a_callback() -> None:
    sources = Path(ocl_runtime.__file__).parent.rglob("*.py")
    assert not [str(source) for source in sources if re.search("set_callback|SetEventCallback", source.read_text())]


# ---------------------------------------------------------------------- 6: host arrays


def test_an_array_lives_until_its_upload_has_ended_and_no_longer() -> None:
    world = World()
    data = np.arange(64, dtype=np.uint8)
    wanted, ref = data.tobytes(), weakref.ref(data)
    storage = world.transfers.upload(data, world.stream(0), "", snapshot=False)
    del data
    gc.collect()
    assert ref() is not None
    assert world.bytes(storage) == wanted
    gc.collect()
    assert ref() is None


@pytest.mark.parametrize("unified", [True, False], ids=["shared memory", "staged"])
@pytest.mark.parametrize("busy", [True, False])
@pytest.mark.parametrize("nbytes", [64, 100_000])
def test_an_array_may_change_once_a_snapshot_of_it_is_uploaded(unified: bool, busy: bool, nbytes: int) -> None:
    world = World(unified=unified)
    world.transfers._movers.piece = 2**14
    if busy:
        world.set(0, world.allocate(), 1, slow=True)
    data = np.full(nbytes, 7, np.uint8)
    storage = world.transfers.upload(data, world.stream(0), "")
    data[:] = 9
    assert world.bytes(storage) == bytes([7]) * nbytes


# ---------------------------------------------------------------------- 8: the log


def lines(caplog: pytest.LogCaptureFixture, level: str) -> list[str]:
    """What is logged of a write, a read after it, and the host's wait, as far as streams say it."""
    caplog.set_level(logging.DEBUG, "ocl_runtime")
    world = World(log=level)
    x = world.allocate()
    world.write(0, x, 0, 64, name="scale")
    world.streams.wait(world.read(1, x, 32, 256, name="total"))
    name = f"{id(x.buffer):x}"
    return [line.replace(name, "B") for line in caplog.messages if "stream" in line]


def test_a_log_that_is_off_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    assert lines(caplog, "off") == []


def test_a_basic_log_says_who_waits_for_whom_and_for_which_bytes(caplog: pytest.LogCaptureFixture) -> None:
    assert lines(caplog, "basic") == [
        "stream 1 waits for <kernel scale on stream 0, command 1> before kernel total: "
        "it wrote bytes 32…64 of what reads bytes 32…256 of buffer B",
        "the host waits for <kernel total on stream 1, command 1>",
    ]


def test_a_full_log_says_every_command_and_what_it_touches(caplog: pytest.LogCaptureFixture) -> None:
    full = lines(caplog, "full")
    assert "<kernel scale on stream 0, command 1> writes bytes 0…64 of buffer B" in full
    assert "<kernel total on stream 1, command 1> reads bytes 32…256 of buffer B" in full
    assert any(line.startswith("stream 1 waits") for line in full)


# ---------------------------------------------------------------------- what is never done


@pytest.mark.parametrize("unified", [True, False])
def test_the_host_waits_for_nothing_before_a_value_is_asked_for(unified: bool) -> None:
    world = World(eager=0.3, unified=unified, idle=0)
    kept = world.allocate()
    world.set(0, kept, 1)
    for number in range(500):
        x = world.transfers.upload(np.full(256, number % 256, np.uint8), world.stream(number), "", snapshot=False)
        world.copy(number + 1, kept, x, slow=number % 7 == 0)
        coming = world.transfers.download(kept, np.dtype(np.uint8), 256, 0, "")
    assert world.streams.counters.host_waits == 0
    assert world.memory.device_pool.counters.waits == 0
    assert world.device.calls["wait"] == world.device.calls["finish"] == 0
    assert coming.result().tobytes() == bytes([499 % 256]) * 256
    assert world.streams.counters.host_waits == 1


def test_nothing_grows_with_the_number_of_commands() -> None:
    world = World(eager=0.9, record=False)
    x, y = world.allocate(), world.allocate()
    sizes = set()
    for number in range(20_000):
        world.copy(number, *((x, y) if number % 3 else (y, x)))
        if number > 2_000 and number % 100 == 0:
            pending = max(len(one.pending) for one in world.streams.all())
            uses = max(len(cell.reads) + len(cell.writes) for one in (x, y) for cell in one.block.ranges.cells)
            sizes.add((pending < 200, world.device.live_events < 500, uses < 10, len(x.block.ranges.cells)))
    assert sizes == {(True, True, True, 1)}
    world.streams.finish()
    assert max(len(one.pending) for one in world.streams.all()) == 0


def test_threads_with_streams_of_their_own_share_arrays_and_never_race() -> None:
    world = World(4, eager=0.5, seed=3)
    shared = [world.allocate() for _ in range(4)]
    for storage in shared:
        world.set(0, storage, 0)

    def add(number: int) -> None:
        pick = np.random.default_rng(number)
        for _ in range(60):
            storage = shared[pick.integers(4)]
            low, high = storage.start, storage.start + 256

            def run(data: np.ndarray, low: int = low, high: int = high) -> None:
                data[low:high] += 1

            here = world.stream(number)
            args = (Kernel(run, "add"), (storage.buffer,), ((1,), (1,)))
            touches = [storage.touch(READ | WRITE)]
            world.streams.submit(here, touches, "kernel add", "", world.recording.launch, *args)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(world.bytes(storage)[0] for storage in shared) == 240
    assert not world.violations()
