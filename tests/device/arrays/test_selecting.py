"""The greatest and least elements on a device."""

from __future__ import annotations

import numpy as np
import pytest

import ocl_runtime as ocl
import ocl_runtime.numpy as onp
from ocl_runtime.arrays.functions import selecting
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from tests.support.arrays import KINDS, counting, elements, has

LONG = selecting._LONG + 77
RANDOM = np.random.default_rng(0)


@pytest.fixture(scope="module")
def runtime(device: Device, engine: Engine) -> Runtime:
    return Runtime(device, engine.settings)


def places(host: np.ndarray, k: int) -> np.ndarray:
    """Of the greatest elements of a line."""
    return (host.size - 1 - np.argsort(host[::-1], kind="stable"))[::-1][:k]


@pytest.mark.sample(12)
@pytest.mark.parametrize(
    ("dtype", "length"),
    [(dtype, length) for dtype in KINDS for length in (100, LONG)],
)
def test_all_dtypes(runtime: Runtime, dtype: str, length: int) -> None:
    if not has(runtime, dtype):
        return
    host = elements(dtype, (length,), 3)
    with ocl.use(runtime):
        x = ocl.asarray(host)
        for k in (1, 12, length // 9):
            values, indices = ocl.top_k(x, k)
            np.testing.assert_array_equal(indices.numpy(), places(host, k))
            np.testing.assert_array_equal(values.numpy(), host[places(host, k)])
            np.testing.assert_array_equal(
                ocl.top_k(x, k, mode="smallest").indices.numpy(), np.argsort(host, kind="stable")[:k]
            )


def test_many_elements(runtime: Runtime) -> None:
    host = RANDOM.normal(size=1_000_003).astype("f4")
    with ocl.use(runtime):
        x = ocl.asarray(host)
        np.testing.assert_array_equal(ocl.top_k(x * 2, 100).indices.numpy(), places(host * 2, 100))
        rows = x[:900_000].reshape(300, 3000)
        wanted = np.argsort(-host[:900_000].reshape(300, 3000), axis=1, kind="stable")[:, :7]
        np.testing.assert_array_equal(ocl.top_k(rows, 7).indices.numpy(), wanted)
        keys = [ocl.asarray(key) for key in (host, (host * 3).astype("i4"))]
        np.testing.assert_array_equal(onp.lexsort(keys).numpy(), np.lexsort([host, (host * 3).astype("i4")]))


def test_another_length_builds_no_kernel(runtime: Runtime) -> None:
    with ocl.use(runtime):
        ocl.top_k(ocl.asarray(RANDOM.random(600_003, "f4")), 50).indices.compute()
        with counting(runtime) as counted:
            for length in (600_007, 600_011):
                host = RANDOM.random(length, "f4")
                np.testing.assert_array_equal(ocl.top_k(ocl.asarray(host), 50).indices.numpy(), places(host, 50))
        assert counted["kernel", "misses"] == 0


def test_captured(runtime: Runtime) -> None:
    with ocl.use(runtime):
        best = ocl.capture(lambda x: ocl.top_k(x * -1, 20))
        for length in (40, 5000, 90_000, 100_001):
            host = RANDOM.permutation(length).astype("f4")
            found = best(ocl.asarray(host))
            assert found._fields == ("values", "indices")
            values, indices = found
            np.testing.assert_array_equal(values.numpy(), -np.arange(20))
            np.testing.assert_array_equal(indices.numpy(), np.argsort(host)[:20])
