"""Vectors in kernels: loads and stores, components, and lanes that lie outside in checked mode."""

from __future__ import annotations

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.errors import IndexingError
from ocl_runtime.language import conj, float4, global_id, vload, vstore

MODES = ["unchecked", "checked", "interpret"]


@ocl.kernel
def doubled(x, y):
    i = global_id(0) * 4
    vstore(y, i, vload(x, i, 4) * 2)


@ocl.kernel
def shuffled(x, y):
    i = global_id(0)
    v = vload(x, (i, 0), 4)
    w = float4(v.yx, 1, 2).replace(z=v.w)
    y[i, 0], y[i, 1], y[i, 2], y[i, 3] = w
    y[i, 4] = v.hi.x + v[3] + v.even.y


@pytest.mark.parametrize("mode", MODES)
def test_loads_stores_and_components(mode: str) -> None:
    values = np.arange(24, dtype=np.float32)
    y = ocl.zeros(24)
    getattr(doubled, mode)[6](ocl.asarray(values), y)
    np.testing.assert_array_equal(y.numpy(), values * 2)
    rows = values.reshape(6, 4)
    z = ocl.zeros((6, 5))
    getattr(shuffled, mode)[6](ocl.asarray(rows), z)
    wanted = np.column_stack([rows[:, 1], rows[:, 0], rows[:, 3], np.full(6, 2), rows[:, 2] + rows[:, 3] + rows[:, 2]])
    np.testing.assert_array_equal(z.numpy(), wanted)


@ocl.kernel
def parts(x, y):
    i = global_id(0) * 4
    v = vload(x, i, 4)
    vstore(y, i, (conj(v) * v).real + v.imag)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["f4", "c8"])
def test_parts_of_real_and_complex_vectors(mode: str, dtype: str) -> None:
    values = (np.arange(8) * (1 + 2j if dtype == "c8" else 1)).astype(dtype)
    y = ocl.zeros(8)
    getattr(parts, mode)[2](ocl.asarray(values), y)
    np.testing.assert_array_equal(y.numpy(), (values.conj() * values).real + values.imag)


@pytest.mark.parametrize("mode", ["checked", "interpret"])
@pytest.mark.parametrize("short", ["x", "y"])
def test_a_lane_outside_is_reported_and_nothing_is_stored(mode: str, short: str) -> None:
    x, y = (ocl.ones(14 if short == name else 16) for name in ("x", "y"))
    with pytest.raises(IndexingError, match=rf"work-item 3 of group 0: index 15 on axis 0 of {short}, .* is 14"):
        getattr(doubled, mode)[4](x, y)
    assert y.numpy()[12:].tolist() == [1] * (y.size - 12) or short == "x"
