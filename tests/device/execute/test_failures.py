"""Failures on a real device: any call of the driver may be refused, any command may fail after it was taken.

Each time nothing may hang or leak, whoever asks for a value that is lost is told what failed first and where it was
asked for, and everything else is right, then and afterwards.
"""

from __future__ import annotations

import gc
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

from ocl_runtime.device import Device
from ocl_runtime.errors import Error, LaunchError, OutOfMemoryError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.memory.storage import Storage
from tests.support.wrapped import Wrapped, adding, values, wrapped

SMALL = np.arange(1000, dtype=np.uint32)
LARGE = np.arange(200_000, dtype=np.uint32)
"""Seven pieces of the ring."""
WHERE = "program.py:"

# A wait in the driver cannot be interrupted, only ended with the process.
pytestmark = pytest.mark.timeout(300, method="thread")


Make = Callable[[], tuple[Engine, Wrapped]]


@pytest.fixture(scope="module", autouse=True)
def young() -> Iterator[None]:
    """These tests collect garbage again and again: what other tests of this process have left is not looked at."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
    gc.collect()
    gc.freeze()  # as before: what was collected with the tests is there to stay


@pytest.fixture
def make(device: Device, engine: Engine) -> Make:
    """Engines with a small ring, as if the device had memory of its own."""
    settings = replace(engine.settings, staging_bytes=2**20, streams=4)
    return lambda: wrapped(device, settings, unified_memory=False)


# ---------------------------------------------------------------------- the Nth call


class FailAt:
    """Refuses one call of a method of the driver, counted from 1 on; without a number it only counts."""

    def __init__(self, driver: Wrapped, name: str = "", number: int = 0) -> None:
        self.calls: Counter[str] = Counter()
        self.happened = False
        self._call = name, number
        self._lock = threading.Lock()
        driver.before = self._called

    def _called(self, name: str, args: tuple[Any, ...]) -> None:
        with self._lock:
            self.calls[name] += 1
            if (name, self.calls[name]) != self._call:
                return
            self.happened = True
        raise cl.RuntimeError(f"injected: call {self._call[1]} of {name}")


@dataclass
class Program:
    """Steps of which each may fail; `lost` says by which error a value was lost, `found` are the others.

    Uploads of one and of many pieces, kernels on three streams that depend on each other, frees in between, downloads.
    """

    engine: Engine
    found: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    lost: dict[str, Error] = field(default_factory=dict)

    def run(self) -> None:
        engine = self.engine
        have: dict[str, Any] = {}

        def step(name: str, do: Callable[..., Any], *args: Any, **more: Any) -> None:
            have[name] = self.step(name, do, *args, **more)

        def add(name: str, source: str, more: int, number: int) -> None:
            step(name, self.add, have[source], have[name], more, number)

        step("a", engine.upload, SMALL, WHERE + "1")
        step("b", engine.upload, LARGE, WHERE + "2", snapshot=False)
        step("c", engine.allocate, SMALL.nbytes, WHERE + "3")
        step("d", engine.allocate, LARGE.nbytes, WHERE + "4")
        add("c", "a", 1, 0)
        add("d", "b", 2, 1)
        step("e", engine.allocate, SMALL.nbytes, WHERE + "5")
        add("e", "c", 3, 2)
        have["c"] = None
        step("f", engine.upload, SMALL + 7, WHERE + "6")
        add("f", "f", 1, 0)
        add("b", "d", 5, 2)
        for name in "abdef":
            like = LARGE if name in "bd" else SMALL
            step(name, engine.download, have[name], like.dtype, like.size, 0, WHERE + "7")
        for name in "abdef":
            result = self.step(name, lambda one: one.result(), have[name])
            if result is not None:
                self.found[name] = result

    def step(self, name: str, do: Callable[..., Any], *args: Any, **more: Any) -> Any:
        """What a step gives; nothing if it, or one before it for the same value, failed."""
        if name in self.lost:
            return None
        try:
            return do(*args, **more)
        except Error as error:
            self.lost[name] = error.with_traceback(None)
            return None

    def add(self, x: Storage | None, y: Storage | None, more: int, number: int) -> Storage:
        if x is None or y is None:
            raise next(iter(self.lost.values()))
        adding(self.engine, x, y, more, number, WHERE + "8")
        return y

    def check(self) -> None:
        """Every value is right, or lost by a named error."""
        right = {"a": SMALL, "b": LARGE + 7, "d": LARGE + 2, "e": SMALL + 4, "f": SMALL + 8}
        assert {*self.found, *self.lost} >= set(right)
        for name, value in self.found.items():
            np.testing.assert_array_equal(value, right[name], err_msg=name)
        for error in self.lost.values():
            assert isinstance(error, LaunchError | OutOfMemoryError)
            named = ("kernel add_more", "the upload of", "the download of", "the driver refused a queue", "has no room")
            assert any(one in error.fact for one in named), error
            assert "injected: call" in str(error) or isinstance(error, OutOfMemoryError), error
            assert WHERE in error.place or "a queue" in error.fact or "cannot be launched" in error.fact, error


def finished(engine: Engine) -> str:
    """Everything has ended; the failure that nobody was told of, if there was one."""
    try:
        engine.finish()
    except LaunchError as error:
        return str(error)
    return ""


def assert_nothing_is_left(engine: Engine) -> None:
    gc.collect()  # errors hold frames, and these hold storages
    for pool in (engine.memory.device_pool, engine.memory.staging_pool, engine.memory.host_pool):
        pool.trim()
        counters = pool.counters
        assert (counters.live, counters.in_use, counters.padding, counters.reserved) == (0, 0, 0, 0)
        assert counters.created == counters.released
    assert [len(stream.pending) for stream in engine.streams.all()] == [0] * len(engine.streams.all())


CALLS: dict[str, Callable[[Iterable[object]], bool] | None] = {
    # What is tried again, or is of no account, hurts nobody; every command that is refused does, and nothing else's.
    "queue": all, "set_types": all, "group_size_limit": all, "launch": all, "write": all, "read": all, "gate": all,
    "flush": any, "wait": any,
    "buffer": None, "pinned": None, "release": None, "status": None, "open": None,
}  # fmt: skip
"""The methods of the driver that a program calls, and which of their calls hurt somebody where they are refused."""


def test_a_program_that_nothing_befalls_is_right_and_makes_these_calls(make: Make) -> None:
    engine, driver = make()
    count = FailAt(driver)
    clean = Program(engine)
    clean.run()
    clean.check()
    assert clean.lost == {}
    assert finished(engine) == ""
    del clean
    assert_nothing_is_left(engine)
    assert set(count.calls) == set(CALLS)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CALLS)
def test_any_call_of_the_driver_may_be_refused(make: Make, name: str) -> None:
    """The first call of a method, its second, and so on, until a program has no more of them."""
    hurt = list(_each(make, name))
    assert hurt
    hurts = CALLS[name]
    assert not any(hurt) if hurts is None else hurts(hurt)


def _each(make: Make, name: str) -> Iterator[bool]:
    number = 1
    while (hurts := _refused(make, name, number)) is not None:
        yield hurts
        number += 1


def _refused(make: Make, name: str, number: int) -> bool | None:
    """Whether it hurts somebody that a call is refused; None where it is never made."""
    engine, driver = make()
    fail = FailAt(driver, name, number)
    program = Program(engine)
    program.run()
    unseen = finished(engine)
    program.check()
    hurts = bool(program.lost or unseen)
    del program
    if name == "release":
        assert_nothing_is_left(engine)
    driver.before = lambda name, args: None
    again = Program(engine)
    again.run()
    again.check()
    assert again.lost == {}, f"after call {number} of {name}"
    assert finished(engine) == ""
    del again
    assert_nothing_is_left(engine)
    return hurts if fail.happened else None


# ---------------------------------------------------------------------- commands that fail after they were taken


class Spoil:
    """Makes a launch fail when `happen` is called: itself, or an event that it waits for."""

    def __init__(self, engine: Engine, driver: Wrapped, way: str) -> None:
        self.event = cl.UserEvent(engine.opencl.context)
        self._way = way
        self._driver = driver

    def next_launch(self) -> None:
        """It will be the next one."""
        self._driver.instead["launch"] = self._launch

    def _launch(self, launch: Callable[..., Any], *args: Any) -> Any:
        del self._driver.instead["launch"]
        if self._way == "itself":
            return self.event
        *before, waits, touched = args
        return launch(*before, [*(waits or []), self.event], touched)

    def happen(self) -> None:
        self.event.set_status(cl.status_code.OUT_OF_RESOURCES)


def says_so(engine: Engine) -> bool:
    """Whether the driver says of a command that it could not run that it failed."""
    event = cl.UserEvent(engine.opencl.context)
    queue, buffer = engine.opencl.queue(), engine.opencl.buffer(64)
    behind = cl.enqueue_fill_buffer(queue, buffer, np.uint32(0), 0, 64, [event])
    queue.flush()
    event.set_status(cl.status_code.OUT_OF_RESOURCES)
    with suppress(cl.Error):
        behind.wait()
    return engine.opencl.status(behind) < 0


@pytest.fixture(params=["itself", "what it waits for"])
def spoil(request: pytest.FixtureRequest, make: Make) -> tuple[Engine, Spoil]:
    engine, driver = make()
    if request.param != "itself" and not says_so(engine):
        pytest.skip("this driver says of a command that waits for a failed one that it is complete")
    for number in range(3):
        x = engine.upload(SMALL)
        adding(engine, x, x, 0, number)
    engine.finish()
    return engine, Spoil(engine, driver, request.param)


def test_who_reads_what_a_failure_spoilt_is_told_of_the_first(spoil: tuple[Engine, Spoil]) -> None:
    engine, failure = spoil
    a, b, c, d, e = (engine.upload(SMALL) for _ in range(5))
    engine.finish()
    failure.next_launch()
    adding(engine, a, b, 1, 0, "model.py:7")  # fails
    adding(engine, b, c, 1, 1, "model.py:8")  # reads what it should have written
    adding(engine, c, c, 1, 2, "model.py:9")
    adding(engine, d, d, 1, 2, "model.py:10")  # comes after in a stream
    adding(engine, e, e, 1, 3, "model.py:11")  # has nothing to do with it
    failure.happen()
    for lost in (b, c, d):
        with pytest.raises(LaunchError, match="kernel add_more failed: the device reported") as caught:
            values(engine, lost)
        assert "model.py:7" in caught.value.place
        assert "computed again" in caught.value.remedy
    np.testing.assert_array_equal(values(engine, e), SMALL + 1)
    np.testing.assert_array_equal(values(engine, a), SMALL)
    assert engine.streams.counters.failures == 1
    engine.finish()  # it has been reported


def test_a_driver_that_keeps_a_failure_to_itself_is_caught_where_its_command_is_waited_for(make: Make) -> None:
    engine, driver = make()
    a = engine.upload(SMALL)
    adding(engine, a, a, 0)
    engine.finish()
    failure = Spoil(engine, driver, "what it waits for")
    failure.next_launch()
    command = adding(engine, a, a, 1, 0, "model.py:7")
    failure.happen()
    with pytest.raises(LaunchError, match="kernel add_more failed") as caught:
        engine.streams.wait(command)
    assert "model.py:7" in caught.value.place


def test_streams_and_memory_go_on_after_a_failure(spoil: tuple[Engine, Spoil]) -> None:
    engine, failure = spoil
    a, b = engine.upload(SMALL), engine.upload(SMALL)
    engine.finish()
    failure.next_launch()
    adding(engine, a, b, 1, 0, "model.py:7")
    failure.happen()
    with pytest.raises(LaunchError, match="kernel add_more failed"):
        engine.finish()  # nobody has been told yet
    engine.finish()
    for number in range(4):
        adding(engine, a, a, 1, number)
    np.testing.assert_array_equal(values(engine, a), SMALL + 4)
    with pytest.raises(LaunchError, match="kernel add_more failed"):
        adding(engine, b, a, 1, 1)
    # What could not be read could not be written either.
    with pytest.raises(LaunchError, match="kernel add_more failed"):
        values(engine, b)
    adding(engine, engine.upload(SMALL), b, 3, 0)
    np.testing.assert_array_equal(values(engine, b), SMALL + 3)  # written all over, it is good again
    del b
    again = engine.upload(SMALL + 9)
    np.testing.assert_array_equal(values(engine, again), SMALL + 9)


def test_memory_of_a_failed_command_comes_back(spoil: tuple[Engine, Spoil]) -> None:
    engine, failure = spoil
    a = engine.upload(SMALL)
    engine.finish()
    failure.next_launch()
    adding(engine, a, a, 1, 0)
    adding(engine, a, engine.upload(SMALL), 1, 1)
    coming = engine.download(a, SMALL.dtype, SMALL.size)
    del a
    failure.happen()
    with pytest.raises(LaunchError):
        coming.result()
    del coming
    finished(engine)
    assert_nothing_is_left(engine)


def test_a_large_transfer_of_what_failed_is_told_of_it(spoil: tuple[Engine, Spoil]) -> None:
    engine, failure = spoil
    a, b, other = engine.upload(LARGE), engine.allocate(LARGE.nbytes), engine.upload(LARGE)
    engine.finish()
    failure.next_launch()
    adding(engine, a, b, 1, 0, "model.py:7")
    coming, good = engine.download(b, LARGE.dtype, LARGE.size), engine.download(other, LARGE.dtype, LARGE.size)
    failure.happen()
    with pytest.raises(LaunchError, match="kernel add_more failed") as caught:
        coming.result()
    assert "model.py:7" in caught.value.place
    np.testing.assert_array_equal(good.result(), LARGE)
    with pytest.raises(LaunchError, match="kernel add_more failed"):
        coming.result()
