"""Objects that are read once somebody asks for a field."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from ocl_ir import late
from ocl_ir.kernel.grammar import Kernel

READ = Kernel("copy", (), (), (64, 1, 1), pointwise=True, note="a note")


def unread(times: list[int]) -> Kernel:
    def read() -> list[object]:
        times.append(len(times))
        return [getattr(READ, field) for field in Kernel.LATE]

    kernel: Kernel = object.__new__(Kernel)
    for field in ("name", "describes"):
        object.__setattr__(kernel, field, getattr(READ, field))
    kernel.read_later(read)
    return kernel


def test_what_is_there_is_no_reason_to_read() -> None:
    times: list[int] = []
    assert unread(times).name == "copy"
    assert not times


@pytest.mark.parametrize("field", Kernel.LATE)
def test_each_field_has_all_of_them_read_once(field: str) -> None:
    times: list[int] = []
    kernel = unread(times)
    assert getattr(kernel, field) == getattr(READ, field)
    assert kernel == READ
    assert hash(kernel) == hash(READ)
    assert repr(kernel) == repr(READ)
    assert times == [0]


def test_one_that_was_not_read_is_equal_to_one_that_is_there() -> None:
    assert unread([]) == READ
    assert replace(unread([]), note="another").note == "another"


def test_several_threads_read_once() -> None:
    times: list[int] = []
    kernel = unread(times)
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: kernel.group_size, range(64))) == {(64, 1, 1)}
    assert times == [0]


def test_what_cannot_be_read_can_be_asked_for_again() -> None:
    kernel: Kernel = object.__new__(Kernel)
    fails = iter([OSError("gone"), None])

    def read() -> list[object]:
        error = next(fails)
        if error is not None:
            raise error
        return [getattr(READ, field) for field in Kernel.LATE]

    kernel.read_later(read)
    with pytest.raises(OSError, match="gone"):
        _ = kernel.body
    assert kernel.note == "a note"


def test_a_name_that_is_no_field() -> None:
    with pytest.raises(AttributeError, match="'Kernel' object has no attribute 'nobody'"):
        _ = READ.nobody  # type: ignore[attr-defined]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_child_reads_what_its_parent_was_reading() -> None:
    """Of the thread that held the lock, nothing is left in the child."""
    held, go = threading.Event(), threading.Event()

    def hold() -> None:
        with late._reading:
            held.set()
            go.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(10)
    child = os.fork()
    if not child:
        os._exit(0 if late._reading.acquire(timeout=5) else 1)
    go.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
