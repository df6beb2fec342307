"""xarray wraps arrays of the device without downloading them: they know NumPy's protocols and the standard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr

import ocl_runtime as ocl

HOST = np.arange(12, dtype="f4").reshape(3, 4) - 5


def named(values: Any) -> xr.DataArray:
    return xr.DataArray(values, dims=("y", "x"), coords={"y": [10, 20, 30]}, name="field")


CALLS: dict[str, Callable[[xr.DataArray], xr.DataArray]] = {
    "arithmetic": lambda a: a * 2 + 1,
    "sum": lambda a: a.sum("x"),
    "mean": lambda a: a.mean(),
    "std": lambda a: a.std("y"),
    "max": lambda a: a.max("x"),
    "select": lambda a: a.sel(y=20),
    "slice": lambda a: a.isel(x=slice(1, 3)),
    "transpose": lambda a: a.transpose("x", "y"),
    "ufunc": np.sin,
    "where": lambda a: a.where(a > 0, 0),
    "broadcast": lambda a: a + a.isel(y=0),
    "concat": lambda a: xr.concat([a, a], dim="y"),
    "clip": lambda a: a.clip(-1, 1),
    "compare": lambda a: a > 0,
    "stack": lambda a: a.expand_dims("t"),
    "fillna": lambda a: a.fillna(0),
    "isnull": lambda a: a.isnull(),
    "diff": lambda a: a.diff("x"),
    "cumsum": lambda a: a.cumsum("x"),
    "astype": lambda a: a.astype("f8"),
    "all": lambda a: (a > -100).all(),
    "shift": lambda a: a.shift(x=1),
    "roll": lambda a: a.roll(x=1),
    "pad": lambda a: a.pad(x=1),
    "median": lambda a: a.median("x"),
}


@pytest.mark.parametrize("name", CALLS)
def test_gives_what_it_gives_for_numpy(name: str) -> None:
    found, expected = CALLS[name](named(ocl.asarray(HOST))), CALLS[name](named(HOST))
    assert found.dims == expected.dims
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(np.asarray(found.data), expected.data, rtol=1e-6)


@pytest.mark.parametrize("name", ["arithmetic", "sum", "mean", "select", "transpose", "ufunc", "where", "concat"])
def test_the_values_stay_on_the_device(name: str) -> None:
    assert isinstance(CALLS[name](named(ocl.asarray(HOST))).data, ocl.Array)
