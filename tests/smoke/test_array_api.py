"""array-api-compat and array-api-extra know arrays of the device without being told of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import array_api_compat
import array_api_extra as xpx
import numpy as np
import pytest

import ocl_runtime as ocl

LINE = np.array([0.5, -1.25, 2.0, 3.75, -0.5, 1.0], "f4")
TABLE = LINE.reshape(2, 3)


def test_compat_finds_the_namespace() -> None:
    x = ocl.asarray(LINE)
    assert array_api_compat.array_namespace(x, 2.0) is ocl
    assert array_api_compat.is_array_api_obj(x)
    assert array_api_compat.size(x) == 6
    assert array_api_compat.device(x) == x.device
    assert array_api_compat.to_device(x, x.device) is x
    assert array_api_compat.is_writeable_array(x)
    assert not array_api_compat.is_numpy_array(x)


CALLS: dict[str, Callable[[Any, Callable[[np.ndarray], Any]], Any]] = {
    "angle": lambda xp, a: xpx.angle(a(LINE)),
    "apply_where": lambda xp, a: xpx.apply_where(a(LINE) > 0, a(LINE), lambda x: x * 2, lambda x: -x),
    "at.add": lambda xp, a: xpx.at(a(LINE))[1].add(9),
    "at.multiply": lambda xp, a: xpx.at(a(LINE), a(LINE) > 1).multiply(3),
    "at.set": lambda xp, a: xpx.at(a(LINE))[1:3].set(9),
    "atleast_nd": lambda xp, a: xpx.atleast_nd(a(LINE), ndim=3),
    "create_diagonal": lambda xp, a: xpx.create_diagonal(a(LINE)),
    "default_dtype": lambda xp, a: xp.zeros(3, dtype=xpx.default_dtype(xp, "integral")),
    "expand_dims": lambda xp, a: xpx.expand_dims(a(LINE), axis=(0, 2)),
    "isclose": lambda xp, a: xpx.isclose(a(LINE), a(LINE) + 1e-7),
    "isin": lambda xp, a: xpx.isin(a(LINE), a(LINE[:2])),
    "kron": lambda xp, a: xpx.kron(a(TABLE), a(LINE)),
    "nan_to_num": lambda xp, a: xpx.nan_to_num(a(np.array([np.nan, np.inf, 1.0], "f4"))),
    "pad": lambda xp, a: xpx.pad(a(TABLE), 1),
    "searchsorted": lambda xp, a: xpx.searchsorted(a(np.sort(LINE)), a(LINE)),
    "sinc": lambda xp, a: xpx.sinc(a(LINE)),
    "unravel_index": lambda xp, a: xpx.unravel_index(a(np.array([1, 4])), (2, 3))[1],
}


@pytest.mark.parametrize("name", CALLS)
def test_extra_gives_what_it_gives_for_numpy(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the standard has them by now
        found, expected = CALLS[name](ocl, ocl.asarray), CALLS[name](np, np.asarray)
    assert isinstance(found, ocl.Array)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-6)
