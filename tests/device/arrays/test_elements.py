"""Elements that are read with integers and written: what moves on a device, by counters, and captured functions."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.errors import DTypeError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from tests.support.arrays import counting

N = 100_000


@pytest.fixture
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, engine.settings)
    with ocl.use(runtime):
        yield runtime


def array() -> Any:
    gc.collect()
    return ocl.asarray(np.arange(N, dtype="f4"))


def test_a_write_moves_elements_and_not_the_array(runtime: Runtime) -> None:
    x = array()
    with counting(runtime) as counted:
        t = x[3]
        x[3] = 9
        x.compute()
    assert (counted["launch", "launches"], counted["memory", "allocations"]) == (2, 1)
    assert runtime.executor.plans.statistics.misses == 1
    with counting(runtime) as counted:
        u = x[4] * 2 + x[5]
        x[4] = 8
        x.compute()
    assert counted["memory", "peak_in_use"] < 4 * N, "the array was copied"
    assert (float(t), float(u), x.numpy()[3:5].tolist()) == (3.0, 13.0, [9.0, 8.0])


def test_a_swap_moves_elements(runtime: Runtime) -> None:
    x = array()
    with counting(runtime) as counted:
        for i in range(20):
            x[i], x[N - 1 - i] = x[N - 1 - i], x[i]
            x.compute()
    assert counted["memory", "peak_in_use"] < 4 * N, "the array was copied"
    assert x.numpy()[:20].tolist() == list(range(N - 1, N - 21, -1))
    assert x.numpy()[-20:].tolist() == list(range(19, -1, -1))
    with counting(runtime) as counted:
        x[33], x[50] = x[50], x[33]  # aligned as some before
        x.compute()
    assert counted["plan", "misses"] == 0, "another turn of a loop plans nothing"


def test_a_number_is_downloaded_without_a_kernel(runtime: Runtime) -> None:
    x = array()
    with counting(runtime) as counted:
        assert [float(x[i]) for i in (0, 7, -1)] == [0.0, 7.0, N - 1.0]
    assert counted["launch", "launches"] == 0


def test_elements_in_captured_functions(runtime: Runtime) -> None:
    @ocl.capture
    def program(x: Any) -> Any:
        t = x[3]
        x[3] = 9
        x[0], x[1] = x[1], x[0]
        y = x[2]
        y += x[3]
        return t, y, x[0] * 1

    for shift in (0, 10):
        host = np.arange(1000, dtype="f4") + shift
        x = ocl.asarray(host)
        t, y, first = program(x)
        assert (float(t), float(y), float(first)) == (host[3], host[2] + 9, host[1])
        host[[0, 1, 3]] = host[1], host[0], 9
        np.testing.assert_array_equal(x.numpy(), host)


def test_what_is_written_into_computed_memory_does_not_change_elements(runtime: Runtime) -> None:
    out, y = ocl.allocate(10), ocl.asarray(np.arange(10, dtype="f4"))
    ocl.compute_into(out, y)
    t = out[3]
    ocl.compute_into(out, y * 2)
    assert (float(t), float(out[3])) == (3.0, 6.0)


def test_nothing_writes_into_an_element_and_through_it_into_the_array(runtime: Runtime) -> None:
    x = array()
    e = x[2]
    with pytest.raises(DTypeError, match="that is a value"):
        ocl.compute_into(x[2], ocl.asarray(50.0))
    theirs = e.to_pyopencl()
    theirs.fill(55)
    runtime.finish()
    assert x.numpy()[:4].tolist() == [0, 1, 2, 3]


def test_a_captured_function_takes_an_array_and_its_element(runtime: Runtime) -> None:
    @ocl.capture
    def written(x: Any, e: Any) -> Any:
        x[1] = e
        return x[:3] + e

    for computed in (False, True):
        x = array()
        e = x[2]
        if computed:
            float(e)
        assert written(x, e).tolist() == [2, 4, 4]
        assert (float(e), x.numpy()[:3].tolist()) == (2.0, [0, 2, 2])
