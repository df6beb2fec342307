"""As the process ends, threads in calls of the driver are waited for, and nobody begins to build."""

from __future__ import annotations

import threading
import time

import pytest

from ocl_runtime.device import ending
from ocl_runtime.device.ending import DriverCall, _Threads


@pytest.fixture(autouse=True)
def threads(monkeypatch: pytest.MonkeyPatch) -> _Threads:
    made = _Threads()
    made.register = lambda: None  # type: ignore[method-assign]  # this process goes on
    monkeypatch.setattr(ending, "THREADS", made)
    return made


def started(thread: threading.Thread) -> threading.Thread:
    thread.daemon = True
    thread.start()
    return thread


def test_the_end_waits_for_who_is_in_a_call(threads: _Threads) -> None:
    inside, go, out = threading.Event(), threading.Event(), []

    def call() -> None:
        with DriverCall(), DriverCall(holds=True):
            inside.set()
            go.wait()
        out.append(time.monotonic())

    thread = started(threading.Thread(target=call))
    inside.wait()
    started(threading.Timer(0.2, go.set))
    with DriverCall():  # one's own calls are no reason to wait
        threads.end()
    assert not threads.inside
    thread.join()
    assert out


def test_nobody_begins_to_build_then_but_who_ends_the_process(threads: _Threads) -> None:
    threads.end()
    with DriverCall(holds=True):
        pass
    built: list[bool] = []

    def build() -> None:
        with DriverCall():  # which does not hold
            built.append(False)
        with DriverCall(holds=True):
            built.append(True)

    started(threading.Thread(target=build)).join(0.3)
    assert built == [False]
    assert not threads.inside


def test_the_end_comes_in_the_end(threads: _Threads, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending, "_LONGEST", 0.2)
    inside, over = threading.Event(), threading.Event()

    def call() -> None:
        with DriverCall():
            inside.set()
            over.wait(60)

    thread = started(threading.Thread(target=call))
    inside.wait()
    start = time.monotonic()
    threads.end()
    assert 0.2 <= time.monotonic() - start < 10
    over.set()
    thread.join()
