"""What others still need of memory is copied before a part of it is written over, if that is less than all of it."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.arrays import core
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from tests.support.arrays import assert_same, counting

SIDE = 256
ROW, WHOLE = 4 * SIDE, 4 * SIDE * SIDE
HOST = np.random.default_rng(0).random((SIDE, SIDE), "f4")


@pytest.fixture
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, engine.settings)
    with ocl.use(runtime):
        yield runtime


def written(x: Any) -> list[Any]:
    t = x[3:4] + 0
    x[3] = 9
    return [t]


def swapped(x: Any) -> list[Any]:
    t = x[3] * 1
    x[3] = x[7]
    x[7] = t
    return [t]


def while_pending(x: Any) -> list[Any]:
    x[1] = 5
    t = x[1:2] * 2
    x[1] = 7
    u = x[1:3] + x[0]
    x[1] = 8
    return [t, u]


def columns(x: Any) -> list[Any]:
    t = [x[:, column] + column for column in range(3)]
    x[:, :3] = 0
    return t


def scattered(x: Any) -> list[Any]:
    t = x[5] - 1
    x[np.array([5, 9])] = 2.0
    return [t]


def view_of_a_view(x: Any) -> list[Any]:
    t = x[2:10][1:3, ::2] + 1
    x[3] *= 2
    return [t]


def equal_views_while_pending(x: Any) -> list[Any]:
    x[1] = 5
    t = [x[10:30] * number for number in range(30)]
    x[12] = 9
    return t


def a_view_of_many_looks(x: Any) -> list[Any]:
    t, view = x[3:4] + 0, x[5:6]
    u = view + 0
    for _ in range(200):
        view + 1
    x[3] = 9
    return [t, u]


WRITES = [
    written, swapped, while_pending, columns, scattered, view_of_a_view, equal_views_while_pending,
    a_view_of_many_looks,
]  # fmt: skip


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_only_what_is_needed_is_copied(runtime: Runtime, write: Callable[[Any], list[Any]], held: bool) -> None:
    expected = HOST.copy()
    results = [np.array(one) for one in write(expected)]
    for _ in range(3):
        x = ocl.asarray(HOST)
        runtime.finish()
        pending = write(x)
        if not held:
            pending.clear()
        counters = runtime.executor.engine.memory.device_pool.counters
        before = counters.in_use
        counters.peak_in_use = before
        x.compute()
        assert runtime.executor.engine.memory.device_pool.counters.peak_in_use - before < WHOLE / 8
        assert_same(x.numpy(), expected)
        for one, result in zip(pending, results, strict=False):
            assert_same(one.numpy(), result)
        assert_same(x.numpy(), expected)


def test_what_reads_more_than_the_whole_leaves_it_to_a_copy(runtime: Runtime) -> None:
    x = ocl.asarray(HOST)
    pending = [x[: SIDE - number] * number for number in range(3)]
    x[0] = 1
    with counting(runtime) as counted:
        x.compute()
    assert counted["launch", "launches"] == 2
    for number, one in enumerate(pending):
        assert_same(one.numpy(), HOST[: SIDE - number] * number)


def test_an_array_that_looks_at_a_part_gets_a_copy_of_it(runtime: Runtime) -> None:
    x = ocl.asarray(HOST)
    part = ocl.stack([x[4], x[5]])[0]
    same = ocl.concat([x[2:3]])
    same.compute()
    x[2] = 0
    x[4] = 0
    x.compute()
    assert_same(same.numpy(), HOST[2:3])
    assert_same(part.numpy(), HOST[4])


def test_memory_that_others_share_stays_where_it_is(runtime: Runtime) -> None:
    """What PyOpenCL was given a part of is written in place of nothing: both see what they saw."""
    x = ocl.asarray(HOST)
    lent = x[2:4].to_pyopencl()
    t = x[2] + 1
    x[2] = 5
    x.compute()
    assert_same(t.numpy(), HOST[2] + 1)
    assert_same(x.numpy()[2], np.full(SIDE, 5, "f4"))
    del lent
    gc.collect()


def test_views_of_one_array_are_noted_without_end(runtime: Runtime) -> None:
    x = ocl.asarray(HOST)
    kept = [x[number % SIDE] + number for number in range(500)]
    storage = x._node.storage
    assert len(storage.readers) <= 65
    x[0] = 1
    x.compute()
    for number in (0, 255, 256, 499):
        assert_same(kept[number].numpy(), HOST[number % SIDE] + np.float32(number))


def test_a_view_that_is_read_while_another_thread_writes_is_as_it_was(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The write moves what pending reads need of the memory, and whoever is just reading has the memory in hand."""
    host = np.arange(40, dtype="f4")
    x = ocl.asarray(host) + 0
    x.compute()
    view, copied = x[3:6], core.copied

    def write() -> None:
        with ocl.use(runtime):
            x[4] = 9
            x.compute()

    def late(*given: Any) -> Any:
        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
        return copied(*given)

    monkeypatch.setattr(core, "copied", late)
    assert_same(view.numpy(), host[3:6])
    monkeypatch.undo()
    host[4] = 9
    assert_same(view.numpy(), host[3:6])
