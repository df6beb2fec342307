"""Arrays put together and padded on a device: kernels and memory."""

from __future__ import annotations

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from tests.support.arrays import assert_same, counting

RANDOM = np.random.default_rng(0)


@pytest.fixture(scope="module")
def runtime(device: Device, engine: Engine) -> Runtime:
    return Runtime(device, engine.settings)


@pytest.mark.parametrize("axis", [0, 1])
def test_each_part_is_computed_into_its_place(runtime: Runtime, axis: int) -> None:
    hosts = [RANDOM.random((300, 200), "f4") for _ in range(5)]
    with ocl.use(runtime):
        whole = ocl.concat([ocl.asarray(host) * number + 1 for number, host in enumerate(hosts)], axis=axis)
        with counting(runtime) as counted:
            found = whole.compute()
        assert counted["launch", "launches"] == 5
        assert counted["memory", "allocations"] == 1
        expected = np.concatenate([host * np.float32(number) + 1 for number, host in enumerate(hosts)], axis)
        assert_same(found.numpy(), expected)


def test_a_part_that_is_used_elsewhere_is_computed_once(runtime: Runtime) -> None:
    host = RANDOM.random(1000, "f4")
    with ocl.use(runtime):
        part = ocl.sqrt(ocl.asarray(host))
        both = ocl.concat([part, part])
        with counting(runtime) as counted:
            ocl.compute(part, both)
        assert counted["launch", "launches"] == 3
        assert_same(both.numpy(), np.concatenate([np.sqrt(host)] * 2))
        assert_same(part.numpy(), np.sqrt(host))


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
def test_a_padded_stencil_is_one_kernel(runtime: Runtime, mode: str) -> None:
    host = RANDOM.random((200, 300), "f4")
    with ocl.use(runtime):
        x = ocl.asarray(host)
        with counting(runtime) as counted:
            y = ocl.pad(x, 1, mode)
            found = (y[:-2, 1:-1] + y[2:, 1:-1]).compute()
        y = np.pad(host, 1, mode)
        assert_same(found.numpy(), y[:-2, 1:-1] + y[2:, 1:-1])
        assert counted["launch", "launches"] <= 2  # a costly place is computed once, and stored


def test_periodic_neighbours_are_looked_up(runtime: Runtime) -> None:
    host = RANDOM.random((128, 96), "f4")
    with ocl.use(runtime):
        x = ocl.asarray(host)
        with counting(runtime) as counted:
            found = (ocl.roll(x, 1, axis=0) + ocl.roll(x, -1, axis=0) - 2 * x).compute()
        assert counted["launch", "launches"] == 1
        assert counted["memory", "allocations"] == 1
        assert_same(found.numpy(), np.roll(host, 1, 0) + np.roll(host, -1, 0) - 2 * host)


def test_a_new_shape_is_no_new_kernel(runtime: Runtime) -> None:
    with ocl.use(runtime):
        for number, (rows, columns) in enumerate(((30, 40), (90, 56), (73, 48))):
            host = RANDOM.random((rows, columns), "f4")
            x = ocl.asarray(host)
            with counting(runtime) as counted:
                assert_same(ocl.concat([x, x * 2, x]).numpy(), np.concatenate([host, host * 2, host]))
                assert_same(ocl.pad(x, 2, "reflect").numpy(), np.pad(host, 2, "reflect"))
            assert counted["kernel", "misses"] == 0 or not number


def test_a_captured_function_joins_and_pads(runtime: Runtime) -> None:
    with ocl.use(runtime):
        joined = ocl.capture(lambda x, y: ocl.concat([x * 2, ocl.pad(y, 1, "edge")], axis=1))
        for rows, left, right in ((50, 20, 30), (90, 24, 60), (40, 8, 90)):
            a, b = RANDOM.random((rows, left), "f4"), RANDOM.random((rows - 2, right), "f4")
            expected = np.concatenate([a * 2, np.pad(b, 1, "edge")], axis=1)
            assert_same(joined(ocl.asarray(a), ocl.asarray(b)).numpy(), expected)
