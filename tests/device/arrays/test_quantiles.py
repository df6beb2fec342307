"""Medians and quantiles on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
import ocl_runtime.numpy as onp
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime

RANDOM = np.random.default_rng(0)
ROUNDED = 0 if np.lib.NumpyVersion(np.__version__) >= "2.4.0" else 1e-6
"""Older NumPys compute in another order."""


@pytest.fixture(scope="module")
def runtime(device: Device, engine: Engine) -> Runtime:
    made = Runtime(device, engine.settings)
    if not made.executor.target.fp64:
        pytest.skip("parts of elements are float64")
    return made


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("shape", "axis"), [((100_003,), None), ((50, 200), 1), ((3000, 4), 0), ((20, 30, 40), (0, 2))]
)
def test_long_and_short_rows(runtime: Runtime, shape: tuple[int, ...], axis: Any) -> None:
    host = RANDOM.normal(size=shape).astype("f4")
    holes = np.where(RANDOM.random(shape) < 0.3, np.float32(np.nan), host)
    with ocl.use(runtime):
        x, with_holes = ocl.asarray(host), ocl.asarray(holes)
        np.testing.assert_array_equal(onp.median(x, axis=axis).numpy(), np.median(host, axis=axis))
        for method in ("linear", "hazen", "nearest"):
            for q in (0.3, [0.1, 0.77]):
                found, wanted = (
                    onp.quantile(x, q, axis=axis, method=method),
                    np.quantile(host, q, axis=axis, method=method),
                )
                np.testing.assert_allclose(found.numpy(), wanted, rtol=ROUNDED)
        found = onp.nanquantile(with_holes, [0.1, 0.77], axis=axis)
        np.testing.assert_allclose(found.numpy(), np.nanquantile(holes, [0.1, 0.77], axis=axis), rtol=ROUNDED)
        np.testing.assert_array_equal(np.nanmedian(with_holes, axis=axis).numpy(), np.nanmedian(holes, axis=axis))


def test_captured(runtime: Runtime) -> None:
    with ocl.use(runtime):
        weights = np.arange(31) % 5
        middle = ocl.capture(lambda x: onp.quantile(x, [0.2, 0.5], axis=0, weights=weights, method="inverted_cdf"))
        host = RANDOM.normal(size=(31, 2)).astype("f4")
        wanted = np.quantile(host, [0.2, 0.5], axis=0, weights=weights, method="inverted_cdf")
        np.testing.assert_array_equal(middle(ocl.asarray(host)).numpy(), wanted)
        centred = ocl.capture(lambda x: x - onp.median(x, axis=0) + onp.nanquantile(x, 0.25))
        for length in (10, 31, 5000):
            host = RANDOM.normal(size=(length, 2)).astype("f4")
            wanted = host - np.median(host, axis=0) + np.nanquantile(host, 0.25)
            np.testing.assert_array_equal(centred(ocl.asarray(host)).numpy(), wanted)
